//! Relay tests: each side is real once. The real tools run for a fake client, and the real wrapper runs fake tools
//! that replay the real answers. Both must produce the same items.

use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use proofmark_fakes::clock::ScriptedClock;
use proofmark_fakes::draws::Draws;
use proofmark_fakes::schema::fitting;
use proofmark_fakes::workspace::TempWorkspace;
use proofmark_fakes_sage::SageClock;
use proofmark_fakes_sage::graph::MemoryGraph;
use proofmark_fakes_sage::llm::{FakeLlm, FakeProvider, Said, ScriptedLlm, SeededLlm, Voice};
use proofmark_fakes_sage::tools::{ScriptedTools, ToolAnswer};
use sage_llm::{ChatOptions, Llm, Settings, StreamEvent, ToolRunner};
use sage_tools::{Registry, ToolContext, Workspace};
use sage_utils::{BoxFuture, TypedError};
use serde_json::{Value, json};

/// How many pairs of each kind.
const PAIRS: u64 = 24;

/// The tools that the model may call. `Edit` is never permitted.
fn tools() -> Value {
    let file = json!({"type": "string",
        "enum": ["a.txt", "sub/b.txt", "missing.txt", "../outside/c.txt", ".sage/x"]});
    let query = json!({"type": "string", "enum": [
        "MATCH (n:File) RETURN n.name", "MATCH (n:Nothing) RETURN n.name", "DROP everything"]});
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    json!([
        {"name": "Read", "parameters": object(json!({"file": file}), json!(["file"]))},
        {"name": "Write", "parameters":
            object(json!({"file": file, "content": {"type": "string"}}), json!(["file", "content"]))},
        {"name": "Edit", "parameters":
            object(json!({"file": file, "patch": {"type": "string"}}), json!(["file", "patch"]))},
        {"name": "Bash", "parameters": object(
            json!({"command": {"const": "/bin/echo"}, "args": {"type": "array", "items": {"type": "string"}}}),
            json!(["command"]))},
        {"name": "GraphQuery", "parameters":
            object(json!({"query": query, "commit": {"enum": ["c1", "c9"]}}), json!(["query"]))},
    ])
}

fn options(seed: u64) -> ChatOptions {
    let content = format!("do what you like, for the {seed}th time");
    let options =
        json!({"model": "m", "messages": [{"role": "user", "content": content}], "tools": tools()});
    ChatOptions::from_json(&options).expect("these are options")
}

/// The real tools in a folder. They record their calls and answers.
struct RealTools {
    registry: Registry,
    context: ToolContext,
    ran: Mutex<Vec<(String, Value, Value)>>,
}

impl RealTools {
    fn over(folder: &TempWorkspace) -> Self {
        folder.file("a.txt", "alpha\n").expect("a file");
        folder.file("sub/b.txt", "beta").expect("a file");
        folder.file("../outside/c.txt", "not yours").expect("a file");
        let graph = json!({"commits": ["c1", "c2"], "nodes": [
            {"id": "1", "label": "File", "properties": {"name": "a.txt"}, "first_seen": 1},
            {"id": "2", "label": "File", "properties": {"name": "b.txt"}, "first_seen": 2}]});
        let graph = MemoryGraph::from_script(&graph).expect("a graph");
        let workspace = Workspace::open(folder.root()).expect("a folder");
        let mut context = ToolContext::new(Arc::new(workspace));
        context.permissions = ["Write", "Bash"].map(str::to_owned).into();
        let ran = Mutex::default();
        Self { registry: Registry::standard(Arc::new(graph)), context, ran }
    }
}

impl ToolRunner for RealTools {
    fn run<'a>(
        &'a self,
        name: &'a str,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<Value, TypedError>> {
        Box::pin(async move {
            let clock =
                SageClock(ScriptedClock::new("2024-01-01T00:00:00.000Z", 1).expect("a time"));
            let mut result =
                sage_tools::run(&self.registry, &clock, name, input.clone(), &self.context).await;
            result.meta = None; // The wrapper has no clock for calls that it refuses itself.
            let result = result.to_json();
            let found = (name.to_owned(), input.clone(), result.clone());
            self.ran.lock().expect("nobody panicked").push(found);
            Ok(result)
        })
    }
}

