//! A law that a subject breaks: the smallest input is found, reported and saved.

use std::fs;
use std::path::Path;

use crate::common::PROOFMARK;
use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// Runs cases on an adversary; returns the exit code and the output.
fn run(adversary: &str, args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(PROOFMARK)
        .arg("run")
        .args(args)
        .args(["--", PROOFMARK, "subject", "--adversary", adversary])
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// The failure of the only case that ran.
fn failure(adversary: &str, args: &[&str]) -> Value {
    let (code, printed) = run(adversary, &[args, &["--format", "json"]].concat());
    assert_eq!(code, Some(1), "{printed}");
    let report: Value = serde_json::from_str(&printed).unwrap();
    report["cases"][0]["failure"].clone()
}

const NESTED: [&str; 2] = ["--case", "sage.utils/laws/keys-are-sorted-at-every-depth"];

#[test]
fn the_input_is_as_small_as_it_gets() {
    let failure = failure("sorts-at-the-top-only", &NESTED);
    let value = &failure["found"]["cases"][0]["steps"][0]["args"]["value"]["$literal"];
    // An object or array around an object with two keys in the wrong order, and nothing else.
    let inner = value
        .as_array()
        .map(|items| items.last().unwrap())
        .or(value.as_object().and_then(|map| map.values().next_back()));
    let inner = inner.and_then(Value::as_object).unwrap_or_else(|| panic!("{value}"));
    assert_eq!(inner.len(), 2, "{value}");
    assert!(inner.values().all(|leaf| leaf == 0), "{value}");
}

#[test]
fn a_crash_is_shrunk_too() {
    let failure = failure("crashes-on-empty-text", &["--case", "sage.utils/laws/hash-of-any-text"]);
    assert_eq!(
        (&failure["reason"], &failure["at"]),
        (&"exited".into(), &"law hash-of-any-text".into())
    );
    assert_eq!(failure["found"]["cases"][0]["steps"][0]["args"], serde_json::json!({ "text": "" }));
}

#[test]
fn the_same_seed_finds_the_same_and_few_inputs_may_find_nothing() {
    let found = |args: &[&str]| {
        failure("sorts-at-the-top-only", &[&NESTED, args].concat())["found"].clone()
    };
    assert_eq!(found(&["--seed", "7"]), found(&["--seed", "7", "--jobs", "3"]));
    assert_eq!(found(&[]), found(&["--seed", "0", "--law-cases", "100"]));
    // The empty text is one of many inputs.
    let case = ["--case", "sage.utils/laws/hash-of-any-text", "--law-cases", "1"];
    assert_eq!(run("crashes-on-empty-text", &case).0, Some(0));
}

#[test]
fn the_printed_command_saves_the_input() {
    let (_, shown) = run("sorts-at-the-top-only", &[&NESTED[..], &["--seed", "3"]].concat());
    let keep =
        shown.lines().find_map(|line| line.trim().strip_prefix("keep it as a case: ")).unwrap();
    assert!(keep.starts_with("proofmark run --case sage.utils/laws/keys-are-sorted-at-every-depth --seed 3 --save-found . -- "), "{keep}");

    let folder = TempDir::new().unwrap();
    for from in ["fixtures", "features"] {
        copy(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(from),
            &folder.path().join(from),
        );
    }
    let suite = folder.path().to_str().unwrap();
    // A second save adds no duplicate.
    for _ in 0..2 {
        run("sorts-at-the-top-only", &[&NESTED[..], &["--save-found", suite]].concat());
    }
    let kept = ["--suite", suite, "--case", "sage.utils/found/*"];
    let (code, printed) = run("sorts-at-the-top-only", &kept);
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("0 passed, 1 failed"), "{printed}");
    let on_reference =
        Command::new(PROOFMARK).arg("run").args(kept).arg("reference").output().unwrap();
    assert_eq!(on_reference.status.code(), Some(0));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn save_found_reports_a_file_that_it_cannot_extend() {
    let folder = TempDir::new().unwrap();
    let contract = folder.path().join("fixtures/sage.utils");
    fs::create_dir_all(&contract).unwrap();
    fs::write(contract.join("found.json"), "[]").unwrap();
    let args = [&NESTED[..], &["--save-found", folder.path().to_str().unwrap()]].concat();
    let output = Command::new(PROOFMARK)
        .arg("run")
        .args(args)
        .args(["--", PROOFMARK, "subject", "--adversary", "sorts-at-the-top-only"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(
        shown.contains("found.json` cannot be written: it exists, but has no `cases` list"),
        "{shown}"
    );
    assert_eq!(fs::read_to_string(contract.join("found.json")).unwrap(), "[]");
}

#[test]
fn a_pipe_instead_of_the_file_is_refused_without_losing_the_report() {
    let folder = TempDir::new().unwrap();
    let contract = folder.path().join("fixtures/sage.utils");
    fs::create_dir_all(&contract).unwrap();
    let pipe = contract.join("found.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let args = [&NESTED[..], &["--save-found", folder.path().to_str().unwrap()]].concat();
    let (code, printed) = run("sorts-at-the-top-only", &args);
    assert_eq!(code, Some(2));
    assert!(printed.contains("keep it as a case: "), "{printed}");
}
