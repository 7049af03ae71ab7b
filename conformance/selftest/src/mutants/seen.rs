//! Single changes to the observation of one step: an answer, a call of a fake, a file.

use std::collections::BTreeMap;

use proofmark_judge::Ask;
use proofmark_judge::case::{Action, CallStep, Step};
use proofmark_judge::matcher::Segment;
use proofmark_judge::transcript::{Answered, FileSeen, Seen};
use serde_json::{Map, Value, json};

use super::value::{changed, sampled};

/// An observation with one change.
pub(super) struct Mutant {
    /// An operation, perhaps with the code of its failure, or a file.
    pub(super) of: String,
    /// The place: `answer $.details[0]`, `file a.sage`.
    pub(super) place: String,
    pub(super) how: &'static str,
    pub(super) seen: Seen,
}

type Tell<'a> = &'a mut dyn FnMut(Mutant);

/// Passes every mutant of a step's observation to `tell`.
pub(super) fn mutants(step: &Step, seen: &Seen, tell: Tell<'_>) {
    match (&step.action, seen) {
        (Action::Leaves(_), Seen::Files(files)) => of_files(files, tell),
        (_, Seen::Calls(answers)) => {
            let several = answers.len() > 1;
            for index in sampled(answers.len().min(step.calls().len())) {
                let (call, answer) = (&step.calls()[index], &answers[index]);
                let prefix = if several { format!("call {} ", index + 1) } else { String::new() };
                of_call(call, answer, !several, &mut |place, how, other| {
                    let mut changed = Vec::with_capacity(answers.len());
                    changed.extend_from_slice(&answers[..index]);
                    changed.push(other);
                    changed.extend_from_slice(&answers[index + 1..]);
                    let (of, place) = (named(call, answer), format!("{prefix}{place}"));
                    tell(Mutant { of, place, how, seen: Seen::Calls(changed) });
                });
            }
        }
        _ => {}
    }
}

/// `chronicle.appendEvent EIO`.
fn named(call: &CallStep, answer: &Answered) -> String {
    let code = answer.reply.as_ref().ok().and_then(|reply| reply["error"]["code"].as_str());
    match code {
        Some(code) => format!("{} {code}", call.operation),
        None => call.operation.clone(),
    }
}

