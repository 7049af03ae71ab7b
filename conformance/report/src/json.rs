//! The report for programs. Everything that may differ between equal runs is in `timing`.

use std::io::{self, Write};
use std::time::Duration;

use proofmark_judge::Suite;
use proofmark_judge::verdict::{ContractResult, RequirementResult, RequirementVerdict, RunOutcome};
use serde_json::{Map, Value, json};

use crate::report::Report;

/// The JSON schema of [`report`].
pub const SCHEMA: &str = include_str!("../schemas/report.schema.json");

/// Writes [`report`] with line breaks.
pub fn write(out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
    let Report { suite, outcome, contracts, holds, elapsed, .. } = *report;
    serde_json::to_writer_pretty(
        &mut *out,
        &self::report(suite, outcome, contracts, holds, elapsed),
    )?;
    writeln!(out)
}

/// The whole run as one JSON object.
pub fn report(
    suite: &Suite,
    outcome: &RunOutcome,
    contracts: &[ContractResult<'_>],
    holds: bool,
    elapsed: Duration,
) -> Value {
    let (cases, stderr) = cases(outcome);
    json!({
        "proofmark": env!("CARGO_PKG_VERSION"),
        "suite": { "digest": suite.digest },
        "laws": { "seed": outcome.laws.seed, "cases": outcome.laws.cases },
        "subject": outcome.subject,
        "holds": holds,
        "interrupted": outcome.interrupted,
        "contracts": contracts.iter().map(contract).collect::<Vec<_>>(),
        "cases": cases,
        "faults": outcome.faults.iter().map(|fault| json!({ "code": fault.code(), "message": fault.to_string() })).collect::<Vec<_>>(),
        "stopped": outcome.stopped.is_some(),
        "knownProblems": outcome.known_problems,
        "unkept": outcome.unkept,
        "timing": { "stderr": stderr, "elapsedMs": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX) },
    })
}

/// The cases, and separately their stderr, which may vary between runs.
fn cases(outcome: &RunOutcome) -> (Vec<Value>, Map<String, Value>) {
    let mut stderr = Map::new();
    let cases = outcome.results.iter().map(|result| {
        let mut case = serde_json::to_value(result).unwrap_or_default();
        let lines = case
            .get_mut("failure")
            .and_then(Value::as_object_mut)
            .and_then(|failure| failure.remove("stderr"));
        if let Some(lines) =
            lines.filter(|lines| lines.as_array().is_some_and(|lines| !lines.is_empty()))
        {
            stderr.insert(result.case.clone(), lines);
        }
        case
    });
    (cases.collect(), stderr)
}

fn contract(result: &ContractResult<'_>) -> Value {
    json!({
        "id": result.contract.id,
        "claimed": result.claimed,
        "certified": result.certified,
        "requirements": result.requirements.iter().map(requirement).collect::<Vec<_>>(),
    })
}

fn requirement(result: &RequirementResult<'_>) -> Value {
    let mut entry = json!({
        "id": result.requirement.id,
        "level": result.requirement.level,
        "basis": result.requirement.basis,
        "sentence": result.requirement.sentence,
        "source": result.requirement.source,
        "passed": result.passed,
        "cases": result.cases,
    });
    // `verdict`, and its reason or its cases.
    if let (Value::Object(entry), Ok(Value::Object(verdict))) =
        (&mut entry, serde_json::to_value(&result.verdict))
    {
        for (key, value) in verdict {
            let key = match (key.as_str(), &result.verdict) {
                ("cases", RequirementVerdict::Blocked { .. }) => "blocked".to_owned(),
                ("cases", _) => "failing".to_owned(),
                _ => key,
            };
            entry.insert(key, value);
        }
    }
    entry
}
