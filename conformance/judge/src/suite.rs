//! A loaded and checked suite: contracts and cases.

use proofmark_fakes::host::FakeKind;

use crate::case::Case;
use crate::ledger::{Contract, Requirement};

/// Contracts in id order, cases in name order.
#[derive(Debug)]
pub struct Suite {
    pub contracts: Vec<Contract>,
    pub cases: Vec<Case>,
    /// The digest of all features and fixtures.
    pub digest: String,
    /// The fakes that cases can use.
    pub fakes: Vec<&'static FakeKind>,
    /// Some contracts were filtered out, so a missing name may still be valid.
    pub is_part: bool,
}

impl Suite {
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

    /// Finds a case by its full name, a former name, or its id if only one contract has it.
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

    /// Whether certification depends on the case: it shows a deciding requirement.
    pub fn decides(&self, case: &Case) -> bool {
        case.shows.iter().any(|id| self.requirement(id).is_some_and(|(_, one)| one.decides()))
    }

    pub fn cases_showing<'a>(&'a self, requirement: &'a str) -> impl Iterator<Item = &'a Case> {
        self.cases.iter().filter(move |case| case.shows.iter().any(|id| id == requirement))
    }
}
