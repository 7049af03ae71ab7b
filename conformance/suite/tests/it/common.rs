//! The smallest valid suite, for tests that break it in one place.

use proofmark_judge::Suite;
use proofmark_suite::{Extensions, SuiteFiles};

pub(crate) const LEDGER: &str = "fixtures/demo/requirements.toml";
pub(crate) const FIXTURE: &str = "fixtures/demo/read.json";
pub(crate) const FEATURE: &str = "features/demo/story.feature";

/// One contract with one `must`.
const LEDGER_TEXT: &str = r#"contract = "demo"
title = "A demonstration"
text = "demo.md"
prefix = "DEMO"
workspace = true
operations = ["demo.read", "demo.write"]
hooks = { "demo.lock" = ["demo.hold"] }

[[requirement]]
id = "DEMO-001"
level = "must"
basis = "contract"
sentence = "What was written is read."
source = "Demo, Acceptance"
"#;

/// One case that shows it.
const FIXTURE_TEXT: &str = r#"{
  "contract": "demo",
  "topic": "read",
  "cases": [
    {
      "id": "read/back",
      "why": "What was written is read.",
      "shows": ["DEMO-001"],
      "origin": "contract",
      "given": {},
      "steps": [
        { "call": "demo.read", "args": {}, "returns": null }
      ]
    }
  ]
}
"#;

/// One scenario that shows it, too.
const FEATURE_TEXT: &str = r#"Feature: Reading back

  @id:story/back @shows:DEMO-001
  Scenario: What was written is read
    When "demo.read" is called
    Then it returns null
"#;

/// The smallest valid suite as pairs of path and text.
pub(crate) fn sound() -> Vec<(String, String)> {
    [(LEDGER, LEDGER_TEXT), (FIXTURE, FIXTURE_TEXT), (FEATURE, FEATURE_TEXT)]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .to_vec()
}

/// The valid suite with `old` replaced by `new` in `file`.
#[track_caller]
pub(crate) fn changed(file: &str, old: &str, new: &str) -> Vec<(String, String)> {
    let mut files = sound();
    let (_, text) = files.iter_mut().find(|(path, _)| path == file).expect("a file of the suite");
    assert_eq!(text.matches(old).count(), 1, "`{old}` must occur once in {file}");
    *text = text.replace(old, new);
    files
}

/// The valid suite with one more file, or another text for one.
pub(crate) fn with(file: &str, text: &str) -> Vec<(String, String)> {
    let mut files = sound();
    files.retain(|(path, _)| path != file);
    files.push((file.to_owned(), text.to_owned()));
    files
}

#[track_caller]
pub(crate) fn load(files: Vec<(String, String)>) -> Suite {
    match proofmark_suite::load(&SuiteFiles::from_pairs(files), &Extensions::default()) {
        Ok(suite) => suite,
        Err(problems) => panic!("the suite is invalid: {problems:#?}"),
    }
}

/// Every problem, a line each.
#[track_caller]
pub(crate) fn problems(files: Vec<(String, String)>) -> String {
    let found = proofmark_suite::load(&SuiteFiles::from_pairs(files), &Extensions::default())
        .expect_err("the suite is broken");
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_valid_suite_loads() {
    let suite = load(sound());
    let names: Vec<&str> = suite.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["demo/read/back", "demo/story/back"]);
}
