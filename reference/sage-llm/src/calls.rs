//! Pairs calls with results: exactly one for each call, and none without a call.

use std::collections::HashMap;

use sage_errors::{Detail, SageError};
use serde_json::Value;

use crate::Error;

/// A tool that the model asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) id: String,
}

/// Every call of a stream, over all its rounds.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    settled: HashMap<String, bool>,
}

impl Calls {
    /// Records a call.
    ///
    /// # Errors
    /// `EVALIDATION` if the id was used before, because their results would be ambiguous.
    pub(crate) fn open(&mut self, id: &str) -> Result<(), Error> {
        if self.settled.contains_key(id) {
            return Err(refused(id, "is the id of an earlier tool call", "an id of its own"));
        }
        self.settled.insert(id.to_owned(), false);
        Ok(())
    }

    /// Records a result.
    ///
    /// # Errors
    /// `EVALIDATION` if there is no such call, or it already has a result.
    pub(crate) fn settle(&mut self, id: &str) -> Result<(), Error> {
        let open = "the id of a tool call that has no result yet";
        match self.settled.get_mut(id) {
            Some(settled @ false) => *settled = true,
            Some(true) => return Err(refused(id, "has a result already", open)),
            None => return Err(refused(id, "is the id of no tool call", open)),
        }
        Ok(())
    }

    pub(crate) fn is_open(&self, id: &str) -> bool {
        self.settled.get(id) == Some(&false)
    }
}

fn refused(id: &str, reason: &str, expected: &str) -> Error {
    SageError::validation(Detail::new("callId", reason).received(id).expected(expected)).into()
}
