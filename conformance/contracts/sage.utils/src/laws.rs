//! Laws of `sage.utils`. Each checks one promise, so that a failure names what broke.

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};

use proofmark_judge::law::Law;
use proofmark_judge::law::values::{
    canonical, literal, nested, number, sha256, shuffled, text, text_of, value,
};

const CANONICALIZER: &str = "oracle: the crate serde_json_canonicalizer (RFC 8785)";
const STRINGIFY: &str = "utils.canonicalJSONStringify";

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "keys-are-sorted-at-every-depth",
        contract: "sage.utils",
        why: "Two builds that order keys in two ways give one fact two hashes.",
        shows: &["UTILS-002"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        inputs: || nested().prop_map(written).boxed(),
    },
    Law {
        name: "any-number-as-ecmascript-writes-it",
        contract: "sage.utils",
        why: "Two builds that write one number in two ways give one fact two hashes.",
        shows: &["UTILS-009"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        inputs: || number().prop_map(|number| written(Value::Number(number))).boxed(),
    },
    Law {
        name: "escapes-in-any-text",
        contract: "sage.utils",
        why: "Two builds that escape one text in two ways give one fact two hashes.",
        shows: &["UTILS-010"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        inputs: || text_of(is_escaped).prop_map(|text| written(Value::from(text))).boxed(),
    },
    Law {
        name: "other-characters-stand-for-themselves",
        contract: "sage.utils",
        why: "Two builds that escape one text in two ways give one fact two hashes.",
        shows: &["UTILS-011"],
        origin: CANONICALIZER,
        operations: &[STRINGIFY],
        inputs: || {
            text_of(|character| !is_escaped(character))
                .prop_map(|text| written(Value::from(text)))
                .boxed()
        },
    },
    Law {
        name: "canonical-form-is-its-own",
        contract: "sage.utils",
        why: "A form that changes when it is read and written again is not canonical.",
        shows: &["UTILS-006"],
        origin: "contract",
        operations: &[STRINGIFY],
        inputs: || {
            value().prop_map(|value| {
            json!({ "steps": [
                saved(stringify(json!({ "value": literal(value) }), json!({ "$any": "string" })), "once"),
                stringify(json!({ "json": { "$ref": "once" } }), json!({ "$ref": "once" })),
            ] })
        }).boxed()
        },
    },
    Law {
        name: "key-order-does-not-count",
        contract: "sage.utils",
        why: "The same value must give the same string, at whatever depth its keys were given in another order.",
        shows: &["UTILS-006"],
        origin: "contract",
        operations: &[STRINGIFY],
        inputs: || {
            in_two_orders(|value, other| {
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
        shows: &["UTILS-006"],
        origin: "contract",
        operations: &[STRINGIFY, "utils.sha256"],
        inputs: || {
            in_two_orders(|value, other| {
                let form = |value: Value, name: &str| {
                    saved(
                        stringify(json!({ "value": literal(value) }), json!({ "$any": "string" })),
                        name,
                    )
                };
                json!({ "steps": [
                form(value, "form"),
                form(other, "other"),
                saved(hash(json!({ "text": { "$ref": "form" } }), json!({ "$any": "string" })), "hash"),
                elsewhere(hash(json!({ "text": { "$ref": "other" } }), json!({ "$ref": "hash" }))),
            ] })
            })
        },
    },
    Law {
        name: "hash-of-any-text",
        contract: "sage.utils",
        why: "A hash that differs for some texts breaks every link that runs through them.",
        shows: &["UTILS-019"],
        origin: "oracle: the crate sha2",
        operations: &["utils.sha256"],
        inputs: || {
            text().prop_map(|text| {
            json!({ "steps": [hash(json!({ "text": text }), json!(sha256(&text)))] })
        }).boxed()
        },
    },
    Law {
        name: "hash-of-any-bytes",
        contract: "sage.utils",
        why: "A hash that differs for some bytes breaks every link that runs through them.",
        shows: &["UTILS-020"],
        origin: "oracle: the crate sha2",
        operations: &["utils.sha256"],
        inputs: || {
            proptest::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| {
            json!({ "steps": [hash(json!({ "hex": hex::encode(&bytes) }), json!(sha256(&bytes)))] })
        }).boxed()
        },
    },
];

/// Characters that JSON must escape.
fn is_escaped(character: char) -> bool {
    character < ' ' || matches!(character, '"' | '\\')
}

fn stringify(args: Value, returns: Value) -> Value {
    json!({ "call": STRINGIFY, "args": args, "returns": returns })
}

fn hash(args: Value, returns: Value) -> Value {
    json!({ "call": "utils.sha256", "args": args, "returns": returns })
}

fn saved(mut call: Value, name: &str) -> Value {
    call["as"] = Value::from(name);
    call
}

/// In a new session, so that no state of an earlier call remains.
fn elsewhere(mut call: Value) -> Value {
    call["session"] = Value::from("b");
    call
}

/// Expects the output of another implementation.
fn written(value: Value) -> Value {
    let form = canonical(&value);
    json!({ "steps": [stringify(json!({ "value": literal(value) }), json!(form))] })
}

/// A value, and the same with its keys in another order.
fn in_two_orders(steps: impl Fn(Value, Value) -> Value + 'static) -> BoxedStrategy<Value> {
    (value(), any::<u64>())
        .prop_map(move |(value, order)| {
            let other = shuffled(&value, order);
            steps(value, other)
        })
        .boxed()
}
