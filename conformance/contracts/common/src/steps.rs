//! The steps of `common`: what has to be there before a scenario can show anything.

use cucumber::{gherkin, when};
use proofmark_suite::gherkin::Narrative;
use proofmark_suite::gherkin::vocabulary::VocabularyStep;
use serde_json::{Value, json};

use crate::CONTRACT;

/// For `proofmark steps`.
pub(crate) const STEPS: &[VocabularyStep] = &[
    VocabularyStep::with(
        r#"When "plans_create" succeeds with:"#,
        r#"{"workspace": "<case>", "title": "A house"}"#,
        "Calls a tool with these arguments. If it fails, the scenario is blocked.",
    )
    .of(CONTRACT),
    VocabularyStep::with(
        r#"When "plans_patch" is refused with:"#,
        r#"{"workspace": "<case>", "plan": "PLAN-001", "title": "A castle", "expected_revision": 2098765432}"#,
        "Calls a tool with these arguments. If it does not fail with a code, the scenario is blocked.",
    )
    .of(CONTRACT),
    VocabularyStep::with(
        r#"When "plans_patch" is tried with:"#,
        r#"{"workspace": "<case>", "plan": "PLAN-001", "title": "A castle"}"#,
        "Calls a tool with these arguments. If it answers with no envelope, the scenario is blocked.",
    )
    .of(CONTRACT),
];

#[when(expr = "{string} succeeds with:")]
fn succeeds(world: &mut Narrative, tool: String, #[step] step: &gherkin::Step) {
    first(world, &tool, step, json!({ "$open": { "success": true } }));
}

#[when(expr = "{string} is refused with:")]
fn is_refused(world: &mut Narrative, tool: String, #[step] step: &gherkin::Step) {
    let error = json!({ "$open": { "code": { "$any": "string" } } });
    first(world, &tool, step, json!({ "$open": { "success": false, "error": error } }));
}

#[when(expr = "{string} is tried with:")]
fn is_tried(world: &mut Narrative, tool: String, #[step] step: &gherkin::Step) {
    first(world, &tool, step, json!({ "$open": { "success": { "$any": "boolean" } } }));
}

/// A call that the scenario needs first.
fn first(world: &mut Narrative, tool: &str, step: &gherkin::Step, envelope: Value) {
    if let Some(arguments) = world.json(step) {
        let args = json!({ "name": tool, "arguments": arguments });
        world.call_expecting("mcp.tool", args, envelope);
    }
}
