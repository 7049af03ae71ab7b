//! The seeded model: always the same words, and arguments that fit.

use jsonschema::Validator;
use proofmark_fakes::draws::Draws;
use proofmark_fakes::schema::fitting;
use proofmark_fakes_sage::llm::{Item, SeededLlm};
use proptest::prelude::*;
use rstest::rstest;
use sage_tools::InputSchema;
use serde_json::{Map, Value, json};

fn events(seed: u64, options: &Value) -> Vec<Value> {
    let items =
        SeededLlm::new(seed).turn(options).expect("it can be read").map(|item| match item {
            Item::Event(event) => event,
            other => panic!("{other:?}"),
        });
    items.collect()
}

fn bytes(seed: u64, options: &Value) -> String {
    Value::Array(events(seed, options)).to_string()
}

fn options() -> Value {
    json!({
        "requestId": "r-1",
        "model": "m",
        "messages": [{"role": "user", "content": "what is in a.txt"}],
        "tools": [
            {"name": "Read", "parameters": {"type": "object", "required": ["file"],
                "properties": {"file": {"type": "string", "enum": ["a.txt", "b.txt"]}}}},
            {"name": "Search", "parameters": {"type": "object", "required": ["terms", "limit"], "properties": {
                "terms": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                "limit": {"type": "integer", "minimum": 5, "maximum": 50},
                "exact": {"type": "boolean"}}}},
        ],
        "temperature": 0,
    })
}

/// Expected items from an independent ChaCha8 in Python (checked against the zero-key vectors of
/// ChaCha8 and ChaCha20), which follows the rules in the documentation of [`SeededLlm`].
#[rstest]
#[case(2, r#"[{"type":"text","value":"haze"},{"type":"text","value":" pine"},{"type":"text","value":" iris"},{"type":"text","value":" haze"},{"type":"text","value":" kelp"},{"type":"end","usage":{"prompt":4,"completion":5}}]"#)]
#[case(6, r#"[{"type":"text","value":"ember"},{"type":"tool_call","toolName":"Search","arguments":{"exact":false,"limit":16,"terms":["fjord","north","kelp","iris"]},"callId":"call-5db18dfe-0"},{"type":"end","usage":{"prompt":4,"completion":2}}]"#)]
#[case(8, r#"[{"type":"text","value":"iris"},{"type":"text","value":" moss"},{"type":"text","value":" amber"},{"type":"text","value":" birch"},{"type":"tool_call","toolName":"Read","arguments":{"file":"b.txt"},"callId":"call-f0f23758-0"},{"type":"tool_call","toolName":"Search","arguments":{"limit":17,"terms":["iris"]},"callId":"call-c254fba7-1"},{"type":"end","usage":{"prompt":4,"completion":6}}]"#)]
#[case(4, r#"[{"type":"text","value":"fjord"},{"type":"text","value":" ember"},{"type":"text","value":" pine"},{"type":"text","value":" lumen"},{"type":"text","value":" haze"},{"type":"text","value":" haze"},{"type":"text","value":" haze"},{"type":"tool_call","toolName":"Search","arguments":{"limit":29,"terms":["birch","haze"]},"callId":"call-59da24fd-0"},{"type":"tool_call","toolName":"Read","arguments":{"file":"b.txt"},"callId":"call-dcac0d7f-1"},{"type":"end","usage":{"prompt":4,"completion":9}}]"#)]
fn a_seed_always_gives_the_same_words(#[case] seed: u64, #[case] expect: &str) {
    assert_eq!(bytes(seed, &options()), expect);
}

#[test]
fn the_largest_seed_unicode_text_and_a_limit_match_the_python_model() {
    let options = json!({"model": "grün", "max_tokens": 2,
        "messages": [{"role": "user", "content": "hi"}]});
    let expect = r#"[{"type":"text","value":"kelp"},{"type":"text","value":" cedar"},{"type":"end","usage":{"prompt":1,"completion":2}}]"#;
    assert_eq!(bytes(u64::MAX, &options), expect);
}

#[test]
fn only_the_conversation_counts_not_its_spelling() {
    let found = bytes(4, &options());
    let mut other = options();
    other["requestId"] = json!("r-2");
    other["timeoutMs"] = json!(5);
    other["temperature"] = json!(0.0);
    assert_eq!(bytes(4, &other), found);
    let Value::Object(members) = other else { unreachable!() };
    let turned: Map<String, Value> = members.into_iter().rev().collect();
    assert_eq!(bytes(4, &Value::Object(turned)), found);

    for (name, value) in
        [("temperature", json!(1)), ("max_tokens", json!(99)), ("model", json!("n"))]
    {
        let mut other = options();
        other[name] = value;
        assert_ne!(bytes(4, &other), found, "{name}");
    }
}

