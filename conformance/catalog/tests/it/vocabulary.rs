//! Compares the published vocabulary with the step definitions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cucumber::World as _;
use cucumber::gherkin::{Feature, GherkinEnv};
use proofmark_catalog::{files, load, vocabulary};
use proofmark_judge::wire::Wire;
use proofmark_suite::SuiteFiles;
use proofmark_suite::gherkin::Narrative;
use proofmark_suite::gherkin::vocabulary::{Below, VocabularyStep};

/// Every file that defines steps. Each definition has one attribute.
fn definitions() -> Vec<String> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rooms = fs::read_dir(top.join("conformance/contracts")).unwrap().flatten();
    let of_rooms = rooms.map(|room| room.path().join("src/steps.rs"));
    let general = top.join("conformance/suite/src/gherkin/general_steps.rs");
    let paths: Vec<PathBuf> = of_rooms.filter(|path| path.exists()).chain([general]).collect();
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// A scenario that uses one step, with the steps that it needs before it.
fn scenario(number: usize, step: &VocabularyStep) -> String {
    let below = match step.below {
        Below::Nothing => String::new(),
        Below::Text(text) => format!("      \"\"\"\n      {text}\n      \"\"\"\n"),
        Below::Table(table) => table.lines().map(|row| format!("      {row}\n")).collect(),
    };
    let before: String = step.after.iter().map(|line| format!("    {line}\n")).collect();
    // A `Then` refers to the call before it; a second process exists so that one can be killed.
    let call = match step.after {
        [] => {
            "    When \"demo.read\" is called in process \"b\" with:\n      \"\"\"\n      {}\n      \"\"\"\n"
        }
        _ => "",
    };
    format!(
        "  @id:story/step-{number} @shows:DEMO-001\n  Scenario: Step {number}\n    When \"demo.read\" is called\n    Then it returns null\n{call}{before}    {}\n{below}\n",
        step.example
    )
}

/// A scenario for each of these steps.
fn feature(steps: &[&VocabularyStep]) -> String {
    let steps = steps.iter().enumerate();
    let scenarios: String = steps.map(|(number, step)| scenario(number, step)).collect();
    format!("Feature: Every step\n\n{scenarios}")
}

/// A contract on this wire, with the operations and hooks of all others.
fn ledger(wire: &str) -> String {
    let suite = load(&files()).unwrap();
    let mut operations = BTreeSet::from(["\"demo.read\"".to_owned()]);
    let mut hooks = BTreeSet::new();
    for contract in &suite.contracts {
        if contract.wire.is_none() {
            operations.extend(contract.operations.iter().map(|name| format!("\"{name}\"")));
        }
        hooks.extend(contract.hooks.keys().map(|hook| format!("\"{hook}\" = []")));
    }
    let list = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    format!(
        r#"contract = "demo"
title = "Demo"
text = "demo.md"
prefix = "DEMO"
workspace = true
wire = "{wire}"
operations = [{}]
hooks = {{ {} }}

[[requirement]]
id = "DEMO-001"
level = "must"
basis = "contract"
sentence = "Every step can be said."
source = "Demo"
"#,
        list(operations),
        list(hooks)
    )
}

/// A contract has one wire, so the steps of contracts on MCP have a demonstration of their own.
#[test]
fn every_example_is_a_sound_step() {
    let (suite, vocabulary) = (load(&files()).unwrap(), vocabulary());
    let on_mcp = |step: &VocabularyStep| {
        let contract = step.contract.and_then(|id| suite.contract(id));
        contract.is_some_and(|contract| contract.wire == Some(Wire::Mcp))
    };
    let (mcp, others): (Vec<_>, Vec<_>) =
        vocabulary.steps().iter().copied().partition(|step| on_mcp(step));
    for (wire, steps) in [("mcp", mcp), ("http", others)] {
        let files = SuiteFiles::from_pairs([
            ("fixtures/demo/requirements.toml".to_owned(), ledger(wire)),
            ("features/demo/vocabulary.feature".to_owned(), feature(&steps)),
        ]);
        let suite = load(&files).unwrap_or_else(|problems| panic!("{problems:#?}"));
        assert_eq!(suite.cases.len(), steps.len());
    }
}

#[test]
fn every_step_has_an_example() {
    let steps = Narrative::collection();
    let feature = Feature::parse(feature(vocabulary().steps()), GherkinEnv::default()).unwrap();
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
    let starts = ["#[given(", "#[when(", "#[then("];
    let defined: usize = definitions()
        .iter()
        .flat_map(|source| source.lines())
        .filter(|line| starts.iter().any(|start| line.starts_with(start)))
        .count();
    assert_eq!(exemplified.len(), defined, "{exemplified:#?}");
}
