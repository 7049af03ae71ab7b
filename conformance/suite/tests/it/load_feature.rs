//! Invalid narratives: each problem, its place and its message.

use rstest::rstest;

use crate::common::{FEATURE, changed, problems, with};

const CALL: &str = "    When \"demo.read\" is called\n";

#[rstest]
#[case::slip_in_a_step(
    "is called",
    "is caled",
    "5: no step matches `\"demo.read\" is caled`; the nearest is `When \"utils.clock.now\" is called`\nfeatures/demo/story.feature:6: there is no single call just before this step; add a step that makes one"
)]
#[case::step_out_of_the_blue(
    "Then it returns null",
    "Then all is well in the world",
    "6: no step matches `all is well in the world`; `proofmark steps` lists all steps"
)]
#[case::step_of_another_kind(
    "When \"demo.read\"",
    "Given \"demo.read\"",
    "5: no step matches `\"demo.read\" is called`; the nearest is `When \"utils.clock.now\" is called`\nfeatures/demo/story.feature:6: there is no single call just before this step; add a step that makes one"
)]
#[case::slip_before_what_is_filled_in(
    "it returns null",
    "it retruns null",
    "6: no step matches `it retruns null`; the nearest is `Then it returns \"text\"`"
)]
#[case::another_form_of_the_word(
    "it returns null",
    "it returned null",
    "6: no step matches `it returned null`; the nearest is `Then it returns \"text\"`"
)]
#[case::no_id(
    "@id:story/back ",
    "",
    "4: the scenario has no id; write a tag such as `@id:story/first-memory` above it"
)]
#[case::id_without_topic(
    "@id:story/back",
    "@id:back",
    "4: case `back`: the id must be kebab-case with a topic before it: `topic/what-it-shows`"
)]
#[case::id_with_a_slash_too_many(
    "@id:story/back",
    "@id:/story/back",
    "4: case `/story/back`: the id must be kebab-case with a topic before it: `topic/what-it-shows`"
)]
#[case::shows_nothing(
    " @shows:DEMO-001",
    "",
    "4: case `story/back`: it shows no requirement; name in `shows` (or a tag `@shows:…`) what it proves"
)]
#[case::shows_a_slip(
    "@shows:DEMO-001",
    "@shows:DEMO-OO1",
    "4: case `story/back`: `DEMO-OO1` is not in the ledger of demo (did you mean `DEMO-001`?)"
)]
#[case::bad_origin(
    "@id:story/back",
    "@id:story/back @origin:guess",
    "4: origin `guess` must be `contract`, `reference` or `oracle: <which vectors or program>`"
)]
#[case::unknown_hook(
    "@id:story/back",
    "@id:story/back @needs:demo.lok",
    "4: case `story/back`: `demo.lok` is not a hook of demo (did you mean `demo.lock`?)"
)]
#[case::unknown_operation(
    "demo.read",
    "demo.raed",
    "5: `demo.raed` is not an operation of demo (did you mean `demo.read`?)"
)]
#[case::no_why(
    "What was written is read",
    "",
    "4: case `story/back`: `why` is empty; say in one sentence what breaks for a user if it fails"
)]
#[case::then_before_when(
    CALL,
    "",
    "5: there is no single call just before this step; add a step that makes one"
)]
#[case::no_doc_string(
    "it returns null",
    "it returns:",
    "6: this step needs a doc string: text between two lines of \"\"\""
)]
#[case::bad_json(
    "it returns null",
    "it returns:\n\"\"\"\n{\n1\n\"\"\"",
    "6: the doc string is not JSON: key must be a string at line 2 column 1"
)]
#[case::doubled_member(
    "it returns null",
    "it returns:\n\"\"\"\n{\"a\": 1, \"a\": 2}\n\"\"\"",
    "6: the doc string is not JSON: the member `a` occurs twice in one object; drop one at line 1 column 12"
)]
#[case::bad_matcher(
    "it returns null",
    "it returns:\n\"\"\"\n{\"$any\": 1}\n\"\"\"",
    "6: `$any` takes one of string, number, integer, boolean, object, array, null, value, not 1"
)]
#[case::bad_scalar(
    "it returns null",
    "it returns \"a\"b\"",
    "6: `\"a\"b\"` is not JSON: trailing characters at line 1 column 4"
)]
#[case::properties_of_another_kind(
    "it returns null",
    "it fails with E and:\n\"\"\"\n[1]\n\"\"\"",
    "6: the doc string must be a JSON object, not [1]"
)]
#[case::no_table(
    "    When \"demo.read\" is called\n    Then it returns null\n",
    "    When these calls are made together:\n",
    "5: this step needs a table with the columns `call` and `args` and at least one row"
)]
#[case::other_columns(
    "    When \"demo.read\" is called\n    Then it returns null\n",
    "    When these calls are made together:\n| call |\n| demo.read |\n",
    "5: this step needs a table with the columns `call` and `args` and at least one row"
)]
#[case::bad_cell(
    "    When \"demo.read\" is called\n    Then it returns null\n",
    "    When these calls are made together:\n| call | args |\n| demo.read | {x} |\n",
    "5: the args of `demo.read` are not JSON: key must be a string at line 1 column 2"
)]
#[case::doubled_member_in_a_cell(
    "    When \"demo.read\" is called\n    Then it returns null\n",
    "    When these calls are made together:\n| call | args |\n| demo.read | {\"a\": 1, \"a\": 2} |\n",
    "5: the args of `demo.read` are not JSON: the member `a` occurs twice in one object; drop one at line 1 column 12"
)]
#[case::number_too_big(
    "When \"demo.read\" is called",
    "Given the clock starts at \"2024-01-01T00:00:00.000Z\" and steps 99999999999999999999 ms\n    When \"demo.read\" is called",
    "5: `99999999999999999999` is not a number that fits here"
)]
#[case::unclosed_doc_string(
    "it returns null\n",
    "it returns:\n    \"\"\"\n    null\n",
    "7: this doc string has no end; close it with a line of \"\"\""
)]
#[case::unknown_language(
    "Feature: Reading back\n",
    "# language: zz\nFeature: Reading back\n",
    "1: `zz` is not a language that Gherkin knows; write a code such as `en` or `de`"
)]
#[case::a_cell_too_few(
    "it returns null\n",
    "it returns null\n    When these calls are made together:\n      | call | args |\n      | demo.read |\n",
    "9: this row has 1 cells and the first has 2; write \\| for a bar inside a cell"
)]
// The `gherkin` crate would silently drop the third cell.
#[case::a_cell_too_many(
    "it returns null\n",
    "it returns null\n    When these calls are made together:\n      | call | args |\n      | demo.read | {} | {} |\n",
    "9: this row has 3 cells and the first has 2; write \\| for a bar inside a cell"
)]
#[case::second_feature(
    "Then it returns null\n",
    "Then it returns null\n\nFeature: Another\n",
    "8: a second `Feature:` in one file would be ignored; give it a file of its own"
)]
fn a_broken_narrative(#[case] old: &str, #[case] new: &str, #[case] problem: &str) {
    assert_eq!(problems(changed(FEATURE, old, new)), format!("{FEATURE}:{problem}"));
}

