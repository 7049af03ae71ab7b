//! `proofmark merge`: combines the transcripts of disjoint parts into one run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use proofmark_certificate::statement::holds;
use proofmark_judge::record::Record;
use proofmark_judge::select::Selection;
use proofmark_judge::verdict::CaseResult;
use proofmark_report::failure::{Rerun, quoted};
use proofmark_report::{Aim, Report};

use crate::choice::manifest_of;
use crate::drive::tell;
use crate::exit::{Exit, Failed};
use crate::issue::Issue;
use crate::keep::{self, Own};
use crate::options::{Known, RunFormat, SuiteChoice};
use crate::outputs::{Outputs, with_reports};

/// Merge the records of the parts of a run, and judge the whole as `certify` does.
///
/// The parts must contain every case exactly once. A missing or repeated part is an error (exit code 2).
#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// Records from `run --record`, or folders of them (`*.jsonl`).
    #[arg(required = true, value_name = "FILE|DIR")]
    parts: Vec<PathBuf>,
    /// The parts ran only this contract. Repeat for several.
    #[arg(long, value_name = "ID")]
    contract: Vec<String>,
    /// Take the suite and the known failures from this manifest [default: `proofmark.toml` in this folder, if there is
    /// one].
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    #[command(flatten)]
    issue: Issue,
    /// Format of the report on stdout.
    #[arg(long, value_enum, default_value_t = RunFormat::Human)]
    format: RunFormat,
    #[command(flatten)]
    outputs: Outputs,
    #[command(flatten)]
    known: Known,
    #[command(flatten)]
    suite: SuiteChoice,
}

/// Writes the verdicts to `out`, as `certify` does.
pub(crate) fn merge(args: &MergeArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let subject = manifest_of(args.manifest.as_deref())?;
    let suite = args.suite.load_for(&subject)?;
    let known = args.known.read(&subject, suite)?;
    let ready = args.issue.ready(&args.contract)?;
    let started = Instant::now();
    if let Some(folder) = args.parts.iter().find(|path| args.issue.goes_to(path)) {
        return Err(Failed::Usage(format!(
            "`{}` contains the parts, and the merged transcript would count as another part; choose another --out",
            folder.display()
        )));
    }
    let mut files = Vec::new();
    for path in &args.parts {
        if path.is_dir() {
            files.extend(in_folder(path)?);
        } else {
            files.push(path.clone());
        }
    }
    let mut own = args.issue.own();
    own.extend(subject.manifest.iter().map(|path| Own::new(path, "the manifest")));
    own.extend(args.known.own(&subject));
    own.extend(files.iter().map(|path| Own::new(path, "a part")));
    let outputs = args.outputs.prepare(&own)?;
    let read = |path: &PathBuf| Ok((path.display().to_string(), keep::read_record(path)?));
    let parts = files.iter().map(read).collect::<Result<Vec<_>, Failed>>()?;
    let selection = Selection { contracts: args.contract.clone(), ..Selection::default() };
    let record = Record::merged(parts, suite, &selection)?;
    let mut outcome = record
        .rejudge(suite)
        .map_err(|fault| Failed::BadRecord { path: args.parts[0].clone(), fault })?;
    if let Some(known) = &known {
        known.hold_against(&mut outcome, args.known.today());
    }
    let contracts = outcome.judge(suite);
    let holds = outcome.known_problems.is_empty()
        && outcome.unkept.is_empty()
        && !(outcome.listed && outcome.results.iter().any(CaseResult::failed_unexpectedly))
        && holds(suite, &outcome, &contracts, &args.contract);
    let folder = args.suite.suite.as_ref().or(subject.suite.as_ref());
    let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
    let options = folder.as_ref().map(|folder| format!("--suite {}", quoted(folder)));
    let rerun = Rerun {
        subject: "-- COMMAND".to_owned(),
        options: options.unwrap_or_default(),
        keep_in: ".".to_owned(),
    };
    let report = Report {
        suite,
        folder: folder.as_deref(),
        outcome: &outcome,
        contracts: &contracts,
        aim: Aim::Certify,
        holds,
        elapsed: started.elapsed(),
        rerun: &rerun,
    };
    let written = tell(&report, args.format, &outputs, out);
    let issued = ready.map_or(Ok(()), |ready| ready.issue(suite, &outcome, record));
    with_reports(written, issued)
}

/// The transcripts in a folder, by name.
fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
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
            "`{}` contains no transcript (`*.jsonl`)",
            folder.display()
        )));
    }
    Ok(paths)
}
