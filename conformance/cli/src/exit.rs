//! Exit codes, and the errors that keep a command from a verdict.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use proofmark_certificate::key::KeyError;
use proofmark_certificate::statement::StatementError;
use proofmark_judge::Problem;
use proofmark_judge::record::{MergeError, RecordError};
use proofmark_judge::select::SelectError;
use proofmark_selftest::SelftestError;
use proofmark_suite::SourceError;
use proofmark_suite::run::RunError;

use crate::manifest::ManifestError;

/// The verdict of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: it holds.
    Holds,
    /// 1: it does not.
    DoesNotHold,
    /// 2: it could not be determined (usage, harness or environment).
    Undetermined,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Holds => 0,
            Exit::DoesNotHold => 1,
            Exit::Undetermined => 2,
        })
    }
}

/// Why a command reached no verdict.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error("the suite is broken:\n{}", lines(.0))]
    BrokenSuite(Vec<Problem>),
    #[error(transparent)]
    NoSuite(#[from] SourceError),
    #[error(transparent)]
    Selection(#[from] SelectError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Selftest(#[from] SelftestError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("{0}")]
    Usage(String),
    #[error("`{}` cannot be written: {fault}", path.display())]
    NotSaved { path: PathBuf, fault: io::Error },
    #[error("the report cannot be written to `{}`: {fault}", path.display())]
    NoReport { path: PathBuf, fault: io::Error },
    #[error("`{}` cannot be read: {fault}", path.display())]
    Unreadable { path: PathBuf, fault: io::Error },
    #[error("`{}` is not a record of this suite: {fault}", path.display())]
    BadRecord { path: PathBuf, fault: RecordError },
    #[error("`{}` is not a certificate: {fault}", path.display())]
    NoCertificate { path: PathBuf, fault: String },
    #[error("`{}` is not a usable key: {fault}", path.display())]
    BadKey { path: PathBuf, fault: KeyError },
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error("cannot issue a certificate: {0}")]
    Statement(#[from] StatementError),
    #[error(
        "judging the transcript again gives other verdicts; this is a bug in proofmark, please report it"
    )]
    Disagrees,
    #[error("interrupted; the results so far are above")]
    Interrupted,
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("  {problem}")).collect::<Vec<_>>().join("\n")
}

/// The verdict stands even if the report could not be written completely.
pub(crate) fn standing(exit: Exit, written: io::Result<()>) -> Result<Exit, Failed> {
    match written {
        Err(fault) if fault.kind() != io::ErrorKind::BrokenPipe => Err(fault.into()),
        _ => Ok(exit),
    }
}

/// A reader who closes the pipe early, such as `head`, is no error.
pub(crate) fn to_the_end(listed: Result<Exit, Failed>) -> Result<Exit, Failed> {
    match listed {
        Err(Failed::Output(fault)) => standing(Exit::Holds, Err(fault)),
        other => other,
    }
}
