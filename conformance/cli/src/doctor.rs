//! `proofmark doctor`: checks that the adapter is sound before anyone blames the implementation.

use std::io::{self, Write};
use std::time::Duration;

use proofmark_doctor::{Finding, Promised, State, examine};
use proofmark_judge::Suite;
use proofmark_report::style::{BAD, GOOD, QUIET, styled};
use proofmark_report::text::visible_line;
use proofmark_suite::run::RunError;
use proofmark_suite::subject::{Orphans, Patience, SubjectCommand};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::choice::{Subject, SubjectChoice};
use crate::drive::NO_SUBJECT;
use crate::exit::{Exit, Failed, standing};
use crate::options::SuiteChoice;
use crate::parts::check_promises;

/// Check an adapter: framing, flushing, ids, sessions, large and Unicode payloads, shutdown.
///
/// It works before you implement any operation. Every finding says what to change.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    subject: SubjectChoice,
    /// Timeout for each answer, in milliseconds [default: 5000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    timeout: Option<u64>,
    /// Timeout for starting and answering `hello`, in milliseconds [default: 10000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    start_timeout: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    suite: SuiteChoice,
}

/// Passes if the adapter needs no change.
pub(crate) fn doctor(args: &DoctorArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    if !args.subject.is_given() {
        return Err(Failed::Usage(NO_SUBJECT.to_owned()));
    }
    let subject = args.subject.resolve()?;
    let suite = args.suite.load_for(&subject)?;
    let subject = subject.on_wire(suite, &suite.ids())?;
    let limit = |given: Option<u64>, said: Option<u64>, usual| {
        Duration::from_millis(given.or(said).unwrap_or(usual))
    };
    let patience = Patience {
        start: limit(args.start_timeout, subject.start_timeout, 10_000),
        call: limit(args.timeout, subject.timeout, 5_000),
        ..Patience::default()
    };
    check_promises(&subject, suite)?;
    let commands: Vec<_> = subject.command.iter().chain(subject.of_contract.values()).collect();
    let exam = Exam { patience, suite, subject: &subject, orphans: Orphans::adopt() };
    let mut examined = Vec::new();
    let mut written = Ok(());
    let ended = exam.all(&commands, &mut examined, &mut |news| {
        // A closed stdout ends the report, but not the exit code.
        if !args.json && written.is_ok() {
            written = write_human(out, news).and_then(|()| out.flush());
        }
    });
    // Nothing is left running, however it ended.
    exam.orphans.kill();
    let found: Vec<&Finding> = examined.iter().flat_map(|one| &one.findings).collect();
    let sound = !found.iter().any(|finding| finding.state == State::Unsound);
    let nothing = found.is_empty();
    if args.json {
        written = write_json(out, &examined, commands.len());
    }
    match ended {
        Err(Failed::Interrupted) if nothing => {
            Err(Failed::Usage("interrupted before the first finding".to_owned()))
        }
        Err(fault) => Err(fault),
        Ok(()) => standing(if sound { Exit::Holds } else { Exit::DoesNotHold }, written),
    }
}

/// The findings for one command.
#[derive(Debug, Serialize)]
struct Examined<'a> {
    subject: &'a str,
    findings: Vec<Finding>,
}

