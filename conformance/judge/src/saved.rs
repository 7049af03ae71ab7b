//! Answers that later steps refer to.
//!
//! A call with `"as": "pool"` saves its answer. In later arguments and expectations, `{"$ref": "pool"}` stands for
//! it, and `{"$ref": "pool/handle"}` for its member `handle` (a JSON pointer). `"streamAs"` saves the items of the
//! call's stream.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

/// The answers that a case has saved so far.
#[derive(Debug, Clone, Default)]
pub struct Saved(BTreeMap<String, Value>);

impl Saved {
    pub fn keep(&mut self, name: &str, answer: Value) {
        self.0.insert(name.to_owned(), answer);
    }

    /// The value of `{"$ref": reference}`.
    pub fn get(&self, reference: &str) -> Option<&Value> {
        let name = name_of(reference);
        self.0.get(name)?.pointer(&reference[name.len()..])
    }

    /// Fills in references. The error is a reference that cannot be resolved.
    pub fn fill<'a>(&self, args: &'a Value) -> Result<Cow<'a, Value>, String> {
        // Most cases save nothing, and their arguments may be large.
        if has_marks(args) { self.filled(args).map(Cow::Owned) } else { Ok(Cow::Borrowed(args)) }
    }

    fn filled(&self, args: &Value) -> Result<Value, String> {
        match mark(args) {
            Some(Mark::Reference(reference)) => {
                self.get(reference).cloned().ok_or_else(|| reference.to_owned())
            }
            Some(Mark::Literal(value)) => Ok(value.clone()),
            None => match args {
                Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
                Value::Object(map) => {
                    let members =
                        map.iter().map(|(key, value)| Ok((key.clone(), self.filled(value)?)));
                    members.collect::<Result<_, _>>().map(Value::Object)
                }
                scalar => Ok(scalar.clone()),
            },
        }
    }
}

/// `pool` of `pool/handle`.
pub fn name_of(reference: &str) -> &str {
    reference.split('/').next().unwrap_or(reference)
}

enum Mark<'a> {
    Reference(&'a str),
    Literal(&'a Value),
}

fn mark(value: &Value) -> Option<Mark<'_>> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    match map.iter().next()? {
        (key, Value::String(reference)) if key == "$ref" => Some(Mark::Reference(reference)),
        (key, value) if key == "$literal" => Some(Mark::Literal(value)),
        _ => None,
    }
}

fn has_marks(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_marks),
        Value::Object(map) => mark(value).is_some() || map.values().any(has_marks),
        _ => false,
    }
}

/// Every reference in an author's value.
pub fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match mark(value) {
        Some(Mark::Reference(reference)) => found.push(reference),
        Some(Mark::Literal(_)) => {}
        None => match value {
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Object(map) => map.values().for_each(|item| references(item, found)),
            _ => {}
        },
    }
}

/// An object with a malformed `$ref`, which would be sent to the subject unchanged.
pub fn no_reference(value: &Value) -> Option<&Value> {
    match (mark(value), value) {
        (Some(_), _) => None,
        (None, Value::Array(items)) => items.iter().find_map(no_reference),
        (None, Value::Object(map)) if map.contains_key("$ref") => Some(value),
        (None, Value::Object(map)) => map.values().find_map(no_reference),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_is_filled_in_and_a_literal_is_left() {
        let mut saved = Saved::default();
        saved.keep("pool", json!({"handle": [7]}));
        let args = json!({"a": {"$ref": "pool/handle/0"}, "b": [{"$literal": {"$ref": "pool"}}]});
        let filled = saved.fill(&args).map(Cow::into_owned);
        assert_eq!(filled, Ok(json!({"a": 7, "b": [{"$ref": "pool"}]})));
    }

    #[test]
    fn arguments_without_references_are_not_copied() {
        let args = json!({"value": {"$ref": 1, "$literal": 2}});
        assert!(matches!(Saved::default().fill(&args), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn an_unresolved_reference_is_named() {
        let mut saved = Saved::default();
        saved.keep("pool", json!({}));
        let fault = saved.fill(&json!([{"$ref": "pool/handle"}])).unwrap_err();
        assert_eq!(fault, "pool/handle");
    }
}
