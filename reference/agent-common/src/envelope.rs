//! The envelope that every tool answers with.

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::refusal::{Code, Priority, Proposal, Refusal};

/// The answer of a tool: these eight members, always.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Envelope {
    /// Whether the call was accepted.
    pub success: bool,
    /// The tool that was called.
    pub intent: String,
    /// The tool's result; empty on failure.
    pub result: Map<String, Value>,
    /// Warnings for the caller.
    pub warnings: Vec<String>,
    /// Calls that would succeed now.
    pub suggestions: Vec<Suggestion>,
    /// Free for the server; this one leaves it empty.
    pub context: Map<String, Value>,
    /// Why the call was refused; `null` on success.
    pub error: Option<Failure>,
    /// The time of the answer, in UTC.
    #[serde(serialize_with = "as_text")]
    pub timestamp: Timestamp,
}

fn as_text<S: Serializer>(timestamp: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(timestamp)
}

/// Why a call was refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// For machines.
    pub code: Code,
    /// For people.
    pub message: String,
    /// What would help.
    pub recovery: String,
}

/// A call that succeeds as it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// What to do.
    pub action: Action,
    /// The tool to call.
    pub target: String,
    /// Why.
    pub reason: String,
    /// How much it matters.
    pub priority: Priority,
    /// Whether it was tried. This server suggests only calls that were.
    pub validated: bool,
    /// The arguments.
    pub params: Value,
}

/// What a suggestion asks for. There is only one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// `tools/call`
    CallTool,
}

impl Suggestion {
    /// `proposal`, after it was tried successfully.
    pub(crate) fn tried(proposal: Proposal) -> Self {
        Self {
            action: Action::CallTool,
            target: proposal.target.to_owned(),
            reason: proposal.reason.to_owned(),
            priority: proposal.priority,
            validated: true,
            params: proposal.params,
        }
    }
}

impl Envelope {
    pub(crate) fn accepted(intent: &str, result: Map<String, Value>, timestamp: Timestamp) -> Self {
        Self {
            success: true,
            intent: intent.to_owned(),
            result,
            warnings: Vec::new(),
            suggestions: Vec::new(),
            context: Map::new(),
            error: None,
            timestamp,
        }
    }

    pub(crate) fn refused(
        intent: &str,
        refusal: Refusal,
        suggestions: Vec<Suggestion>,
        timestamp: Timestamp,
    ) -> Self {
        let Refusal { code, message, recovery, proposals: _ } = refusal;
        Self {
            success: false,
            suggestions,
            error: Some(Failure { code, message, recovery: recovery.to_owned() }),
            ..Self::accepted(intent, Map::new(), timestamp)
        }
    }

    /// The envelope as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("every member has a JSON form, and every key is a string")
    }
}
