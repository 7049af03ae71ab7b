//! Limits, checked without recursion before anything else: schemas or inputs that are too deep or too large, or
//! references that make checking too expensive.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::shape::{Applies, inner, references, resolve};

/// Nesting limit of a schema or an input.
const DEEPEST: usize = 100;
/// Limit of values in a schema.
const MOST_VALUES: usize = 20_000;
/// Limit of schemas that apply to one value in a chain.
const LONGEST_CHAIN: usize = 50;
/// Limit of schemas that apply to one value, counted per reference.
const MOST_APPLIED: usize = 1000;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The reason why `schema` cannot be used, if there is one.
pub(super) fn check_schema(schema: &Value) -> Result<(), String> {
    let Value::Object(members) = schema else {
        return Err("is no object".to_owned());
    };
    if depth_and_count(schema, DEEPEST, MOST_VALUES).is_none() {
        return Err(format!(
            "is too deep or too large; at most {DEEPEST} levels and {MOST_VALUES} values"
        ));
    }
    if let Some(dialect) = members.get("$schema") {
        let named = dialect.as_str().map(|text| text.trim_end_matches('#'));
        if named != Some(DIALECT) {
            return Err(format!("has the `$schema` {dialect}; it must be `{DIALECT}` or absent"));
        }
    }
    let mut seen = HashMap::new();
    let mut left = vec![schema];
    while let Some(next) = left.pop() {
        let Value::Object(members) = next else { continue };
        if !std::ptr::eq(next, schema) && members.contains_key("$id") {
            return Err("has an `$id` inside; name the place with `$anchor` instead".to_owned());
        }
        applied(schema, next, 0, &mut seen)?;
        left.extend(inner(members).into_iter().map(|(_, schema)| schema));
    }
    Ok(())
}

/// The reason why `input` cannot be checked, if there is one.
pub(crate) fn check_input(input: &Value) -> Result<(), String> {
    match depth_and_count(input, DEEPEST, usize::MAX) {
        Some(()) => Ok(()),
        None => Err(format!("is nested too deeply; at most {DEEPEST} levels")),
    }
}

/// `None` if it exceeds a limit. Not recursive, because it may be arbitrarily deep.
fn depth_and_count(value: &Value, deepest: usize, most: usize) -> Option<()> {
    let mut left = vec![(value, 0)];
    let mut count = 0;
    while let Some((value, depth)) = left.pop() {
        count += 1;
        if depth > deepest || count > most {
            return None;
        }
        match value {
            Value::Array(items) => left.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                left.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
    }
    Some(())
}

/// What is known of a schema while those that apply with it are followed.
#[derive(Clone, Copy)]
enum Known {
    UnderWay,
    Followed { count: usize, chain: usize },
}

/// How many schemas apply to a value that `schema` applies to, and the longest chain of them.
fn applied<'a>(
    root: &'a Value,
    schema: &'a Value,
    depth: usize,
    seen: &mut HashMap<*const Value, Known>,
) -> Result<(usize, usize), String> {
    let Value::Object(members) = schema else { return Ok((1, 1)) };
    if depth > LONGEST_CHAIN {
        return Err(format!("refers from schema to schema more than {LONGEST_CHAIN} times"));
    }
    match seen.get(&std::ptr::from_ref(schema)) {
        Some(Known::UnderWay) => {
            return Err("refers to itself for the same value, so no check would end".to_owned());
        }
        Some(Known::Followed { count, chain }) => {
            return within(*count, depth + *chain).map(|()| (*count, *chain));
        }
        None => {}
    }
    seen.insert(schema, Known::UnderWay);
    let (mut count, mut chain) = (1_usize, 0);
    for next in with_it(root, members)? {
        let (more, longer) = applied(root, next, depth + 1, seen)?;
        count = count.saturating_add(more);
        chain = chain.max(longer);
    }
    chain += 1;
    within(count, depth + chain)?;
    seen.insert(schema, Known::Followed { count, chain });
    Ok((count, chain))
}

fn within(count: usize, chain: usize) -> Result<(), String> {
    if count > MOST_APPLIED {
        return Err(format!("applies more than {MOST_APPLIED} schemas to one value"));
    }
    if chain > LONGEST_CHAIN + 1 {
        return Err(format!("refers from schema to schema more than {LONGEST_CHAIN} times"));
    }
    Ok(())
}

/// The schemas that apply to the same value as the one that has these members.
fn with_it<'a>(root: &'a Value, members: &'a Map<String, Value>) -> Result<Vec<&'a Value>, String> {
    let mut found: Vec<_> = inner(members)
        .into_iter()
        .filter(|(how, _)| matches!(how, Applies::SameValue | Applies::Question))
        .map(|(_, schema)| schema)
        .collect();
    for reference in references(members) {
        if !reference.starts_with('#') {
            return Err(format!(
                "refers to `{reference}`; only references inside the schema (`#/…`) are followed"
            ));
        }
        let led = resolve(root, reference);
        found.push(led.ok_or_else(|| format!("refers to `{reference}`, which is not there"))?);
    }
    Ok(found)
}
