"""The part of JSON Schema 2020-12 that tools use. Unknown keywords are refused when a schema is compiled,
so that no keyword is ever silently without effect.

One thing differs from the standard: an object may only have properties that its schema speaks of, unless the schema says
otherwise with `additionalProperties`, `patternProperties` or `unevaluatedProperties`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from .errors import detail
from .patterns import compile_pattern
from .utils import canonical_json

Faults = list[dict[str, Any]]
Json = Any

_ANNOTATIONS = frozenset(
    "$schema $id $comment title description default examples deprecated readOnly writeOnly format "
    "contentEncoding contentMediaType".split()
)
_ONE_SCHEMA = frozenset("additionalProperties unevaluatedProperties propertyNames items contains not if then else".split())
_SCHEMA_LISTS = frozenset("allOf anyOf oneOf prefixItems".split())
_SCHEMA_MAPS = frozenset("properties patternProperties dependentSchemas $defs definitions".split())
_COUNTS = frozenset("minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains".split())
_BOUNDS = frozenset("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split())
_TYPES = frozenset("null boolean object array number integer string".split())
_MOST_IN_PLACE = 20


class SchemaError(Exception):
    """An invalid schema, or one with an unsupported keyword. The message names the place."""


class Schema:
    """A schema that was checked, and checks values."""

    def __init__(self, schema: Json) -> None:
        if not isinstance(schema, Mapping):
            raise SchemaError("a schema is an object")
        self._root = copy.deepcopy(dict(schema))
        self._checked: dict[int, Json] = {}
        try:
            self._check(self._root, "#")
            self._check_circles()
        except RecursionError:
            raise SchemaError("the schema nests too deep") from None

    def faults(self, value: Json, field: str = "input") -> Faults:
        """All faults of a value. `field` is the name of the whole value."""
        faults: Faults = []
        try:
            self._value(self._root, value, _Place((), field), faults)
        except RecursionError:
            return [detail(field, "nests too deep")]
        return faults

    # Compile time.

    def _check(self, schema: Json, at: str) -> None:
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise SchemaError(f"{at} is not a schema")
        if id(schema) in self._checked:
            return
        self._checked[id(schema)] = schema
        for keyword, argument in schema.items():
            self._check_keyword(keyword, argument, f"{at}/{keyword}")

    def _check_keyword(self, keyword: str, argument: Json, at: str) -> None:
        if keyword in _ONE_SCHEMA:
            self._check(argument, at)
        elif keyword in _SCHEMA_LISTS:
            _demand(isinstance(argument, list) and len(argument) > 0, at, "a list of schemas that is not empty")
            for index, item in enumerate(argument):
                self._check(item, f"{at}/{index}")
        elif keyword in _SCHEMA_MAPS:
            _demand(isinstance(argument, dict), at, "an object of schemas")
            for name, item in argument.items():
                if keyword == "patternProperties":
                    _check_pattern(name, at)
                self._check(item, f"{at}/{name}")
        elif keyword in _COUNTS:
            _demand(is_integer(argument) and argument >= 0, at, "an integer that is not negative")
        elif keyword in _BOUNDS:
            _demand(is_number(argument), at, "a number")
            _demand(keyword != "multipleOf" or argument > 0, at, "greater than 0")
        elif keyword == "type":
            types = argument if isinstance(argument, list) else [argument]
            known = all(isinstance(name, str) and name in _TYPES for name in types)
            _demand(known and len(types) > 0, at, "one of JSON's types, or a list of them")
        elif keyword == "required":
            _demand(_is_names(argument), at, "a list of names")
        elif keyword == "dependentRequired":
            _demand(isinstance(argument, dict) and all(map(_is_names, argument.values())), at, "an object of lists of names")
        elif keyword == "enum":
            _demand(isinstance(argument, list), at, "a list")
        elif keyword == "uniqueItems":
            _demand(isinstance(argument, bool), at, "true or false")
        elif keyword == "pattern":
            _demand(isinstance(argument, str), at, "a string")
            _check_pattern(argument, at)
        elif keyword == "$ref":
            _demand(isinstance(argument, str), at, "a string")
            self._check(self._resolve(argument), argument)  # It may stand where no keyword leads to.
        elif keyword != "const" and keyword not in _ANNOTATIONS and not keyword.startswith("x-"):
            raise SchemaError(f"{at} is a keyword that is not supported")
        elif keyword == "$id" and at != "#/$id":
            raise SchemaError(f"{at} stands below the root, which is not supported")

    def _resolve(self, reference: str) -> Json:
        """The schema that a `$ref` within this document names."""
        found: Json = self._root
        if reference != "#":
            if not reference.startswith("#/"):
                raise SchemaError(f"the reference `{reference}` leads out of the schema, which is not supported")
            for name in reference[2:].split("/"):
                name = name.replace("~1", "/").replace("~0", "~")
                if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                    found = found[int(name)]
                elif isinstance(found, dict) and name in found:
                    found = found[name]
                else:
                    raise SchemaError(f"the reference `{reference}` leads nowhere")
        if not isinstance(found, (dict, bool)):
            raise SchemaError(f"the reference `{reference}` leads to no schema")
        return found

    def _check_circles(self) -> None:
        """Refuses a schema that refers to itself for the same value, which would loop forever."""
        done: set[int] = set()

        def visit(schema: Json, above: tuple[int, ...]) -> None:
            if id(schema) in above or len(above) > _MOST_IN_PLACE:
                raise SchemaError("references lead in a circle, or too deep")
            if id(schema) not in done:
                for inner in self._beside(schema):
                    visit(inner, (*above, id(schema)))
                done.add(id(schema))

        for schema in self._checked.values():
            visit(schema, ())

    def _beside(self, schema: Json) -> list[Json]:
        """The subschemas that apply to the same value."""
        if not isinstance(schema, dict):
            return []
        beside = [item for keyword in ("allOf", "anyOf", "oneOf") for item in schema.get(keyword, [])]
        beside += [schema[keyword] for keyword in ("not", "if", "then", "else") if keyword in schema]
        beside += schema.get("dependentSchemas", {}).values()
        return beside + ([self._resolve(schema["$ref"])] if "$ref" in schema else [])

    # Run time.

    def _value(self, schema: Json, value: Json, place: _Place, faults: Faults) -> None:
        """Checks a value against its schema, and refuses properties that no part of the schema mentions."""
        spoken_of = self._judge(schema, value, place, faults)
        if isinstance(value, dict) and self._is_of_objects(schema):
            for name in value:
                if name not in spoken_of:
                    faults.append(place.below(name).fault("is not a property that may be given", value[name]))

    def _is_of_objects(self, schema: Json) -> bool:
        if not isinstance(schema, dict):
            return False
        if "properties" in schema or "object" in schema.get("type", []):
            return True
        return any(map(self._is_of_objects, self._beside(schema)))

    def _judge(self, schema: Json, value: Json, place: _Place, faults: Faults) -> set[str]:
        """Adds faults to `faults`, and returns the properties that the schema mentions."""
        if isinstance(schema, bool):
            if not schema:
                faults.append(place.fault("may not be given", value))
            return set(value) if schema and isinstance(value, dict) else set()
        if "type" in schema and not _is_of_type(value, schema["type"]):
            faults.append(place.fault(f"must be of type {_listed(schema['type'])}", value, schema["type"]))
            return set()  # The other keywords would only say it again.
        faults += _plain_faults(schema, value, place)
        spoken_of: set[str] = set()
        if isinstance(value, list):
            self._items(schema, value, place, faults)
        elif isinstance(value, dict):
            spoken_of = self._properties(schema, value, place, faults)
        spoken_of |= self._in_place(schema, value, place, faults)
        if isinstance(value, dict) and "unevaluatedProperties" in schema:
            for name in value.keys() - spoken_of:
                self._value(schema["unevaluatedProperties"], value[name], place.below(name), faults)
            return set(value)
        return spoken_of

    def _passes(self, schema: Json, value: Json, place: _Place) -> set[str] | None:
        faults: Faults = []
        spoken_of = self._judge(schema, value, place, faults)
        return None if faults else spoken_of

    def _in_place(self, schema: dict[str, Json], value: Json, place: _Place, faults: Faults) -> set[str]:
        spoken_of: set[str] = set()
        for item in schema.get("allOf", []):
            spoken_of |= self._judge(item, value, place, faults)
        if "$ref" in schema:
            spoken_of |= self._judge(self._resolve(schema["$ref"]), value, place, faults)
        for keyword, wanted in (("anyOf", "at least one"), ("oneOf", "exactly one")):
            if keyword in schema:
                branches = [self._passes(item, value, place) for item in schema[keyword]]
                passed = [branch for branch in branches if branch is not None]
                if not passed or (keyword == "oneOf" and len(passed) > 1):
                    faults.append(place.fault(f"must fit {wanted} of {len(branches)} schemas, and fits {len(passed)}", value))
                    passed = [set(value)] if isinstance(value, dict) else []  # One fault is enough.
                spoken_of = spoken_of.union(*passed)
        if "not" in schema and self._passes(schema["not"], value, place) is not None:
            faults.append(place.fault("fits a schema that it must not fit", value))
        if "if" in schema:
            condition = self._passes(schema["if"], value, place)
            spoken_of |= condition or set()
            branch = schema.get("else" if condition is None else "then", {})
            spoken_of |= self._judge(branch, value, place, faults)
        for name, item in schema.get("dependentSchemas", {}).items():
            if isinstance(value, dict) and name in value:
                spoken_of |= self._judge(item, value, place, faults)
        return spoken_of

    def _properties(self, schema: dict[str, Json], value: dict[str, Json], place: _Place, faults: Faults) -> set[str]:
        required = list(schema.get("required", []))
        for name, others in schema.get("dependentRequired", {}).items():
            required += others if name in value else []
        for name in dict.fromkeys(required):
            if name not in value:
                faults.append(place.below(name).fault("is missing"))
        spoken_of: set[str] = set()
        for name, item in value.items():
            inner = place.below(name)
            if "propertyNames" in schema and self._passes(schema["propertyNames"], name, inner) is None:
                faults.append(inner.fault("is not an allowed property name"))
            schemas = [schema["properties"][name]] if name in schema.get("properties", {}) else []
            for pattern, property_schema in schema.get("patternProperties", {}).items():
                schemas += [property_schema] if compile_pattern(pattern).search(name) else []
            if not schemas and "additionalProperties" in schema:
                if schema["additionalProperties"] is False:
                    faults.append(inner.fault("is not a property that may be given", item))
                else:
                    schemas = [schema["additionalProperties"]]
                spoken_of.add(name)
            for property_schema in schemas:
                self._value(property_schema, item, inner, faults)
                spoken_of.add(name)
        return spoken_of

    def _items(self, schema: dict[str, Json], value: list[Json], place: _Place, faults: Faults) -> None:
        first = schema.get("prefixItems", [])
        for index, item in enumerate(value):
            inner = place.below(str(index))
            if index < len(first):
                self._value(first[index], item, inner, faults)
            elif "items" in schema:
                self._value(schema["items"], item, inner, faults)
        if "contains" in schema:
            found = sum(self._passes(schema["contains"], item, place) is not None for item in value)
            least, most = schema.get("minContains", 1), schema.get("maxContains")
            if found < least or (most is not None and found > most):
                faults.append(place.fault(f"has {found} items of the kind of which it must contain some", value))


class _Place:
    """The place of a value in the input."""

    def __init__(self, names: tuple[str, ...], whole: str) -> None:
        self._names = names
        self._whole = whole

    def below(self, name: str) -> _Place:
        return _Place((*self._names, name), self._whole)

    def fault(self, reason: str, *received_and_expected: Json) -> dict[str, Any]:
        return detail(".".join(self._names) if self._names else self._whole, reason, *received_and_expected)


def is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value: Json) -> bool:
    """JSON has one kind of number: 1.0 is an integer."""
    return is_number(value) and value == value // 1


def same(one: Json, other: Json) -> bool:
    """JSON equality: 1 equals 1.0, but not true, unlike in Python."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


