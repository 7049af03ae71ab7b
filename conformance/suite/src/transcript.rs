//! What the harness saw of a subject in one case: all that the verdict rests on.
//!
//! A verdict is a function of a case and its transcript, and of nothing else. So a transcript can be
//! judged again without the subject, and changed on purpose to see whether the case notices.

use std::collections::BTreeMap;

use proofmark_protocol::RpcError;
use serde_json::Value;

use crate::subject::connection::Ask;

/// One observation for each step that took place, and what happened at the end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    pub steps: Vec<Seen>,
    pub end: Ending,
}

/// What came of one step.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// The answers, in the order of the step's calls.
    Calls(Vec<Answered>),
    /// The files that the step speaks of.
    Files(BTreeMap<String, FileSeen>),
    /// The step shows nothing.
    Nothing,
}

/// The answer to one call. The workspace's own path is hidden in it, so that two runs see the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub reply: Result<Value, RpcError>,
    /// Calls of fakes meanwhile. With several calls at once nobody can tell whose they are, so they
    /// are told at the end, among those that belong to no call.
    pub asks: Vec<Ask>,
    /// The items of its stream, in the order in which they came.
    pub events: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSeen {
    Nothing,
    Text(String),
    /// There, but no text file that can be read; why.
    Other(String),
}

/// The sessions' end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ending {
    /// Why the adapter refused `close`, if it did.
    pub refused: Option<String>,
    /// Calls of fakes that belong to no call.
    pub asks: Vec<Ask>,
}
