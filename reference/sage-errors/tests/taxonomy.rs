//! The taxonomy as its text gives it: properties, JSON form, and what is refused.

use std::io;

use proptest::prelude::*;
use rstest::rstest;
use sage_errors::{Detail, SageError};
use sage_utils::TypedError;
use serde_json::{Map, Value, json};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

fn parse(code: &str, properties: Value) -> Result<SageError, SageError> {
    SageError::from_parts(code, "what happened", object(properties), None)
}

/// The fields that a refusal names, and the refusal is `EVALIDATION`.
#[track_caller]
fn refused_fields(code: &str, properties: Value) -> Vec<String> {
    match parse(code, properties) {
        Err(SageError::Validation(refusal)) => {
            refusal.details().iter().map(|detail| detail.field.clone()).collect()
        }
        other => panic!("expected EVALIDATION, got {other:?}"),
    }
}

/// All the properties of every code, the optional ones too.
fn full() -> [(&'static str, &'static str, Value); 6] {
    [
        (
            "EVALIDATION",
            "ValidationError",
            json!({"details": [{"field": "a", "reason": "b", "received": null, "expected": [1]}, {"field": "c", "reason": "d"}]}),
        ),
        (
            "EPERMISSION",
            "PermissionError",
            json!({"resource": "/etc", "operation": "write", "policy": "p"}),
        ),
        (
            "ETIMEOUT",
            "TimeoutError",
            json!({"timeoutMs": 100, "elapsedMs": 100.5, "operation": "chat"}),
        ),
        ("EIO", "IOError", json!({"path": "a", "operation": "read"})),
        (
            "ELOCK_TIMEOUT",
            "LockTimeoutError",
            json!({"path": "a.sage", "timeoutMs": 2000, "holder": "h"}),
        ),
        (
            "EHALT",
            "HaltError",
            json!({"invariant": "i", "expected": null, "actual": false,
                   "context": {"graphCommit": "c", "chroniclePath": "a.sage", "more": [1]}}),
        ),
    ]
}

#[test]
fn every_code_comes_back_whole() {
    assert_eq!(full().map(|(code, ..)| code), SageError::CODES);
    for (code, name, properties) in full() {
        let mut expect = object(json!({"name": name, "code": code, "message": "what happened"}));
        expect.extend(object(properties.clone()));
        let error = parse(code, properties).unwrap();
        assert_eq!(error.code(), code);
        assert_eq!(error.to_json(), Value::Object(expect.clone()));
        assert_eq!(serde_json::to_value(&error).unwrap(), Value::Object(expect.clone()));
        assert_eq!(TypedError::from(error).to_json(), Value::Object(expect));
    }
}

#[rstest]
#[case("EVALIDATION", json!({"details": [{"field": "a", "reason": "b"}]}))]
#[case("EPERMISSION", json!({"resource": "r", "operation": "o"}))]
#[case("EIO", json!({"operation": "o"}))]
#[case("ELOCK_TIMEOUT", json!({"path": "p", "timeoutMs": 0}))]
#[case("EHALT", json!({"invariant": "i", "expected": 1, "actual": 2}))]
fn missing_properties_stay_absent(#[case] code: &str, #[case] properties: Value) {
    let error = parse(code, properties.clone()).unwrap();
    assert_eq!(Value::Object(error.properties()), properties);
    assert_eq!(error.to_json().get("cause"), None);
}

#[test]
fn each_required_property_is_missed_by_name() {
    let required: [(&str, &[&str]); 6] = [
        ("EVALIDATION", &["details"]),
        ("EPERMISSION", &["resource", "operation"]),
        ("ETIMEOUT", &["timeoutMs", "elapsedMs", "operation"]),
        ("EIO", &["operation"]),
        ("ELOCK_TIMEOUT", &["path", "timeoutMs"]),
        ("EHALT", &["invariant", "expected", "actual"]),
    ];
    for ((code, names), (_, _, properties)) in required.into_iter().zip(full()) {
        assert_eq!(refused_fields(code, json!({})), names, "{code}");
        for name in names {
            let mut lacking = object(properties.clone());
            lacking.remove(*name);
            assert_eq!(refused_fields(code, lacking.into()), [*name], "{code}");
        }
    }
}

