//! Identifiers: each at its limits and just beyond them, and held against the contract's patterns.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

use agent_common::{
    BranchName, ConflictId, GraphNodeId, GraphRel, GraphType, NameError, PlanId, StepId, StepPath,
    TaskId, WorkspaceId,
};
use proptest::prelude::*;
use regex::Regex;
use rstest::rstest;

/// Parses a text as an id of this kind; none if it is invalid.
fn parse(kind: &str, text: &str) -> Option<String> {
    match kind {
        "workspace" => WorkspaceId::parse(text).ok().map(String::from),
        "branch" => BranchName::parse(text).ok().map(String::from),
        "plan" => PlanId::parse(text).ok().map(String::from),
        "task" => TaskId::parse(text).ok().map(String::from),
        "step" => StepId::parse(text).ok().map(String::from),
        "path" => StepPath::parse(text).ok().map(String::from),
        "conflict" => ConflictId::parse(text).ok().map(String::from),
        "node" => GraphNodeId::parse(text).ok().map(String::from),
        "type" => GraphType::parse(text).ok().map(String::from),
        "rel" => GraphRel::parse(text).ok().map(String::from),
        other => panic!("no kind `{other}`"),
    }
}

/// The patterns of the contract's text, written down here once more.
fn pattern(kind: &str) -> Regex {
    let pattern = match kind {
        "workspace" | "branch" => r"\A[A-Za-z0-9][A-Za-z0-9._/-]{0,127}\z",
        "plan" | "task" => r"\A(PLAN|TASK)-[0-9]{3,}\z",
        "step" => r"\A(STEP|NODE)-[A-Za-z0-9]{8,}\z",
        "path" => r"\As:[0-9]+(\.s:[0-9]+)*\z",
        "conflict" => r"\ACONFLICT-[0-9a-f]{32}\z",
        "node" => r"\A[^|\p{Cc}]{1,256}\z",
        "type" => r"\A[^\p{Cc}]{1,128}\z",
        "rel" => r"\A[^|\p{Cc}]{1,128}\z",
        other => panic!("no kind `{other}`"),
    };
    Regex::new(pattern).unwrap()
}

#[rstest]
#[case("workspace", "a")]
#[case("workspace", "0")]
#[case("workspace", "Org/project.v2_x-y")]
#[case("workspace", "a//..--__")]
#[case("branch", "main")]
#[case("branch", "feature/x.1")]
#[case("plan", "PLAN-001")]
#[case("plan", "TASK-001")]
#[case("plan", "PLAN-000")]
#[case("task", "TASK-1000")]
#[case("task", "TASK-99999999999999999999999999999999")]
#[case("step", "STEP-0000000A")]
#[case("step", "NODE-abcdefghi")]
#[case("path", "s:0")]
#[case("path", "s:0.s:1.s:22")]
#[case("path", "s:00")]
#[case("path", "s:99999999999999999999999999")]
#[case("conflict", "CONFLICT-0123456789abcdef0123456789abcdef")]
#[case("node", "a b")]
#[case("node", "n\u{fc}ll \u{1f600}")]
#[case("node", "\u{200b}")]
#[case("type", "a|b")]
#[case("rel", "depends on")]
fn well_formed(#[case] kind: &str, #[case] text: &str) {
    assert_eq!(parse(kind, text).as_deref(), Some(text));
}

#[rstest]
#[case("workspace", "")]
#[case("workspace", "-a")]
#[case("workspace", ".a")]
#[case("workspace", "/a")]
#[case("workspace", "_a")]
#[case("workspace", "a b")]
#[case("workspace", " a")]
#[case("workspace", "a\n")]
#[case("workspace", "a|b")]
#[case("workspace", "\u{e4}")]
#[case("workspace", "a\u{e4}")]
#[case("workspace", "\u{ff11}")]
#[case("branch", "")]
#[case("branch", "main ")]
#[case("plan", "PLAN-01")]
#[case("plan", "PLAN-")]
#[case("plan", "PLAN001")]
#[case("plan", "plan-001")]
#[case("plan", "STEP-001")]
#[case("plan", "PLAN-001 ")]
#[case("plan", "PLAN-001\n")]
#[case("plan", "PLAN-0x1")]
#[case("plan", "PLAN-\u{661}\u{662}\u{663}")]
#[case("task", "")]
#[case("task", "TASK--001")]
#[case("step", "STEP-0000000")]
#[case("step", "STEP-0000-000")]
#[case("step", "STEP-\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}\u{e4}")]
#[case("step", "TASK-00000001")]
#[case("path", "")]
#[case("path", "s:")]
#[case("path", "s:0.")]
#[case("path", ".s:0")]
#[case("path", "s:0..s:1")]
#[case("path", "s:0.1")]
#[case("path", "0")]
#[case("path", "S:0")]
#[case("path", "s:-1")]
#[case("path", "s:+1")]
#[case("path", "s:0\n")]
#[case("conflict", "CONFLICT-0123456789abcdef0123456789abcde")]
#[case("conflict", "CONFLICT-0123456789abcdef0123456789abcdef0")]
#[case("conflict", "CONFLICT-0123456789ABCDEF0123456789ABCDEF")]
#[case("conflict", "CONFLICT-0123456789abcdeg0123456789abcdef")]
#[case("node", "")]
#[case("node", " \t\n\u{2003} ")]
#[case("node", "a|b")]
#[case("node", "|")]
#[case("node", "a\nb")]
#[case("node", "a\u{0}b")]
#[case("node", "a\u{7f}b")]
#[case("node", "a\u{9f}b")]
#[case("type", "")]
#[case("type", "a\tb")]
#[case("rel", "a|b")]
#[case("rel", "a\u{1b}b")]
fn ill_formed(#[case] kind: &str, #[case] text: &str) {
    assert_eq!(parse(kind, text), None);
}

