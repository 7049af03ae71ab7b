//! Response mutants: transcripts of a passing subject with one thing changed. Every change must turn the pass into a
//! failure, unless the case explicitly allows it.
//!
//! A verdict is a function of the case and its transcript, so a mutant needs no second run of the subject: the same
//! code judges the changed transcript.

mod freedom;
mod seen;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use proofmark_judge::Suite;
use proofmark_judge::case::{Case, CaseKind};
use proofmark_judge::judge::Judge;
use proofmark_judge::law::LawOptions;
use proofmark_judge::transcript::Transcript;
use proofmark_judge::verdict::Verdict;
use proofmark_suite::run::{Cancel, RunOptions, run};
use proofmark_suite::subject::SubjectCommand;
use serde::Serialize;

use self::freedom::freedom;
use crate::{Lanes, SelftestError};

/// The number of generated cases of each law to mutate.
const EXAMPLES_OF_A_LAW: u32 = 3;

/// The results of the mutants of all cases.
#[derive(Debug, Default, Serialize)]
pub struct MutantReport {
    pub contracts: BTreeMap<String, Tally>,
    /// By requirement: the mutants of the cases that show it.
    #[serde(skip)]
    pub requirements: BTreeMap<String, Tally>,
    /// Mutants that no case noticed and that no matcher allows.
    pub survivors: Vec<Survivor>,
    /// Cases that fail for no mutant.
    pub toothless: Vec<String>,
    /// Kinds of change that every case allows which could notice them. Worth reading: no implementation is held to
    /// these.
    pub unnoticed: Vec<Unnoticed>,
    /// Faults that no case is to blame for.
    pub faults: Vec<String>,
    /// Cases that the subject itself does not pass, so that they cannot be mutated.
    pub not_passed: Vec<String>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Tally {
    pub cases: usize,
    pub killed: usize,
    pub survived: usize,
    /// Changes that a case allows, by matcher.
    pub free: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.killed += other.killed;
        self.survived += other.survived;
        for (matcher, count) in &other.free {
            *self.free.entry(matcher).or_default() += count;
        }
    }

    /// The percentage of killed mutants, without the allowed ones.
    pub fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^53")]
        match self.killed + self.survived {
            0 => 0.0,
            all => 100.0 * self.killed as f64 / all as f64,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Survivor {
    pub case: String,
    /// The step's place in the suite.
    pub at: String,
    pub place: String,
    pub mutation: &'static str,
}

/// A kind of change that no case notices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unnoticed {
    /// An operation, perhaps with the code of its failure, or a file.
    pub of: String,
    pub place: String,
    pub mutation: &'static str,
    pub matcher: &'static str,
}

impl MutantReport {
    pub fn holds(&self) -> bool {
        !self.contracts.is_empty()
            && self.survivors.is_empty()
            && self.toothless.is_empty()
            && self.faults.is_empty()
            && self.not_passed.is_empty()
    }
}

/// Runs every case once on the subject, and judges every mutant of its transcript.
pub fn check(
    suite: &Suite,
    command: &SubjectCommand,
    options: &RunOptions,
    lanes: &Lanes,
    cancel: &Cancel,
) -> Result<MutantReport, SelftestError> {
    // By contract, so that no more than a few of them have their transcripts in memory.
    let contracts: Vec<&str> = suite.contracts.iter().map(|one| one.id.as_str()).collect();
    let checked = lanes
        .each(&contracts, |contract| check_contract(suite, contract, command, options, cancel));
    let mut report = MutantReport::default();
    let mut noticed = Noticed::default();
    for one in checked {
        let (of_contract, noticed_there) = one?;
        report.add(of_contract);
        noticed.add(noticed_there);
    }
    report.unnoticed = noticed.unnoticed().collect();
    Ok(report)
}

fn check_contract(
    suite: &Suite,
    contract: &str,
    command: &SubjectCommand,
    options: &RunOptions,
    cancel: &Cancel,
) -> Result<(MutantReport, Noticed), SelftestError> {
    let of_contract = || suite.cases.iter().filter(|case| case.contract == contract);
    let examples = examples(of_contract())?;
    let written = of_contract().filter(|case| !matches!(case.kind, CaseKind::Law(_)));
    let cases: Vec<&Case> = written.chain(&examples).collect();
    if cases.is_empty() {
        return Ok(Default::default());
    }
    let options = RunOptions { record: true, ..options.clone() };
    let outcome = run(suite, cases.clone(), command, &options, cancel, |_| ())?;
    if outcome.interrupted {
        return Err(SelftestError::Interrupted);
    }
    let by_name: BTreeMap<&str, &Case> =
        cases.iter().map(|case| (case.name.as_str(), *case)).collect();
    let faults = outcome.faults.iter().map(ToString::to_string).collect();
    let mut report = MutantReport { faults, ..MutantReport::default() };
    let mut noticed = Noticed::default();
    for result in &outcome.results {
        let Some(case) = by_name.get(result.case.as_str()) else { continue };
        match (&result.verdict, &result.transcript) {
            (Verdict::Passed, Some(transcript)) => {
                let generated = examples.iter().any(|example| std::ptr::eq(example, *case));
                report.mutate(case, transcript, generated, &mut noticed);
            }
            _ => report.not_passed.push(case.name.clone()),
        }
    }
    Ok((report, noticed))
}

/// Some of the cases that laws generate.
fn examples<'a>(cases: impl Iterator<Item = &'a Case>) -> Result<Vec<Case>, SelftestError> {
    let options = LawOptions { cases: EXAMPLES_OF_A_LAW, ..LawOptions::default() };
    let mut examples = Vec::new();
    for case in cases {
        if let CaseKind::Law(law) = case.kind {
            examples.append(&mut law.examples(options).map_err(SelftestError::Law)?);
        }
    }
    Ok(examples)
}