/// Progress, reported while the checks run.
enum News<'a> {
    Begins(&'a str),
    Found(&'a Finding),
    Ends(&'a [Finding]),
}

struct Exam<'a> {
    patience: Patience,
    suite: &'a Suite,
    subject: &'a Subject,
    orphans: Orphans,
}

impl<'a> Exam<'a> {
    /// Examines one command after the other. `examined` keeps the findings even if a later command does not start or
    /// the user interrupts.
    fn all(
        &self,
        commands: &[&'a SubjectCommand],
        examined: &mut Vec<Examined<'a>>,
        tell: &mut dyn FnMut(News<'_>),
    ) -> Result<(), Failed> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        tokio::task::LocalSet::new().block_on(&runtime, async {
            // Before anything starts, so that a signal stops it cleanly.
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            let probes = &proofmark_catalog::probes();
            for command in commands {
                let promised = promised(self.subject, command, self.suite);
                let mut findings = Vec::new();
                let mut found = |finding: Finding| {
                    if findings.is_empty() {
                        tell(News::Begins(&command.shown));
                    }
                    tell(News::Found(&finding));
                    findings.push(finding);
                };
                let Self { patience, suite, orphans, .. } = self;
                let ended = tokio::select! {
                    ended = examine(command, *patience, suite, &promised, probes, orphans, &mut found) => {
                        ended.map_err(|fault| RunError::from(fault).into())
                    }
                    // Dropping an examination kills its process group.
                    _ = interrupt.recv() => Err(Failed::Interrupted),
                    _ = terminate.recv() => Err(Failed::Interrupted),
                };
                if ended.is_ok() {
                    tell(News::Ends(&findings));
                }
                if !findings.is_empty() {
                    examined.push(Examined { subject: &command.shown, findings });
                }
                ended?;
            }
            Ok(())
        })
    }
}

/// What the manifest promises of this command: the contracts and hooks that it drives.
fn promised(subject: &Subject, command: &SubjectCommand, suite: &Suite) -> Promised {
    let drives = |id: &str| {
        let driver = subject.of_contract.get(id).or(subject.command.as_ref());
        driver.is_some_and(|driver| std::ptr::eq(driver, command))
    };
    let of = |hook: &str| suite.contracts.iter().find(|contract| contract.hooks.contains_key(hook));
    Promised {
        claims: subject.claims.iter().filter(|id| drives(id)).cloned().collect(),
        hooks: subject
            .hooks
            .iter()
            .filter(|hook| of(hook).is_some_and(|contract| drives(&contract.id)))
            .cloned()
            .collect(),
    }
}

/// One object for one command, a list for several.
fn write_json(out: &mut dyn Write, examined: &[Examined<'_>], commands: usize) -> io::Result<()> {
    match examined {
        [] if commands == 1 => return Ok(()),
        [one] if commands == 1 => serde_json::to_writer_pretty(&mut *out, one)?,
        several => serde_json::to_writer_pretty(&mut *out, several)?,
    }
    writeln!(out)
}

fn write_human(out: &mut dyn Write, news: News<'_>) -> io::Result<()> {
    match news {
        News::Begins(subject) => writeln!(out, "{}\n", visible_line(subject)),
        News::Found(finding) => write_finding(out, finding),
        News::Ends(findings) => write_end(out, findings),
    }
}

fn write_finding(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let Finding { check, state, message, change, stderr, .. } = finding;
    // Padded by visible width, without colour codes.
    let mark = match state {
        State::Sound => styled(GOOD, "sound  "),
        State::Unsound => styled(BAD, "CHANGE "),
        State::NotYet => styled(QUIET, "not yet"),
        // Counted at the end.
        State::Spoilt => return Ok(()),
    };
    writeln!(out, "  {mark}  {check:<15}  {}", visible_line(message))?;
    for line in stderr {
        writeln!(out, "           {:<15}  stderr: {}", "", visible_line(line))?;
    }
    if let Some(change) = change {
        writeln!(out, "           {:<15}  → {}", "", visible_line(change))?;
    }
    Ok(())
}

fn write_end(out: &mut dyn Write, findings: &[Finding]) -> io::Result<()> {
    let of = |state: State| findings.iter().filter(move |finding| finding.state == state);
    let spoilt: Vec<&str> = of(State::Spoilt).map(|finding| finding.check).collect();
    if !spoilt.is_empty() {
        let (mark, count) = (styled(QUIET, "not yet"), format!("{} more", spoilt.len()));
        let message = format!("the findings above prevented these checks: {}", spoilt.join(", "));
        writeln!(out, "  {mark}  {count:<15}  {message}")?;
    }
    match of(State::Unsound).count() {
        0 => {
            writeln!(out, "\nthe adapter is sound: remaining failures belong to the implementation")
        }
        some => writeln!(out, "\n{some} thing(s) to change in the adapter"),
    }
}
