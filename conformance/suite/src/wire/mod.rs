//! Wires of their own: contracts that are spoken by servers, and what the harness says to these as their users
//! would.
//!
//! An operation of a wire is a call like any other: it has arguments and an answer, which goes into the
//! transcript and is judged there. Only the way to the subject is another one.

mod arguments;
mod files;
mod http;
mod link;
pub(crate) mod mcp;
mod names;
mod offer;
mod socket;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use arguments::check;
pub(crate) use http::reachable;
pub(crate) use link::Link;
pub(crate) use names::Names;
pub(crate) use offer::Offer;

use crate::subject::Fault;

/// In a transcript: the server answered, but not in the wire's own words.
pub(crate) const ODD: i64 = -32_011;
/// In a transcript: the adapter's answer to `open` names no wire that can be used.
pub(crate) const NO_WIRE: i64 = -32_012;

/// Why an operation of a wire has no value.
#[derive(Debug, PartialEq)]
pub(crate) enum Trouble {
    /// The server answered, but not in the wire's own words. That is this case's difference.
    Odd(String),
    /// It did not answer, or the connection broke; nobody can tell yet whose doing that is.
    Lost(String),
    Fault(Fault),
}

impl Trouble {
    /// In words.
    pub(crate) fn told(&self) -> String {
        match self {
            Self::Odd(told) | Self::Lost(told) => told.clone(),
            Self::Fault(fault) => fault.to_string(),
        }
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What a contract is spoken on, if not on the adapter's pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// An MCP server on its stdin and stdout.
    Mcp,
    /// A REST and WebSocket server on loopback.
    Http,
}

impl Wire {
    pub fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Http => "http",
        }
    }

    /// What cases can do on it.
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
