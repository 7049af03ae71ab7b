//! A suite in a folder: reads its files, and reports misplaced ones.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use proofmark_suite::{Extensions, SuiteFiles};
use rstest::rstest;
use tempfile::TempDir;

use crate::common::sound;

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for (path, text) in sound() {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn problems_of(folder: &TempDir) -> String {
    let files = SuiteFiles::in_folder(folder.path()).expect("the folder can be read");
    let found = proofmark_suite::load(&files, &Extensions::default()).err().unwrap_or_default();
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[rstest]
#[case::feature("features/demo/b.Feature", "`b.Feature` is ignored; rename it to `b.feature`")]
#[case::text("features/demo/c.feature.txt", "`c.feature.txt` is ignored; rename it to `c.feature`")]
#[case::json("fixtures/demo/z.JSON", "`z.JSON` is ignored; rename it to `z.json`")]
#[case::comments("fixtures/demo/z.jsonc", "`z.jsonc` is ignored; rename it to `z.json`")]
fn a_misnamed_file(#[case] path: &str, #[case] problem: &str) {
    let folder = folder();
    fs::write(folder.path().join(path), "x").expect("a file");
    assert_eq!(problems_of(&folder), format!("{path}:1: {problem}"));
}

#[rstest]
#[case("features/demo/README.md")]
#[case("fixtures/README.md")]
#[case("features/demo/.story.feature.swp")]
#[case("features/demo/story.feature~")]
fn other_files_are_ignored(#[case] path: &str) {
    let folder = folder();
    fs::write(folder.path().join(path), "x").expect("a file");
    assert_eq!(problems_of(&folder), "");
}

#[test]
fn a_folder_with_the_name_of_a_file() {
    let folder = folder();
    fs::create_dir(folder.path().join("features/demo/dir.feature")).expect("a folder");
    let problem = "it is a folder with the name of a file; name a folder after its contract, and put files into it";
    assert_eq!(problems_of(&folder), format!("features/demo/dir.feature:1: {problem}"));
}

/// Each problem is reported among the others.
#[test]
fn unreadable_files_are_reported_with_the_other_problems() {
    let folder = folder();
    let at = |path: &str| folder.path().join(path);
    fs::write(at("features/demo/latin.feature"), b"Feature: x\n# \xff\n").expect("a file");
    symlink("nowhere", at("features/demo/link.feature")).expect("a link");
    let pipe = Command::new("mkfifo").arg(at("features/demo/pipe.feature")).status();
    assert!(pipe.is_ok_and(|status| status.success()), "a pipe");
    fs::write(at("features/demo/sound.Feature"), "x").expect("a file");
    assert_eq!(
        problems_of(&folder),
        "features/demo/latin.feature:2: it is not UTF-8; save it as UTF-8\n\
         features/demo/link.feature:1: it is a broken link; fix or delete it\n\
         features/demo/pipe.feature:1: it is neither a file nor a folder (a pipe, a socket or a device); delete it, or replace it with a file\n\
         features/demo/sound.Feature:1: `sound.Feature` is ignored; rename it to `sound.feature`"
    );
}

/// Each link leads to all others, so the number of paths is unbounded.
#[test]
fn links_that_lead_back_are_not_followed() {
    let folder = folder();
    let features = folder.path().join("features");
    for number in 0..30 {
        symlink(Path::new(".."), features.join(format!("demo/back{number}"))).expect("a link");
    }
    let found = problems_of(&folder);
    assert_eq!(found.lines().count(), 30, "{found}");
    let first = "features/demo/back0:1: it leads to `features`, which is already read; delete the link, or replace it with a folder";
    assert_eq!(found.lines().next(), Some(first));
}

#[test]
fn a_link_to_a_folder_elsewhere_is_followed() {
    let other = folder();
    let folder = folder();
    fs::remove_dir_all(folder.path().join("features/demo")).expect("it was there");
    symlink(other.path().join("features/demo"), folder.path().join("features/demo"))
        .expect("a link");
    assert_eq!(problems_of(&folder), "");
}
