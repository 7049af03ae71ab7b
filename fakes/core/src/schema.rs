//! Generates values that fit a JSON Schema, for the part of it that tools use: `type`, `properties`,
//! `required`, `items`, `enum`, `const`, simple bounds, and a `pattern` if a plain word fits it.
//!
//! For a schema with any other keyword that could refuse a value it generates nothing: no value is better
//! than one that does not fit.

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::draws::Draws;

/// Keywords that do not decide whether a value fits, because only declared properties are used.
/// `format` is one of them: JSON Schema does not assert it by default.
const ANNOTATIONS: [&str; 16] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "deprecated",
    "readOnly",
    "writeOnly",
    "additionalProperties",
    "unevaluatedProperties",
    "contentMediaType",
    "contentEncoding",
];
const TEXT: [&str; 3] = ["minLength", "maxLength", "pattern"];
const NUMBER_BOUNDS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
const LIST: [&str; 3] = ["items", "minItems", "maxItems"];
const OBJECT: [&str; 2] = ["properties", "required"];
const TYPES: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];

/// Nothing is generated for schemas that are nested deeper.
const DEEPEST: usize = 16;
/// Nor for schemas that ask for a longer text or list.
const LONGEST: u64 = 64;
/// Whole numbers up to this one are exact as floats.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// A value that fits `schema`, even if a validator refuses properties that the schema does not name.
/// `None` if the schema has a keyword that is not supported here, or if no value is found.
pub fn fitting(schema: &Value, draws: &mut Draws) -> Option<Value> {
    value(schema, draws, 0)
}

fn value(schema: &Value, draws: &mut Draws, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    let schema = match schema {
        Value::Bool(true) => return Some(json!(draws.word())),
        Value::Object(schema) => schema,
        _ => return None,
    };
    if !schema.keys().all(|keyword| is_supported(keyword)) {
        return None;
    }
    let types = types(schema)?;
    if schema.contains_key("enum") || schema.contains_key("const") {
        return listed(schema, &types, draws);
    }
    match *draws.one_of(&types)? {
        "object" => object(schema, draws, depth),
        "array" => array(schema, draws, depth),
        "string" => text(schema, draws),
        "integer" => number(schema, true, draws),
        "number" => number(schema, false, draws),
        "boolean" => Some(json!(draws.below(2) == 1)),
        _ => Some(Value::Null),
    }
}

fn is_supported(keyword: &str) -> bool {
    ["type", "enum", "const"].contains(&keyword)
        || [&ANNOTATIONS[..], &TEXT, &NUMBER_BOUNDS, &LIST, &OBJECT]
            .iter()
            .any(|words| words.contains(&keyword))
}

/// The types to choose from: those of `type`, or the one that the other keywords apply to.
fn types(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    let named = match schema.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(several)) => {
            several.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?
        }
        Some(_) => return None,
        None => {
            let speaks = |words: &[&str]| words.iter().any(|word| schema.contains_key(*word));
            vec![match () {
                () if speaks(&OBJECT) => "object",
                () if speaks(&LIST) => "array",
                () if speaks(&NUMBER_BOUNDS) => "number",
                () => "string",
            }]
        }
    };
    named.iter().all(|name| TYPES.contains(name)).then_some(named)
}

/// One of the values of `enum` or `const` that has the right type.
fn listed(schema: &Map<String, Value>, types: &[&str], draws: &mut Draws) -> Option<Value> {
    let alone = |keyword: &str| {
        ["type", "enum", "const"].contains(&keyword) || ANNOTATIONS.contains(&keyword)
    };
    // With `additionalProperties` an object among the values might not fit.
    let closed = ["additionalProperties", "unevaluatedProperties"];
    if !schema.keys().all(|keyword| alone(keyword) && !closed.contains(&keyword.as_str())) {
        return None;
    }
    let values = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), None) => values.as_slice(),
        (None, Some(value)) => std::slice::from_ref(value),
        _ => return None,
    };
    // Validators that close every object refuse one that the schema does not describe.
    let fits = |value: &&Value| {
        !holds_object(value)
            && (!schema.contains_key("type") || types.iter().any(|name| has_type(value, name)))
    };
    let values: Vec<_> = values.iter().filter(fits).collect();
    draws.one_of(&values).map(|value| (*value).clone())
}

