//! `cargo xtask tidy`: checks rules of this repository that no compiler checks. Also runs as a test.

mod cycles;
mod libraries;
mod rooms;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use proofmark_suite::SuiteFiles;

use crate::{say, top};

/// Files and folders allowed at the root, besides dotfiles.
const TOP: [&str; 15] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "clippy.toml",
    "conformance",
    "fakes",
    "features",
    "fixtures",
    "reference",
    "rustfmt.toml",
    "xtask",
];

/// Limit for lines of Markdown pages.
const MOST_COLUMNS: usize = 120;

/// A longer file probably does two things.
const MOST_LINES: usize = 500;

pub(crate) fn tidy() -> Result<(), String> {
    let suite =
        proofmark_catalog::load(&SuiteFiles::in_folder(&top()).map_err(|fault| fault.to_string())?)
            .map_err(|problems| {
                problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
            })?;
    let files = tracked()?;
    let mut problems = Vec::new();
    if proofmark_catalog::files().digest() != suite.digest {
        problems
            .push("the embedded features and fixtures differ from the folders; rebuild".to_owned());
    }
    only_the_agreed_top(&files, &mut problems);
    files_are_short_and_clean(&files, &mut problems)?;
    pages_name_what_there_is(&files, &mut problems)?;
    pages_have_short_lines(&files, &mut problems)?;
    the_map_names_files_that_exist(&mut problems)?;
    let names = rooms::Names::new(suite.contracts.iter().map(|contract| contract.id.as_str()))?;
    rooms::harness_names_no_contract(&files, &names, &mut problems)?;
    rooms::judging_sees_no_reference(&files, &names, &mut problems)?;
    cycles::modules_import_in_one_direction(&files, &mut problems)?;
    cycles::judging_needs_no_runtime(&mut problems)?;
    libraries::only_libraries_with_tests_are_tested(&files, &mut problems)?;
    every_dependency_has_a_reason(&mut problems)?;
    if problems.is_empty() {
        say(format_args!("tidy: {} files, no problem", files.len()))
    } else {
        Err(format!("untidy:\n  {}", problems.join("\n  ")))
    }
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(top().join(path))
        .map_err(|fault| format!("`{path}` cannot be read: {fault}"))
}

/// The files that git tracks, or would track after `git add`.
fn tracked() -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(top())
        .output()
        .map_err(|fault| format!("git cannot be started: {fault}"))?;
    let listed = String::from_utf8_lossy(&output.stdout);
    Ok(listed.lines().filter(|path| top().join(path).exists()).map(str::to_owned).collect())
}

fn only_the_agreed_top(files: &[String], problems: &mut Vec<String>) {
    let found: BTreeSet<&str> = files.iter().filter_map(|path| path.split('/').next()).collect();
    for name in found {
        if !name.starts_with('.') && !TOP.contains(&name) {
            problems.push(format!(
                "{name}: not allowed at the root; move it, or add it to `TOP` in xtask/src/tidy.rs"
            ));
        }
    }
}

fn files_are_short_and_clean(files: &[String], problems: &mut Vec<String>) -> Result<(), String> {
    // Built from parts, so that this file does not match itself.
    let leftovers = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("#[ig", "nore]"),
        concat!("FIX", "ME"),
        concat!("X", "XX"),
    ];
    let machine_paths = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/")];
    for path in files {
        let text_file = [".rs", ".toml", ".md", ".json", ".feature", ".mjs", ".py", ".yml"]
            .iter()
            .any(|end| path.ends_with(end));
        if !text_file || path == "Cargo.lock" {
            continue;
        }
        let text = read(path)?;
        if path.ends_with(".rs") && !path.contains("/tests/") && text.lines().count() > MOST_LINES {
            problems
                .push(format!("{path}: {} lines; more than {MOST_LINES}", text.lines().count()));
        }
        for (number, line) in text.lines().enumerate() {
            let found = leftovers
                .iter()
                .filter(|_| path.ends_with(".rs"))
                .chain(&machine_paths)
                .find(|mark| line.contains(**mark));
            if let Some(mark) = found {
                problems.push(format!("{path}:{}: `{mark}` is left over; finish it", number + 1));
            }
        }
    }
    Ok(())
}

fn pages_name_what_there_is(files: &[String], problems: &mut Vec<String>) -> Result<(), String> {
    let (architecture, cases) = (read("ARCHITECTURE.md")?, read("conformance/guide/cases.md")?);
    // A room's own page lists its steps, which a test of the catalog checks.
    let vocabulary = proofmark_catalog::vocabulary();
    for step in vocabulary.steps().iter().filter(|step| step.contract.is_none()) {
        if !cases.contains(step.example) {
            problems.push(format!(
                "conformance/guide/cases.md: the step `{}` is not listed",
                step.example
            ));
        }
    }
    // ARCHITECTURE.md has one line for all rooms and one for all reference crates.
    let of_a_contract = |folder: &str| {
        ["conformance/contracts/", "reference/"].iter().any(|at| folder.starts_with(at))
    };
    for path in files {
        if let Some(folder) = path.strip_suffix("/Cargo.toml").filter(|at| !of_a_contract(at)) {
            needs("ARCHITECTURE.md", &architecture, folder, problems);
        }
        if let Some(command) =
            path.strip_prefix("conformance/cli/src/").and_then(|name| name.strip_suffix(".rs"))
            && !["main", "exit"].contains(&command)
        {
            needs("ARCHITECTURE.md", &architecture, command, problems);
        }
    }
    Ok(())
}

/// Every file named in ARCHITECTURE.md exists.
fn the_map_names_files_that_exist(problems: &mut Vec<String>) -> Result<(), String> {
    for word in read("ARCHITECTURE.md")?.split('`').skip(1).step_by(2) {
        let is_path = word.contains('/')
            && [".rs", ".json", ".feature", ".toml", ".md"].iter().any(|end| word.ends_with(end))
            && !word.contains(['<', '*', ' ']);
        if is_path && !top().join(word).exists() {
            problems.push(format!("ARCHITECTURE.md: there is no file `{word}`"));
        }
    }
    Ok(())
}

/// Lines of pages fit any screen. Code blocks may be longer, because they are literal.
fn pages_have_short_lines(files: &[String], problems: &mut Vec<String>) -> Result<(), String> {
    for path in files.iter().filter(|path| path.ends_with(".md")) {
        let mut in_code = false;
        for (number, line) in read(path)?.lines().enumerate() {
            in_code ^= line.trim_start().starts_with("```");
            let length = line.chars().count();
            if !in_code && length > MOST_COLUMNS {
                problems.push(format!(
                    "{path}:{}: {length} columns; at most {MOST_COLUMNS}",
                    number + 1
                ));
            }
        }
    }
    Ok(())
}

fn needs(page: &str, text: &str, name: &str, problems: &mut Vec<String>) {
    if !text.contains(&format!("`{name}`")) {
        problems.push(format!("{page}: `{name}` is not named"));
    }
}

fn every_dependency_has_a_reason(problems: &mut Vec<String>) -> Result<(), String> {
    let manifest = read("Cargo.toml")?;
    let listed = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .and_then(|rest| rest.split("\n[").next())
        .unwrap_or_default();
    for line in listed.lines().filter(|line| line.contains(" = ") && !line.contains("path = ")) {
        if !line.contains('#') {
            problems.push(format!("Cargo.toml: `{line}` has no comment with its reason"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        super::tidy().unwrap();
    }
}
