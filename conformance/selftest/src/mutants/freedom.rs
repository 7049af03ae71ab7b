//! Finds the matchers of a case that allow a change.

use std::collections::BTreeMap;

use proofmark_judge::Ask;
use proofmark_judge::case::{Action, CallStep, FileExpected, Outcome, Step};
use proofmark_judge::matcher::{Pattern, changes};
use proofmark_judge::outcome::{asked, joined};
use proofmark_judge::transcript::{Answered, FileSeen, Seen};
use serde_json::Value;

/// The word in the case that allows the change from `seen` to `other`, if any.
pub(super) fn freedom(step: &Step, seen: &Seen, other: &Seen) -> Option<&'static str> {
    match (&step.action, seen, other) {
        (Action::Leaves(expected), Seen::Files(files), Seen::Files(others)) => {
            of_files(expected, files, others)
        }
        (_, Seen::Calls(answers), Seen::Calls(others)) => {
            let pairs = step.calls().iter().zip(answers.iter().zip(others));
            all(pairs.filter(|(_, (answer, other))| answer != other), |(call, (answer, other))| {
                of_answer(call, answer, other)
            })
        }
        _ => None,
    }
}

/// The matcher of the last change, if there is a change and all of them are allowed.
fn all<T>(
    changed: impl Iterator<Item = T>,
    freedom: impl Fn(T) -> Option<&'static str>,
) -> Option<&'static str> {
    let mut named = None;
    for one in changed {
        named = Some(freedom(one)?);
    }
    named
}

fn of_answer(call: &CallStep, answer: &Answered, other: &Answered) -> Option<&'static str> {
    if answer.asks != other.asks {
        return of_asks(call, &answer.asks, &other.asks);
    }
    if answer.events != other.events {
        return of_events(call, &answer.events, &other.events);
    }
    let (Ok(reply), Ok(other)) = (&answer.reply, &other.reply) else { return None };
    let of_kind = |key: &str| Some((reply.get(key)?, other.get(key)?));
    let of_outcomes = |outcomes: &[Outcome]| {
        let mut patterns = outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Returns(pattern) => Some((pattern, of_kind("value")?)),
            Outcome::Fails(pattern) => Some((pattern, of_kind("error")?)),
        });
        // A value that fits another alternative is allowed by `either`.
        let either = (outcomes.len() > 1).then_some("either");
        patterns.find_map(|(pattern, (value, other))| of_value(pattern, value, other)).or(either)
    };
    let judged = [&call.assumes, &call.expect].into_iter().filter(|outcomes| !outcomes.is_empty());
    all(judged, |outcomes| of_outcomes(outcomes))
}

fn of_value(pattern: &Pattern, value: &Value, other: &Value) -> Option<&'static str> {
    all(changes(value, other).iter(), |change| pattern.frees(change))
}

fn of_asks(call: &CallStep, asks: &[Ask], others: &[Ask]) -> Option<&'static str> {
    match &call.asks {
        Some(pattern) => of_value(pattern, &asked(asks), &asked(others)),
        None if call.is_setup() => Some("assumes"),
        None => Some("asks"),
    }
}

fn of_events(call: &CallStep, events: &[Value], others: &[Value]) -> Option<&'static str> {
    let (events, others) = (joined(events), joined(others));
    if events == others {
        return Some("adjacent texts");
    }
    match &call.streams {
        Some(pattern) => of_value(pattern, &events.into(), &others.into()),
        None => Some("assumes"),
    }
}

fn of_files(
    expected: &BTreeMap<String, FileExpected>,
    files: &BTreeMap<String, FileSeen>,
    others: &BTreeMap<String, FileSeen>,
) -> Option<&'static str> {
    let changed = files.iter().filter(|(path, file)| others.get(*path) != Some(file));
    all(changed, |(path, file)| of_file(expected.get(path)?, file, others.get(path)?))
}

fn of_file(expected: &FileExpected, file: &FileSeen, other: &FileSeen) -> Option<&'static str> {
    let (FileExpected::Lines { ndjson, .. }, FileSeen::Text(before), FileSeen::Text(after)) =
        (expected, file, other)
    else {
        return None;
    };
    let Some(pattern) = ndjson else { return Some("prefix") };
    let lines = |text: &str| -> Option<Value> {
        text.ends_with('\n').then_some(())?;
        let lines = text.lines().map(|line| serde_json::from_str(line).ok());
        lines.collect::<Option<Vec<Value>>>().map(Value::Array)
    };
    let (before, after) = (lines(before)?, lines(after)?);
    // The same JSON in different bytes.
    if before == after { Some("ndjson") } else { of_value(pattern, &before, &after) }
}
