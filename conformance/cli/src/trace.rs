//! `proofmark trace`: links requirements to the cases that show them and to the mutants and saboteurs that prove
//! those cases. With `--text`, it shows what a change of a contract's text affects.

mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use proofmark_judge::case::{Case, CaseKind};
use proofmark_judge::ledger::{Contract, Requirement};
use proofmark_judge::{Suite, nearest};
use proofmark_report::style::{QUIET, STRONG, styled};
use proofmark_selftest::mutants::{self, Tally};
use proofmark_selftest::{Lanes, memory};
use proofmark_suite::run::{Cancel, RunOptions};
use serde_json::{Value, json};

use crate::choice::SubjectChoice;
use crate::drive::cancel_on_signal;
use crate::exit::{Exit, Failed, standing};
use crate::options::{Format, SuiteChoice};

/// Show which cases, laws and saboteurs check each requirement, or what a change of a contract's text affects.
///
/// Exit codes with `--text`: 0 if no pinned section changed, 1 if one did, 2 if that could not be determined.
#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// A requirement or a contract, for example NOTES-001 or my.notes [default: all].
    #[arg(value_name = "REQUIREMENT|CONTRACT", conflicts_with = "text")]
    what: Option<String>,
    /// Also count the response mutants that the cases of each requirement kill. Takes seconds.
    #[arg(long, conflicts_with = "text")]
    mutants: bool,
    /// Another version of a contract's text, under the file name that the ledgers use.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    text: Vec<PathBuf>,
    /// Write the hashes of the cited sections of this text into the ledgers.
    #[arg(long, requires = "text", requires = "suite")]
    pin: bool,
    /// List the requirements in this certificate that the change affects.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "text", conflicts_with = "pin")]
    certificate: Vec<PathBuf>,
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    suite: SuiteChoice,
}

pub(crate) fn trace(args: &TraceArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    if !args.text.is_empty() {
        return text::trace(args, out);
    }
    let suite = args.suite.load()?;
    let traced = traced(suite, args.what.as_deref())?;
    let killed = if args.mutants { Some(killed(suite)?) } else { None };
    let threads: Vec<Thread<'_>> = traced
        .iter()
        .map(|(contract, requirement)| Thread::of(suite, contract, requirement, killed.as_ref()))
        .collect();
    let contracts: Vec<&Contract> = suite
        .contracts
        .iter()
        .filter(|contract| threads.iter().any(|thread| thread.contract.id == contract.id))
        .collect();
    let whole = args.what.as_deref().is_none_or(|what| suite.contract(what).is_some());
    let uncalled: Vec<&str> = if whole {
        contracts.iter().flat_map(|contract| uncalled(suite, contract)).collect()
    } else {
        Vec::new()
    };
    let written = match args.format {
        Format::Json => write_json(&threads, &uncalled, out),
        Format::Human => write_human(&threads, &uncalled, out),
    };
    standing(Exit::Holds, written)
}

fn traced<'a>(
    suite: &'a Suite,
    what: Option<&str>,
) -> Result<Vec<(&'a Contract, &'a Requirement)>, Failed> {
    let of = |contract: &'a Contract| contract.requirements.iter().map(move |one| (contract, one));
    let Some(what) = what else { return Ok(suite.contracts.iter().flat_map(of).collect()) };
    if let Some(contract) = suite.contract(what) {
        return Ok(of(contract).collect());
    }
    if let Some(found) = suite.requirement(what) {
        return Ok(vec![found]);
    }
    let contracts = suite.contracts.iter().map(|contract| contract.id.as_str());
    let ids = suite.contracts.iter().flat_map(of).map(|(_, requirement)| requirement.id.as_str());
    let hint = nearest(what, contracts.chain(ids)).map(|name| format!(" (did you mean `{name}`?)"));
    Err(Failed::Usage(format!(
        "`{what}` is neither a requirement nor a contract{}; `proofmark list requirements` and `list contracts` show all",
        hint.unwrap_or_default()
    )))
}

/// Mutants of the reference's answers, by requirement.
fn killed(suite: &Suite) -> Result<BTreeMap<String, Tally>, Failed> {
    let cancel = Cancel::default();
    cancel_on_signal(cancel.clone());
    let command = SubjectChoice::built_in()?;
    let options = RunOptions { scratch: memory(), ..RunOptions::default() };
    Ok(mutants::check(suite, &command, &options, &Lanes::default(), &cancel)?.requirements)
}

/// A requirement and everything that checks it.
struct Thread<'a> {
    contract: &'a Contract,
    requirement: &'a Requirement,
    cases: Vec<&'a Case>,
    /// Names and what they do.
    saboteurs: Vec<(&'static str, &'static str)>,
    mutants: Option<Tally>,
}

