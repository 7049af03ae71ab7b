//! `proofmark show`: prints a case, a requirement or a contract.

use std::io::Write;

use proofmark_judge::case::{Action, CallStep, Case, CaseKind, FileExpected, FileGiven};
use proofmark_judge::law::LawOptions;
use proofmark_judge::ledger::{Basis, Contract, Requirement};
use proofmark_judge::{Suite, nearest};
use proofmark_report::style::{QUIET, STRONG, styled};
use serde_json::{Map, Value, json};

use crate::exit::{Exit, Failed};
use crate::options::SuiteChoice;

/// Print a case, a requirement or a contract: its text, its source, its cases and goldens.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// For example NOTES-001, my.notes, or my.notes/append/round-trip.
    id: String,
    #[command(flatten)]
    suite: SuiteChoice,
}

pub(crate) fn show(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let suite = args.suite.load()?;
    if let Some(case) = suite.case(&args.id) {
        show_case(out, suite, case)?;
    } else if let Some((contract, requirement)) = suite.requirement(&args.id) {
        show_requirement(out, suite, contract, requirement)?;
    } else if let Some(contract) = suite.contract(&args.id) {
        show_contract(out, suite, contract)?;
    } else {
        let names = suite.cases.iter().flat_map(|case| [case.name.as_str(), case.id()]);
        let contracts = suite.contracts.iter().map(|contract| contract.id.as_str());
        let ids = suite
            .contracts
            .iter()
            .flat_map(|contract| &contract.requirements)
            .map(|requirement| requirement.id.as_str());
        let hint = nearest(&args.id, names.chain(contracts).chain(ids))
            .map(|name| format!(" (did you mean `{name}`?)"));
        return Err(Failed::Usage(format!(
            "unknown id `{}`{}; `proofmark list cases`, `list requirements` and `list contracts` list all ids",
            args.id,
            hint.unwrap_or_default()
        )));
    }
    Ok(Exit::Holds)
}

fn show_contract(out: &mut dyn Write, suite: &Suite, contract: &Contract) -> Result<(), Failed> {
    writeln!(out, "{}  {}", styled(STRONG, &contract.id), contract.title)?;
    field(out, "text", &contract.text)?;
    field(out, "ledger", &contract.at)?;
    if let Some(wire) = contract.wire {
        field(out, "wire", wire)?;
    }
    for operation in &contract.operations {
        field(out, "operation", operation)?;
    }
    for (hook, operations) in &contract.hooks {
        match operations.as_slice() {
            [] => field(out, "hook", format_args!("{hook}: no operations; name it in `hello`"))?,
            _ => field(out, "hook", format_args!("{hook}: {}", operations.join(", ")))?,
        }
    }
    for requirement in &contract.requirements {
        let cases = suite.cases_showing(&requirement.id).count();
        let ours = match requirement.basis {
            Basis::Contract => "",
            Basis::Interpretation => ", interpretation",
        };
        writeln!(
            out,
            "  {}  {:<6}  {}  {}",
            requirement.id,
            requirement.level,
            requirement.sentence,
            styled(QUIET, format_args!("[{cases} cases{ours}]"))
        )?;
    }
    Ok(())
}

fn show_requirement(
    out: &mut dyn Write,
    suite: &Suite,
    contract: &Contract,
    requirement: &Requirement,
) -> Result<(), Failed> {
    writeln!(out, "{}  {}", styled(STRONG, &requirement.id), requirement.sentence)?;
    field(out, "contract", &contract.id)?;
    field(out, "level", requirement.level)?;
    let basis = match requirement.basis {
        Basis::Contract => "contract",
        Basis::Interpretation => "interpretation: checked and reported, never decides",
    };
    field(out, "basis", basis)?;
    field(out, "source", format_args!("{}: {}", contract.text, requirement.source))?;
    if let Some(reason) = &requirement.reason {
        field(out, "reason", reason)?;
    }
    if let Some(hook) = &requirement.applies_with {
        field(out, "applies", format_args!("where the hook `{hook}` is offered"))?;
    }
    if let Some(reason) = &requirement.excluded {
        field(out, "excluded", reason)?;
    }
    field(out, "ledger", &requirement.at)?;
    for case in suite.cases_showing(&requirement.id) {
        writeln!(out)?;
        show_case(out, suite, case)?;
    }
    Ok(())
}

fn show_case(out: &mut dyn Write, suite: &Suite, case: &Case) -> Result<(), Failed> {
    writeln!(out, "{}", styled(STRONG, &case.name))?;
    field(out, "why", &case.why)?;
    for id in &case.shows {
        let sentence = suite.requirement(id).map_or("", |(_, requirement)| &requirement.sentence);
        field(out, "shows", format_args!("{id}  {sentence}"))?;
    }
    field(out, "origin", &case.origin)?;
    field(out, "at", &case.at)?;
    for need in &case.needs {
        field(out, "needs", format_args!("the test hook {need}"))?;
    }
    for alias in &case.aliases {
        field(out, "was", alias)?;
    }
    if let CaseKind::Law(law) = case.kind {
        field(out, "law", "its cases are made from a seed, such as this one:")?;
        let example = law.examples(LawOptions { cases: 1, ..LawOptions::default() });
        return match example.map(|mut cases| cases.pop()) {
            Ok(Some(example)) => show_steps(out, &example),
            Ok(None) => Ok(()),
            Err(message) => Err(Failed::Usage(message)),
        };
    }
    show_steps(out, case)
}

