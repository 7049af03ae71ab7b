//! One line per contract and per requirement, and the final verdict.

use std::io::{self, Write};
use std::time::Duration;

use anstyle::Style;
use proofmark_judge::Suite;
use proofmark_judge::law::LawOptions;
use proofmark_judge::verdict::{
    ContractResult, RequirementResult, RequirementVerdict, RunOutcome, Verdict,
};

use crate::failure::levelled;
use crate::style::{BAD, GOOD, QUIET, STRONG, styled};
use crate::text::visible_line;

/// Each contract with its requirements.
pub fn write_contracts(
    out: &mut dyn Write,
    outcome: &RunOutcome,
    contracts: &[ContractResult<'_>],
) -> io::Result<()> {
    for contract in contracts {
        let (mark, word) = standing(outcome, contract);
        write!(out, "{}  {}", styled(STRONG, &contract.contract.id), styled(mark, word))?;
        if !contract.claimed {
            writeln!(out, "\n")?;
            continue;
        }
        let (holding, all) = contract.deciding();
        let (others_holding, others) = contract.others();
        writeln!(
            out,
            "  {holding} of {all} musts hold, {others_holding} of {others} interpretations and options hold"
        )?;
        for requirement in &contract.requirements {
            write_requirement(out, requirement)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn standing(outcome: &RunOutcome, contract: &ContractResult<'_>) -> (Style, &'static str) {
    match (contract.claimed, contract.certified) {
        (_, true) => (GOOD, "certified"),
        (true, false) => (BAD, "not certified"),
        (false, false) if outcome.subject.is_none() => {
            (BAD, "not certified: the subject never answered `hello`")
        }
        (false, false) => (QUIET, "not claimed"),
    }
}

/// Writes the final verdict: which contracts are certified and which are not.
pub fn write_verdict(
    out: &mut dyn Write,
    suite: &Suite,
    outcome: &RunOutcome,
    contracts: &[ContractResult<'_>],
) -> io::Result<()> {
    let named = |certified: bool| {
        let of = contracts.iter().filter(|contract| contract.certified == certified);
        let counted = of.filter(|contract| contract.claimed || outcome.subject.is_none());
        counted.map(|contract| contract.contract.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let certified = named(true);
    if !certified.is_empty() {
        writeln!(out, "{}: {certified}", styled(GOOD, "certified"))?;
    }
    let refused = named(false);
    if !refused.is_empty() {
        writeln!(out, "{}: {refused}", styled(BAD, "not certified"))?;
        write_broken(out, contracts)?;
    }
    for unknown in outcome.unknown_contracts(suite) {
        writeln!(
            out,
            "{}: {}, which this suite does not have",
            styled(BAD, "not certified"),
            visible_line(unknown)
        )?;
    }
    if contracts.iter().all(|contract| !contract.claimed) && outcome.subject.is_some() {
        writeln!(
            out,
            "{}: the subject claims none of these contracts",
            styled(BAD, "not certified")
        )?;
    }
    Ok(())
}

/// Repeats the broken and the blocked promises that decide: people read the end of a log.
fn write_broken(out: &mut dyn Write, contracts: &[ContractResult<'_>]) -> io::Result<()> {
    const MOST: usize = 20;
    let all = contracts.iter().flat_map(|contract| &contract.requirements);
    let deciding: Vec<_> = all.filter(|one| one.requirement.decides()).collect();
    for word in ["broken", "blocked"] {
        let ids = deciding.iter().filter(|one| match &one.verdict {
            RequirementVerdict::Broken { .. } => word == "broken",
            RequirementVerdict::Blocked { .. } => word == "blocked",
            _ => false,
        });
        let ids: Vec<&str> = ids.map(|one| one.requirement.id.as_str()).collect();
        let more = match ids.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if !ids.is_empty() {
            let shown = ids.iter().take(MOST).copied().collect::<Vec<_>>().join(", ");
            writeln!(out, "{}: {shown}{more}", styled(BAD, word))?;
        }
    }
    Ok(())
}

fn write_requirement(out: &mut dyn Write, result: &RequirementResult<'_>) -> io::Result<()> {
    let (style, word) = match &result.verdict {
        RequirementVerdict::Holds => (GOOD, "holds"),
        RequirementVerdict::Broken { .. } => (BAD, "BROKEN"),
        RequirementVerdict::Blocked { .. } => (BAD, "blocked"),
        RequirementVerdict::NotShown { .. } => (BAD, "not shown"),
        RequirementVerdict::NotApplicable { .. } => (QUIET, "not asked"),
        RequirementVerdict::Excluded { .. } => (QUIET, "excluded"),
    };
    let requirement = result.requirement;
    let note = match &result.verdict {
        RequirementVerdict::Holds => format!("{} case{}", result.cases, plural(result.cases)),
        RequirementVerdict::Broken { cases } => {
            format!("{} of {} cases fail", cases.len(), result.cases)
        }
        RequirementVerdict::Blocked { .. } => {
            visible_line(&blocked_by(&result.verdict)).into_owned()
        }
        RequirementVerdict::NotShown { reason }
        | RequirementVerdict::NotApplicable { reason }
        | RequirementVerdict::Excluded { reason } => reason.clone(),
    };
    writeln!(
        out,
        "  {} {}  {}  {}  {}",
        styled(style, format_args!("{word:<9}")),
        requirement.id,
        levelled(requirement),
        requirement.sentence,
        styled(QUIET, format_args!("[{note}]")),
    )
}

/// What blocks a requirement: `blocked by TOOLS-046: …`. Empty for any other verdict.
pub(crate) fn blocked_by(verdict: &RequirementVerdict) -> String {
    match verdict {
        RequirementVerdict::Blocked { by: Some(id), reason, .. } => {
            format!("blocked by {id}: {reason}")
        }
        RequirementVerdict::Blocked { by: None, reason, .. } => format!("blocked: {reason}"),
        _ => String::new(),
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Writes faults that no case is to blame for, and other notes.
pub fn write_faults(out: &mut dyn Write, suite: &Suite, outcome: &RunOutcome) -> io::Result<()> {
    for fault in &outcome.faults {
        let message = fault.to_string();
        let (mark, message) = (styled(BAD, "FAULT"), visible_line(&message));
        writeln!(out, "{mark} {}: {message}; nothing is certified", fault.code())?;
    }
    for problem in &outcome.known_problems {
        writeln!(out, "{} {problem}", styled(BAD, "KNOWN FAILURES"))?;
    }
    for message in &outcome.unkept {
        writeln!(out, "{} {}", styled(BAD, "does not hold:"), visible_line(message))?;
    }
    if outcome.stopped.is_some() {
        writeln!(out, "note: stopped at the first failure; the rest was not tried")?;
    }
    for unknown in outcome.unknown_claims(suite) {
        writeln!(out, "note: {}", visible_line(&unknown))?;
    }
    let usual = LawOptions::default();
    if outcome.laws != usual {
        let LawOptions { seed, cases, .. } = outcome.laws;
        writeln!(
            out,
            "note: laws were tried with {cases} inputs and seed {seed}; the default is {} and seed {}",
            usual.cases, usual.seed
        )?;
    }
    Ok(())
}

/// Writes the number of cases by result, and the time.
pub fn write_totals(
    out: &mut dyn Write,
    suite: &Suite,
    outcome: &RunOutcome,
    elapsed: Duration,
) -> io::Result<()> {
    let (mut passed, mut failed, mut undecisive, mut blocked, mut known, mut idle) =
        (0, 0, 0, 0, 0, 0);
    for result in &outcome.results {
        match &result.verdict {
            Verdict::Passed => passed += 1,
            Verdict::Failed { .. } | Verdict::Blocked { .. } if result.known.is_some() => {
                known += 1
            }
            Verdict::Blocked { .. } => blocked += 1,
            Verdict::Failed { .. } => {
                failed += 1;
                undecisive +=
                    usize::from(!suite.case(&result.case).is_some_and(|case| suite.decides(case)));
            }
            Verdict::NotExercised { .. } => idle += 1,
        }
    }
    let note = match undecisive {
        0 => String::new(),
        all if all == failed => " (none of which decides)".to_owned(),
        1 => " (1 of which does not decide)".to_owned(),
        some => format!(" ({some} of which do not decide)"),
    };
    let blocked = match blocked {
        0 => String::new(),
        blocked => format!(", {blocked} blocked"),
    };
    let known = match known {
        0 => String::new(),
        known => format!(", {known} failed as known"),
    };
    let seconds = elapsed.as_secs_f64();
    writeln!(
        out,
        "{passed} passed, {failed} failed{note}{blocked}{known}, {idle} not exercised in {seconds:.2} s"
    )?;
    let mut reasons: Vec<String> = outcome
        .results
        .iter()
        .filter_map(|result| match &result.verdict {
            Verdict::NotExercised { reason } => Some(reason.to_string()),
            Verdict::Passed | Verdict::Failed { .. } | Verdict::Blocked { .. } => None,
        })
        .collect();
    reasons.sort();
    reasons.dedup();
    for reason in reasons {
        writeln!(out, "not exercised: {reason}")?;
    }
    Ok(())
}
