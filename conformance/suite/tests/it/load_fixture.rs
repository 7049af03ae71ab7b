//! Invalid fixtures: each problem, its place and its message.

use proofmark_judge::case::{Action, MAIN_PROCESS, Origin, Step};
use rstest::rstest;
use serde_json::json;

use crate::common::{FIXTURE, LEDGER, changed, load, problems, sound};

const CALL: &str = r#"{ "call": "demo.read", "args": {}, "returns": null }"#;
const GIVEN: &str = r#""given": {}"#;

#[rstest]
#[case::bad_json(r#""topic": "read","#, r#""topic": "read""#, "4: expected `,` or `}`")]
#[case::cut_off("  ]\n}\n", "", "15: EOF while parsing a list")]
#[case::unknown_field_of_the_file(
    r#""topic": "read","#,
    r#""topic": "read", "note": 1,"#,
    "3: unknown field `note`, expected one of `contract`, `topic`, `cases`"
)]
#[case::unknown_field_of_a_case(
    r#""origin": "contract","#,
    "\"origin\": \"contract\",\n\"orgin\": 1,",
    "10: unknown field `orgin`, expected one of `id`, `aliases`, `why`, `shows`, `origin`, `needs`, `slow`, `given`, `setup`, `steps`, `leaves`"
)]
#[case::missing_field_of_a_case(r#""origin": "contract","#, "", "14: missing field `origin`")]
#[case::doubled_member(
    r#""why": "What was written is read.","#,
    "\"why\": \"a\",\n\"why\": \"b\",",
    "8: the member `why` occurs twice in one object; drop one"
)]
#[case::doubled_member_deep_inside(
    CALL,
    "{ \"call\": \"demo.read\",\n\"args\": {\"a\": [{\"b\": 1,\n\"b\": 2}]}, \"returns\": null }",
    "14: the member `b` occurs twice in one object; drop one"
)]
#[case::another_folder(
    r#""contract": "demo""#,
    r#""contract": "damo""#,
    "1: contract `damo` is in the folder `demo`; the names must match"
)]
#[case::another_topic(
    r#""topic": "read""#,
    r#""topic": "reed""#,
    "1: topic `reed` is in the file `read.json`; the names must match\nfixtures/demo/read.json:5: case `read/back`: the id must begin with the topic, `reed/`"
)]
#[case::id_without_topic(
    "read/back",
    "back",
    "5: case `back`: the id must begin with the topic, `read/`"
)]
#[case::id_of_like_topic(
    "read/back",
    "reading/back",
    "5: case `reading/back`: the id must begin with the topic, `read/`"
)]
#[case::id_of_topic_alone(
    "read/back",
    "read/",
    "5: case `read/`: the id must be kebab-case with a topic before it: `topic/what-it-shows`"
)]
#[case::capitals(
    "read/back",
    "read/Back",
    "5: case `read/Back`: the id must be kebab-case with a topic before it: `topic/what-it-shows`"
)]
#[case::underscore(
    "read/back",
    "read/b_k",
    "5: case `read/b_k`: the id must be kebab-case with a topic before it: `topic/what-it-shows`"
)]
#[case::two_dashes(
    "read/back",
    "read/b--k",
    "5: case `read/b--k`: the id must be kebab-case with a topic before it: `topic/what-it-shows`"
)]
#[case::blank_why(
    r#""why": "What was written is read.""#,
    r#""why": " ""#,
    "5: case `read/back`: `why` is empty; say in one sentence what breaks for a user if it fails"
)]
#[case::bad_origin(
    r#""origin": "contract""#,
    r#""origin": "oracle""#,
    "5: case `read/back`: origin `oracle` must be `contract`, `reference` or `oracle: <which vectors or program>`"
)]
#[case::oracle_of_nothing(
    r#""origin": "contract""#,
    r#""origin": "oracle: ""#,
    "5: case `read/back`: origin `oracle: ` must be `contract`, `reference` or `oracle: <which vectors or program>`"
)]
#[case::shows_nothing(
    r#"["DEMO-001"]"#,
    "[]",
    "5: case `read/back`: it shows no requirement; name in `shows` (or a tag `@shows:…`) what it proves"
)]
#[case::shows_a_slip(
    r#"["DEMO-001"]"#,
    r#"["DEM0-001"]"#,
    "5: case `read/back`: `DEM0-001` is not in the ledger of demo (did you mean `DEMO-001`?)"
)]
#[case::shows_something_else(
    r#"["DEMO-001"]"#,
    r#"["X"]"#,
    "5: case `read/back`: `X` is not in the ledger of demo; add it there, or use an existing one"
)]
#[case::unknown_hook(
    GIVEN,
    r#""needs": ["demo.lok"]"#,
    "5: case `read/back`: `demo.lok` is not a hook of demo (did you mean `demo.lock`?)"
)]
#[case::path_that_climbs(
    GIVEN,
    r#""given": {"files": {"../x": {"text": ""}}}"#,
    "5: case `read/back`: the path `../x` must be relative, without `..` except in `../outside/…` and `../workspace-…/…`"
)]
#[case::path_that_climbs_from_outside(
    GIVEN,
    r#""given": {"files": {"../outside/../x": {"text": ""}}}"#,
    "5: case `read/back`: the path `../outside/../x` must be relative, without `..` except in `../outside/…` and `../workspace-…/…`"
)]
#[case::absolute_path(
    GIVEN,
    r#""leaves": {"/etc/passwd": null}"#,
    "5: case `read/back`: the path `/etc/passwd` must be relative, without `..` except in `../outside/…` and `../workspace-…/…`"
)]
#[case::absolute_symlink(
    GIVEN,
    r#""given": {"files": {"x": {"symlink": "/etc"}}}"#,
    "5: case `read/back`: a symlink's target must be relative, or /dev/null, /dev/zero or /dev/full, so that the case means the same on every machine"
)]
#[case::symlink_that_leads_away(
    GIVEN,
    r#""given": {"files": {"x": {"symlink": "../../y"}}}"#,
    "5: case `read/back`: the symlink `x` to `../../y` leads out of the workspace, `../outside` and `../workspace-…`; nothing else may be touched"
)]
#[case::file_form(GIVEN, r#""given": {"files": {"x": {"txt": ""}}}"#, r#"5: case `read/back`: file `x` must be {"text": …}, {"hex": …}, {"symlink": …}, {"hardlink": …}, {"fifo": true} or {"folder": true}, not {"txt":""}"#)]
#[case::odd_hex(
    GIVEN,
    r#""given": {"files": {"x": {"hex": "0g"}}}"#,
    "5: case `read/back`: `hex` of file `x` must be pairs of hex digits: invalid character 'g' at position 1"
)]
#[case::leaves_form(GIVEN, r#""leaves": {"x": {"text": "", "prefix": ""}}"#, r#"5: case `read/back`: file `x` must leave null, {"text": …}, {"hex": …}, {"symlink": …}, {"entries": […]}, {"prefix": …} or {"ndjson": …} (the last two may be combined), not {"text":"","prefix":""}"#)]
#[case::unknown_fake(
    GIVEN,
    r#""given": {"fakes": {"mail": {}}}"#,
    "5: case `read/back`: there is no fake `mail`; there are none"
)]
#[case::unknown_given(
    GIVEN,
    r#""given": {"time": 1}"#,
    "10: unknown field `time`, expected one of `clock`, `random`, `files`, `fakes`"
)]
fn a_broken_case(#[case] old: &str, #[case] new: &str, #[case] problem: &str) {
    assert_eq!(problems(changed(FIXTURE, old, new)), format!("{FIXTURE}:{problem}"));
}

