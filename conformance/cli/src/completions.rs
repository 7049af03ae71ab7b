//! `proofmark completions`: a script that completes the command line in a shell.

use std::io::Write;

use clap::CommandFactory as _;

use crate::exit::{Exit, Failed};

/// Print a completion script for a shell.
///
/// In bash: `source <(proofmark completions bash)`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    shell: clap_complete::Shell,
}

pub(crate) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    // The generator panics if a write fails, and a reader can close the pipe at any time.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Arguments::command(), "proofmark", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Holds)
}
