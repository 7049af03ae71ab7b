//! `cargo xtask tidy`: rules of this repository that no compiler checks. Also a test.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use proofmark_suite::gherkin::vocabulary::STEPS;
use proofmark_suite::{Suite, SuiteFiles};

use crate::{say, top};

/// What may stand at the top beside dotfiles.
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

/// A file that is longer is perhaps two things in one room.
const MOST_LINES: usize = 500;

pub(crate) fn tidy() -> Result<(), String> {
    let suite = Suite::load(&SuiteFiles::in_folder(&top()).map_err(|fault| fault.to_string())?)
        .map_err(|problems| {
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        })?;
    let files = tracked()?;
    let mut problems = Vec::new();
    if SuiteFiles::embedded().digest() != suite.digest {
        problems.push(
            "the features and fixtures inside the program are not those of the folders".to_owned(),
        );
    }
    only_the_agreed_top(&files, &mut problems);
    files_are_short_and_clean(&files, &mut problems)?;
    crate_docs_list_the_ledgers_ids(&suite, &mut problems)?;
    pages_name_what_there_is(&suite, &files, &mut problems)?;
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

/// What git knows, or would know after `git add`.
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
                "{name}: nothing but the agreed files and folders stands at the top"
            ));
        }
    }
}

fn files_are_short_and_clean(files: &[String], problems: &mut Vec<String>) -> Result<(), String> {
    // Written in parts, so that this file does not find itself.
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
                problems.push(format!("{path}:{}: `{mark}` is left over", number + 1));
            }
        }
    }
    Ok(())
}

/// A reference crate opens with its contract: the ids in its doc are those of the ledger.
fn crate_docs_list_the_ledgers_ids(
    suite: &Suite,
    problems: &mut Vec<String>,
) -> Result<(), String> {
    for contract in &suite.contracts {
        // A family has its name in front of its contracts; those of agents in general have none.
        let name = match contract.id.contains('.') {
            true => contract.id.replace('.', "-"),
            false => format!("agent-{}", contract.id),
        };
        let path = format!("reference/{name}/src/lib.rs");
        let doc = read(&path)?;
        let listed: BTreeSet<&str> = doc
            .lines()
            .filter_map(|line| line.strip_prefix("//! - "))
            .filter_map(|line| line.split([' ', ':']).next())
            .collect();
        let ids: BTreeSet<&str> =
            contract.requirements.iter().map(|requirement| requirement.id.as_str()).collect();
        let listed: BTreeSet<&str> = listed.into_iter().filter(|word| word.contains('-')).collect();
        for id in ids.symmetric_difference(&listed) {
            problems.push(format!(
                "{path}: `{id}` is in the crate's doc or in the ledger, but not in both"
            ));
        }
    }
    Ok(())
}

fn pages_name_what_there_is(
    suite: &Suite,
    files: &[String],
    problems: &mut Vec<String>,
) -> Result<(), String> {
    let (readme, operations, architecture) =
        (read("README.md")?, read("conformance/guide/operations.md")?, read("ARCHITECTURE.md")?);
    let cases = read("conformance/guide/cases.md")?;
    for contract in &suite.contracts {
        needs("README.md", &readme, &contract.id, problems);
        for name in contract
            .operations
            .iter()
            .chain(contract.hooks.keys())
            .chain(contract.hooks.values().flatten())
        {
            needs("conformance/guide/operations.md", &operations, name, problems);
        }
    }
    for step in STEPS {
        if !cases.contains(step.example) {
            problems.push(format!(
                "conformance/guide/cases.md: the step `{}` is not listed",
                step.example
            ));
        }
    }
    for path in files {
        if let Some(folder) = path.strip_suffix("/Cargo.toml") {
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
            problems.push(format!("Cargo.toml: `{line}` does not say why it is there"));
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
