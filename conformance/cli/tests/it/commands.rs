//! The program from the user's view: output, exit codes, and messages about bad input.

use std::fs;
use std::path::Path;

use crate::common::{PROOFMARK, proofmark};
use assert_cmd::Command;
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

#[track_caller]
fn undetermined(args: &[&str], shown: &str) {
    let said = proofmark(args);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    assert!(said.err.contains(shown), "{}", said.err);
}

#[test]
fn the_reference_is_certified() {
    let said = proofmark(&["certify", "reference"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
    for contract in proofmark(&["list", "contracts"]).out.lines() {
        assert!(said.out.contains(&format!("{contract}  certified")), "{}", said.out);
    }
    for id in proofmark(&["list", "requirements"]).out.lines() {
        assert!(said.out.contains(&format!(" {id}  ")), "no line for {id}");
    }
    assert!(said.err.contains(" cases, 0 failed"), "progress is shown: {}", said.err);
}

/// `nohup` and background shells start programs with signals ignored.
#[test]
fn signals_that_are_ignored_here_are_not_ignored_by_the_subject() {
    let script = format!(
        "trap '' HUP QUIT; exec {PROOFMARK} run --case sage.utils/sha256/abc -- grep SigIgn /proc/self/status"
    );
    let said = Command::new("sh").args(["-c", &script]).output().unwrap();
    let shown = String::from_utf8_lossy(&said.stdout).into_owned();
    // It is not an adapter, so its output is reported as garbage.
    let mask = shown.split("SigIgn:\\t").nth(1).unwrap_or_else(|| panic!("{shown}"));
    let ignored = u64::from_str_radix(&mask[..16], 16).unwrap();
    assert_eq!(ignored & 0b101, 0, "{shown}");
}

#[test]
fn one_contract_can_be_certified_alone() {
    let said = proofmark(&["certify", "--contract", "sage.errors", "reference"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
    assert!(
        said.out.contains("sage.errors  certified") && !said.out.contains("sage.utils "),
        "{}",
        said.out
    );
}

/// The one saboteur's lie is reported, and nothing else.
#[test]
fn only_the_broken_promise_is_reported() {
    let said = proofmark(&[
        "certify",
        "--format",
        "json",
        "--contract=sage.chronicle",
        "--contract=sage.errors",
        "--contract=sage.utils",
        "--",
        PROOFMARK,
        "subject",
        "--adversary",
        "tail-from-the-head",
    ]);
    assert_eq!(said.code, Some(1));
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let certified: Vec<(&str, bool)> = report["contracts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|contract| {
            (contract["id"].as_str().unwrap(), contract["certified"].as_bool().unwrap())
        })
        .collect();
    assert_eq!(certified, [("sage.chronicle", false), ("sage.errors", true), ("sage.utils", true)]);
    let failed =
        report["cases"].as_array().unwrap().iter().filter(|case| case["verdict"] == "failed");
    let operations: Vec<&Value> =
        failed.map(|case| &case["failure"]["call"]["operation"]).collect();
    assert!(!operations.is_empty());
    assert!(
        operations.iter().all(|operation| *operation == "chronicle.tailChronicle"),
        "{operations:?}"
    );
}

#[test]
fn a_failure_says_all_that_is_needed() {
    let said = proofmark(&[
        "run",
        "--case",
        "sage.chronicle/tail/the-last-one",
        "--",
        PROOFMARK,
        "subject",
        "--adversary",
        "tail-from-the-head",
    ]);
    assert_eq!(said.code, Some(1));
    let shown = said.out.replace(PROOFMARK, "proofmark");
    // The last line contains the duration.
    let shown: Vec<&str> = shown.lines().filter(|line| !line.contains(" passed, ")).collect();
    insta::assert_snapshot!(shown.join("\n"));
    // The printed command runs this case alone and fails the same way.
    let line = said
        .out
        .lines()
        .find_map(|line| line.trim().strip_prefix("run it alone: proofmark "))
        .unwrap();
    let again = Command::new(PROOFMARK).args(line.split(' ')).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(
        String::from_utf8(again.stdout)
            .unwrap()
            .contains("FAILED sage.chronicle/tail/the-last-one")
    );
}

/// Workers, window and order affect only the duration.
#[test]
fn verdicts_do_not_depend_on_workers_window_or_order() {
    let report = |how: &[&str]| {
        let args = [
            // One at a time is slow, so this runs only the contract with many processes.
            &["run", "--law-cases", "10", "--format", "json", "--contract", "sage.chronicle"],
            how,
            &["--", PROOFMARK, "subject", "--adversary", "tail-from-the-head"],
        ]
        .concat();
        let mut report: Value = serde_json::from_str(&proofmark(&args).out).unwrap();
        assert!(report.as_object_mut().unwrap().remove("timing").is_some());
        report.to_string()
    };
    let first = report(&[]);
    for how in [
        &["--jobs", "1", "--window", "1"][..],
        &["--jobs", "3", "--shuffle", "7"],
        &["--shuffle", "11", "--window", "100"],
    ] {
        assert_eq!(report(how), first, "{how:?}");
    }
}

#[test]
fn lists_are_names_and_nothing_else() {
    let contracts = "common\nruns\nsage.chronicle\nsage.errors\nsage.llm\nsage.tools\nsage.utils\n";
    assert_eq!(proofmark(&["list", "contracts"]).out, contracts);
    let cases = proofmark(&["list", "cases"]).out;
    assert!(
        cases.lines().count() > 500
            && cases.lines().all(|line| contracts.contains(line.split('/').next().unwrap())),
        "{cases}"
    );
}

#[rstest]
#[case("UTILS-017", &["UTILS-017  The SHA-256 of \"hello\"", "source    sage.md: @sage/utils", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"])]
#[case("sage.utils/sha256/the-example", &["why ", "shows     UTILS-017", "origin    contract", "call utils.sha256 {\"text\":\"hello\"}"])]
#[case("sage.errors", &["Error", "operation errors.raise", "ERRORS-001"])]
fn show_prints_everything_about_an_id(#[case] id: &str, #[case] parts: &[&str]) {
    let said = proofmark(&["show", id]);
    assert_eq!(said.code, Some(0));
    for part in parts {
        assert!(said.out.contains(part), "`{part}` is not in:\n{}", said.out);
    }
}

#[rstest]
#[case(&["certify"], "no subject given")]
#[case(&["run"], "no subject given")]
#[case(&["doctor"], "no subject given")]
#[case(&["certify", "reference", "--", "node"], "give one of `reference`, `--manifest FILE` and a command")]
#[case(&["run", "--case", "no/such/*", "reference"], "no case matches `no/such/*`")]
#[case(&["run", "--case", "sage.utils/sha256/the-exmaple", "reference"], "did you mean `sage.utils/sha256/the-example`?")]
#[case(&["run", "--case", "a[", "reference"], "`a[` is not a glob")]
#[case(&["run", "--contract", "sage.util", "reference"], "unknown contract `sage.util` (did you mean `sage.utils`?)")]
#[case(&["run", "--requirement", "UTILS-999", "reference"], "unknown requirement `UTILS-999`")]
#[case(&["run", "--contract", "sage.errors", "--requirement", "UTILS-001", "reference"], "no case matches all filters")]
#[case(&["run", "--jobs", "0"], "0 is not in 1..=256")]
#[case(&["show", "UTILS-01"], "unknown id `UTILS-01` (did you mean `UTILS-001`?)")]
#[case(&["run", "--suite", "/no/such/folder", "reference"], "`/no/such/folder` cannot be read")]
#[case(&["frobnicate"], "unrecognized subcommand")]
fn bad_input_is_reported_without_a_verdict(#[case] args: &[&str], #[case] shown: &str) {
    undetermined(args, shown);
}

#[test]
fn a_closed_pipe_is_no_error_for_listings() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = std::process::Command::new(PROOFMARK)
        .args(["list", "cases"])
        .stdout(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
}

/// The verdict does not depend on the reader.
#[test]
fn a_closed_pipe_does_not_turn_a_failure_into_a_success() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut certify = std::process::Command::new(PROOFMARK);
    certify.args(["certify", "--", PROOFMARK, "subject", "--adversary", "exits-at-once"]);
    assert_eq!(certify.stdout(writer).status().unwrap().code(), Some(1));
}

/// A suite of one contract, whose only case is `case`.
fn suite_with(case: Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    let ledger = "contract = \"my.notes\"\ntitle = \"Notes\"\ntext = \"notes.md\"\nprefix = \"NOTES\"\nworkspace = false\noperations = [\"utils.sha256\"]\n\n[[requirement]]\nid = \"NOTES-001\"\nlevel = \"must\"\nbasis = \"contract\"\nsentence = \"It hashes.\"\nsource = \"here\"\n";
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let fixtures = folder.path().join("fixtures/my.notes");
    write(&fixtures.join("requirements.toml"), ledger);
    let fixture = json!({"contract": "my.notes", "topic": "notes", "cases": [case]});
    write(&fixtures.join("notes.json"), &serde_json::to_string_pretty(&fixture).unwrap());
    folder
}

fn hashing_case() -> Value {
    json!({
        "id": "notes/hash", "why": "It is the contract.", "shows": ["NOTES-001"], "origin": "contract",
        "steps": [{ "call": "utils.sha256", "args": { "text": "" }, "returns": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" }],
    })
}

#[test]
fn an_authors_suite_replaces_the_built_in_one() {
    let folder = suite_with(hashing_case());
    let at = folder.path().to_str().unwrap();
    assert_eq!(proofmark(&["list", "cases", "--suite", at]).out, "my.notes/notes/hash\n");
    let lint = proofmark(&["lint", "--suite", at]);
    assert_eq!(
        (lint.code, lint.out.as_str()),
        (Some(0), "1 contract, 1 requirement, 1 case: no problem\n")
    );
    // The reference does not claim the contract, so the case is not exercised.
    let run = proofmark(&["run", "--suite", at, "reference"]);
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("0 passed, 0 failed, 1 not exercised"), "{}", run.out);
}

#[test]
fn a_broken_suite_is_reported_with_file_and_line() {
    let mut case = hashing_case();
    case["shows"] = json!(["NOTES-002"]);
    case["steps"][0]["retuns"] = json!(null);
    let folder = suite_with(case);
    let at = folder.path().to_str().unwrap();
    let lint = proofmark(&["lint", "--suite", at]);
    assert_eq!(lint.code, Some(1));
    assert!(
        lint.out.starts_with(
            "error: case `notes/hash`: unknown field `retuns`\n  --> fixtures/my.notes/notes.json:"
        ),
        "{}",
        lint.out
    );
    assert!(lint.out.contains("= help: expected one of `call`"), "{}", lint.out);
    undetermined(
        &["run", "--suite", at, "reference"],
        "the suite is broken:\n  fixtures/my.notes/notes.json:13:",
    );
}

#[test]
fn the_reference_speaks_the_protocol_by_hand() {
    let hello = r#"{"jsonrpc":"2.0","id":"mine","method":"hello","params":{"protocol":1,"harness":{"name":"by hand","version":"0"}}}"#;
    let output =
        Command::new(PROOFMARK).arg("subject").write_stdin(format!("{hello}\n")).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let contracts: Vec<&str> = proofmark_catalog::rooms().map(|room| room.contract).collect();
    assert_eq!(
        (&answer["id"], &answer["result"]["contracts"]),
        (&json!("mine"), &json!(contracts))
    );
    assert_eq!(output.status.code(), Some(0));
}
