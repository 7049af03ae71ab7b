//! Removes from a record whatever no case judges, such as process ids in a message or the order of concurrent
//! appends. Two runs in which a subject kept the same promises then give the same bytes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{CaseSeen, Record, Recorded};
use crate::case::{Action, CallStep, Case, CaseKind, FileExpected, Outcome};
use crate::examples::Example;
use crate::judge::{judge, judge_law};
use crate::matcher::blank;
use crate::outcome::{asked, joined, reply_of};
use crate::parallel;
use crate::saved::{Saved, references};
use crate::suite::Suite;
use crate::transcript::{Answered, Ask, FileSeen, Seen, Transcript};
use crate::verdict::Verdict;

impl Record {
    /// The record that a certificate rests on. Settles only cases that pass, and only if they still pass afterwards:
    /// of a failure, everything is evidence.
    #[must_use]
    pub fn settled(mut self, suite: &Suite) -> Self {
        let settled =
            parallel::map(&self.cases, |Recorded { case, seen }| match (suite.case(case), seen) {
                (Some(case), CaseSeen::Played(transcript)) => self.settled_case(case, transcript),
                _ => None,
            });
        for (Recorded { seen, .. }, settled) in self.cases.iter_mut().zip(settled) {
            if let Some(settled) = settled {
                *seen = CaseSeen::Played(settled);
            }
        }
        self
    }

    fn settled_case(&self, case: &Case, transcript: &Transcript) -> Option<Transcript> {
        // Made once: inputs of laws cost more than all the rest.
        let examples: Vec<Example> = match case.kind {
            CaseKind::Law(law) => law.tried(self.laws, &transcript.tries).collect(),
            CaseKind::Fixture | CaseKind::Scenario => Vec::new(),
        };
        let passes = |transcript: &Transcript| {
            let verdict = match case.kind {
                CaseKind::Law(law) => judge_law(case, law, self.laws, &examples, transcript),
                CaseKind::Fixture | CaseKind::Scenario => judge(case, transcript),
            };
            verdict == Verdict::Passed
        };
        // Settling may repair an answer: a failure must not become a pass.
        if !passes(transcript) {
            return None;
        }
        let mut settled = transcript.clone();
        match case.kind {
            CaseKind::Law(_) => {
                for (example, attempt) in examples.iter().zip(&mut settled.tries) {
                    settle(example.case.as_ref().ok()?, &mut attempt.transcript);
                }
            }
            CaseKind::Fixture | CaseKind::Scenario => settle(case, &mut settled),
        }
        let still = passes(&settled);
        super::settle(&mut settled);
        still.then_some(settled)
    }
}

fn settle(case: &Case, transcript: &mut Transcript) {
    let referred = referred_to(case);
    let mut saved = Saved::default();
    for (step, seen) in case.steps.iter().zip(&mut transcript.steps) {
        match (&step.action, seen) {
            (Action::Call(_) | Action::Together(_), Seen::Calls(answers)) => {
                for (call, answer) in step.calls().iter().zip(&*answers) {
                    keep(call, answer, &mut saved);
                }
                for (call, answer) in step.calls().iter().zip(answers) {
                    if let Ok(reply) = &mut answer.reply {
                        settle_reply(call, reply, &referred, &saved);
                    }
                    settle_lists(call, answer, &saved);
                }
            }
            (Action::Leaves(expected), Seen::Files(files)) => settle_files(expected, files, &saved),
            _ => {}
        }
    }
}

/// Saves whatever later steps refer to, as the judge does.
fn keep(call: &CallStep, answer: &Answered, saved: &mut Saved) {
    let value = answer.reply.as_ref().ok().and_then(reply_of).map(|(_, value)| value);
    if let (Some(name), Some(value)) = (&call.saved_as, value) {
        saved.keep(name, value.clone());
    }
    if let Some(name) = &call.stream_as {
        saved.keep(name, joined(&answer.events).into());
    }
}

/// Everything that later steps refer to: names of answers and paths into them.
fn referred_to(case: &Case) -> Vec<String> {
    let mut found = Vec::new();
    let files = case.steps.iter().filter_map(|step| match &step.action {
        Action::Leaves(files) => Some(files.values()),
        _ => None,
    });
    let lines = files.flatten().filter_map(|file| match file {
        FileExpected::Lines { ndjson, .. } => ndjson.as_ref(),
        _ => None,
    });
    lines.for_each(|pattern| references(&pattern.source, &mut found));
    for call in case.calls() {
        references(&call.args, &mut found);
        let outcomes = call.outcomes().map(Outcome::pattern);
        outcomes
            .chain(&call.asks)
            .chain(&call.streams)
            .for_each(|pattern| references(&pattern.source, &mut found));
    }
    found.into_iter().map(str::to_owned).collect()
}

/// Keeps whatever later steps refer to.
fn settle_reply(call: &CallStep, reply: &mut Value, referred: &[String], saved: &Saved) {
    let own = |reference: &String| {
        let name = call.saved_as.as_deref()?;
        reference
            .strip_prefix(name)
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
            .map(str::to_owned)
    };
    let kept: Vec<String> = referred.iter().filter_map(own).collect();
    if kept.iter().any(String::is_empty) {
        return;
    }
    let Some((key, before)) =
        ["value", "error"].iter().find_map(|key| Some((*key, reply.get(key)?)))
    else {
        return;
    };
    let by = |outcomes| settled_by(outcomes, key, before, saved);
    let mut value = match (by(&call.assumes), by(&call.expect)) {
        (Some(assumed), Some(expected)) => both(before, assumed, expected),
        (Some(value), None) | (None, Some(value)) => value,
        (None, None) => return,
    };
    if !kept.iter().all(|pointer| restore(&mut value, before, pointer)) {
        return;
    }
    if let ("error", Value::Object(error)) = (key, &mut value) {
        // Every contract error has a message.
        error.entry("message").or_insert_with(|| json!(""));
    }
    *reply = json!({ key: value });
}

