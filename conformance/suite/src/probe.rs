//! Calls that any adapter of a contract can answer, and that show how it handles strings and fakes.

/// A call to try on an adapter.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// The contract of the operation.
    pub contract: &'static str,
    pub operation: &'static str,
    /// The string argument.
    pub argument: &'static str,
    pub does: Does,
}

/// What the operation does with its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// It passes the argument to this fake, and returns the fake's answer.
    AskFake(&'static str),
    /// It returns the SHA-256 of the argument in hex.
    Hash,
}
