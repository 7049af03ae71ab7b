//! Fuzzes canonical JSON against another implementation.

use std::path::Path;

use proofmark_room::fuzz::{FuzzTarget, all_fixtures, short};
use sage_utils::canonical_json_of_text;
use serde_json::Value;

/// The targets of this contract, for `cargo xtask fuzz`.
pub(crate) const TARGETS: &[FuzzTarget] =
    &[FuzzTarget { name: "canonical", check: canonical, seeds: values }];

/// Valid JSON has one canonical form, equal to the other implementation's and stable under another pass. Anything
/// else is refused.
fn canonical(bytes: &[u8]) {
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

/// Every argument of a call, and every JSON text in one.
fn values(top: &Path) -> Vec<Vec<u8>> {
    fn gather(value: &Value, seeds: &mut Vec<Vec<u8>>) {
        match value {
            Value::Object(members) => {
                if let Some(args) = members.get("args") {
                    seeds.push(args["value"].to_string().into_bytes());
                    seeds.extend(args["json"].as_str().map(|text| text.as_bytes().to_vec()));
                }
                members.values().for_each(|member| gather(member, seeds));
            }
            Value::Array(items) => items.iter().for_each(|item| gather(item, seeds)),
            _ => {}
        }
    }
    let mut seeds = Vec::new();
    all_fixtures(top).iter().for_each(|file| gather(file, &mut seeds));
    short(seeds)
}