fn show_steps(out: &mut dyn Write, case: &Case) -> Result<(), Failed> {
    let given = &case.given;
    field(out, "clock", format_args!("{} + {} ms", given.clock.start, given.clock.step_ms))?;
    if !given.random.ints.is_empty() || !given.random.floats.is_empty() {
        field(
            out,
            "random",
            format_args!("ints {:?}, floats {:?}", given.random.ints, given.random.floats),
        )?;
    }
    for (path, file) in &given.files {
        field(out, "file", format_args!("{path} {}", given_file(file)))?;
    }
    for (fake, script) in &given.fakes {
        field(out, "fake", format_args!("{fake} {script}"))?;
    }
    for (number, step) in case.steps.iter().enumerate() {
        let words = step.words.as_deref().map(|words| format!("  {words}")).unwrap_or_default();
        writeln!(
            out,
            "  {}{}",
            styled(QUIET, format_args!("step {}", number + 1)),
            styled(QUIET, words)
        )?;
        match &step.action {
            Action::Call(call) => show_call(out, call)?,
            Action::Together(calls) => {
                writeln!(out, "    together:")?;
                calls.iter().try_for_each(|call| show_call(out, call))?;
            }
            Action::Kill { process } => writeln!(out, "    kill process {process}")?,
            Action::Write(files) => {
                for (path, file) in files {
                    writeln!(out, "    write {path} {}", given_file(file))?;
                }
            }
            Action::Leaves(files) => {
                for (path, file) in files {
                    writeln!(out, "    leaves {path} {}", expected_file(file))?;
                }
            }
        }
    }
    Ok(())
}

fn show_call(out: &mut dyn Write, call: &CallStep) -> Result<(), Failed> {
    let process =
        if call.process == "a" { String::new() } else { format!("  (process {})", call.process) };
    let after = match call.after.as_millis() {
        0 => String::new(),
        after => format!("  (after {after} ms)"),
    };
    writeln!(out, "    call {} {}{process}{after}", call.operation, call.args)?;
    for (word, outcomes) in [("assumes ", &call.assumes), ("", &call.expect)] {
        for (index, outcome) in outcomes.iter().enumerate() {
            let word = if index == 0 { word } else { "or " };
            writeln!(out, "    {word}{}", outcome.to_value())?;
        }
    }
    let asks = call.asks.as_ref().map(|asks| ("asks", asks));
    for (word, list) in
        asks.into_iter().chain(call.streams.as_ref().map(|streams| ("streams", streams)))
    {
        match list.source.as_array() {
            Some(items) => {
                items.iter().try_for_each(|item| writeln!(out, "    {word} {item}"))?;
            }
            None => writeln!(out, "    {word} {}", list.source)?,
        }
    }
    if !call.hides.is_empty() {
        writeln!(out, "    hides {}", Value::from(call.hides.clone()))?;
    }
    Ok(())
}

fn given_file(file: &FileGiven) -> Value {
    match file {
        FileGiven::Text(text) => json!({"text": text}),
        FileGiven::Bytes(bytes) => json!({"hex": hex::encode(bytes)}),
        FileGiven::Symlink(target) => json!({"symlink": target}),
        FileGiven::Hardlink(target) => json!({"hardlink": target}),
        FileGiven::Fifo => json!({"fifo": true}),
        FileGiven::Folder => json!({"folder": true}),
    }
}

fn expected_file(file: &FileExpected) -> Value {
    match file {
        FileExpected::Absent => Value::Null,
        FileExpected::Text(text) => json!({"text": text}),
        FileExpected::Bytes(bytes) => json!({"hex": hex::encode(bytes)}),
        FileExpected::Symlink(target) => json!({"symlink": target}),
        FileExpected::Entries(names) => json!({"entries": names}),
        FileExpected::Lines { prefix, ndjson } => {
            let prefix =
                prefix.iter().map(|prefix| ("prefix".to_owned(), Value::from(prefix.as_str())));
            let ndjson = ndjson.iter().map(|pattern| ("ndjson".to_owned(), pattern.source.clone()));
            Value::Object(prefix.chain(ndjson).collect::<Map<_, _>>())
        }
    }
}

fn field(out: &mut dyn Write, label: &str, text: impl std::fmt::Display) -> Result<(), Failed> {
    Ok(writeln!(out, "  {} {text}", styled(QUIET, format_args!("{label:<9}")))?)
}