#[test]
fn after_a_tool_has_answered_there_is_only_text() {
    let mut calls = 0;
    for seed in 0..200 {
        let mut options = options();
        calls += events(seed, &options).iter().filter(|it| it["type"] == "tool_call").count();
        options["messages"]
            .as_array_mut()
            .unwrap()
            .push(json!({"role": "tool", "tool_call_id": "c", "content": "{}"}));
        assert!(events(seed, &options).iter().all(|it| it["type"] != "tool_call"));
    }
    // A coin for whether to call, a coin for one or two: 150 are expected.
    assert!((100..200).contains(&calls), "{calls} calls");
}

/// Schemas for which no arguments are found.
#[rstest]
#[case::unknown(json!({"type": "object", "oneOf": [{}]}))]
#[case::pattern(json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "pattern": "#"}}}))]
#[case::undeclared(json!({"type": "object", "required": ["a"]}))]
#[case::never(json!(false))]
#[case::no_type(json!({"type": "objekt"}))]
#[case::empty_range(json!({"type": "integer", "minimum": 3, "maximum": 2}))]
#[case::no_integer(json!({"type": "integer", "minimum": 0.2, "maximum": 0.8}))]
#[case::open_range(json!({"type": "number", "exclusiveMinimum": 1, "maximum": 1}))]
#[case::long(json!({"type": "string", "minLength": 1000}))]
#[case::huge(json!({"type": "integer", "minimum": 1e300}))]
#[case::wrong_enum(json!({"type": "string", "enum": [1]}))]
#[case::empty_enum(json!({"enum": []}))]
#[case::undescribed_object(json!({"type": "object", "enum": [{"a": 1}]}))]
#[case::no_pattern(json!({"type": "string", "pattern": "("}))]
#[case::tuple(json!({"type": "array", "minItems": 1, "items": [{}]}))]
fn tools_without_fitting_arguments_are_not_called(#[case] schema: Value) {
    assert_eq!(fitting(&schema, &mut Draws::new(0, "")), None);
    let mut options = options();
    options["tools"] = json!([{"name": "T", "parameters": schema}]);
    for seed in 0..20 {
        let events = events(seed, &options);
        assert!(events.iter().all(|it| it["type"] != "tool_call"), "{events:?}");
        assert_eq!(events.last().unwrap()["type"], "end");
    }
}

#[test]
fn endlessly_nested_schemas_are_skipped() {
    let mut schema = json!({"type": "string"});
    for _ in 0..100 {
        schema = json!({"type": "array", "minItems": 1, "items": schema});
    }
    assert_eq!(fitting(&schema, &mut Draws::new(0, "")), None);
}

/// Options of the wrong form count as absent.
#[rstest]
#[case(json!({}))]
#[case(json!({"messages": 1, "tools": {}, "max_tokens": -1}))]
#[case(json!({"messages": [1, null, {"content": 2}], "tools": [1, {}, {"name": "T"}], "max_tokens": 0}))]
fn odd_options_are_answered_with_text(#[case] options: Value) {
    for seed in 0..20 {
        let events = events(seed, &options);
        assert!(events.iter().all(|it| it["type"] != "tool_call"), "{events:?}");
        assert_eq!(events.last().unwrap()["usage"]["prompt"], 0);
    }
}

