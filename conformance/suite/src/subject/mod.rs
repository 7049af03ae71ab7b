//! The subject as a process: start it, talk to it, handle its faults, stop it.

pub mod connection;
mod fault;
pub(crate) mod host;
pub(crate) mod orphans;
pub mod process;
mod pump;
mod servers;
mod signals;
mod stream;
mod work;

pub use orphans::Orphans;
pub use process::StartError;
pub use servers::start_mcp;
pub use work::Group;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How to start a subject.
#[derive(Debug, Clone, Default)]
pub struct SubjectCommand {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// As a user would type it, for commands that messages suggest.
    pub shown: String,
    /// Variables in addition to the harness's own environment.
    pub environment: BTreeMap<String, String>,
    /// The working directory; `None` is the harness's own.
    pub directory: Option<PathBuf>,
}

/// The timeouts of the harness.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For the answer to `hello`.
    pub start: Duration,
    /// For the answer to any other request.
    pub call: Duration,
    /// For the process to end after `shutdown`, and again after SIGTERM.
    pub end: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(10),
            call: Duration::from_secs(10),
            end: Duration::from_secs(2),
        }
    }
}
