//! A record without what no case judges, so that two runs in which a subject kept the same promises give
//! the same bytes: process ids in a message, the order of appends at the same time.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{CaseSeen, Record, Recorded};
use crate::case::{Action, CallStep, Case, CaseKind, FileExpected, Outcome};
use crate::judge::{judge, judge_law};
use crate::outcome::{asked, joined};
use crate::subject::host::Ask;
use crate::suite::Suite;
use crate::transcript::{Answered, FileSeen, Seen, Transcript};
use crate::verdict::Verdict;

impl Record {
    /// The record that a certificate rests on. Only of cases that pass, and only where they go on to
    /// pass: of a failure everything is evidence.
    #[must_use]
    pub fn settled(mut self, suite: &Suite) -> Self {
        let mut cases = std::mem::take(&mut self.cases);
        for Recorded { case, seen } in &mut cases {
            if let (Some(case), CaseSeen::Played(transcript)) = (suite.case(case), seen)
                && let Some(settled) = self.settled_case(case, transcript)
            {
                *transcript = settled;
            }
        }
        self.cases = cases;
        self
    }

    fn settled_case(&self, case: &Case, transcript: &Transcript) -> Option<Transcript> {
        let before = match case.kind {
            CaseKind::Law(law) => judge_law(case, law, self.laws, transcript),
            CaseKind::Fixture | CaseKind::Scenario => judge(case, transcript),
        };
        // To settle may repair: what failed must not come out of it as a pass.
        if before != Verdict::Passed {
            return None;
        }
        let mut settled = transcript.clone();
        let judged = match case.kind {
            CaseKind::Law(law) => {
                for (mut input, attempt) in law.inputs(self.laws).zip(&mut settled.tries) {
                    input.walk(&attempt.path);
                    let example = law.example(&input.current()).ok()?;
                    settle(&example, &mut attempt.transcript);
                }
                judge_law(case, law, self.laws, &settled)
            }
            CaseKind::Fixture | CaseKind::Scenario => {
                settle(case, &mut settled);
                judge(case, &settled)
            }
        };
        super::settle(&mut settled);
        (judged == Verdict::Passed).then_some(settled)
    }
}

fn settle(case: &Case, transcript: &mut Transcript) {
    for (step, seen) in case.steps.iter().zip(&mut transcript.steps) {
        match (&step.action, seen) {
            (Action::Call(_) | Action::Together(_), Seen::Calls(answers)) => {
                for (call, answer) in step.calls().iter().zip(answers) {
                    if let Ok(reply) = &mut answer.reply {
                        settle_reply(call, reply);
                    }
                    settle_lists(call, answer);
                }
            }
            (Action::Leaves(expected), Seen::Files(files)) => settle_files(expected, files),
            _ => {}
        }
    }
}

/// Later steps may refer to an answer that has a name; it stays as it is.
fn settle_reply(call: &CallStep, reply: &mut Value) {
    if call.saved_as.is_some() {
        return;
    }
    for outcome in &call.expect {
        let key = match outcome {
            Outcome::Returns(_) => "value",
            Outcome::Fails(_) => "error",
        };
        let pattern = outcome.pattern();
        let Some(value) = reply.get(key).filter(|value| pattern.difference(value).is_none()) else {
            continue;
        };
        let mut value = value.clone();
        pattern.settle(&mut value);
        if let (Outcome::Fails(_), Value::Object(error)) = (outcome, &mut value) {
            // Every contract error has one.
            error.entry("message").or_insert_with(|| json!(""));
        }
        *reply = json!({ key: value });
        return;
    }
}

/// What a fake answered follows from its script, so only what it was asked is kept.
fn settle_lists(call: &CallStep, answer: &mut Answered) {
    let mut asks = asked(&answer.asks);
    call.asks.settle(&mut asks);
    answer.asks = asks.as_array().into_iter().flatten().map(ask).collect();
    let mut events = Value::Array(joined(&answer.events));
    // Later steps may refer to a stream that has a name.
    if call.stream_as.is_none() {
        call.streams.settle(&mut events);
    }
    if let Value::Array(events) = events {
        answer.events = events;
    }
}

fn ask(told: &Value) -> Ask {
    let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
    Ask {
        fake: text("fake"),
        method: text("method"),
        args: told["args"].clone(),
        answer: Value::Null,
    }
}

fn settle_files(expected: &BTreeMap<String, FileExpected>, files: &mut BTreeMap<String, FileSeen>) {
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
                pattern.settle(&mut lines);
                let lines = lines.as_array().into_iter().flatten();
                *text = lines.map(|line| format!("{line}\n")).collect();
            }
            // What follows the beginning is part of the lines.
            _ => {}
        }
    }
}