impl<'a> Thread<'a> {
    fn of(
        suite: &'a Suite,
        contract: &'a Contract,
        requirement: &'a Requirement,
        killed: Option<&BTreeMap<String, Tally>>,
    ) -> Self {
        let breaks = |ids: &[&str]| ids.contains(&requirement.id.as_str());
        Self {
            contract,
            requirement,
            cases: suite.cases_showing(&requirement.id).collect(),
            saboteurs: proofmark_adversaries::saboteurs()
                .filter(|(_, ids)| breaks(ids))
                .map(|(adversary, _)| (adversary.name, adversary.about))
                .collect(),
            mutants: killed.map(|killed| killed.get(&requirement.id).cloned().unwrap_or_default()),
        }
    }
}

/// Operations that no fixture or scenario calls. Laws do not count: they make their calls at run time.
fn uncalled<'a>(suite: &'a Suite, contract: &'a Contract) -> impl Iterator<Item = &'a str> {
    let called = move |operation: &&str| {
        let cases = suite.cases.iter().filter(|case| case.contract == contract.id);
        let mut calls = cases.flat_map(Case::calls);
        !calls.any(|call| call.operation == **operation)
    };
    contract.operations.iter().map(String::as_str).filter(called)
}

fn kind(case: &Case) -> &'static str {
    match case.kind {
        CaseKind::Fixture => "fixture",
        CaseKind::Scenario => "scenario",
        CaseKind::Law(_) => "law",
    }
}

fn write_json(
    threads: &[Thread<'_>],
    uncalled: &[&str],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let case = |case: &&Case| json!({ "name": case.name, "kind": kind(case), "origin": case.origin.to_string(), "at": case.at.to_string() });
    let requirements: Vec<Value> = threads
        .iter()
        .map(|thread| {
            let Requirement { id, level, basis, sentence, source, excluded, .. } =
                thread.requirement;
            let saboteurs: Vec<Value> = thread
                .saboteurs
                .iter()
                .map(|(name, about)| json!({ "name": name, "about": about }))
                .collect();
            let mut one = json!({
                "id": id, "contract": thread.contract.id, "level": level, "basis": basis,
                "sentence": sentence, "source": source,
                "cases": thread.cases.iter().map(case).collect::<Vec<_>>(), "saboteurs": saboteurs,
            });
            if let Some(reason) = excluded {
                one["excluded"] = json!(reason);
            }
            if let Some(tally) = &thread.mutants {
                one["mutants"] = json!(tally);
            }
            one
        })
        .collect();
    let nothing: Vec<&str> =
        unshown(threads).map(|thread| thread.requirement.id.as_str()).collect();
    let report = json!({
        "requirements": requirements,
        "unchecked": { "requirements": nothing, "operations": uncalled },
    });
    serde_json::to_writer_pretty(&mut *out, &report)?;
    writeln!(out)
}

fn unshown<'a, 'b>(threads: &'b [Thread<'a>]) -> impl Iterator<Item = &'b Thread<'a>> {
    threads.iter().filter(|thread| thread.cases.is_empty())
}

fn write_human(
    threads: &[Thread<'_>],
    uncalled: &[&str],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for thread in threads {
        let Requirement { id, level, sentence, source, .. } = thread.requirement;
        writeln!(out, "{}  {level}  {sentence}", styled(STRONG, id))?;
        line(out, "source", format_args!("{}: {source}", thread.contract.text))?;
        for case in &thread.cases {
            let what = styled(QUIET, format_args!("({}, {})", kind(case), case.origin));
            line(out, "case", format_args!("{}  {what}", case.name))?;
        }
        if let Some(Tally { killed, survived, free, .. }) = &thread.mutants {
            let free: usize = free.values().sum();
            line(
                out,
                "mutants",
                format_args!("{killed} killed, {survived} survived, {free} declared free"),
            )?;
        }
        for (name, about) in &thread.saboteurs {
            line(out, "saboteur", format_args!("{name}  {}", styled(QUIET, about)))?;
        }
        if let Some(reason) = &thread.requirement.excluded {
            line(out, "excluded", reason)?;
        }
    }
    if unshown(threads).next().is_some() || !uncalled.is_empty() {
        writeln!(out, "\n{}", styled(STRONG, "Not checked yet"))?;
    }
    for thread in unshown(threads) {
        let reason = thread.requirement.excluded.as_deref().unwrap_or("no case");
        line(out, "promise", format_args!("{}  {reason}", thread.requirement.id))?;
    }
    uncalled.iter().try_for_each(|operation| line(out, "operation", operation))
}

fn line(out: &mut dyn Write, label: &str, text: impl std::fmt::Display) -> std::io::Result<()> {
    writeln!(out, "  {} {text}", styled(QUIET, format_args!("{label:<9}")))
}
