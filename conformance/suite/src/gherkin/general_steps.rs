//! Steps for any contract. They only build the case; the runner acts and judges.

use cucumber::{gherkin, given, then, when};
use serde_json::{Map, Value, json};

use super::narrative::{Narrative, calling};
use proofmark_judge::case::{Action, FileExpected, FileGiven};
use proofmark_judge::fixture::expand::expand;
use proofmark_judge::fixture::strict;
use proofmark_judge::matcher::Pattern;

#[given(expr = "the clock starts at {string} and steps {int} ms")]
fn clock_given(world: &mut Narrative, start: String, pace: String) {
    if let Some(step_ms) = world.number(&pace).filter(|_| world.is_first("the clock")) {
        world.given().clock = proofmark_protocol::ClockScript { start, step_ms };
    }
}

#[given(regex = r"^the random tape has integers ([-\d, ]+) and floats ([-\d., ]+)$")]
fn random_tape(world: &mut Narrative, ints: String, floats: String) {
    for word in ints.split(',').map(str::trim) {
        if let Some(int) = world.number(word) {
            world.given().random.ints.push(int);
        }
    }
    for word in floats.split(',').map(str::trim) {
        if let Some(float) = world.number(word) {
            world.given().random.floats.push(float);
        }
    }
}

#[given(expr = "the file {string} holds:")]
fn file_given(world: &mut Narrative, path: String, #[step] step: &gherkin::Step) {
    if let Some(text) = world.text(step) {
        world.give_file(path, FileGiven::Text(ended(text)));
    }
}

#[given(expr = "the file {string} holds the unfinished text:")]
fn unfinished_file_given(world: &mut Narrative, path: String, #[step] step: &gherkin::Step) {
    if let Some(text) = world.text(step) {
        world.give_file(path, FileGiven::Text(text.trim_end_matches('\n').to_owned()));
    }
}

#[given(expr = "the folder {string} exists")]
fn folder_given(world: &mut Narrative, path: String) {
    world.give_file(path, FileGiven::Folder);
}

#[given(expr = "the secret {string} is {string}")]
fn secret_given(world: &mut Narrative, key: String, value: String) {
    if !world.is_first(&format!("the secret `{key}`")) {
        return;
    }
    let script = world.script("secrets", json!({"values": {}}));
    script["values"][key] = Value::from(value);
}

#[given(expr = "the fake {string} plays:")]
fn fake_given(world: &mut Narrative, fake: String, #[step] step: &gherkin::Step) {
    if let Some(script) = world.json(step) {
        world.give_script(fake, script);
    }
}

#[given(expr = "the file {string} is a symlink to {string}")]
fn symlink_given(world: &mut Narrative, path: String, target: String) {
    world.give_file(path, FileGiven::Symlink(target));
}

#[when(expr = "{string} is called")]
fn called(world: &mut Narrative, operation: String) {
    world.call(&operation, Value::Object(Map::new()));
}

#[when(expr = "{string} is called with:")]
fn called_with(world: &mut Narrative, operation: String, #[step] step: &gherkin::Step) {
    if let Some(args) = world.json(step) {
        world.call(&operation, args);
    }
}

#[when(expr = "{string} is called in process {string} with:")]
fn called_in_process(
    world: &mut Narrative,
    operation: String,
    process: String,
    #[step] step: &gherkin::Step,
) {
    if let Some(args) = world.json(step) {
        world.call_in(&process, &operation, args);
    }
}

#[when(expr = "process {string} is killed")]
fn killed(world: &mut Narrative, process: String) {
    world.act(Action::Kill { process });
}

#[when(expr = "these calls are made together:")]
fn together(world: &mut Narrative, #[step] step: &gherkin::Step) {
    let rows = world.rows(step);
    if rows.len() < 2 || rows[0] != ["call", "args"] {
        return world.fault(
            "this step needs a table with the columns `call` and `args` and at least one row",
        );
    }
    let mut calls = Vec::new();
    for row in &rows[1..] {
        match strict::from_str(&row[1]) {
            Ok(args) => calls.push(calling(&row[0], args)),
            Err(fault) => {
                return world.fault(format!("the args of `{}` are not JSON: {fault}", row[0]));
            }
        }
    }
    world.act(Action::Together(calls));
}

#[when(expr = "its answer is remembered as {string}")]
fn remembered(world: &mut Narrative, name: String) {
    world.remember(&name);
}

#[then(expr = "it returns:")]
fn returns(world: &mut Narrative, #[step] step: &gherkin::Step) {
    if let Some(value) = world.json(step) {
        world.expect_value(value);
    }
}

#[then(regex = r#"^it returns (null|true|false|-?\d[\d.eE+-]*|".*")$"#)]
fn returns_scalar(world: &mut Narrative, written: String) {
    match serde_json::from_str(&written) {
        Ok(value) => world.expect_value(value),
        Err(fault) => world.fault(format!("`{written}` is not JSON: {fault}")),
    }
}

#[then(expr = "it fails with {word}")]
fn fails_with(world: &mut Narrative, code: String) {
    world.expect_error(&code, Map::new());
}

#[then(expr = "it fails with {word} and:")]
fn fails_with_properties(world: &mut Narrative, code: String, #[step] step: &gherkin::Step) {
    if let Some(properties) = world.json_object(step) {
        world.expect_error(&code, properties);
    }
}

#[then(expr = "the fake {string} was asked {string} with:")]
fn fake_asked(world: &mut Narrative, fake: String, method: String, #[step] step: &gherkin::Step) {
    if let Some(args) = world.json(step) {
        world.expect_ask(json!({"fake": fake, "method": method, "args": args}));
    }
}

#[then(expr = "the fake {string} was asked {string} {int} times")]
fn fake_asked_times(world: &mut Narrative, fake: String, method: String, times: String) {
    if let Some(times) = world.number::<u16>(&times) {
        world.expect_asked(&json!({"$open": {"fake": fake, "method": method}}), times);
    }
}

#[then(expr = "it streams:")]
fn streams(world: &mut Narrative, #[step] step: &gherkin::Step) {
    if let Some(items) = world.json(step) {
        world.expect_stream(items);
    }
}

#[then(expr = "{string} is nowhere in what it said")]
fn hidden(world: &mut Narrative, text: String) {
    world.expect_hidden(text);
}

#[then(expr = "the file {string} holds:")]
fn file_holds(world: &mut Narrative, path: String, #[step] step: &gherkin::Step) {
    if let Some(text) = world.text(step) {
        world.expect_file(path, FileExpected::Text(ended(text)));
    }
}

#[then(expr = "the file {string} begins with:")]
fn file_begins(world: &mut Narrative, path: String, #[step] step: &gherkin::Step) {
    if let Some(text) = world.text(step) {
        world.expect_file(path, FileExpected::Lines { prefix: Some(ended(text)), ndjson: None });
    }
}

#[then(expr = "the file {string} holds the events:")]
fn file_holds_events(world: &mut Narrative, path: String, #[step] step: &gherkin::Step) {
    let Some(events) = world.json(step) else { return };
    match expand(events).and_then(Pattern::new) {
        Ok(pattern) => {
            world.expect_file(path, FileExpected::Lines { prefix: None, ndjson: Some(pattern) })
        }
        Err(message) => world.fault(message),
    }
}

#[then(expr = "the file {string} does not exist")]
fn file_absent(world: &mut Narrative, path: String) {
    world.expect_file(path, FileExpected::Absent);
}

/// Adds the last newline if the parser dropped it: a doc string is whole lines.
fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
