//! Verdicts, on made-up runs.

use proofmark_judge::Fault;
use proofmark_judge::ledger::Level;
use proofmark_judge::matcher::Difference;
use proofmark_judge::verdict::{
    CallSeen, CaseResult, Failure, NotExercised, RequirementVerdict, RunOutcome, Verdict,
};
use proofmark_judge::{Location, Suite};
use proofmark_protocol::HelloReply;
use rstest::rstest;
use serde_json::{Map, json};

use crate::common::{LEDGER, load, sound};

/// 001 must, by read/back and story/back; 002 an interpretation, by read/guess; 003 excluded;
/// 004 should, by read/option.
fn suite() -> Suite {
    let mut files = sound();
    for (path, text) in &mut files {
        if path == LEDGER {
            for (id, basis, level, further) in [
                ("002", "interpretation", "must", "reason = \"the text is silent\""),
                ("003", "contract", "must", "excluded = \"nobody can\""),
                ("004", "contract", "should", ""),
            ] {
                text.push_str(&format!(
                    "\n[[requirement]]\nid = \"DEMO-{id}\"\nlevel = \"{level}\"\nbasis = \"{basis}\"\nsentence = \"s\"\nsource = \"t\"\n{further}\n"
                ));
            }
        }
    }
    let case = |id: &str, shows: &str| {
        format!(
            r#"{{"id": "extra/{id}", "why": "w", "shows": ["DEMO-{shows}"], "origin": "contract", "steps": [{{"call": "demo.read", "returns": null}}]}}"#
        )
    };
    let text = format!(
        r#"{{"contract": "demo", "topic": "extra", "cases": [{}, {}]}}"#,
        case("guess", "002"),
        case("option", "004")
    );
    files.push(("fixtures/demo/extra.json".to_owned(), text));
    load(files)
}

fn hello(contracts: &[&str]) -> HelloReply {
    HelloReply {
        protocol: 1,
        name: "made-up".to_owned(),
        version: "1.0.0".to_owned(),
        language: "none".to_owned(),
        contracts: contracts.iter().map(|id| (*id).to_owned()).collect(),
        options: Map::new(),
        hooks: Vec::new(),
    }
}

fn failed() -> Verdict {
    let at = Location { file: "fixtures/demo/read.json".to_owned(), line: 12 };
    let failure = Failure::new("difference", "it returned something else", &at);
    Verdict::Failed { failure: Box::new(failure) }
}

/// Blocked because this member of the answer is missing.
fn blocked_at(path: &str) -> Verdict {
    Verdict::of(Box::new(Failure { setup: true, ..missing(path) }))
}

fn missing(path: &str) -> Failure {
    let at = Location { file: "fixtures/demo/read.json".to_owned(), line: 12 };
    let call = CallSeen {
        operation: "demo.read".to_owned(),
        args: json!({}),
        process: "a".to_owned(),
        session: String::new(),
    };
    let difference = Difference {
        path: path.to_owned(),
        expected: "a string".to_owned(),
        got: "nothing: the member is missing".to_owned(),
    };
    let failure = Failure::new("difference", "", &at);
    Failure { call: Some(call), difference: Some(difference), ..failure }
}

fn hook_missing() -> Verdict {
    Verdict::NotExercised { reason: NotExercised::HookMissing("demo.lock".to_owned()) }
}

fn not_claimed() -> Verdict {
    Verdict::NotExercised { reason: NotExercised::NotClaimed }
}

/// A run in which everything passed except for these cases; `None` means not selected.
fn run(but: &[(&str, Option<Verdict>)]) -> RunOutcome {
    let all = ["demo/extra/guess", "demo/extra/option", "demo/read/back", "demo/story/back"];
    for (name, _) in but {
        assert!(all.contains(name), "{name}");
    }
    let results = all.iter().filter_map(|name| {
        let said = but.iter().find(|(case, _)| case == name);
        let verdict = said.map_or(Some(Verdict::Passed), |(_, verdict)| verdict.clone())?;
        Some(CaseResult::new(name, verdict))
    });
    RunOutcome {
        subject: Some(hello(&["demo"])),
        results: results.collect(),
        ..RunOutcome::default()
    }
}

fn certified(outcome: &RunOutcome) -> bool {
    let suite = suite();
    let contracts = outcome.judge(&suite);
    assert_eq!(contracts.len(), 1);
    contracts[0].certified
}

fn not_shown(reason: &str) -> RequirementVerdict {
    RequirementVerdict::NotShown { reason: reason.to_owned() }
}