/// Joins adjacent texts, because the contract does not say where a stream splits text.
fn joined(said: Said) -> (Vec<Value>, Option<String>) {
    let mut events: Vec<Value> = Vec::new();
    for event in said.events {
        match (event, events.last_mut()) {
            (StreamEvent::Text { value }, _) if value.is_empty() => {}
            (StreamEvent::Text { value }, Some(last)) if last["type"] == "text" => {
                last["value"] =
                    json!(format!("{}{value}", last["value"].as_str().unwrap_or_default()));
            }
            (event, _) => {
                events.push(serde_json::to_value(event).expect("an event has a JSON form"))
            }
        }
    }
    (events, said.outcome.err().map(|error| error.code().to_owned()))
}

/// What the pairs covered, so that a test can check that it saw something.
#[derive(Debug, Default)]
struct Tally {
    calls: usize,
    good: usize,
    refused: usize,
    rounds: usize,
    failed: usize,
}

/// Plays the pair and compares the two conversations.
async fn relay(voice: Voice, seed: u64, tally: &mut Tally) {
    let folder = TempWorkspace::new("relay-").expect("a folder");
    let real = Arc::new(RealTools::over(&folder));
    let client = FakeLlm::new(voice.clone(), Arc::clone(&real) as _);
    let (with_real_tools, end) = joined(client.chat(options(seed)).await);
    let ran = std::mem::take(&mut *real.ran.lock().expect("nobody panicked"));

    // Calls that the wrapper refuses never reach a tool.
    let schemas = tools();
    let reaches = |name: &str, input: &Value| {
        let tool = schemas.as_array().into_iter().flatten().find(|tool| tool["name"] == name);
        tool.is_some_and(|tool| {
            let schema = sage_tools::InputSchema::compile(&tool["parameters"]).expect("a schema");
            schema.check(input).is_ok()
        })
    };
    let mut fake = ScriptedTools::new();
    let mut expected = Vec::new();
    for (name, input, result) in &ran {
        if reaches(name, input) {
            predicted(name, input, result);
            fake = fake.answering(name, ToolAnswer::Result(result.clone()));
            expected.push((name.clone(), input.clone()));
        }
    }
    let fake = Arc::new(fake);
    let provider = Arc::new(FakeProvider::new("p", voice));
    let llm = Llm::new();
    llm.set_provider(Arc::clone(&provider) as _);
    let settings = Settings { runner: Some(Arc::clone(&fake) as _), ..Settings::default() };
    let mut stream = llm.create_chat_stream(options(seed), settings).expect("good options");
    let mut said = Said { events: Vec::new(), outcome: Ok(()) };
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => said.events.push(event),
            Err(error) => said.outcome = Err(error),
        }
    }
    let (with_real_wrapper, wrapper_end) = joined(said);

    assert_eq!(
        with_real_tools.len(),
        with_real_wrapper.len(),
        "seed {seed}: {with_real_tools:#?} {with_real_wrapper:#?}"
    );
    for (at, (one, other)) in with_real_tools.iter().zip(&with_real_wrapper).enumerate() {
        same(one, other, &format!("seed {seed}, item {at}"));
    }
    assert_eq!(end, wrapper_end, "seed {seed}");
    assert_eq!(fake.asked(), expected, "seed {seed}: the tools were asked the same");

    tally.calls += ran.len();
    tally.good += ran.iter().filter(|(_, _, result)| result["ok"] == true).count();
    tally.refused += ran.len() - expected.len();
    tally.rounds += provider.asked().len();
    tally.failed += usize::from(end.is_some());
}

/// Compares two items. Of a refusal of arguments, compares only what the contract says, because the two sides used
/// different schemas: the declared one and the tool's own.
#[track_caller]
fn same(one: &Value, other: &Value, place: &str) {
    let refused = |item: &Value| item["result"]["error"]["code"] == "EVALIDATION";
    if refused(one) && refused(other) && one["result"] != other["result"] {
        assert_eq!((&one["type"], &one["callId"]), (&other["type"], &other["callId"]), "{place}");
        for item in [one, other] {
            assert_eq!(item["result"]["ok"], false, "{place}");
            assert!(!item["result"]["error"]["details"].as_array().expect("details").is_empty());
        }
    } else {
        assert_eq!(one, other, "{place}");
    }
}