#[rstest]
#[case("EVALIDATION", json!({"details": {}}), &["details"])]
#[case("EVALIDATION", json!({"details": [7]}), &["details[0]"])]
#[case("EVALIDATION", json!({"details": [{"field": "a", "reason": "b"}, {"field": 1}]}), &["details[1].reason", "details[1].field"])]
#[case("EVALIDATION", json!({"details": [{"field": "a", "reason": "b", "hint": 1}]}), &["details[0].hint"])]
#[case("EPERMISSION", json!({"resource": 1, "operation": null, "policy": []}), &["resource", "operation", "policy"])]
#[case("ETIMEOUT", json!({"timeoutMs": "5", "elapsedMs": true, "operation": {}}), &["timeoutMs", "elapsedMs", "operation"])]
#[case("EIO", json!({"path": 1, "operation": 2, "code": 3}), &["path", "operation", "code"])]
#[case("ELOCK_TIMEOUT", json!({"path": [], "timeoutMs": null, "holder": 1}), &["path", "timeoutMs", "holder"])]
#[case("EHALT", json!({"invariant": 1, "expected": 1, "actual": 1, "context": "c"}), &["invariant", "context"])]
#[case("EHALT", json!({"invariant": "i", "expected": 1, "actual": 1, "context": {"graphCommit": 1, "chroniclePath": 2}}), &["context.graphCommit", "context.chroniclePath"])]
#[case("EHALT", json!({"invariant": "i", "expected": 1, "actual": 1, "name": 1, "message": 1}), &["name", "message"])]
#[case("EPERMISSION", json!({"resource": "r", "operation": "o", "code": "x", "cause": 1}), &["code", "cause"])]
#[case("ENOENT", json!({}), &["code"])]
#[case("", json!({}), &["code"])]
fn all_that_is_wrong_is_named(
    #[case] code: &str,
    #[case] properties: Value,
    #[case] fields: &[&str],
) {
    let mut got = refused_fields(code, properties);
    let mut fields = fields.to_vec();
    got.sort();
    fields.sort_unstable();
    assert_eq!(got, fields);
}

#[test]
fn refusals_name_the_received_and_the_expected_value() {
    let refusal = parse("ETIMEOUT", json!({"timeoutMs": "5", "elapsedMs": 1, "operation": "o"}));
    assert_eq!(
        refusal.unwrap_err().to_json(),
        json!({
            "name": "ValidationError", "code": "EVALIDATION", "message": "`timeoutMs`: must be a number",
            "details": [{"field": "timeoutMs", "reason": "must be a number", "received": "5", "expected": "number"}]
        })
    );
}

#[test]
fn properties_beyond_the_taxonomy_are_kept() {
    for (code, _, properties) in full() {
        let mut properties = object(properties);
        properties.insert("requestId".to_owned(), json!({"n": [null]}));
        let error = parse(code, Value::Object(properties.clone())).unwrap();
        assert_eq!(error.properties(), properties, "{code}");
    }
}

#[rstest]
#[case(json!(null))]
#[case(json!("text"))]
#[case(json!({"code": "X"}))]
fn a_cause_of_any_kind_is_kept(#[case] cause: Value) {
    for (code, _, properties) in full() {
        let error = SageError::from_parts(code, "m", object(properties), Some(cause.clone()));
        assert_eq!(error.unwrap().to_json().get("cause"), Some(&cause), "{code}");
    }
}

#[rstest]
#[case(None, json!({"code": "ENOENT"}))]
#[case(Some(json!({"errno": -2})), json!({"code": "ENOENT", "errno": -2}))]
#[case(Some(json!("gone")), json!({"code": "ENOENT", "cause": "gone"}))]
#[case(Some(json!({"code": "X"})), json!({"code": "ENOENT", "cause": {"code": "X"}}))]
fn the_code_of_the_system_becomes_the_cause(#[case] cause: Option<Value>, #[case] expect: Value) {
    let properties = object(json!({"operation": "read", "code": "ENOENT"}));
    let error = SageError::from_parts("EIO", "m", properties, cause).unwrap();
    assert_eq!(
        error.to_json(),
        json!({"name": "IOError", "code": "EIO", "message": "m", "operation": "read", "cause": expect})
    );
    let SageError::Io(error) = error else { panic!("not an EIO") };
    assert_eq!(error.system_code(), Some("ENOENT"));
}

#[test]
fn the_examples_of_the_text() {
    let detail = Detail::new("functionName", "Must contain only alphanumeric characters")
        .received("my-function-name")
        .expected("myFunctionName");
    assert_eq!(
        SageError::validation(detail).with_message("Invalid function name format").to_json(),
        json!({
            "name": "ValidationError", "message": "Invalid function name format", "code": "EVALIDATION",
            "details": [{
                "field": "functionName", "reason": "Must contain only alphanumeric characters",
                "received": "my-function-name", "expected": "myFunctionName"
            }]
        })
    );
    let lock = SageError::lock_timeout(
        "src/utils/math.ts.sage",
        2000,
        Some("daemon-watcher-123".to_owned()),
    );
    assert_eq!(
        lock.with_message("Could not acquire chronicle file lock").to_json(),
        json!({
            "name": "LockTimeoutError", "message": "Could not acquire chronicle file lock",
            "code": "ELOCK_TIMEOUT", "path": "src/utils/math.ts.sage", "timeoutMs": 2000, "holder": "daemon-watcher-123"
        })
    );
}

