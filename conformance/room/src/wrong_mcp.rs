//! Handwritten MCP servers for adversaries: right in `initialize`, and in nothing else.

use std::io::{self, BufRead as _, Write as _};

use proofmark_protocol::message::push_result;
use proofmark_protocol::{Id, Incoming};
use serde_json::{Value, json};

use crate::adversary::{Adversary, Claims};
use crate::mcp::{McpServer, mcp_wire};
use crate::wrong::{Then, not_implemented, serve_with};

/// The time of these servers.
pub const NOW: &str = "2024-01-01T00:00:00Z";

/// A server from a function.
pub struct Plain(pub fn() -> io::Result<()>);

impl McpServer for Plain {
    fn serve(&self, _: &str) -> io::Result<()> {
        (self.0)()
    }
}

/// A null whose server is wrong; its adapter implements nothing.
pub const fn null(
    name: &'static str,
    about: &'static str,
    server: &'static dyn McpServer,
) -> Adversary {
    Adversary::null(name, about, adapter).and_server(server)
}

/// A hostile server; its adapter implements nothing.
pub const fn hostile(
    name: &'static str,
    about: &'static str,
    server: &'static dyn McpServer,
) -> Adversary {
    Adversary::hostile(name, about, adapter).and_server(server)
}

fn adapter(claims: &Claims) -> io::Result<()> {
    serve_with(claims, own_server, not_implemented)
}

/// The answer to `open` that names this program as the MCP server.
pub fn own_server(open: &Value) -> Value {
    let contract = open["contract"].as_str().unwrap_or_default();
    mcp_wire(contract, NOW).unwrap_or_default()
}

/// Serves MCP with a correct `initialize`; `on_call` does the harm.
///
/// # Errors
/// If the pipes break.
pub fn serve(
    mut on_call: impl FnMut(&Id, &Value, &mut Vec<u8>) -> io::Result<Then>,
) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let Ok(Incoming::Request { id, method, params }) = Incoming::parse(line?.as_bytes()) else {
            continue;
        };
        let mut answer = Vec::new();
        let then = match method.as_str() {
            "initialize" => {
                push_result(&mut answer, &id, &greeting());
                Then::GoOn
            }
            _ => on_call(&id, &params, &mut answer)?,
        };
        print(&answer)?;
        if matches!(then, Then::Stop) {
            return Ok(());
        }
    }
    Ok(())
}

/// Writes lines to stdout and flushes.
///
/// # Errors
/// If stdout is closed.
pub fn print(lines: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(lines)?;
    out.flush()
}

fn greeting() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "adversary", "version": "0" },
    })
}
