//! The message types. Unknown fields are ignored everywhere, so either side may be newer.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The id of a request. The harness uses numbers; a subject may use either.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    Number(i64),
    Text(String),
}

/// A JSON-RPC error: the adapter could not execute the request. A contract's own errors are a [`Reply::Error`] instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub const PARSE: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method, or an operation that the adapter does not implement.
    pub const NOT_IMPLEMENTED: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    /// The adapter itself failed; the contract's implementation is not to blame.
    pub const ADAPTER: i64 = -32000;

    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// `hello`: the first request on every pipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u64,
    pub harness: Party,
}

/// A program's name and version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    pub name: String,
    pub version: String,
}

/// The answer to `hello`: who the subject is and what it claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HelloReply {
    pub protocol: u64,
    pub name: String,
    pub version: String,
    pub language: String,
    /// The contracts that it wants to be certified for.
    pub contracts: Vec<String>,
    /// Its optional behaviour, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Its test hooks, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<String>,
}

/// `open`: a session. It has everything that a call may need from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
    pub session: String,
    /// The contract whose cases run in this session. An adapter with several servers answers with the server of this
    /// contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// An absolute path to an empty or prepared folder; absent for contracts that use no files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default)]
    pub clock: ClockScript,
    #[serde(default)]
    pub random: RandomTape,
    /// The fakes that this session may call.
    #[serde(default)]
    pub fakes: Vec<String>,
    /// The wire of this session, for contracts that have their own: `mcp` or `http`. The answer then names the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<String>,
}

/// The clock as data: the first reading is `start`, and each later one is `stepMs` after the previous.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockScript {
    pub start: String,
    #[serde(rename = "stepMs")]
    pub step_ms: i64,
}

impl Default for ClockScript {
    fn default() -> Self {
        Self { start: "2024-01-01T00:00:00.000Z".to_owned(), step_ms: 0 }
    }
}

/// The random numbers as data: each reading takes the next number of its kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RandomTape {
    #[serde(default)]
    pub ints: Vec<i64>,
    #[serde(default)]
    pub floats: Vec<f64>,
}

/// `call`: one operation of a contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub session: String,
    pub operation: String,
    #[serde(default)]
    pub args: Value,
}

/// The answer to `call` and to `fake`: `{"value": …}` or `{"error": {…}}`, exactly one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    Value(Value),
    /// A contract error, flat: `code`, `message`, `name`, `cause` and the code's own properties.
    Error(Map<String, Value>),
}

/// `close`: ends a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Close {
    pub session: String,
}

/// `fake`, subject to harness: a call of a fake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FakeCall {
    pub session: String,
    pub fake: String,
    pub method: String,
    #[serde(default)]
    pub args: Value,
}

/// `event`, subject to harness, without an answer: an item of a call's stream or log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub session: String,
    /// The id of the `call` that it belongs to.
    pub call: Id,
    pub item: Value,
}

/// One message from the other side.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    Request { id: Id, method: String, params: Value },
    Notification { method: String, params: Value },
    Answer { id: Id, outcome: Result<Value, RpcError> },
}

/// Why a line is not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error(
        "`{excerpt}` is not JSON: {fault}; stdout must carry one JSON-RPC message per line and nothing else (print to stderr instead)"
    )]
    NotJson { excerpt: String, fault: String },
    #[error("`{excerpt}` is not a JSON-RPC 2.0 message: {fault}")]
    NotAMessage { excerpt: String, fault: &'static str },
}

#[derive(Deserialize)]
struct Envelope {
    jsonrpc: Option<String>,
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
    method: Option<String>,
    params: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<RpcError>,
}

