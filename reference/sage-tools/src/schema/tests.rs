use rstest::rstest;
use serde_json::{Value, json};

use super::*;

/// The fields at fault, in order.
#[track_caller]
fn faults(schema: &Value, input: &Value) -> Vec<String> {
    let compiled = InputSchema::compile(schema).unwrap();
    match compiled.check(input) {
        Ok(()) => Vec::new(),
        Err(error) => {
            assert_eq!(error.code(), "EVALIDATION");
            let SageError::Validation(error) = error else { unreachable!("it has that code") };
            assert!(error.details().iter().all(|detail| !detail.reason.is_empty()));
            error.details().iter().map(|detail| detail.field.clone()).collect()
        }
    }
}

fn read() -> Value {
    json!({"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]})
}

#[rstest]
#[case::right(read(), json!({"file": "a"}), &[])]
#[case::missing(read(), json!({}), &["file"])]
#[case::mistyped(read(), json!({"file": 1}), &["file"])]
#[case::extra(read(), json!({"file": "a", "mode": 1}), &["mode"])]
#[case::all_at_once(read(), json!({"mode": 1, "z": 2}), &["file", "mode", "z"])]
#[case::two_and_mistyped(read(), json!({"file": 1, "mode": 1}), &["file", "mode"])]
#[case::not_an_object(read(), json!([]), &["input"])]
#[case::null(read(), json!(null), &["input"])]
#[case::a_name_with_a_dot(read(), json!({"file": "a", "x.y": 1}), &["x.y"])]
#[case::a_name_with_a_slash(read(), json!({"file": "a", "x/y~": 1}), &["x/y~"])]
#[case::no_type(json!({"properties": {"a": {}}}), json!({"b": 1}), &["b"])]
#[case::nothing_said(json!({}), json!({"b": 1}), &["b"])]
#[case::any_value(json!({"properties": {"a": {}}}), json!({"a": {"b": [{"c": 1}]}}), &[])]
#[case::bool_schema(json!({"properties": {"a": true}}), json!({"a": {"b": 1}}), &[])]
fn a_flat_input(#[case] schema: Value, #[case] input: Value, #[case] expect: &[&str]) {
    assert_eq!(faults(&schema, &input), expect);
}

#[rstest]
#[case::additional(json!({"additionalProperties": true}), json!({"b": 1}), &[])]
#[case::additional_schema(json!({"additionalProperties": {"type": "string"}}), json!({"b": 1}), &["b"])]
#[case::additional_false(json!({"additionalProperties": false}), json!({"b": 1}), &["b"])]
#[case::unevaluated(json!({"unevaluatedProperties": true}), json!({"b": 1}), &[])]
#[case::pattern(json!({"patternProperties": {"^x": {}}}), json!({"x1": 1, "y": 2}), &["y"])]
#[case::names(json!({"propertyNames": {"maxLength": 1}, "additionalProperties": true}), json!({"bb": 1}), &["bb"])]
fn what_allows_more(#[case] schema: Value, #[case] input: Value, #[case] expect: &[&str]) {
    assert_eq!(faults(&schema, &input), expect);
}

#[rstest]
#[case::nested(json!({"properties": {"a": read()}}), json!({"a": {"file": "f", "x": 1}}), &["a.x"])]
#[case::nested_missing(json!({"properties": {"a": read()}}), json!({"a": {}}), &["a.file"])]
#[case::items(json!({"properties": {"a": {"type": "array", "items": read()}}}),
    json!({"a": [{"file": "f"}, {"file": 2}, {"file": "f", "x": 1}]}), &["a.1.file", "a.2.x"])]
#[case::prefix(json!({"properties": {"a": {"prefixItems": [read()]}}}), json!({"a": [{"x": 1}]}), &["a.0.file", "a.0.x"])]
#[case::index(json!({"properties": {"a": {"items": {"type": "string"}}}}), json!({"a": ["x", 1]}), &["a.1"])]
#[case::open_inside(json!({"properties": {"a": {"type": "object", "additionalProperties": true}}}), json!({"a": {"x": 1}}), &[])]
#[case::bare_object(json!({"properties": {"a": {"type": "object"}}}), json!({"a": {"x": 1}}), &["a.x"])]
#[case::object_or_null(json!({"properties": {"a": {"type": ["object", "null"]}}}), json!({"a": {"x": 1}}), &["a.x"])]
fn what_is_inside(#[case] schema: Value, #[case] input: Value, #[case] expect: &[&str]) {
    assert_eq!(faults(&schema, &input), expect);
}

