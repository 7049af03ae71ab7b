//! A whole run, from loading the suite to the exit code. `run` and `certify` share it.

use std::io::{self, Write};
use std::time::Instant;

use proofmark_judge::Suite;
use proofmark_judge::select::SelectError;
use proofmark_judge::verdict::{CaseResult, ContractResult, RunOutcome};
use proofmark_protocol::HelloReply;
use proofmark_report::github::without_commands;
use proofmark_report::progress::Progress;
use proofmark_report::text::visible_line;
use proofmark_report::{Aim, Report, failures, summary};
use proofmark_suite::run::{Cancel, Event, RunOptions, run as run_cases};
use proofmark_suite::subject::SubjectCommand;

use crate::choice::SubjectChoice;
use crate::exit::{Exit, Failed, standing};
use crate::found;
use crate::keep::Own;
use crate::memory::Memory;
use crate::options::{Filters, How, RunFormat};
use crate::outputs::{self, Kind, Prepared, with_reports};
use crate::parts::{joined, parts, unkept};
use crate::watch::{folders, watch};

/// Running a default subject that nobody named could pass for a run of the user's own.
pub(crate) const NO_SUBJECT: &str = "no subject given: pass a command after `--`, such as `-- node my-adapter.mjs`; a `proofmark.toml` in this folder, or `--manifest FILE`; or `reference` for the built-in one";

/// How much of the contracts a report shows.
#[derive(PartialEq)]
pub(crate) enum Shown {
    /// Failures and totals.
    Cases,
    /// Also a line for each contract and requirement.
    Contracts,
}

/// What to write once a run has ended and was reported.
pub(crate) struct Keep<'a> {
    pub(crate) write: &'a dyn Fn(&Suite, &RunOutcome) -> Result<(), Failed>,
    /// The files that this reads and writes.
    pub(crate) files: Vec<Own>,
}

