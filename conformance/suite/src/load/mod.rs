//! Loads a [`Suite`]: reads, expands, compiles and lints its files.

mod falsifiable;
mod lint;
pub(crate) mod source;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use proofmark_judge::ledger::{self, Contract};
use proofmark_judge::problem::without_duplicates;
use proofmark_judge::{Problem, Suite, examples, fixture};

use self::source::SuiteFiles;
use crate::extensions::Extensions;
use crate::gherkin::{self, vocabulary::Vocabulary};

/// Reads and checks every file, and adds the rooms' extensions. Returns all problems, not only the first.
pub fn load(files: &SuiteFiles, extensions: &Extensions) -> Result<Suite, Vec<Problem>> {
    load_part(files, extensions, |_| true)
}

/// Reads every ledger, but only the cases of `wanted` contracts. Reading cases takes most of the time, and a run of one
/// contract does not pay for the others.
pub fn load_part(
    files: &SuiteFiles,
    extensions: &Extensions,
    wanted: impl Fn(&str) -> bool,
) -> Result<Suite, Vec<Problem>> {
    let steps = Vocabulary::new(&extensions.steps);
    let mut contracts: BTreeMap<String, Contract> = BTreeMap::new();
    let mut cases = Vec::new();
    let mut problems = Vec::new();
    // Contract folders with unreadable files, which may hold whatever seems to be missing.
    let mut broken: BTreeSet<&str> = BTreeSet::new();
    let mut no_ledger: BTreeSet<&str> = BTreeSet::new();
    for problem in files.problems() {
        let parts: Vec<&str> = problem.at.file.split('/').collect();
        broken.extend(parts.get(1));
        if let ["fixtures", folder, "requirements.toml"] = parts.as_slice() {
            no_ledger.insert(folder);
        }
        problems.push(problem.clone());
    }
    let mut is_part = false;
    for (path, text) in files.iter() {
        let parts: Vec<&str> = path.split('/').collect();
        let mut found = match parts.as_slice() {
            ["fixtures", folder, "requirements.toml"] => match ledger::parse(path, folder, text) {
                Ok(contract) => {
                    contracts.insert(contract.id.clone(), contract);
                    Vec::new()
                }
                Err(found) => {
                    no_ledger.insert(folder);
                    found
                }
            },
            ["fixtures" | "features", folder, _] if !wanted(folder) => {
                is_part = true;
                // Its cases are not loaded, so the lint must not report requirements without a case.
                broken.insert(folder);
                continue;
            }
            ["fixtures", folder, name] if name.ends_with(".json") => {
                let (mut read, found) = fixture::parse(path, folder, text);
                cases.append(&mut read);
                found
            }
            ["features", folder, name] if name.ends_with(".feature") => {
                let (mut read, found) = gherkin::parse(path, folder, text, &steps);
                cases.append(&mut read);
                found
            }
            _ => vec![Problem::new(
                path,
                1,
                "unexpected file; a suite has `fixtures/<contract>/requirements.toml`, `fixtures/<contract>/<topic>.json` and `features/<contract>/<name>.feature`",
            )],
        };
        if let (Some(folder), false) = (parts.get(1), found.is_empty()) {
            broken.insert(folder);
        }
        problems.append(&mut found);
    }
    let mut laws = examples::cases(&extensions.laws, &contracts);
    laws.retain(|case| wanted(&case.contract));
    cases.append(&mut laws);
    for case in &mut cases {
        lint::derive_needs(case, contracts.get(&case.contract));
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    problems.append(&mut lint::check(
        &contracts,
        &cases,
        &lint::Unread { broken, no_ledger },
        &extensions.fakes,
    ));
    if problems.is_empty() {
        return Ok(Suite {
            contracts: contracts.into_values().collect(),
            cases,
            digest: files.digest(),
            fakes: extensions.fakes.clone(),
            is_part,
        });
    }
    for problem in &mut problems {
        let text = files.iter().find(|(path, _)| *path == problem.at.file);
        let next = cases.iter().filter(|case| case.at.file == problem.at.file);
        let next = next.map(|case| case.at.line).filter(|line| *line > problem.at.line).min();
        problem.locate(text.map_or("", |(_, text)| text), next.unwrap_or(usize::MAX));
    }
    Err(without_duplicates(problems))
}
