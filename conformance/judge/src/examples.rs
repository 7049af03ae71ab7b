//! The cases that laws generate: each input is a fixture case.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::case::{Case, CaseKind, Given, Origin};
use crate::fixture;
use crate::law::{Law, LawOptions};
use crate::ledger::Contract;
use crate::problem::Location;
use crate::transcript::Try;

/// The topic of all laws.
const TOPIC: &str = "laws";

/// An input of a law and the case built from it.
pub struct Example {
    pub input: Value,
    pub case: Result<Case, String>,
}

impl Law {
    /// The input as a fixture file with one case.
    pub fn fixture(&self, input: &Value) -> Value {
        let digest = hex::encode(Sha256::digest(input.to_string()));
        let mut case = json!({
            "id": format!("found/{}-{}", self.name, &digest[..8]),
            "why": self.why,
            "shows": self.shows,
            "origin": self.origin,
        });
        if let (Value::Object(case), Value::Object(input)) = (&mut case, input) {
            case.extend(input.clone());
        }
        json!({ "contract": self.contract, "topic": "found", "cases": [case] })
    }

    /// The input as a runnable case.
    pub fn example(&self, input: &Value) -> Result<Case, String> {
        let text = self.fixture(input).to_string();
        let (mut cases, problems) = fixture::parse("found.json", self.contract, &text);
        if let Some(problem) = problems.first() {
            return Err(problem.to_string());
        }
        cases.pop().ok_or_else(|| "a law made no case".to_owned())
    }

    /// Rebuilds the inputs of a run: one example for each attempt.
    pub fn tried<'a>(
        &'a self,
        options: LawOptions,
        tries: &'a [Try],
    ) -> impl Iterator<Item = Example> + 'a {
        self.inputs(options).zip(tries).map(|(mut input, attempt)| {
            input.walk(&attempt.path);
            let input = input.current();
            Example { case: self.example(&input), input }
        })
    }

    /// The inputs of a run with these options, each as a fixture file.
    pub fn fixtures(&self, options: LawOptions) -> Vec<Value> {
        self.inputs(options).map(|input| self.fixture(&input.current())).collect()
    }

    /// As [`Self::fixtures`], as runnable cases.
    pub fn examples(&self, options: LawOptions) -> Result<Vec<Case>, String> {
        self.inputs(options).map(|input| self.example(&input.current())).collect()
    }
}

/// One case for each law whose operations and requirements are in the ledgers.
pub fn cases(laws: &[&'static Law], contracts: &BTreeMap<String, Contract>) -> Vec<Case> {
    let has = |contract: &Contract, name: &str| {
        let own = contract.operations.iter().any(|own| own == name);
        own || contract.hooks.contains_key(name)
    };
    let applies = |law: &&Law| {
        contracts.get(law.contract).is_some_and(|contract| {
            let shown =
                |id: &&str| contract.requirement(id).is_some_and(|one| one.excluded.is_none());
            law.shows.iter().all(shown) && law.operations.iter().all(|name| has(contract, name))
        })
    };
    laws.iter().copied().filter(applies).map(|law| case(law, &contracts[law.contract])).collect()
}

fn case(law: &'static Law, contract: &Contract) -> Case {
    let needs = law.operations.iter().filter(|name| contract.hooks.contains_key(**name));
    Case {
        name: format!("{}/{TOPIC}/{}", law.contract, law.name),
        aliases: Vec::new(),
        contract: law.contract.to_owned(),
        kind: CaseKind::Law(law),
        why: law.why.to_owned(),
        shows: law.shows.iter().map(|id| (*id).to_owned()).collect(),
        origin: Origin::parse(law.origin).unwrap_or(Origin::Contract),
        needs: needs.map(|hook| (*hook).to_owned()).collect(),
        // It plays one input after the other.
        slow: true,
        given: Given::default(),
        steps: Vec::new(),
        at: Location { file: format!("law {}", law.name), line: 0 },
    }
}
