//! `proofmark merge`: the transcripts of disjoint parts as one run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proofmark_certificate::statement::holds;
use proofmark_report::{json, summary};
use proofmark_suite::record::Record;
use proofmark_suite::select::Selection;

use crate::exit::{Exit, Failed, standing};
use crate::issue::Issue;
use crate::keep;
use crate::options::{Format, SuiteChoice};

/// Merge the transcripts of the parts of one run, and judge the whole as `certify` would have.
///
/// Together the parts must hold every case once: a part twice or a part missing is an error (2).
#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// Transcripts that `run --record` wrote, or folders with such files (`*.jsonl`).
    #[arg(required = true, value_name = "FILE|DIR")]
    parts: Vec<PathBuf>,
    /// Only this contract was run. May be given several times.
    #[arg(long, value_name = "ID")]
    contract: Vec<String>,
    #[command(flatten)]
    issue: Issue,
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    #[command(flatten)]
    suite: SuiteChoice,
}

/// Writes the verdicts to `out`, as `certify` does.
pub(crate) fn merge(args: &MergeArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let suite = args.suite.load()?;
    let ready = args.issue.ready(&args.contract)?;
    let mut parts = Vec::new();
    for path in &args.parts {
        if path.is_dir() {
            parts.extend(in_folder(path)?);
        } else {
            parts.push((path.display().to_string(), keep::read_record(path)?));
        }
    }
    let selection = Selection { contracts: args.contract.clone(), ..Selection::default() };
    let record = Record::merged(parts, &suite, &selection)?;
    let outcome = record
        .rejudge(&suite)
        .map_err(|fault| Failed::BadRecord { path: args.parts[0].clone(), fault })?;
    let contracts = outcome.judge(&suite);
    let holds = holds(&suite, &outcome, &contracts, &args.contract);
    let written = match args.format {
        Format::Json => {
            let report = json::report(&suite, &outcome, &contracts, holds, Duration::ZERO);
            serde_json::to_writer_pretty(&mut *out, &report)
                .map_err(Into::into)
                .and_then(|()| writeln!(out))
        }
        Format::Human => summary::write_contracts(out, &outcome, &contracts)
            .and_then(|()| summary::write_faults(out, &suite, &outcome))
            .and_then(|()| summary::write_totals(out, &suite, &outcome, Duration::ZERO))
            .and_then(|()| summary::write_verdict(out, &suite, &outcome, &contracts)),
    };
    let found = if holds { Exit::Holds } else { Exit::DoesNotHold };
    let exit = standing(found, written)?;
    if let Some(ready) = ready {
        ready.issue(&suite, &record)?;
    }
    Ok(exit)
}

/// The transcripts in a folder, by name.
fn in_folder(folder: &Path) -> Result<Vec<(String, Record)>, Failed> {
    let unreadable = |fault| Failed::Unreadable { path: folder.to_owned(), fault };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|end| end == "jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Failed::Usage(format!(
            "`{}` holds no transcript (`*.jsonl`)",
            folder.display()
        )));
    }
    paths.iter().map(|path| Ok((path.display().to_string(), keep::read_record(path)?))).collect()
}
