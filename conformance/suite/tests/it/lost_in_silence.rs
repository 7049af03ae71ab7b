//! Input that must not be silently lost: a second outcome, an unread doc string, a file that is also a folder.

use rstest::rstest;

use crate::common::{FEATURE, FIXTURE, changed, load, problems, with};
use crate::load_feature::{OUTLINE, refused};

const THEN: &str = "    Then it returns null\n";
const DOC: &str = "\n      \"\"\"\n      {}\n      \"\"\"\n";

/// The valid narrative with these lines instead of its last.
#[track_caller]
fn reports(lines: &str, problem: &str) {
    assert_eq!(problems(changed(FEATURE, THEN, lines)), format!("{FEATURE}:{problem}"));
}

const TWO_OUTCOMES: &str = "7: the call already has an outcome at line 6; drop one of the two";

#[rstest]
#[case::two_values("Then it returns 5\nThen it returns 6\n", TWO_OUTCOMES)]
#[case::value_and_failure("Then it returns 5\nAnd it fails with EIO\n", TWO_OUTCOMES)]
#[case::two_streams(
    "Then it streams:\n\"\"\"\n[1]\n\"\"\"\nThen it streams:\n\"\"\"\n[2]\n\"\"\"\n",
    "10: the stream of the call is already given at line 6; write all its items in one step"
)]
fn one_call_has_one_outcome(#[case] lines: &str, #[case] problem: &str) {
    reports(lines, problem);
}

#[test]
fn outcome_stream_and_asks_go_together() {
    let asked =
        "Then the fake \"secrets\" was asked \"get\" with:\n\"\"\"\n{\"key\": \"K\"}\n\"\"\"\n";
    let lines = format!(
        "Then it returns 5\nAnd it streams:\n\"\"\"\n[1]\n\"\"\"\n{asked}{asked}And \"s\" is nowhere in what it said\nAnd \"t\" is nowhere in what it said\n"
    );
    let suite = load(changed(FEATURE, THEN, &lines));
    let call = suite.case("demo/story/back").unwrap().calls().next().unwrap();
    assert_eq!((call.expect.len(), call.hides.len()), (1, 2));
}

#[rstest]
#[case::each_and_how_many(&[EACH, MANY])]
#[case::how_many_and_each(&[MANY, EACH])]
#[case::how_many_twice(&[MANY, MANY])]
fn calls_of_fakes_are_given_in_one_way(#[case] steps: &[&str]) {
    let line = if steps[0] == EACH { 10 } else { 7 };
    let problem =
        "the calls of fakes are already given; write each call, or once how many there are";
    reports(&steps.concat(), &format!("{line}: {problem}"));
}

const EACH: &str =
    "Then the fake \"secrets\" was asked \"get\" with:\n\"\"\"\n{\"key\": \"K\"}\n\"\"\"\n";
const MANY: &str = "Then the fake \"secrets\" was asked \"get\" 2 times\n";

#[rstest]
#[case::called("When \"demo.read\" is called", "`When \"demo.read\" is called with:`")]
#[case::a_value("Then it returns 1", "`Then it returns:`")]
#[case::a_text("Then it returns \"a b\"", "`Then it returns:`")]
#[case::a_failure("Then it fails with EIO", "`Then it fails with EIO and:`")]
fn a_doc_string_that_nobody_reads(#[case] step: &str, #[case] right: &str) {
    let problem = format!("6: this step takes no doc string; the one that does is {right}");
    reports(&format!("    {step}{DOC}"), &problem);
}

#[test]
fn a_doc_string_under_a_step_without_a_doc_string_form() {
    let problem = "6: this step takes no doc string; drop it, or write a step that takes one (`proofmark steps` lists them)";
    reports(&format!("    Given the folder \"q\" exists{DOC}    Then it returns null\n"), problem);
}

#[test]
fn a_table_that_nobody_reads() {
    let problem = "6: this step takes no table; drop it, or write a step that takes one, such as `these calls are made together:`";
    reports("    Then it returns 1\n      | a |\n", problem);
}

const HOLDS: &str = "Given the file \"a\" holds:\n\"\"\"\nx\n\"\"\"\n";

#[rstest]
#[case::file(
    &format!("{HOLDS}{HOLDS}"),
    "9: `a` is already given at line 5; drop one of the two"
)]
#[case::file_and_folder(
    &format!("{HOLDS}Given the folder \"a\" exists\n"),
    "9: `a` is already given at line 5; drop one of the two"
)]
#[case::clock(
    "Given the clock starts at \"2024-01-01T00:00:00.000Z\" and steps 1 ms\nGiven the clock starts at \"2024-01-01T00:00:00.000Z\" and steps 2 ms\n",
    "6: the clock is already given at line 5; drop one of the two"
)]
#[case::secret(
    "Given the secret \"K\" is \"v\"\nGiven the secret \"K\" is \"w\"\n",
    "6: the secret `K` is already given at line 5; drop one of the two"
)]
#[case::fake(
    "Given the secret \"K\" is \"v\"\nGiven the fake \"secrets\" plays:\n\"\"\"\n{\"values\": {}}\n\"\"\"\n",
    "6: an earlier step already scripts the fake `secrets`, and this step would replace it; put the whole script into one step"
)]
fn a_world_is_given_once(#[case] lines: &str, #[case] problem: &str) {
    let when = "    When \"demo.read\"";
    let files = changed(FEATURE, when, &format!("{lines}{when}"));
    assert_eq!(problems(files), format!("{FEATURE}:{problem}"));
}

