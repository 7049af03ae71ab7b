//! Reads lines, and the JSON-RPC messages in them.

use serde_json::{Map, Value, json};
use tokio::io::{self, AsyncBufRead, AsyncBufReadExt as _};

/// A longer line is refused, and not kept while it is read.
pub const MOST_OF_A_LINE: usize = 16 << 20;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The line is in the buffer, without its end.
    Whole,
    /// The line was too long and was skipped.
    TooLong,
    /// End of input.
    End,
}

/// Reads one line into `line`. Text after the last newline counts as a line if it is not empty.
pub(crate) async fn read_line(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    most: usize,
) -> io::Result<Line> {
    line.clear();
    let mut too_long = false;
    let mut any = false;
    loop {
        let bytes = input.fill_buf().await?;
        if bytes.is_empty() && !any {
            return Ok(Line::End);
        }
        any = true;
        let end = memchr::memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        too_long |= line.len() + part.len() > most;
        if too_long {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let over = end.is_some() || bytes.is_empty();
        let taken = part.len() + usize::from(end.is_some());
        input.consume(taken);
        if over {
            return Ok(if too_long { Line::TooLong } else { Line::Whole });
        }
    }
}

/// A JSON-RPC error: it is about the message, not about a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
}

impl RpcError {
    pub(crate) const PARSE: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    /// The code of language servers; MCP defines none.
    pub(crate) const NOT_INITIALIZED: i64 = -32002;

    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A request that must be answered.
#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Option<Value>,
}

/// The meaning of a line.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    Request(Request),
    /// A notification, an answer to no request of ours, or a blank line: no answer is needed.
    Unanswered,
}

/// Reads a line as a message.
///
/// # Errors
/// Includes the id for the answer: the message's own if it is legal, else `null`.
pub(crate) fn read_message(line: &[u8]) -> Result<Message, (Value, RpcError)> {
    if line.trim_ascii().is_empty() {
        return Ok(Message::Unanswered);
    }
    let message: Value = serde_json::from_slice(line).map_err(|fault| {
        (Value::Null, RpcError::new(RpcError::PARSE, format!("the line is no JSON: {fault}")))
    })?;
    let Value::Object(mut members) = message else {
        let what = if message.is_array() { "batches are not taken" } else { "it is no object" };
        return Err((Value::Null, RpcError::new(RpcError::INVALID_REQUEST, what)));
    };
    let id = members.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
    let bad = |what: &str| {
        let id = id.clone().unwrap_or(Value::Null);
        Err((id, RpcError::new(RpcError::INVALID_REQUEST, what)))
    };
    if members.get("jsonrpc") != Some(&json!("2.0")) {
        return bad("`jsonrpc` must be \"2.0\"");
    }
    if id.is_none() && members.contains_key("id") {
        return bad("`id` must be a string or a number");
    }
    if !members.contains_key("method") && is_answer(&members) {
        return Ok(Message::Unanswered);
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return bad("`method` must be a string");
    };
    let params = members.remove("params");
    if params.as_ref().is_some_and(|params| !params.is_object() && !params.is_array()) {
        return bad("`params` must be an object");
    }
    Ok(match id {
        Some(id) => Message::Request(Request { id, method, params }),
        None => Message::Unanswered,
    })
}

fn is_answer(members: &Map<String, Value>) -> bool {
    members.contains_key("result") || members.contains_key("error")
}

/// The line that answers the request of this id.
pub(crate) fn answer(id: &Value, outcome: Result<Value, RpcError>) -> Vec<u8> {
    let message = match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(RpcError { code, message }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
    };
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_not_kept() {
        let text = format!("{}\nshort\n", "x".repeat(1_000_000));
        let mut input = tokio::io::BufReader::with_capacity(16, text.as_bytes());
        let mut line = Vec::new();
        assert_eq!(read_line(&mut input, &mut line, 100).await.unwrap(), Line::TooLong);
        assert!(line.capacity() < 1000, "{}", line.capacity());
        assert_eq!(read_line(&mut input, &mut line, 100).await.unwrap(), Line::Whole);
        assert_eq!(line, b"short");
        assert_eq!(read_line(&mut input, &mut line, 100).await.unwrap(), Line::End);
    }
}
