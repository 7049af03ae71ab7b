//! Refusals: a code for machines, a sentence for people, and what may be done next.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// Error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// A precondition is missing.
    NotInitialized,
    /// No workspace has this id.
    UnknownWorkspace,
    /// The id is well-formed but unknown.
    UnknownId,
    /// A name that the caller chose is malformed.
    InvalidName,
    /// The arguments are invalid.
    InvalidInput,
    /// Another writer was faster.
    RevisionMismatch,
    /// The patch would hit another task than the caller expects.
    ExpectedTargetMismatch,
    /// The caller wants strict targeting but names no task.
    StrictTargetingRequiresExpectedTargetId,
    /// A step cannot be closed before its checkpoints are confirmed.
    CheckpointsNotConfirmed,
    /// It already exists, or is already settled.
    Conflict,
    /// Not even the smallest answer fits.
    BudgetExceeded,
    /// The database failed. The contract only recommends its list of codes, which has none for this.
    StorageFailed,
}

impl Code {
    /// Every code, in the order of the contract; ours is the last.
    pub const ALL: [Self; 12] = [
        Self::NotInitialized,
        Self::UnknownWorkspace,
        Self::UnknownId,
        Self::InvalidName,
        Self::InvalidInput,
        Self::RevisionMismatch,
        Self::ExpectedTargetMismatch,
        Self::StrictTargetingRequiresExpectedTargetId,
        Self::CheckpointsNotConfirmed,
        Self::Conflict,
        Self::BudgetExceeded,
        Self::StorageFailed,
    ];

    /// The code as it stands in `error.code`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotInitialized => "NOT_INITIALIZED",
            Self::UnknownWorkspace => "UNKNOWN_WORKSPACE",
            Self::UnknownId => "UNKNOWN_ID",
            Self::InvalidName => "INVALID_NAME",
            Self::InvalidInput => "INVALID_INPUT",
            Self::RevisionMismatch => "REVISION_MISMATCH",
            Self::ExpectedTargetMismatch => "EXPECTED_TARGET_MISMATCH",
            Self::StrictTargetingRequiresExpectedTargetId => {
                "STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID"
            }
            Self::CheckpointsNotConfirmed => "CHECKPOINTS_NOT_CONFIRMED",
            Self::Conflict => "CONFLICT",
            Self::BudgetExceeded => "BUDGET_EXCEEDED",
            Self::StorageFailed => "STORAGE_FAILED",
        }
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How much a suggestion matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Most likely what the caller wants.
    High,
    /// Of help.
    Medium,
    /// Of some help.
    Low,
}

/// A call that may help. It becomes a suggestion once it was tried on the current state.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proposal {
    pub(crate) target: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) priority: Priority,
    pub(crate) params: Value,
}

impl Proposal {
    pub(crate) fn new(
        priority: Priority,
        target: &'static str,
        params: Value,
        reason: &'static str,
    ) -> Self {
        Self { target, reason, priority, params }
    }
}

/// Why a call was refused. Nothing has changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) recovery: &'static str,
    pub(crate) proposals: Vec<Proposal>,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>, recovery: &'static str) -> Self {
        Self { code, message: message.into(), recovery, proposals: Vec::new() }
    }

    pub(crate) fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidInput, message, "mend the arguments as the tool's inputSchema says")
    }

    pub(crate) fn with(mut self, proposal: Proposal) -> Self {
        self.proposals.push(proposal);
        self
    }
}