fn composed() -> Value {
    json!({
        "type": "object",
        "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"more": {"type": "integer"}}}],
        "$defs": {"base": read()},
    })
}

fn tagged() -> Value {
    let branch = |kind: &str, part: &str| {
        json!({"properties": {
            "kind": {"const": kind},
            "body": {"type": "object", "properties": {part: {}}},
        }, "required": ["kind"]})
    };
    json!({"type": "object", "oneOf": [branch("a", "x"), branch("b", "y")]})
}

fn tree() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#"}},
    }})
}

fn extended_twice() -> Value {
    json!({"allOf": [
        {"properties": {"a": {"type": "object", "properties": {"x": {}}}}},
        {"properties": {"a": {"properties": {"y": {}}}}},
    ]})
}

#[rstest]
#[case::both(composed(), json!({"file": "a", "more": 1}), &[])]
#[case::extra(composed(), json!({"file": "a", "more": 1, "x": 2}), &["x"])]
#[case::a_failed_part_blames_nobody_else(composed(), json!({"file": 1, "more": 1}), &["file"])]
#[case::failed_and_extra(composed(), json!({"file": 1, "more": 1, "x": 2}), &["file", "x"])]
#[case::referred_part(json!({"properties": {"a": {"$ref": "#/$defs/r"}}, "$defs": {"r": read()}}),
    json!({"a": {"file": "f", "x": 1}}), &["a.x"])]
#[case::anchor(json!({"properties": {"a": {"$ref": "#r"}}, "$defs": {"r": {"$anchor": "r", "properties": {"b": {}}}}}),
    json!({"a": {"x": 1}}), &["a.x"])]
#[case::escaped_pointer(json!({"properties": {"a": {"$ref": "#/$defs/r%20~1"}}, "$defs": {"r /": read()}}),
    json!({"a": {"file": 1}}), &["a.file"])]
#[case::first_choice(tagged(), json!({"kind": "a", "body": {"x": 1}}), &[])]
#[case::second_choice(tagged(), json!({"kind": "b", "body": {"y": 1}}), &[])]
#[case::extra_in_a_choice(tagged(), json!({"kind": "b", "z": 1}), &["z"])]
#[case::recursive(tree(), json!({"name": "a", "children": [{"name": "b", "children": []}]}), &[])]
#[case::recursive_extra(tree(), json!({"children": [{"children": [{"x": 1}]}]}), &["children.0.children.0.x"])]
#[case::two_parts_of_one(extended_twice(), json!({"a": {"x": 1, "y": 2}}), &[])]
#[case::a_question_stays_open(
    json!({"properties": {"a": {}, "b": {}}, "if": {"properties": {"a": {"properties": {"x": {}}}}}, "then": {"required": ["b"]}}),
    json!({"a": {"z": 1}}), &["b"])]
#[case::not_stays_open(
    json!({"properties": {"a": {}}, "not": {"properties": {"a": {"required": ["x"]}}, "required": ["a"]}}),
    json!({"a": {"x": 1, "y": 2}}), &["input"])]
fn what_is_composed(#[case] schema: Value, #[case] input: Value, #[case] expect: &[&str]) {
    assert_eq!(faults(&schema, &input), expect);
}

#[test]
fn a_wrong_body_of_a_choice_is_a_fault() {
    assert!(!faults(&tagged(), &json!({"kind": "a", "body": {"y": 1}})).is_empty());
}

#[test]
fn a_detail_tells_what_was_found_and_what_would_be_right() {
    let schema = InputSchema::compile(&read()).unwrap();
    let error = schema.check(&json!({"file": 1})).unwrap_err().to_json();
    assert_eq!(error["details"][0]["received"], 1);
    assert_eq!(error["details"][0]["expected"], "string");
}

#[test]
fn formats_are_not_asserted() {
    let schema = json!({"properties": {"a": {"type": "string", "format": "date-time"}}});
    assert_eq!(faults(&schema, &json!({"a": "yesterday"})), [""; 0]);
}

