//! One run from the files of a suite to an exit code: the road that `run` and `certify` share.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use proofmark_protocol::HelloReply;
use proofmark_report::github::without_commands;
use proofmark_report::progress::Progress;
use proofmark_report::text::visible_line;
use proofmark_report::{Aim, Report, failures, summary};
use proofmark_suite::Suite;
use proofmark_suite::run::{Cancel, RunOptions, run as run_cases};
use proofmark_suite::select::Selection;
use proofmark_suite::subject::Patience;
use proofmark_suite::verdict::{ContractResult, RunOutcome};

use crate::choice::SubjectChoice;
use crate::exit::{Exit, Failed, standing};
use crate::found;
use crate::options::{Filters, Format, How};
use crate::outputs::{self, Kind, with_reports};

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
    let suite = how.suite.load()?;
    let selection = Selection {
        contracts: filters.contract.clone(),
        cases: filters.case.clone(),
        requirements: filters.requirement.clone(),
    };
    let cases = selection.of(&suite)?;
    let command = subject.command()?;
    let outputs = how.outputs.prepare()?;
    let folder = how.suite.suite.as_ref().map(|folder| folder.to_string_lossy().into_owned());
    let mut options = RunOptions {
        window: usize::from(how.window),
        shuffle: how.shuffle,
        laws: how.laws.options(),
        patience: Patience {
            start: Duration::from_millis(how.start_timeout),
            call: Duration::from_millis(how.timeout),
            ..Patience::default()
        },
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
    let rerun = how.rerun(subject, &command);
    let report = Report {
        suite: &suite,
        folder: folder.as_deref(),
        outcome: &outcome,
        contracts: &contracts,
        aim: if shown == Shown::Contracts { Aim::Certify } else { Aim::Run },
        holds,
        elapsed,
        rerun: &rerun,
    };
    // Files first: whoever closes stdout gets them all the same.
    let reported = outputs.write(&report);
    let written = write_to_stdout(out, how.format, outputs.github(), &report);
    let found = if holds { Exit::Holds } else { Exit::DoesNotHold };
    let exit = standing(found, written);
    let folder = how.laws.save_found.as_ref();
    let saved = folder.map_or(Ok(()), |folder| found::save(folder, &outcome));
    let exit = with_reports(exit, reported.and(saved))?;
    if outcome.interrupted { Err(Failed::Interrupted) } else { Ok(exit) }
}

/// Where GitHub reads along, nothing that a subject said may be a command to it.
fn write_to_stdout(
    out: &mut dyn Write,
    format: Format,
    github: bool,
    report: &Report<'_>,
) -> io::Result<()> {
    let mut text = Vec::new();
    let to: &mut dyn Write = if github { &mut text } else { &mut *out };
    match format {
        Format::Json => outputs::write(to, Kind::Json, report),
        Format::Junit => outputs::write(to, Kind::Junit, report),
        Format::Tap => outputs::write(to, Kind::Tap, report),
        Format::Human => write_human(to, report),
    }?;
    if github {
        let text = String::from_utf8_lossy(&text);
        let safe = match format {
            // The same JSON: outside of a string there is no such thing.
            Format::Json => text.replace("##[", "##\\u005b"),
            // The same XML, for the same reason.
            Format::Junit => text.replace("##[", "##&#91;").replace("::", "&#58;:"),
            Format::Human | Format::Tap => without_commands(&text),
        };
        out.write_all(safe.as_bytes())?;
    }
    Ok(())
}

fn write_human(out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
    let Report { suite, outcome, contracts, elapsed, aim, rerun, .. } = *report;
    failures::write(out, suite, &outcome.results, rerun)?;
    if let Some(subject) = &outcome.subject {
        let claims = subject.contracts.join(", ");
        let claims = if claims.is_empty() { "nothing" } else { &claims };
        let HelloReply { name, version, language, .. } = subject;
        let told = format!("{name} {version} ({language}) claims {claims}");
        writeln!(out, "{}\n", visible_line(&told))?;
    }
    // An interrupted run has no verdicts on contracts.
    let judged = aim == Aim::Certify && !outcome.interrupted;
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
