//! Computes the new expectation of a fixture from the answer to a step.

use proofmark_judge::case::{Action, CallStep, Case, FileExpected, Step};
use proofmark_judge::judge::Judge;
use proofmark_judge::matcher::Pattern;
use proofmark_judge::transcript::{Answered, FileSeen, Seen};
use serde_json::{Map, Value, json};

/// A member of a step and its new value.
#[derive(Debug)]
pub(super) enum Expectation {
    /// The index in `together`, if the call is one of several.
    Call {
        call: Option<usize>,
        outcome: Outcome,
    },
    /// `asks` or `streams` of a call.
    List {
        name: &'static str,
        value: Value,
    },
    File {
        path: String,
        value: Value,
    },
}

#[derive(Debug)]
pub(super) enum Outcome {
    Returns(Value),
    Fails(Value),
}

/// The expectations of the last step that must change. An error says why the answer cannot be a golden.
pub(super) fn of(case: &Case, seen: &[Seen]) -> Result<Vec<Expectation>, String> {
    let Some((last, earlier)) = seen.split_last() else { return Ok(Vec::new()) };
    let Some(step) = case.steps.get(earlier.len()) else { return Ok(Vec::new()) };
    let mut judge = Judge::new(case);
    for (step, seen) in case.steps.iter().zip(earlier) {
        // Later steps can refer to what it saved.
        judge.step(step, seen).map_err(|failure| failure.message)?;
    }
    match (&step.action, last) {
        (Action::Call(call), Seen::Calls(answers)) => {
            let [answer] = answers.as_slice() else { return Ok(Vec::new()) };
            let mut found: Vec<Expectation> = differing(&judge, step, call, answer)?
                .map(|outcome| Expectation::Call { call: None, outcome })
                .into_iter()
                .collect();
            // The outcome matches, so the difference is in the calls of fakes or in the stream items.
            if found.is_empty() {
                found.extend(lists(&judge, step, call, answer));
            }
            Ok(found)
        }
        (Action::Together(calls), Seen::Calls(answers)) => {
            let mut found = Vec::new();
            for (at, (call, answer)) in calls.iter().zip(answers).enumerate() {
                if let Some(outcome) = differing(&judge, step, call, answer)? {
                    found.push(Expectation::Call { call: Some(at), outcome });
                }
            }
            Ok(found)
        }
        (Action::Leaves(expected), Seen::Files(files)) => {
            let mut found = Vec::new();
            for (path, expected) in expected {
                let Some(seen) = files.get(path) else { continue };
                let only = [(path.clone(), seen.clone())].into_iter().collect();
                let alone = Step {
                    action: Action::Leaves(
                        [(path.clone(), expected.clone())].into_iter().collect(),
                    ),
                    ..step.clone()
                };
                if judge.fork().step(&alone, &Seen::Files(only)).is_err() {
                    found.push(Expectation::File {
                        path: path.clone(),
                        value: file(expected, seen)?,
                    });
                }
            }
            Ok(found)
        }
        _ => Ok(Vec::new()),
    }
}

/// The lists (`asks`, `streams`) that differ from what the case expects.
fn lists(judge: &Judge<'_>, step: &Step, call: &CallStep, answer: &Answered) -> Vec<Expectation> {
    let differs = |call: CallStep, answer: Answered| {
        let alone = Step { action: Action::Call(call), ..step.clone() };
        judge.fork().step(&alone, &Seen::Calls(vec![answer])).is_err()
    };
    let mut found = Vec::new();
    let unstreamed =
        CallStep { streams: Some(Pattern::empty_list()), hides: Vec::new(), ..call.clone() };
    if differs(unstreamed, Answered { events: Vec::new(), ..answer.clone() }) {
        let ask = |ask: &proofmark_judge::Ask| {
            let args = literal(ask.args.clone());
            json!({ "fake": ask.fake, "method": ask.method, "args": args })
        };
        let value = answer.asks.iter().map(ask).collect();
        found.push(Expectation::List { name: "asks", value });
    }
    let unasked = CallStep { asks: Some(Pattern::empty_list()), hides: Vec::new(), ..call.clone() };
    if differs(unasked, Answered { asks: Vec::new(), ..answer.clone() }) {
        let value = answer.events.iter().cloned().map(literal).collect();
        found.push(Expectation::List { name: "streams", value });
    }
    found
}

/// The outcome of the call, if the case expects another.
fn differing(
    judge: &Judge<'_>,
    step: &Step,
    call: &CallStep,
    answer: &Answered,
) -> Result<Option<Outcome>, String> {
    let reply = answer.reply.as_ref().map_err(|fault| format!("the adapter failed: {fault}"))?;
    let free = CallStep {
        asks: Some(Pattern::empty_list()),
        streams: Some(Pattern::empty_list()),
        hides: Vec::new(),
        ..call.clone()
    };
    let alone = Step { action: Action::Call(free), ..step.clone() };
    let unasked = Answered { reply: Ok(reply.clone()), asks: Vec::new(), events: Vec::new() };
    let judged = judge.fork().step(&alone, &Seen::Calls(vec![unasked]));
    let Err(failure) = judged else { return Ok(None) };
    if failure.reason != "difference" || failure.setup {
        return Err(failure.message);
    }
    Ok(Some(match (reply.get("value"), reply.get("error")) {
        (Some(value), None) => Outcome::Returns(literal(value.clone())),
        (None, Some(Value::Object(error))) => {
            // Messages are free text, so they are not expected unless the author wrote one.
            let held = error
                .iter()
                .filter(|(key, _)| !["message", "name", "cause"].contains(&key.as_str()));
            Outcome::Fails(Value::Object(
                held.map(|(key, value)| (key.clone(), literal(value.clone())))
                    .collect::<Map<_, _>>(),
            ))
        }
        _ => return Err("the answer is neither a value nor an error".to_owned()),
    }))
}

/// The file that the step left, in the form (text or JSON) that the author used if possible.
fn file(expected: &FileExpected, seen: &FileSeen) -> Result<Value, String> {
    let text = match seen {
        FileSeen::Nothing => return Ok(Value::Null),
        FileSeen::Other(why) => return Err(format!("the file is not text: {why}")),
        FileSeen::Bytes(digits) => return Ok(json!({ "hex": digits })),
        FileSeen::Symlink(target) => return Ok(json!({ "symlink": target })),
        FileSeen::Entries(names) => return Ok(json!({ "entries": names })),
        FileSeen::Text(text) => text,
    };
    if let FileExpected::Lines { ndjson: Some(_), .. } = expected {
        let lines: Result<Vec<Value>, _> =
            text.lines().map(|line| serde_json::from_str(line).map(literal)).collect();
        if let Ok(lines) = lines {
            return Ok(json!({ "ndjson": lines }));
        }
    }
    Ok(json!({ "text": text }))
}

/// Escapes a value that looks like a matcher.
fn literal(value: Value) -> Value {
    if looks_like_a_matcher(&value) { json!({ "$literal": value }) } else { value }
}

fn looks_like_a_matcher(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(looks_like_a_matcher),
        Value::Object(map) => {
            map.keys().any(|key| key.starts_with('$')) || map.values().any(looks_like_a_matcher)
        }
        Value::String(text) => text == "$index" || text.contains("{{index}}"),
        _ => false,
    }
}
