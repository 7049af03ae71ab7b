//! Everything a subject can do to the harness instead of answering.

use std::fmt;

use proofmark_protocol::{HelloReply, PROTOCOL};
use serde::{Deserialize, Serialize};

/// A fault of the subject's process or wire. It is never read as a legal rejection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Fault {
    /// The process ended while it was needed.
    Exited {
        status: String,
        during: String,
    },
    /// A line on stdout is no message.
    Garbage {
        message: String,
    },
    /// The last line has no end.
    HalfALine {
        excerpt: String,
    },
    LineTooLong {
        limit: usize,
    },
    /// An answer to a request that was never made.
    UnknownId {
        id: String,
    },
    AnsweredTwice {
        id: String,
    },
    /// An answer that is a message, but not the one that the protocol asks for.
    BadAnswer {
        to: String,
        message: String,
    },
    WrongVersion {
        spoken: u64,
    },
    /// It asks without end, or without reading the answers.
    Flooded,
    NoAnswer {
        to: String,
        after_ms: u64,
    },
    /// Stdout was closed, but the process lives on.
    ClosedStdout {
        during: String,
    },
    /// The pipe to stdin broke while the process lives on.
    ClosedStdin {
        during: String,
    },
    /// It went on after `shutdown` and had to be ended with a signal.
    IgnoredShutdown {
        signal: String,
    },
    /// It left processes behind.
    LeftProcesses {
        count: usize,
    },
    /// Two processes of it tell different things about themselves.
    TwoFaces {
        message: String,
    },
    /// It crashed or fell silent with several cases under way, none of which does so alone.
    OnlyTogether {
        /// The fault's code alone: its words may name a request that is another one each time.
        fault: String,
    },
    /// It never answered a single call, so the remaining cases were not tried.
    GaveUp {
        after: usize,
        last: Box<Fault>,
    },
}

impl Fault {
    /// The name for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Exited { .. } => "exited",
            Self::Garbage { .. } => "garbage",
            Self::HalfALine { .. } => "half-a-line",
            Self::LineTooLong { .. } => "line-too-long",
            Self::UnknownId { .. } => "unknown-id",
            Self::AnsweredTwice { .. } => "answered-twice",
            Self::BadAnswer { .. } => "bad-answer",
            Self::WrongVersion { .. } => "wrong-version",
            Self::Flooded => "flooded",
            Self::NoAnswer { .. } => "no-answer",
            Self::ClosedStdout { .. } => "closed-stdout",
            Self::ClosedStdin { .. } => "closed-stdin",
            Self::IgnoredShutdown { .. } => "ignored-shutdown",
            Self::LeftProcesses { .. } => "left-processes",
            Self::TwoFaces { .. } => "two-faces",
            Self::OnlyTogether { .. } => "only-together",
            Self::GaveUp { .. } => "gave-up",
        }
    }

    /// Changes what it says in words that the subject may have chosen.
    pub fn each_text(&mut self, change: &impl Fn(&mut String)) {
        match self {
            Self::Exited { status: message, .. }
            | Self::Garbage { message }
            | Self::HalfALine { excerpt: message }
            | Self::UnknownId { id: message }
            | Self::AnsweredTwice { id: message }
            | Self::BadAnswer { message, .. }
            | Self::TwoFaces { message } => change(message),
            Self::GaveUp { last, .. } => last.each_text(change),
            Self::LineTooLong { .. }
            | Self::WrongVersion { .. }
            | Self::Flooded
            | Self::NoAnswer { .. }
            | Self::ClosedStdout { .. }
            | Self::ClosedStdin { .. }
            | Self::IgnoredShutdown { .. }
            | Self::LeftProcesses { .. }
            | Self::OnlyTogether { .. } => {}
        }
    }

    pub fn two_faces(first: &HelloReply, other: &HelloReply) -> Self {
        let shown = |hello| serde_json::to_string(hello).unwrap_or_default();
        Self::TwoFaces { message: format!("{} and {}", shown(first), shown(other)) }
    }

    /// Each fault once, in an order that does not depend on when it came.
    pub fn settle(faults: &mut Vec<Self>) {
        faults.sort_by_key(|fault| (fault.code(), fault.to_string()));
        faults.dedup_by_key(|fault| fault.to_string());
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { status, during } => write!(f, "the subject ended {status} {during}"),
            Self::Garbage { message } => {
                write!(f, "the subject printed something that is no message: {message}")
            }
            Self::HalfALine { excerpt } => {
                write!(
                    f,
                    "the subject's output ended in the middle of a line: `{excerpt}`; every message ends with a newline"
                )
            }
            Self::LineTooLong { limit } => {
                write!(f, "the subject printed a line longer than {limit} bytes")
            }
            Self::UnknownId { id } => {
                write!(f, "the subject answered a request that was never made (id {id})")
            }
            Self::AnsweredTwice { id } => {
                write!(f, "the subject answered the same request twice (id {id})")
            }
            Self::BadAnswer { to, message } => write!(
                f,
                "the subject's answer to `{to}` is not what the protocol asks for: {message}"
            ),
            Self::WrongVersion { spoken } => {
                write!(f, "the subject speaks protocol {spoken}; this harness speaks {PROTOCOL}")
            }
            Self::Flooded => f.write_str(
                "the subject flooded the harness with requests, or did not read the answers",
            ),
            Self::NoAnswer { to, after_ms } => {
                write!(f, "the subject did not answer `{to}` within {after_ms} ms")
            }
            Self::ClosedStdout { during } => {
                write!(f, "the subject closed its stdout {during}, but goes on running")
            }
            Self::ClosedStdin { during } => {
                write!(f, "the subject closed its stdin {during}, but goes on running")
            }
            Self::IgnoredShutdown { signal } => {
                write!(
                    f,
                    "the subject went on after `shutdown` and the end of its input; it took {signal} to end it"
                )
            }
            Self::LeftProcesses { count } => {
                write!(f, "the subject left {count} process(es) running; they were killed")
            }
            Self::TwoFaces { message } => {
                write!(f, "two processes of the subject answer `hello` differently: {message}")
            }
            Self::OnlyTogether { fault } => write!(
                f,
                "the subject faulted (`{fault}`) with several cases under way, none of which does this alone; so no case is to blame, but the subject is"
            ),
            Self::GaveUp { after, last } => {
                write!(
                    f,
                    "not tried: the subject had failed {after} times in a row without one answer; the last time: {last}"
                )
            }
        }
    }
}
