//! Command-line options of a run: which cases, and how.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use jiff::Zoned;
use jiff::civil::Date;
use proofmark_judge::Suite;
use proofmark_judge::known::KnownFailures;
use proofmark_judge::law::LawOptions;
use proofmark_judge::select::{Partition, Selection};
use proofmark_report::failure::{Rerun, quoted};
use proofmark_selftest::memory;
use proofmark_suite::SuiteFiles;
use proofmark_suite::run::RunOptions;
use proofmark_suite::subject::Patience;

use crate::choice::Subject;
use crate::exit::Failed;
use crate::keep::Own;
use crate::outputs::Outputs;

/// Default limit for the silence of a process.
const PATIENCE_MS: u64 = 10_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Filters {
    /// Run only the cases of this contract. Repeat for several.
    #[arg(long, value_name = "ID")]
    pub(crate) contract: Vec<String>,
    /// Run only cases whose name matches, with or without the contract in front. `*` stops at `/`, `**` does not.
    /// Repeat for several.
    #[arg(long, value_name = "GLOB")]
    pub(crate) case: Vec<String>,
    /// Run only the cases that show this requirement. Repeat for several.
    #[arg(long, value_name = "ID")]
    pub(crate) requirement: Vec<String>,
    /// Run only part K of N: `hash:K/N` (a new case moves no other) or `slice:K/N` (parts of equal size).
    #[arg(long, value_name = "PART")]
    pub(crate) partition: Option<Partition>,
    /// Run only the cases that failed when they last ran in this folder with this subject. If none did, run all.
    #[arg(long)]
    pub(crate) last_failed: bool,
}

impl Filters {
    /// Every case of these contracts, or all cases if the list is empty.
    pub(crate) fn of_contracts(contracts: &[String]) -> Self {
        Self {
            contract: contracts.to_vec(),
            case: Vec::new(),
            requirement: Vec::new(),
            partition: None,
            last_failed: false,
        }
    }

    /// The contracts whose cases these filters can select. `None` if the filters alone do not decide that.
    fn only_contracts(&self) -> Option<Vec<String>> {
        if !self.requirement.is_empty() {
            return None;
        }
        match (self.contract.as_slice(), self.case.as_slice()) {
            ([], []) => None,
            (contracts, []) => Some(contracts.to_vec()),
            ([], globs) => globs.iter().map(|glob| contract_of(glob)).collect(),
            _ => None,
        }
    }

    pub(crate) fn selection(&self) -> Selection {
        Selection {
            contracts: self.contract.clone(),
            cases: self.case.clone(),
            requirements: self.requirement.clone(),
            partition: self.partition,
        }
    }
}

/// The contract that a glob begins with. An id without a dot could also be the topic of a case, so it decides nothing.
fn contract_of(glob: &str) -> Option<String> {
    let (id, _) = glob.split_once('/')?;
    (id.contains('.') && proofmark_catalog::room(id).is_some()).then(|| id.to_owned())
}

#[derive(Debug, clap::Args)]
pub(crate) struct How {
    /// Number of subject processes [default: one per core, at most 8].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Number of cases in flight in each process.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) window: u16,
    /// Shuffle the order of the cases with this seed. Verdicts do not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) shuffle: Option<u64>,
    #[command(flatten)]
    pub(crate) laws: Laws,
    /// How long a process may owe answers and give none, in milliseconds; three times as long while it computes or waits
    /// for a disk [default: 10000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    pub(crate) timeout: Option<u64>,
    /// Timeout for starting and answering `hello`, in milliseconds [default: 10000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    pub(crate) start_timeout: Option<u64>,
    /// Run again whenever a file in this folder or in the suite changes.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Stop at the first failure that is not a known failure, and show it.
    #[arg(long)]
    pub(crate) fail_fast: bool,
    #[command(flatten)]
    pub(crate) known: Known,
    /// Format of the report on stdout.
    #[arg(long, value_enum, default_value_t = RunFormat::Human)]
    pub(crate) format: RunFormat,
    #[command(flatten)]
    pub(crate) outputs: Outputs,
    #[command(flatten)]
    pub(crate) suite: SuiteChoice,
}

