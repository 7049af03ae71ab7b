//! `proofmark run`: some or all cases, and what came of them.

use std::io::Write;

use proofmark_suite::Suite;
use proofmark_suite::verdict::{ContractResult, RunOutcome};

use crate::choice::SubjectChoice;
use crate::drive::{Shown, drive};
use crate::exit::{Exit, Failed};
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
}

/// Writes the report to `out`; progress goes to stderr.
pub(crate) fn run(args: &RunArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let holds = |_: &Suite, outcome: &RunOutcome, _: &[ContractResult<'_>]| outcome.all_passed();
    drive(&args.subject, &args.filters, &args.how, Shown::Cases, holds, out)
}