/// A kind of change: operation, place and mutation.
type Kind = (String, String, &'static str);

/// The kinds of change that some case noticed, and those that were allowed.
#[derive(Default)]
struct Noticed {
    killed: BTreeSet<Kind>,
    free: BTreeMap<Kind, &'static str>,
}

impl Noticed {
    fn add(&mut self, other: Self) {
        self.killed.extend(other.killed);
        self.free.extend(other.free);
    }

    fn unnoticed(self) -> impl Iterator<Item = Unnoticed> {
        let Self { killed, free } = self;
        free.into_iter().filter(move |(kind, _)| !killed.contains(kind)).map(|(kind, matcher)| {
            let (of, place, mutation) = kind;
            Unnoticed { of, place, mutation, matcher }
        })
    }
}

impl MutantReport {
    /// Adds the report of another contract. [`Self::unnoticed`] needs all of them.
    fn add(&mut self, other: Self) {
        for (contract, tally) in &other.contracts {
            self.contracts.entry(contract.clone()).or_default().add(tally);
        }
        for (id, tally) in &other.requirements {
            self.requirements.entry(id.clone()).or_default().add(tally);
        }
        self.survivors.extend(other.survivors);
        self.toothless.extend(other.toothless);
        self.faults.extend(other.faults);
        self.not_passed.extend(other.not_passed);
    }

    /// `generated`: a law generated the case.
    fn mutate(
        &mut self,
        case: &Case,
        transcript: &Transcript,
        generated: bool,
        noticed: &mut Noticed,
    ) {
        let mut judge = Judge::new(case);
        let mut tally = Tally::default();
        let mut teeth = 0;
        for (index, (step, seen)) in case.steps.iter().zip(&transcript.steps).enumerate() {
            // Later steps can only notice what this step saved.
            let saves =
                step.calls().iter().any(|call| call.saved_as.is_some() || call.stream_as.is_some());
            let rest = || case.steps.iter().zip(&transcript.steps).skip(index + 1);
            seen::mutants(step, seen, &mut |mutant| {
                let mut judge = judge.fork().briefly();
                let judged = judge.step(step, &mutant.seen);
                let fails = judged.is_err()
                    || (saves && rest().any(|(step, seen)| judge.step(step, seen).is_err()));
                // The case deserves no credit for noticing a failure instead of a value, or a malformed answer. What it
                // assumes counts: a change that breaks only what is expected may take more than one step. That a call
                // expects more than it assumes is checked by the lint.
                let by_the_case = !mutant.how.contains("instead of")
                    && !judged.is_err_and(|failure| failure.reason == "bad-answer");
                teeth += usize::from(fails && by_the_case);
                let kind = (mutant.of, without_indices(&mutant.place), mutant.how);
                let free = if fails { None } else { freedom(step, seen, &mutant.seen) };
                match (fails, free) {
                    (true, _) => {
                        tally.killed += 1;
                        noticed.killed.insert(kind);
                    }
                    (false, Some(matcher)) => {
                        *tally.free.entry(matcher).or_default() += 1;
                        // The places of generated cases have generated names.
                        if !generated {
                            noticed.free.insert(kind, matcher);
                        }
                    }
                    (false, None) => {
                        tally.survived += 1;
                        self.survivors.push(Survivor {
                            case: case.name.clone(),
                            at: step.at.to_string(),
                            place: mutant.place,
                            mutation: mutant.how,
                        });
                    }
                }
            });
            if judge.step(step, seen).is_err() {
                // It passed when it ran, so it must pass again.
                self.not_passed.push(case.name.clone());
                self.contracts.entry(case.contract.clone()).or_default().add(&tally);
                return;
            }
        }
        tally.cases += 1;
        self.contracts.entry(case.contract.clone()).or_default().add(&tally);
        for id in &case.shows {
            self.requirements.entry(id.clone()).or_default().add(&tally);
        }
        if teeth == 0 {
            self.toothless.push(case.name.clone());
        }
    }
}

/// `$.details[0]` becomes `$.details[]`, so that places in different cases are comparable.
fn without_indices(place: &str) -> String {
    let mut out = String::with_capacity(place.len());
    let mut inside = false;
    for character in place.chars() {
        inside = (inside && character != ']') || character == '[';
        if !inside || character == '[' {
            out.push(character);
        }
    }
    // Treat `call 3 answer` of concurrent calls like any other answer.
    match out.split_once(" answer") {
        Some((_, rest)) => format!("answer{rest}"),
        None => out,
    }
}
