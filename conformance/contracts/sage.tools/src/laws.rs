//! Laws of `sage.tools`.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use proofmark_judge::law::Law;
use proofmark_judge::law::values::{literal, text, value};

const REGISTER: &str = "tools.register";
const GET: &str = "tools.get";
const VALIDATE: &str = "tools.validate";
const EXECUTE: &str = "tools.execute";

pub(crate) const LAWS: &[Law] = &[
    Law {
        name: "any-content-is-written",
        contract: "sage.tools",
        why: "A file that holds something else than was written is corrupt.",
        shows: &["TOOLS-045"],
        origin: "contract",
        operations: &[EXECUTE],
        inputs: || {
            text()
                .prop_map(|content| {
                    let input = literal(json!({ "file": "a.txt", "content": content }));
                    let context = json!({ "permissions": ["Write"] });
                    let step =
                        execute("Write", &input, &context, &json!({ "$open": { "ok": true } }));
                    json!({ "steps": [step], "leaves": { "a.txt": { "text": content } } })
                })
                .boxed()
        },
    },
    Law {
        name: "any-content-is-read",
        contract: "sage.tools",
        why: "An agent that reads something else than the file works on a file that is not there.",
        shows: &["TOOLS-037"],
        origin: "contract",
        operations: &[EXECUTE],
        inputs: || {
            // The treatment of a byte order mark, carriage returns and control characters is an interpretation.
            text()
                .prop_map(|content| {
                    content
                        .chars()
                        .filter(|one| *one == '\n' || !one.is_control())
                        .collect::<String>()
                })
                .prop_filter("no mark", |content| !content.starts_with('\u{feff}'))
                .prop_map(|content| {
                    let data = json!({ "$open": { "content": literal(json!(content)) } });
                    let input = json!({ "file": "a.txt" });
                    let step = execute("Read", &input, &json!({}), &result(&data));
                    let files = json!({ "a.txt": { "text": content } });
                    json!({ "given": { "files": files }, "steps": [step] })
                })
                .boxed()
        },
    },
    Law {
        name: "any-input-that-fits-is-given-back",
        contract: "sage.tools",
        why: "Validation that changes what it lets through runs another call than was asked for.",
        shows: &["TOOLS-017"],
        origin: "contract",
        operations: &[GET, VALIDATE],
        inputs: || {
            (text(), proptest::option::of(value()))
                .prop_map(|(query, params)| {
                    let mut input = json!({ "query": query });
                    if let Some(value) = params {
                        input["params"] = json!({ "value": value });
                    }
                    let args = json!({ "name": "GraphQuery", "input": literal(input.clone()) });
                    let members = input.as_object().into_iter().flatten();
                    let members: Map<String, Value> = members
                        .map(|(name, value)| (name.clone(), literal(value.clone())))
                        .collect();
                    let returns = json!({ "$open": members });
                    let known = json!({
                        "call": GET, "args": { "name": "GraphQuery" },
                        "returns": { "$any": "object" },
                    });
                    let step = json!({ "call": VALIDATE, "args": args, "returns": returns });
                    json!({ "setup": [known], "steps": [step] })
                })
                .boxed()
        },
    },
    Law {
        name: "any-secret-is-injected",
        contract: "sage.tools",
        why: "A tool that gets the placeholder, or half of the secret, cannot do its work.",
        shows: &["TOOLS-107"],
        origin: "contract",
        operations: &[REGISTER, EXECUTE],
        inputs: || {
            // Whether an empty secret counts is an interpretation.
            (text(), text().prop_filter("some secret", |secret| !secret.is_empty()), text())
                .prop_map(|(before, secret, after)| {
                    let input = json!({ "value": format!("{before}$ENV.KEY {after}") });
                    let filled = json!({ "value": format!("{before}{secret} {after}") });
                    let answers = json!([{ "value": { "ok": true, "data": {} } }]);
                    let any = json!({ "$any": "object" });
                    let mut step = execute("Take", &literal(input), &injecting(), &any);
                    step["asks"] = json!({ "$contains": [{
                        "fake": "tools", "method": "execute",
                        "args": { "name": "Take", "input": literal(filled) },
                    }] });
                    with_secret(with_tool(answers, vec![step]), &secret)
                })
                .boxed()
        },
    },
    Law {
        name: "any-secret-stays-hidden",
        contract: "sage.tools",
        why: "A secret in a result is in the next prompt, and then in somebody's log.",
        shows: &["TOOLS-120"],
        origin: "contract",
        operations: &[REGISTER, EXECUTE],
        inputs: || {
            ("[a-zA-Z0-9_/+=-]{8,24}", text(), text(), value())
                .prop_map(|(secret, before, after, beside)| {
                    let output = format!("{before}{secret}{after}{secret}");
                    let data = json!({ "deep": [[{ "told": output }]], "beside": beside });
                    let answers = json!([{ "value": { "ok": true, "data": data } }]);
                    let input = json!({ "value": "$ENV.KEY" });
                    let any = json!({ "$any": "object" });
                    let mut step = execute("Take", &input, &injecting(), &any);
                    step["assumes"] = json!({ "returns": { "$open": { "ok": true } } });
                    step["hides"] = json!([secret]);
                    step["asks"] = json!({ "$contains": [
                        { "fake": "secrets", "method": "get", "args": { "key": "KEY" } },
                    ] });
                    with_secret(with_tool(answers, vec![step]), &secret)
                })
                .boxed()
        },
    },
];

/// The text does not say whether a registered tool needs a permission.
fn injecting() -> Value {
    json!({ "secrets": true, "permissions": ["Take"] })
}

fn execute(name: &str, input: &Value, context: &Value, returns: &Value) -> Value {
    let args = json!({ "name": name, "input": input, "context": context });
    json!({ "call": EXECUTE, "args": args, "returns": returns })
}

fn result(data: &Value) -> Value {
    json!({ "$open": { "ok": true, "data": data } })
}

/// After registering a tool `Take`, which accepts any `value`.
fn with_tool(answers: Value, steps: Vec<Value>) -> Value {
    let schema = json!({ "type": "object", "properties": { "value": {} } });
    let tool = json!({ "name": "Take", "schema": schema });
    let register = json!({ "call": REGISTER, "args": { "tool": tool }, "returns": null });
    let tools = json!({ "results": { "Take": answers } });
    json!({ "given": { "fakes": { "tools": tools } }, "setup": [register], "steps": steps })
}

fn with_secret(mut case: Value, secret: &str) -> Value {
    case["given"]["fakes"]["secrets"] = json!({ "values": { "KEY": secret } });
    case
}
