//! The steps of `sage.tools`: what is allowed, which tool runs, what it answers.

use cucumber::{gherkin, given, then, when};
use serde_json::{Map, Value, json};

use proofmark_suite::gherkin::Narrative;
use proofmark_suite::gherkin::vocabulary::VocabularyStep;

use crate::CONTRACT;

/// For `proofmark steps`, in the order of a typical scenario.
pub(crate) const STEPS: &[VocabularyStep] = &[
    VocabularyStep::plain(
        r#"Given the permission "Write""#,
        "Grants this permission to the tools run after this step.",
    )
    .of(CONTRACT),
    VocabularyStep::plain(
        "Given a dry run",
        "Tools run after this step only show what they would do.",
    )
    .of(CONTRACT),
    VocabularyStep::plain(
        "Given secrets are injected",
        "Tools run after this step get values for `$ENV.NAME`, from the fake `secrets`.",
    )
    .of(CONTRACT),
    VocabularyStep::with(
        r#"Given the tool "Search" takes:"#,
        r#"{"type": "object", "properties": {"text": {"type": "string"}}}"#,
        "Registers a tool with this JSON Schema; the fake `tools` plays it.",
    )
    .of(CONTRACT),
    VocabularyStep::with(
        r#"Given the tool "Search" will answer:"#,
        r#"{"ok": true, "data": {}}"#,
        "The fake `tools` answers the next call of this tool with this ToolResult.",
    )
    .of(CONTRACT),
    VocabularyStep::with(
        r#"When the tool "Read" is run with:"#,
        r#"{"file": "notes.txt"}"#,
        "Runs a tool with this input, a JSON object.",
    )
    .of(CONTRACT),
    VocabularyStep::with(
        "Then the tool answers:",
        r#"{"$any": "value"}"#,
        "The tool ran, and its data is this.",
    )
    .of(CONTRACT),
    VocabularyStep::plain(
        "Then the tool is refused with EPERMISSION",
        "The tool failed with this code.",
    )
    .of(CONTRACT),
    VocabularyStep::with(
        "Then the tool is refused with EPERMISSION and:",
        r#"{"operation": "write"}"#,
        "The tool failed with this code and at least these properties.",
    )
    .of(CONTRACT),
];

/// The context of later tool runs.
#[derive(Default)]
struct Context(Map<String, Value>);

#[given(expr = "the permission {string}")]
fn permission_given(world: &mut Narrative, permission: String) {
    permit(world, permission);
}

fn permit(world: &mut Narrative, permission: String) {
    let context = &mut world.notes::<Context>().0;
    let permissions = context.entry("permissions").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(permissions) = permissions {
        permissions.push(permission.into());
    }
}

#[given(expr = "a dry run")]
fn dry_run_given(world: &mut Narrative) {
    world.notes::<Context>().0.insert("dryRun".to_owned(), true.into());
}

#[given(expr = "secrets are injected")]
fn secrets_given(world: &mut Narrative) {
    world.notes::<Context>().0.insert("secrets".to_owned(), true.into());
    world.given().fakes.entry("secrets".to_owned()).or_insert_with(|| json!({"values": {}}));
}

#[given(expr = "the tool {string} takes:")]
fn tool_given(world: &mut Narrative, name: String, #[step] step: &gherkin::Step) {
    if let Some(schema) = world.json_object(step) {
        world.script("tools", json!({"results": {}}));
        let tool = json!({"name": name, "schema": schema});
        // The text does not say whether a registered tool needs one.
        permit(world, name);
        world.probe("tools.register", json!({ "tool": tool }), Value::Null);
    }
}

#[given(expr = "the tool {string} will answer:")]
fn tool_answers_given(world: &mut Narrative, name: String, #[step] step: &gherkin::Step) {
    let Some(answer) = world.json(step) else { return };
    let script = world.script("tools", json!({"results": {}}));
    match &mut script["results"][&name] {
        Value::Array(answers) => answers.push(json!({ "value": answer })),
        other => *other = json!([{ "value": answer }]),
    }
}

#[when(expr = "the tool {string} is run with:")]
fn run(world: &mut Narrative, name: String, #[step] step: &gherkin::Step) {
    let Some(input) = world.json(step) else { return };
    let mut args = json!({"name": name, "input": input});
    let context = world.notes::<Context>().0.clone();
    if !context.is_empty() {
        args["context"] = Value::Object(context);
    }
    world.call("tools.execute", args);
}

#[then(expr = "the tool answers:")]
fn answers(world: &mut Narrative, #[step] step: &gherkin::Step) {
    if let Some(data) = world.json(step) {
        world.expect_value(json!({"$open": {"ok": true, "data": data}}));
    }
}

#[then(expr = "the tool is refused with {word}")]
fn refused(world: &mut Narrative, code: String) {
    refusal(world, &code, Map::new());
}

#[then(expr = "the tool is refused with {word} and:")]
fn refused_with(world: &mut Narrative, code: String, #[step] step: &gherkin::Step) {
    if let Some(properties) = world.json_object(step) {
        refusal(world, &code, properties);
    }
}

fn refusal(world: &mut Narrative, code: &str, mut properties: Map<String, Value>) {
    properties.insert("code".to_owned(), code.into());
    let error = json!({ "$open": properties });
    world.expect_value(json!({"$open": {"ok": false, "error": error}}));
}
