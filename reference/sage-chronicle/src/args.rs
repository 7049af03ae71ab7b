//! Arguments from outside. All faults are reported at once, before anything is done.

use sage_errors::{Detail, SageError};
use serde_json::Value;

use crate::event::{Entry, IdRule};
use crate::path::ChroniclePath;
use crate::rules::check;

/// Checks the arguments of an append.
///
/// # Errors
/// `EVALIDATION` with the faults of the path and of the event.
pub fn check_append(
    path: &str,
    event: &Value,
    rule: IdRule,
) -> Result<(ChroniclePath, Entry), SageError> {
    match (ChroniclePath::check(path), Entry::new(event, rule)) {
        (Ok(path), Ok(entry)) => Ok((path, entry)),
        (Ok(_), Err(error)) => Err(error),
        (Err(fault), _) => {
            let faults = [*fault].into_iter().chain(check(event, rule));
            Err(SageError::validation_of(faults).expect("there is at least the path's fault"))
        }
    }
}

/// The arguments of `chronicle.appendEvent` and `chronicle.appendEventWithId`.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendArgs {
    pub path: String,
    pub event: Value,
    pub lock_timeout_ms: Option<u64>,
}

impl AppendArgs {
    /// # Errors
    /// `EVALIDATION` with a detail for every fault of `path`, `event` and `lockTimeoutMs`.
    pub fn from_json(args: &Value, rule: IdRule) -> Result<Self, SageError> {
        let mut faults = Vec::new();
        let path = path(args, &mut faults);
        let event = match args.get("event") {
            Some(event) => {
                faults.extend(check(event, rule));
                event.clone()
            }
            None => {
                faults.push(Detail::new("event", "is missing").expected("an object"));
                Value::Null
            }
        };
        let lock_timeout_ms = whole_number(args, "lockTimeoutMs", &mut faults);
        all_right(faults).map(|()| Self { path, event, lock_timeout_ms })
    }
}

/// The arguments of `chronicle.readChronicle`, and of the hooks for the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadArgs {
    pub path: String,
}

impl ReadArgs {
    /// # Errors
    /// `EVALIDATION` when `path` is not a chronicle's.
    pub fn from_json(args: &Value) -> Result<Self, SageError> {
        let mut faults = Vec::new();
        let path = path(args, &mut faults);
        all_right(faults).map(|()| Self { path })
    }
}

/// The arguments of `chronicle.tailChronicle`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailArgs {
    pub path: String,
    pub n: Option<u64>,
}

impl TailArgs {
    /// # Errors
    /// `EVALIDATION` with a detail for every fault of `path` and `n`.
    pub fn from_json(args: &Value) -> Result<Self, SageError> {
        let mut faults = Vec::new();
        let path = path(args, &mut faults);
        let n = whole_number(args, "n", &mut faults);
        all_right(faults).map(|()| Self { path, n })
    }
}

fn all_right(faults: Vec<Detail>) -> Result<(), SageError> {
    SageError::validation_of(faults).map_or(Ok(()), Err)
}

fn path(args: &Value, faults: &mut Vec<Detail>) -> String {
    match args.get("path") {
        Some(Value::String(text)) => {
            faults.extend(ChroniclePath::check(text).err().map(|fault| *fault));
            return text.clone();
        }
        Some(other) => faults.push(
            Detail::new("path", "is not a string").received(other.clone()).expected("a string"),
        ),
        None => faults.push(Detail::new("path", "is missing").expected("a string")),
    }
    String::new()
}

/// `1.0` is the number 1. Beyond 2^53 doubles are more than one apart, so it may not be the number that the caller
/// wrote.
fn whole_number(args: &Value, field: &str, faults: &mut Vec<Detail>) -> Option<u64> {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    let given = args.get(field)?;
    let number = given.as_u64().or_else(|| {
        let number = given.as_f64()?;
        (number.fract() == 0.0 && (0.0..=LARGEST).contains(&number)).then_some(number as u64)
    });
    if number.is_none() {
        let reason = if given.is_number() { "is not a count" } else { "is not a number" };
        let detail = Detail::new(field, reason).received(given.clone());
        faults.push(detail.expected("a non-negative integer"));
    }
    number
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({ "path": "a.sage" }), None)]
    #[case(json!({ "path": "a.sage", "n": 0 }), Some(0))]
    #[case(json!({ "path": "a.sage", "n": 7 }), Some(7))]
    #[case(json!({ "path": "a.sage", "n": 7.0 }), Some(7))]
    #[case(json!({ "path": "a.sage", "n": -0.0 }), Some(0))]
    #[case(json!({ "path": "a.sage", "n": 1e15 }), Some(1_000_000_000_000_000))]
    #[case(json!({ "path": "a.sage", "n": u64::MAX }), Some(u64::MAX))]
    fn a_count(#[case] args: Value, #[case] n: Option<u64>) {
        assert_eq!(TailArgs::from_json(&args), Ok(TailArgs { path: "a.sage".to_owned(), n }));
    }

    #[rstest]
    #[case(json!(-1))]
    #[case(json!(1.5))]
    #[case(json!(1e300))]
    #[case(json!("1"))]
    #[case(json!(true))]
    #[case(json!(null))]
    #[case(json!([1]))]
    fn no_count(#[case] value: Value) {
        let error = TailArgs::from_json(&json!({ "path": "a.sage", "n": value })).unwrap_err();
        let details = &error.properties()["details"];
        assert_eq!((&details[0]["field"], &details[0]["received"]), (&json!("n"), &value));
    }

    #[rstest]
    #[case(json!({}), &["path", "event"])]
    #[case(json!({ "path": 1, "event": [], "lockTimeoutMs": -1 }), &["path", "event", "lockTimeoutMs"])]
    #[case(
        json!({ "path": "../a.sage", "event": { "actor": {} }, "lockTimeoutMs": "1" }),
        &["path", "type", "timestamp", "actor.agent", "actor.id", "lockTimeoutMs"]
    )]
    #[case(json!([]), &["path", "event"])]
    fn every_fault_is_told(#[case] args: Value, #[case] fields: &[&str]) {
        let error = AppendArgs::from_json(&args, IdRule::Computed).unwrap_err();
        let SageError::Validation(error) = error else { panic!("{error}") };
        let reported: Vec<_> = error.details().iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(reported, fields);
    }
}
