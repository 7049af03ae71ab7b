//! What is asked of the server.

use sage_llm::ChatOptions;
use serde_json::{Value, json};

/// The body of a request for a chat completion.
pub(crate) fn body(options: &ChatOptions) -> Value {
    let mut body = json!({
        "model": options.model,
        "messages": options.messages,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if let Some(tools) = &options.tools {
        body["tools"] =
            tools.iter().map(|tool| json!({ "type": "function", "function": tool })).collect();
    }
    if let Some(temperature) = &options.temperature {
        body["temperature"] = json!(temperature);
    }
    if let Some(most) = options.max_tokens {
        body["max_tokens"] = json!(most);
    }
    body
}
