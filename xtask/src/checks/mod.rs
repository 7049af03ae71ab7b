//! One function for each parser: it takes any bytes, and panics if an invariant breaks.
//!
//! The checks of the harness are here. Those of a contract are in its room (`conformance/contracts/<id>/src/fuzz.rs`).

mod gate;
mod protocol;
mod seeds;
mod suite;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proofmark_room::FuzzTarget;

/// The environment variable that names the target of the fuzz binary.
pub const CHOICE: &str = "PROOFMARK_FUZZ";

/// A fuzz target and the place of its findings.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub fuzz: FuzzTarget,
    /// The contract of its room; none for a target of the harness.
    contract: Option<&'static str>,
}

impl Target {
    /// The folder of inputs that broke it once, in the repository at `top`.
    pub fn findings(&self, top: &Path) -> PathBuf {
        findings(top, self.contract).join(self.fuzz.name)
    }
}

fn findings(top: &Path, contract: Option<&str>) -> PathBuf {
    match contract {
        None => top.join("xtask/findings"),
        Some(contract) => top.join("conformance/contracts").join(contract).join("findings"),
    }
}

const HARNESS: &[FuzzTarget] = &[
    FuzzTarget { name: "message", check: protocol::message, seeds: seeds::messages },
    FuzzTarget { name: "lines", check: protocol::lines, seeds: seeds::lines },
    FuzzTarget { name: "adapter", check: protocol::adapter, seeds: seeds::conversations },
    FuzzTarget { name: "fixture", check: suite::fixture, seeds: seeds::fixtures },
    FuzzTarget { name: "ledger", check: suite::ledger, seeds: seeds::ledgers },
    FuzzTarget { name: "feature", check: suite::feature, seeds: seeds::features },
    FuzzTarget { name: "record", check: gate::record, seeds: gate::records },
    FuzzTarget { name: "certificate", check: gate::certificate, seeds: gate::certificates },
    FuzzTarget { name: "known", check: gate::known, seeds: gate::lists },
];

/// Every target: those of the harness, then those of the rooms.
pub fn targets() -> impl Iterator<Item = Target> {
    let harness = HARNESS.iter().map(|fuzz| Target { fuzz: *fuzz, contract: None });
    harness.chain(proofmark_catalog::rooms().flat_map(|room| {
        let of_room = |fuzz: &FuzzTarget| Target { fuzz: *fuzz, contract: Some(room.contract) };
        room.fuzz.iter().map(of_room)
    }))
}

/// Runs the check that the environment names in [`CHOICE`].
///
/// # Panics
/// If an invariant breaks for `bytes`, or no target has that name.
pub fn check_chosen(bytes: &[u8]) {
    static CHOSEN: LazyLock<FuzzTarget> = LazyLock::new(|| {
        let name = std::env::var(CHOICE).unwrap_or_default();
        let target = targets().find(|target| target.fuzz.name == name);
        target.unwrap_or_else(|| panic!("{CHOICE}: no target `{name}`")).fuzz
    });
    (CHOSEN.check)(bytes);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn target_names_are_unique() {
        let mut names = BTreeSet::new();
        for target in targets() {
            assert!(names.insert(target.fuzz.name), "two targets are `{}`", target.fuzz.name);
        }
    }

    /// A folder with another name would be skipped silently.
    #[test]
    fn every_folder_of_findings_belongs_to_a_target() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let known: BTreeSet<PathBuf> = targets().map(|target| target.findings(&top)).collect();
        let rooms = proofmark_catalog::rooms().map(|room| Some(room.contract));
        for contract in rooms.chain([None]) {
            for entry in fs::read_dir(findings(&top, contract)).into_iter().flatten() {
                let path = entry.unwrap().path();
                assert!(known.contains(&path), "{} belongs to no target", path.display());
            }
        }
    }
}
