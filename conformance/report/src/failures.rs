//! Writes all failures of a run, the most important last, with similar ones grouped.

use std::collections::BTreeMap;
use std::io::{self, Write};

use proofmark_judge::Suite;
use proofmark_judge::verdict::{CaseResult, Failure, RunOutcome};

use crate::failure::{self, BLOCKED, DIFFERS, Rerun, write_stderr};
use crate::style::{BAD, QUIET, STRONG, styled};
use crate::text::visible_line;

/// Failed or blocked cases, by name.
type Cases<'a> = Vec<(&'a str, &'a Failure)>;

/// The failures, grouped by how they are shown.
#[derive(Default)]
struct Sorted<'a> {
    /// Cases that show no deciding requirement, by the requirement that they show.
    differing: BTreeMap<&'a str, Cases<'a>>,
    /// Operations that are not implemented, and the cases that need them.
    missing: BTreeMap<&'a str, Vec<&'a str>>,
    /// Faults before any call, which are the same for every case.
    alike: BTreeMap<&'a str, Cases<'a>>,
    /// Failures in the setup, by call and first difference. They blame no promise.
    blocked: BTreeMap<(&'a str, &'a str), Cases<'a>>,
    /// All others.
    broken: Cases<'a>,
}

impl<'a> Sorted<'a> {
    fn of(suite: &'a Suite, results: impl Iterator<Item = &'a CaseResult>) -> Self {
        let mut sorted = Self::default();
        // Known failures need no report.
        for result in results.filter(|result| result.known.is_none()) {
            let Some(failure) = result.verdict.failure() else { continue };
            let name = result.case.as_str();
            let case = suite.case(name);
            let decides = case.is_some_and(|case| suite.decides(case));
            match (&failure.call, case.and_then(|case| case.shows.first())) {
                (Some(call), _) if failure.reason == "not-implemented" => {
                    sorted.missing.entry(&call.operation).or_default().push(name);
                }
                (None, _) if failure.difference.is_none() && failure.words.is_none() => {
                    sorted.alike.entry(&failure.message).or_default().push((name, failure));
                }
                (call, _) if failure.setup => {
                    let operation = call.as_ref().map_or("", |call| call.operation.as_str());
                    let place = failure.difference.as_ref().map_or("", |it| it.path.as_str());
                    sorted.blocked.entry((operation, place)).or_default().push((name, failure));
                }
                (_, Some(first)) if !decides => {
                    sorted.differing.entry(first).or_default().push((name, failure));
                }
                _ => sorted.broken.push((name, failure)),
            }
        }
        sorted
    }
}

/// Writes every failure. If the first failure stopped the run, writes only that one and the number of others.
pub fn write(
    out: &mut dyn Write,
    suite: &Suite,
    outcome: &RunOutcome,
    rerun: &Rerun,
) -> io::Result<()> {
    let Some(first) = &outcome.stopped else {
        return write_all(out, Sorted::of(suite, outcome.results.iter()), suite, rerun);
    };
    let (shown, others): (Vec<&CaseResult>, Vec<&CaseResult>) =
        outcome.results.iter().partition(|result| result.case == *first);
    write_all(out, Sorted::of(suite, shown.into_iter()), suite, rerun)?;
    match others.into_iter().filter(|result| result.failed_unexpectedly()).count() {
        0 => Ok(()),
        more => writeln!(out, "and {more} more cases in flight failed\n"),
    }
}

fn write_all(
    out: &mut dyn Write,
    sorted: Sorted<'_>,
    suite: &Suite,
    rerun: &Rerun,
) -> io::Result<()> {
    for (requirement, cases) in &sorted.differing {
        let label = styled(QUIET, DIFFERS);
        let (name, failure) = cases[0];
        failure::write(out, suite, &label, name, failure, rerun)?;
        more(out, &cases[1..], &rerun.selecting("--requirement", requirement))?;
    }
    for cases in sorted.blocked.values() {
        let (name, failure) = cases[0];
        failure::write(out, suite, &styled(BAD, BLOCKED), name, failure, rerun)?;
        if cases.len() > 1 {
            writeln!(out, "  {} more cases are blocked at the same place\n", cases.len() - 1)?;
        }
    }
    for (operation, cases) in &sorted.missing {
        let operation = styled(STRONG, operation);
        let (label, count) = (styled(BAD, "MISSING"), cases.len());
        writeln!(out, "{label} {operation}  not implemented; it fails {count} case(s)")?;
        writeln!(out, "  run one alone: {}\n", styled(STRONG, rerun.command(cases[0])))?;
    }
    for (message, cases) in &sorted.alike {
        if let [(name, failure)] = cases.as_slice() {
            failure::write(out, suite, &styled(BAD, "FAILED"), name, failure, rerun)?;
            continue;
        }
        let (name, failure) = cases[0];
        writeln!(
            out,
            "{} {} cases in the same way, such as {name}",
            styled(BAD, "FAILED"),
            cases.len()
        )?;
        writeln!(out, "  {} {}", styled(BAD, &failure.reason), visible_line(message))?;
        write_stderr(out, failure)?;
        writeln!(out, "  run one alone: {}\n", styled(STRONG, rerun.command(name)))?;
    }
    for (name, failure) in &sorted.broken {
        failure::write(out, suite, &styled(BAD, "FAILED"), name, failure, rerun)?;
    }
    Ok(())
}

/// Counts the cases that fail like the one above.
fn more(out: &mut dyn Write, cases: &[(&str, &Failure)], command: &str) -> io::Result<()> {
    if cases.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {} more that show the same: {}\n", cases.len(), styled(STRONG, command))
}
