//! Laws of `sage.errors`. Each expects only what it is about.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use proofmark_judge::law::Law;
use proofmark_judge::law::values::{literal, members, text, value};

const RAISE: &str = "errors.raise";

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "any-message-is-kept",
        contract: "sage.errors",
        why: "People read the message: nothing of it may be lost or changed.",
        shows: &["ERRORS-002"],
        origin: "contract",
        operations: &[RAISE],
        inputs: || {
            (kind(), text())
                .prop_map(|((code, own), message)| {
                    let args = json!({ "code": code, "message": message, "properties": own });
                    raised(args, json!({ "code": code, "message": message }))
                })
                .boxed()
        },
    },
    Law {
        name: "any-cause-is-kept",
        contract: "sage.errors",
        why: "The cause is what leads to the root of a fault: nothing of it may be lost or changed.",
        shows: &["ERRORS-004"],
        origin: "contract",
        operations: &[RAISE],
        // A null cause may count as given or as absent.
        inputs: || {
            (kind(), value().prop_filter("not null", |cause| !cause.is_null()))
            .prop_map(|((code, own), cause)| {
                let args = json!({ "code": code, "message": "m", "properties": own, "cause": literal(cause.clone()) });
                raised(args, json!({ "code": code, "cause": literal(cause) }))
            })
            .boxed()
        },
    },
    Law {
        name: "any-further-property-is-kept",
        contract: "sage.errors",
        why: "What an error carries is what its reader acts on: nothing of it may be lost or changed.",
        shows: &["ERRORS-006"],
        origin: "contract",
        operations: &[RAISE],
        inputs: || {
            (kind(), members(value(), 1..4)).prop_map(|((code, own), further)| {
            let further: Map<String, Value> =
                further.into_iter().filter(|(key, _)| is_free(key)).collect();
            let mut properties = own;
            properties.extend(further.clone());
            let mut fails: Map<String, Value> =
                further.into_iter().map(|(key, value)| (key, literal(value))).collect();
            fails.insert("code".to_owned(), json!(code));
            let args = json!({ "code": code, "message": "m", "properties": literal(Value::Object(properties)) });
            raised(args, Value::Object(fails))
        }).boxed()
        },
    },
];

/// That the error has its code is another requirement.
fn raised(args: Value, fails: Value) -> Value {
    let assumes = json!({ "fails": { "code": fails["code"] } });
    json!({ "steps": [{ "call": RAISE, "args": args, "assumes": assumes, "fails": fails }] })
}

/// A code with the properties that it requires.
fn kind() -> impl Strategy<Value = (&'static str, Map<String, Value>)> {
    let kinds = vec![
        ("EVALIDATION", json!({ "details": [{ "field": "f", "reason": "r" }] })),
        ("EPERMISSION", json!({ "resource": "r", "operation": "o" })),
        ("ETIMEOUT", json!({ "timeoutMs": 10, "elapsedMs": 11, "operation": "o" })),
        ("EIO", json!({ "operation": "o" })),
        ("ELOCK_TIMEOUT", json!({ "path": "a.sage", "timeoutMs": 10 })),
        ("EHALT", json!({ "invariant": "i", "expected": 1, "actual": 2 })),
    ];
    proptest::sample::select(kinds).prop_map(|(code, own)| match own {
        Value::Object(own) => (code, own),
        _ => (code, Map::new()),
    })
}

/// Names that every error has, or that the taxonomy defines.
pub(crate) const TAXONOMY: &[&str] = &[
    "code",
    "message",
    "name",
    "cause",
    "stack",
    "details",
    "resource",
    "operation",
    "policy",
    "timeoutMs",
    "elapsedMs",
    "path",
    "holder",
    "invariant",
    "expected",
    "actual",
    "context",
];

/// Members of JavaScript objects. The contract does not say what happens to them as properties.
const OF_JAVASCRIPT: &[&str] = &["__proto__", "constructor", "toString"];

fn is_free(key: &str) -> bool {
    !TAXONOMY.contains(&key) && !OF_JAVASCRIPT.contains(&key)
}