/// Distinguishes `"result": null` from a missing `result`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Incoming {
    /// Reads one line.
    pub fn parse(line: &[u8]) -> Result<Self, MessageError> {
        use MessageError::NotAMessage;
        let not_json = |fault: String| MessageError::NotJson { excerpt: excerpt(line), fault };
        let wrong = |fault| Err(NotAMessage { excerpt: excerpt(line), fault });
        // Validate the whole line: a wrong byte is an error even in an ignored field.
        let text = std::str::from_utf8(line)
            .map_err(|fault| not_json(format!("invalid UTF-8 at byte {}", fault.valid_up_to())))?;
        let envelope = match serde_json::from_str::<Envelope>(text) {
            Err(fault) if !fault.is_data() => return Err(not_json(fault.to_string())),
            // serde would accept a list of the values in order.
            _ if !text.trim_start().starts_with('{') => {
                return wrong(
                    "a message is one object on a line of its own; batches are not supported",
                );
            }
            Err(_) => {
                return wrong(
                    "an envelope has an id (string or integer), a method with params, or a result or an error with code and message",
                );
            }
            Ok(envelope) => envelope,
        };
        if envelope.jsonrpc.as_deref() != Some("2.0") {
            return wrong("`jsonrpc` must be \"2.0\"");
        }
        let id = match envelope.id {
            None => None,
            Some(Value::String(text)) => Some(Id::Text(text)),
            Some(Value::Number(number)) if number.as_i64().is_some() => {
                number.as_i64().map(Id::Number)
            }
            Some(Value::Null) if envelope.error.is_some() => {
                return wrong(
                    "an error without an id answers nothing; the other side could not read a request",
                );
            }
            Some(_) => return wrong("`id` must be a string or an integer"),
        };
        match (envelope.method, id, envelope.result, envelope.error) {
            (Some(method), Some(id), None, None) => {
                Ok(Self::Request { id, method, params: envelope.params.unwrap_or_default() })
            }
            (Some(method), None, None, None) => {
                Ok(Self::Notification { method, params: envelope.params.unwrap_or_default() })
            }
            (None, Some(id), Some(result), None) => Ok(Self::Answer { id, outcome: Ok(result) }),
            (None, Some(id), None, Some(error)) => Ok(Self::Answer { id, outcome: Err(error) }),
            (None, Some(_), Some(_), Some(_)) => {
                wrong("an answer has `result` or `error`, not both")
            }
            (None, Some(_), None, None) => wrong("an answer needs `result` or `error`"),
            (None, None, _, _) => wrong("a message needs a `method` or an `id`"),
            (Some(_), _, _, _) => wrong("a request has no `result` and no `error`"),
        }
    }
}

/// The printable head of a line, for messages.
pub(crate) fn excerpt(line: &[u8]) -> String {
    const MOST: usize = 80;
    let text = String::from_utf8_lossy(&line[..line.len().min(MOST * 4)]);
    let mut head: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() || line.len() > MOST * 4 {
        head.push('…');
    }
    head
}

#[derive(Serialize)]
struct RequestLine<'a, P> {
    jsonrpc: &'static str,
    id: &'a Id,
    method: &'a str,
    params: &'a P,
}

#[derive(Serialize)]
struct NotificationLine<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

#[derive(Serialize)]
struct ResultLine<'a, R> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: &'a R,
}

#[derive(Serialize)]
struct ErrorLine<'a> {
    jsonrpc: &'static str,
    id: Option<&'a Id>,
    error: &'a RpcError,
}

/// Appends one line to `out`. A message consists of strings, numbers and maps with string keys, so serializing it
/// cannot fail.
fn push_line(out: &mut Vec<u8>, message: &impl Serialize) {
    serde_json::to_writer(&mut *out, message).expect("a message is plain JSON data");
    out.push(b'\n');
}

/// Appends a request to `out`.
pub fn push_request(out: &mut Vec<u8>, id: &Id, method: &str, params: &impl Serialize) {
    push_line(out, &RequestLine { jsonrpc: "2.0", id, method, params });
}

/// Appends a notification to `out`.
pub fn push_notification(out: &mut Vec<u8>, method: &str, params: &impl Serialize) {
    push_line(out, &NotificationLine { jsonrpc: "2.0", method, params });
}

/// Appends a successful answer to `out`.
pub fn push_result(out: &mut Vec<u8>, id: &Id, result: &impl Serialize) {
    push_line(out, &ResultLine { jsonrpc: "2.0", id, result });
}

/// Appends an error answer to `out`; without an id if the request could not be read.
pub fn push_error(out: &mut Vec<u8>, id: Option<&Id>, error: &RpcError) {
    push_line(out, &ErrorLine { jsonrpc: "2.0", id, error });
}
