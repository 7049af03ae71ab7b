//! Converts errors of the system and the pipes into faults.

use std::process::ExitStatus;

use proofmark_judge::Fault;
use proofmark_protocol::{FrameError, MessageError};

pub(super) fn of_frame(fault: &FrameError, during: &str) -> Fault {
    match fault {
        FrameError::TooLong { limit } => Fault::LineTooLong { limit: *limit },
        FrameError::HalfALine { excerpt } => Fault::HalfALine { excerpt: excerpt.clone() },
        FrameError::Io(_) => Fault::ClosedStdout { during: during.to_owned() },
    }
}

pub(super) fn of_message(fault: &MessageError) -> Fault {
    Fault::Garbage { message: fault.to_string() }
}

/// Describes an exit status.
pub(super) fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return format!("on signal {signal}");
        }
    }
    match status.code() {
        Some(code) => format!("with code {code}"),
        None => "without a code".to_owned(),
    }
}
