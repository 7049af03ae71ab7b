//! An MCP server on stdin and stdout, and the answers of its tools.

use proofmark_protocol::RpcError;
use serde_json::{Value, json};

use super::Trouble;
use crate::subject::connection::Connection;
use proofmark_judge::Fault;

/// Calls a tool and returns its envelope.
pub async fn tool(
    server: &Connection,
    name: &str,
    arguments: Option<&Value>,
) -> Result<Value, Trouble> {
    let mut params = json!({ "name": name });
    if let Some(arguments) = arguments {
        params["arguments"] = arguments.clone();
    }
    let what = format!("tools/call {name}");
    let answer = server.call(&what, "tools/call", &params).await?;
    let result = answer.map_err(|error| {
        Trouble::Odd(format!(
            "`{name}` answers with the JSON-RPC error `{error}`; a tool must answer with its envelope"
        ))
    })?;
    envelope(&result).map_err(|message| Trouble::Odd(format!("the answer of `{name}`: {message}")))
}

/// Sends any request. Returns a result or a JSON-RPC error as a value.
pub async fn request(server: &Connection, method: &str, params: &Value) -> Result<Value, Fault> {
    Ok(match server.call(method, method, params).await? {
        Ok(result) => json!({ "result": result }),
        Err(RpcError { code, message, data }) => {
            let mut error = json!({ "code": code, "message": message });
            if let Some(data) = data {
                error["data"] = data;
            }
            json!({ "error": error })
        }
    })
}

/// The envelope in the result of a `tools/call`.
pub fn envelope(result: &Value) -> Result<Value, String> {
    let content = result["content"].as_array();
    let text = content.and_then(|items| items.iter().find(|item| item["type"] == "text"));
    let text = text.and_then(|item| item["text"].as_str());
    let parsed = text.map(serde_json::from_str::<Value>);
    match (result.get("structuredContent"), parsed) {
        (Some(structured), Some(Ok(message))) if *structured != message => {
            Err("`structuredContent` and the text of `content` are not the same envelope"
                .to_owned())
        }
        (Some(structured), _) => Ok(structured.clone()),
        (None, Some(Ok(message))) => Ok(message),
        (None, Some(Err(fault))) => Err(format!(
            "the text of its first text item is not JSON ({fault}); put the envelope there, or into `structuredContent`"
        )),
        (None, None) => {
            Err("it has no envelope: neither `structuredContent` nor a text item in `content`"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(json!({"structuredContent": {"a": 1}}), Some(json!({"a": 1})))]
    #[case(json!({"content": [{"type": "image"}, {"type": "text", "text": "{\"a\":1}"}]}), Some(json!({"a": 1})))]
    #[case(json!({"content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1}}), Some(json!({"a": 1})))]
    #[case(json!({"content": [{"type": "text", "text": "{\"a\":2}"}], "structuredContent": {"a": 1}}), None)]
    #[case(json!({"content": [{"type": "text", "text": "done"}]}), None)]
    #[case(json!({"content": []}), None)]
    #[case(json!(null), None)]
    fn an_envelope_is_found_in_either_place(#[case] result: Value, #[case] found: Option<Value>) {
        assert_eq!(envelope(&result).ok(), found);
    }
}
