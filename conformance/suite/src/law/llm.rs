//! Laws of `sage.llm`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Law;
use super::values::{literal, text, value};

const SET: &str = "llm.setProvider";
const CHAT: &str = "llm.createChatStream";

pub(super) const LAWS: &[Law] = &[
    Law {
        name: "any-text-is-passed-on",
        contract: "sage.llm",
        why: "A reader who loses a character of what the model said has another answer.",
        shows: &["LLM-008"],
        origin: "contract",
        operations: &[SET, CHAT],
        inputs: || {
            proptest::collection::vec(text(), 1..8)
                .prop_map(|pieces| {
                    let events = pieces.iter().map(|piece| said(piece)).chain([end()]);
                    let events: Vec<Value> = events.collect();
                    chat(json!({ "events": events }), json!({}), texts(&pieces.concat()))
                })
                .boxed()
        },
    },
    Law {
        name: "any-text-is-synthesized",
        contract: "sage.llm",
        why: "A provider that cannot stream must not lose what it said.",
        shows: &["LLM-013"],
        origin: "contract",
        operations: &[SET, CHAT],
        inputs: || {
            text().prop_map(|text| chat(json!({ "text": text }), json!({}), texts(&text))).boxed()
        },
    },
    Law {
        name: "any-arguments-are-passed-on",
        contract: "sage.llm",
        why: "A reader must see what the model asked for, not something like it.",
        shows: &["LLM-022"],
        origin: "contract",
        operations: &[SET, CHAT],
        inputs: || {
            (value(), text())
                .prop_map(|(input, id)| {
                    let arguments = json!({ "value": input });
                    let id = format!("c{id}");
                    let called = call(&id, "Take", literal(arguments.clone()));
                    // What becomes of the call is another law's.
                    let streams = json!({ "$contains": [called] });
                    chat_of_call(&id, &arguments, &json!({ "ok": true }), streams)
                })
                .boxed()
        },
    },
    Law {
        name: "any-call-has-the-result-of-its-own",
        contract: "sage.llm",
        why: "A result under another call's id is a lie that the model goes on to believe.",
        shows: &["LLM-025"],
        origin: "contract",
        operations: &[SET, CHAT],
        inputs: || proptest::collection::vec(value(), 2..5).prop_map(|data| each(&data)).boxed(),
    },
];

/// As many calls as there are results.
fn each(data: &[Value]) -> Value {
    let id = |number: usize| format!("call-{number}");
    let calls = (0..data.len()).map(|number| call(&id(number), "Take", json!({ "value": number })));
    let events: Vec<Value> = calls.chain([end()]).collect();
    let answers = data.iter().map(|data| json!({ "value": { "ok": true, "data": data } }));
    let results = data.iter().enumerate().map(|(number, data)| {
        let result = json!({ "$open": { "ok": true, "data": literal(data.clone()) } });
        json!({ "type": "tool_result", "callId": id(number), "result": result })
    });
    let asks = (0..data.len()).map(|number| executed(&json!({ "value": number })));
    let mut case = chat(
        json!({ "events": events }),
        json!({ "tools": "fake" }),
        json!({ "$contains": results.collect::<Vec<_>>() }),
    );
    given_tools(&mut case, answers.collect(), asks.collect());
    case
}

/// A chat in which the model calls the tool `Take` once.
fn chat_of_call(id: &str, arguments: &Value, result: &Value, streams: Value) -> Value {
    let events = json!([call(id, "Take", arguments.clone()), end()]);
    let mut case = chat(json!({ "events": events }), json!({ "tools": "fake" }), streams);
    let answers = vec![json!({ "value": result })];
    given_tools(&mut case, answers, vec![executed(arguments)]);
    case
}

/// Lets the case's chat use the tool `Take`, which answers so and must be asked this.
fn given_tools(case: &mut Value, answers: Vec<Value>, executed: Vec<Value>) {
    case["given"]["fakes"]["tools"] = json!({ "results": { "Take": answers } });
    // After its calls the model is asked once more.
    let turns = &mut case["given"]["fakes"]["llm"]["providers"]["fake"]["turns"];
    if let Value::Array(turns) = turns {
        turns.push(json!({ "text": "done" }));
    }
    let parameters = json!({ "type": "object", "properties": { "value": {} } });
    let step = &mut case["steps"][1];
    step["args"]["options"]["tools"] = json!([{ "name": "Take", "parameters": parameters }]);
    // Whether the model is asked again is no matter of these laws.
    step["asks"] = json!({ "$contains": executed });
}

fn chat(turn: Value, further: Value, streams: Value) -> Value {
    let mut args = json!({ "options": {
        "model": "m",
        "messages": [{ "role": "user", "content": "Go on." }],
    } });
    if let (Value::Object(args), Value::Object(further)) = (&mut args, further) {
        args.extend(further);
    }
    let asked = json!({ "fake": "llm", "method": "chat", "args": { "$any": "object" } });
    json!({
        "given": { "fakes": { "llm": { "providers": { "fake": { "turns": [turn] } } } } },
        "steps": [
            { "call": SET, "args": { "name": "fake" }, "returns": null },
            { "call": CHAT, "args": args, "returns": null, "asks": [asked], "streams": streams },
        ],
    })
}

fn executed(input: &Value) -> Value {
    let args = json!({ "name": "Take", "input": literal(input.clone()) });
    json!({ "fake": "tools", "method": "execute", "args": args })
}

/// What a reader gets of a text: nothing of none.
fn texts(whole: &str) -> Value {
    let end = json!({ "type": "end", "usage": { "$optional": { "$any": "object" } } });
    if whole.is_empty() { json!([end]) } else { json!([said(whole), end]) }
}

fn said(text: &str) -> Value {
    json!({ "type": "text", "value": text })
}

fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "type": "tool_call", "toolName": name, "arguments": arguments, "callId": id })
}

fn end() -> Value {
    json!({ "type": "end" })
}