fn broken(cases: &[&str]) -> RequirementVerdict {
    RequirementVerdict::Broken { cases: cases.iter().map(|name| (*name).to_owned()).collect() }
}

fn blocked(cases: &[&str], by: Option<&str>) -> RequirementVerdict {
    RequirementVerdict::Blocked {
        cases: cases.iter().map(|name| (*name).to_owned()).collect(),
        by: by.map(str::to_owned),
        reason: "`demo.read`: `$.id` is nothing: the member is missing".to_owned(),
    }
}

const BACK: &str = "demo/read/back";
const STORY: &str = "demo/story/back";
const NOT_SELECTED: &str = "not every case that shows it was selected";
const NO_HOOK: &str = "the subject has no test hook `demo.lock`";

/// The verdict on DEMO-001, whose two cases end like this.
#[rstest]
#[case::both_pass(Some(Verdict::Passed), Some(Verdict::Passed), RequirementVerdict::Holds, 2)]
#[case::one_fails(Some(Verdict::Passed), Some(failed()), broken(&[STORY]), 1)]
#[case::both_fail(Some(failed()), Some(failed()), broken(&[BACK, STORY]), 0)]
#[case::one_fails_and_one_is_missing(None, Some(failed()), broken(&[STORY]), 0)]
#[case::one_fails_and_one_is_idle(Some(hook_missing()), Some(failed()), broken(&[STORY]), 0)]
#[case::one_not_selected(Some(Verdict::Passed), None, not_shown(NOT_SELECTED), 1)]
#[case::none_selected(None, None, not_shown(NOT_SELECTED), 0)]
#[case::one_is_blocked(Some(Verdict::Passed), Some(blocked_at("$.id")), blocked(&[STORY], None), 1)]
#[case::blocked_and_not_selected(None, Some(blocked_at("$.id")), blocked(&[STORY], None), 0)]
#[case::blocked_and_failed(Some(failed()), Some(blocked_at("$.id")), broken(&[BACK]), 0)]
#[case::hook_missing(Some(Verdict::Passed), Some(hook_missing()), not_shown(NO_HOOK), 1)]
#[case::hook_missing_and_not_selected(Some(hook_missing()), None, not_shown(NO_HOOK), 0)]
#[case::not_selected_and_hook_missing(None, Some(hook_missing()), not_shown(NO_HOOK), 0)]
#[case::not_claimed(
    Some(not_claimed()),
    Some(not_claimed()),
    not_shown("the subject does not claim the contract"),
    0
)]
fn a_requirement(
    #[case] back: Option<Verdict>,
    #[case] story: Option<Verdict>,
    #[case] verdict: RequirementVerdict,
    #[case] passed: usize,
) {
    let suite = suite();
    let holds = verdict == RequirementVerdict::Holds;
    let contracts = run(&[(BACK, back), (STORY, story)]).judge(&suite);
    let result = &contracts[0].requirements[0];
    assert_eq!(
        (result.requirement.id.as_str(), &result.verdict, result.passed, result.cases),
        ("DEMO-001", &verdict, passed, 2)
    );
    assert_eq!(contracts[0].certified, holds, "it is the only one that decides");
    assert_eq!(contracts[0].deciding(), (usize::from(holds), 1));
}

#[rstest]
#[case::the_same_member("$.id", Some("DEMO-004"))]
#[case::another_member("$.name", None)]
fn a_blocked_requirement_names_the_broken_one_that_looks_like_it(
    #[case] broken_at: &str,
    #[case] by: Option<&str>,
) {
    let suite = suite();
    let cause = Verdict::of(Box::new(missing(broken_at)));
    let outcome = run(&[(BACK, Some(blocked_at("$.id"))), ("demo/extra/option", Some(cause))]);
    let contracts = outcome.judge(&suite);
    assert_eq!(contracts[0].requirements[0].verdict, blocked(&[BACK], by));
    assert!(!contracts[0].certified);
}

#[test]
fn an_excluded_requirement_neither_holds_nor_decides() {
    let suite = suite();
    let contracts = run(&[]).judge(&suite);
    let result = &contracts[0].requirements[2];
    assert_eq!(result.verdict, RequirementVerdict::Excluded { reason: "nobody can".to_owned() });
    assert!(contracts[0].certified);
    assert_eq!((contracts[0].deciding(), contracts[0].others()), ((1, 1), (2, 2)));
}

