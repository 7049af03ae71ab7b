//! Canonical JSON, against an implementation by others.

use sage_utils::canonical_json_of_text;
use serde_json::Value;

/// Whatever is JSON has one form, the one that others give it, and that form is its own; nothing else has one.
pub(super) fn canonical(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let ours = canonical_json_of_text(text);
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        assert!(ours.is_err(), "{ours:?}");
        return;
    };
    let theirs = serde_json_canonicalizer::to_string(&value).expect("a value can be written");
    assert_eq!(ours.as_deref(), Ok(theirs.as_str()));
    assert_eq!(canonical_json_of_text(&theirs).as_deref(), Ok(theirs.as_str()));
}
