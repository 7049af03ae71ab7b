//! `proofmark replay`: judges a recorded run again and shows it case by case.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;

use proofmark_judge::Fault;
use proofmark_judge::Suite;
use proofmark_judge::case::{Action, Case, CaseKind};
use proofmark_judge::record::{CaseSeen, Record};
use proofmark_judge::select::Selection;
use proofmark_judge::transcript::{Answered, Seen, Stopped, Transcript};
use proofmark_judge::verdict::{CaseResult, Failure, Verdict};
use proofmark_report::failure::{BLOCKED, DIFFERS, place, write_promises};
use proofmark_report::style::{BAD, GOOD, QUIET, STRONG, styled};
use proofmark_report::text::visible_line;
use proofmark_suite::run::{Cancel, RunOptions, run as run_cases};

use crate::choice::SubjectChoice;
use crate::drive::cancel_on_signal;
use crate::exit::{Exit, Failed, standing};
use crate::keep;
use crate::options::SuiteChoice;

/// Limit of shown stream items.
const MOST_ITEMS: usize = 20;

/// Judge a recorded run again and show its failures, or the cases that you name.
///
/// This needs no subject. If you give one, its cases run again, and the first difference from the record is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// A record from `run --record` or `certify --out`.
    transcript: PathBuf,
    #[command(flatten)]
    subject: SubjectChoice,
    /// Show cases whose name matches, also those that pass. Repeat for several.
    #[arg(long, value_name = "GLOB")]
    case: Vec<String>,
    #[command(flatten)]
    suite: SuiteChoice,
}

/// Passes if every selected case passes; with a subject, if it behaves as recorded.
pub(crate) fn replay(args: &ReplayArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let suite = args.suite.load()?;
    let record = keep::read_record(&args.transcript)?;
    let bad = |fault| Failed::BadRecord { path: args.transcript.clone(), fault };
    let outcome = record.rejudge(suite).map_err(bad)?;
    let selection = Selection { cases: args.case.clone(), ..Selection::default() };
    let picked: BTreeSet<&str> =
        selection.of(suite)?.into_iter().map(|case| case.name.as_str()).collect();
    let results: Vec<&CaseResult> =
        outcome.results.iter().filter(|result| picked.contains(result.case.as_str())).collect();
    if results.is_empty() {
        return Err(Failed::Usage(
            "the transcript has none of these cases; search it with `grep` to see which it has"
                .to_owned(),
        ));
    }
    if args.subject.is_named() {
        return again(args, suite, &record, &results, out);
    }
    let failed = results.iter().filter(|result| !matches!(result.verdict, Verdict::Passed)).count();
    let holds = failed == 0 && outcome.faults.is_empty() && !outcome.interrupted;
    let mut write = || -> io::Result<()> {
        for result in &results {
            let fails = result.verdict.failure().is_some();
            if (fails || !args.case.is_empty())
                && let (Some(case), Some(seen)) =
                    (suite.case(&result.case), record.seen(&result.case))
            {
                show(out, suite, case, seen, result, &record)?;
            }
        }
        writeln!(out, "{} case(s) judged again, {failed} did not pass", results.len())?;
        write_faults(out, &outcome.faults)
    };
    let written = write();
    standing(if holds { Exit::Holds } else { Exit::DoesNotHold }, written)
}

fn write_faults(out: &mut dyn Write, faults: &[Fault]) -> io::Result<()> {
    for fault in faults {
        let message = fault.to_string();
        writeln!(out, "{} {}: {}", styled(BAD, "FAULT"), fault.code(), visible_line(&message))?;
    }
    Ok(())
}

