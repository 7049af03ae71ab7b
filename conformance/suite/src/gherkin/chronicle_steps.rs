//! Steps in the words of `sage.chronicle`: who wrote what, and what is remembered.

use cucumber::{gherkin, given, then, when};
use serde_json::{Map, Value, json};

use super::narrative::{Narrative, calling};
use crate::case::Action;

#[given(expr = "the agent {string} with id {string}")]
fn agent_given(world: &mut Narrative, agent: String, id: String) {
    world.agents.insert(id, agent);
}

/// The event that an agent writes, or a fault when nobody introduced the agent.
fn event(
    world: &mut Narrative,
    id: &str,
    kind: &str,
    timestamp: &str,
    further: Map<String, Value>,
) -> Option<Value> {
    let Some(agent) = world.agents.get(id) else {
        world.fault(format!(
            "nobody has the id `{id}`; say first: Given the agent \"sage\" with id \"{id}\""
        ));
        return None;
    };
    let mut event =
        json!({"type": kind, "timestamp": timestamp, "actor": {"agent": agent, "id": id}});
    for (key, value) in further {
        event[key] = value;
    }
    Some(event)
}

#[when(expr = "{string} appends a(n) {string} event at {string} to {string}")]
fn appends(world: &mut Narrative, id: String, kind: String, timestamp: String, path: String) {
    if let Some(event) = event(world, &id, &kind, &timestamp, Map::new()) {
        world.call("chronicle.appendEvent", json!({"path": path, "event": event}));
    }
}

#[when(expr = "{string} appends a(n) {string} event at {string} to {string} with:")]
fn appends_with(
    world: &mut Narrative,
    id: String,
    kind: String,
    timestamp: String,
    path: String,
    #[step] step: &gherkin::Step,
) {
    let Some(further) = world.json_object(step) else { return };
    if let Some(event) = event(world, &id, &kind, &timestamp, further) {
        world.call("chronicle.appendEvent", json!({"path": path, "event": event}));
    }
}

#[when(expr = "{string} and {string} each append {int} {string} events to {string} at once")]
fn append_at_once(
    world: &mut Narrative,
    one: String,
    other: String,
    times: String,
    kind: String,
    path: String,
) {
    let Some(times) = world.count(&times) else { return };
    let mut calls = Vec::new();
    for number in 0..times {
        for id in [&one, &other] {
            let further = Map::from_iter([("number".to_owned(), Value::from(number))]);
            let Some(event) = event(world, id, &kind, "2024-01-01T00:00:00.000Z", further) else {
                return;
            };
            // Who stands in line must not be late for it on a slow machine.
            let args = json!({"path": path, "event": event, "lockTimeoutMs": 30_000});
            calls.push(calling("chronicle.appendEvent", args));
        }
    }
    world.act(Action::Together(calls));
}

#[then(expr = "the append is acknowledged")]
fn acknowledged(world: &mut Narrative) {
    world.expect_value(Value::Null);
}

#[then(expr = "reading {string} gives {int} event(s)")]
fn reading_gives(world: &mut Narrative, path: String, count: String) {
    if let Some(count) = world.count(&count) {
        world.probe(
            "chronicle.readChronicle",
            json!({"path": path}),
            vec![json!({"$any": "object"}); count].into(),
        );
    }
}

#[then(expr = "event {int} of {string} is a(n) {string} by {string}")]
fn event_is(world: &mut Narrative, number: String, path: String, kind: String, id: String) {
    let Some(number) = world.count(&number) else { return };
    if number == 0 {
        return world.fault("events are counted from 1");
    }
    let Some(agent) = world.agents.get(&id).cloned() else {
        return world.fault(format!(
            "nobody has the id `{id}`; say first: Given the agent \"sage\" with id \"{id}\""
        ));
    };
    let mut events = vec![json!({"$any": "object"}); number - 1];
    events.push(json!({"$open": {"type": kind, "actor": {"agent": agent, "id": id}}}));
    world.probe("chronicle.readChronicle", json!({"path": path}), json!({"$startsWith": events}));
}

#[then(expr = "the last {int} event(s) of {string} are:")]
fn last_events(world: &mut Narrative, count: String, path: String, #[step] step: &gherkin::Step) {
    if let (Some(count), Some(events)) = (world.count(&count), world.json(step)) {
        world.probe("chronicle.tailChronicle", json!({"path": path, "n": count}), events);
    }
}