fn holds_object(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(holds_object),
        _ => false,
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        Value::Number(number) => match name {
            "number" => true,
            "integer" => number.as_f64().is_some_and(|number| number.fract() == 0.0),
            _ => false,
        },
    }
}

/// Every required property, and each optional one with probability 1/2.
fn object(schema: &Map<String, Value>, draws: &mut Draws, depth: usize) -> Option<Value> {
    let none = Map::new();
    let properties = match schema.get("properties") {
        None => &none,
        Some(properties) => properties.as_object()?,
    };
    let required = match schema.get("required") {
        None => Vec::new(),
        Some(names) => names.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?,
    };
    if required.iter().any(|name| !properties.contains_key(*name)) {
        return None;
    }
    let mut object = Map::new();
    for (name, schema) in properties {
        if required.contains(&name.as_str()) {
            object.insert(name.clone(), value(schema, draws, depth + 1)?);
        } else if draws.below(2) == 1 {
            object.extend(value(schema, draws, depth + 1).map(|value| (name.clone(), value)));
        }
    }
    Some(Value::Object(object))
}

fn array(schema: &Map<String, Value>, draws: &mut Draws, depth: usize) -> Option<Value> {
    let (least, most) = lengths(schema, "minItems", "maxItems", 3)?;
    let items = schema.get("items").unwrap_or(&Value::Bool(true));
    let length = least + draws.below(most - least + 1);
    let values = (0..length).map(|_| value(items, draws, depth + 1));
    match values.collect::<Option<Vec<_>>>() {
        Some(values) => Some(Value::Array(values)),
        // No item fits, and the array may be empty.
        None if least == 0 => Some(json!([])),
        None => None,
    }
}

fn text(schema: &Map<String, Value>, draws: &mut Draws) -> Option<Value> {
    let (least, most) = lengths(schema, "minLength", "maxLength", LONGEST)?;
    let mut text = draws.word().to_owned();
    while (text.len() as u64) < least {
        text = format!("{text}-{}", draws.word());
    }
    text.truncate(usize::try_from(most).unwrap_or(usize::MAX)); // The words are ASCII.
    let fits = match schema.get("pattern") {
        None => true,
        Some(pattern) => Regex::new(pattern.as_str()?).ok()?.is_match(&text),
    };
    fits.then(|| json!(text))
}

/// The bounds of a length: at most `room` more than the least.
fn lengths(schema: &Map<String, Value>, least: &str, most: &str, room: u64) -> Option<(u64, u64)> {
    let bound = |name: &str| schema.get(name).map(|value| whole(value.as_f64()?)).map(Some);
    let least = bound(least).map_or(Some(0), |bound| bound?)?;
    let most = bound(most).map_or(Some(least + room), |bound| bound?)?.min(least + room);
    (least <= most && least <= LONGEST).then_some((least, most))
}

fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..=LARGEST).contains(&number)).then_some(number as u64)
}

/// A whole number between the bounds. If there is none and the type is `number`: the middle.
fn number(schema: &Map<String, Value>, is_integer: bool, draws: &mut Draws) -> Option<Value> {
    let bound = |name: &str| match schema.get(name) {
        None => Some(None),
        Some(value) => value.as_f64().filter(|bound| bound.abs() < LARGEST / 2.0).map(Some),
    };
    let (minimum, above) = (bound("minimum")?, bound("exclusiveMinimum")?);
    let (maximum, below) = (bound("maximum")?, bound("exclusiveMaximum")?);
    let least = larger(minimum.map(f64::ceil), above.map(|above| above.floor() + 1.0));
    let most = larger(maximum.map(|it| -it.floor()), below.map(|below| 1.0 - below.ceil()));
    let (least, most) = match (least, most.map(|most| -most)) {
        (Some(least), Some(most)) => (least, most.min(least + 99.0)),
        (Some(least), None) => (least, least + 99.0),
        (None, Some(most)) => (most - 99.0, most),
        (None, None) => (0.0, 99.0),
    };
    if least <= most {
        let above = draws.below(whole(most - least + 1.0)?);
        return Some(json!(least as i64 + i64::try_from(above).ok()?)); // Far below 2^53.
    }
    let low = larger(minimum, above)?;
    let high = -larger(maximum.map(|it| -it), below.map(|it| -it))?;
    let middle = low + (high - low) / 2.0;
    (!is_integer && low < middle && middle < high).then(|| json!(middle))
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}
