//! Hashes and typed errors.

use rstest::rstest;
use sage_utils::{canonical_json, err, sha256};
use serde_json::{Map, Value, json};

/// NIST, FIPS 180-4 example values and the CAVP byte vectors; the last from the contract's text.
#[rstest]
#[case("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
#[case("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")]
#[case(
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
)]
#[case(
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
)]
#[case("hello", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")]
fn text_hashes_as_published(#[case] text: &str, #[case] digest: &str) {
    assert_eq!(sha256(text), digest);
}

#[rstest]
#[case(&[0xd3], "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1")]
#[case(&[0xbd], "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b")]
#[case(&[0xc9, 0x8c, 0x8e, 0x55], "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504")]
#[case(&[0; 1000], "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53")]
fn bytes_hash_as_published(#[case] bytes: &[u8], #[case] digest: &str) {
    assert_eq!(sha256(bytes), digest);
}

#[test]
fn a_million_letters_hash_as_published() {
    let digest = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    assert_eq!(sha256("a".repeat(1_000_000)), digest);
}

#[track_caller]
fn object(value: Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

#[test]
fn an_error_without_cause_has_no_cause() {
    let error = err("EIO", "the disk is full", None);
    assert_eq!(
        error.to_json(),
        json!({"name": "TypedError", "code": "EIO", "message": "the disk is full"})
    );
    assert_eq!(error.to_string(), "EIO: the disk is full");
}

#[rstest]
#[case(json!(null))]
#[case(json!("text"))]
#[case(json!({"code": "ENOENT"}))]
fn a_cause_of_any_kind_is_kept(#[case] cause: Value) {
    let error = err("X", "y", Some(cause.clone()));
    assert_eq!(error.cause(), Some(&cause));
    assert_eq!(error.to_json().get("cause"), Some(&cause));
}

#[test]
fn properties_stand_at_the_top() {
    let error = err("ELOCK_TIMEOUT", "busy", None)
        .named("LockTimeoutError")
        .with_properties(object(json!({"timeoutMs": 5, "path": "a.sage"})))
        .unwrap();
    assert_eq!(
        canonical_json(&serde_json::to_value(&error).unwrap()),
        r#"{"code":"ELOCK_TIMEOUT","message":"busy","name":"LockTimeoutError","path":"a.sage","timeoutMs":5}"#
    );
}

#[rstest]
#[case("name")]
#[case("code")]
#[case("message")]
#[case("cause")]
fn a_property_cannot_hide_a_member_of_the_error(#[case] name: &str) {
    let properties = Map::from_iter([(name.to_owned(), json!("x"))]);
    let refusal = err("X", "y", None).with_properties(properties).unwrap_err();
    assert_eq!(refusal.code(), "EVALIDATION");
    assert_eq!(refusal.properties()["details"][0]["field"], name);
}
