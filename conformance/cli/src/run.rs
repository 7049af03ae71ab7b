//! `proofmark run`: some or all cases, and what came of them. Also the road that `certify` takes.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use proofmark_protocol::HelloReply;
use proofmark_report::failure::{Rerun, quoted};
use proofmark_report::progress::Progress;
use proofmark_report::{failures, json, summary};
use proofmark_suite::law::LawOptions;
use proofmark_suite::run::{Cancel, RunOptions, run as run_cases};
use proofmark_suite::select::Selection;
use proofmark_suite::subject::{Patience, SubjectCommand};
use proofmark_suite::verdict::{ContractResult, RunOutcome};
use proofmark_suite::{Suite, SuiteFiles};

use crate::exit::{Exit, Failed, standing};
use crate::found;

/// How long a subject may take for an answer, unless the user says otherwise.
const PATIENCE_MS: u64 = 10_000;

/// Run cases against a subject: the built-in reference, or any command after `--`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) subject: SubjectChoice,
    #[command(flatten)]
    pub(crate) filters: Filters,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SubjectChoice {
    /// The built-in subject.
    #[arg(value_name = "SUBJECT")]
    built_in: Option<BuiltIn>,
    /// The command that starts a subject's adapter.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BuiltIn {
    Reference,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Filters {
    /// Only the cases of this contract. May be given several times.
    #[arg(long, value_name = "ID")]
    contract: Vec<String>,
    /// Only the cases whose name matches, with or without the contract before it. `*` stops at `/`,
    /// `**` does not. May be given several times.
    #[arg(long, value_name = "GLOB")]
    case: Vec<String>,
    /// Only the cases that show this requirement. May be given several times.
    #[arg(long, value_name = "ID")]
    requirement: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// How many processes of the subject work at a time [default: one for each core, at most 8].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// How many cases are under way in one process.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096))]
    window: u16,
    /// Shuffle the order of the cases with this seed. Verdicts do not depend on it.
    #[arg(long, value_name = "N")]
    shuffle: Option<u64>,
    #[command(flatten)]
    laws: Laws,
    /// How long a subject may take for one answer.
    #[arg(long, value_name = "MS", default_value_t = PATIENCE_MS, value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    timeout: u64,
    /// How long a subject may take to start and say hello.
    #[arg(long, value_name = "MS", default_value_t = PATIENCE_MS, value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    start_timeout: u64,
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) suite: SuiteChoice,
}

/// How laws are tried.
#[derive(Debug, clap::Args)]
pub(crate) struct Laws {
    /// What the inputs of laws are made from. The same seed makes the same inputs.
    #[arg(long, value_name = "N", default_value_t = LawOptions::default().seed)]
    seed: u64,
    /// How many inputs each law is tried with.
    #[arg(long, value_name = "N", default_value_t = LawOptions::default().cases, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    law_cases: u32,
    /// Keep the smallest input that breaks a law as a fixture case, in `fixtures/` of this folder.
    #[arg(long, value_name = "DIR")]
    save_found: Option<PathBuf>,
}