const STEP_LINES: &str = "a line must begin with `Given`, `When`, `Then`, `And`, `But`, `*`, a table's `|`, a doc string's \"\"\" or ```, a tag, `Scenario:`, `Examples:` or `Rule:`; a description must come before the first step";

#[rstest]
#[case::word_of_no_meaning(
    "    Then it returns null\n",
    "    Than it returns null\n",
    6,
    "Than it returns null",
    STEP_LINES
)]
#[case::no_feature(
    "Feature: Reading back\n",
    "Reading back\n",
    1,
    "Reading back",
    "a file must begin with `Feature:`, optionally with tags and `# language: …` above it"
)]
#[case::words_after_tags(
    "  Scenario: What was written is read\n",
    "  What was written is read\n",
    4,
    "What was written is read",
    "tags must be followed by `Feature:`, `Rule:`, `Scenario:` or `Examples:`"
)]
fn no_gherkin(
    #[case] old: &str,
    #[case] new: &str,
    #[case] line: usize,
    #[case] written: &str,
    #[case] fix: &str,
) {
    let found = problems(changed(FEATURE, old, new));
    let first = found.lines().next().unwrap_or_default();
    assert_eq!(first, format!("{FEATURE}:{line}: `{written}` is not Gherkin here; {fix}"));
}

