//! `proofmark list`: names, one a line.

use std::io::Write;

use clap::ValueEnum;

use crate::exit::{Exit, Failed};
use crate::options::SuiteChoice;

/// Print the names of all cases, requirements or contracts, one per line.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    what: What,
    #[command(flatten)]
    suite: SuiteChoice,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    Cases,
    Requirements,
    Contracts,
}

/// Writes names to `out` and nothing else, so that the output can be piped.
pub(crate) fn list(args: &ListArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let suite = match args.what {
        What::Cases => args.suite.load()?,
        What::Requirements | What::Contracts => args.suite.load_ledgers(None)?,
    };
    match args.what {
        What::Cases => {
            for case in &suite.cases {
                writeln!(out, "{}", case.name)?;
            }
        }
        What::Requirements => {
            for requirement in suite.contracts.iter().flat_map(|contract| &contract.requirements) {
                writeln!(out, "{}", requirement.id)?;
            }
        }
        What::Contracts => {
            for contract in &suite.contracts {
                writeln!(out, "{}", contract.id)?;
            }
        }
    }
    Ok(Exit::Holds)
}
