//! `proofmark lint`: is the suite itself in order?

use std::io::Write;

use crate::exit::{Exit, Failed, standing};
use crate::options::SuiteChoice;

/// Check ledgers, fixtures and features: every fault with its file, its line and what would be right.
#[derive(Debug, clap::Args)]
pub(crate) struct LintArgs {
    #[command(flatten)]
    suite: SuiteChoice,
}

/// Writes one line per problem to `out`.
pub(crate) fn lint(args: &LintArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    match args.suite.load() {
        Ok(suite) => {
            let requirements: usize =
                suite.contracts.iter().map(|contract| contract.requirements.len()).sum();
            let (contracts, cases) = (suite.contracts.len(), suite.cases.len());
            let written = writeln!(
                out,
                "{contracts} contracts, {requirements} requirements, {cases} cases: no problem"
            );
            standing(Exit::Holds, written)
        }
        Err(Failed::BrokenSuite(problems)) => {
            let written = problems.iter().try_for_each(|problem| writeln!(out, "{problem}"));
            standing(Exit::DoesNotHold, written)
        }
        Err(fault) => Err(fault),
    }
}
