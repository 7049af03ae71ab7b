//! Invalid ledgers and suites: each problem, its place and its message.

use rstest::rstest;

use crate::common::{FIXTURE, LEDGER, changed, load, problems, sound, with};

#[rstest]
#[case::bad_toml(
    "workspace = true",
    "workspace = ",
    "5: string values must be quoted, expected literal string"
)]
#[case::unknown_key(
    "title = ",
    "titel = ",
    "2: unknown field `titel`, expected one of `contract`, `title`, `text`, `prefix`, `workspace`, `wire`, `http`, `operations`, `hooks`, `requirement`, `sections`"
)]
#[case::unknown_key_of_a_requirement(
    "source = ",
    "sauce = ",
    "14: unknown field `sauce`, expected one of `id`, `level`, `basis`, `sentence`, `source`, `reason`, `excluded`, `applies-with`, `saboteur`"
)]
#[case::doubled_key("title = ", "text = \"x\"\ntitle = ", "4: duplicate key")]
#[case::missing_key("workspace = true\n", "", "1: missing field `workspace`")]
#[case::unknown_level(
    "\"must\"",
    "\"shall\"",
    "11: unknown variant `shall`, expected one of `must`, `should`, `may`"
)]
#[case::another_folder(
    "contract = \"demo\"",
    "contract = \"damo\"",
    "1: contract `damo` is in the folder `demo`; the names must match"
)]
#[case::id_that_climbs(
    "contract = \"demo\"",
    "contract = \"../demo\"",
    "1: `../demo` is not a valid contract id; write lower-case words with dots or dashes between them, such as `my.notes`\nfixtures/demo/requirements.toml:1: contract `../demo` is in the folder `demo`; the names must match"
)]
#[case::a_source_without_a_pin(
    "source = \"Demo, Acceptance\"\n",
    "source = \"Demo, Acceptance\"\n[sections]\n\"Demo, Rules\" = \"sha256:0\"\n",
    "14: the source cites `Demo, Acceptance`, which is not a pinned section; `proofmark trace --text FILE --pin` writes the pins\nfixtures/demo/requirements.toml:16: a pin must be `sha256:` and 64 lower-case hex digits; `proofmark trace --text FILE --pin` writes the pins\nfixtures/demo/requirements.toml:16: no source cites the pinned section `Demo, Rules`; `proofmark trace --text FILE --pin` writes the pins"
)]
#[case::wrong_prefix(
    "id = \"DEMO-001\"",
    "id = \"DAMO-001\"",
    "10: id `DAMO-001` must be `DEMO-` and three digits"
)]
#[case::two_digits(
    "id = \"DEMO-001\"",
    "id = \"DEMO-01\"",
    "10: id `DEMO-01` must be `DEMO-` and three digits"
)]
#[case::no_digits(
    "id = \"DEMO-001\"",
    "id = \"DEMO-00x\"",
    "10: id `DEMO-00x` must be `DEMO-` and three digits"
)]
#[case::no_reason(
    "basis = \"contract\"",
    "basis = \"interpretation\"",
    "10: `DEMO-001` is an interpretation without a `reason`: say why it was chosen where the text is silent"
)]
#[case::blank_reason(
    "basis = \"contract\"",
    "basis = \"interpretation\"\nreason = \" \"",
    "10: `DEMO-001` is an interpretation without a `reason`: say why it was chosen where the text is silent"
)]
#[case::blank_sentence(
    "What was written is read.",
    " ",
    "10: `DEMO-001` needs a `sentence` (the promise in plain words) and a `source` (where the text says it)"
)]
#[case::blank_source(
    "Demo, Acceptance",
    "",
    "10: `DEMO-001` needs a `sentence` (the promise in plain words) and a `source` (where the text says it)"
)]
#[case::blank_excluded(
    "source = ",
    "excluded = \"\"\nsource = ",
    "10: `excluded` of `DEMO-001` is empty: say why no case shows it"
)]
#[case::excluded_with_cases(
    "source = ",
    "excluded = \"nobody can\"\nsource = ",
    "10: `DEMO-001` is excluded, but 2 case(s) show it; drop the exclusion or the cases"
)]
#[case::operation_of_one_word(
    "\"demo.read\",",
    "\"read\", \"demo.read\",",
    "6: `read` is not a valid operation name; write two words or more with dots between them, such as `notes.add`, of letters, digits and single dashes"
)]
#[case::operation_with_an_underscore(
    "\"demo.read\",",
    "\"demo.re_ad\", \"demo.read\",",
    "6: `demo.re_ad` is not a valid operation name; write two words or more with dots between them, such as `notes.add`, of letters, digits and single dashes"
)]
#[case::operation_without_a_name(
    "\"demo.hold\"",
    "\"\"",
    "7: `` is not a valid operation name; write two words or more with dots between them, such as `notes.add`, of letters, digits and single dashes"
)]
#[case::operation_that_stands_twice(
    "\"demo.write\"",
    "\"demo.write\", \"demo.write\"",
    "6: the operation `demo.write` occurs twice; name each once"
)]
#[case::operation_and_hook(
    "\"demo.write\"",
    "\"demo.write\", \"demo.lock\"",
    "6: `demo.lock` is an operation and a hook; give the hook a name of its own"
)]
#[case::of_no_hook(
    "source = ",
    "applies-with = \"demo.lok\"\nsource = ",
    "10: `DEMO-001` applies with `demo.lok`, which is not a hook of this ledger (did you mean `demo.lock`?)"
)]
fn a_broken_ledger(#[case] old: &str, #[case] new: &str, #[case] problem: &str) {
    assert_eq!(problems(changed(LEDGER, old, new)), format!("{LEDGER}:{problem}"));
}

