//! Faults: everything that a subject can do instead of answering.

use std::fmt;

use proofmark_protocol::{HelloReply, PROTOCOL};
use serde::{Deserialize, Serialize};

/// A fault of the subject's process or wire. It never counts as a legal rejection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Fault {
    /// The process exited while the harness still needed it.
    Exited {
        status: String,
        during: String,
    },
    /// A line on stdout is not a protocol message.
    Garbage {
        message: String,
    },
    /// The last line has no newline.
    HalfALine {
        excerpt: String,
    },
    LineTooLong {
        limit: usize,
    },
    /// An answer to a request that the harness never sent.
    UnknownId {
        id: String,
    },
    AnsweredTwice {
        id: String,
    },
    /// A well-formed message, but not the answer that the protocol requires.
    BadAnswer {
        to: String,
        message: String,
    },
    WrongVersion {
        spoken: u64,
    },
    /// It sends requests without end, or does not read the answers.
    Flooded,
    NoAnswer {
        to: String,
        after_ms: u64,
    },
    /// Stdout is closed, but the process is still running.
    ClosedStdout {
        during: String,
    },
    /// The pipe to stdin broke, but the process is still running.
    ClosedStdin {
        during: String,
    },
    /// It kept running after `shutdown`, until the harness sent a signal.
    IgnoredShutdown {
        signal: String,
    },
    /// It left child processes behind.
    LeftProcesses {
        count: usize,
    },
    /// Two of its processes answer `hello` differently.
    TwoFaces {
        message: String,
    },
    /// It crashed or hung with several cases in flight, but with none of them alone.
    OnlyTogether {
        /// Only the fault's code: its message may name a different request each time.
        fault: String,
    },
    /// It never answered a call, so the harness skipped the remaining cases.
    GaveUp {
        after: usize,
        last: Box<Fault>,
    },
}

impl Fault {
    /// The machine-readable name.
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

    /// Applies `change` to every text that the subject may have chosen.
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

    /// Sorts and deduplicates, so that the result does not depend on timing.
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
                write!(f, "the subject printed a line that is not a message: {message}")
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
            Self::BadAnswer { to, message } => {
                write!(f, "the subject's answer to `{to}` violates the protocol: {message}")
            }
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
                write!(f, "the subject closed its stdout {during}, but is still running")
            }
            Self::ClosedStdin { during } => {
                write!(f, "the subject closed its stdin {during}, but is still running")
            }
            Self::IgnoredShutdown { signal } => {
                write!(
                    f,
                    "the subject did not exit after `shutdown` and the end of its input; the harness sent {signal}"
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
                "the subject faulted (`{fault}`) with several cases in flight, but with none of them alone; the subject is to blame, not a case"
            ),
            Self::GaveUp { after, last } => {
                write!(
                    f,
                    "not tried: the subject failed {after} times in a row without an answer; the last fault: {last}"
                )
            }
        }
    }
}
