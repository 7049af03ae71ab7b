//! One run from the files of a suite to an exit code: the road that `run` and `certify` share.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use proofmark_protocol::HelloReply;
use proofmark_report::failure::Rerun;
use proofmark_report::progress::Progress;
use proofmark_report::{failures, json, summary};
use proofmark_suite::Suite;
use proofmark_suite::run::{Cancel, Event, run as run_cases};
use proofmark_suite::select::SelectError;
use proofmark_suite::verdict::{ContractResult, RunOutcome};

use crate::choice::SubjectChoice;
use crate::exit::{Exit, Failed, standing};
use crate::found;
use crate::memory::Memory;
use crate::options::{Filters, Format, How};
use crate::parts::{broken_promises, joined, parts};
use crate::watch::{folders, watch};

/// How much of the contracts a report shows.
#[derive(PartialEq)]
pub(crate) enum Shown {
    /// Failures and totals.
    Cases,
    /// Also a line for each contract and requirement.
    Contracts,
}

/// Runs the selected cases, reports, and lets `holds` decide.
pub(crate) fn drive(
    subject: &SubjectChoice,
    filters: &Filters,
    how: &How,
    shown: Shown,
    holds: impl Fn(&Suite, &RunOutcome, &[ContractResult<'_>]) -> bool,
    out: &mut dyn Write,
) -> Result<Exit, Failed> {
    let subject = subject.resolve()?;
    if how.watch {
        return watch(&folders(how.suite.suite.as_deref().or(subject.suite.as_deref())));
    }
    let suite = how.suite.load_for(&subject)?;
    let known = how.known.read(&subject, &suite)?;
    let memory = Memory::of(&subject, how.suite.suite.as_deref());
    let mut cases = filters.selection().of(&suite)?;
    if filters.last_failed {
        cases = memory.failed_of(cases)?;
    }
    let count = cases.len();
    let parts = parts(&subject, &suite, cases)?;
    let options = how.run_options(&subject);
    let cancel = Cancel::default();
    cancel_on_signal(cancel.clone());

    let started = Instant::now();
    let mut progress = Progress::new(count);
    let mut failed_fast = false;
    let today = how.known.today();
    let mut on_event = |event: &Event| {
        progress.on_event(event);
        let Event::Case(result) = event else { return };
        let excused = known.as_ref().is_some_and(|known| known.excuses(&result.case, today));
        if how.fail_fast && result.failed_unexpectedly() && !excused {
            failed_fast = true;
            cancel.cancel();
        }
    };
    let mut outcomes = Vec::new();
    for part in parts {
        let cases = part.cases.clone();
        let ran = run_cases(&suite, cases, part.command, &options, &cancel, &mut on_event);
        outcomes.push(part.alone(ran?));
    }
    progress.finish();
    let mut outcome = joined(outcomes).ok_or(SelectError::Nothing)?;
    let elapsed = started.elapsed();
    if let Some(known) = &known {
        known.hold_against(&mut outcome, today);
    }
    memory.keep(&outcome);
    let contracts = outcome.judge(&suite);
    let broken = broken_promises(&subject, &outcome);
    let holds = !outcome.interrupted
        && outcome.known_problems.is_empty()
        && broken.is_empty()
        && holds(&suite, &outcome, &contracts);
    let report = Report { suite: &suite, outcome: &outcome, contracts: &contracts, elapsed, holds };
    let written = match how.format {
        Format::Json => report.write_json(out),
        Format::Human => report.write_human(out, &shown, &how.rerun(&subject)).and_then(|()| {
            broken.iter().try_for_each(|told| writeln!(out, "does not hold: {told}"))?;
            let stopped = if failed_fast {
                "stopped at the first failure; the rest was not tried\n"
            } else {
                ""
            };
            write!(out, "{stopped}")
        }),
    };
    let found = if holds { Exit::Holds } else { Exit::DoesNotHold };
    let exit = standing(found, written)?;
    if let Some(folder) = &how.laws.save_found {
        found::save(folder, &outcome)?;
    }
    if outcome.interrupted && !failed_fast { Err(Failed::Interrupted) } else { Ok(exit) }
}

/// What a run found out, on its way to the reader.
struct Report<'a> {
    suite: &'a Suite,
    outcome: &'a RunOutcome,
    contracts: &'a [ContractResult<'a>],
    elapsed: Duration,
    holds: bool,
}

impl Report<'_> {
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { suite, outcome, contracts, elapsed, holds } = *self;
        serde_json::to_writer_pretty(
            &mut *out,
            &json::report(suite, outcome, contracts, holds, elapsed),
        )?;
        writeln!(out)
    }

    fn write_human(&self, out: &mut dyn Write, shown: &Shown, rerun: &Rerun) -> io::Result<()> {
        let Self { suite, outcome, contracts, elapsed, .. } = *self;
        failures::write(out, suite, &outcome.results, rerun)?;
        if let Some(subject) = &outcome.subject {
            let claims = subject.contracts.join(", ");
            let claims = if claims.is_empty() { "nothing" } else { &claims };
            let HelloReply { name, version, language, .. } = subject;
            writeln!(out, "{name} {version} ({language}) claims {claims}\n")?;
        }
        // An interrupted run has no verdicts on contracts.
        let judged = *shown == Shown::Contracts && !outcome.interrupted;
        if judged {
            summary::write_contracts(out, outcome, contracts)?;
        }
        summary::write_faults(out, suite, outcome)?;
        summary::write_totals(out, suite, outcome, elapsed)?;
        if judged {
            summary::write_verdict(out, suite, outcome, contracts)?;
        }
        Ok(())
    }
}

/// Ctrl-C and SIGTERM end the run in good order: nothing is left behind.
pub(crate) fn cancel_on_signal(cancel: Cancel) {
    let wait = async move {
        let interrupted = tokio::signal::ctrl_c();
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let Ok(mut terminated) = signal(SignalKind::terminate()) else { return };
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
        }
        #[cfg(not(unix))]
        let _fault = interrupted.await;
        cancel.cancel();
    };
    std::thread::spawn(|| {
        // Without it a signal ends the program at once, as it would any other.
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            runtime.block_on(wait);
        }
    });
}
