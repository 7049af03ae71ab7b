//! `proofmark run`: runs some or all cases and reports the results.

use std::io::Write;
use std::path::PathBuf;

use proofmark_judge::Suite;
use proofmark_judge::record::Record;
use proofmark_judge::verdict::{ContractResult, RunOutcome};

use crate::choice::SubjectChoice;
use crate::drive::{Keep, Shown, drive};
use crate::exit::{Exit, Failed};
use crate::keep::{self, Own};
use crate::options::{Filters, How};

/// Run cases against a subject: the built-in reference, or any command after `--`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) subject: SubjectChoice,
    #[command(flatten)]
    pub(crate) filters: Filters,
    #[command(flatten)]
    pub(crate) how: How,
    /// Record what happened in every case, for `merge`, `replay` and `verify`.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// Writes the report to `out`; progress goes to stderr.
pub(crate) fn run(args: &RunArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let holds = |_: &Suite, outcome: &RunOutcome, _: &[ContractResult<'_>]| outcome.all_passed();
    let Some(path) = &args.record else {
        return drive(&args.subject, &args.filters, &args.how, Shown::Cases, holds, None, out);
    };
    // Before the run, so that a protected file does not waste one.
    keep::may_write(path, None, keep::is_record)?;
    keep::make_folder_of(path)?;
    let keep = |suite: &Suite, outcome: &RunOutcome| {
        if outcome.interrupted {
            // The existing file may be a complete record.
            return Ok(());
        }
        let part = args.filters.partition.map(|partition| partition.to_string());
        let record = Record::of(outcome, suite, part.as_deref());
        let bad = |fault| Failed::BadRecord { path: path.clone(), fault };
        keep::write_record(path, &record.map_err(bad)?)
    };
    let keep = Keep { write: &keep, files: vec![Own::new(path, "the record")] };
    drive(&args.subject, &args.filters, &args.how, Shown::Cases, holds, Some(keep), out)
}
