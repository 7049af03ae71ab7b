//! Where this program is, so that it can start itself again as a subject or a server.

use std::path::PathBuf;

use crate::exit::Failed;

pub(crate) fn this_program() -> Result<PathBuf, Failed> {
    std::env::current_exe().map_err(|fault| {
        Failed::Usage(format!("this program cannot find itself to start the reference: {fault}"))
    })
}
