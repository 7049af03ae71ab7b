//! The forms of Gherkin: outlines, backgrounds, rules, doc strings, tables, languages.

use proofmark_judge::case::{Action, Case, FileExpected, FileGiven, Outcome, Step};
use rstest::rstest;
use serde_json::{Value, json};

use crate::common::{FEATURE, changed, load, with};
use crate::load_feature::OUTLINE;

#[test]
fn an_outline_is_a_case_per_row() {
    let suite = load(with(FEATURE, OUTLINE));
    let found: Vec<_> = suite
        .cases
        .iter()
        .filter(|case| case.at.file == FEATURE)
        .map(|case| {
            (case.name.as_str(), case.why.as_str(), args(case), returns(case), case.at.line)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("demo/story/rows/1", "What was written is read (7)", json!({"n": 7}), json!(7), 13),
            ("demo/story/rows/2", "What was written is read (9)", json!({"n": 9}), json!(9), 14),
        ]
    );
}

#[test]
fn a_feature_in_a_doc_string_is_text() {
    let text = "it returns:\n\"\"\"\n\"```\\nFeature: x\"\n\"\"\"\n    And the file \"a\" begins with:\n\"\"\"\n```\nFeature: x\n\"\"\"";
    let suite = load(changed(FEATURE, "it returns null", text));
    assert_eq!(returns(suite.case("demo/story/back").unwrap()), json!("```\nFeature: x"));
}