impl Laws {
    pub(crate) fn options(&self) -> LawOptions {
        LawOptions { seed: self.seed, cases: self.law_cases, ..LawOptions::default() }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct SuiteChoice {
    /// A folder with `fixtures/` and `features/`, in place of the ones inside this program.
    #[arg(long, value_name = "DIR")]
    pub(crate) suite: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
}

impl SuiteChoice {
    pub(crate) fn load(&self) -> Result<Suite, Failed> {
        let files = match &self.suite {
            Some(folder) => SuiteFiles::in_folder(folder)?,
            None => SuiteFiles::embedded(),
        };
        Suite::load(&files).map_err(Failed::BrokenSuite)
    }
}

impl SubjectChoice {
    pub(crate) fn is_given(&self) -> bool {
        self.built_in.is_some() || !self.command.is_empty()
    }

    pub(crate) fn is_reference(&self) -> bool {
        self.command.is_empty()
    }

    /// The reference is this same program, driven as a process like any other.
    pub(crate) fn command(&self) -> Result<SubjectCommand, Failed> {
        match (self.command.split_first(), self.built_in) {
            (Some(_), Some(_)) => Err(Failed::Usage(
                "give either `reference` or a command after `--`, not both".to_owned(),
            )),
            (Some((program, args)), None) => {
                let words: Vec<String> =
                    self.command.iter().map(|word| quoted(&word.to_string_lossy())).collect();
                Ok(SubjectCommand {
                    program: program.clone(),
                    args: args.to_vec(),
                    shown: words.join(" "),
                })
            }
            (None, _) => Ok(SubjectCommand {
                program: this_program()?.into(),
                args: vec!["subject".into()],
                shown: "proofmark subject".to_owned(),
            }),
        }
    }

    fn rerun(&self, command: &SubjectCommand, how: &How) -> Rerun {
        let subject = if self.command.is_empty() {
            "reference".to_owned()
        } else {
            format!("-- {}", command.shown)
        };
        let mut options = Vec::new();
        if let Some(folder) = &how.suite.suite {
            options.push(format!("--suite {}", quoted(&folder.to_string_lossy())));
        }
        for (flag, given) in [("--timeout", how.timeout), ("--start-timeout", how.start_timeout)] {
            if given != PATIENCE_MS {
                options.push(format!("{flag} {given}"));
            }
        }
        let laws = how.laws.options();
        let usual = LawOptions::default();
        if laws.seed != usual.seed {
            options.push(format!("--seed {}", laws.seed));
        }
        if laws.cases != usual.cases {
            options.push(format!("--law-cases {}", laws.cases));
        }
        let folder = how.suite.suite.as_deref().unwrap_or(Path::new("."));
        Rerun { subject, options: options.join(" "), keep_in: quoted(&folder.to_string_lossy()) }
    }
}

/// Writes the report to `out`; progress goes to stderr.
pub(crate) fn run(args: &RunArgs, out: &mut dyn Write) -> Result<Exit, Failed> {
    let holds = |_: &Suite, outcome: &RunOutcome, _: &[ContractResult<'_>]| outcome.all_passed();
    drive(&args.subject, &args.filters, &args.how, Shown::Cases, holds, out)
}

/// How much of the contracts a report shows.
#[derive(PartialEq)]
pub(crate) enum Shown {
    /// Failures and totals.
    Cases,
    /// Also a line for each contract and requirement.
    Contracts,
}

/// Runs the selected cases, reports, and lets `holds` decide.
pub(crate) fn drive(
    subject: &SubjectChoice,
    filters: &Filters,
    how: &How,
    shown: Shown,
    holds: impl Fn(&Suite, &RunOutcome, &[ContractResult<'_>]) -> bool,
    out: &mut dyn Write,
) -> Result<Exit, Failed> {
    let suite = how.suite.load()?;
    let selection = Selection {
        contracts: filters.contract.clone(),
        cases: filters.case.clone(),
        requirements: filters.requirement.clone(),
    };
    let cases = selection.of(&suite)?;
    let command = subject.command()?;
    let mut options = RunOptions {
        window: usize::from(how.window),
        shuffle: how.shuffle,
        laws: how.laws.options(),
        patience: Patience {
            start: Duration::from_millis(how.start_timeout),
            call: Duration::from_millis(how.timeout),
            ..Patience::default()
        },
        kill_orphans: true,
        ..RunOptions::default()
    };
    if let Some(jobs) = how.jobs {
        options.jobs = usize::from(jobs);
    }
    let cancel = Cancel::default();
    cancel_on_signal(cancel.clone());

    let started = Instant::now();
    let mut progress = Progress::new(cases.len());
    let outcome =
        run_cases(&suite, cases, &command, &options, &cancel, |event| progress.on_event(event));
    progress.finish();
    let outcome = outcome?;
    let elapsed = started.elapsed();
    let contracts = outcome.judge(&suite);
    let holds = !outcome.interrupted && holds(&suite, &outcome, &contracts);
    let report = Report { suite: &suite, outcome: &outcome, contracts: &contracts, elapsed, holds };
    let written = match how.format {
        Format::Json => report.write_json(out),
        Format::Human => report.write_human(out, &shown, &subject.rerun(&command, how)),
    };
    let found = if holds { Exit::Holds } else { Exit::DoesNotHold };
    let exit = standing(found, written)?;
    if let Some(folder) = &how.laws.save_found {
        found::save(folder, &outcome)?;
    }
    if outcome.interrupted { Err(Failed::Interrupted) } else { Ok(exit) }
}

/// What a run found out, on its way to the reader.
struct Report<'a> {
    suite: &'a Suite,
    outcome: &'a RunOutcome,
    contracts: &'a [ContractResult<'a>],
    elapsed: Duration,
    holds: bool,
}

impl Report<'_> {
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { suite, outcome, contracts, elapsed, holds } = *self;
        serde_json::to_writer_pretty(
            &mut *out,
            &json::report(suite, outcome, contracts, holds, elapsed),
        )?;
        writeln!(out)
    }

    fn write_human(&self, out: &mut dyn Write, shown: &Shown, rerun: &Rerun) -> io::Result<()> {
        let Self { suite, outcome, contracts, elapsed, .. } = *self;
        failures::write(out, suite, &outcome.results, rerun)?;
        if let Some(subject) = &outcome.subject {
            let claims = subject.contracts.join(", ");
            let claims = if claims.is_empty() { "nothing" } else { &claims };
            let HelloReply { name, version, language, .. } = subject;
            writeln!(out, "{name} {version} ({language}) claims {claims}\n")?;
        }
        // An interrupted run has no verdicts on contracts.
        let judged = *shown == Shown::Contracts && !outcome.interrupted;
        if judged {
            summary::write_contracts(out, outcome, contracts)?;
        }
        summary::write_faults(out, suite, outcome)?;
        summary::write_totals(out, suite, outcome, elapsed)?;
        if judged {
            summary::write_verdict(out, suite, outcome, contracts)?;
        }
        Ok(())
    }
}

pub(crate) fn this_program() -> Result<PathBuf, Failed> {
    std::env::current_exe().map_err(|fault| {
        Failed::Usage(format!("this program cannot find itself to start the reference: {fault}"))
    })
}

/// Ctrl-C and SIGTERM end the run in good order: nothing is left behind.
pub(crate) fn cancel_on_signal(cancel: Cancel) {
    let wait = async move {
        let interrupted = tokio::signal::ctrl_c();
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let Ok(mut terminated) = signal(SignalKind::terminate()) else { return };
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
        }
        #[cfg(not(unix))]
        let _fault = interrupted.await;
        cancel.cancel();
    };
    std::thread::spawn(|| {
        // Without it a signal ends the program at once, as it would any other.
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            runtime.block_on(wait);
        }
    });
}

impl Filters {
    /// Every case of these contracts, or of all when there are none.
    pub(crate) fn of_contracts(contracts: &[String]) -> Self {
        Self { contract: contracts.to_vec(), case: Vec::new(), requirement: Vec::new() }
    }
}