/// Lines that the `gherkin` crate or Cucumber would silently ignore.
#[rstest]
#[case::first_step_misspelt(
    "When \"demo.read\" is called",
    "Wen \"demo.read\" is called",
    "5: `Wen` is not a step keyword here, but a step follows it; write `When \"demo.read\" is called` under `Scenario:` or `Background:`"
)]
#[case::outline_without_examples(
    "Scenario:",
    "Scenario Outline:",
    "4: this `Scenario Outline:` has no examples, so its <columns> would not be replaced; write `Examples:` with a table under it, or call it `Scenario:`"
)]
#[case::background_too_late(
    "    Then it returns null\n",
    "    Then it returns null\n\n  Background:\n    Given the folder \"a\" exists\n",
    "8: only one `Background:` is allowed, before the scenarios of its feature or rule; move it there, or make it a scenario"
)]
#[case::tags_on_a_step(
    "    Then it",
    "    @tag\n    Then it",
    "6: tags belong above `Feature:`, `Rule:`, `Scenario:` or `Examples:`, not above a step; move or drop them"
)]
#[case::tag_with_a_space(
    "@id:story/back",
    "@id:story/back @two words",
    "3: `@two words` is not a tag; a tag is a word without spaces after `@`"
)]
#[case::table_and_doc_string(
    "it returns null\n",
    "it returns:\n\"\"\"\n1\n\"\"\"\n| a |\n",
    "10: a step has a doc string or a table, not both; drop one, or make it two steps"
)]
#[case::row_without_end(
    "it returns null\n",
    "it returns null\n| a | b\n",
    "7: the row does not end in a bar; close its last cell with `|`"
)]
#[case::examples_of_nothing(
    "  @id:story/back",
    "  @a\n  Examples:\n    | a |\n  @id:story/back",
    "4: `Examples:` belongs to an outline; write a `Scenario Outline:` with steps above it"
)]
fn no_line_is_silently_ignored(#[case] old: &str, #[case] new: &str, #[case] problem: &str) {
    assert_eq!(problems(changed(FEATURE, old, new)), format!("{FEATURE}:{problem}"));
}

#[test]
fn a_problem_has_a_column_and_a_fix() {
    let places = |old: &str, new: &str| {
        let files = proofmark_suite::SuiteFiles::from_pairs(changed(FEATURE, old, new));
        let found = proofmark_suite::load(&files, &proofmark_suite::Extensions::default())
            .expect_err("it is broken");
        let place = found[0].place();
        (place.line, place.column, place.length, found[0].fix().to_owned())
    };
    assert_eq!(
        places("is called", "is caled"),
        (5, 5, 25, "the nearest is `When \"utils.clock.now\" is called`".to_owned())
    );
    // Inside a doc string: the exact character, counting the margin.
    let doc = "it returns:\n      \"\"\"json\n      {\n        x}\n      \"\"\"";
    let (line, column, ..) = places("it returns null", doc);
    assert_eq!((line, column), (9, 9));
    let (line, column, length, _) = places("@shows:DEMO-001", "@shows:DEMO-OO1");
    assert_eq!((line, column, length), (3, 24, 9));
}

#[track_caller]
pub(crate) fn refused(text: &str, problem: &str) {
    assert_eq!(problems(with(FEATURE, text)), format!("{FEATURE}:{problem}"));
}

#[test]
fn a_feature_without_scenarios() {
    refused("Feature: Nothing\n", "1: the feature has no scenario; add one, or delete the file");
}

pub(crate) const OUTLINE: &str = r#"Feature: Reading back

  @id:story/rows @shows:DEMO-001
  Scenario Outline: What was written is read (<n>)
    When "demo.read" is called with:
      """
      {"n": <n>}
      """
    Then it returns <n>

    Examples:
      | n |
      | 7 |
      | 9 |
"#;

#[test]
fn an_outline_with_an_unknown_column() {
    refused(
        &OUTLINE.replace("Then it returns <n>", "Then it returns <m>"),
        "9: the outline uses <m>, which is not a column of its examples (did you mean `n`?); add the column (to keep the text as it is: with the cell <m>)",
    );
}

/// Without rows, there would silently be no case.
#[rstest]
#[case("      | 7 |\n      | 9 |\n", "")]
#[case("      | n |\n      | 7 |\n      | 9 |\n", "")]
fn an_outline_without_rows(#[case] old: &str, #[case] new: &str) {
    let sound = "\n  @id:story/other @shows:DEMO-001\n  Scenario: Sound\n    When \"demo.read\" is called\n    Then it returns null\n";
    refused(
        &format!("{}{sound}", OUTLINE.replace(old, new)),
        "11: these examples have no row, so they produce no case; add a row or drop them",
    );
}

