//! Laws of `sage.errors`.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Law;
use super::values::{literal, members, text, value};

pub(super) const LAWS: &[Law] = &[Law {
    name: "any-property-is-kept",
    contract: "sage.errors",
    why: "What an error carries is what its reader acts on: nothing of it may be lost or changed.",
    shows: &["ERRORS-001", "ERRORS-002", "ERRORS-004", "ERRORS-006"],
    origin: "contract",
    operations: &["errors.raise"],
    inputs: || {
        let parts = (error(), text(), members(value(), 0..4), proptest::option::of(value()));
        parts
            .prop_map(|((code, own), message, further, cause)| {
                raised(code, own, message, further, cause)
            })
            .boxed()
    },
}];

/// A code with the properties that it requires.
fn error() -> impl Strategy<Value = (&'static str, Map<String, Value>)> {
    let detail =
        (text(), text(), proptest::option::of(value())).prop_map(|(field, reason, received)| {
            let mut detail = json!({ "field": field, "reason": reason });
            if let Some(received) = received {
                detail["received"] = received;
            }
            detail
        });
    prop_oneof![
        proptest::collection::vec(detail, 1..4)
            .prop_map(|details| ("EVALIDATION", json!({ "details": details }))),
        (text(), text()).prop_map(|(resource, operation)| {
            ("EPERMISSION", json!({ "resource": resource, "operation": operation }))
        }),
        (0..100_000_u32, 0..100_000_u32, text()).prop_map(|(timeout, elapsed, operation)| {
            let own = json!({ "timeoutMs": timeout, "elapsedMs": elapsed, "operation": operation });
            ("ETIMEOUT", own)
        }),
        (text(), text())
            .prop_map(|(operation, path)| ("EIO", json!({ "operation": operation, "path": path }))),
        (text(), 0..100_000_u32).prop_map(|(path, timeout)| {
            ("ELOCK_TIMEOUT", json!({ "path": path, "timeoutMs": timeout }))
        }),
        (text(), value(), value()).prop_map(|(invariant, expected, actual)| {
            ("EHALT", json!({ "invariant": invariant, "expected": expected, "actual": actual }))
        }),
    ]
    .prop_map(|(code, own)| match own {
        Value::Object(own) => (code, own),
        _ => (code, Map::new()),
    })
}

/// Names that an error has by itself, or that the taxonomy gives a meaning.
const TAKEN: &[&str] = &[
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
    // Of JavaScript's objects: what becomes of them as properties is no question of this contract.
    "__proto__",
    "constructor",
    "toString",
];

fn raised(
    code: &str,
    own: Map<String, Value>,
    message: String,
    further: Map<String, Value>,
    cause: Option<Value>,
) -> Value {
    let mut properties = own;
    properties.extend(further.into_iter().filter(|(key, _)| !TAKEN.contains(&key.as_str())));
    let expected = properties.iter().map(|(key, value)| (key.clone(), literal(value.clone())));
    let mut fails: Map<String, Value> = expected.collect();
    fails.insert("code".to_owned(), json!(code));
    fails.insert("message".to_owned(), json!(message));
    let mut args = json!({ "code": code, "message": message, "properties": literal(Value::Object(properties)) });
    // A cause of null may count as given or as not given.
    if let Some(cause) = cause.filter(|cause| !cause.is_null()) {
        args["cause"] = literal(cause.clone());
        fails.insert("cause".to_owned(), literal(cause));
    }
    json!({ "steps": [{ "call": "errors.raise", "args": args, "fails": fails }] })
}