const ONE_OF: &str = "the call of `demo.read` needs exactly one of `returns`, `fails` and `either` (two alternatives or more)";
const NOTHING_FAILS_IT: &str =
    "it cannot fail: it passes with any answer and any files; add an expectation";
const NOT_A_CALL: &str = "`args`, `assumes`, `returns`, `fails`, `either`, `asks`, `streams`, `hides`, `process`, `afterMs`, `session`, `as` and `streamAs` belong to a `call`, which has none of `together`, `kill`, `files` and `leaves`";

/// Steps are on line 12; problems with the whole case are reported at its start, line 5.
#[rstest]
#[case::no_outcome(r#"{ "call": "demo.read" }"#, 12, ONE_OF)]
#[case::two_outcomes(
    r#"{ "call": "demo.read", "returns": 1, "fails": {"code": "E"} }"#,
    12,
    ONE_OF
)]
#[case::one_alternative(r#"{ "call": "demo.read", "either": [{"returns": 1}] }"#, 12, ONE_OF)]
#[case::empty_alternative(
    r#"{ "call": "demo.read", "either": [{"returns": 1}, {}] }"#,
    12,
    "each alternative of `either` must be a `returns` or a `fails`"
)]
#[case::fails_without_code(
    r#"{ "call": "demo.read", "fails": {"name": "E"} }"#,
    12,
    "`fails` needs a `code`"
)]
#[case::unknown_field(
    r#"{ "call": "demo.read", "return": null }"#,
    12,
    "unknown field `return`, expected one of `call`, `args`, `assumes`, `returns`, `fails`, `either`, `asks`, `streams`, `hides`, `process`, `afterMs`, `session`, `as`, `streamAs`, `together`, `kill`, `files`, `leaves`"
)]
#[case::bad_matcher(
    r#"{ "call": "demo.read", "returns": [{"$any": "text"}] }"#,
    12,
    "`$any` takes one of string, number, integer, boolean, object, array, null, value, not \"text\""
)]
#[case::bad_matcher_in_an_ask(
    r#"{ "call": "demo.read", "returns": 1, "asks": [{"$contains": 1}] }"#,
    12,
    "`asks`: `$contains` takes an array with at least one item"
)]
#[case::asks_that_are_no_list(
    r#"{ "call": "demo.read", "returns": 1, "asks": {"$any": "array"} }"#,
    12,
    r#"`asks`: must be a list, or `$oneOf`, `$unordered`, `$contains`, `$startsWith` or `$among` with lists, `$each`, or a `$ref`, not {"$any":"array"}"#
)]
#[case::streams_that_are_one_of_no_lists(
    r#"{ "call": "demo.read", "returns": 1, "streams": {"$oneOf": [5, []]} }"#,
    12,
    r#"`streams`: must be a list, or `$oneOf`, `$unordered`, `$contains`, `$startsWith` or `$among` with lists, `$each`, or a `$ref`, not {"$oneOf":[5,[]]}"#
)]
#[case::hides_nothing(
    r#"{ "call": "demo.read", "returns": 1, "hides": ["s", ""] }"#,
    12,
    "`hides` has an empty text, which occurs everywhere; drop it"
)]
#[case::bad_repeat(
    r#"{ "call": "demo.read", "returns": [{"$repeat": {"times": 1}}] }"#,
    12,
    r#"`$repeat` takes {"times": 1 to 10000, "item": …} and nothing else, not {"times":1}"#
)]
#[case::two_actions(
    r#"{ "kill": "b", "files": {} }"#,
    12,
    "a step must have exactly one of `call`, `together`, `kill`, `files` and `leaves`"
)]
#[case::no_action(
    "{}",
    12,
    "a step must have exactly one of `call`, `together`, `kill`, `files` and `leaves`"
)]
#[case::kill_with_args(r#"{ "kill": "b", "args": {} }"#, 12, NOT_A_CALL)]
#[case::call_and_kill(r#"{ "call": "demo.read", "returns": 1, "kill": "b" }"#, 12, NOT_A_CALL)]
#[case::kill_inside_together(
    r#"{ "together": [{ "kill": "b" }] }"#,
    12,
    "every step inside `together` must be a `call`"
)]
#[case::call_and_kill_inside_together(
    r#"{ "together": [{ "call": "demo.read", "returns": 1, "kill": "b" }] }"#,
    12,
    NOT_A_CALL
)]
#[case::together_alone(
    r#"{ "together": [{ "call": "demo.read", "returns": 1 }] }"#,
    5,
    "`together` needs at least two calls"
)]
#[case::unknown_operation(
    r#"{ "call": "demo.raed", "returns": 1 }"#,
    5,
    "`demo.raed` is not an operation of demo (did you mean `demo.read`?)"
)]
#[case::args_of_another_kind(
    r#"{ "call": "demo.read", "args": [1], "returns": 1 }"#,
    5,
    "the args of `demo.read` must be an object, not [1]"
)]
#[case::any_answer_will_do(
    r#"{ "call": "demo.read", "returns": {"$any": "value"} }"#,
    5,
    NOTHING_FAILS_IT
)]
#[case::any_failure_will_do(
    r#"{ "call": "demo.read", "fails": {"code": {"$any": "string"}} }"#,
    5,
    NOTHING_FAILS_IT
)]
#[case::any_end_will_do(
    r#"{ "call": "demo.read", "either": [{"returns": {"$any": "value"}}, {"fails": {"code": {"$matches": ""}}}] }"#,
    5,
    NOTHING_FAILS_IT
)]
#[case::one_of_everything(
    r#"{ "call": "demo.read", "returns": {"$oneOf": [{"$any": "null"}, {"$any": "boolean"}, {"$any": "number"}, {"$any": "string"}, {"$any": "array"}, {"$any": "object"}]} }"#,
    5,
    NOTHING_FAILS_IT
)]
#[case::each_of_several_is_free(
    r#"{ "together": [{ "call": "demo.read", "returns": {"$any": "value"} }, { "call": "demo.read", "fails": {"code": {"$any": "string"}} }] }"#,
    5,
    NOTHING_FAILS_IT
)]
#[case::a_file_as_the_harness_wrote_it(
    r#"{ "call": "demo.read", "returns": {"$any": "value"} }, { "files": { "a": { "text": "1" } } }, { "leaves": { "a": { "text": "1" } } }"#,
    5,
    NOTHING_FAILS_IT
)]
#[case::a_file_before_any_call(
    r#"{ "leaves": { "a": null } }, { "call": "demo.read", "returns": {"$any": "value"} }"#,
    5,
    NOTHING_FAILS_IT
)]
#[case::a_reference_to_nothing_in_a_file(
    r#"{ "call": "demo.read", "returns": null }, { "leaves": { "a": { "ndjson": [{ "$ref": "gone" }] } } }"#,
    5,
    r#"`{"$ref": "gone"}` refers to nothing: no earlier step says `"as": "gone"` or `streamAs`; wrap a real value of that form in `$literal`"#
)]
#[case::a_name_with_a_slash(
    r#"{ "call": "demo.read", "as": "a/b", "returns": null }"#,
    5,
    r#"`"as": "a/b"` must be a name without a slash"#
)]
#[case::a_name_that_stands_twice(
    r#"{ "call": "demo.read", "as": "a", "returns": null }, { "call": "demo.read", "as": "a", "returns": null }"#,
    5,
    r#"`"as": "a"` occurs twice; each name once"#
)]
#[case::a_stream_under_a_name_that_is_taken(
    r#"{ "call": "demo.read", "as": "a", "streamAs": "a", "returns": null }"#,
    5,
    r#"`"streamAs": "a"` occurs twice; each name once"#
)]
#[case::a_reference_to_nothing(
    r#"{ "call": "demo.read", "args": {"a": [{"$ref": "pool/handle"}]}, "returns": null }"#,
    5,
    r#"`{"$ref": "pool/handle"}` refers to nothing: no earlier step says `"as": "pool"` or `streamAs`; wrap a real value of that form in `$literal`"#
)]
#[case::a_reference_to_itself(
    r#"{ "call": "demo.read", "as": "pool", "returns": {"$ref": "pool"} }"#,
    5,
    r#"`{"$ref": "pool"}` refers to nothing: no earlier step says `"as": "pool"` or `streamAs`; wrap a real value of that form in `$literal`"#
)]
#[case::a_session_without_a_call(r#"{ "kill": "b", "session": "c" }"#, 12, NOT_A_CALL)]
#[case::nothing_called(
    r#"{ "kill": "b" }"#,
    5,
    "it calls nothing, so it cannot fail; write a step with a `call`"
)]
fn a_broken_step(#[case] step: &str, #[case] line: usize, #[case] problem: &str) {
    assert_eq!(
        problems(changed(FIXTURE, CALL, step)),
        format!("{FIXTURE}:{line}: case `read/back`: {problem}")
    );
}

