//! Compiles what an author wrote into nodes that can be compared.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use regex::Regex;
use serde_json::{Map, Value};

use super::{KINDS, Kind, Node};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Position {
    Value,
    Member,
}

pub(super) fn compile(source: &Value, place: Position) -> Result<Node, String> {
    match source {
        Value::Object(map) => match map.iter().next() {
            Some((name, argument)) if name.starts_with('$') && map.len() == 1 => {
                matcher(name, argument, place)
            }
            _ => Ok(Node::Object { members: members(map)?, open: false }),
        },
        Value::Array(items) => Ok(Node::Array(all(items)?)),
        scalar => Ok(Node::Exact(scalar.clone())),
    }
}

pub(super) fn members(map: &Map<String, Value>) -> Result<Vec<(String, Node)>, String> {
    // As a plain member, a matcher would be compared by name and silently check something else.
    if let Some(name) = map.keys().find(|key| key.starts_with('$')) {
        return Err(format!(
            "the matcher `{name}` must be the only member of its object; wrap a real value with such a key in `$literal`"
        ));
    }
    map.iter().map(|(key, value)| Ok((key.clone(), compile(value, Position::Member)?))).collect()
}

/// The size of the cache: a suite has some hundred expressions, and laws generate new ones.
const MOST_KEPT: usize = 1_000;

/// Caches compiled expressions: the same few occur in thousands of places.
fn regex(expression: &str) -> Result<Regex, regex::Error> {
    static KEPT: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = kept.get(expression) {
        return Ok(regex.clone());
    }
    let regex = Regex::new(expression)?;
    if kept.len() < MOST_KEPT {
        kept.insert(expression.to_owned(), regex.clone());
    }
    Ok(regex)
}

fn all(items: &[Value]) -> Result<Vec<Node>, String> {
    items.iter().map(|item| compile(item, Position::Value)).collect()
}

fn matcher(name: &str, argument: &Value, place: Position) -> Result<Node, String> {
    let list = || match argument {
        Value::Array(items) if !items.is_empty() => all(items),
        _ => Err(format!("`{name}` takes an array with at least one item")),
    };
    match name {
        "$any" => {
            let kind =
                argument.as_str().and_then(|word| KINDS.iter().find(|(known, _)| *known == word));
            kind.map(|(_, kind)| Node::Any(*kind)).ok_or_else(|| {
                let known: Vec<_> = KINDS.iter().map(|(word, _)| *word).collect();
                format!("`$any` takes one of {}, not {argument}", known.join(", "))
            })
        }
        "$nonEmpty" => match argument.as_str() {
            Some("string") => Ok(Node::NonEmpty(Kind::String)),
            Some("array") => Ok(Node::NonEmpty(Kind::Array)),
            Some("object") => Ok(Node::NonEmpty(Kind::Object)),
            _ => Err(format!("`$nonEmpty` takes one of string, array, object, not {argument}")),
        },
        "$matches" => match argument.as_str().map(regex) {
            Some(Ok(regex)) => Ok(Node::Matches(regex)),
            Some(Err(fault)) => Err(format!("`$matches` has an invalid regular expression: {fault}")),
            None => {
                Err(format!("`$matches` takes a regular expression as a string, not {argument}"))
            }
        },
        "$oneOf" => list().map(Node::OneOf),
        "$unordered" => list().map(Node::Unordered),
        "$contains" => list().map(Node::Contains),
        "$each" => Ok(Node::Each(Box::new(compile(argument, Position::Value)?))),
        "$startsWith" => match compile(argument, Position::Value) {
            Ok(Node::Saved(reference)) => Ok(Node::StartsWithSaved(reference)),
            _ => list().map(Node::StartsWith),
        },
        "$above" => match compile(argument, Position::Value)? {
            limit @ Node::Saved(_) => Ok(Node::Above(Box::new(limit))),
            Node::Exact(Value::Number(limit)) => {
                Ok(Node::Above(Box::new(Node::Exact(Value::Number(limit)))))
            }
            _ => Err(format!("`$above` takes a number or a `$ref` to one, not {argument}")),
        },
        "$within" => {
            let parts = argument.as_object().filter(|map| map.len() == 2);
            let bytes = parts.and_then(|map| map.get("bytes")).and_then(Value::as_u64);
            let inner = parts.and_then(|map| map.get("value"));
            match (bytes.and_then(|bytes| usize::try_from(bytes).ok()), inner) {
                (Some(bytes), Some(inner)) => {
                    let inner = Box::new(compile(inner, Position::Value)?);
                    Ok(Node::Within { bytes, inner })
                }
                _ => Err(format!(
                    "`$within` takes {{\"bytes\": a count, \"value\": what is expected}}, not {argument}"
                )),
            }
        }
        "$among" => {
            let parts = argument.as_object().filter(|map| map.len() == 2);
            match parts.and_then(|map| Some((map.get("items")?, map.get("value")?))) {
                Some((items, inner)) => {
                    let items = Box::new(compile(items, Position::Value)?);
                    let inner = Box::new(compile(inner, Position::Value)?);
                    Ok(Node::Among { items, inner })
                }
                None => Err(format!(
                    "`$among` takes {{\"items\": which items count, \"value\": what they are}}, not {argument}"
                )),
            }
        }
        "$optional" if place == Position::Member => {
            Ok(Node::Optional(Box::new(compile(argument, Position::Value)?)))
        }
        "$optional" => Err("`$optional` can only be the value of a member".to_owned()),
        "$absent" if place == Position::Member && *argument == Value::Bool(true) => Ok(Node::Absent),
        "$absent" => {
            Err("`$absent` is written {\"$absent\": true} and can only be the value of a member"
                .to_owned())
        }
        "$open" => match argument {
            Value::Object(map) => Ok(Node::Object { members: members(map)?, open: true }),
            _ => Err(format!("`$open` takes an object, not {argument}")),
        },
        "$ref" => match argument {
            Value::String(reference) => Ok(Node::Saved(reference.clone())),
            _ => Err(format!(
                "`$ref` takes the name under which an earlier call was saved (`as`), not {argument}"
            )),
        },
        "$literal" => Ok(Node::Exact(argument.clone())),
        "$repeat" => Err("`$repeat` can only be an item of an array".to_owned()),
        "$bless" => Err("`$bless` can only be the whole `returns` of a call in a fixture; write the expected value here".to_owned()),
        other => Err(format!(
            "unknown matcher `{other}`; there are $any, $nonEmpty, $matches, $oneOf, $optional, $absent, $open, $unordered, $contains, $each, $startsWith, $above, $within, $among, $ref, $literal and $repeat"
        )),
    }
}
