//! Contracts that servers speak on their own wire (MCP, HTTP, WebSocket), and the harness as their client.
//!
//! An operation of a wire is a call like any other: it has arguments and an answer, which goes into the
//! transcript and is judged there. Only the way to the subject is another one.

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
    /// The server answered, but not in the wire's own words. That is this case's difference.
    Odd(String),
    /// It did not answer, or the connection broke; nobody can tell yet whose doing that is.
    Lost(String),
    Fault(Fault),
}

impl Trouble {
    /// In words.
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
