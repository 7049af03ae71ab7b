//! One function for each parser: it takes any bytes, and panics when something does not hold of them.

mod canonical;
mod chronicle;
mod gate;
mod graph;
mod llm;
mod patch;
mod protocol;
mod seeds;
mod servers;
mod suite;
mod tools;

use std::path::{Path, PathBuf};

/// A parser that reads what a stranger wrote.
pub struct Target {
    /// The name of the fuzz target, and of the folder of its findings.
    pub name: &'static str,
    /// Panics when something does not hold.
    pub check: fn(&[u8]),
    /// Inputs to begin with, from this repository.
    pub seeds: fn(&Path) -> Vec<Vec<u8>>,
}

pub const TARGETS: [Target; 19] = [
    Target { name: "message", check: protocol::message, seeds: seeds::messages },
    Target { name: "lines", check: protocol::lines, seeds: seeds::lines },
    Target { name: "adapter", check: protocol::adapter, seeds: seeds::conversations },
    Target { name: "fixture", check: suite::fixture, seeds: seeds::fixtures },
    Target { name: "ledger", check: suite::ledger, seeds: seeds::ledgers },
    Target { name: "feature", check: suite::feature, seeds: seeds::features },
    Target { name: "canonical", check: canonical::canonical, seeds: seeds::values },
    Target { name: "chronicle", check: chronicle::chronicle, seeds: seeds::chronicles },
    Target { name: "record", check: gate::record, seeds: gate::records },
    Target { name: "certificate", check: gate::certificate, seeds: gate::certificates },
    Target { name: "known", check: gate::known, seeds: gate::lists },
    Target { name: "patch", check: patch::patch, seeds: patch::patches },
    Target { name: "schema", check: tools::schema, seeds: tools::schemas },
    Target { name: "redact", check: tools::redact, seeds: tools::secrets },
    Target { name: "events", check: llm::events, seeds: llm::items },
    Target { name: "sse", check: llm::sse, seeds: llm::answers },
    Target { name: "graph", check: graph::graph, seeds: graph::queries },
    Target { name: "mcp", check: servers::conversation, seeds: servers::conversations },
    Target { name: "runs", check: servers::log, seeds: servers::logs },
];

/// For a fuzz target, which knows its own name.
///
/// # Panics
/// When something does not hold of `bytes`.
pub fn check(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a fuzz target has the name of a check").check)(bytes);
}

/// Where inputs are kept that once broke something, in a folder for each target.
pub fn findings(top: &Path) -> PathBuf {
    top.join("xtask/findings")
}
