//! The harness as a client of servers that have their own wire (MCP, HTTP, WebSocket).
//!
//! A wire operation is a call like any other: it has arguments and an answer, which the transcript records and the
//! judge judges. Only the transport differs.

mod files;
mod http;
mod link;
pub mod mcp;
mod names;
mod offer;
mod socket;

pub use http::reachable;
pub(crate) use link::Link;
pub(crate) use names::Names;
pub use offer::Offer;

use proofmark_judge::Fault;

/// Why an operation of a wire has no value.
#[derive(Debug, PartialEq)]
pub enum Trouble {
    /// The server's answer violates the wire's protocol. The case fails.
    Odd(String),
    /// No answer, or a broken connection. The cause is not known yet.
    Lost(String),
    Fault(Fault),
}

impl Trouble {
    /// The message for people.
    pub fn message(&self) -> String {
        match self {
            Self::Odd(message) | Self::Lost(message) => message.clone(),
            Self::Fault(fault) => fault.to_string(),
        }
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}