/// What a result must be, without asking the tools.
#[track_caller]
fn predicted(name: &str, input: &Value, result: &Value) {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    let forbidden = text("file").starts_with("..");
    match name {
        "Edit" => assert_eq!(result["error"]["code"], "EPERMISSION"),
        "Read" | "Write" if forbidden => assert_eq!(result["error"]["code"], "EPERMISSION"),
        "Write" if text("file").starts_with(".sage/") => {
            assert_eq!(result["error"]["code"], "EPERMISSION");
        }
        "Write" => assert_eq!(result["data"], json!({"bytes": text("content").len()})),
        "Bash" => {
            let words: Vec<_> =
                input["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let stdout = format!("{}\n", words.join(" "));
            assert_eq!(result["data"], json!({"code": 0, "stdout": stdout, "stderr": ""}));
        }
        "GraphQuery" if text("query").starts_with("DROP") => {
            assert_eq!(result["error"]["code"], "EVALIDATION");
        }
        "GraphQuery" => {
            let names: &[&str] = match (text("query").contains("Nothing"), text("commit")) {
                (true, _) | (_, "c9") => &[],
                (_, "c1") => &["a.txt"],
                _ => &["a.txt", "b.txt"],
            };
            let rows: Vec<_> = names.iter().map(|name| json!({"n.name": name})).collect();
            assert_eq!(result["data"], json!({"rows": rows}));
        }
        _ => {}
    }
}

/// A script from a seed: up to four rounds with good and bad calls, a last round, and sometimes a fault.
fn script(seed: u64) -> Value {
    let mut draws = Draws::new(seed, "a script");
    let tools = tools();
    let tools = tools.as_array().expect("a list");
    let mut turns = Vec::new();
    let mut calls = 0;
    for round in 0..draws.below(5) {
        let mut events = Vec::new();
        for _ in 0..draws.below(4) {
            events.push(json!({"type": "text", "value": draws.word()}));
        }
        for _ in 0..1 + draws.below(3) {
            let tool = draws.one_of(tools).expect("there are tools");
            let fits = fitting(&tool["parameters"], &mut draws).expect("arguments");
            // One fault at a time: the contract does not say which of two is reported, and `Edit` already has one.
            let kind = if tool["name"] == "Edit" { 7 } else { draws.below(8) };
            let (name, arguments) = match kind {
                0 => (json!("Nobody"), fits),
                1 => (tool["name"].clone(), json!({"nothing": "of the kind"})),
                2 => (tool["name"].clone(), json!("no object")),
                _ => (tool["name"].clone(), fits),
            };
            let id = format!("c{calls}");
            calls += 1;
            events.push(json!({"type": "tool_call", "toolName": name, "arguments": arguments, "callId": id}));
        }
        match draws.below(12) {
            0 => events.push(json!({"error": {"code": "ODD", "message": "gone"}})),
            1 => {} // Cut.
            2 => events.push(json!({"type": "end"})),
            _ => events.push(json!({"type": "end", "usage": {"prompt": round, "completion": 3}})),
        }
        turns.push(json!({"events": events}));
    }
    turns.push(match draws.below(3) {
        0 => json!({"text": "that is all there is to say about it"}),
        1 => json!({"error": {"code": "TIRED", "message": "no more"}}),
        _ => json!({"events": [{"type": "text", "value": "done"}, {"type": "end", "usage": {"prompt": 1, "completion": 1}}]}),
    });
    Value::Array(turns)
}

#[tokio::test]
async fn scripted_conversations_agree() {
    let mut tally = Tally::default();
    for seed in 0..PAIRS {
        let voice = ScriptedLlm::from_script(&script(seed)).expect("a script");
        relay(voice.into(), seed, &mut tally).await;
    }
    assert!(tally.calls > 50 && tally.good > 15 && tally.refused > 10, "{tally:?}");
    assert!(tally.rounds > 40 && tally.failed > 4, "{tally:?}");
}

#[tokio::test]
async fn seeded_conversations_agree() {
    let mut tally = Tally::default();
    for seed in 0..PAIRS {
        relay(SeededLlm::new(seed).into(), seed, &mut tally).await;
    }
    assert!(tally.calls > 10 && tally.good > 4 && tally.refused == 0, "{tally:?}");
    assert!(tally.rounds > 24 && tally.failed == 0, "{tally:?}");
}