/// The row numbers would continue from the first outline.
#[test]
fn two_outlines_of_one_id() {
    let again = OUTLINE.replace("Feature: Reading back\n", "");
    refused(
        &format!("{OUTLINE}{again}"),
        "17: the id `story/rows` is taken by the outline on line 4; names are permanent and unique",
    );
}

/// A problem in a step of an outline or a background is one problem.
#[test]
fn a_problem_is_reported_once() {
    refused(
        &OUTLINE.replace("Then it returns <n>", "Then it retruns"),
        "9: no step matches `it retruns`; the nearest is `Then it returns:`",
    );
}

#[test]
fn a_misspelt_operation_in_an_outline_is_reported_once_at_its_step() {
    let text = OUTLINE.replace("demo.read", "demo.raed");
    refused(&text, "5: `demo.raed` is not an operation of demo (did you mean `demo.read`?)");
    let files = proofmark_suite::SuiteFiles::from_pairs(with(FEATURE, &text));
    let found = proofmark_suite::load(&files, &proofmark_suite::Extensions::default())
        .expect_err("it is broken");
    let place = found[0].place();
    assert_eq!((place.line, place.column, place.length), (5, 10, 11));
}

/// The next tags after a row belong to another scenario.
#[test]
fn a_wrong_tag_of_an_outline_is_reported_once_inside_it() {
    let sound = "\n  @id:story/other @shows:DEMO-001\n  Scenario: See DEMO-009\n    When \"demo.read\" is called\n    Then it returns null\n";
    let text = format!("{}{sound}", OUTLINE.replace("@shows:DEMO-001", "@shows:DEMO-009"));
    let files = proofmark_suite::SuiteFiles::from_pairs(with(FEATURE, &text));
    let found = proofmark_suite::load(&files, &proofmark_suite::Extensions::default())
        .expect_err("it is broken");
    let messages: Vec<&str> = found.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        messages,
        ["case `story/rows`: `DEMO-009` is not in the ledger of demo (did you mean `DEMO-001`?)"]
    );
    assert!((3..=14).contains(&found[0].place().line), "{found:?}");
}

/// The file would not accept English keywords.
#[rstest]
#[case::step(
    "    Dann it returns null",
    "    Dann it retruns null",
    "6: no step matches `it retruns null`; the nearest is `Dann it returns \"text\"`"
)]
#[case::keyword(
    "    Dann it returns null",
    "    Then it returns null",
    "6: `Then it returns null` is not Gherkin here; a line must begin with `Angenommen`, `Wenn`, `Dann`, `Und`, `Aber`, `*`, a table's `|`, a doc string's \"\"\" or ```, a tag, `Szenario:`, `Beispiele:` or `Regel:`; a description must come before the first step"
)]
#[case::first_keyword(
    "    Wenn \"demo.read\"",
    "    When \"demo.read\"",
    "5: `When` is not a step keyword here, but a step follows it; write `Wenn \"demo.read\" is called` under `Szenario:` or `Grundlage:`"
)]
#[case::title(
    "  Szenario:",
    "  Scenario:",
    "4: `Scenario: Es wird gelesen` is not Gherkin here; tags must be followed by `Funktionalität:`, `Regel:`, `Szenario:` or `Beispiele:`"
)]
#[case::outline(
    "  Szenario:",
    "  Szenariogrundriss:",
    "4: this `Szenariogrundriss:` has no examples, so its <columns> would not be replaced; write `Beispiele:` with a table under it, or call it `Szenario:`"
)]
fn advice_is_in_the_language_of_the_file(
    #[case] old: &str,
    #[case] new: &str,
    #[case] first: &str,
) {
    let text = "# language: de\nFunktionalität: Lesen\n  @id:story/lesen @shows:DEMO-001\n  Szenario: Es wird gelesen\n    Wenn \"demo.read\" is called\n    Dann it returns null\n";
    assert_eq!(text.matches(old).count(), 1);
    let found = problems(with(FEATURE, &text.replace(old, new)));
    assert_eq!(found.lines().next(), Some(format!("{FEATURE}:{first}").as_str()));
}

#[test]
fn a_second_feature_in_another_language() {
    refused(
        "# language: de\nFunktionalität: Eins\nFunktionalität: Zwei\n",
        "3: a second `Funktionalität:` in one file would be ignored; give it a file of its own",
    );
}
