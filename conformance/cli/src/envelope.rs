//! `proofmark envelope`: checks which tools of an MCP server keep the response envelope.

use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use proofmark_doctor::envelope::{ToolFound, examine};
use proofmark_report::style::{BAD, GOOD, styled};
use proofmark_report::text::visible_line;
use proofmark_suite::subject::{Orphans, Patience, SubjectCommand};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{Exit, Failed};

/// Report which tools of an MCP server keep the response envelope.
///
/// Calls every listed tool with input that it should refuse, and read-only tools also with input that fits their schema.
#[derive(Debug, clap::Args)]
pub(crate) struct EnvelopeArgs {
    /// Call every tool with input that fits its schema, even tools that may change something.
    #[arg(long)]
    use_all: bool,
    /// Timeout for each answer, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    timeout: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// The command that starts the server.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Passes if every tool keeps it.
pub(crate) fn envelope(args: &EnvelopeArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let Some((program, rest)) = args.command.split_first() else {
        return Err(Failed::Usage("give the server's command after `--`".to_owned()));
    };
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let command = SubjectCommand {
        program: program.clone(),
        args: rest.to_vec(),
        shown: words.join(" "),
        ..SubjectCommand::default()
    };
    let limit = Duration::from_millis(args.timeout);
    let patience = Patience { start: limit, call: limit, ..Patience::default() };
    let orphans = Orphans::adopt();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let examined = tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            examined = examine(&command, patience, args.use_all) => {
                examined.map_err(|fault| Failed::Usage(fault.to_string()))
            }
            _ = interrupt.recv() => Err(Failed::Interrupted),
            _ = terminate.recv() => Err(Failed::Interrupted),
        }
    });
    orphans.kill();
    let found = examined?;
    let kept = found.iter().filter(|tool| tool.problems.is_empty()).count();
    if args.json {
        let message = json!({ "server": command.shown, "kept": kept, "tools": found });
        serde_json::to_writer_pretty(&mut *out, &message).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        found.iter().try_for_each(|tool| write_tool(out, tool))?;
        writeln!(out, "{kept} of {} tools keep the envelope", found.len())?;
    }
    Ok(if kept == found.len() { Exit::Holds } else { Exit::DoesNotHold })
}

fn write_tool(out: &mut dyn Write, tool: &ToolFound) -> std::io::Result<()> {
    let name = visible_line(&tool.tool);
    match tool.problems.is_empty() {
        true => writeln!(out, "{} {name}", styled(GOOD, "keeps"))?,
        false => writeln!(out, "{} {name}", styled(BAD, "broken"))?,
    }
    tool.problems.iter().try_for_each(|message| writeln!(out, "  {}", visible_line(message)))
}