#[rstest]
#[case("workspace", 128, "a")]
#[case("branch", 128, "a")]
#[case("node", 256, "a")]
#[case("node", 256, "\u{1f600}")]
#[case("type", 128, "\u{e4}")]
#[case("rel", 128, "\u{1f600}")]
fn lengths_are_of_characters(#[case] kind: &str, #[case] most: usize, #[case] character: &str) {
    for length in [1, most - 1, most] {
        let text = character.repeat(length);
        assert_eq!(parse(kind, &text), Some(text));
    }
    assert_eq!(parse(kind, &character.repeat(most + 1)), None);
    assert_eq!(parse(kind, ""), None);
}

#[rstest]
#[case("node")]
#[case("type")]
#[case("rel")]
fn white_space_around_a_graph_id_is_taken_off_before_it_is_checked(#[case] kind: &str) {
    assert_eq!(parse(kind, " \r\n\u{a0}a b\u{3000}\u{85}\t"), Some("a b".to_owned()));
    let most = if kind == "node" { 256 } else { 128 };
    let text = "x".repeat(most);
    assert_eq!(parse(kind, &format!("  {text}\n")), Some(text));
}

#[test]
fn every_control_character_is_refused_and_no_other() {
    for character in char::from_u32(0).unwrap()..=char::from_u32(0x2ff).unwrap() {
        let control = matches!(u32::from(character), 0..=0x1f | 0x7f..=0x9f);
        let text = format!("a{character}b");
        assert_eq!(GraphType::parse(&text).is_err(), control, "{character:?}");
        let refused = control || character == '|';
        assert_eq!(GraphNodeId::parse(&text).is_err(), refused, "{character:?}");
        assert_eq!(GraphRel::parse(&text).is_err(), refused, "{character:?}");
    }
}

#[test]
fn errors_name_the_fault_and_its_place() {
    let what = "GraphNodeId";
    assert_eq!(GraphNodeId::parse("  "), Err(NameError::Empty { what }));
    let long = GraphNodeId::parse(&"\u{e4}".repeat(257));
    assert_eq!(long, Err(NameError::TooLong { what, most: 256, found: 257 }));
    let message = GraphNodeId::parse("\u{e4}|").unwrap_err().to_string();
    assert!(message.contains("'|' at character 1"), "{message}");
    let message = TaskId::parse("x").unwrap_err().to_string();
    assert!(message.contains("TASK-001") && message.contains(TaskId::PATTERN), "{message}");
}

#[test]
fn deserialized_names_are_checked_too() {
    assert!(serde_json::from_str::<WorkspaceId>("\"a b\"").is_err());
    assert!(serde_json::from_str::<ConflictId>("\"CONFLICT-1\"").is_err());
    assert_eq!(serde_json::from_str::<GraphRel>("\" a \"").unwrap().as_str(), "a");
}

const KINDS: [&str; 10] =
    ["workspace", "branch", "plan", "task", "step", "path", "conflict", "node", "type", "rel"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Texts that are nearly right, and any texts at all.
    #[test]
    fn a_text_is_an_id_when_the_contracts_pattern_says_so(
        kind in prop::sample::select(&KINDS[..]),
        text in prop_oneof![
            "(PLAN|TASK|STEP|NODE|CONFLICT|)-?[0-9a-fA-F]{0,9}",
            "CONFLICT-[0-9a-g]{31,33}",
            "(s:[0-9]{0,2}\\.?){0,3}",
            "[A-Za-z0-9._/ |\\n-]{0,130}",
            "\\PC{0,300}",
            any::<String>(),
        ],
    ) {
        let graph = ["node", "type", "rel"].contains(&kind);
        let canonical = if graph { text.trim() } else { &text };
        let expected = pattern(kind).is_match(canonical).then(|| canonical.to_owned());
        prop_assert_eq!(parse(kind, &text), expected);
    }
}
