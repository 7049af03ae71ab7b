//! TAP 14: a line for each case, with details below failed ones.

use std::io::{self, Write};

use proofmark_judge::verdict::{Failure, Verdict};
use serde_json::Value;

use crate::failure;
use crate::report::Report;
use crate::text::{visible, visible_line};

/// Writes the whole report. The plan comes first; faults of the run bail out at the end.
pub fn write(out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
    let results = &report.outcome.results;
    let silent = report.silent_reason();
    writeln!(out, "TAP version 14")?;
    writeln!(out, "1..{}", results.len() + usize::from(silent.is_some()))?;
    for (index, result) in results.iter().enumerate() {
        let (number, name) = (index + 1, escaped(&result.case));
        match &result.verdict {
            Verdict::Passed => writeln!(out, "ok {number} - {name}")?,
            Verdict::NotExercised { reason } => {
                writeln!(out, "ok {number} - {name} # SKIP {}", escaped(&reason.to_string()))?;
            }
            Verdict::Failed { failure } | Verdict::Blocked { failure } => {
                // A failure that the exit code does not count is not a failure here either.
                let note = match &result.known {
                    Some(reason) => format!(" # TODO known failure: {}", escaped(reason)),
                    None if report.counts(&result.case) => String::new(),
                    None => " # TODO does not decide".to_owned(),
                };
                writeln!(out, "not ok {number} - {name}{note}")?;
                diagnose(out, report, &result.case, failure)?;
            }
        }
    }
    if let Some(reason) = silent {
        writeln!(out, "not ok {} - {}", results.len() + 1, escaped(&reason))?;
    }
    let mut bail: Vec<String> = report
        .outcome
        .faults
        .iter()
        .map(|fault| format!("{}: {}", fault.code(), visible_line(&fault.to_string())))
        .collect();
    if report.outcome.stopped.is_some() {
        bail.push("stopped at the first failure; the missing cases were not tried".to_owned());
    } else if report.outcome.interrupted {
        bail.push("interrupted; the missing cases were not tried".to_owned());
    }
    if !bail.is_empty() {
        writeln!(out, "Bail out! {}", bail.join("; "))?;
    }
    Ok(())
}

/// Escapes a line, so that `#` does not begin a directive.
fn escaped(text: &str) -> String {
    visible_line(text).replace('\\', "\\\\").replace('#', "\\#")
}

/// Writes the YAML block. Strings are JSON strings, which YAML reads the same way.
fn diagnose(
    out: &mut dyn Write,
    report: &Report<'_>,
    name: &str,
    failure: &Failure,
) -> io::Result<()> {
    let quoted = |text: &str| Value::from(&*visible(text)).to_string();
    writeln!(out, "  ---")?;
    if failure.setup {
        writeln!(out, "  blocked: true")?;
    }
    writeln!(out, "  reason: {}", quoted(&failure.reason))?;
    writeln!(out, "  message: {}", quoted(&failure.message))?;
    writeln!(out, "  at: {}", quoted(&failure.at))?;
    let ids: Vec<&str> = report.shown_by(name).map(|one| one.id.as_str()).collect();
    writeln!(out, "  requirements: {}", Value::from(ids))?;
    if let Some(difference) = &failure.difference {
        writeln!(out, "  difference:")?;
        writeln!(out, "    path: {}", quoted(&difference.path))?;
        writeln!(out, "    expected: {}", quoted(&difference.expected))?;
        writeln!(out, "    got: {}", quoted(&difference.got))?;
    }
    writeln!(out, "  rerun: {}", quoted(&report.rerun.command(name)))?;
    writeln!(out, "  failure: |2")?;
    for line in failure::plain(report.suite, name, failure, report.rerun).lines() {
        writeln!(out, "    {line}")?;
    }
    writeln!(out, "  ...")
}
