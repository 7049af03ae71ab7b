//! `proofmark doctor`: is the adapter sound, before the implementation is blamed?

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use proofmark_suite::doctor::{Finding, State, examine};
use proofmark_suite::run::RunError;
use proofmark_suite::subject::{Orphans, Patience, StartError};
use serde_json::json;

use crate::choice::SubjectChoice;
use crate::drive::NO_SUBJECT;
use crate::exit::{Exit, Failed};
use crate::options::SuiteChoice;

/// Examine an adapter: framing, flushing, ids, sessions, large and unicode payloads, its end.
///
/// It needs no operation to be there. What is found says what to change.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    subject: SubjectChoice,
    /// How long the adapter may take for one answer [default: 5000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    timeout: Option<u64>,
    /// How long the adapter may take to start and say hello [default: 10000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    start_timeout: Option<u64>,
    /// Tell it to programs, as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    suite: SuiteChoice,
}

/// Holds when nothing must change.
pub(crate) fn doctor(args: &DoctorArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    if !args.subject.is_given() {
        return Err(Failed::Usage(NO_SUBJECT.to_owned()));
    }
    let subject = args.subject.resolve()?;
    let suite = args.suite.load_for(&subject)?;
    let limit = |given: Option<u64>, said: Option<u64>, usual| {
        Duration::from_millis(given.or(said).unwrap_or(usual))
    };
    let patience = Patience {
        start: limit(args.start_timeout, subject.start_timeout, 10_000),
        call: limit(args.timeout, subject.timeout, 5_000),
        ..Patience::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = tokio::task::LocalSet::new();
    let orphans = Orphans::adopt();
    let mut sound = true;
    for command in subject.command.iter().chain(subject.of_contract.values()) {
        let found = local.block_on(&runtime, examine(command, patience, &suite));
        let findings = found.map_err(|fault: StartError| RunError::from(fault))?;
        sound &= findings.iter().all(|finding| finding.state != State::Unsound);
        match args.json {
            true => {
                serde_json::to_writer_pretty(
                    &mut *out,
                    &json!({ "subject": command.shown, "findings": findings }),
                )
                .map_err(std::io::Error::from)?;
                writeln!(out)?;
            }
            false => write_human(out, &command.shown, &findings)?,
        }
    }
    orphans.kill();
    Ok(if sound { Exit::Holds } else { Exit::DoesNotHold })
}

fn write_human(out: &mut dyn Write, shown: &str, findings: &[Finding]) -> std::io::Result<()> {
    const GOOD: Style = AnsiColor::Green.on_default().bold();
    const BAD: Style = AnsiColor::Red.on_default().bold();
    const QUIET: Style = Style::new().dimmed();
    writeln!(out, "{shown}\n")?;
    for finding in findings {
        let (style, word) = match finding.state {
            State::Sound => (GOOD, "sound"),
            State::Unsound => (BAD, "CHANGE"),
            State::NotYet => (QUIET, "not yet"),
        };
        writeln!(out, "  {style}{word:<7}{style:#}  {:<15}  {}", finding.check, finding.told)?;
        if let Some(change) = &finding.change {
            writeln!(out, "           {:<15}  → {change}", "")?;
        }
    }
    let unsound = findings.iter().filter(|finding| finding.state == State::Unsound).count();
    match unsound {
        0 => writeln!(out, "\nthe adapter is sound: what fails now is the implementation's"),
        some => writeln!(out, "\n{some} thing(s) to change in the adapter"),
    }
}
