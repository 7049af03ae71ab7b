//! `proofmark selftest` on an author's own suite.

use std::fs;

use crate::common::PROOFMARK;
use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A suite about hashing; `cases` are its cases.
fn suite(cases: Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    let contract = folder.path().join("fixtures/sage.utils");
    fs::create_dir_all(&contract).unwrap();
    let ledger = r#"
        contract = "sage.utils"
        title = "Hashes"
        text = "hashes.md"
        prefix = "HASH"
        workspace = false
        operations = ["utils.sha256"]

        [[requirement]]
        id = "HASH-001"
        level = "must"
        basis = "contract"
        sentence = "A text has a hash."
        source = "Hashes"
    "#;
    fs::write(contract.join("requirements.toml"), ledger).unwrap();
    let file = json!({ "contract": "sage.utils", "topic": "hash", "cases": cases });
    fs::write(contract.join("hash.json"), file.to_string()).unwrap();
    folder
}

fn case(id: &str, text: &str, returns: Value) -> Value {
    json!({
        "id": format!("hash/{id}"), "why": "A hash stands for its text.", "shows": ["HASH-001"], "origin": "contract",
        "steps": [{ "call": "utils.sha256", "args": { "text": text }, "returns": returns }],
    })
}

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// Runs selftest on the reference or on an adversary; returns the exit code and the report.
fn selftest(suite: &TempDir, part: &str, adversary: Option<&str>) -> (Option<i32>, Value) {
    let mut command = Command::new(PROOFMARK);
    command.args(["selftest", part, "--format", "json", "--suite"]).arg(suite.path());
    if let Some(adversary) = adversary {
        command.args(["--", PROOFMARK, "subject", "--adversary", adversary]);
    }
    let output = command.output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default())
}

#[test]
fn an_exact_case_notices_every_change() {
    let suite = suite(json!([case("abc", "abc", json!(ABC))]));
    let (code, report) = selftest(&suite, "--mutants", None);
    assert_eq!(code, Some(0), "{report}");
    let tally = &report["mutants"]["contracts"]["sage.utils"];
    assert!(tally["killed"].as_u64().unwrap() >= 6, "{report}");
    assert_eq!(tally["survived"], 0);
    assert_eq!(report["mutants"]["unnoticed"], json!([]));
}

#[test]
fn unnoticed_changes_are_listed() {
    let suite = suite(json!([case("abc", "abc", json!({ "$matches": "^[0-9a-f]" }))]));
    let (code, report) = selftest(&suite, "--mutants", None);
    // The author declared it free.
    assert_eq!(code, Some(0), "{report}");
    let unnoticed = json!({ "of": "utils.sha256", "place": "answer $", "mutation": "string changed", "matcher": "$matches" });
    assert!(report["mutants"]["unnoticed"].as_array().unwrap().contains(&unnoticed), "{report}");
}

#[test]
fn unnoticed_changes_are_listed_in_text_too() {
    let suite = suite(json!([case("abc", "abc", json!({ "$matches": "^[0-9a-f]" }))]));
    let mut command = Command::new(PROOFMARK);
    command.args(["selftest", "--mutants", "--suite"]).arg(suite.path());
    let shown = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let line = "  UNNOTICED utils.sha256  answer $: string changed  (left free by `$matches`)\n";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn one_case_that_notices_is_enough() {
    let loose = case("loose", "abc", json!({ "$matches": "^[0-9a-f]" }));
    let suite = suite(json!([loose, case("exact", "abc", json!(ABC))]));
    let (_, report) = selftest(&suite, "--mutants", None);
    assert_eq!(report["mutants"]["unnoticed"], json!([]), "{report}");
}

#[test]
fn a_subject_that_fails_proves_nothing_about_the_cases() {
    let suite = suite(json!([case(
        "empty",
        "",
        json!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    )]));
    let (code, report) = selftest(&suite, "--mutants", Some("crashes-on-empty-text"));
    assert_eq!(code, Some(1));
    assert_eq!(report["mutants"]["not_passed"], json!(["sage.utils/hash/empty"]));
}

/// Reports another version in every process.
const FICKLE: &str = r#"
    while read -r line; do
        id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
        case "$line" in
            *'"method":"hello"'*) result="{\"protocol\":1,\"name\":\"fickle\",\"version\":\"$$\",\"language\":\"sh\",\"contracts\":[\"sage.utils\"]}" ;;
            *) result='{"value":null}' ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
        case "$line" in *'"method":"shutdown"'*) exit ;; esac
    done
"#;

#[test]
fn a_nondeterministic_report_is_found() {
    let suite = suite(json!([case("abc", "abc", json!(ABC)), case("other", "def", json!(ABC))]));
    let output = Command::new(PROOFMARK)
        .args(["selftest", "--determinism", "--suite"])
        .arg(suite.path())
        .args(["--", "sh", "-c", FICKLE])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("BROKEN determinism"), "{shown}");
    assert!(shown.contains("DIFFERS forwards again: `\"version\": \""), "{shown}");
}

#[test]
fn reports_of_failures_are_deterministic() {
    let cases = (0..40).map(|n| case(&format!("n{n}"), &n.to_string(), json!(ABC)));
    let passing = case("abc", "abc", json!(ABC));
    let suite = suite(cases.chain([passing]).collect());
    let (code, report) = selftest(&suite, "--determinism", None);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["determinism"][0]["runs"], 11);
    assert_eq!(report["determinism"][0]["failing"], 40);
}

#[test]
fn a_subject_that_only_crashes_proves_nothing() {
    let suite = suite(json!([case("abc", "abc", json!(ABC))]));
    let (code, report) = selftest(&suite, "--determinism", Some("exits-at-once"));
    assert_eq!(code, Some(1), "{report}");
    assert_eq!(report["determinism"][0]["empty"], "no case passes, so the reports prove little");
}

#[test]
fn saboteurs_break_promises_of_the_built_in_suite() {
    let suite = suite(json!([case("abc", "abc", json!(ABC))]));
    // A subject of another author has no saboteurs.
    assert_eq!(selftest(&suite, "--saboteurs", Some("crashes-on-empty-text")).0, Some(2));
    // The reference has, but this suite lacks the promises that they break.
    let (code, report) = selftest(&suite, "--saboteurs", None);
    assert_eq!(code, Some(1));
    assert!(
        report["saboteurs"][0]["problems"][0].as_str().unwrap().contains("which is in no ledger")
    );
}

#[test]
fn leftover_processes_are_killed_and_reported() {
    let suite = suite(json!([case("abc", "abc", json!(ABC))]));
    let (code, report) = selftest(&suite, "--mutants", Some("leaves-a-daemon"));
    assert_eq!(code, Some(1));
    assert!(report["left"].as_u64().unwrap() >= 1, "{report}");
}
