//! Stored JSON values: bounded, with sorted keys.

use serde_json::Value;

/// Applies `change` to every string in a value.
pub fn each_string(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, change)),
        Value::Object(map) => map.values_mut().for_each(|item| each_string(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The most bytes of a value that are kept.
const MOST: usize = 16 * 1024;

/// A value that is kept until the end of the run, cut if it is large: a subject may answer anything.
pub fn bounded(value: Value) -> Value {
    if !is_larger(&value, &mut { MOST }) {
        return value;
    }
    cut(&value)
}

/// As [`bounded`], for a borrowed value.
pub(crate) fn bounded_copy(value: &Value) -> Value {
    if is_larger(value, &mut { MOST }) { cut(value) } else { value.clone() }
}

/// With sorted keys: a subject's member order may vary between runs.
pub fn sorted(value: &Value) -> Value {
    let mut value = value.clone();
    value.sort_all_objects();
    value
}

fn cut(value: &Value) -> Value {
    let text = sorted(value).to_string();
    let head: String = text.chars().take(MOST / 4).collect();
    Value::from(format!("{head}… ({} bytes in all)", text.len()))
}

/// Whether a value has more than roughly `left` bytes.
fn is_larger(value: &Value, left: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len() + 2,
        _ => 4,
    };
    if own > *left {
        return true;
    }
    *left -= own;
    match value {
        Value::Array(items) => items.iter().any(|item| is_larger(item, left)),
        Value::Object(map) => map.iter().any(|(key, item)| {
            *left = left.saturating_sub(key.len() + 4);
            is_larger(item, left)
        }),
        _ => false,
    }
}

/// Appends an item of a stream. A text is appended to the text before it, and an empty one is dropped.
pub(crate) fn append_joined(items: &mut Vec<Value>, item: &Value) {
    match (text_of(item), items.last_mut().filter(|last| text_of(last).is_some())) {
        (Some(""), _) => {}
        (Some(more), Some(Value::Object(last))) => {
            if let Some(Value::String(text)) = last.get_mut("value") {
                text.push_str(more);
            }
        }
        _ => items.push(item.clone()),
    }
}

/// The text of `{"type": "text", "value": …}`, if the item has exactly this form.
fn text_of(item: &Value) -> Option<&str> {
    let map = item.as_object().filter(|map| map.len() == 2)?;
    (map.get("type")? == "text").then(|| map.get("value")?.as_str()).flatten()
}