/// Sends the cases to a subject and reports where it departs from the record.
fn again(
    args: &ReplayArgs,
    suite: &Suite,
    record: &Record,
    results: &[&CaseResult],
    out: &mut dyn Write,
) -> Result<Exit, Failed> {
    let command = args.subject.command(suite, &suite.ids())?;
    let options =
        RunOptions { record: true, laws: record.laws, kill_orphans: true, ..RunOptions::default() };
    let cases = results.iter().filter_map(|result| suite.case(&result.case)).collect();
    let cancel = Cancel::default();
    cancel_on_signal(cancel.clone());
    let outcome = run_cases(suite, cases, &command, &options, &cancel, |_| {})?;
    if outcome.interrupted {
        return Err(Failed::Interrupted);
    }
    // Values that no case judges may differ each time.
    let unrecorded = |fault| Failed::BadRecord { path: args.transcript.clone(), fault };
    let now = Record::of(&outcome, suite, None).map_err(unrecorded)?.settled(suite);
    let record = record.clone().settled(suite);
    let departed: Vec<&str> = results
        .iter()
        .map(|result| result.case.as_str())
        .filter(|case| record.seen(case) != now.seen(case))
        .collect();
    let same = departed.is_empty() && outcome.faults == record.faults;
    let mut write = || -> io::Result<()> {
        for case in &departed {
            writeln!(out, "{} {}", styled(BAD, "DEPARTS"), styled(STRONG, case))?;
            let of_case = |result: &&CaseResult| result.case == *case;
            let was = results.iter().copied().find(of_case).map(|result| &result.verdict);
            let is = outcome.results.iter().find(of_case).map(|result| &result.verdict);
            // A passing case has its free values blanked. Beside a failing one, they would look like departures.
            match (was, is) {
                (
                    Some(Verdict::Passed),
                    Some(Verdict::Failed { failure } | Verdict::Blocked { failure }),
                ) => {
                    writeln!(out, "  passed before, fails now")?;
                    write_failure(out, failure)?;
                    continue;
                }
                (Some(Verdict::Failed { .. } | Verdict::Blocked { .. }), Some(Verdict::Passed)) => {
                    writeln!(out, "  failed before, passes now")?;
                    continue;
                }
                _ => {}
            }
            match (record.seen(case), now.seen(case)) {
                (Some(CaseSeen::Played(before)), Some(CaseSeen::Played(after))) => {
                    let (place, was, is) = departure(before, after);
                    writeln!(out, "  first at {place}\n    recorded  {was}\n    now       {is}")?;
                }
                (before, after) => {
                    writeln!(
                        out,
                        "    recorded  {}\n    now       {}",
                        describe(before),
                        describe(after)
                    )?;
                }
            }
        }
        write_faults(out, &outcome.faults)?;
        let (all, departed) = (results.len(), departed.len());
        writeln!(out, "{all} case(s) sent again, {departed} departed from the record")
    };
    let written = write();
    standing(if same { Exit::Holds } else { Exit::DoesNotHold }, written)
}

fn describe(seen: Option<&CaseSeen>) -> String {
    match seen {
        Some(CaseSeen::NotExercised(reason)) => {
            format!("not exercised: {}", visible_line(&reason.to_string()))
        }
        Some(CaseSeen::Played(_)) => "it was run".to_owned(),
        None => "nothing".to_owned(),
    }
}

/// The first place where two transcripts differ, and the value in each.
fn departure(before: &Transcript, after: &Transcript) -> (String, String, String) {
    for (index, (was, is)) in before.tries.iter().zip(&after.tries).enumerate() {
        if was != is {
            let (place, old, new) = departure(&was.transcript, &is.transcript);
            return (format!("input {}, {place}", index + 1), old, new);
        }
    }
    if before.tries.len() != after.tries.len() {
        let count = |of: &Transcript| format!("{} inputs", of.tries.len());
        return ("the number of inputs".to_owned(), count(before), count(after));
    }
    let most = before.steps.len().max(after.steps.len());
    for index in 0..most {
        let (was, is) = (before.steps.get(index), after.steps.get(index));
        if was != is {
            let word = |seen: Option<&Seen>| seen.map_or("no such step".to_owned(), json);
            return (format!("step {}", index + 1), word(was), word(is));
        }
    }
    if before.stopped != after.stopped {
        return ("what stopped it".to_owned(), json(&before.stopped), json(&after.stopped));
    }
    ("the end".to_owned(), json(&before.end), json(&after.end))
}

/// As JSON on one line, cut to a length that fits the screen.
fn json(value: &impl serde::Serialize) -> String {
    const MOST: usize = 600;
    let text = serde_json::to_string(value).unwrap_or_default();
    let text = visible_line(&text);
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}… ({} bytes in all)", &text[..at], text.len()),
        None => text.into_owned(),
    }
}

fn show(
    out: &mut dyn Write,
    suite: &Suite,
    case: &Case,
    seen: &CaseSeen,
    result: &CaseResult,
    record: &Record,
) -> io::Result<()> {
    let (label, at) = match &result.verdict {
        Verdict::Passed => (styled(GOOD, "PASSED"), case.at.to_string()),
        Verdict::Blocked { failure } => (styled(BAD, BLOCKED), failure.at.clone()),
        Verdict::Failed { failure } if suite.decides(case) => {
            (styled(BAD, "FAILED"), failure.at.clone())
        }
        Verdict::Failed { failure } => (styled(QUIET, DIFFERS), failure.at.clone()),
        Verdict::NotExercised { .. } => (styled(QUIET, "NOT EXERCISED"), case.at.to_string()),
    };
    writeln!(out, "{label} {}  {}", styled(STRONG, &case.name), styled(QUIET, at))?;
    write_promises(out, suite, case)?;
    match (seen, case.kind) {
        (CaseSeen::NotExercised(reason), _) => {
            writeln!(out, "  {}", visible_line(&reason.to_string()))?;
        }
        (CaseSeen::Played(transcript), CaseKind::Law(law)) if !transcript.tries.is_empty() => {
            let tries = &transcript.tries;
            writeln!(out, "  {} input(s) were tried; the last one:", tries.len())?;
            let last = &tries[tries.len() - 1];
            match law.tried(record.laws, tries).last().map(|example| example.case) {
                Some(Ok(example)) => show_steps(out, &example, &last.transcript)?,
                _ => writeln!(out, "  this version cannot recreate it")?,
            }
        }
        (CaseSeen::Played(transcript), _) => show_steps(out, case, transcript)?,
    }
    if let Some(failure) = result.verdict.failure() {
        write_failure(out, failure)?;
    }
    writeln!(out)
}

