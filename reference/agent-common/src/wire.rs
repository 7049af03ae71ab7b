//! MCP over two streams: one JSON-RPC message per line, answered in order.

use serde_json::{Value, json};
use tokio::io::{self, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::args::quoted;
use crate::frames::{
    Line, MOST_OF_A_LINE, Message, Request, RpcError, answer, read_line, read_message,
};
use crate::server::Server;

/// The supported MCP revisions, the newest first.
pub const PROTOCOL_VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

impl Server {
    /// Serves one client until `input` ends. Ignores blank lines and notifications.
    ///
    /// # Errors
    /// If a stream fails. A client's message is never an error here.
    pub async fn serve(
        &self,
        input: impl AsyncRead + Unpin,
        mut output: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        let mut session = Session { server: self, initialized: false };
        loop {
            let reply = match read_line(&mut input, &mut line, MOST_OF_A_LINE).await? {
                Line::End => return Ok(()),
                Line::TooLong => {
                    let message = format!("a line has at most {MOST_OF_A_LINE} bytes");
                    let error = RpcError::new(RpcError::INVALID_REQUEST, message);
                    Some(answer(&Value::Null, Err(error)))
                }
                Line::Whole => session.reply(&line),
            };
            if let Some(reply) = reply {
                output.write_all(&reply).await?;
                output.flush().await?;
            }
        }
    }
}

/// One client.
struct Session<'s> {
    server: &'s Server,
    initialized: bool,
}

impl Session<'_> {
    fn reply(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        match read_message(line) {
            Ok(Message::Request(request)) => Some(answer(&request.id, self.handle(&request))),
            Ok(Message::Unanswered) => None,
            Err((id, error)) => Some(answer(&id, Err(error))),
        }
    }

    fn handle(&mut self, request: &Request) -> Result<Value, RpcError> {
        let method = request.method.as_str();
        if matches!(method, "tools/list" | "tools/call") && !self.initialized {
            let message = format!("`{method}` before `initialize`: not initialized");
            return Err(RpcError::new(RpcError::NOT_INITIALIZED, message));
        }
        match method {
            "ping" => Ok(json!({})),
            "initialize" => {
                let answer = initialize(request.params.as_ref())?;
                self.initialized = true;
                Ok(answer)
            }
            "tools/list" => list(request.params.as_ref()),
            "tools/call" => self.call(request.params.as_ref()),
            other => {
                let message = format!("there is no method `{}`", quoted(other));
                Err(RpcError::new(RpcError::METHOD_NOT_FOUND, message))
            }
        }
    }

    fn call(&self, params: Option<&Value>) -> Result<Value, RpcError> {
        let Some(name) = member(params, "name").and_then(Value::as_str) else {
            return Err(invalid_params("`name` must be a string"));
        };
        let none = json!({});
        let arguments = member(params, "arguments").unwrap_or(&none);
        if !arguments.is_object() {
            return Err(invalid_params("`arguments` must be an object"));
        }
        if !Server::has_tool(name) {
            return Err(invalid_params(format!("there is no tool `{}`", quoted(name))));
        }
        let envelope = self.server.call(name, arguments);
        let failed = envelope.get("success") != Some(&Value::Bool(true));
        Ok(json!({
            "content": [{ "type": "text", "text": envelope.to_string() }],
            "structuredContent": envelope,
            "isError": failed,
        }))
    }
}

fn member<'p>(params: Option<&'p Value>, name: &str) -> Option<&'p Value> {
    params?.get(name)
}

fn invalid_params(message: impl Into<String>) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, message)
}

fn initialize(params: Option<&Value>) -> Result<Value, RpcError> {
    let Some(asked) = member(params, "protocolVersion").and_then(Value::as_str) else {
        return Err(invalid_params("`protocolVersion` must be a string"));
    };
    let known = PROTOCOL_VERSIONS.into_iter().find(|version| *version == asked);
    Ok(json!({
        "protocolVersion": known.unwrap_or(PROTOCOL_VERSIONS[0]),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
    }))
}

/// All tools are on one page, so no cursor is valid.
fn list(params: Option<&Value>) -> Result<Value, RpcError> {
    if params.is_some_and(|params| !params.is_object()) {
        return Err(invalid_params("`params` must be an object"));
    }
    match member(params, "cursor") {
        Some(_) => Err(invalid_params("`cursor` is none that this server gave")),
        None => Ok(json!({ "tools": Server::tools() })),
    }
}
