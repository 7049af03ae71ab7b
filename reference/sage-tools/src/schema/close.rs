//! Closes a schema, so that it rejects properties that it does not mention.
//!
//! A property may be mentioned beside, in an `allOf` or behind a `$ref`. So a schema is closed where a value begins,
//! for all schemas that apply to it together. Tests (`not`, `if`, `contains`) stay as they are: closing them would
//! change their meaning.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::shape::{Applies, inner, map_inner, references, resolve};

/// The property names that a schema mentions anywhere.
#[derive(Debug, Default)]
pub(super) struct Names {
    mentioned: HashSet<String>,
    /// There are rules for unlisted names.
    is_open: bool,
}

impl Names {
    /// Whether no part of the schema can mean `name`.
    pub(super) fn never(&self, name: &str) -> bool {
        !self.is_open && !self.mentioned.contains(name)
    }
}

/// `root` must be within the limits, so that following it ends.
pub(super) fn close(root: &Value) -> (Value, Names) {
    let mut names = Names::default();
    let mut shared = HashSet::new();
    let mut left = vec![root];
    while let Some(schema) = left.pop() {
        let Value::Object(members) = schema else { continue };
        if let Some(Value::Object(properties)) = members.get("properties") {
            names.mentioned.extend(properties.keys().cloned());
        }
        names.is_open |= ["patternProperties", "additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|keyword| members.contains_key(*keyword));
        shared.extend(said_twice(root, members));
        left.extend(inner(members).into_iter().map(|(_, schema)| schema));
    }
    (Closing { root, shared }.closed(root, true), names)
}

struct Closing<'a> {
    root: &'a Value,
    /// Schemas of properties that another schema of the same object also mentions. None of them knows everything that
    /// is allowed, so none is closed.
    shared: HashSet<*const Value>,
}

impl Closing<'_> {
    /// `begins`: a value begins here, so whatever else applies to it stands inside.
    fn closed(&self, schema: &Value, begins: bool) -> Value {
        let Value::Object(members) = schema else { return schema.clone() };
        let mut closed = map_inner(members, |how, inner| match how {
            Applies::Part => self.closed(inner, !self.shared.contains(&std::ptr::from_ref(inner))),
            Applies::SameValue | Applies::Nothing => self.closed(inner, false),
            Applies::Question | Applies::PartQuestion => inner.clone(),
        });
        let is_root = std::ptr::eq(schema, self.root);
        let says = |keyword| members.contains_key(keyword);
        if begins
            && (is_root || speaks_of_objects(self.root, members))
            && !says("additionalProperties")
            && !says("unevaluatedProperties")
        {
            // The simpler keyword where it is enough: it never depends on what else failed.
            let keyword = if applied_with(self.root, members).is_empty() {
                "additionalProperties"
            } else {
                "unevaluatedProperties"
            };
            closed.insert(keyword.to_owned(), Value::Bool(false));
        }
        // With `properties`, each extra property is reported by name; without, only the first one, without its name.
        if closed.get("additionalProperties") == Some(&Value::Bool(false)) {
            closed.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        }
        Value::Object(closed)
    }
}

fn speaks_of_objects(root: &Value, members: &Map<String, Value>) -> bool {
    let is_object = |kind: &Value| kind == "object";
    let typed = match members.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_object),
        Some(kind) => is_object(kind),
        None => false,
    };
    const OF_OBJECTS: [&str; 4] =
        ["properties", "patternProperties", "required", "dependentSchemas"];
    typed
        || OF_OBJECTS.iter().any(|keyword| members.contains_key(*keyword))
        || applied_with(root, members).iter().any(|inner| speaks_of_objects(root, inner))
}

/// The schemas that apply directly beside this one to the same value, as rules.
fn applied_with<'a>(
    root: &'a Value,
    members: &'a Map<String, Value>,
) -> Vec<&'a Map<String, Value>> {
    let inside = inner(members).into_iter();
    let rules = inside.filter(|(how, _)| *how == Applies::SameValue).map(|(_, schema)| schema);
    let referred = references(members).filter_map(|reference| resolve(root, reference));
    rules.chain(referred).filter_map(Value::as_object).collect()
}

/// The schemas of properties that more than one of those that apply together speak of.
fn said_twice(root: &Value, members: &Map<String, Value>) -> Vec<*const Value> {
    let mut together = ByName::new();
    let mut choices = Vec::new();
    gather(root, members, &mut together, &mut choices);
    // Two choices do not meet, unless nothing keeps them apart; each meets what always applies.
    let mut twice: Vec<*const Value> = Vec::new();
    for choice in choices {
        let mut chosen = ByName::new();
        let mut left = vec![choice];
        while let Some(next) = left.pop() {
            gather(root, next, &mut chosen, &mut left);
        }
        for (name, schemas) in chosen {
            if let Some(others) = together.get(name) {
                twice.extend(schemas.iter().chain(others));
            } else if schemas.len() > 1 {
                twice.extend(schemas);
            }
        }
    }
    twice.extend(together.into_values().filter(|schemas| schemas.len() > 1).flatten());
    twice
}

type ByName<'a> = HashMap<&'a str, HashSet<*const Value>>;

/// The properties that `members` and everything that applies with them mention; conditional parts go to `choices`.
fn gather<'a>(
    root: &'a Value,
    members: &'a Map<String, Value>,
    names: &mut ByName<'a>,
    choices: &mut Vec<&'a Map<String, Value>>,
) {
    if let Some(Value::Object(properties)) = members.get("properties") {
        for (name, schema) in properties {
            names.entry(name).or_default().insert(schema);
        }
    }
    let choosing = ["anyOf", "oneOf", "then", "else", "dependentSchemas"];
    for keyword in choosing {
        match members.get(keyword) {
            Some(Value::Array(items)) => choices.extend(items.iter().filter_map(Value::as_object)),
            Some(Value::Object(inner)) if keyword == "dependentSchemas" => {
                choices.extend(inner.values().filter_map(Value::as_object));
            }
            Some(Value::Object(inner)) => choices.push(inner),
            _ => {}
        }
    }
    let all_of = members.get("allOf").and_then(Value::as_array).into_iter().flatten();
    let referred = references(members).filter_map(|reference| resolve(root, reference));
    for inner in all_of.chain(referred).filter_map(Value::as_object) {
        gather(root, inner, names, choices);
    }
}