#[rstest]
#[case::null(json!(null))]
#[case::bool(json!(true))]
#[case::text(json!("object"))]
#[case::list(json!([]))]
#[case::unknown_type(json!({"type": "objekt"}))]
#[case::properties_as_a_list(json!({"properties": []}))]
#[case::required_as_text(json!({"required": "a"}))]
#[case::bad_pattern(json!({"properties": {"a": {"pattern": "("}}}))]
#[case::bad_inside(json!({"properties": {"a": {"type": 7}}}))]
#[case::list_of_items(json!({"properties": {"a": {"items": [{}]}}}))]
#[case::other_dialect(json!({"$schema": "http://json-schema.org/draft-07/schema#"}))]
#[case::no_dialect(json!({"$schema": 7}))]
#[case::dangling(json!({"$ref": "#/$defs/none"}))]
#[case::dangling_anchor(json!({"$ref": "#none"}))]
#[case::remote(json!({"$ref": "https://example.com/schema.json"}))]
#[case::remote_inside(json!({"properties": {"a": {"items": {"$ref": "http://127.0.0.1:1/x"}}}}))]
#[case::a_file(json!({"$ref": "file:///etc/passwd"}))]
#[case::relative(json!({"$ref": "other.json"}))]
#[case::id_inside(json!({"properties": {"a": {"$id": "https://example.com/a"}}}))]
#[case::itself(json!({"$ref": "#"}))]
#[case::itself_in_all(json!({"allOf": [{"$ref": "#"}]}))]
#[case::itself_in_not(json!({"not": {"$ref": "#"}}))]
#[case::a_ring(json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}))]
#[case::a_dynamic_ring(json!({"$dynamicAnchor": "a", "$dynamicRef": "#a"}))]
#[case::an_unused_ring(json!({"$defs": {"a": {"$ref": "#/$defs/a"}}}))]
fn no_schema(#[case] schema: Value) {
    let error = InputSchema::compile(&schema).unwrap_err();
    assert_eq!(error.to_json()["details"][0]["field"], "schema");
    assert_eq!(error.code(), "EVALIDATION");
}

/// `depth` objects inside each other, under the member `name`.
fn nested(name: &str, depth: usize, mut inner: Value) -> Value {
    for _ in 0..depth {
        // Not with `json!`, which copies what it is given by recursion.
        inner = Value::Object([(name.to_owned(), inner)].into_iter().collect());
    }
    inner
}

/// Dropping a value is also recursive, but not under test here.
fn forget(value: Value) {
    std::mem::forget(value);
}

#[rstest]
#[case::not("not", 100_000)]
#[case::items("items", 100_000)]
#[case::just_too_deep("items", 101)]
#[case::questions_in_a_row("not", 60)]
fn a_deep_schema_is_refused(#[case] keyword: &str, #[case] depth: usize) {
    let schema = nested(keyword, depth, json!({}));
    assert_eq!(InputSchema::compile(&schema).unwrap_err().code(), "EVALIDATION");
    forget(schema);
}

#[test]
fn the_deepest_schema_and_input_fit_on_the_stack() {
    let schema = InputSchema::compile(&nested("items", 99, json!({"type": "string"}))).unwrap();
    schema.check(&json!([])).unwrap();
    let chain = |length: usize| {
        let mut defs = serde_json::Map::new();
        for n in 0..length {
            defs.insert(format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}));
        }
        defs.insert(format!("d{length}"), json!({"type": "object"}));
        InputSchema::compile(&json!({"$ref": "#/$defs/d0", "$defs": defs}))
    };
    chain(48).unwrap().check(&json!({})).unwrap();
    chain(52).unwrap_err();
    let chain = json!({"properties": {"a": {"allOf": [{"anyOf": [{"$ref": "#"}]}]}}});
    let schema = InputSchema::compile(&chain).unwrap();
    schema.check(&nested("a", 100, json!({}))).unwrap();
    let input = nested("a", 100_000, json!({}));
    assert_eq!(schema.check(&input).unwrap_err().to_json()["details"][0]["field"], "input");
    forget(input);
}

#[test]
fn a_schema_that_doubles_at_each_reference_is_refused() {
    let mut defs = serde_json::Map::new();
    for n in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(format!("d{n}"), json!({"allOf": [next, next]}));
    }
    defs.insert("d40".to_owned(), json!({}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
    assert_eq!(InputSchema::compile(&schema).unwrap_err().code(), "EVALIDATION");
}

#[test]
fn a_huge_schema_is_refused() {
    let many: serde_json::Map<_, _> = (0..30_000).map(|n| (n.to_string(), json!({}))).collect();
    InputSchema::compile(&json!({ "properties": many })).unwrap_err();
}

#[rstest]
#[case("^(a+)+$")]
#[case("^(a|aa)+$")]
#[case("^(?=(a+)+$)(a+)+b$")]
#[case("^(a+)+\\1$")]
fn no_pattern_takes_forever(#[case] pattern: &str) {
    let schema = json!({"properties": {"a": {"type": "string", "pattern": pattern}}});
    assert_eq!(faults(&schema, &json!({"a": format!("{}!", "a".repeat(50_000))})), ["a"]);
}
