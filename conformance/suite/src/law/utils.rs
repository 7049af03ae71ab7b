//! Laws of `sage.utils`.

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};

use super::Law;
use super::values::{canonical, literal, sha256, shuffled, text, value};

const CANONICALIZER: &str = "oracle: the crate serde_json_canonicalizer (RFC 8785)";

pub(super) const LAWS: &[Law] = &[
    Law {
        name: "canonical-form-of-any-value",
        contract: "sage.utils",
        why: "Two builds that write one value in two ways give one fact two hashes.",
        shows: &[
            "UTILS-002",
            "UTILS-004",
            "UTILS-005",
            "UTILS-007",
            "UTILS-008",
            "UTILS-009",
            "UTILS-010",
            "UTILS-011",
        ],
        origin: CANONICALIZER,
        operations: &["utils.canonicalJSONStringify"],
        inputs: || {
            given_value(
                |value| json!({ "steps": [stringify(json!({ "value": literal(value.clone()) }), json!(canonical(&value)))] }),
            )
        },
    },
    Law {
        name: "canonical-form-is-its-own",
        contract: "sage.utils",
        why: "A form that changes when it is read and written again is not canonical.",
        shows: &["UTILS-006"],
        origin: "contract",
        operations: &["utils.canonicalJSONStringify"],
        inputs: || {
            given_value(|value| {
                json!({ "steps": [
                saved(stringify(json!({ "value": literal(value) }), json!({ "$any": "string" })), "once"),
                stringify(json!({ "json": { "$ref": "once" } }), json!({ "$ref": "once" })),
            ] })
            })
        },
    },
    Law {
        name: "key-order-does-not-count",
        contract: "sage.utils",
        why: "The same value must give the same string, at whatever depth its keys were given in another order.",
        shows: &["UTILS-006"],
        origin: "contract",
        operations: &["utils.canonicalJSONStringify"],
        inputs: || {
            given_value_and_order(|value, other| {
                json!({ "steps": [
                saved(stringify(json!({ "value": literal(value) }), json!({ "$any": "string" })), "first"),
                stringify(json!({ "value": literal(other) }), json!({ "$ref": "first" })),
            ] })
            })
        },
    },
    Law {
        name: "equal-values-have-equal-hashes",
        contract: "sage.utils",
        why: "Hashes stand for values: equal ones must meet.",
        shows: &["UTILS-006", "UTILS-019"],
        origin: "oracle: the crates serde_json_canonicalizer and sha2",
        operations: &["utils.canonicalJSONStringify", "utils.sha256"],
        inputs: || {
            given_value_and_order(|value, other| {
                let hash = sha256(canonical(&value));
                json!({ "steps": [
                saved(stringify(json!({ "value": literal(other) }), json!({ "$any": "string" })), "form"),
                { "call": "utils.sha256", "args": { "text": { "$ref": "form" } }, "returns": hash },
            ] })
            })
        },
    },
    Law {
        name: "hash-of-any-text",
        contract: "sage.utils",
        why: "A hash that differs for some texts breaks every link that runs through them.",
        shows: &["UTILS-018", "UTILS-019"],
        origin: "oracle: the crate sha2",
        operations: &["utils.sha256"],
        inputs: || {
            text().prop_map(|text| {
            json!({ "steps": [{ "call": "utils.sha256", "args": { "text": text }, "returns": sha256(&text) }] })
        }).boxed()
        },
    },
    Law {
        name: "hash-of-any-bytes",
        contract: "sage.utils",
        why: "A hash that differs for some bytes breaks every link that runs through them.",
        shows: &["UTILS-018", "UTILS-020"],
        origin: "oracle: the crate sha2",
        operations: &["utils.sha256"],
        inputs: || {
            proptest::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| {
            json!({ "steps": [{ "call": "utils.sha256", "args": { "hex": hex::encode(&bytes) }, "returns": sha256(&bytes) }] })
        }).boxed()
        },
    },
];

fn stringify(args: Value, returns: Value) -> Value {
    json!({ "call": "utils.canonicalJSONStringify", "args": args, "returns": returns })
}

fn saved(mut call: Value, name: &str) -> Value {
    call["as"] = Value::from(name);
    call
}

fn given_value(steps: impl Fn(Value) -> Value + 'static) -> BoxedStrategy<Value> {
    value().prop_map(steps).boxed()
}

/// A value, and the same with its keys in another order.
fn given_value_and_order(steps: impl Fn(Value, Value) -> Value + 'static) -> BoxedStrategy<Value> {
    (value(), any::<u64>())
        .prop_map(move |(value, order)| {
            let other = shuffled(&value, order);
            steps(value, other)
        })
        .boxed()
}
