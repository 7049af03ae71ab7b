//! Why a request is refused: a code for machines, a sentence for people.

use std::io;

use crate::Id;
use crate::log::RunFault;

/// Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The body, the query or a part of the path is invalid.
    #[error("{0}")]
    Bad(String),
    #[error("there is no {what} `{id}`")]
    Unknown { what: &'static str, id: Id },
    #[error("there is nothing at this path")]
    NoPath,
    #[error("this path does not have that method")]
    NoMethod,
    #[error("the approval `{0}` is resolved already")]
    Resolved(Id),
    #[error(
        "the inbox of the node `{node}` is full: {most} inputs wait; let the node work, or interrupt it"
    )]
    InboxFull { node: Id, most: usize },
    #[error("there are {most} {what}, which is as many as there may be")]
    TooMany { what: &'static str, most: usize },
    #[error("{0}")]
    Forbidden(String),
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    #[error("this is a WebSocket: {0}")]
    NoWebSocket(String),
    /// The log on the disk is damaged, so the run is not served.
    #[error("the run `{id}` is refused: {fault}")]
    Refused { id: Id, fault: RunFault },
    /// The state of the disk is unknown until the folder is reopened.
    #[error(
        "the log of the run `{id}` cannot be written: {kind}; the run rests until the server is started again"
    )]
    Unwritable { id: Id, kind: io::ErrorKind },
    #[error("the server is closing")]
    Closing,
}

impl Refusal {
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::Bad(message.into())
    }

    /// The HTTP status and the error code.
    #[must_use]
    pub fn code(&self) -> (u16, &'static str) {
        match self {
            Self::Bad(_) => (400, "BAD_REQUEST"),
            Self::NoWebSocket(_) => (400, "WEBSOCKET_EXPECTED"),
            Self::Forbidden(_) => (403, "FORBIDDEN"),
            Self::Unknown { .. } | Self::NoPath => (404, "NOT_FOUND"),
            Self::NoMethod => (405, "METHOD_NOT_ALLOWED"),
            Self::Resolved(_) => (409, "ALREADY_RESOLVED"),
            Self::TooLarge(_) => (413, "BODY_TOO_LARGE"),
            Self::InboxFull { .. } => (429, "INBOX_FULL"),
            Self::TooMany { .. } => (429, "TOO_MANY"),
            Self::Refused { .. } => (500, "RUN_REFUSED"),
            Self::Unwritable { .. } => (500, "LOG_UNWRITABLE"),
            Self::Closing => (503, "CLOSING"),
        }
    }
}
