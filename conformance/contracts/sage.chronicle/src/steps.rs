//! The steps of `sage.chronicle`: who writes what, and what a chronicle contains.

use std::collections::BTreeMap;

use cucumber::{gherkin, given, then, when};
use serde_json::{Map, Value, json};

use proofmark_judge::case::Action;
use proofmark_suite::gherkin::vocabulary::VocabularyStep;
use proofmark_suite::gherkin::{Narrative, calling};

use crate::CONTRACT;

/// For `proofmark steps`, in the order of a typical scenario.
pub(crate) const STEPS: &[VocabularyStep] = &[
    VocabularyStep::plain(
        r#"Given the agent "sage" with id "sage-1""#,
        "Introduces an agent; later steps name it by its id.",
    )
        .of(CONTRACT),
    VocabularyStep::plain(
        r#"When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "notes.sage""#,
        "Appends an event by an agent that was introduced.",
    )
        .of(CONTRACT)
        .after(INTRODUCED),
    VocabularyStep::with(
        r#"When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "notes.sage" with:"#,
        r#"{"text": "hi"}"#,
        "Appends an event with further members, a JSON object.",
    )
        .of(CONTRACT)
        .after(INTRODUCED),
    VocabularyStep::plain(
        r#"When "sage-1" and "sage-1" each append 10 "NOTE" events to "notes.sage" at once"#,
        "Sends the appends of two agents at once, numbered from 0.",
    )
        .of(CONTRACT)
        .after(INTRODUCED),
    VocabularyStep::plain("Then the append is acknowledged", "The last append succeeded.")
        .of(CONTRACT)
        .after(&["When \"demo.read\" is called"]),
    VocabularyStep::plain(
        r#"Then reading "notes.sage" gives 1 event"#,
        "Reads the chronicle: it has this many events.",
    )
        .of(CONTRACT),
    VocabularyStep::plain(
        r#"Then event 1 of "notes.sage" is a "NOTE" by "sage-1""#,
        "Reads the chronicle: the event of this number (from 1) has this type and actor.",
    )
        .of(CONTRACT)
        .after(INTRODUCED),
    VocabularyStep::with(
        r#"Then the last 1 event of "notes.sage" are:"#,
        r#"[{"$any": "object"}]"#,
        "Reads the end of the chronicle: exactly these events, as JSON.",
    )
        .of(CONTRACT),
];

/// The examples use this agent.
const INTRODUCED: &[&str] = &[r#"Given the agent "sage" with id "sage-1""#];

/// The agents of a scenario, by id.
#[derive(Default)]
struct Agents(BTreeMap<String, String>);

#[given(expr = "the agent {string} with id {string}")]
fn agent_given(world: &mut Narrative, agent: String, id: String) {
    world.notes::<Agents>().0.insert(id, agent);
}

/// The event that an agent writes, or a fault if no step introduced the agent.
fn event(
    world: &mut Narrative,
    id: &str,
    kind: &str,
    timestamp: &str,
    further: Map<String, Value>,
) -> Option<Value> {
    let Some(agent) = world.notes::<Agents>().0.get(id).cloned() else {
        world.fault(format!(
            "no agent has the id `{id}`; first write: Given the agent \"sage\" with id \"{id}\""
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
            // Long enough for a busy machine: the scenario is not about time.
            let args = json!({"path": path, "event": event, "lockTimeoutMs": 9000});
            calls.push(calling("chronicle.appendEvent", args));
        }
    }
    world.act(Action::Together(calls));
}

#[then(expr = "the append is acknowledged")]
fn acknowledged(world: &mut Narrative) {
    world.expect_value(json!({"$any": "value"}));
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
        return world.fault("event numbers start at 1");
    }
    let Some(agent) = world.notes::<Agents>().0.get(&id).cloned() else {
        return world.fault(format!(
            "no agent has the id `{id}`; first write: Given the agent \"sage\" with id \"{id}\""
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
