//! Laws: promises that hold for all inputs, tried with generated ones.
//!
//! A law makes fixture cases out of random numbers. Each runs on the same road as a case that a person
//! wrote, so a failing one, shrunk, *is* a fixture case that can be kept. The same seed makes the same
//! cases on every machine.

pub mod values;

use proptest::strategy::{BoxedStrategy, Strategy as _, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// So many smaller inputs are tried.
pub const MOST_SHRINKS: usize = 1000;

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
pub struct Input(Box<dyn ValueTree<Value = Value>>);

impl Input {
    pub fn current(&self) -> Value {
        self.0.current()
    }

    /// Makes it smaller. Without effect if it cannot be.
    pub fn simplify(&mut self) -> bool {
        self.0.simplify()
    }

    /// Goes the way that [`crate::transcript::Try::path`] tells.
    pub fn walk(&mut self, path: &str) {
        for step in path.bytes() {
            let _moved = if step == b's' { self.simplify() } else { self.complicate() };
        }
    }

    /// Takes back part of the last simplification.
    pub fn complicate(&mut self) -> bool {
        self.0.complicate()
    }
}

impl Law {
    /// The inputs of one run, in order.
    pub fn inputs(&self, options: LawOptions) -> impl Iterator<Item = Input> + use<> {
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
}
