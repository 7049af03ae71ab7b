//! `proofmark certify`: every contract that the subject claims, requirement by requirement.

use std::io::Write;

use proofmark_suite::Suite;
use proofmark_suite::verdict::{ContractResult, RunOutcome};

use crate::choice::SubjectChoice;
use crate::drive::{Shown, drive};
use crate::exit::{Exit, Failed};
use crate::options::{Filters, How};

/// Certify a subject: the built-in reference, or any command after `--`.
///
/// A contract is certified when every `must` that its text makes holds.
#[derive(Debug, clap::Args)]
pub(crate) struct CertifyArgs {
    #[command(flatten)]
    subject: SubjectChoice,
    /// Only this contract. May be given several times.
    #[arg(long, value_name = "ID")]
    contract: Vec<String>,
    #[command(flatten)]
    how: How,
}

/// Writes the verdicts to `out`. Holds when something is claimed and all that is claimed is certified.
pub(crate) fn certify(args: &CertifyArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    if !args.subject.is_given() {
        return Err(Failed::Usage("say what to certify: `proofmark certify reference`, or a command after `--`, such as `proofmark certify -- node my-adapter.mjs`".to_owned()));
    }
    let holds = |suite: &Suite, outcome: &RunOutcome, contracts: &[ContractResult<'_>]| {
        let asked = !args.contract.is_empty();
        let mut claimed = contracts.iter().filter(|contract| contract.claimed || asked).peekable();
        let unknown = !asked && !outcome.unknown_contracts(suite).is_empty();
        !unknown && claimed.peek().is_some() && claimed.all(|contract| contract.certified)
    };
    drive(
        &args.subject,
        &Filters::of_contracts(&args.contract),
        &args.how,
        Shown::Contracts,
        holds,
        out,
    )
}
