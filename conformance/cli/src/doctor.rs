//! `proofmark doctor`: is the adapter sound, before the implementation is blamed?

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

/// Holds when nothing must change.
pub(crate) fn doctor(args: &DoctorArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    if !args.subject.is_given() {
        return Err(Failed::Usage(NO_SUBJECT.to_owned()));
    }
    let subject = args.subject.resolve()?;
    let suite = args.suite.load_ledgers(Some(&subject))?;
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
        // Whoever closes stdout is told no more, but the exit code stands.
        if !args.json && written.is_ok() {
            written = write_human(out, news).and_then(|()| out.flush());
        }
    });
    // However it ended, nothing is left running.
    exam.orphans.kill();
    let found: Vec<&Finding> = examined.iter().flat_map(|one| &one.findings).collect();
    let sound = !found.iter().any(|finding| finding.state == State::Unsound);
    let nothing = found.is_empty();
    if args.json {
        written = write_json(out, &examined, commands.len());
    }
    match ended {
        Err(Failed::Interrupted) if nothing => {
            Err(Failed::Usage("interrupted before anything had been found out".to_owned()))
        }
        Err(fault) => Err(fault),
        Ok(()) => standing(if sound { Exit::Holds } else { Exit::DoesNotHold }, written),
    }
}

/// What was found of one command.
#[derive(Debug, Serialize)]
struct Examined<'a> {
    subject: &'a str,
    findings: Vec<Finding>,
}

/// What is told as it comes.
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
    /// Examines one command after the other. What was found is in `examined`, also when a later one
    /// cannot be started or the user interrupts.
    fn all(
        &self,
        commands: &[&'a SubjectCommand],
        examined: &mut Vec<Examined<'a>>,
        tell: &mut dyn FnMut(News<'_>),
    ) -> Result<(), Failed> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        tokio::task::LocalSet::new().block_on(&runtime, async {
            // Before anything is started: a signal from now on ends it in good order.
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
                    // An examination that is dropped kills its process and the process's group.
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

/// What the manifest says of this command: of a contract or a hook, the command that drives it.
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

/// One object for one command; a list where there may be several.
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
    // As wide as the widest, whatever the colour.
    let mark = match state {
        State::Sound => styled(GOOD, "sound  "),
        State::Unsound => styled(BAD, "CHANGE "),
        State::NotYet => styled(QUIET, "not yet"),
        // They are counted at the end.
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
        let message = format!("what is told above is in the way of: {}", spoilt.join(", "));
        writeln!(out, "  {mark}  {count:<15}  {message}")?;
    }
    match of(State::Unsound).count() {
        0 => writeln!(out, "\nthe adapter is sound: what fails now is the implementation's"),
        some => writeln!(out, "\n{some} thing(s) to change in the adapter"),
    }
}