/// 004 is a must about an optional feature.
fn with_an_option() -> Suite {
    let mut suite = suite();
    let option = &mut suite.contracts[0].requirements[3];
    option.level = Level::Must;
    option.applies_with = Some("demo.lock".to_owned());
    suite
}

#[rstest]
#[case::offered_and_kept(true, Verdict::Passed, true, (2, 2))]
#[case::offered_and_broken(true, failed(), false, (1, 2))]
#[case::offered_and_not_shown(true, hook_missing(), false, (1, 2))]
#[case::not_offered(false, hook_missing(), true, (1, 1))]
#[case::not_offered_and_broken_all_the_same(false, failed(), false, (1, 2))]
fn an_optional_feature_decides_only_if_offered(
    #[case] offered: bool,
    #[case] verdict: Verdict,
    #[case] certified: bool,
    #[case] deciding: (usize, usize),
) {
    let suite = with_an_option();
    let mut outcome = run(&[("demo/extra/option", Some(verdict))]);
    if let (true, Some(subject)) = (offered, &mut outcome.subject) {
        subject.hooks = vec!["demo.lock".to_owned()];
    }
    let contracts = outcome.judge(&suite);
    assert_eq!((contracts[0].certified, contracts[0].deciding()), (certified, deciding));
}

#[rstest]
#[case::interpretation("demo/extra/guess", 1)]
#[case::should("demo/extra/option", 3)]
fn interpretations_and_options_are_reported_and_never_decide(
    #[case] case: &str,
    #[case] at: usize,
) {
    let suite = suite();
    for verdict in [Some(failed()), Some(hook_missing()), None] {
        let contracts = run(&[(case, verdict)]).judge(&suite);
        assert_ne!(contracts[0].requirements[at].verdict, RequirementVerdict::Holds);
        assert!(contracts[0].certified);
        assert_eq!((contracts[0].deciding(), contracts[0].others()), ((1, 1), (1, 2)));
    }
}

#[test]
fn a_clean_run_certifies() {
    assert!(certified(&run(&[])));
    assert!(run(&[]).all_passed());
}

#[test]
fn a_fault_of_the_run_certifies_nothing() {
    let outcome = RunOutcome { faults: vec![Fault::LeftProcesses { count: 1 }], ..run(&[]) };
    assert!(!certified(&outcome));
    assert!(!outcome.all_passed());
}

#[test]
fn an_interrupted_run_certifies_nothing() {
    let outcome = RunOutcome { interrupted: true, ..run(&[]) };
    assert!(!certified(&outcome));
    assert!(!outcome.all_passed(), "missing cases were not tried");
}

#[rstest]
#[case::claims_nothing(Some(hello(&[])))]
#[case::claims_another(Some(hello(&["demo.more", "dem"])))]
#[case::never_said_hello(None)]
fn an_unclaimed_contract_is_not_certified(#[case] subject: Option<HelloReply>) {
    let suite = suite();
    let outcome = RunOutcome { subject, ..run(&[]) };
    let contracts = outcome.judge(&suite);
    assert_eq!((contracts[0].claimed, contracts[0].certified), (false, false));
}

#[test]
fn a_contract_whose_requirements_do_not_decide_is_not_certified() {
    let mut files = sound();
    for (_, text) in &mut files {
        *text = text.replace("level = \"must\"", "level = \"should\"");
    }
    let suite = load(files);
    let passed = |case: &str| CaseResult::new(case, Verdict::Passed);
    let outcome = RunOutcome { results: vec![passed(BACK), passed(STORY)], ..run(&[]) };
    let contracts = outcome.judge(&suite);
    assert_eq!(contracts[0].requirements[0].verdict, RequirementVerdict::Holds);
    assert!(!contracts[0].certified);
}

#[test]
fn a_contract_that_the_run_did_not_touch_is_not_judged() {
    let nothing: Vec<_> = [BACK, STORY, "demo/extra/guess", "demo/extra/option"]
        .iter()
        .map(|name| (*name, None))
        .collect();
    let outcome = run(&nothing);
    assert!(outcome.judge(&suite()).is_empty());
    assert!(!outcome.all_passed(), "a run of zero cases shows nothing");
}

#[rstest]
#[case(Verdict::Passed, true)]
#[case(failed(), false)]
#[case(blocked_at("$.id"), false)]
#[case(hook_missing(), false)]
#[case(not_claimed(), false)]
fn all_passed_means_all(#[case] verdict: Verdict, #[case] all: bool) {
    assert_eq!(run(&[("demo/extra/guess", Some(verdict))]).all_passed(), all);
}
