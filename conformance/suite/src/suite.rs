//! All contracts and cases, loaded and checked.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_fakes::host::FakeKind;

use crate::case::Case;
use crate::extensions::Extensions;
use crate::gherkin::{self, vocabulary::Vocabulary};
use crate::law;
use crate::ledger::{self, Contract, Requirement};
use crate::load::source::SuiteFiles;
use crate::load::{fixture, lint};
use crate::problem::{Problem, told_once};
use crate::select::{SelectError, Selection};

/// Contracts in id order, cases in name order.
#[derive(Debug)]
pub struct Suite {
    pub contracts: Vec<Contract>,
    pub cases: Vec<Case>,
    /// Of all features and fixtures.
    pub digest: String,
    /// Fakes that cases can ask for.
    pub fakes: Vec<&'static FakeKind>,
    /// Contracts were left out: what is not here may be in the whole.
    pub is_part: bool,
}

impl Suite {
    /// Reads and checks every file, and adds what rooms have. Gives all problems, not only the first.
    pub fn load(files: &SuiteFiles, extensions: &Extensions) -> Result<Self, Vec<Problem>> {
        let steps = Vocabulary::new(&extensions.steps);
        let mut contracts: BTreeMap<String, Contract> = BTreeMap::new();
        let mut cases = Vec::new();
        let mut problems = Vec::new();
        // Folders of contracts that were not read whole: what is missing there may be in what could not be read.
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
        for (path, text) in files.iter() {
            let parts: Vec<&str> = path.split('/').collect();
            let mut found = match parts.as_slice() {
                ["fixtures", folder, "requirements.toml"] => {
                    match ledger::parse(path, folder, text) {
                        Ok(contract) => {
                            contracts.insert(contract.id.clone(), contract);
                            Vec::new()
                        }
                        Err(found) => {
                            no_ledger.insert(folder);
                            found
                        }
                    }
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
                    "no place for this file: a suite has `fixtures/<contract>/requirements.toml`, `fixtures/<contract>/<topic>.json` and `features/<contract>/<name>.feature`",
                )],
            };
            if let (Some(folder), false) = (parts.get(1), found.is_empty()) {
                broken.insert(folder);
            }
            problems.append(&mut found);
        }
        cases.append(&mut law::cases(&extensions.laws, &contracts));
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
            return Ok(Self {
                contracts: contracts.into_values().collect(),
                cases,
                digest: files.digest(),
                fakes: extensions.fakes.clone(),
                is_part: false,
            });
        }
        for problem in &mut problems {
            let text = files.iter().find(|(path, _)| *path == problem.at.file);
            let next = cases.iter().filter(|case| case.at.file == problem.at.file);
            let next = next.map(|case| case.at.line).filter(|line| *line > problem.at.line).min();
            problem.locate(text.map_or("", |(_, text)| text), next.unwrap_or(usize::MAX));
        }
        Err(told_once(problems))
    }

    /// Only these contracts and their cases; all of them, if none is named.
    ///
    /// # Errors
    /// When the suite has no such contract, or no case of it.
    pub fn only(mut self, contracts: &[String]) -> Result<Self, SelectError> {
        if contracts.is_empty() {
            return Ok(self);
        }
        let selection = Selection { contracts: contracts.to_vec(), ..Selection::default() };
        selection.of(&self)?;
        self.contracts.retain(|contract| contracts.contains(&contract.id));
        self.cases.retain(|case| contracts.contains(&case.contract));
        self.is_part = true;
        Ok(self)
    }

    /// The ids of all contracts.
    pub fn ids(&self) -> Vec<String> {
        self.contracts.iter().map(|contract| contract.id.clone()).collect()
    }

    pub fn contract(&self, id: &str) -> Option<&Contract> {
        self.contracts.iter().find(|contract| contract.id == id)
    }

    pub fn requirement(&self, id: &str) -> Option<(&Contract, &Requirement)> {
        self.contracts.iter().find_map(|contract| Some((contract, contract.requirement(id)?)))
    }

    /// By its whole name or a former one; or by its id, where only one contract has such a case.
    pub fn case(&self, name: &str) -> Option<&Case> {
        if let Ok(index) = self.cases.binary_search_by(|case| case.name.as_str().cmp(name)) {
            return Some(&self.cases[index]);
        }
        let former = |case: &&Case| case.aliases.iter().any(|alias| alias == name);
        self.cases.iter().find(former).or_else(|| {
            let mut short = self.cases.iter().filter(|case| case.id() == name);
            short.next().filter(|_| short.next().is_none())
        })
    }

    /// Whether a certification depends on the case: it shows something that decides.
    pub fn decides(&self, case: &Case) -> bool {
        case.shows.iter().any(|id| self.requirement(id).is_some_and(|(_, one)| one.decides()))
    }

    pub fn cases_showing<'a>(&'a self, requirement: &'a str) -> impl Iterator<Item = &'a Case> {
        self.cases.iter().filter(move |case| case.shows.iter().any(|id| id == requirement))
    }
}
