//! Compares the result of a call with what was expected.

use serde_json::{Value, json};

use crate::case::{CallStep, Outcome};
use crate::matcher::{Difference, Pattern};
use crate::saved::Saved;
use crate::transcript::Ask;
use crate::value::{append_joined, bounded};

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Returned,
    Failed,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Returned => "returns",
            Self::Failed => "fails",
        }
    }
}

/// `{"value": …}` or `{"error": {…}}`. A newer subject may send more members.
pub(crate) fn reply_of(reply: &Value) -> Option<(Kind, &Value)> {
    match (reply.get("value"), reply.get("error")) {
        (Some(value), None) => Some((Kind::Returned, value)),
        (None, Some(error)) if is_contract_error(error) => Some((Kind::Failed, error)),
        _ => None,
    }
}

/// Checks the members that every typed error has, in any contract.
fn is_contract_error(error: &Value) -> bool {
    let is_text = |key| error.get(key).is_some_and(Value::is_string);
    is_text("code") && is_text("message") && error.get("name").is_none_or(Value::is_string)
}

/// The difference from the closest alternative: one of the same kind, if there is one.
pub fn differs(expect: &[Outcome], kind: Kind, value: &Value, saved: &Saved) -> Option<Difference> {
    let mut first = None;
    for outcome in expect {
        let difference = match (outcome, kind) {
            (Outcome::Returns(pattern), Kind::Returned)
            | (Outcome::Fails(pattern), Kind::Failed) => {
                let difference = pattern.difference_given(saved, value)?;
                first = Some(difference);
                continue;
            }
            (Outcome::Returns(_), Kind::Failed) => Difference {
                path: "$".to_owned(),
                expected: "a value".to_owned(),
                got: format!("a failure with {}", value["code"]),
            },
            (Outcome::Fails(pattern), Kind::Returned) => Difference {
                path: "$".to_owned(),
                expected: format!("a failure with {}", pattern.source["code"]),
                got: "a value".to_owned(),
            },
        };
        first = first.or(Some(difference));
    }
    first
}

/// With sorted keys, like the actual value: readers compare the two line by line.
pub fn expectation(expect: &[Outcome]) -> Value {
    let mut expected = match expect {
        [only] => only.to_value(),
        several => json!({"either": several.iter().map(Outcome::to_value).collect::<Vec<_>>()}),
    };
    expected.sort_all_objects();
    expected
}

/// A list of side effects of a call: expected, actual, and the first difference.
pub(crate) type ListDiffers = Option<(Value, Value, Difference)>;

pub(crate) fn asks_differ(call: &CallStep, asks: &[Ask], saved: &Saved) -> ListDiffers {
    list_differs("asks", "call {} of a fake", call.asks.as_ref()?, asked(asks), saved)
}

pub(crate) fn events_differ(call: &CallStep, events: &[Value], saved: &Saved) -> ListDiffers {
    let pattern = call.streams.as_ref()?;
    list_differs("streams", "item {} of the stream", pattern, joined(events).into(), saved)
}

/// The calls of fakes in the form that cases use.
pub fn asked(asks: &[Ask]) -> Value {
    asks.iter()
        .map(|ask| json!({"fake": ask.fake, "method": ask.method, "args": ask.args}))
        .collect()
}

/// The items of a stream in the form that cases use. No contract promises where a text is split, so adjacent texts
/// are joined and empty ones dropped.
pub fn joined(events: &[Value]) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::with_capacity(events.len());
    events.iter().for_each(|event| append_joined(&mut joined, event));
    joined
}

/// The first of these texts that occurs in a value, and where.
pub fn find_hidden<'a>(
    hides: &'a [String],
    value: &Value,
    path: &str,
) -> Option<(&'a str, String)> {
    let within = |text: &str| hides.iter().map(String::as_str).find(|one| text.contains(one));
    match value {
        Value::String(text) => within(text).map(|hidden| (hidden, path.to_owned())),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| find_hidden(hides, item, &format!("{path}[{index}]"))),
        Value::Object(map) => map.iter().find_map(|(key, item)| {
            let here = || format!("{path}.{key}");
            within(key).map(|hidden| (hidden, here())).or_else(|| find_hidden(hides, item, &here()))
        }),
        _ => None,
    }
}

fn list_differs(
    key: &str,
    named: &str,
    pattern: &Pattern,
    got: Value,
    saved: &Saved,
) -> ListDiffers {
    let mut difference = pattern.difference_given(saved, &got)?;
    if let Some((index, rest)) = of_item(&difference.path) {
        let item = named.replace("{}", &(index + 1).to_string());
        difference.path = if rest.is_empty() { item } else { format!("{item}, ${rest}") };
    }
    let expected = json!({key: pattern.source});
    Some((bounded(expected), bounded(json!({key: got})), difference))
}

/// Splits `$[2].args` into item 2 and `.args`.
fn of_item(path: &str) -> Option<(usize, &str)> {
    let (index, rest) = path.strip_prefix("$[")?.split_once(']')?;
    Some((index.parse().ok()?, rest))
}
