//! `proofmark lint`: is the suite itself in order?

use std::io::Write;

use crate::exit::{Exit, Failed};
use crate::run::SuiteChoice;

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
            writeln!(
                out,
                "{} contracts, {requirements} requirements, {} cases: no problem",
                suite.contracts.len(),
                suite.cases.len()
            )?;
            Ok(Exit::Holds)
        }
        Err(Failed::BrokenSuite(problems)) => {
            for problem in &problems {
                writeln!(out, "{problem}")?;
            }
            Ok(Exit::DoesNotHold)
        }
        Err(fault) => Err(fault),
    }
}