const SECOND: &str = r#"
[[requirement]]
id = "DEMO-002"
level = "must"
basis = "contract"
sentence = "Nothing is lost."
source = "Demo, Acceptance"
"#;

/// The valid ledger with one more requirement.
#[track_caller]
fn with_second(requirement: &str) -> Vec<(String, String)> {
    let last = "source = \"Demo, Acceptance\"\n";
    changed(LEDGER, last, &format!("{last}{requirement}"))
}

#[test]
fn a_must_without_a_case() {
    assert_eq!(
        problems(with_second(SECOND)),
        format!(
            "{LEDGER}:17: `DEMO-002` has no case; write one that shows it, or say in `excluded` why none can"
        )
    );
}

#[test]
fn even_a_may_needs_a_case() {
    assert_eq!(
        problems(with_second(&SECOND.replace("\"must\"", "\"may\""))),
        format!(
            "{LEDGER}:17: `DEMO-002` has no case; write one that shows it, or say in `excluded` why none can"
        )
    );
}

#[test]
fn a_must_without_a_case_may_be_excluded_with_a_reason() {
    let suite = load(with_second(&format!("{SECOND}excluded = \"it would take a power cut\"\n")));
    assert_eq!(
        suite.requirement("DEMO-002").unwrap().1.excluded.as_deref(),
        Some("it would take a power cut")
    );
}

#[test]
fn a_doubled_id() {
    assert_eq!(
        problems(with_second(&SECOND.replace("002", "001"))),
        format!(
            "{LEDGER}:17: id `DEMO-001` is already used on line 10; ids are permanent and unique"
        )
    );
}

#[test]
fn a_ledger_without_requirements() {
    let files = sound();
    let ledger = files.iter().find(|(path, _)| path == LEDGER).unwrap().1.clone();
    let head = ledger.split("[[requirement]]").next().unwrap().to_owned();
    assert_eq!(
        problems(with(LEDGER, &head)),
        format!("{LEDGER}:1: the ledger has no `[[requirement]]`; add at least one")
    );
}

/// A second contract with the ids of the first: cases of the other would seem to show its `must`.
#[test]
fn an_id_in_two_ledgers() {
    let files = sound();
    let ledger = files.iter().find(|(path, _)| path == LEDGER).unwrap().1.clone();
    let other = ledger.replace("\"demo\"", "\"other\"");
    assert_eq!(
        problems(with("fixtures/other/requirements.toml", &other)),
        "fixtures/other/requirements.toml:10: id `DEMO-001` is already used at fixtures/demo/requirements.toml:10; ids are permanent and unique"
    );
}