/// The value, settled by the first of these outcomes that it fits.
fn settled_by(outcomes: &[Outcome], key: &str, value: &Value, saved: &Saved) -> Option<Value> {
    let of_kind = |outcome: &&Outcome| match outcome {
        Outcome::Returns(_) => key == "value",
        Outcome::Fails(_) => key == "error",
    };
    let mut patterns = outcomes.iter().filter(of_kind).map(Outcome::pattern);
    let pattern = patterns.find(|pattern| pattern.difference_given(saved, value).is_none())?;
    let mut settled = value.clone();
    pattern.settle(&mut settled, saved);
    Some(settled)
}

/// What two patterns judge of a value: everything that either of them keeps.
fn both(before: &Value, one: Value, other: Value) -> Value {
    match (before, one, other) {
        (Value::Object(whole), Value::Object(mut one), Value::Object(mut other)) => {
            let merged = whole.iter().filter_map(|(key, before)| {
                let value = match (one.remove(key), other.remove(key)) {
                    (Some(one), Some(other)) => both(before, one, other),
                    (one, other) => one.or(other)?,
                };
                Some((key.clone(), value))
            });
            Value::Object(merged.collect())
        }
        (before, one, other) if one == *before || other == *before => before.clone(),
        // What one of them leaves free is as the other keeps it.
        (before, one, other) if one == blanked(before) => other,
        (before, one, other) if other == blanked(before) => one,
        (Value::Array(whole), Value::Array(one), Value::Array(other))
            if one.len() == whole.len() && other.len() == whole.len() =>
        {
            whole
                .iter()
                .zip(one)
                .zip(other)
                .map(|((before, one), other)| both(before, one, other))
                .collect()
        }
        (_, one, other) if one == other => one,
        (before, ..) => before.clone(),
    }
}

fn blanked(value: &Value) -> Value {
    let mut value = value.clone();
    blank(&mut value);
    value
}

/// Restores a part of the answer. Fails if its path leads through a list that was sorted.
fn restore(settled: &mut Value, before: &Value, pointer: &str) -> bool {
    let Some(part) = before.pointer(pointer) else { return true };
    let mut here = settled;
    let mut way = String::new();
    for step in pointer.split('/').skip(1) {
        way = format!("{way}/{step}");
        let key = step.replace("~1", "/").replace("~0", "~");
        here = match here {
            Value::Object(map) => map.entry(key).or_insert_with(|| match before.pointer(&way) {
                Some(Value::Array(items)) => Value::Array(items.clone()),
                Some(Value::Object(_)) => json!({}),
                other => other.cloned().unwrap_or_default(),
            }),
            Value::Array(items) => {
                let same = before.pointer(&way[..way.len() - step.len() - 1]);
                let whole =
                    same.and_then(Value::as_array).is_some_and(|all| all.len() == items.len());
                match key.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                    Some(item) if whole => item,
                    _ => return false,
                }
            }
            _ => return false,
        };
    }
    here.clone_from(part);
    true
}

/// A fake's answers follow from its script, so only the requests are kept.
fn settle_lists(call: &CallStep, answer: &mut Answered, saved: &Saved) {
    let mut asks = asked(&answer.asks);
    if let Some(pattern) = &call.asks {
        pattern.settle(&mut asks, saved);
    }
    answer.asks = asks.as_array().into_iter().flatten().map(ask).collect();
    let mut events = Value::Array(joined(&answer.events));
    // Later steps may refer to a named stream.
    match (&call.stream_as, &call.streams) {
        (None, Some(pattern)) => pattern.settle(&mut events, saved),
        (None, None) => events = json!([]),
        (Some(_), _) => {}
    }
    if let Value::Array(events) = events {
        answer.events = events;
    }
}

fn ask(asked: &Value) -> Ask {
    let text = |key: &str| asked[key].as_str().unwrap_or_default().to_owned();
    Ask {
        fake: text("fake"),
        method: text("method"),
        args: asked["args"].clone(),
        answer: Value::Null,
    }
}

fn settle_files(
    expected: &BTreeMap<String, FileExpected>,
    files: &mut BTreeMap<String, FileSeen>,
    saved: &Saved,
) {
    for (path, file) in files {
        let (Some(FileExpected::Lines { prefix, ndjson }), FileSeen::Text(text)) =
            (expected.get(path), file)
        else {
            continue;
        };
        match (prefix, ndjson) {
            (Some(prefix), None) => text.clone_from(prefix),
            (None, Some(pattern)) => {
                let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
                let Ok(lines) = lines else { continue };
                let mut lines = Value::Array(lines);
                pattern.settle(&mut lines, saved);
                let lines = lines.as_array().into_iter().flatten();
                *text = lines.map(|line| format!("{line}\n")).collect();
            }
            // The prefix and the lines overlap: leave the text as it is.
            _ => {}
        }
    }
}
