//! `proofmark doctor`: is the adapter sound, before the implementation is blamed?

use std::io::{self, Write};
use std::time::Duration;

use proofmark_report::style::{BAD, GOOD, QUIET, styled};
use proofmark_report::text::visible_line;
use proofmark_suite::Suite;
use proofmark_suite::doctor::{Finding, State, examine};
use proofmark_suite::run::RunError;
use proofmark_suite::subject::{Orphans, Patience, SubjectCommand};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::choice::SubjectChoice;
use crate::drive::NO_SUBJECT;
use crate::exit::{Exit, Failed, standing};
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
    let commands: Vec<_> = subject.command.iter().chain(subject.of_contract.values()).collect();
    let orphans = Orphans::adopt();
    let mut examined = Vec::new();
    let ended = examine_all(&commands, patience, &suite, &mut examined);
    // However it ended, nothing is left running.
    orphans.kill();
    let unsound = |finding: &Finding| finding.state == State::Unsound;
    let sound = !examined.iter().flat_map(|one| &one.findings).any(unsound);
    let written = match args.json {
        true => write_json(out, &examined, commands.len()),
        false => examined.iter().try_for_each(|one| write_human(out, one)),
    };
    ended?;
    standing(if sound { Exit::Holds } else { Exit::DoesNotHold }, written)
}

/// What was found of one command.
#[derive(Debug, Serialize)]
struct Examined<'a> {
    subject: &'a str,
    findings: Vec<Finding>,
}

/// Examines one command after the other. Those that came to an end are in `examined`, also when a later
/// one cannot be started or the user interrupts.
fn examine_all<'a>(
    commands: &[&'a SubjectCommand],
    patience: Patience,
    suite: &Suite,
    examined: &mut Vec<Examined<'a>>,
) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        // Before anything is started: a signal from now on ends it in good order.
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        for command in commands {
            // An examination that is dropped kills its process and the process's group.
            let found = tokio::select! {
                found = examine(command, patience, suite) => found,
                _ = interrupt.recv() => return Err(Failed::Interrupted),
                _ = terminate.recv() => return Err(Failed::Interrupted),
            };
            let findings = found.map_err(RunError::from)?;
            examined.push(Examined { subject: &command.shown, findings });
        }
        Ok(())
    })
}

/// One object for one command; a list where there may be several.
fn write_json(out: &mut dyn Write, examined: &[Examined<'_>], commands: usize) -> io::Result<()> {
    match examined {
        [] if commands == 1 => return Ok(()),
        [one] if commands == 1 => serde_json::to_writer_pretty(&mut *out, one)?,
        several => serde_json::to_writer_pretty(&mut *out, several)?,
    }
    writeln!(out)
}

fn write_human(out: &mut dyn Write, examined: &Examined<'_>) -> io::Result<()> {
    writeln!(out, "{}\n", visible_line(examined.subject))?;
    for Finding { check, state, told, change, stderr } in &examined.findings {
        // As wide as the widest, whatever the colour.
        let mark = match state {
            State::Sound => styled(GOOD, "sound  "),
            State::Unsound => styled(BAD, "CHANGE "),
            State::NotYet => styled(QUIET, "not yet"),
        };
        writeln!(out, "  {mark}  {check:<15}  {}", visible_line(told))?;
        for line in stderr {
            writeln!(out, "           {:<15}  stderr: {}", "", visible_line(line))?;
        }
        if let Some(change) = change {
            writeln!(out, "           {:<15}  → {}", "", visible_line(change))?;
        }
    }
    let unsound =
        examined.findings.iter().filter(|finding| finding.state == State::Unsound).count();
    match unsound {
        0 => writeln!(out, "\nthe adapter is sound: what fails now is the implementation's"),
        some => writeln!(out, "\n{some} thing(s) to change in the adapter"),
    }
}
