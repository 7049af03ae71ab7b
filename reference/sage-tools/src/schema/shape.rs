//! Where in a schema further schemas stand, and what they apply to.

use serde_json::{Map, Value};

/// What a schema inside a schema is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    /// The same value, and the value must fit it, always or in some case.
    SameValue,
    /// The same value, to find out something: what it says is no rule.
    Question,
    /// A member or an item of the value.
    Part,
    /// A part of the value, to find out something.
    PartQuestion,
    /// Nothing, until something refers to it.
    Nothing,
}

use Applies::{Nothing, Part, PartQuestion, Question, SameValue};

/// Keywords whose value is a schema.
const ONE: [(&str, Applies); 11] = [
    ("additionalProperties", Part),
    ("unevaluatedProperties", Part),
    ("items", Part),
    ("unevaluatedItems", Part),
    ("contains", PartQuestion),
    ("propertyNames", PartQuestion),
    ("contentSchema", Nothing),
    ("not", Question),
    ("if", Question),
    ("then", SameValue),
    ("else", SameValue),
];
/// Keywords whose value is a list of schemas.
const LIST: [(&str, Applies); 4] =
    [("allOf", SameValue), ("anyOf", SameValue), ("oneOf", SameValue), ("prefixItems", Part)];
/// Keywords whose value is an object of schemas.
const NAMED: [(&str, Applies); 5] = [
    ("properties", Part),
    ("patternProperties", Part),
    ("dependentSchemas", SameValue),
    ("$defs", Nothing),
    ("definitions", Nothing),
];

/// The schemas that stand directly in this one.
pub(super) fn inner(schema: &Map<String, Value>) -> Vec<(Applies, &Value)> {
    let mut found = Vec::new();
    for (keyword, value) in schema {
        match (applies(keyword), value) {
            (Some((Holds::One, how)), _) => found.push((how, value)),
            (Some((Holds::List, how)), Value::Array(items)) => {
                found.extend(items.iter().map(|item| (how, item)));
            }
            (Some((Holds::Named, how)), Value::Object(members)) => {
                found.extend(members.values().map(|member| (how, member)));
            }
            _ => {}
        }
    }
    found
}

/// The same schema with `change` done to each that stands directly in it.
pub(super) fn map_inner(
    schema: &Map<String, Value>,
    mut change: impl FnMut(Applies, &Value) -> Value,
) -> Map<String, Value> {
    let changed = |(keyword, value): (&String, &Value)| {
        let value = match (applies(keyword), value) {
            (Some((Holds::One, how)), _) => change(how, value),
            (Some((Holds::List, how)), Value::Array(items)) => {
                items.iter().map(|item| change(how, item)).collect()
            }
            (Some((Holds::Named, how)), Value::Object(members)) => Value::Object(
                members.iter().map(|(name, member)| (name.clone(), change(how, member))).collect(),
            ),
            _ => value.clone(),
        };
        (keyword.clone(), value)
    };
    schema.iter().map(changed).collect()
}

enum Holds {
    One,
    List,
    Named,
}

fn applies(keyword: &str) -> Option<(Holds, Applies)> {
    let of = |table: &[(&str, Applies)]| {
        table.iter().find(|(name, _)| *name == keyword).map(|(_, how)| *how)
    };
    of(&ONE)
        .map(|how| (Holds::One, how))
        .or_else(|| of(&LIST).map(|how| (Holds::List, how)))
        .or_else(|| of(&NAMED).map(|how| (Holds::Named, how)))
}

/// What this schema refers to, as written.
pub(super) fn references(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    ["$ref", "$dynamicRef"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_str())
}

/// What `reference` leads to in `root`: `#`, `#/a/pointer` or `#anchor`.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = percent_decoded(reference.strip_prefix('#')?)?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&fragment);
    }
    let mut left = vec![root];
    while let Some(schema) = left.pop() {
        let Value::Object(members) = schema else { continue };
        let is_named = |keyword| members.get(keyword).and_then(Value::as_str) == Some(&fragment);
        if is_named("$anchor") || is_named("$dynamicAnchor") {
            return Some(schema);
        }
        left.extend(inner(members).into_iter().map(|(_, schema)| schema));
    }
    None
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if *first == b'%' {
            let digits = str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}