#[test]
fn the_constructors_give_what_they_are_given() {
    let without_message = |error: SageError| {
        let mut json = object(error.to_json());
        assert!(json.shift_remove("message").is_some_and(|message| message != ""));
        Value::Object(json)
    };
    assert_eq!(
        without_message(SageError::permission("r", "read", None)),
        json!({"name": "PermissionError", "code": "EPERMISSION", "resource": "r", "operation": "read"})
    );
    assert_eq!(
        without_message(SageError::timeout("chat", 5, 7_u64).with_cause(json!(1))),
        json!({"name": "TimeoutError", "code": "ETIMEOUT", "timeoutMs": 5, "elapsedMs": 7, "operation": "chat", "cause": 1})
    );
    assert_eq!(
        without_message(SageError::halt("i", json!([]), json!(null))),
        json!({"name": "HaltError", "code": "EHALT", "invariant": "i", "expected": [], "actual": null})
    );
    assert_eq!(SageError::validation_of([]), None);
    let two = SageError::validation_of([Detail::new("a", "is odd"), Detail::new("b", "is even")]);
    assert_eq!(
        two.map(|error| error.to_string()).as_deref(),
        Some("EVALIDATION: `a`: is odd; `b`: is even")
    );
}

#[test]
fn a_failure_of_the_real_system_has_its_code() {
    let folder = std::env::temp_dir();
    let read = |path: &std::path::Path| {
        let error = std::fs::read(path).expect_err("nothing to read there");
        SageError::io("read", "a.sage", &error).to_json()["cause"].clone()
    };
    assert_eq!(read(&folder), json!({"code": "EISDIR"}));
    assert_eq!(read(&folder.join("no such file 5f1c")), json!({"code": "ENOENT"}));
    assert_eq!(read(&std::env::current_exe().unwrap().join("x")), json!({"code": "ENOTDIR"}));
    assert_eq!(read(&folder.join("x".repeat(300))), json!({"code": "ENAMETOOLONG"}));
}

/// Numbers as in the headers of Linux; the kinds are what the standard library makes of them.
#[cfg(target_os = "linux")]
#[rstest]
#[case(1, "EPERM")]
#[case(11, "EAGAIN")]
#[case(13, "EACCES")]
#[case(28, "ENOSPC")]
#[case(30, "EROFS")]
#[case(40, "ELOOP")]
#[case(39, "ENOTEMPTY")]
#[case(111, "ECONNREFUSED")]
#[case(122, "EDQUOT")]
fn a_number_of_the_system_has_a_name(#[case] number: i32, #[case] name: &str) {
    let SageError::Io(error) = SageError::io("write", "a", &io::Error::from_raw_os_error(number))
    else {
        panic!("not an EIO")
    };
    assert_eq!(error.system_code(), Some(name));
}

#[test]
fn a_failure_without_a_code_has_no_cause() {
    let error = SageError::io("read", "a", &io::Error::other("odd"));
    assert_eq!(error.cause(), None);
    assert!(error.message().contains("odd"));
}

#[test]
fn a_text_without_a_canonical_form_is_a_bad_argument() {
    let refusal = SageError::from(sage_utils::canonical_json_of_text("1e400").unwrap_err());
    assert_eq!(refusal.code(), "EVALIDATION");
    assert_eq!(refusal.to_json()["details"][0]["field"], "json");
}

proptest! {
    /// Nothing makes it panic, and what it accepts it gives back whole.
    #[test]
    fn accepted_errors_round_trip(
        code in prop::sample::select(SageError::CODES.to_vec()),
        properties in prop::collection::hash_map(
            prop::sample::select(vec![
                "details", "resource", "operation", "policy", "timeoutMs", "elapsedMs", "path",
                "holder", "invariant", "expected", "actual", "context", "name", "message", "more",
            ]),
            prop::sample::select(vec![
                json!("x"), json!(1), json!(null), json!({}), json!([]), json!([{"field": "a", "reason": "b"}]),
            ]),
            0..8,
        ),
    ) {
        let properties: Map<_, _> = properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        match SageError::from_parts(code, "m", properties.clone(), None) {
            Ok(error) => prop_assert_eq!((error.code(), error.properties()), (code, properties)),
            Err(refusal) => prop_assert_eq!(refusal.code(), "EVALIDATION"),
        }
    }
}
