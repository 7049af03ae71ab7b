//! Laws: promises that hold for all inputs, tested with generated ones.
//!
//! A law generates fixture cases from random numbers. They run exactly like handwritten cases, so a shrunk failing
//! input *is* a fixture case that you can keep. The same seed generates the same cases on every machine.

pub mod values;

use proptest::strategy::{BoxedStrategy, Strategy as _, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The limit of shrink steps.
pub const MOST_SHRINKS: usize = 1000;

/// One law.
#[derive(Debug)]
pub struct Law {
    /// `key-order-does-not-count`.
    pub name: &'static str,
    pub contract: &'static str,
    pub why: &'static str,
    pub shows: &'static [&'static str],
    /// The origin of its expected values.
    pub origin: &'static str,
    /// The operations that it calls, and the hooks that it needs.
    pub operations: &'static [&'static str],
    /// Generates the `given`, `steps` and `leaves` of a fixture case.
    pub inputs: fn() -> BoxedStrategy<Value>,
}

/// How to test laws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LawOptions {
    pub seed: u64,
    /// The number of inputs for each law.
    pub cases: u32,
    /// Whether to shrink a failing input.
    pub shrink: bool,
}

impl Default for LawOptions {
    fn default() -> Self {
        Self { seed: 0, cases: 100, shrink: true }
    }
}

/// An input that can be shrunk.
pub struct Input(Box<dyn ValueTree<Value = Value>>);

impl Input {
    pub fn current(&self) -> Value {
        self.0.current()
    }

    /// Shrinks the input. Returns false if it cannot.
    pub fn simplify(&mut self) -> bool {
        self.0.simplify()
    }

    /// Replays the shrink steps of [`crate::transcript::Try::path`].
    pub fn walk(&mut self, path: &str) {
        for step in path.bytes() {
            let _moved = if step == b's' { self.simplify() } else { self.complicate() };
        }
    }

    /// Takes back part of the last shrink step.
    pub fn complicate(&mut self) -> bool {
        self.0.complicate()
    }
}

impl Law {
    /// The inputs of one run, in order.
    pub fn inputs(&self, options: LawOptions) -> impl Iterator<Item = Input> + use<> {
        // Each law has its own random stream, so that a new law changes no other.
        let tape = Sha256::digest(format!("{}/{}/{}", options.seed, self.contract, self.name));
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &tape);
        let mut runner = TestRunner::new_with_rng(Config::default(), random);
        let inputs = (self.inputs)();
        (0..options.cases).filter_map(move |_| {
            // No strategy here rejects enough to run out of inputs.
            inputs.new_tree(&mut runner).ok().map(|tree| Input(Box::new(tree)))
        })
    }
}