fn write_failure(out: &mut dyn Write, failure: &Failure) -> io::Result<()> {
    writeln!(out, "  {} {}", styled(BAD, &failure.reason), visible_line(&failure.message))?;
    for (label, value) in [("expected", &failure.expected), ("got", &failure.got)] {
        if let Some(value) = value {
            writeln!(out, "  {} {}", styled(QUIET, label), json(value))?;
        }
    }
    if let Some(difference) = &failure.difference {
        let path = visible_line(&difference.path);
        writeln!(out, "  first difference at {}", styled(STRONG, path))?;
        writeln!(out, "    expected  {}", styled(GOOD, visible_line(&difference.expected)))?;
        writeln!(out, "    got       {}", styled(BAD, visible_line(&difference.got)))?;
    }
    Ok(())
}

fn show_steps(out: &mut dyn Write, case: &Case, transcript: &Transcript) -> io::Result<()> {
    let given = &case.given;
    writeln!(out, "  given clock {} + {} ms", given.clock.start, given.clock.step_ms)?;
    for path in given.files.keys() {
        writeln!(out, "  given file {path}")?;
    }
    for (fake, script) in &given.fakes {
        writeln!(out, "  given fake {fake} {}", json(script))?;
    }
    for (index, step) in case.steps.iter().enumerate() {
        let words = step.words.as_deref().map(|words| format!(" {words}")).unwrap_or_default();
        writeln!(out, "  {}{words}", styled(QUIET, format_args!("step {}", index + 1)))?;
        let seen = transcript.steps.get(index);
        let answers: &[Answered] = match seen {
            Some(Seen::Calls(answers)) => answers,
            _ => &[],
        };
        for (number, call) in step.calls().iter().enumerate() {
            let place = place(&call.process, &call.session);
            writeln!(out, "    call   {} {}{place}", call.operation, json(&call.args))?;
            let Some(answer) = answers.get(number) else { continue };
            for item in answer.events.iter().take(MOST_ITEMS) {
                writeln!(out, "    item   {}", json(item))?;
            }
            if let Some(more @ 1..) = answer.events.len().checked_sub(MOST_ITEMS) {
                writeln!(out, "    item   … and {more} more")?;
            }
            let reply = match &answer.reply {
                Ok(value) => json(value),
                Err(error) => {
                    let message = error.to_string();
                    format!("{} {}", styled(BAD, "adapter error"), visible_line(&message))
                }
            };
            writeln!(out, "    answer {reply}")?;
            for ask in &answer.asks {
                let (args, answer) = (json(&ask.args), json(&ask.answer));
                let (fake, method) = (visible_line(&ask.fake), visible_line(&ask.method));
                writeln!(out, "    asked  {fake}.{method} {args} → {answer}")?;
            }
        }
        match (&step.action, seen) {
            (Action::Kill { process }, _) => writeln!(out, "    kill process {process}")?,
            (Action::Write(files), _) => {
                files.keys().try_for_each(|path| writeln!(out, "    write {path}"))?;
            }
            (_, Some(Seen::Files(files))) => {
                for (path, file) in files {
                    writeln!(out, "    file   {} {}", visible_line(path), json(file))?;
                }
            }
            _ => {}
        }
        if seen.is_none() {
            writeln!(out, "    {}", styled(QUIET, "did not run"))?;
            break;
        }
    }
    match &transcript.stopped {
        Some(Stopped::Refused(error)) => {
            let message = error.to_string();
            writeln!(out, "  the adapter refused `open`: {}", visible_line(&message))?;
        }
        Some(Stopped::Fakes(message)) => {
            writeln!(out, "  cannot create its fakes: {}", visible_line(message))?;
        }
        Some(Stopped::Fault { fault, .. }) => {
            writeln!(out, "  stopped: {}", visible_line(&fault.to_string()))?;
        }
        None => {}
    }
    Ok(())
}
