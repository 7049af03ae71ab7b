//! One run from the files of a suite to an exit code: the road that `run` and `certify` share.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use proofmark_protocol::HelloReply;
use proofmark_report::failure::Rerun;
use proofmark_report::progress::Progress;
use proofmark_report::{failures, json, summary};
use proofmark_suite::Suite;
use proofmark_suite::run::{Cancel, RunOptions, run as run_cases};
use proofmark_suite::select::Selection;
use proofmark_suite::subject::Patience;
use proofmark_suite::verdict::{ContractResult, RunOutcome};

use crate::choice::SubjectChoice;
use crate::exit::{Exit, Failed, standing};
use crate::found;
use crate::options::{Filters, Format, How};

/// How much of the contracts a report shows.
#[derive(PartialEq)]
pub(crate) enum Shown {
    /// Failures and totals.
    Cases,
    /// Also a line for each contract and requirement.
    Contracts,
}

/// What is done with a run when it is over and told: writing it down.
pub(crate) type Keep<'a> = &'a dyn Fn(&Suite, &RunOutcome) -> Result<(), Failed>;

/// Runs the selected cases, reports, and lets `holds` decide. With `keep` the transcripts are kept for it.
pub(crate) fn drive(
    subject: &SubjectChoice,
    filters: &Filters,
    how: &How,
    shown: Shown,
    holds: impl Fn(&Suite, &RunOutcome, &[ContractResult<'_>]) -> bool,
    keep: Option<Keep<'_>>,
    out: &mut dyn Write,
) -> Result<Exit, Failed> {
    let suite = how.suite.load()?;
    let selection = Selection {
        contracts: filters.contract.clone(),
        cases: filters.case.clone(),
        requirements: filters.requirement.clone(),
    };
    let cases = selection.of(&suite)?;
    let command = subject.command()?;
    let mut options = RunOptions {
        window: usize::from(how.window),
        shuffle: how.shuffle,
        laws: how.laws.options(),
        patience: Patience {
            start: Duration::from_millis(how.start_timeout),
            call: Duration::from_millis(how.timeout),
            ..Patience::default()
        },
        record: keep.is_some(),
        kill_orphans: true,
        ..RunOptions::default()
    };
    if let Some(jobs) = how.jobs {
        options.jobs = usize::from(jobs);
    }
    let cancel = Cancel::default();
    cancel_on_signal(cancel.clone());

    let started = Instant::now();
    let mut progress = Progress::new(cases.len());
    let outcome =
        run_cases(&suite, cases, &command, &options, &cancel, |event| progress.on_event(event));
    progress.finish();
    let outcome = outcome?;
    let elapsed = started.elapsed();
    let contracts = outcome.judge(&suite);
    let holds = !outcome.interrupted && holds(&suite, &outcome, &contracts);
    let report = Report { suite: &suite, outcome: &outcome, contracts: &contracts, elapsed, holds };
    let written = match how.format {
        Format::Json => report.write_json(out),
        Format::Human => report.write_human(out, &shown, &how.rerun(subject, &command)),
    };
    let found = if holds { Exit::Holds } else { Exit::DoesNotHold };
    let exit = standing(found, written)?;
    if let Some(folder) = &how.laws.save_found {
        found::save(folder, &outcome)?;
    }
    if let Some(keep) = keep {
        keep(&suite, &outcome)?;
    }
    if outcome.interrupted { Err(Failed::Interrupted) } else { Ok(exit) }
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
