//! Selects the probes for the checks.

use proofmark_suite::{Does, Probe};

/// The first operation that passes its argument to a fake, and that fake.
pub(super) fn asking(probes: &[&Probe]) -> Option<(Probe, &'static str)> {
    probes.iter().find_map(|probe| match probe.does {
        Does::AskFake(fake) => Some((**probe, fake)),
        Does::Hash => None,
    })
}

pub(super) fn hashing(probes: &[&Probe]) -> Option<Probe> {
    probes.iter().find(|probe| probe.does == Does::Hash).map(|probe| **probe)
}
