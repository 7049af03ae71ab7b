//! Tests the suite itself: every case can fail, and no subject gets a certificate that it did not earn.
//!
//! [`nulls`] runs subjects that do nothing right, [`saboteurs`] the reference with one promise broken, and
//! [`variants`] right but unusual subjects. [`pairs`] puts two faults into one subject.
//! [`mutants`] makes one change at a time to the answers of a passing subject, and [`determinism`] runs the suite in
//! many ways. All return plain data; no problems means that the suite detects everything.

pub mod determinism;
mod lanes;
pub mod mutants;
pub mod nulls;
pub mod pairs;
pub mod saboteurs;
mod sample;
pub mod variants;

use std::path::{Path, PathBuf};

use proofmark_adversaries::{Adversary, Claims};
use proofmark_judge::law::LawOptions;
use proofmark_suite::run::{Cancel, RunError, RunOptions};
use proofmark_suite::subject::SubjectCommand;

pub use self::lanes::Lanes;

/// How to run adversaries.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `proofmark` program; every adversary is a subcommand.
    pub program: PathBuf,
    /// Limits how many adversaries run at the same time.
    pub lanes: Lanes,
    /// The processes of each adversary. No finding depends on it.
    pub jobs: usize,
    /// Run every case where a sample would do.
    pub full: bool,
    pub cancel: Cancel,
}

impl Options {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let cancel = Cancel::default();
        Self { program: program.into(), lanes: Lanes::default(), jobs: 1, full: false, cancel }
    }

    /// The options for an adversary. Wrong subjects fail at the first inputs of a law, and nobody needs the smallest.
    fn run(&self) -> RunOptions {
        RunOptions {
            jobs: self.jobs,
            laws: LawOptions { cases: 5, shrink: false, ..LawOptions::default() },
            scratch: memory(),
            ..RunOptions::default()
        }
    }

    /// The command of an adversary, with its usual claims.
    pub fn adversary(&self, name: &str) -> SubjectCommand {
        self.start(vec!["subject".to_owned(), "--adversary".to_owned(), name.to_owned()])
    }

    fn command(&self, adversary: &Adversary, claims: &Claims) -> SubjectCommand {
        self.named(adversary.name, claims)
    }

    fn named(&self, adversary: &str, claims: &Claims) -> SubjectCommand {
        let mut args = vec!["subject".to_owned(), "--adversary".to_owned(), adversary.to_owned()];
        for contract in &claims.contracts {
            args.push(format!("--claim={contract}"));
        }
        for hook in &claims.hooks {
            args.push(format!("--hook={hook}"));
        }
        self.start(args)
    }

    fn start(&self, args: Vec<String>) -> SubjectCommand {
        let shown = format!("proofmark {}", args.join(" "));
        SubjectCommand {
            program: self.program.clone().into_os_string(),
            args: args.into_iter().map(Into::into).collect(),
            shown,
            ..SubjectCommand::default()
        }
    }
}

/// A suitable folder in memory, if the machine has one and `TMPDIR` is not set. On a disk, runs wait more than they
/// work.
pub fn memory() -> Option<PathBuf> {
    if std::env::var_os("TMPDIR").is_some() {
        return None;
    }
    let folder = PathBuf::from("/dev/shm");
    will_do(&folder).then_some(folder)
}

/// Containers often have a small or `noexec` one; some cases start their own programs.
fn will_do(folder: &Path) -> bool {
    use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
    let usable = access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    usable
        && statvfs(folder).is_ok_and(|about| {
            let forbids = StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY;
            let free = about.f_bavail.saturating_mul(about.f_frsize);
            !about.f_flag.intersects(forbids) && free >= LEAST_MEMORY
        })
}

/// In bytes. Workspaces are small, but there are many at a time.
const LEAST_MEMORY: u64 = 1 << 30;

/// Why the self-test has no result.
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    #[error("the adversary `{adversary}` could not be run: {fault}")]
    Run { adversary: String, fault: RunError },
    #[error(transparent)]
    Subject(#[from] RunError),
    #[error("a law generates an invalid case: {0}")]
    Law(String),
    #[error("interrupted")]
    Interrupted,
}
