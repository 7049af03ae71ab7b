//! What a user may say about a run: which cases, and how.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use proofmark_report::failure::{Rerun, quoted};
use proofmark_suite::law::LawOptions;
use proofmark_suite::subject::SubjectCommand;
use proofmark_suite::{Suite, SuiteFiles};

use crate::choice::SubjectChoice;
use crate::exit::Failed;
use crate::outputs::Outputs;

/// How long a subject may take for an answer, unless the user says otherwise.
const PATIENCE_MS: u64 = 10_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Filters {
    /// Only the cases of this contract. May be given several times.
    #[arg(long, value_name = "ID")]
    pub(crate) contract: Vec<String>,
    /// Only the cases whose name matches, with or without the contract before it. `*` stops at `/`,
    /// `**` does not. May be given several times.
    #[arg(long, value_name = "GLOB")]
    pub(crate) case: Vec<String>,
    /// Only the cases that show this requirement. May be given several times.
    #[arg(long, value_name = "ID")]
    pub(crate) requirement: Vec<String>,
}

impl Filters {
    /// Every case of these contracts, or of all when there are none.
    pub(crate) fn of_contracts(contracts: &[String]) -> Self {
        Self { contract: contracts.to_vec(), case: Vec::new(), requirement: Vec::new() }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// How many processes of the subject work at a time [default: one for each core, at most 8].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// How many cases are under way in one process.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) window: u16,
    /// Shuffle the order of the cases with this seed. Verdicts do not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) shuffle: Option<u64>,
    #[command(flatten)]
    pub(crate) laws: Laws,
    /// How long a subject may take for one answer.
    #[arg(long, value_name = "MS", default_value_t = PATIENCE_MS, value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    pub(crate) timeout: u64,
    /// How long a subject may take to start and say hello.
    #[arg(long, value_name = "MS", default_value_t = PATIENCE_MS, value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    pub(crate) start_timeout: u64,
    /// What stdout gets.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
    #[command(flatten)]
    pub(crate) suite: SuiteChoice,
}

impl How {
    /// How a reader of this run's report runs one case of it again.
    pub(crate) fn rerun(&self, choice: &SubjectChoice, command: &SubjectCommand) -> Rerun {
        let subject = if choice.is_reference() {
            "reference".to_owned()
        } else {
            format!("-- {}", command.shown)
        };
        let mut options = Vec::new();
        if let Some(folder) = &self.suite.suite {
            options.push(format!("--suite {}", quoted(&folder.to_string_lossy())));
        }
        for (flag, given) in [("--timeout", self.timeout), ("--start-timeout", self.start_timeout)]
        {
            if given != PATIENCE_MS {
                options.push(format!("{flag} {given}"));
            }
        }
        let laws = self.laws.options();
        let usual = LawOptions::default();
        if laws.seed != usual.seed {
            options.push(format!("--seed {}", laws.seed));
        }
        if laws.cases != usual.cases {
            options.push(format!("--law-cases {}", laws.cases));
        }
        let folder = self.suite.suite.as_deref().unwrap_or(Path::new("."));
        Rerun { subject, options: options.join(" "), keep_in: quoted(&folder.to_string_lossy()) }
    }
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
    pub(crate) save_found: Option<PathBuf>,
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
    Junit,
    Tap,
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
