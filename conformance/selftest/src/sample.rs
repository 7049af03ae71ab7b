//! Chooses a sample of cases that covers every requirement.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_judge::case::Case;

/// For every requirement, one of the cases that show it, in the order of `cases`. Different seeds pick different
/// cases, so that many samples together cover nearly all. The choice depends only on names, so it is the same in
/// every run.
pub(crate) fn sample<'a>(cases: &[&'a Case], seed: &str) -> Vec<&'a Case> {
    let mut picks: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for case in cases {
        let ranked = (rank(seed, &case.name), case.name.as_str());
        for id in &case.shows {
            let pick = picks.entry(id).or_insert(ranked);
            *pick = ranked.min(*pick);
        }
    }
    let picked: BTreeSet<&str> = picks.into_values().map(|(_, name)| name).collect();
    cases.iter().copied().filter(|case| picked.contains(case.name.as_str())).collect()
}

/// FNV-1a, since the standard library's hash may change between versions.
pub(crate) fn rank(seed: &str, name: &str) -> u64 {
    let bytes = seed.bytes().chain([0]).chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Mix the bits: the last bytes of a name only affect the low ones.
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_covers_every_requirement_and_depends_on_the_seed() {
        let suite =
            proofmark_catalog::load(&proofmark_catalog::files()).expect("the suite is sound");
        let cases: Vec<&Case> = suite.cases.iter().collect();
        let names = |cases: &[&Case]| -> BTreeSet<String> {
            cases.iter().map(|case| case.name.clone()).collect()
        };
        let shown = |cases: &[&Case]| -> BTreeSet<String> {
            cases.iter().flat_map(|case| case.shows.iter().cloned()).collect()
        };
        let (one, other) = (sample(&cases, "one"), sample(&cases, "other"));
        assert_eq!(shown(&one), shown(&cases));
        assert_eq!(names(&one), names(&sample(&cases, "one")));
        assert_ne!(names(&one), names(&other));
        assert!(one.len() * 2 < cases.len(), "{} of {}", one.len(), cases.len());
    }

    #[test]
    fn many_samples_together_cover_nearly_all_cases() {
        let suite =
            proofmark_catalog::load(&proofmark_catalog::files()).expect("the suite is sound");
        let cases: Vec<&Case> = suite.cases.iter().collect();
        let seeds = (0..40).map(|seed: u32| seed.to_string());
        let met: BTreeSet<&str> =
            seeds.flat_map(|seed| sample(&cases, &seed)).map(|case| case.name.as_str()).collect();
        assert!(met.len() * 10 > cases.len() * 8, "{} of {}", met.len(), cases.len());
    }
}