#[rstest]
#[case::asks(r#""returns": null, "asks": []"#, "asks")]
#[case::streams(r#""returns": null, "streams": []"#, "streams")]
#[case::hides(r#""returns": null, "hides": ["x"]"#, "hides")]
#[case::assumes(r#""assumes": { "returns": null }"#, "assumes")]
fn evidence_in_the_setup(#[case] members: &str, #[case] member: &str) {
    for step in [
        format!(r#"{{ "call": "demo.write", {members} }}"#),
        format!(r#"{{ "together": [{{ "call": "demo.write", {members} }}] }}"#),
    ] {
        let setup = format!(r#""setup": [{step}], "steps": ["#);
        assert_eq!(
            problems(changed(FIXTURE, r#""steps": ["#, &setup)),
            format!(
                "{FIXTURE}:11: case `read/back`: `{member}` is evidence, so it belongs to `steps`; a step of `setup` needs only `returns`, `fails` or `either`"
            )
        );
    }
}

#[test]
fn steps_of_the_setup_come_first_and_assume() {
    let setup = r#""setup": [
        { "call": "demo.write", "returns": {"$any": "value"} },
        { "leaves": { "a": { "text": "" } } },
        { "together": [{ "call": "demo.write", "fails": { "code": "E" } }, { "call": "demo.read", "returns": 1 }] }
      ], "steps": ["#;
    let suite = load(changed(FIXTURE, r#""steps": ["#, setup));
    let steps = &suite.case("demo/read/back").unwrap().steps;
    let setup: Vec<bool> = steps.iter().map(Step::is_setup).collect();
    assert_eq!(setup, [true, true, true, false]);
    for call in steps[..3].iter().flat_map(Step::calls) {
        assert!(call.expect.is_empty() && call.asks.is_none() && call.streams.is_none());
        assert_eq!(call.assumes.len(), 1);
    }
}

#[test]
fn a_call_that_only_assumes_shows_nothing() {
    let call = r#"{ "call": "demo.read", "assumes": { "returns": null } }"#;
    assert_eq!(
        problems(changed(FIXTURE, CALL, call)),
        format!("{FIXTURE}:5: case `read/back`: {NOTHING_FAILS_IT}")
    );
    let both =
        r#"{ "call": "demo.read", "assumes": { "returns": {"$any": "value"} }, "returns": null }"#;
    let suite = load(changed(FIXTURE, CALL, both));
    assert!(!suite.case("demo/read/back").unwrap().steps[0].is_setup());
}

#[test]
fn a_call_that_expects_what_it_assumes_shows_nothing() {
    let outcome = r#""fails": { "code": "E" }"#;
    let call = |more: &str| {
        format!(r#"{{ "call": "demo.read", "assumes": {{ {outcome} }}, {outcome}{more} }}"#)
    };
    assert_eq!(
        problems(changed(FIXTURE, CALL, &call(""))),
        format!(
            "{FIXTURE}:5: case `read/back`: the call expects no more than it assumes, so it shows nothing; assume less"
        )
    );
    for more in [r#", "asks": []"#, r#", "streams": []"#, r#", "hides": ["s3cret"]"#] {
        load(changed(FIXTURE, CALL, &call(more)));
    }
}

#[test]
fn a_bad_clock() {
    let clock = r#""given": {"clock": {"start": "noon", "stepMs": 1}}"#;
    let found = problems(changed(FIXTURE, GIVEN, clock));
    assert!(found.starts_with(&format!("{FIXTURE}:5: case `read/back`: ")), "{found}");
    assert!(found.contains("`clock.start` is not a time: "), "{found}");
}

#[test]
fn files_in_a_contract_without_a_workspace() {
    let mut files = changed(FIXTURE, GIVEN, r#""given": {"files": {"x": {"text": ""}}}"#);
    let (_, ledger) = files.iter_mut().find(|(path, _)| path == LEDGER).unwrap();
    *ledger = ledger.replace("workspace = true", "workspace = false");
    assert_eq!(
        problems(files),
        format!(
            "{FIXTURE}:5: case `read/back`: demo has no workspace (`workspace = false` in its ledger), so its cases cannot use files"
        )
    );
}

/// A fixture with these cases, each on a line of its own.
fn cases(ids: &[(&str, &str)]) -> Vec<(String, String)> {
    let lines: Vec<String> = ids
        .iter()
        .map(|(id, aliases)| {
            format!(
                r#"{{"id": "{id}", "aliases": {aliases}, "why": "w", "shows": ["DEMO-001"], "origin": "contract", "steps": [{CALL}]}}"#
            )
        })
        .collect();
    let text = format!(
        "{{\"contract\": \"demo\", \"topic\": \"read\", \"cases\": [\n{}\n]}}",
        lines.join(",\n")
    );
    crate::common::with(FIXTURE, &text)
}

#[rstest]
#[case::doubled(&[("read/a", "[]"), ("read/a", "[]")], "3: case `read/a`: the name `demo/read/a` is taken at fixtures/demo/read.json:2; names are permanent and unique")]
#[case::alias_of_another(&[("read/a", "[]"), ("read/b", r#"["read/a"]"#)], "3: case `read/b`: the name `demo/read/a` is taken at fixtures/demo/read.json:2; names are permanent and unique")]
#[case::same_alias(&[("read/a", r#"["read/old"]"#), ("read/b", r#"["read/old"]"#)], "3: case `read/b`: the name `demo/read/old` is taken at fixtures/demo/read.json:2; names are permanent and unique")]
#[case::name_of_a_scenario(&[("read/a", r#"["story/back"]"#)], "")]
fn a_name_is_taken(#[case] ids: &[(&str, &str)], #[case] problem: &str) {
    let expected = if problem.is_empty() {
        "features/demo/story.feature:4: case `story/back`: the name `demo/story/back` is taken at fixtures/demo/read.json:2; names are permanent and unique".to_owned()
    } else {
        format!("{FIXTURE}:{problem}")
    };
    assert_eq!(problems(cases(ids)), expected);
}

#[test]
fn no_cases() {
    assert_eq!(
        problems(cases(&[])),
        format!("{FIXTURE}:1: `cases` is empty; add a case, or delete the file")
    );
}

#[test]
fn every_broken_case_of_a_file_is_reported() {
    assert_eq!(
        problems(cases(&[("a", "[]"), ("read/ok", "[]"), ("b", "[]")])),
        format!(
            "{FIXTURE}:2: case `a`: the id must begin with the topic, `read/`\n\
             {FIXTURE}:4: case `b`: the id must begin with the topic, `read/`"
        )
    );
}

#[test]
fn a_case_is_read_as_it_is_written() {
    let steps = r#"{ "call": "demo.hold", "returns": null },
        { "$repeat": { "times": 2, "item": { "call": "demo.write", "args": { "n": "$index" }, "process": "p{{index}}", "returns": null } } },
        { "together": [ { "$repeat": { "times": 3, "item": { "call": "demo.read", "returns": null } } } ] },
        { "call": "demo.read", "returns": { "$literal": [ { "$repeat": "taken literally" } ] } }"#;
    let mut files = changed(FIXTURE, CALL, steps);
    for (_, text) in &mut files {
        *text = text.replace("\"origin\": \"contract\"", "\"origin\": \"oracle: RFC 8785\"");
    }
    let suite = load(files);
    let case = suite.case("demo/read/back").unwrap();
    assert_eq!(case.origin, Origin::Oracle("RFC 8785".to_owned()));
    assert_eq!(
        case.needs,
        ["demo.lock"],
        "the hook of an operation is needed even if the case does not name it"
    );
    let calls: Vec<_> = case
        .calls()
        .map(|call| (call.operation.as_str(), call.args.clone(), call.process.as_str()))
        .collect();
    assert_eq!(
        calls[..4],
        [
            ("demo.hold", json!({}), MAIN_PROCESS),
            ("demo.write", json!({"n": 0}), "p0"),
            ("demo.write", json!({"n": 1}), "p1"),
            ("demo.read", json!({}), MAIN_PROCESS),
        ]
    );
    assert!(matches!(&case.steps[3].action, Action::Together(calls) if calls.len() == 3));
    let lines: Vec<usize> = case.steps.iter().map(|step| step.at.line).collect();
    assert_eq!(lines, [12, 13, 13, 14, 15]);
}

#[test]
fn a_case_knows_its_line() {
    let suite = load(sound());
    let case = suite.case("demo/read/back").unwrap();
    assert_eq!(
        (case.at.to_string().as_str(), case.id()),
        ("fixtures/demo/read.json:5", "read/back")
    );
}
