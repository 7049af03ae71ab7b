//! Everything that a report shows about a failure.

use serde::Serialize;
use serde_json::Value;

use crate::matcher::Difference;
use crate::problem::Location;
use crate::transcript::Ask;

/// Everything that a reader needs to understand a failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// `difference`, `not-implemented`, `adapter-error`, or the code of a [`Fault`].
    pub reason: String,
    /// The reason in a sentence.
    pub message: String,
    /// It happened in the setup, so the case is blocked.
    #[serde(skip)]
    pub setup: bool,
    /// The step's place in the suite.
    pub at: String,
    /// The step's text in a narrative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallSeen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub got: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// The smallest input found that breaks a law, as a fixture file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
    /// Calls of fakes during the case.
    pub asks: Vec<Ask>,
    /// The preceding calls and their outcomes.
    pub transcript: Vec<Exchange>,
    /// The subject's last lines on stderr.
    pub stderr: Vec<String>,
}

impl Failure {
    /// A failure with only a reason and message; callers add the rest.
    pub fn new(reason: &str, message: impl Into<String>, at: &Location) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
            setup: false,
            at: at.to_string(),
            words: None,
            call: None,
            expected: None,
            got: None,
            difference: None,
            found: None,
            asks: Vec::new(),
            transcript: Vec::new(),
            stderr: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallSeen {
    pub operation: String,
    pub args: Value,
    pub process: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
}

/// One call and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exchange {
    #[serde(flatten)]
    pub call: CallSeen,
    pub outcome: Value,
}
