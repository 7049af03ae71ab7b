//! Why an operation has no value.

use serde_json::{Map, Value};

use crate::message::RpcError;

/// Why an operation gave no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The contract's own error, flat: `code`, `message`, `name` and the code's properties.
    Contract(Map<String, Value>),
    /// The adapter could not carry the call out. Never read as a legal rejection.
    Adapter(RpcError),
}

impl Failure {
    /// The adapter itself is at fault: a bad argument that no contract speaks of, a lost session.
    pub fn broken(message: impl Into<String>) -> Self {
        Self::Adapter(RpcError::new(RpcError::ADAPTER, message))
    }
}