#[test]
fn a_case_of_a_contract_without_a_ledger() {
    let mut files = sound();
    files.retain(|(path, _)| path != LEDGER);
    assert_eq!(
        problems(files),
        "features/demo/story.feature:4: case `story/back`: no ledger at `fixtures/demo/requirements.toml`\n\
         fixtures:1: there is no contract; add a ledger at `fixtures/<contract>/requirements.toml`\n\
         fixtures/demo/read.json:5: case `read/back`: no ledger at `fixtures/demo/requirements.toml`"
    );
}

#[test]
fn an_empty_suite() {
    assert_eq!(
        problems(Vec::new()),
        "fixtures:1: there is no contract; add a ledger at `fixtures/<contract>/requirements.toml`"
    );
}

#[rstest]
#[case("fixtures/demo/deeper/read.json")]
#[case("fixtures/read.json")]
#[case("features/demo/requirements.toml")]
#[case("fixtures/demo/story.feature")]
#[case("fixtures/demo/other.toml")]
fn a_file_in_a_wrong_place(#[case] path: &str) {
    assert_eq!(
        problems(with(path, "")),
        format!(
            "{path}:1: unexpected file; a suite has `fixtures/<contract>/requirements.toml`, `fixtures/<contract>/<topic>.json` and `features/<contract>/<name>.feature`"
        )
    );
}

#[test]
fn every_problem_is_reported_in_file_order() {
    let mut files = changed(FIXTURE, "\"origin\": \"contract\"", "\"origin\": \"guess\"");
    for (path, text) in &mut files {
        match path.as_str() {
            LEDGER => {
                *text = text.replace("\"DEMO-001\"", "\"DEMO-1\"").replace("= \"demo\"", "= \"x\"")
            }
            FIXTURE => *text = text.replace("\"topic\": \"read\"", "\"topic\": \"write\""),
            _ => *text = text.replace("is called", "is caled"),
        }
    }
    assert_eq!(
        problems(files),
        "features/demo/story.feature:5: no step matches `\"demo.read\" is caled`; the nearest is `When \"utils.clock.now\" is called`\n\
         features/demo/story.feature:6: there is no single call just before this step; add a step that makes one\n\
         fixtures/demo/read.json:1: topic `write` is in the file `read.json`; the names must match\n\
         fixtures/demo/read.json:5: case `read/back`: origin `guess` must be `contract`, `reference` or `oracle: <which vectors or program>`\n\
         fixtures/demo/read.json:5: case `read/back`: the id must begin with the topic, `write/`\n\
         fixtures/demo/requirements.toml:1: contract `x` is in the folder `demo`; the names must match\n\
         fixtures/demo/requirements.toml:10: id `DEMO-1` must be `DEMO-` and three digits"
    );
}

#[test]
fn a_byte_order_mark_is_tolerated_everywhere() {
    let marked = sound().into_iter().map(|(path, text)| (path, format!("\u{feff}{text}")));
    assert_eq!(load(marked.collect()).cases.len(), 2);
}

#[test]
fn the_digest_distinguishes_suites() {
    let digest = load(sound()).digest;
    assert_eq!(
        load(sound().into_iter().rev().collect()).digest,
        digest,
        "the order does not matter"
    );
    let other = load(changed(FIXTURE, "What was written is read.", "What was written stays."));
    assert_ne!(other.digest, digest);
}

#[test]
fn a_case_of_an_optional_feature_needs_its_hook() {
    let files = changed(LEDGER, "source = ", "applies-with = \"demo.lock\"\nsource = ");
    let found = problems(files);
    let problem = "`DEMO-001` applies with the hook `demo.lock`, which the case does not need; add it to `needs`";
    assert!(
        found.lines().count() == 2 && found.lines().all(|line| line.ends_with(problem)),
        "{found}"
    );
}
