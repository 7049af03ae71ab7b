//! The vocabulary that authors are shown, against the steps that are there.

use std::collections::BTreeSet;

use cucumber::World as _;
use cucumber::gherkin::{Feature, GherkinEnv};
use proofmark_suite::gherkin::Narrative;
use proofmark_suite::gherkin::vocabulary::{Below, STEPS, VocabularyStep};

use crate::common::{load, sound};

/// Where the steps are defined; each definition has one attribute.
const DEFINITIONS: [&str; 5] = [
    include_str!("../../src/gherkin/chronicle_steps.rs"),
    include_str!("../../src/gherkin/general_steps.rs"),
    include_str!("../../src/gherkin/llm_steps.rs"),
    include_str!("../../src/gherkin/runs_steps.rs"),
    include_str!("../../src/gherkin/tools_steps.rs"),
];

/// A scenario that says one thing, with what it takes for that to make sense.
fn scenario(number: usize, step: &VocabularyStep) -> String {
    let below = match step.below {
        Below::Nothing => String::new(),
        Below::Text(text) => format!("      \"\"\"\n      {text}\n      \"\"\"\n"),
        Below::Table(table) => table.lines().map(|row| format!("      {row}\n")).collect(),
    };
    format!(
        "  @id:story/step-{number} @shows:DEMO-001\n  Scenario: Step {number}\n    Given the agent \"sage\" with id \"sage-1\"\n    When \"demo.read\" is called\n    Then it returns null\n{}    {}\n{below}\n",
        before(step),
        step.example
    )
}

/// What makes sense of the step.
fn before(step: &VocabularyStep) -> &'static str {
    let of_runs = step.contract == Some("runs");
    match step.example {
        example if !of_runs || example == "Given a run" => {
            "    When \"demo.read\" is called in process \"b\" with:\n      \"\"\"\n      {}\n      \"\"\"\n"
        }
        example if example.contains("node \"") => "    Given a run\n",
        example if example.starts_with("Then the run is") => {
            "    Given a run\n    When the user looks at the run\n"
        }
        _ => {
            "    Given a run\n    And the node \"Implementer A\" of role \"implementer\"\n    And the node \"Reviewer\" of role \"reviewer\"\n    When \"Implementer A\" asks for an approval\n"
        }
    }
}

fn feature() -> String {
    let scenarios: String =
        STEPS.iter().enumerate().map(|(number, step)| scenario(number, step)).collect();
    format!("Feature: Every step\n\n{scenarios}")
}

#[test]
fn every_example_is_a_sound_step() {
    let mut files = sound();
    for (path, text) in &mut files {
        if path.ends_with(".toml") {
            *text = text.replace("operations = ", "wire = \"http\"\noperations = ");
            *text = text.replace("hooks = { ", "hooks = { \"runs.provider\" = [], ");
            *text = text.replace(
                "\"demo.read\", \"demo.write\"",
                "\"demo.read\", \"utils.clock.now\", \"utils.sha256\", \"chronicle.readChronicle\", \"chronicle.appendEvent\", \"chronicle.tailChronicle\", \"tools.execute\", \"tools.register\", \"llm.setProvider\", \"llm.createChatStream\"",
            );
        }
    }
    files.push(("features/demo/vocabulary.feature".to_owned(), feature()));
    let suite = load(files);
    let read = suite.cases.iter().filter(|case| case.at.file.ends_with("vocabulary.feature"));
    assert_eq!(read.count(), STEPS.len());
}

#[test]
fn every_step_has_an_example() {
    let steps = Narrative::collection();
    let feature = Feature::parse(feature(), GherkinEnv::default()).unwrap();
    let exemplified: BTreeSet<(&str, u32)> = feature
        .scenarios
        .iter()
        .map(|scenario| {
            let step = scenario.steps.last().unwrap();
            let (_, _, location, _) = steps.find(step).unwrap().expect("a step says this");
            let location = location.expect("attributes tell where they stand");
            (location.path, location.line)
        })
        .collect();
    let defined: usize = DEFINITIONS
        .iter()
        .flat_map(|source| source.lines())
        .filter(|line| {
            ["#[given(", "#[when(", "#[then("].iter().any(|start| line.starts_with(start))
        })
        .count();
    assert_eq!(exemplified.len(), defined, "{exemplified:#?}");
}