/// Runs the selected cases, reports, and lets `holds` decide. With `keep`, the transcripts are kept for it.
pub(crate) fn drive(
    subject: &SubjectChoice,
    filters: &Filters,
    how: &How,
    shown: Shown,
    holds: impl Fn(&Suite, &RunOutcome, &[ContractResult<'_>]) -> bool,
    mut keep: Option<Keep<'_>>,
    out: &mut dyn Write,
) -> Result<Exit, Failed> {
    if !subject.is_given() {
        return Err(Failed::Usage(NO_SUBJECT.to_owned()));
    }
    let subject = subject.resolve()?;
    if how.watch {
        return watch(&folders(how.suite.suite.as_deref().or(subject.suite.as_deref())));
    }
    let suite = how.suite.load_for_run(&subject, filters, &how.known)?;
    let subject = subject.on_wire(suite, &filters.contract)?;
    let known = how.known.read(&subject, suite)?;
    let mut own = keep.as_mut().map(|keep| std::mem::take(&mut keep.files)).unwrap_or_default();
    own.extend(subject.manifest.iter().map(|path| Own::new(path, "the manifest")));
    own.extend(how.known.own(&subject));
    let outputs = how.outputs.prepare(&own)?;
    let folder = how.suite.suite.as_ref().or(subject.suite.as_ref());
    let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
    let memory = Memory::of(&subject, how.suite.suite.as_deref());
    let mut cases = filters.selection().of(suite)?;
    if filters.last_failed {
        cases = memory.failed_of(cases)?;
    }
    let count = cases.len();
    let parts = parts(&subject, suite, cases)?;
    let options = RunOptions { record: keep.is_some(), ..how.run_options(&subject) };
    let cancel = Cancel::default();
    cancel_on_signal(cancel.clone());

    let started = Instant::now();
    let mut progress = Progress::new(count);
    let mut first_failed = None;
    let today = how.known.today();
    let mut on_event = |event: &Event| {
        let Event::Case(result) = event else { return };
        progress.add(result);
        let excused = known.as_ref().is_some_and(|known| known.excuses(&result.case, today));
        if how.fail_fast && result.failed_unexpectedly() && !excused {
            first_failed.get_or_insert_with(|| result.case.clone());
            cancel.cancel();
        }
    };
    let ran: Vec<&SubjectCommand> = parts.iter().map(|part| part.command).collect();
    let mut outcomes = Vec::new();
    for part in parts {
        let cases = part.cases.clone();
        let ran = run_cases(suite, cases, part.command, &options, &cancel, &mut on_event);
        outcomes.push(part.alone(ran?));
    }
    progress.finish();
    let mut outcome = joined(outcomes).ok_or(SelectError::Nothing)?;
    let elapsed = started.elapsed();
    if let Some(known) = &known {
        known.hold_against(&mut outcome, today);
    }
    outcome.stopped = first_failed;
    memory.keep(&outcome);
    let contracts = outcome.judge(suite);
    outcome.unkept = unkept(&subject, &ran, &outcome);
    let holds = !outcome.interrupted
        && outcome.known_problems.is_empty()
        && outcome.unkept.is_empty()
        && !(outcome.listed && outcome.results.iter().any(CaseResult::failed_unexpectedly))
        && holds(suite, &outcome, &contracts);
    let rerun = how.rerun(&subject);
    let report = Report {
        suite,
        folder: folder.as_deref(),
        outcome: &outcome,
        contracts: &contracts,
        aim: if shown == Shown::Contracts { Aim::Certify } else { Aim::Run },
        holds,
        elapsed,
        rerun: &rerun,
    };
    let written = tell(&report, how.format, &outputs, out);
    let folder = how.laws.save_found.as_ref();
    let saved = folder.map_or(Ok(()), |folder| found::save(folder, &outcome));
    let kept = keep.map_or(Ok(()), |keep| (keep.write)(suite, &outcome));
    let exit = with_reports(written, saved.and(kept))?;
    if outcome.interrupted && outcome.stopped.is_none() {
        Err(Failed::Interrupted)
    } else {
        Ok(exit)
    }
}

/// Writes every report. The exit code carries the verdict.
pub(crate) fn tell(
    report: &Report<'_>,
    format: RunFormat,
    outputs: &Prepared,
    out: &mut dyn Write,
) -> Result<Exit, Failed> {
    // Files first, so that a closed stdout does not lose them.
    let reported = outputs.write(report);
    let written = write_to_stdout(out, format, outputs.github(), report);
    let found = if report.holds { Exit::Holds } else { Exit::DoesNotHold };
    with_reports(standing(found, written), reported)
}

/// On GitHub, text from a subject must never act as a workflow command.
fn write_to_stdout(
    out: &mut dyn Write,
    format: RunFormat,
    github: bool,
    report: &Report<'_>,
) -> io::Result<()> {
    let mut text = Vec::new();
    let to: &mut dyn Write = if github { &mut text } else { &mut *out };
    match format {
        RunFormat::Json => outputs::write(to, Kind::Json, report),
        RunFormat::Junit => outputs::write(to, Kind::Junit, report),
        RunFormat::Tap => outputs::write(to, Kind::Tap, report),
        RunFormat::Human => write_human(to, report),
    }?;
    if github {
        // Escape codes would hide where a line begins.
        let text = anstream::adapter::strip_bytes(&text).into_vec();
        let text = String::from_utf8_lossy(&text);
        let safe = match format {
            // Still the same JSON: the sequence occurs only inside strings.
            RunFormat::Json => text.replace("##[", "##\\u005b"),
            // Still the same XML, for the same reason.
            RunFormat::Junit => text.replace("##[", "##&#91;").replace("::", "&#58;:"),
            RunFormat::Human | RunFormat::Tap => without_commands(&text),
        };
        out.write_all(safe.as_bytes())?;
    }
    Ok(())
}

fn write_human(out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
    let Report { suite, outcome, contracts, elapsed, aim, rerun, .. } = *report;
    failures::write(out, suite, outcome, rerun)?;
    if let Some(subject) = &outcome.subject {
        let claims = subject.contracts.join(", ");
        let claims = if claims.is_empty() { "nothing" } else { &claims };
        let HelloReply { name, version, language, .. } = subject;
        let subject = format!("{name} {version} ({language}) claims {claims}");
        writeln!(out, "{}\n", visible_line(&subject))?;
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

/// Ctrl-C and SIGTERM stop the run cleanly: no process is left behind.
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
        // Without a handler, a signal ends the program at once.
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            runtime.block_on(wait);
        }
    });
}
