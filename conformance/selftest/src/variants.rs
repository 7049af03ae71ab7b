//! Checks that right but unusual subjects are certified: the suite demands nothing that the text leaves free.

use proofmark_adversaries::Variant;
use proofmark_judge::Suite;
use proofmark_judge::case::Case;
use proofmark_judge::verdict::{RequirementVerdict, RunOutcome};
use proofmark_suite::run::run;
use serde::Serialize;

use crate::{Options, SelftestError};

/// The result for one variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VariantReport {
    pub name: String,
    pub contract: String,
    pub about: String,
    /// The sentence that leaves it free.
    pub free: String,
    pub certified: bool,
    /// Interpretations, and requirements below `must`, that do not hold. They decide nothing.
    pub differs: Vec<String>,
    /// Empty if the check passes.
    pub problems: Vec<String>,
}

/// Runs every variant over all cases of its contract; if `suite` is only a part, those of that part.
pub fn check(suite: &Suite, options: &Options) -> Result<Vec<VariantReport>, SelftestError> {
    let variants: Vec<Variant> = proofmark_adversaries::variants()
        .filter(|variant| !suite.is_part || suite.contract(variant.contract).is_some())
        .collect();
    check_these(suite, &variants, options)
}

/// As [`check`], for given variants.
pub fn check_these(
    suite: &Suite,
    variants: &[Variant],
    options: &Options,
) -> Result<Vec<VariantReport>, SelftestError> {
    let slow = |variant: &Variant| variant.adversary.slow;
    let reports =
        options.lanes.each_by(variants, slow, |variant| try_variant(suite, *variant, options));
    reports.into_iter().collect()
}

fn try_variant(
    suite: &Suite,
    variant: Variant,
    options: &Options,
) -> Result<VariantReport, SelftestError> {
    let name = variant.adversary.name;
    let cases: Vec<&Case> =
        suite.cases.iter().filter(|case| case.contract == variant.contract).collect();
    let mut report = VariantReport {
        name: name.to_owned(),
        contract: variant.contract.to_owned(),
        about: variant.adversary.about.to_owned(),
        free: variant.free.to_owned(),
        certified: false,
        differs: Vec::new(),
        problems: Vec::new(),
    };
    if cases.is_empty() {
        report.problems.push(format!("`{name}` is of `{}`, which has no cases", variant.contract));
        return Ok(report);
    }
    let claims = proofmark_adversaries::usual_claims();
    let command = options.command(variant.adversary, &claims);
    let outcome = run(suite, cases, &command, &options.run(), &options.cancel, |_| {})
        .map_err(|fault| SelftestError::Run { adversary: name.to_owned(), fault })?;
    if outcome.interrupted {
        return Err(SelftestError::Interrupted);
    }
    judge(suite, &outcome, &mut report);
    Ok(report)
}

fn judge(suite: &Suite, outcome: &RunOutcome, report: &mut VariantReport) {
    let (name, about) = (report.name.clone(), report.about.clone());
    let mut problems: Vec<String> =
        outcome.faults.iter().map(|fault| format!("`{name}` has a fault: {fault}")).collect();
    for judged in outcome.judge(suite).iter().filter(|one| one.contract.id == report.contract) {
        report.certified = judged.certified;
        for one in &judged.requirements {
            let RequirementVerdict::Broken { cases } = &one.verdict else { continue };
            let id = &one.requirement.id;
            if one.requirement.decides() {
                let first = cases.first().map_or("", String::as_str);
                problems.push(format!(
                    "`{name}` ({about}) is right, but is said to break {id}: `{first}`, {} in all",
                    cases.len()
                ));
            } else {
                report.differs.push(id.clone());
            }
        }
    }
    if !report.certified && problems.is_empty() {
        problems.push(format!("`{name}` ({about}) is right, but is not certified"));
    }
    report.problems = problems;
}