#[test]
fn a_file_is_no_folder() {
    let found =
        "case `read/back`: `a` is given as a file, but `a/b` makes it a folder; rename one of them";
    let files = r#"{"files": {"a": {"text": ""}, "a/b": {"text": ""}}}"#;
    let given = changed(FIXTURE, "\"given\": {}", &format!("\"given\": {files}"));
    assert_eq!(problems(given), format!("{FIXTURE}:5: {found}"));
    let step = changed(FIXTURE, "\"steps\": [", &format!("\"steps\": [ {files},"));
    assert_eq!(problems(step), format!("{FIXTURE}:5: {found}"));
    let of_folder = files.replacen("\"text\": \"\"", "\"folder\": true", 1);
    load(changed(FIXTURE, "\"given\": {}", &format!("\"given\": {of_folder}")));
}

#[test]
fn only_a_used_process_can_be_killed() {
    let problem = "6: no earlier step calls anything in process `bb`; there are `a`";
    reports(
        &format!("    When process \"bb\" is killed\n    When \"demo.read\" is called\n{THEN}"),
        problem,
    );
    let steps = "\"steps\": [ { \"kill\": \"a\" },";
    assert_eq!(
        problems(changed(FIXTURE, "\"steps\": [", steps)),
        format!(
            "{FIXTURE}:5: case `read/back`: no earlier step calls anything in process `a`; add such a call first"
        )
    );
}

#[rstest]
#[case::id(
    "@id:story/back",
    "@id:story/back @id:story/other",
    "`@id:story/other` is the second `@id:` of one scenario, but only one is allowed; drop one"
)]
#[case::origin(
    "@id:story/back",
    "@id:story/back @origin:contract @origin:reference",
    "`@origin:reference` is the second `@origin:` of one scenario, but only one is allowed; drop one"
)]
#[case::shows(
    "@shows:DEMO-001",
    "@shows:DEMO-001 @shows:DEMO-001",
    "case `story/back`: it shows `DEMO-001` twice; name each requirement once"
)]
fn a_tag_counts_once(#[case] old: &str, #[case] new: &str, #[case] problem: &str) {
    assert_eq!(problems(changed(FEATURE, old, new)), format!("{FEATURE}:4: {problem}"));
}

#[rstest]
#[case::number(r#"{"$ref": 5}"#)]
#[case::with_company(r#"{"$ref":"a","b":1}"#)]
fn a_malformed_reference(#[case] written: &str) {
    let args = format!("\"args\": {{\"x\": [{written}]}}");
    let found = problems(changed(FIXTURE, "\"args\": {}", &args));
    let shown = written.replace(": ", ":");
    assert_eq!(
        found,
        format!(
            "{FIXTURE}:5: case `read/back`: `$ref` takes the name under which an earlier call was saved (`as`) and must be alone, not {shown}; wrap a real value of that form in `$literal`"
        )
    );
}

#[test]
fn a_problem_of_one_row_names_it() {
    refused(
        &OUTLINE.replace("| 9 |", "| x |"),
        "5: with the example on line 14: the doc string is not JSON: expected value at line 1 column 7\nfeatures/demo/story.feature:9: with the example on line 14: no step matches `it returns x`; the nearest is `Then it returns:`",
    );
    // Also for problems that the lint finds in a whole case.
    let outline = OUTLINE
        .replace("\"demo.read\" is", "\"demo.<call>\" is")
        .replace("| n |", "| n | call |")
        .replace("| 7 |", "| 7 | read |")
        .replace("| 9 |", "| 9 | raed |");
    assert_eq!(
        problems(with(FEATURE, &outline)),
        format!(
            "{FEATURE}:5: with the example on line 14: `demo.raed` is not an operation of demo (did you mean `demo.read`?)"
        )
    );
}

const RETURNS: &str = "\"returns\": null";
const BLESS: &str = "write `\"returns\": {\"$bless\": true}`";

#[rstest]
#[case::not_true(
    r#""returns": {"$bless": false}"#,
    &format!("`$bless` takes true, not false; {BLESS} or what the call returns")
)]
#[case::inside(
    r#""returns": {"a": [{"$bless": true}]}"#,
    &format!("`$bless` can only be the whole `returns` of a call; {BLESS}, even if `demo.read` should fail")
)]
#[case::of_a_failure(
    r#""fails": {"$bless": true}"#,
    &format!("`$bless` can only be the whole `returns` of a call; {BLESS}, even if `demo.read` should fail")
)]
fn bless_has_only_one_form(#[case] expected: &str, #[case] problem: &str) {
    let found = problems(changed(FIXTURE, RETURNS, expected));
    assert_eq!(found, format!("{FIXTURE}:12: case `read/back`: {problem}"));
}

#[test]
fn a_fixture_is_made_of_objects() {
    let found = problems(with(FIXTURE, "[]"));
    let problem =
        "a fixture must be a JSON object with the members `contract`, `topic` and `cases`";
    assert_eq!(found, format!("{FIXTURE}:1: {problem}"));
    let step = r#"{ "call": "demo.read", "args": {}, "returns": null }"#;
    let found = problems(changed(FIXTURE, step, "[]"));
    assert_eq!(found, format!("{FIXTURE}:12: case `read/back`: a step must be an object, not []"));
}

#[test]
fn a_narrative_cannot_be_blessed() {
    let problem = "6: `$bless` can only be the whole `returns` of a call in a fixture; write the expected value here";
    reports("    Then it returns:\n\"\"\"\n{\"$bless\": true}\n\"\"\"\n", problem);
}
