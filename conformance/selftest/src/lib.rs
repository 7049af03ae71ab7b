//! The suite proves itself: each of its cases can fail, and no subject gets a mark that it did not earn.
//!
//! [`nulls`] runs subjects that do nothing right, and [`saboteurs`] the reference with one promise
//! broken. [`mutants`] changes one thing at a time in what a passing subject answers, and
//! [`determinism`] runs the suite in many ways. All give plain data; no problem means that the suite
//! sees through everything.

pub mod determinism;
pub mod mutants;
pub mod nulls;
mod pool;
pub mod saboteurs;
mod sample;

use std::path::{Path, PathBuf};

use proofmark_adversaries::{Adversary, Claims};
use proofmark_judge::law::LawOptions;
use proofmark_suite::run::{Cancel, RunError, RunOptions};
use proofmark_suite::subject::SubjectCommand;

/// How to run adversaries.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program `proofmark`, of which every adversary is a subcommand.
    pub program: PathBuf,
    /// So many adversaries run at a time. Most of their time they wait.
    pub at_a_time: usize,
    /// Processes of each adversary. No finding depends on it.
    pub jobs: usize,
    /// Every case in every run, where a sample would do.
    pub full: bool,
    pub cancel: Cancel,
}

impl Options {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let cancel = Cancel::default();
        Self { program: program.into(), at_a_time: 6, jobs: 1, full: false, cancel }
    }

    /// How an adversary is run. What is wrong on purpose fails at the first inputs of a law, and nobody
    /// needs the smallest.
    fn run(&self) -> RunOptions {
        RunOptions {
            jobs: self.jobs,
            laws: LawOptions { cases: 5, shrink: false, ..LawOptions::default() },
            scratch: memory(),
            ..RunOptions::default()
        }
    }

    /// The command of the adversary of that name, with its usual claims.
    pub fn adversary(&self, name: &str) -> SubjectCommand {
        self.start(vec!["subject".to_owned(), "--adversary".to_owned(), name.to_owned()])
    }

    fn command(&self, adversary: &Adversary, claims: &Claims) -> SubjectCommand {
        let mut args =
            vec!["subject".to_owned(), "--adversary".to_owned(), adversary.name.to_owned()];
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

/// A folder in memory, if the machine has one that will do and nobody chose another. On a disk, runs wait for it more
/// than they work.
pub fn memory() -> Option<PathBuf> {
    if std::env::var_os("TMPDIR").is_some() {
        return None;
    }
    let folder = PathBuf::from("/dev/shm");
    will_do(&folder).then_some(folder)
}

/// Containers often have a small one that no program can be started from; some cases start programs of their own.
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

/// In bytes. Workspaces are small, but many are there at a time.
const LEAST_MEMORY: u64 = 1 << 30;

/// Why there is no finding.
#[derive(Debug, thiserror::Error)]
pub enum SelftestError {
    #[error("the adversary `{adversary}` could not be run: {fault}")]
    Run { adversary: String, fault: RunError },
    #[error(transparent)]
    Subject(#[from] RunError),
    #[error("a law makes a case that cannot be read: {0}")]
    Law(String),
    #[error("interrupted")]
    Interrupted,
}
