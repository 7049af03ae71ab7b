//! Checks that two faults at once blame nothing else: a subject with the faults of two saboteurs breaks only what one
//! of them breaks. Everything else holds or is blocked.
//!
//! A case that needs the promise of one fault to show the promise of the other would blame the wrong one here, if its
//! setup counted as evidence.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_judge::Suite;
use proofmark_judge::case::Case;
use proofmark_judge::verdict::RequirementVerdict;
use proofmark_suite::run::{RunOptions, run};
use serde::Serialize;

use crate::saboteurs::{FEW, Sabotage, of_contracts};
use crate::sample::{rank, sample};
use crate::{Options, SelftestError};

/// How many pairs each contract gets, unless [`Options::full`].
const EACH: usize = 12;
const EACH_IN_FULL: usize = 100;

/// The result for one pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairReport {
    pub name: String,
    pub contract: String,
    /// The number of cases that it ran.
    pub cases: usize,
    /// Requirements that came out blocked.
    pub blocked: usize,
    /// Whether each fault broke something. One may hide the other.
    pub both_seen: bool,
    /// Empty if the check passes.
    pub problems: Vec<String>,
}

/// Two subjects whose faults are put into one.
#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    contract: &'a str,
    one: Sabotage<'a>,
    other: Sabotage<'a>,
}

impl Pair<'_> {
    fn name(&self) -> String {
        proofmark_adversaries::pair_name(self.one.0, self.other.0)
    }
}

/// Runs a sample of pairs for each contract; the same in every run.
pub fn check(suite: &Suite, options: &Options) -> Result<Vec<PairReport>, SelftestError> {
    let wrong: Vec<Sabotage<'_>> =
        proofmark_adversaries::saboteurs().chain(proofmark_adversaries::crippled()).collect();
    let each = if options.full { EACH_IN_FULL } else { EACH };
    let pairs: Vec<Pair<'_>> = suite
        .contracts
        .iter()
        .flat_map(|contract| pairs_of(suite, &contract.id, &wrong, each))
        .collect();
    let reports = options.lanes.each(&pairs, |pair| try_pair(suite, *pair, options));
    reports.into_iter().collect()
}

/// Some pairs of this contract. Slow subjects wait for timeouts, and rare faults need many rounds, so both are left out.
fn pairs_of<'a>(
    suite: &'a Suite,
    contract: &'a str,
    wrong: &[Sabotage<'a>],
    each: usize,
) -> Vec<Pair<'a>> {
    let in_it = |id: &&str| suite.requirement(id).is_some_and(|(owner, _)| owner.id == contract);
    let breaks_it = |(adversary, breaks): &&Sabotage<'a>| {
        !adversary.slow && !adversary.rare && breaks.iter().all(in_it)
    };
    let own: Vec<Sabotage<'a>> = wrong.iter().filter(breaks_it).copied().collect();
    let mut pairs: Vec<(u64, Pair<'a>)> = Vec::new();
    for (index, one) in own.iter().enumerate() {
        for other in &own[index + 1..] {
            let pair = Pair { contract, one: *one, other: *other };
            pairs.push((rank("pairs", &pair.name()), pair));
        }
    }
    pairs.sort_by_key(|(rank, _)| *rank);
    // What is crippled meets many cases, so every crippled subject is in a pair.
    let mut met = BTreeSet::new();
    let (first, rest): (Vec<_>, Vec<_>) =
        pairs.into_iter().map(|(_, pair)| pair).partition(|pair| {
            let crippled = [pair.one.0, pair.other.0].into_iter().filter(|one| one.is_crippled());
            crippled.filter(|one| met.insert(one.name)).count() > 0
        });
    first.into_iter().chain(rest).take(each).collect()
}

fn try_pair(suite: &Suite, pair: Pair<'_>, options: &Options) -> Result<PairReport, SelftestError> {
    let name = pair.name();
    let cases = chosen(suite, pair, &name, options.full);
    let mut report = PairReport {
        name: name.clone(),
        contract: pair.contract.to_owned(),
        cases: cases.len(),
        blocked: 0,
        both_seen: false,
        problems: Vec::new(),
    };
    let command = options.named(&name, &proofmark_adversaries::usual_claims());
    let how: RunOptions = options.run();
    let outcome = run(suite, cases, &command, &how, &options.cancel, |_| {})
        .map_err(|fault| SelftestError::Run { adversary: name.clone(), fault })?;
    if outcome.interrupted {
        return Err(SelftestError::Interrupted);
    }
    let judged = outcome.judge(suite);
    let results = judged.iter().flat_map(|contract| &contract.requirements);
    let mut broken = BTreeMap::new();
    for result in results {
        match &result.verdict {
            RequirementVerdict::Broken { cases } => {
                broken.insert(result.requirement.id.as_str(), cases);
            }
            RequirementVerdict::Blocked { .. } => report.blocked += 1,
            _ => {}
        }
    }
    let seen = |(_, breaks): Sabotage<'_>| breaks.iter().any(|id| broken.contains_key(id));
    report.both_seen = seen(pair.one) && seen(pair.other);
    let of_either = |id: &str| pair.one.1.contains(&id) || pair.other.1.contains(&id);
    for (id, cases) in broken.iter().filter(|(id, _)| !of_either(id)) {
        let first = cases.first().map_or("", String::as_str);
        report.problems.push(format!(
            "`{name}`: neither fault breaks {id}, but `{first}` failed, and {} in all",
            cases.len()
        ));
    }
    Ok(report)
}

/// All cases of what the two break, and a sample of the others. All, if there are few.
fn chosen<'a>(suite: &'a Suite, pair: Pair<'_>, name: &str, full: bool) -> Vec<&'a Case> {
    let all = of_contracts(suite, &BTreeSet::from([pair.contract]));
    if full || all.len() <= FEW {
        return all;
    }
    let broken =
        |id: &String| [pair.one.1, pair.other.1].iter().any(|one| one.contains(&id.as_str()));
    let (mut cases, others): (Vec<&Case>, Vec<&Case>) =
        all.into_iter().partition(|case| case.shows.iter().any(broken));
    cases.extend(sample(&others, name));
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}
