//! `proofmark steps`: lists the steps of features.

use std::io::Write;

use proofmark_report::style::{QUIET, STRONG, styled};
use proofmark_suite::gherkin::vocabulary::{Below, VocabularyStep};

use crate::exit::{Exit, Failed};

/// List the steps that a feature can use, each with an example. With words, list the steps nearest to them.
#[derive(Debug, clap::Args)]
pub(crate) struct StepsArgs {
    /// A line as you would write it, or some words of it.
    words: Vec<String>,
}

/// Limit of steps shown for a search.
const NEAREST: usize = 5;

pub(crate) fn steps(args: &StepsArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let vocabulary = proofmark_catalog::vocabulary();
    let words = args.words.join(" ");
    if !words.trim().is_empty() {
        let found = vocabulary.near(&words);
        if found.is_empty() {
            return Err(Failed::Usage(format!(
                "no step resembles `{words}`; `proofmark steps` lists all"
            )));
        }
        for step in found.into_iter().take(NEAREST) {
            write(out, step)?;
        }
        return Ok(Exit::Holds);
    }
    let mut contracts: Vec<Option<&str>> =
        vocabulary.steps().iter().map(|step| step.contract).collect();
    // General steps come first.
    contracts.sort_unstable();
    contracts.dedup();
    for contract in contracts {
        let title = contract.unwrap_or("For any contract");
        writeln!(out, "{}", styled(STRONG, title))?;
        for step in vocabulary.steps().iter().filter(|step| step.contract == contract) {
            write(out, step)?;
        }
    }
    Ok(Exit::Holds)
}

fn write(out: &mut dyn Write, step: &VocabularyStep) -> Result<(), Failed> {
    writeln!(out, "  {}", step.example)?;
    match step.below {
        Below::Nothing => {}
        Below::Text(text) => writeln!(out, "    \"\"\"\n    {text}\n    \"\"\"")?,
        Below::Table(table) => table.lines().try_for_each(|row| writeln!(out, "    {row}"))?,
    }
    Ok(writeln!(out, "      {}", styled(QUIET, step.does))?)
}
