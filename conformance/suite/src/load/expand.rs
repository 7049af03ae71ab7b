//! `{"$repeat": {"times": 32, "item": X}}` inside an array becomes 32 items.

use serde_json::{Map, Value};

/// More than this in one place is a slip, not a case.
pub(crate) const MOST: usize = 10_000;
/// So many items may all repetitions of one value make together.
const MOST_TOGETHER: usize = 10 * MOST;

/// Expands every `$repeat` in `value`, but for what is to be taken literally.
pub(crate) fn expand(value: Value) -> Result<Value, String> {
    expand_within(value, &mut { MOST_TOGETHER })
}

fn expand_within(value: Value, left: &mut usize) -> Result<Value, String> {
    Ok(match value {
        Value::Array(items) => {
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                let Some((times, item)) = repetition(&item)? else {
                    out.push(expand_within(item, left)?);
                    continue;
                };
                *left = left.checked_sub(times).ok_or_else(|| {
                    format!("the `$repeat`s make more than {MOST_TOGETHER} items together")
                })?;
                for index in 0..times {
                    out.push(expand_within(numbered(&item, index), left)?);
                }
            }
            Value::Array(out)
        }
        Value::Object(map) if map.len() == 1 && map.contains_key("$literal") => Value::Object(map),
        Value::Object(map) => {
            let expanded =
                map.into_iter().map(|(key, value)| Ok((key, expand_within(value, left)?)));
            Value::Object(expanded.collect::<Result<Map<_, _>, String>>()?)
        }
        scalar => scalar,
    })
}

fn repetition(item: &Value) -> Result<Option<(usize, Value)>, String> {
    let Some(argument) = item.as_object().and_then(|map| map.get("$repeat")) else {
        return Ok(None);
    };
    let times = argument["times"].as_u64().and_then(|times| usize::try_from(times).ok());
    let times = times.filter(|times| (1..=MOST).contains(times));
    match (
        times,
        argument.get("item"),
        argument.as_object().map(Map::len),
        item.as_object().map(Map::len),
    ) {
        (Some(times), Some(item), Some(2), Some(1)) => Ok(Some((times, item.clone()))),
        _ => Err(format!(
            "`$repeat` takes {{\"times\": 1 to {MOST}, \"item\": …}} and nothing else, not {argument}"
        )),
    }
}

/// `"$index"` becomes the number, `{{index}}` inside a string its digits.
fn numbered(value: &Value, index: usize) -> Value {
    match value {
        Value::String(text) if text == "$index" => Value::from(index),
        Value::String(text) => Value::from(with_index(text, index)),
        Value::Array(items) => items.iter().map(|item| numbered(item, index)).collect(),
        Value::Object(map) => {
            let member =
                |(key, value): (&String, &Value)| (with_index(key, index), numbered(value, index));
            Value::Object(map.iter().map(member).collect())
        }
        scalar => scalar.clone(),
    }
}

fn with_index(text: &str, index: usize) -> String {
    // Nearly no text has a brace, and to look for one is quick.
    if !text.contains('{') {
        return text.to_owned();
    }
    text.replace("{{index}}", &index.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_numbered_from_zero() {
        let value = json!([1, {"$repeat": {"times": 2, "item": {"n": "$index", "{{index}}": "no {{index}}"}}}]);
        assert_eq!(expand(value), Ok(json!([1, {"n": 0, "0": "no 0"}, {"n": 1, "1": "no 1"}])));
    }

    #[test]
    fn repeats_of_repeats_are_bounded() {
        let inner = json!({"$repeat": {"times": 10_000, "item": 1}});
        let fault = expand(json!([{"$repeat": {"times": 10_000, "item": [inner]}}])).unwrap_err();
        assert_eq!(fault, "the `$repeat`s make more than 100000 items together");
    }

    #[test]
    fn a_wrong_repeat_says_what_is_right() {
        let fault = expand(json!([{"$repeat": {"times": 0, "item": 1}}])).unwrap_err();
        assert_eq!(
            fault,
            "`$repeat` takes {\"times\": 1 to 10000, \"item\": …} and nothing else, not {\"times\":0,\"item\":1}"
        );
    }
}
