//! Replaces `$ENV.NAME` in the strings of an input.

use std::collections::{BTreeMap, BTreeSet};

use sage_utils::{SecretProvider, TypedError, err};
use serde_json::{Map, Value, json};

const START: &str = "$ENV.";

/// The values of the secrets of one call, by their names. It has no `Debug`.
#[derive(Default)]
pub(crate) struct Secrets(BTreeMap<String, String>);

impl Secrets {
    /// Fetches each secret that `input` names, once.
    ///
    /// # Errors
    /// `ESECRET_NOT_FOUND` for the first secret that is missing or could not be fetched.
    pub(crate) async fn fetch(
        input: &Value,
        provider: &dyn SecretProvider,
    ) -> Result<Self, TypedError> {
        let mut names = Vec::new();
        collect(input, &mut names, &mut BTreeSet::new());
        let mut values = BTreeMap::new();
        for name in names {
            let value = match provider.get(name).await {
                Ok(Some(value)) => value,
                Ok(None) => return Err(not_found(name, "there is no such secret")),
                // Do not repeat the provider's message or code: they may contain confidential text.
                Err(_) => return Err(not_found(name, "the secret provider failed")),
            };
            values.insert(name.to_owned(), value);
        }
        Ok(Self(values))
    }

    #[cfg(test)]
    pub(crate) fn known(secrets: &[(&str, &str)]) -> Self {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self(secrets.iter().map(own).collect())
    }

    /// The same input with values in place of names. Values are not expanded again.
    pub(crate) fn inject(&self, input: Value) -> Value {
        match input {
            Value::String(text) => Value::String(self.inject_text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.inject(item)).collect(),
            Value::Object(members) => Value::Object(
                members.into_iter().map(|(name, value)| (name, self.inject(value))).collect(),
            ),
            other => other,
        }
    }

    fn inject_text(&self, text: &str) -> String {
        let mut injected = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => injected.push_str(text),
                Part::Name(name) => match self.0.get(name) {
                    Some(value) => injected.push_str(value),
                    // Without a provider nothing was fetched.
                    None => injected.extend([START, name]),
                },
            }
        }
        injected
    }

    /// Names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

fn not_found(name: &str, reason: &str) -> TypedError {
    let message = format!("secret `{name}` cannot be injected: {reason}");
    let properties = Map::from_iter([
        ("resource".to_owned(), json!(name)),
        ("operation".to_owned(), json!("read")),
    ]);
    err("ESECRET_NOT_FOUND", message, None)
        .named("SecretNotFoundError")
        .with_properties(properties)
        .expect("neither is one of an error's own")
}

/// The names in every string of `value`, in the order of their first use.
fn collect<'a>(value: &'a Value, names: &mut Vec<&'a str>, seen: &mut BTreeSet<&'a str>) {
    match value {
        Value::String(text) => {
            for part in parts(text) {
                if let Part::Name(name) = part
                    && seen.insert(name)
                {
                    names.push(name);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, names, seen)),
        Value::Object(members) => members.values().for_each(|value| collect(value, names, seen)),
        _ => {}
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// A text, cut where placeholders stand.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut plain = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find(START) {
        let name_start = from + found + START.len();
        let name = name_at(&text[name_start..]);
        from = name_start + name.len();
        if !name.is_empty() {
            parts.push(Part::Text(&text[plain..name_start - START.len()]));
            parts.push(Part::Name(name));
            plain = from;
        }
    }
    parts.push(Part::Text(&text[plain..]));
    parts
}

/// The longest `[A-Za-z_][A-Za-z0-9_]*` that `text` starts with.
fn name_at(text: &str) -> &str {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return "";
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", &[])]
    #[case("$ENV", &[])]
    #[case("$ENV.", &[])]
    #[case("$ENV.1", &[])]
    #[case("$ENV.é", &[])]
    #[case("$env.A", &[])]
    #[case("ENV.A", &[])]
    #[case("$ENV.A", &["A"])]
    #[case("$ENV._a9.b", &["_a9"])]
    #[case("$ENV.A-B", &["A"])]
    #[case("$ENV.Aé", &["A"])]
    #[case("$$ENV.A$ENV.B", &["A", "B"])]
    #[case("$ENV.$ENV.A", &["A"])]
    #[case("x$ENV.A $ENV.B,$ENV.A", &["A", "B", "A"])]
    fn the_names_in_a_text(#[case] text: &str, #[case] expect: &[&str]) {
        let found: Vec<_> = parts(text)
            .into_iter()
            .filter_map(|part| match part {
                Part::Name(name) => Some(name),
                Part::Text(_) => None,
            })
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_value_is_not_looked_at_again() {
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let secrets = Secrets([of("A", "$ENV.B"), of("B", "x")].into_iter().collect());
        let input = json!({"$ENV.A": ["<$ENV.A>", {"deep": "$ENV.B$ENV.A"}], "n": 1});
        let expect = json!({"$ENV.A": ["<$ENV.B>", {"deep": "x$ENV.B"}], "n": 1});
        assert_eq!(secrets.inject(input), expect);
    }
}
