//! Converts chunks of a chat completion to stream events.

use std::collections::{BTreeMap, VecDeque};

use sage_llm::{StreamEvent, Usage};
use serde_json::{Map, Value};

/// What the server sends after the last chunk.
const DONE: &str = "[DONE]";

/// Limit for the pieces of tool calls, which are kept until the last piece.
const MOST_CALLS: usize = 128;
const MOST_ARGUMENTS: usize = 4 << 20;

/// Why a chunk is invalid.
#[derive(Debug, PartialEq)]
pub(crate) enum ChunkFault {
    /// It does not follow the protocol.
    Garbage(String),
    /// The server reports an error.
    Error(Value),
}

/// State between chunks.
#[derive(Default)]
pub(crate) struct Chunks {
    calls: BTreeMap<u64, Pieces>,
    arguments: usize,
    usage: Option<Usage>,
    /// The server gave a reason why the answer is over.
    finished: bool,
    over: bool,
}

#[derive(Default)]
struct Pieces {
    id: String,
    name: String,
    arguments: String,
}

impl Chunks {
    /// Reads the data of one event; what it says is added to `events`.
    pub(crate) fn take(
        &mut self,
        data: &str,
        events: &mut VecDeque<StreamEvent>,
    ) -> Result<(), ChunkFault> {
        if data.trim() == DONE {
            return self.end(events);
        }
        let chunk: Value = serde_json::from_str(data)
            .map_err(|fault| garbage(format!("a chunk that is no JSON: {fault}")))?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(ChunkFault::Error(error.clone()));
        }
        let choices = chunk.get("choices").and_then(Value::as_array);
        let choices = choices.ok_or_else(|| garbage("a chunk without `choices`"))?;
        if let Some(usage) = chunk.get("usage").filter(|usage| !usage.is_null()) {
            self.usage = Some(read_usage(usage)?);
        }
        // Only one answer was requested, so all choices belong to it.
        for choice in choices {
            if let Some(delta) = choice.get("delta").filter(|delta| !delta.is_null()) {
                let delta =
                    delta.as_object().ok_or_else(|| garbage("a `delta` that is no object"))?;
                self.delta(delta, events)?;
            }
            if choice.get("finish_reason").is_some_and(|reason| !reason.is_null()) {
                self.finished = true;
                self.tell_calls(events)?;
            }
        }
        Ok(())
    }

    /// The server closed its answer. Some servers omit `[DONE]`; a finish reason is enough.
    pub(crate) fn closed(&mut self, events: &mut VecDeque<StreamEvent>) -> Result<(), ChunkFault> {
        if self.finished {
            return self.end(events);
        }
        Err(garbage(format!("an answer that is over without `{DONE}`")))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    fn end(&mut self, events: &mut VecDeque<StreamEvent>) -> Result<(), ChunkFault> {
        self.tell_calls(events)?;
        self.over = true;
        events.push_back(StreamEvent::End { usage: self.usage.take() });
        Ok(())
    }

    fn delta(
        &mut self,
        delta: &Map<String, Value>,
        events: &mut VecDeque<StreamEvent>,
    ) -> Result<(), ChunkFault> {
        let value = text(delta, "content")?;
        if !value.is_empty() {
            events.push_back(StreamEvent::Text { value: value.to_owned() });
        }
        match delta.get("tool_calls") {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Array(pieces)) => pieces.iter().try_for_each(|piece| self.piece(piece)),
            Some(_) => Err(garbage("`tool_calls` that are no array")),
        }
    }

    fn piece(&mut self, piece: &Value) -> Result<(), ChunkFault> {
        let index = piece.get("index").and_then(Value::as_u64);
        let index = index.ok_or_else(|| garbage("a piece of a tool call without an `index`"))?;
        let empty = Map::new();
        let piece = piece.as_object().unwrap_or(&empty);
        let function = match piece.get("function") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(function)) => function,
            Some(_) => return Err(garbage("a `function` that is no object")),
        };
        let (id, name, arguments) =
            (text(piece, "id")?, text(function, "name")?, text(function, "arguments")?);
        self.arguments += arguments.len();
        let call = self.calls.entry(index).or_default();
        // Some servers repeat these in every piece.
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        call.arguments.push_str(arguments);
        if self.calls.len() > MOST_CALLS {
            return Err(garbage(format!("more than {MOST_CALLS} tool calls at once")));
        }
        if self.arguments > MOST_ARGUMENTS {
            let message = format!("tool calls with more than {MOST_ARGUMENTS} bytes of arguments");
            return Err(garbage(message));
        }
        Ok(())
    }

    fn tell_calls(&mut self, events: &mut VecDeque<StreamEvent>) -> Result<(), ChunkFault> {
        self.arguments = 0;
        for (index, call) in std::mem::take(&mut self.calls) {
            for (part, name) in [(&call.id, "id"), (&call.name, "name")] {
                if part.is_empty() {
                    return Err(garbage(format!("tool call {index} without `{name}`")));
                }
            }
            let arguments = if call.arguments.trim().is_empty() {
                // Some servers send null for no tool calls.
                Value::Object(Map::new())
            } else {
                // Invalid JSON stays text, and the check of the arguments refuses it.
                serde_json::from_str(&call.arguments)
                    .unwrap_or_else(|_| Value::String(call.arguments))
            };
            let (tool_name, call_id) = (call.name, call.id);
            events.push_back(StreamEvent::ToolCall { tool_name, arguments, call_id });
        }
        Ok(())
    }
}

