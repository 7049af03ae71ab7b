//! Steps in the words of `sage.llm`: what the model will say, and what it is asked.

use cucumber::{gherkin, given, when};
use serde_json::{Value, json};

use super::narrative::Narrative;

/// The provider that stories speak of; its name is of no consequence.
const PROVIDER: &str = "storyteller";

#[given(expr = "the model will answer:")]
fn turn_given(world: &mut Narrative, #[step] step: &gherkin::Step) {
    let Some(turn) = world.json(step) else { return };
    let empty = json!({"providers": {PROVIDER: {"models": ["story-model"], "turns": []}}});
    let script = world.script("llm", empty);
    match &mut script["providers"][PROVIDER]["turns"] {
        Value::Array(turns) => turns.push(turn),
        other => *other = json!([turn]),
    }
}

#[given(expr = "the model may use the tool {string}, which takes:")]
fn tool_given(world: &mut Narrative, name: String, #[step] step: &gherkin::Step) {
    if let Some(parameters) = world.json_object(step) {
        world.script("tools", json!({"results": {}}));
        world.model_tools.push(json!({"name": name, "parameters": parameters}));
    }
}

#[when(expr = "the model is asked {string}")]
fn asked(world: &mut Narrative, question: String) {
    if !world.has_provider {
        world.has_provider = true;
        world.probe("llm.setProvider", json!({ "name": PROVIDER }), Value::Null);
    }
    let messages = json!([{"role": "user", "content": question}]);
    let mut args = json!({"options": {"model": "story-model", "messages": messages}});
    if !world.model_tools.is_empty() {
        args["options"]["tools"] = Value::Array(world.model_tools.clone());
        args["tools"] = "fake".into();
    }
    world.call("llm.createChatStream", args);
}
