//! The README, followed literally: its adapter runs, and its commands do what they say.

#![allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

mod common;

use std::process::Command;

use common::PROOFMARK;

const README: &str = include_str!("../../../README.md");

/// What the tests need beyond Rust is used where it is; in a CI it must be there.
fn node_is_there() -> bool {
    let there =
        Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(there || std::env::var_os("CI").is_none(), "node must be there in a CI");
    if !there {
        eprintln!("skipped: node is not installed");
    }
    there
}

fn block(language: &str) -> &'static str {
    let start = README.find(&format!("```{language}\n")).expect("the README has such a block")
        + language.len()
        + 4;
    README[start..].split("```").next().expect("the block ends")
}

#[test]
fn the_adapter_of_the_first_chapter_ends_in_a_run_that_passes() {
    if !node_is_there() {
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("my-adapter.mjs"), block("js")).unwrap();
    let run = |line: &str| {
        let words: Vec<&str> =
            line.split(' ').skip(1).map(|word| word.trim_matches('\'')).collect();
        Command::new(PROOFMARK).args(words).current_dir(folder.path()).output().unwrap()
    };
    let mut commands = README
        .lines()
        .filter(|line| line.starts_with("proofmark ") && line.ends_with("-- node my-adapter.mjs"));

    let first = run(commands.next().unwrap());
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stdout));

    let second = run(commands.next().unwrap());
    let told = String::from_utf8(second.stdout).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(told.contains("MISSING utils.canonicalJSONStringify  not implemented"), "{told}");
    assert!(told.contains("sage.utils  not certified"), "{told}");
}

#[test]
fn every_command_of_the_readme_is_one() {
    let lines = README.lines().filter_map(|line| line.strip_prefix("proofmark "));
    for line in lines {
        let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
        let help = Command::new(PROOFMARK).args([words[0], "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        for flag in
            words.iter().take_while(|word| **word != "--").filter(|word| word.starts_with("--"))
        {
            assert!(help.contains(flag), "`{flag}` of `proofmark {line}`");
        }
    }
}