impl How {
    /// The command line wins over the manifest.
    pub(crate) fn run_options(&self, subject: &Subject) -> RunOptions {
        let limit = |given: Option<u64>, said: Option<u64>| {
            Duration::from_millis(given.or(said).unwrap_or(PATIENCE_MS))
        };
        let usual = RunOptions::default();
        RunOptions {
            jobs: self.jobs.map_or(usual.jobs, usize::from),
            window: usize::from(self.window),
            shuffle: self.shuffle,
            laws: self.laws.options(),
            patience: Patience {
                start: limit(self.start_timeout, subject.start_timeout),
                call: limit(self.timeout, subject.timeout),
                ..Patience::default()
            },
            kill_orphans: true,
            // A subject in a container may share only the default folder.
            scratch: subject.is_built_in().then(memory).flatten(),
            ..usual
        }
    }

    /// The command with which a reader of the report reruns one case.
    pub(crate) fn rerun(&self, subject: &Subject) -> Rerun {
        let mut options = Vec::new();
        if let Some(folder) = &self.suite.suite {
            options.push(format!("--suite {}", quoted(&folder.to_string_lossy())));
        }
        for (flag, given) in [("--timeout", self.timeout), ("--start-timeout", self.start_timeout)]
        {
            if let Some(given) = given {
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
        let folder = self.suite.suite.as_deref().or(subject.suite.as_deref());
        let folder = folder.unwrap_or(Path::new("."));
        let subject = subject.words.clone();
        Rerun { subject, options: options.join(" "), keep_in: quoted(&folder.to_string_lossy()) }
    }
}

/// What is known to fail.
#[derive(Debug, clap::Args)]
pub(crate) struct Known {
    /// A list of known failures. The run fails on an unlisted failure, a listed case that passes, or a stale or
    /// expired line.
    #[arg(long, value_name = "FILE")]
    pub(crate) known_failures: Option<PathBuf>,
    /// Decide on this date whether a line of the list has expired [default: today].
    #[arg(long, value_name = "DATE", value_parser = day)]
    today: Option<Date>,
}

impl Known {
    /// Reads the list of known failures, if there is one.
    pub(crate) fn read(
        &self,
        subject: &Subject,
        suite: &Suite,
    ) -> Result<Option<KnownFailures>, Failed> {
        let Some(path) = self.file(subject) else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|fault| {
            Failed::Usage(format!(
                "cannot read the known failures in `{}`: {fault}",
                path.display()
            ))
        })?;
        let known = KnownFailures::parse(&text, suite).map_err(|fault| {
            Failed::Usage(format!("known failures, `{}`, {fault}", path.display()))
        })?;
        Ok(Some(known))
    }

    fn file<'a>(&'a self, subject: &'a Subject) -> Option<&'a PathBuf> {
        self.known_failures.as_ref().or(subject.known_failures.as_ref())
    }

    /// The list's file, as one that the run itself reads.
    pub(crate) fn own(&self, subject: &Subject) -> Option<Own> {
        self.file(subject).map(|path| Own::new(path, "the list of known failures"))
    }

    pub(crate) fn today(&self) -> Date {
        self.today.unwrap_or_else(|| Zoned::now().date())
    }
}

fn day(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| "write a date like 2027-01-31".to_owned())
}

/// How to test laws.
#[derive(Debug, clap::Args)]
pub(crate) struct Laws {
    /// Seed for the inputs of laws. The same seed makes the same inputs.
    #[arg(long, value_name = "N", default_value_t = LawOptions::default().seed)]
    seed: u64,
    /// Number of inputs for each law.
    #[arg(long, value_name = "N", default_value_t = LawOptions::default().cases, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    law_cases: u32,
    /// Save the smallest input that breaks a law as a fixture case in `DIR/fixtures/`.
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
    /// Use the `fixtures/` and `features/` of this folder instead of the built-in ones.
    #[arg(long, value_name = "DIR")]
    pub(crate) suite: Option<PathBuf>,
}

