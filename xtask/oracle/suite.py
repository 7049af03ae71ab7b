"""Shared by the oracles: the cases and features of a contract, canonical JSON, and a report of differences.

It shares no code with the suite or the reference, only the texts that they are written from. Standard library only,
Python 3.11. A contract's oracle is `conformance/contracts/<id>/oracle.py`; it ends with `sys.exit(finish(...))`.
"""

import hashlib
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MATCHERS = {
    "$any", "$matches", "$oneOf", "$optional", "$absent", "$startsWith", "$open", "$unordered", "$contains", "$ref", "$literal", "$repeat",
    "$above", "$within", "$each", "$nonEmpty", "$among",
}


# --- Canonical JSON, from ECMAScript's rules -------------------------------------------------------

def number(x):
    """ECMAScript's Number::toString, from the shortest digits that repr gives."""
    x = float(x)
    if x != x or x in (float("inf"), float("-inf")):
        return "null"
    if x == 0:
        return "0"
    sign, text = ("-", repr(-x)) if x < 0 else ("", repr(x))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)  # value = 0.digits * 10^point, before trimming
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.lstrip("0").rstrip("0")
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string(s):
    out = []
    for c in s:
        if c in SHORT:
            out.append(SHORT[c])
        elif c < " " or "\ud800" <= c <= "\udfff":  # a surrogate in a Python string is a lone one
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def canonical(v):
    if v is None:
        return "null"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, (int, float)):
        return number(v)
    if isinstance(v, str):
        return string(v)
    if isinstance(v, list):
        return "[" + ",".join(map(canonical, v)) + "]"
    keys = sorted(v, key=lambda k: k.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(f"{string(k)}:{canonical(v[k])}" for k in keys) + "}"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


# --- Reading ---------------------------------------------------------------------------------------

def parse(text):
    """JSON with every number as the nearest double, as ECMAScript reads it."""
    return json.loads(text, parse_int=float, object_pairs_hook=pairs)


class Doubled(ValueError):
    pass


def pairs(items):
    if len({k for k, _ in items}) != len(items):
        raise Doubled(f"a key stands twice: {[k for k, _ in items]}")
    return dict(items)


def expand(v, index=None):
    """Expands $repeat, "$index" and {{index}}."""
    if isinstance(v, str) and index is not None:
        return float(index) if v == "$index" else v.replace("{{index}}", str(index))
    if isinstance(v, dict):
        return {k if index is None else k.replace("{{index}}", str(index)): expand(x, index) for k, x in v.items()}
    if isinstance(v, list):
        out = []
        for x in v:
            if isinstance(x, dict) and set(x) == {"$repeat"}:
                out += [expand(x["$repeat"]["item"], i) for i in range(int(x["$repeat"]["times"]))]
            else:
                out.append(expand(x, index))
        return out
    return v


# --- Report ----------------------------------------------------------------------------------------

class Report:
    def __init__(self):
        self.goldens = 0
        self.differ = 0

    def golden(self, where, expected, computed):
        self.goldens += 1
        if expected != computed:
            self.differ += 1
            print(f"{where}: differs\n  stands:   {shown(expected)}\n  computed: {shown(computed)}")


def finish(contract, report):
    """Prints how many goldens were recomputed. Returns the exit code: 1 if one differs, or if there was none."""
    print(f"{contract}: {report.goldens} goldens recomputed in Python, {report.differ} differ")
    if report.goldens == 0:
        print(f"{contract}: nothing was checked")
    return 1 if report.differ or report.goldens == 0 else 0


def shown(s):
    return s.encode("utf-8", "backslashreplace").decode() if isinstance(s, str) else repr(s)


# --- Cases and features ----------------------------------------------------------------------------

def cases(contract):
    """The place and the expanded form of every case of a contract."""
    for path in sorted(ROOT.glob(f"fixtures/{contract}/*.json")):
        name = path.relative_to(ROOT).as_posix()
        for case in parse(path.read_text(encoding="utf-8"))["cases"]:
            yield f"{name} {case['id']}", expand(case)


def flat_steps(steps):
    for step in steps:
        yield from flat_steps(step["together"]) if "together" in step else [step]


def has_matcher(v):
    if isinstance(v, dict):
        return any(k in MATCHERS for k in v) or any(map(has_matcher, v.values()))
    return isinstance(v, list) and any(map(has_matcher, v))


def lines(files):
    """The JSON lines of the files that a case writes or expects as text."""
    for form in (files or {}).values():
        for key in ("text", "prefix"):
            for line in ((form or {}).get(key) or "").split("\n"):
                try:
                    yield parse(line)
                except ValueError:
                    pass  # Torn and corrupt lines are part of some cases.


def is_text(step):
    """Whether the doc string of a scenario's step is a file's text, and not JSON."""
    return " holds" in step and "holds the events" not in step or "begins with" in step


def doc_strings(path):
    """Every step of a feature that has a doc string, and that text."""
    text = path.read_text(encoding="utf-8")
    for indent, step, doc in re.findall(r'^( *)([^\n]*)\n *"""(?:json)?\n(.*?)\n *"""$', text, re.M | re.S):
        yield step, "\n".join(line.removeprefix(indent).removeprefix("  ") for line in doc.split("\n"))