fn any_schema() -> impl Strategy<Value = Value> {
    let bound = || {
        prop_oneof![
            (-3_i64..3).prop_map(|it| json!(it)),
            (-30_i64..30).prop_map(|it| json!(it as f64 / 10.0))
        ]
    };
    let length = || prop::option::of(0_u64..6);
    let with = |mut schema: Value, members: Vec<(&str, Option<Value>)>| {
        for (name, value) in members {
            if let Some(value) = value {
                schema[name] = value;
            }
        }
        schema
    };
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({})),
        Just(json!({"type": "boolean", "description": "a truth"})),
        Just(json!({"type": ["null", "string"], "format": "date"})),
        Just(json!({"type": "string", "pattern": "^a"})),
        Just(json!({"type": "string", "pattern": "^[a-m]+$"})),
        Just(json!({"not": {}})),
        (length(), length()).prop_map(move |(min, max)| with(
            json!({"type": "string"}),
            vec![("minLength", min.map(Into::into)), ("maxLength", max.map(Into::into))]
        )),
        (
            any::<bool>(),
            prop::option::of(bound()),
            prop::option::of(bound()),
            prop::option::of(bound()),
            prop::option::of(bound())
        )
            .prop_map(move |(whole, min, max, above, below)| with(
                json!({"type": if whole { "integer" } else { "number" }}),
                vec![
                    ("minimum", min),
                    ("maximum", max),
                    ("exclusiveMinimum", above),
                    ("exclusiveMaximum", below)
                ]
            )),
        prop::collection::vec(
            prop_oneof![
                Just(json!(1)),
                Just(json!(1.0)),
                Just(json!(1.5)),
                Just(json!("a")),
                Just(json!(null)),
                Just(json!({"a": 1})),
                Just(json!([1]))
            ],
            0..4
        )
        .prop_flat_map(move |values| prop::option::of(prop_oneof![
            Just("string"),
            Just("integer"),
            Just("number"),
            Just("array"),
            Just("object")
        ])
        .prop_map(move |name| with(json!({"enum": values}), vec![("type", name.map(Into::into))]))),
        Just(json!({"const": "x"})),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let array = (inner.clone(), length(), length()).prop_map(move |(items, min, max)| with(
            json!({"type": "array", "items": items}),
            vec![("minItems", min.map(Into::into)), ("maxItems", max.map(Into::into))]));
        let object = (prop::collection::btree_map("[a-d]", inner, 0..4), prop::collection::btree_set("[a-d]", 0..3), any::<bool>())
            .prop_map(|(properties, required, closed)| {
                json!({"type": "object", "properties": properties, "required": required, "additionalProperties": !closed})
            });
        prop_oneof![array, object]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generated_values_fit(schema in any_schema(), seed: u64) {
        // Checked by another validator, which refuses undeclared properties.
        let validator: Validator = jsonschema::draft202012::new(&closed(&schema)).unwrap();
        // The reference accepts only objects as schemas.
        let reference = InputSchema::compile(&schema);
        let mut draws = Draws::new(seed, "");
        for value in (0..32).filter_map(|_| fitting(&schema, &mut draws)) {
            prop_assert!(validator.is_valid(&value), "{schema} does not take {value}");
            if let Ok(reference) = &reference {
                prop_assert_eq!(reference.check(&value), Ok(()), "{} does not take {}", schema, value);
            }
        }
    }

    #[test]
    fn something_is_found_for_plain_schemas(names in prop::collection::btree_set("[a-f]{1,3}", 0..5), seed: u64) {
        let kinds = ["string", "integer", "number", "boolean", "null", "array", "object"];
        let schema = |at: usize| json!({"type": kinds[at % kinds.len()]});
        let properties: Map<_, _> = names.iter().enumerate().map(|(at, name)| (name.clone(), schema(at))).collect();
        let schema = json!({"type": "object", "properties": properties, "required": names});
        prop_assert!(fitting(&schema, &mut Draws::new(seed, "")).is_some());
    }

    #[test]
    fn the_same_conversation_gets_the_same_answer(seed: u64, content in "\\PC{0,20}", schema in any_schema()) {
        let options = json!({"model": "m", "messages": [{"role": "user", "content": content}],
            "tools": [{"name": "T", "parameters": schema}]});
        let found = bytes(seed, &options);
        prop_assert_eq!(&bytes(seed, &options), &found);
        let events = events(seed, &options);
        let ends = events.iter().filter(|it| it["type"] == "end").count();
        prop_assert_eq!((ends, &events[events.len() - 1]["type"]), (1, &json!("end")));
        prop_assert!(events[0]["type"] == "text");
    }

    /// Two equal answers can happen: one word of sixteen, once in eight. Five in a row cannot.
    #[test]
    fn another_seed_or_message_gets_another_answer(seed in 0..u64::MAX - 5, content in "[a-z]{1,9}") {
        let options = |more: u64| json!({"model": "m",
            "messages": [{"role": "user", "content": format!("{content}{}", "!".repeat(more as usize))}]});
        let found = bytes(seed, &options(0));
        prop_assert!((1..=5).any(|more| bytes(seed + more, &options(0)) != found));
        let words = |events: Vec<Value>| events.into_iter().filter(|it| it["type"] == "text").collect::<Vec<_>>();
        let found = words(events(seed, &options(0)));
        prop_assert!((1..=5).any(|more| words(events(seed, &options(more))) != found));
    }
}

/// The same schema with every object closed, unless it declares itself open.
fn closed(schema: &Value) -> Value {
    match schema {
        Value::Object(members) if members.get("type") == Some(&json!("object")) => {
            let mut members: Map<_, _> =
                members.iter().map(|(name, value)| (name.clone(), closed(value))).collect();
            members.entry("additionalProperties").or_insert(json!(false));
            Value::Object(members)
        }
        Value::Object(members) if !members.contains_key("enum") => {
            members.iter().map(|(name, value)| (name.clone(), closed(value))).collect()
        }
        other => other.clone(),
    }
}
