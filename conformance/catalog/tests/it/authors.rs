//! Lint messages about the steps and fakes of rooms.

use proofmark_catalog::load;
use proofmark_suite::SuiteFiles;
use rstest::rstest;

const LEDGER: &str = r#"contract = "demo"
title = "A demonstration"
text = "demo.md"
prefix = "DEMO"
workspace = true
operations = ["demo.read", "chronicle.readChronicle", "chronicle.appendEvent"]

[[requirement]]
id = "DEMO-001"
level = "must"
basis = "contract"
sentence = "What was written is read."
source = "Demo, Acceptance"
"#;

/// The problems of a suite with this ledger and one more file, one per line.
#[track_caller]
fn problems(path: &str, text: String) -> String {
    let files = SuiteFiles::from_pairs([
        ("fixtures/demo/requirements.toml".to_owned(), LEDGER.to_owned()),
        (path.to_owned(), text),
    ]);
    let found = load(&files).expect_err("the suite is broken");
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[rstest]
#[case::a_stranger(
    "When \"eve\" appends a \"NOTE\" event at \"2024-01-01T00:00:00.000Z\" to \"x\"",
    "no agent has the id `eve`; first write: Given the agent \"sage\" with id \"eve\""
)]
#[case::two_outcomes_one_of_a_contract(
    "When \"demo.read\" is called\n    Then it returns 5\n    Then the append is acknowledged",
    "the call already has an outcome at line 6; drop one of the two"
)]
#[case::a_step_that_calls_and_judges(
    "When \"demo.read\" is called\n    Then reading \"a\" gives 1 event\n    Then it returns 5",
    "the call already has an outcome at line 6; drop one of the two"
)]
fn a_broken_narrative(#[case] steps: &str, #[case] problem: &str) {
    let feature = format!(
        "Feature: Reading back\n\n  @id:story/back @shows:DEMO-001\n  Scenario: What was written is read\n    {steps}\n"
    );
    let found = problems("features/demo/story.feature", feature);
    assert!(found.contains(problem), "{found}");
}

#[rstest]
#[case::unknown_fake(
    r#"{"mail": {}}"#,
    "there is no fake `mail`; there are chronicle, graph, llm, provider, secrets, tools"
)]
#[case::bad_script(
    r#"{"secrets": {"vals": {}}}"#,
    "the script of the fake `secrets` is wrong: unknown field `vals`, expected `values` or `faults`"
)]
fn a_broken_fake(#[case] fakes: &str, #[case] problem: &str) {
    let case = format!(
        r#"{{"id": "read/back", "why": "It is.", "shows": ["DEMO-001"], "origin": "contract",
            "given": {{"fakes": {fakes}}}, "steps": [{{"call": "demo.read", "returns": null}}]}}"#
    );
    let fixture = format!(r#"{{"contract": "demo", "topic": "read", "cases": [{case}]}}"#);
    let found = problems("fixtures/demo/read.json", fixture);
    assert!(found.contains(problem), "{found}");
}
