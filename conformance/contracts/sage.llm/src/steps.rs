//! The steps of `sage.llm`: what the model answers, and what it is asked.

use cucumber::{gherkin, given, when};
use serde_json::{Value, json};

use proofmark_suite::gherkin::Narrative;
use proofmark_suite::gherkin::vocabulary::VocabularyStep;

use crate::CONTRACT;

/// For `proofmark steps`, in the order of a typical scenario.
pub(crate) const STEPS: &[VocabularyStep] = &[
    VocabularyStep::with(
        "Given the model will answer:",
        r#"{"events": [{"type": "text", "value": "Hi."}, {"type": "end"}]}"#,
        "The model's next turn: `events`, `text`, `error` or `stall`.",
    )
    .of(CONTRACT),
    VocabularyStep::with(
        r#"Given the model may use the tool "Search", which takes:"#,
        r#"{"type": "object", "properties": {"text": {"type": "string"}}}"#,
        "Offers the model a tool with this JSON Schema; the fake `tools` plays it.",
    )
    .of(CONTRACT),
    VocabularyStep::plain(
        r#"When the model is asked "Who are you?""#,
        "Starts a chat with one user message and reads the whole stream.",
    )
    .of(CONTRACT),
];

/// The provider in scenarios; its name does not matter.
const PROVIDER: &str = "storyteller";

/// What a scenario has set up for its model.
#[derive(Default)]
struct Model {
    has_provider: bool,
    /// The tools of later requests.
    tools: Vec<Value>,
}

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
        world.notes::<Model>().tools.push(json!({"name": name, "parameters": parameters}));
    }
}

#[when(expr = "the model is asked {string}")]
fn asked(world: &mut Narrative, question: String) {
    if !std::mem::replace(&mut world.notes::<Model>().has_provider, true) {
        world.probe("llm.setProvider", json!({ "name": PROVIDER }), Value::Null);
    }
    let messages = json!([{"role": "user", "content": question}]);
    let mut args = json!({"options": {"model": "story-model", "messages": messages}});
    let tools = world.notes::<Model>().tools.clone();
    if !tools.is_empty() {
        args["options"]["tools"] = Value::Array(tools);
        args["tools"] = "fake".into();
    }
    world.call("llm.createChatStream", args);
}
