//! Laws of `sage.llm`.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use proofmark_judge::law::Law;
use proofmark_judge::law::values::{literal, text, value};

const SET: &str = "llm.setProvider";
const CHAT: &str = "llm.createChatStream";

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "any-text-is-passed-on",
        contract: "sage.llm",
        why: "A reader who loses a character of what the model said has another answer.",
        shows: &["LLM-008"],
        origin: "contract",
        operations: &[SET, CHAT],
        inputs: || {
            proptest::collection::vec(plain(), 1..8)
                .prop_map(|pieces| {
                    let events = pieces.iter().map(|piece| said(piece)).chain([end()]);
                    let events: Vec<Value> = events.collect();
                    chat(json!({ "events": events }), json!({}), only_text(&pieces.concat()))
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
            plain()
                .prop_map(|text| chat(json!({ "text": text }), json!({}), only_text(&text)))
                .boxed()
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
                    // Another law checks the result of the call.
                    let streams = json!({ "$contains": [{ "$open": called }] });
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

/// Matches no `c` with a number.
const NO_ID_OF_OURS: &str = "^(c?$|[^c]|c[^0-9]|c[0-9]+[^0-9])";

/// One call for each result, each to a different tool, because the contract promises no order of execution.
fn each(data: &[Value]) -> Value {
    let id = |number: usize| format!("c{number}");
    let name = |number: usize| format!("Take{number}");
    let input = |number: usize| json!({ "value": number });
    let numbers = 0..data.len();
    let calls = numbers.clone().map(|number| call(&id(number), &name(number), input(number)));
    let events: Vec<Value> = calls.chain([end()]).collect();
    let result = |id: Value, data: &Value| {
        // As a ToolResult, or bare: the text leaves the form open.
        let data = literal(data.clone());
        let result = json!({ "$oneOf": [{ "$open": { "ok": true, "data": data } }, data] });
        json!({ "$open": { "type": "tool_result", "callId": id, "result": result } })
    };
    let given = data.iter().enumerate().map(|(number, data)| result(id(number).into(), data));
    // That ids come through is another requirement.
    let renamed = data.iter().map(|data| result(json!({ "$matches": NO_ID_OF_OURS }), data));
    let streams = json!({ "$oneOf": [
        { "$contains": given.collect::<Vec<_>>() },
        { "$contains": renamed.collect::<Vec<_>>() },
    ] });
    let mut case = chat(json!({ "events": events }), json!({ "tools": "fake" }), streams);
    let tools = data
        .iter()
        .enumerate()
        .map(|(number, data)| (name(number), json!({ "value": { "ok": true, "data": data } })));
    given_tools(&mut case, &tools.collect::<Vec<_>>());
    case
}

/// A chat in which the model calls the tool `Take` once.
fn chat_of_call(id: &str, arguments: &Value, result: &Value, streams: Value) -> Value {
    let events = json!([call(id, "Take", arguments.clone()), end()]);
    let mut case = chat(json!({ "events": events }), json!({ "tools": "fake" }), streams);
    let tool = ("Take".to_owned(), json!({ "value": result }));
    given_tools(&mut case, &[tool]);
    case
}

/// Gives the case's chat these tools. Each answers one call.
fn given_tools(case: &mut Value, tools: &[(String, Value)]) {
    let results: Map<String, Value> =
        tools.iter().map(|(name, answer)| (name.clone(), json!([answer]))).collect();
    case["given"]["fakes"]["tools"] = json!({ "results": results });
    // The model gets one more request after its calls.
    let turns = &mut case["given"]["fakes"]["llm"]["providers"]["fake"]["turns"];
    if let Value::Array(turns) = turns {
        turns.push(json!({ "text": "done" }));
    }
    let parameters = json!({ "type": "object", "properties": { "value": {} } });
    let offered = |(name, _): &(String, Value)| json!({ "name": name, "parameters": parameters });
    let step = &mut case["steps"][0];
    step["args"]["options"]["tools"] = tools.iter().map(offered).collect();
    // These laws do not check whether the tools run, nor whether the model gets another request.
    step["assumes"] =
        json!({ "either": [{ "returns": null }, { "fails": { "code": { "$any": "string" } } }] });
    if let Value::Object(step) = step {
        step.remove("returns");
    }
}

fn chat(turn: Value, further: Value, streams: Value) -> Value {
    let mut args = json!({ "options": {
        "model": "m",
        "messages": [{ "role": "user", "content": "Go on." }],
    } });
    if let (Value::Object(args), Value::Object(further)) = (&mut args, further) {
        args.extend(further);
    }
    let open = json!({ "$each": { "$any": "value" } });
    json!({
        "given": { "fakes": { "llm": { "providers": { "fake": { "turns": [turn] } } } } },
        "setup": [{ "call": SET, "args": { "name": "fake" }, "returns": null }],
        "steps": [{ "call": CHAT, "args": args, "returns": null, "asks": open, "streams": streams }],
    })
}

/// Text without surrogate pairs: whether a cut may split one is an interpretation.
fn plain() -> impl Strategy<Value = String> {
    text().prop_map(|text| text.chars().filter(|letter| letter.len_utf16() == 1).collect())
}

/// What a reader gets for a text. Other requirements are about the other items.
fn only_text(whole: &str) -> Value {
    let items = if whole.is_empty() { vec![] } else { vec![said(whole)] };
    json!({ "$among": { "items": { "$open": { "type": "text" } }, "value": items } })
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
