//! Finds this executable, so that it can start itself as a subject or a server.

use std::path::PathBuf;

use crate::exit::Failed;

pub(crate) fn this_program() -> Result<PathBuf, Failed> {
    std::env::current_exe().map_err(|fault| {
        Failed::Usage(format!(
            "cannot find the proofmark executable to start the reference: {fault}"
        ))
    })
}
