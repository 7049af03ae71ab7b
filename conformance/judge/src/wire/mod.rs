//! The wires of contracts, and the operations of each.

pub mod arguments;

use std::fmt;

use serde::{Deserialize, Serialize};

/// In a transcript: the server's answer violates the wire's protocol.
pub const ODD: i64 = -32_011;
/// In a transcript: the adapter's answer to `open` offers no usable wire.
pub const NO_WIRE: i64 = -32_012;

/// A contract's own wire, if it does not use the adapter's pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// An MCP server on its stdin and stdout.
    Mcp,
    /// A REST and WebSocket server on loopback.
    Http,
}

/// Templates of the paths on a contract's HTTP server, with `{name}` for what a case gives. An adapter can override them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpPaths {
    /// The WebSocket with events.
    pub stream: Option<String>,
    /// The event log in the workspace.
    pub log: Option<String>,
}

impl Wire {
    pub fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Http => "http",
        }
    }

    /// The operations that cases can use on it.
    pub fn operations(self) -> &'static [&'static str] {
        match self {
            Self::Mcp => &["mcp.tool", "mcp.suggestion", "mcp.request"],
            Self::Http => &[
                "http.request",
                "ws.open",
                "ws.until",
                "ws.take",
                "ws.send",
                "ws.close",
                "file.read",
            ],
        }
    }

    /// The wire that an operation belongs to.
    pub fn of(operation: &str) -> Option<Self> {
        [Self::Mcp, Self::Http].into_iter().find(|wire| wire.operations().contains(&operation))
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
