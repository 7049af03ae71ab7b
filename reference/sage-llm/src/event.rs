//! The items of a stream.

use sage_errors::{Common, IoError, SageError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::Error;

/// One item of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    try_from = "Value"
)]
pub enum StreamEvent {
    /// A piece of the answer.
    Text { value: String },
    /// The model wants a tool to be run.
    ToolCall { tool_name: String, arguments: Value, call_id: String },
    /// What came of it.
    ToolResult { call_id: String, result: Value },
    /// Nothing follows.
    End {
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
}

/// How many tokens went in and came out. Any numbers, as the provider counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    pub prompt: Number,
    pub completion: Number,
}

impl Usage {
    pub fn new(prompt: u64, completion: u64) -> Self {
        Self { prompt: prompt.into(), completion: completion.into() }
    }

    /// Both together; `None` when a sum is beyond every number.
    pub(crate) fn plus(&self, other: &Self) -> Option<Self> {
        Some(Self {
            prompt: sum(&self.prompt, &other.prompt)?,
            completion: sum(&self.completion, &other.completion)?,
        })
    }
}

/// Whole numbers stay whole as long as they can.
fn sum(a: &Number, b: &Number) -> Option<Number> {
    let whole = a.as_u64().zip(b.as_u64()).and_then(|(a, b)| a.checked_add(b));
    whole.map(Number::from).or_else(|| Number::from_f64(a.as_f64()? + b.as_f64()?))
}

impl StreamEvent {
    /// Parses an item. Every member is required and typed, and no other is allowed.
    ///
    /// # Errors
    /// `EIO`: the sender does not follow the contract.
    pub fn from_json(value: Value) -> Result<Self, Error> {
        Self::try_from(value).map_err(|reason| {
            broken(format!("the provider sent something that is no event of a stream: {reason}"))
        })
    }
}

impl TryFrom<Value> for StreamEvent {
    /// What is wrong with it, for people.
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        read(value)
    }
}

/// The provider's stream is not what the contract says: `EIO` while reading.
pub(crate) fn broken(message: String) -> Error {
    let common = Common::new(message);
    SageError::Io(Box::new(IoError { path: None, operation: "read".to_owned(), common })).into()
}

fn read(value: Value) -> Result<StreamEvent, String> {
    let Value::Object(mut members) = value else {
        return Err(format!("{} instead of an object", kind(&value)));
    };
    let event = match string(&mut members, "type")?.as_str() {
        "text" => StreamEvent::Text { value: string(&mut members, "value")? },
        "tool_call" => StreamEvent::ToolCall {
            tool_name: string(&mut members, "toolName")?,
            arguments: any(&mut members, "arguments")?,
            call_id: string(&mut members, "callId")?,
        },
        "tool_result" => StreamEvent::ToolResult {
            call_id: string(&mut members, "callId")?,
            result: any(&mut members, "result")?,
        },
        "end" => StreamEvent::End { usage: usage(&mut members)? },
        other => {
            return Err(format!(
                "`type` is {}; right are text, tool_call, tool_result, end",
                quoted(other)
            ));
        }
    };
    match members.keys().next() {
        Some(name) => Err(format!("it has a member {} that no such event has", quoted(name))),
        None => Ok(event),
    }
}

fn usage(members: &mut Map<String, Value>) -> Result<Option<Usage>, String> {
    let Some(value) = members.shift_remove("usage") else { return Ok(None) };
    let usage = serde_json::from_value(value);
    usage.map(Some).map_err(|_| "`usage` must have two numbers, prompt and completion".to_owned())
}

fn any(members: &mut Map<String, Value>, name: &str) -> Result<Value, String> {
    members.shift_remove(name).ok_or_else(|| format!("`{name}` is missing"))
}

fn string(members: &mut Map<String, Value>, name: &str) -> Result<String, String> {
    match any(members, name)? {
        Value::String(text) => Ok(text),
        other => Err(format!("`{name}` must be a string, not {}", kind(&other))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Shortens a foreign value for a message.
fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