#[test]
fn backgrounds_and_rules_and_their_tags() {
    let text = r#"@shows:DEMO-001
Feature: Reading back
  Some words about it.

  Background:
    Given the file "a" holds:
      """
      one
      """

  @id:story/top @origin:oracle:RFC-8785
  Scenario: Above all rules
    When "demo.read" is called
    Then it returns null

  @needs:demo.lock
  Rule: What is locked stays
    Background:
      Given the folder "b" exists

    @id:story/ruled @alias:story/before
    Scenario: Under a rule
      * "demo.read" is called
      When "demo.read" is called
      Then it returns null
      But the file "c" does not exist
"#;
    let suite = load(with(FEATURE, text));
    let top = suite.case("demo/story/top").unwrap();
    let ruled = suite.case("demo/story/before").unwrap();
    assert_eq!(top.given.files.keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(ruled.given.files.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((top.needs.len(), ruled.needs.as_slice()), (0, &["demo.lock".to_owned()][..]));
    assert_eq!(
        (top.shows.as_slice(), ruled.shows.as_slice()),
        (&["DEMO-001".to_owned()][..], &["DEMO-001".to_owned()][..])
    );
    assert_eq!(top.origin.to_string(), "oracle: RFC-8785");
    assert_eq!(ruled.name, "demo/story/ruled");
    // `*` can be a step of any kind.
    assert_eq!(ruled.steps[0].words.as_deref(), Some("* \"demo.read\" is called"));
    assert_eq!(ruled.steps[2].words.as_deref(), Some("But the file \"c\" does not exist"));
}

#[test]
fn givens_backgrounds_and_calls_without_a_then_are_setup() {
    let text = r#"Feature: Setup
  Background:
    When "demo.write" is called
    Then it returns null
    When "demo.read" is called
  @id:story/back @shows:DEMO-001
  Scenario: Evidence
    When "demo.write" is called
    When "demo.read" is called
    Then it returns null
    And the file "c" does not exist
  @id:story/then @shows:DEMO-001
  Scenario: What follows the background is about its last call
    Then it returns null
"#;
    let suite = load(with(FEATURE, text));
    let setup = |name: &str| -> Vec<bool> {
        suite.case(name).unwrap().steps.iter().map(Step::is_setup).collect()
    };
    assert_eq!(setup("demo/story/back"), [true, true, true, false, false]);
    assert_eq!(setup("demo/story/then"), [true, false]);
}

#[rstest]
#[case::plain("\"\"\"")]
#[case::backticks("```")]
#[case::media_type("\"\"\"text")]
fn a_doc_string_is_text_without_its_margin(#[case] open: &str) {
    let close = &open[..3];
    let given = format!(
        "Given the file \"a\" holds:\n      {open}\n      one\n        two\n\n      {close}\n    And the file \"b\" holds the unfinished text:\n      {open}\n      half\n      {close}\n    When \"demo.read\""
    );
    let suite = load(changed(FEATURE, "When \"demo.read\"", &given));
    let files = &suite.case("demo/story/back").unwrap().given.files;
    assert_eq!(files["a"], FileGiven::Text("one\n  two\n\n".to_owned()));
    assert_eq!(files["b"], FileGiven::Text("half".to_owned()));
}

#[test]
fn a_doc_string_with_a_media_type_is_json() {
    let text = "it returns:\n      \"\"\"json\n      [1,\n       {\"$repeat\": {\"times\": 2, \"item\": \"$index\"}}]\n      \"\"\"";
    let suite = load(changed(FEATURE, "it returns null", text));
    assert_eq!(returns(suite.case("demo/story/back").unwrap()), json!([1, 0, 1]));
}

#[test]
fn quotes_in_a_doc_string_are_escaped() {
    let text = "the file \"a\" holds:\n      \"\"\"\n      \\\"\\\"\\\"\n      \"\"\"";
    let suite = load(changed(FEATURE, "it returns null", text));
    let Action::Leaves(files) = &suite.case("demo/story/back").unwrap().steps[1].action else {
        panic!("the last step is about a file")
    };
    assert!(matches!(&files["a"], FileExpected::Text(text) if text == "\"\"\"\n"), "{files:?}");
}

#[test]
fn cells_are_calls_and_their_args() {
    let table = "When these calls are made together:\n      | call       | args              |\n      | demo.read  | {}                |\n      | demo.write | {\"t\": \"a\\|b\\\\n\"} |\n    Then the file \"a\" does not exist";
    let suite =
        load(changed(FEATURE, "When \"demo.read\" is called\n    Then it returns null", table));
    let calls: Vec<_> = suite
        .case("demo/story/back")
        .unwrap()
        .calls()
        .map(|call| (call.operation.as_str(), call.args.clone()))
        .collect();
    assert_eq!(calls, [("demo.read", json!({})), ("demo.write", json!({"t": "a|b\n"}))]);
}

#[test]
fn another_spoken_language() {
    let text = "# language: de\nFunktionalität: Lesen\n\n  @id:story/lesen @shows:DEMO-001\n  Szenario: Was geschrieben wurde, wird gelesen\n    Wenn \"demo.read\" is called\n    Dann it returns null\n";
    let suite = load(with(FEATURE, text));
    let case = suite.case("demo/story/lesen").unwrap();
    assert_eq!(
        (case.why.as_str(), returns(case)),
        ("Was geschrieben wurde, wird gelesen", Value::Null)
    );
}

#[rstest]
#[case("it returns null", json!({"returns": null}))]
#[case("it returns -1.5e3", json!({"returns": -1500.0}))]
#[case("it returns true", json!({"returns": true}))]
#[case("it returns \"a \\\"b\\\"\"", json!({"returns": "a \"b\""}))]
#[case("it fails with EVALIDATION", json!({"fails": {"code": "EVALIDATION"}}))]
#[case("it fails with E and:\n\"\"\"\n{\"a\": 1}\n\"\"\"", json!({"fails": {"a": 1, "code": "E"}}))]
fn outcomes(#[case] words: &str, #[case] outcome: Value) {
    let suite = load(changed(FEATURE, "it returns null", words));
    let call = suite.case("demo/story/back").unwrap().calls().next().cloned().unwrap();
    assert_eq!(call.expect.iter().map(Outcome::to_value).collect::<Vec<_>>(), [outcome]);
}

fn args(case: &Case) -> Value {
    case.calls().next().expect("a call").args.clone()
}

fn returns(case: &Case) -> Value {
    case.calls().next().expect("a call").expect[0].to_value()["returns"].clone()
}