fn read_usage(usage: &Value) -> Result<Usage, ChunkFault> {
    let number = |name: &str| match usage.get(name) {
        Some(Value::Number(number)) => Ok(number.clone()),
        _ => Err(garbage(format!("a `usage` without the number `{name}`"))),
    };
    Ok(Usage { prompt: number("prompt_tokens")?, completion: number("completion_tokens")? })
}

/// A text that may be absent or null.
fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<&'a str, ChunkFault> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(garbage(format!("a `{name}` that is no string"))),
    }
}

fn garbage(what: impl Into<String>) -> ChunkFault {
    ChunkFault::Garbage(what.into())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// The events of these chunks as JSON, or the first fault.
    fn read(chunks: &[Value]) -> Result<Vec<Value>, ChunkFault> {
        let (mut reader, mut events) = (Chunks::default(), VecDeque::new());
        for chunk in chunks {
            let data = chunk.as_str().map_or_else(|| chunk.to_string(), str::to_owned);
            reader.take(&data, &mut events)?;
        }
        if !reader.is_over() {
            reader.closed(&mut events)?;
        }
        Ok(events.iter().map(|event| serde_json::to_value(event).unwrap()).collect())
    }

    fn delta(delta: Value) -> Value {
        json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
    }

    fn finish(reason: &str) -> Value {
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
    }

    fn call(index: u64, id: Value, name: Value, arguments: Value) -> Value {
        let function = json!({ "name": name, "arguments": arguments });
        delta(json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] }))
    }

    #[rstest]
    #[case::text(
        vec![delta(json!({ "role": "assistant", "content": "" })), delta(json!({ "content": "a" })), delta(json!({ "content": "b" })), finish("stop"), json!("[DONE]")],
        json!([{ "type": "text", "value": "a" }, { "type": "text", "value": "b" }, { "type": "end" }])
    )]
    #[case::usage_comes_in_a_chunk_of_its_own(
        vec![finish("stop"), json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 } }), json!("[DONE]")],
        json!([{ "type": "end", "usage": { "prompt": 3, "completion": 4 } }])
    )]
    #[case::null_usage_is_none(
        vec![json!({ "choices": [], "usage": null }), json!("[DONE]")],
        json!([{ "type": "end" }])
    )]
    #[case::a_call_in_pieces(
        vec![call(0, json!("c1"), json!("Read"), json!("")), call(0, json!(null), json!(null), json!("{\"fi")), call(0, json!(null), json!(null), json!("le\":1}")), finish("tool_calls"), json!("[DONE]")],
        json!([{ "type": "tool_call", "toolName": "Read", "arguments": { "file": 1 }, "callId": "c1" }, { "type": "end" }])
    )]
    #[case::two_calls_with_their_pieces_mixed(
        vec![call(1, json!("c2"), json!("B"), json!("[")), call(0, json!("c1"), json!("A"), json!("{")), call(1, json!("c2"), json!("B"), json!("]")), call(0, json!(""), json!(""), json!("}")), json!("[DONE]")],
        json!([
            { "type": "tool_call", "toolName": "A", "arguments": {}, "callId": "c1" },
            { "type": "tool_call", "toolName": "B", "arguments": [], "callId": "c2" },
            { "type": "end" },
        ])
    )]
    #[case::arguments_that_are_no_json(
        vec![call(0, json!("c1"), json!("A"), json!("{\"a\":")), finish("length"), json!("[DONE]")],
        json!([{ "type": "tool_call", "toolName": "A", "arguments": "{\"a\":", "callId": "c1" }, { "type": "end" }])
    )]
    #[case::empty_arguments_are_none(
        vec![call(0, json!("c1"), json!("A"), json!("")), call(1, json!("c2"), json!("A"), json!(" \n")), call(2, json!("c3"), json!("A"), json!(null)), json!("[DONE]")],
        json!([
            { "type": "tool_call", "toolName": "A", "arguments": {}, "callId": "c1" },
            { "type": "tool_call", "toolName": "A", "arguments": {}, "callId": "c2" },
            { "type": "tool_call", "toolName": "A", "arguments": {}, "callId": "c3" },
            { "type": "end" },
        ])
    )]
    #[case::no_last_word_after_a_reason(
        vec![delta(json!({ "content": "a" })), finish("stop")],
        json!([{ "type": "text", "value": "a" }, { "type": "end" }])
    )]
    fn answers(#[case] chunks: Vec<Value>, #[case] events: Value) {
        assert_eq!(read(&chunks).map(Value::from), Ok(events));
    }

    #[rstest]
    #[case::no_json(vec![json!("{")], "no JSON")]
    #[case::another_value(vec![json!(17)], "choices")]
    #[case::no_choices(vec![json!({})], "choices")]
    #[case::choices_of_another_type(vec![json!({ "choices": {} })], "choices")]
    #[case::content_of_another_type(vec![delta(json!({ "content": 1 }))], "content")]
    #[case::delta_of_another_type(vec![delta(json!([]))], "delta")]
    #[case::usage_without_numbers(vec![json!({ "choices": [], "usage": { "prompt_tokens": 1 } })], "completion_tokens")]
    #[case::calls_of_another_type(vec![delta(json!({ "tool_calls": {} }))], "tool_calls")]
    #[case::no_index(vec![delta(json!({ "tool_calls": [{ "id": "c1" }] }))], "index")]
    #[case::no_id(vec![call(0, json!(null), json!("A"), json!("{}")), json!("[DONE]")], "`id`")]
    #[case::no_name(vec![call(0, json!("c1"), json!(null), json!("{}")), json!("[DONE]")], "`name`")]
    #[case::no_end(vec![delta(json!({ "content": "a" }))], "[DONE]")]
    #[case::calls_without_end((0..200).map(|index| call(index, json!("c"), json!("A"), json!(""))).collect(), "128")]
    #[case::arguments_without_end((0..5).map(|_| call(0, json!("c"), json!("A"), json!("x".repeat(1 << 20)))).collect(), "4194304")]
    fn garbage_is_told(#[case] chunks: Vec<Value>, #[case] named: &str) {
        let Err(ChunkFault::Garbage(what)) = read(&chunks) else { panic!("no garbage") };
        assert!(what.contains(named), "{what}");
    }

    #[test]
    fn an_error_object_is_passed_on() {
        let error = json!({ "message": "no such model", "code": 404 });
        assert_eq!(read(&[json!({ "error": error })]), Err(ChunkFault::Error(error)));
    }
}