_IS_OF_TYPE: dict[str, Callable[[Json], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "number": is_number,
    "integer": is_integer,
    "string": lambda value: isinstance(value, str),
}


def _is_of_type(value: Json, types: Json) -> bool:
    return any(_IS_OF_TYPE[name](value) for name in (types if isinstance(types, list) else [types]))


def _listed(types: Json) -> str:
    return " or ".join(types) if isinstance(types, list) else str(types)


def _plain_faults(schema: dict[str, Json], value: Json, place: _Place) -> Faults:
    """Checks the keywords whose arguments are not schemas."""
    faults: Faults = []
    if "const" in schema and not same(value, schema["const"]):
        faults.append(place.fault("must be the one value that is allowed", value, schema["const"]))
    if "enum" in schema and not any(same(value, allowed) for allowed in schema["enum"]):
        faults.append(place.fault("must be one of the values that are allowed", value, schema["enum"]))
    for keyword, (applies, holds, wanted) in _LIMITS.items():
        if keyword in schema and applies(value) and not holds(value, schema[keyword]):
            faults.append(place.fault(f"must {wanted.format(schema[keyword])}", value))
    return faults


def _is_unique(items: list[Json], wanted: bool) -> bool:
    return not wanted or len({canonical_json(item) for item in items}) == len(items)


def _exact(number: float) -> Fraction:
    return Fraction(repr(number))


_string, _list, _object = _IS_OF_TYPE["string"], _IS_OF_TYPE["array"], _IS_OF_TYPE["object"]
_LIMITS: dict[str, tuple[Callable[[Json], bool], Callable[[Json, Json], bool], str]] = {
    "minLength": (_string, lambda value, limit: len(value) >= limit, "be at least {} long"),
    "maxLength": (_string, lambda value, limit: len(value) <= limit, "be at most {} long"),
    "pattern": (_string, lambda value, pattern: compile_pattern(pattern).search(value) is not None, "match `{}`"),
    "minimum": (is_number, lambda value, limit: value >= limit, "be at least {}"),
    "maximum": (is_number, lambda value, limit: value <= limit, "be at most {}"),
    "exclusiveMinimum": (is_number, lambda value, limit: value > limit, "be greater than {}"),
    "exclusiveMaximum": (is_number, lambda value, limit: value < limit, "be less than {}"),
    "multipleOf": (is_number, lambda value, unit: _exact(value) % _exact(unit) == 0, "be a multiple of {}"),
    "minItems": (_list, lambda value, limit: len(value) >= limit, "have at least {} items"),
    "maxItems": (_list, lambda value, limit: len(value) <= limit, "have at most {} items"),
    "uniqueItems": (_list, _is_unique, "have no item twice"),
    "minProperties": (_object, lambda value, limit: len(value) >= limit, "have at least {} properties"),
    "maxProperties": (_object, lambda value, limit: len(value) <= limit, "have at most {} properties"),
}


def _demand(holds: bool, at: str, wanted: str) -> None:
    if not holds:
        raise SchemaError(f"{at} must be {wanted}")


def _is_names(argument: Json) -> bool:
    return isinstance(argument, list) and all(isinstance(name, str) for name in argument)


def _check_pattern(pattern: str, at: str) -> None:
    try:
        compile_pattern(pattern)
    except ValueError as error:
        raise SchemaError(f"{at}: `{pattern}` is not a supported pattern: {error}") from None
