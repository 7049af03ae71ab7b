//! `proofmark certify`: every contract that the subject claims, requirement by requirement.

use std::io::Write;

use proofmark_certificate::statement::{StatementError, holds};
use proofmark_judge::Suite;
use proofmark_judge::record::Record;
use proofmark_judge::verdict::{ContractResult, RunOutcome};

use crate::choice::SubjectChoice;
use crate::drive::{Keep, Shown, drive};
use crate::exit::{Exit, Failed};
use crate::issue::Issue;
use crate::options::{Filters, How};

/// Certify a subject: the built-in reference, or any command after `--`.
///
/// A contract is certified if every `must` of its text holds.
#[derive(Debug, clap::Args)]
pub(crate) struct CertifyArgs {
    #[command(flatten)]
    subject: SubjectChoice,
    /// Certify only this contract. Repeat for several.
    #[arg(long, value_name = "ID")]
    contract: Vec<String>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    issue: Issue,
}

/// Writes the verdicts to `out`. Passes if the subject claims something and every claimed contract is certified.
pub(crate) fn certify(args: &CertifyArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let decided = |suite: &Suite, outcome: &RunOutcome, contracts: &[ContractResult<'_>]| {
        holds(suite, outcome, contracts, &args.contract)
    };
    let ready = args.issue.ready(&args.contract)?;
    let keep = |suite: &Suite, outcome: &RunOutcome| {
        let Some(ready) = &ready else { return Ok(()) };
        if outcome.interrupted {
            ready.tell_of_none();
            return Ok(());
        }
        ready.issue(suite, outcome, Record::of(outcome, suite, None).map_err(StatementError::from)?)
    };
    let keep = ready.is_some().then(|| Keep { write: &keep, files: args.issue.own() });
    drive(
        &args.subject,
        &Filters::of_contracts(&args.contract),
        &args.how,
        Shown::Contracts,
        decided,
        keep,
        out,
    )
}
