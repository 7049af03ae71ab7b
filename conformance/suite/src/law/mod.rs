//! Laws: promises that hold for all inputs, tried with generated ones.
//!
//! A law makes fixture cases out of random numbers. Each runs on the same road as a case that a person
//! wrote, so a failing one, shrunk, *is* a fixture case that can be kept. The same seed makes the same
//! cases on every machine.

pub mod values;

use std::collections::BTreeMap;

use proptest::strategy::{BoxedStrategy, Strategy as _, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::case::{Case, CaseKind, Given, Origin};
use crate::ledger::Contract;
use crate::load::fixture;
use crate::problem::Location;
use crate::verdict::Failure;

/// The topic that laws stand under.
const TOPIC: &str = "laws";

/// One law.
#[derive(Debug)]
pub struct Law {
    /// `key-order-does-not-count`.
    pub name: &'static str,
    pub contract: &'static str,
    pub why: &'static str,
    pub shows: &'static [&'static str],
    /// Where what it expects comes from.
    pub origin: &'static str,
    /// What it calls, and the hooks that it needs.
    pub operations: &'static [&'static str],
    /// Makes the `given`, `steps` and `leaves` of a fixture case.
    pub inputs: fn() -> BoxedStrategy<Value>,
}

/// How laws are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LawOptions {
    pub seed: u64,
    /// So many inputs for each law.
    pub cases: u32,
    /// Whether to look for the smallest input that fails.
    pub shrink: bool,
}

impl Default for LawOptions {
    fn default() -> Self {
        Self { seed: 0, cases: 100, shrink: true }
    }
}

/// An input that can be made smaller.
pub(crate) struct Input(Box<dyn ValueTree<Value = Value>>);

impl Input {
    pub(crate) fn current(&self) -> Value {
        self.0.current()
    }

    /// Makes it smaller. Without effect if it cannot be.
    pub(crate) fn simplify(&mut self) -> bool {
        self.0.simplify()
    }

    /// Goes the way that [`crate::transcript::Try::path`] tells.
    pub(crate) fn walk(&mut self, path: &str) {
        for step in path.bytes() {
            let _moved = if step == b's' { self.simplify() } else { self.complicate() };
        }
    }

    /// Takes back part of the last simplification.
    pub(crate) fn complicate(&mut self) -> bool {
        self.0.complicate()
    }
}

impl Law {
    /// The inputs of one run, in order.
    pub(crate) fn inputs(&self, options: LawOptions) -> impl Iterator<Item = Input> + use<> {
        // Each law has a tape of its own, so that adding one changes no other.
        let tape = Sha256::digest(format!("{}/{}/{}", options.seed, self.contract, self.name));
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &tape);
        let mut runner = TestRunner::new_with_rng(Config::default(), random);
        let inputs = (self.inputs)();
        (0..options.cases).filter_map(move |_| {
            // No strategy here rejects so much that none is left.
            inputs.new_tree(&mut runner).ok().map(|tree| Input(Box::new(tree)))
        })
    }

    /// The input as a fixture case: the text of its file.
    pub(crate) fn fixture(&self, input: &Value) -> Value {
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

    /// The input as a case that can be run.
    pub(crate) fn example(&self, input: &Value) -> Result<Case, String> {
        let text = self.fixture(input).to_string();
        let (mut cases, problems) = fixture::parse("found.json", self.contract, &text);
        if let Some(problem) = problems.first() {
            return Err(problem.to_string());
        }
        cases.pop().ok_or_else(|| "a law made no case".to_owned())
    }

    /// The failure of an input as the law's own.
    pub(crate) fn broken_by(
        &self,
        case: &Case,
        input: &Value,
        mut failure: Box<Failure>,
    ) -> Box<Failure> {
        failure.at = case.at.to_string();
        failure.found = Some(self.fixture(input));
        failure
    }

    /// The case that a run makes of its input of this number, from 0, after it was made smaller on this
    /// [path](crate::transcript::Try::path).
    pub fn example_at(&self, options: LawOptions, number: usize, path: &str) -> Option<Case> {
        let mut input = self.inputs(options).nth(number)?;
        input.walk(path);
        self.example(&input.current()).ok()
    }

    /// What a run with these options tries, each as a fixture file.
    pub fn fixtures(&self, options: LawOptions) -> Vec<Value> {
        self.inputs(options).map(|input| self.fixture(&input.current())).collect()
    }

    /// The same as cases.
    pub fn examples(&self, options: LawOptions) -> Result<Vec<Case>, String> {
        self.inputs(options).map(|input| self.example(&input.current())).collect()
    }
}

/// The cases of those laws whose operations and requirements the ledgers have.
pub(crate) fn cases(laws: &[&'static Law], contracts: &BTreeMap<String, Contract>) -> Vec<Case> {
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
        given: Given::default(),
        steps: Vec::new(),
        at: Location { file: format!("law {}", law.name), line: 0 },
    }
}