/// Takes the place, the mutation, and the changed value.
type TellOf<'a, T> = &'a mut dyn FnMut(String, &'static str, T);

fn of_call(call: &CallStep, answer: &Answered, alone: bool, tell: TellOf<'_, Answered>) {
    let Ok(reply) = &answer.reply else { return };
    for hidden in &call.hides {
        let mut events = answer.events.clone();
        events.push(json!({ "message": hidden }));
        tell("the stream".to_owned(), "hidden text leaked", with_events(answer, events));
        if let Some(reply) = telling(reply, hidden) {
            tell("answer".to_owned(), "hidden text leaked", with_reply(answer, reply));
        }
    }
    of_reply(reply, &mut |place, how, reply| {
        tell(place, how, with_reply(answer, reply));
    });
    // With concurrent calls, calls of fakes are recorded at the end.
    if alone {
        of_asks(&answer.asks, &mut |place, how, asks| {
            let (reply, events) = (answer.reply.clone(), answer.events.clone());
            tell(place, how, Answered { reply, asks, events });
        });
    }
    of_events(&answer.events, &mut |place, how, events| {
        tell(place, how, with_events(answer, events));
    });
}

/// Replaces the reply. Copies only the rest, since replies may be large.
fn with_reply(answer: &Answered, reply: Value) -> Answered {
    Answered { reply: Ok(reply), asks: answer.asks.clone(), events: answer.events.clone() }
}

fn with_events(answer: &Answered, events: Vec<Value>) -> Answered {
    Answered { reply: answer.reply.clone(), asks: answer.asks.clone(), events }
}

/// Appends a text to one of the reply's strings, if it has one.
fn telling(reply: &Value, hidden: &str) -> Option<Value> {
    fn last(value: &mut Value) -> Option<&mut String> {
        match value {
            Value::String(text) => Some(text),
            Value::Array(items) => items.iter_mut().rev().find_map(last),
            Value::Object(map) => map.values_mut().rev().find_map(last),
            _ => None,
        }
    }
    let mut reply = reply.clone();
    last(&mut reply)?.push_str(hidden);
    Some(reply)
}

fn of_reply(reply: &Value, tell: TellOf<'_, Value>) {
    let Some((key, value)) = content(reply) else { return };
    if key == "error" {
        let other = json!({ "value": null });
        tell("answer".to_owned(), "a value instead of a failure", other);
        for code in ["EVALIDATION", "EIO"] {
            let mut error = value.clone();
            error["code"] = json!(code);
            if error != *value {
                tell("answer $.code".to_owned(), "other error code", json!({ key: error }));
            }
        }
    } else {
        let error = json!({ "code": "EPROOFMARK", "message": "made up", "name": "Error" });
        tell("answer".to_owned(), "a failure instead of a value", json!({ "error": error }));
    }
    changed(value, &mut |mutant| {
        let dropped = key == "error" && mutant.how == "member dropped";
        let how = if dropped { "error property dropped" } else { mutant.how };
        let reply = Map::from_iter([(key.to_owned(), mutant.value)]);
        tell(format!("answer {}", shown(&mutant.path)), how, Value::Object(reply));
    });
}

/// The value or the error of a reply.
fn content(reply: &Value) -> Option<(&'static str, &Value)> {
    match (reply.get("value"), reply.get("error")) {
        (Some(value), None) => Some(("value", value)),
        (None, Some(error)) => Some(("error", error)),
        _ => None,
    }
}

/// All indices of a list of usual length, and those at both ends of a very long one: every mutant of it is as long.
fn at_both_ends(length: usize) -> impl Iterator<Item = usize> {
    const END: usize = 20;
    (0..length).filter(move |index| *index < END || index + END >= length)
}

fn of_events(events: &[Value], tell: TellOf<'_, Vec<Value>>) {
    tell("the stream".to_owned(), "item added", [events, &[json!("made up")]].concat());
    for index in at_both_ends(events.len()) {
        let item = &events[index];
        let place = format!("item {} of the stream", index + 1);
        let mut fewer = events.to_vec();
        fewer.remove(index);
        tell(place.clone(), "item dropped", fewer);
        if events.get(index + 1).is_some_and(|next| next != item) {
            let mut swapped = events.to_vec();
            swapped.swap(index, index + 1);
            tell(place.clone(), "items reordered", swapped);
        }
        changed(item, &mut |mutant| {
            let mut events = events.to_vec();
            events[index] = mutant.value;
            tell(format!("{place}, {}", shown(&mutant.path)), mutant.how, events);
        });
    }
}

fn of_asks(asks: &[Ask], tell: TellOf<'_, Vec<Ask>>) {
    let stray = Ask {
        fake: "stray".to_owned(),
        method: "get".to_owned(),
        args: json!({}),
        answer: json!({ "value": null }),
    };
    tell("calls of fakes".to_owned(), "call added", [asks, &[stray]].concat());
    for index in at_both_ends(asks.len()) {
        let ask = &asks[index];
        let place = format!("call {} of a fake", index + 1);
        let with = |other: Ask| {
            let mut asks = asks.to_vec();
            asks[index] = other;
            asks
        };
        let mut fewer = asks.to_vec();
        fewer.remove(index);
        tell(place.clone(), "call dropped", fewer);
        let other = Ask { fake: format!("{}~", ask.fake), ..ask.clone() };
        tell(place.clone(), "other fake", with(other));
        let other = Ask { method: format!("{}~", ask.method), ..ask.clone() };
        tell(place.clone(), "other method", with(other));
        if asks.get(index + 1).is_some_and(|next| next != ask) {
            let mut swapped = asks.to_vec();
            swapped.swap(index, index + 1);
            tell(place.clone(), "calls reordered", swapped);
        }
        changed(&ask.args, &mut |mutant| {
            let place = format!("{place}, args {}", shown(&mutant.path));
            tell(place, mutant.how, with(Ask { args: mutant.value, ..ask.clone() }));
        });
    }
}

fn of_files(files: &BTreeMap<String, FileSeen>, tell: Tell<'_>) {
    for (path, file) in files {
        for (how, other) in of_file(file) {
            let mut files = files.clone();
            files.insert(path.clone(), other);
            let (of, place) = ("a file".to_owned(), format!("file {path}"));
            tell(Mutant { of, place, how, seen: Seen::Files(files) });
        }
    }
}

fn of_file(file: &FileSeen) -> Vec<(&'static str, FileSeen)> {
    let text = match file {
        FileSeen::Text(text) => text,
        FileSeen::Bytes(digits) => {
            return vec![
                ("file dropped", FileSeen::Nothing),
                ("byte changed", FileSeen::Bytes(format!("{digits}00"))),
            ];
        }
        FileSeen::Symlink(target) => {
            return vec![
                ("file dropped", FileSeen::Nothing),
                ("other target", FileSeen::Symlink(format!("{target}~"))),
            ];
        }
        FileSeen::Entries(names) => {
            let more = [names.as_slice(), &["~made up".to_owned()]].concat();
            let mut found = vec![("name added", FileSeen::Entries(more))];
            if let Some((_, fewer)) = names.split_first() {
                found.push(("name dropped", FileSeen::Entries(fewer.to_vec())));
            }
            return found;
        }
        FileSeen::Nothing | FileSeen::Other(_) => {
            return vec![
                ("file made", FileSeen::Text(String::new())),
                ("file made", FileSeen::Text("{}\n".to_owned())),
            ];
        }
    };
    let mut found = vec![("file dropped", FileSeen::Nothing)];
    let mut push = |how, other: String| {
        if other != *text {
            found.push((how, FileSeen::Text(other)));
        }
    };
    let characters: Vec<char> = text.chars().collect();
    for place in [0, characters.len() / 3, characters.len() / 2, characters.len().saturating_sub(2)]
    {
        if let Some(here) = characters.get(place) {
            let mut other = characters.clone();
            other[place] = if *here == '0' { '1' } else { '0' };
            push("byte changed", String::from_iter(other));
        }
    }
    push("cut short", text[..text.floor_char_boundary(text.len() / 2)].to_owned());
    push("last newline dropped", text.strip_suffix('\n').unwrap_or(text).to_owned());
    push("text added", format!("{text}~\n"));
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if let [first, second, rest @ ..] = lines.as_slice() {
        push("lines reordered", [&[*second, *first], rest].concat().concat());
        push("line dropped", [&[*first], rest].concat().concat());
    }
    if let Some(last) = lines.last() {
        push("line added", format!("{text}{last}"));
    }
    let parsed: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    if let Ok(lines) = parsed {
        // Also the mutants of the parsed lines. Dropped and moved lines are covered above.
        changed(&Value::Array(lines), &mut |mutant| {
            if let (Value::Array(lines), false) = (&mutant.value, mutant.path.is_empty()) {
                push(mutant.how, lines.iter().map(|line| format!("{line}\n")).collect());
            }
        });
    }
    found
}

/// `$.details[0]`.
fn shown(path: &[Segment]) -> String {
    path.iter().fold("$".to_owned(), |shown, segment| match segment {
        Segment::Key(key) => format!("{shown}.{key}"),
        Segment::Item(index) => format!("{shown}[{index}]"),
    })
}