/// Output format of commands other than `run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
}

/// Format of a run's report on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    Human,
    Json,
    Junit,
    Tap,
}

impl SuiteChoice {
    pub(crate) fn load(&self) -> Result<&'static Suite, Failed> {
        Ok(leaked(read(self.suite.as_deref())?))
    }

    /// The suite for a run. Of the built-in one, the cases that the filters cannot select are not read.
    pub(crate) fn load_for_run(
        &self,
        subject: &Subject,
        filters: &Filters,
        known: &Known,
    ) -> Result<&'static Suite, Failed> {
        let is_whole =
            self.suite.is_some() || subject.suite.is_some() || known.file(subject).is_some();
        if let (false, Some(contracts)) = (is_whole, filters.only_contracts()) {
            let part = read_part(&contracts)?;
            // If the filters are wrong, the whole suite gives the better hint.
            if filters.selection().of(&part).is_ok() {
                return Ok(leaked(part));
            }
        }
        self.load_for(subject)
    }

    /// The suite without its cases: contracts, requirements, operations.
    pub(crate) fn load_ledgers(&self, subject: Option<&Subject>) -> Result<&'static Suite, Failed> {
        let folder = self.suite.as_deref().or(subject.and_then(|subject| subject.suite.as_deref()));
        let suite = if folder.is_some() { read(folder)? } else { read_part(&[])? };
        Ok(leaked(suite))
    }

    /// The suite from the command line, else from the manifest, else the built-in one.
    pub(crate) fn load_for(&self, subject: &Subject) -> Result<&'static Suite, Failed> {
        Ok(leaked(read(self.suite.as_deref().or(subject.suite.as_deref()))?))
    }

    /// Only these contracts, or all if none is named.
    pub(crate) fn load_only(&self, contracts: &[String]) -> Result<Suite, Failed> {
        let suite = match &self.suite {
            None if !contracts.is_empty() => read_part(contracts)?,
            folder => read(folder.as_deref())?,
        };
        Ok(suite.only(contracts)?)
    }
}

/// Leaks a suite on purpose: dropping its many small values would take a tenth of a short run.
fn leaked(suite: Suite) -> &'static Suite {
    Box::leak(Box::new(suite))
}

/// The built-in suite, with the cases of these contracts only.
fn read_part(contracts: &[String]) -> Result<Suite, Failed> {
    proofmark_catalog::load_part(contracts).map_err(Failed::BrokenSuite)
}

fn read(folder: Option<&Path>) -> Result<Suite, Failed> {
    let files = match folder {
        Some(folder) => SuiteFiles::in_folder(folder)?,
        None => proofmark_catalog::files(),
    };
    proofmark_catalog::load(&files).map_err(Failed::BrokenSuite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(contracts: &[&str], cases: &[&str], requirements: &[&str]) -> Option<Vec<String>> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut filters = Filters::of_contracts(&[]);
        filters.contract = owned(contracts);
        filters.case = owned(cases);
        filters.requirement = owned(requirements);
        filters.only_contracts()
    }

    #[test]
    fn filters_decide_the_contracts_only_if_nothing_else_can_match() {
        let with_dot = proofmark_catalog::rooms().find(|room| room.contract.contains('.')).unwrap();
        let without = proofmark_catalog::rooms().find(|room| !room.contract.contains('.')).unwrap();
        let (dotted, plain) = (with_dot.contract, without.contract);
        let glob = format!("{dotted}/**");
        assert_eq!(decided(&[plain], &[], &[]), Some(vec![plain.to_owned()]));
        assert_eq!(decided(&[], &[&glob], &[]), Some(vec![dotted.to_owned()]));
        // A topic of another contract may have the same name.
        assert_eq!(decided(&[], &[&format!("{plain}/**")], &[]), None);
        assert_eq!(decided(&[], &[&glob, "*/a"], &[]), None);
        assert_eq!(decided(&[], &[&glob], &["R-1"]), None);
        assert_eq!(decided(&[plain], &[&glob], &[]), None);
        assert_eq!(decided(&[], &[], &[]), None);
    }
}
