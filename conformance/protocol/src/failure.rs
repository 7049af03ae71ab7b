//! Failures of an operation.

use serde_json::{Map, Value};

use crate::message::RpcError;

/// Why an operation returned no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The contract's own error, flat: `code`, `message`, `name` and the code's properties.
    Contract(Map<String, Value>),
    /// The adapter could not execute the call. It never counts as a legal rejection.
    Adapter(RpcError),
}

impl Failure {
    /// An error of the adapter itself, such as a bad argument that the contract does not cover, or a lost session.
    pub fn broken(message: impl Into<String>) -> Self {
        Self::Adapter(RpcError::new(RpcError::ADAPTER, message))
    }
}
