//! Helpers of the saboteurs of `common`.

use serde_json::{Map, Value, json};

pub(crate) use crate::laws::with;

pub(crate) fn succeeded(answer: &Value) -> bool {
    answer["success"] == true
}

pub(crate) fn failed_with(answer: &Value, code: &str) -> bool {
    answer["error"]["code"] == code
}

/// The arguments without these members.
pub(crate) fn without(args: &Value, names: &[&str]) -> Value {
    let members = args.as_object().into_iter().flatten();
    let left = members.filter(|(name, _)| !names.contains(&name.as_str()));
    Value::Object(left.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The arguments with only these members.
pub(crate) fn only(args: &Value, names: &[&str]) -> Value {
    let named = names.iter().filter_map(|name| Some(((*name).to_owned(), args.get(name)?.clone())));
    Value::Object(named.collect::<Map<_, _>>())
}

/// The items of a list or the conflicts of a merge; empty if there are none.
pub(crate) fn items_mut<'a>(answer: &'a mut Value, name: &str) -> &'a mut [Value] {
    let items = answer.pointer_mut(&format!("/result/{name}"));
    items.and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

/// Changes every string in a value, at any depth.
pub(crate) fn each_text(value: &mut Value, change: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = change(text) {
                *text = other;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(members) => members.values_mut().for_each(|item| each_text(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A list that shows all of these items.
pub(crate) fn show_all(answer: &mut Value, items: Vec<Value>) {
    answer["result"] = json!({ "total": items.len(), "items": items, "truncated": false });
}

/// Changes every object in a value, at any depth.
pub(crate) fn each_object(value: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, change)),
        Value::Object(members) => {
            change(members);
            members.values_mut().for_each(|member| each_object(member, change));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
