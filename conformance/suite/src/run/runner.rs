//! A run: workers, their events, and the outcome.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::mpsc;

use proofmark_protocol::HelloReply;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use tempfile::TempDir;
use tokio::sync::watch;

use super::worker::Worker;
use crate::subject::orphans::Orphans;
use crate::subject::{Patience, StartError, SubjectCommand};
use proofmark_judge::Fault;
use proofmark_judge::case::Case;
use proofmark_judge::law::LawOptions;
use proofmark_judge::record::MOST_BYTES;
use proofmark_judge::suite::Suite;
use proofmark_judge::transcript::Transcript;
use proofmark_judge::verdict::{CaseResult, NotExercised, RunOutcome, Verdict};

/// How to run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The number of workers, each with one process of the subject.
    pub jobs: usize,
    /// Cases in flight per worker.
    pub window: usize,
    pub patience: Patience,
    /// The seed that shuffles the cases; `None` runs slow cases first, then the others in name order.
    pub shuffle: Option<u64>,
    pub laws: LawOptions,
    /// Keep the transcript of every case.
    pub record: bool,
    /// The folder for workspaces; `None` uses the system's temporary folder.
    pub scratch: Option<PathBuf>,
    /// Kill processes that the subject left behind. Only safe if this process has no other children.
    pub kill_orphans: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        Self {
            jobs,
            window: 32,
            patience: Patience::default(),
            shuffle: None,
            laws: LawOptions::default(),
            record: false,
            scratch: None,
            kill_orphans: false,
        }
    }
}

/// Events of a run, for reporters.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every event is a case's")]
pub enum Event {
    /// A process of the subject answered `hello`.
    Hello(Box<HelloReply>),
    Case(CaseResult),
    /// A fault that does not belong to a single case.
    Fault(Fault),
    CannotStart(StartError),
}

/// Why a run could not take place.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    CannotStart(#[from] StartError),
    #[error("{0}")]
    NoWorkspace(NotExercised),
    #[error("cannot create a folder for workspaces: {0}")]
    NoScratch(io::Error),
    #[error("cannot remove the folder of workspaces: {0}")]
    ScratchStays(io::Error),
    #[error("cannot start a worker: {0}")]
    NoWorker(io::Error),
}

/// Cancels a run from another thread and kills its processes.
#[derive(Debug, Clone)]
pub struct Cancel(watch::Sender<bool>);

impl Default for Cancel {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Cancel {
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }
}

/// The state that all workers share.
pub(super) struct Shared<'a> {
    pub(super) suite: &'a Suite,
    pub(super) cases: Vec<&'a Case>,
    pub(super) command: SubjectCommand,
    pub(super) options: RunOptions,
    pub(super) scratch: PathBuf,
    pub(super) next: AtomicUsize,
    /// Makes the names of sessions and workspaces unique.
    pub(super) numbers: AtomicU64,
    /// Whether any call was ever answered.
    pub(super) answered: AtomicBool,
    /// The number of unanswered calls.
    pub(super) silent: AtomicUsize,
}

/// Runs the cases against the subject. Calls `on_event` for each event, on this thread.
pub fn run(
    suite: &Suite,
    cases: Vec<&Case>,
    command: &SubjectCommand,
    options: &RunOptions,
    cancel: &Cancel,
    mut on_event: impl FnMut(&Event),
) -> Result<RunOutcome, RunError> {
    let scratch = scratch(options).map_err(RunError::NoScratch)?;
    let orphans = options.kill_orphans.then(Orphans::adopt);
    let mut cases = cases;
    put_in_order(&mut cases, options.shuffle);
    let jobs = options.jobs.clamp(1, cases.len().max(1));
    let shared = Shared {
        suite,
        cases,
        command: command.clone(),
        options: options.clone(),
        scratch: scratch.path().to_owned(),
        next: AtomicUsize::new(0),
        numbers: AtomicU64::new(1),
        answered: AtomicBool::new(false),
        silent: AtomicUsize::new(0),
    };
    let (sender, events) = mpsc::channel();
    let mut tally = Tally::default();
    let begun = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs)
            .map(|_| {
                let (shared, sender, cancelled) = (&shared, sender.clone(), cancel.0.subscribe());
                scope.spawn(move || work(shared, sender, cancelled))
            })
            .collect();
        drop(sender);
        for event in events {
            // A cancelled run is over, even if a worker has not noticed yet. So `--fail-fast` shows one failure.
            if !*cancel.0.borrow() {
                on_event(&event);
                tally.add(event);
            }
        }
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    });
    begun.map_err(RunError::NoWorker)?;
    if let Some(orphans) = orphans {
        let count = orphans.kill();
        if count > 0 && !*cancel.0.borrow() {
            tally.faults.push(Fault::LeftProcesses { count });
        }
    }
    scratch.close().map_err(RunError::ScratchStays)?;
    tally.outcome(options.laws, *cancel.0.borrow())
}

fn scratch(options: &RunOptions) -> io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("proofmark-");
    match &options.scratch {
        Some(parent) => folder.tempdir_in(parent),
        None => folder.tempdir(),
    }
}

fn work(
    shared: &Shared<'_>,
    sender: mpsc::Sender<Event>,
    mut cancelled: watch::Receiver<bool>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let emit = |event| {
        // The receiver lives until the last worker is done.
        let _gone = sender.send(event);
    };
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let worker = Worker::new(shared, &emit);
        tokio::select! {
            () = worker.work() => {}
            // Dropping the worker kills its processes.
            _ = cancelled.wait_for(|cancelled| *cancelled) => {}
        }
    });
    Ok(())
}

fn put_in_order(cases: &mut [&Case], seed: Option<u64>) {
    match seed {
        Some(seed) => shuffle(cases, seed),
        // Otherwise the run would wait for slow cases at the end, with nothing else to do.
        None => cases.sort_by_key(|case| !case.slow),
    }
}

/// Fisher–Yates on ChaCha: the same seed gives the same order on every machine.
fn shuffle(cases: &mut [&Case], seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for last in (1..cases.len()).rev() {
        let bound = last as u64 + 1;
        let pick = usize::try_from(random.next_u64() % bound).expect("it is at most `last`");
        cases.swap(last, pick);
    }
}

/// Collects events into an outcome that does not depend on their order.
#[derive(Default)]
struct Tally {
    subject: Option<HelloReply>,
    results: BTreeMap<String, CaseResult>,
    faults: Vec<Fault>,
    cannot_start: Option<StartError>,
    /// The total size of the transcripts.
    recorded: u64,
}

impl Tally {
    fn add(&mut self, event: Event) {
        match event {
            Event::Hello(hello) => match &self.subject {
                None => self.subject = Some(*hello),
                Some(first) if *first == *hello => {}
                Some(first) => {
                    self.faults.push(Fault::two_faces(first, &hello));
                }
            },
            Event::Case(mut result) => {
                self.recorded += result.transcript.as_ref().map_or(0, Transcript::weight) as u64;
                // A record has a size limit; drop transcripts beyond it.
                if self.recorded > MOST_BYTES {
                    result.transcript = None;
                }
                self.results.insert(result.case.clone(), result);
            }
            Event::Fault(fault) => self.faults.push(fault),
            Event::CannotStart(fault) => self.cannot_start = Some(fault),
        }
    }

    fn outcome(mut self, laws: LawOptions, interrupted: bool) -> Result<RunOutcome, RunError> {
        if let Some(fault) = self.cannot_start {
            return Err(RunError::CannotStart(fault));
        }
        let harness = self.results.values().find_map(|result| match &result.verdict {
            Verdict::NotExercised { reason: reason @ NotExercised::NoWorkspace(_) } => Some(reason),
            _ => None,
        });
        if let Some(reason) = harness {
            return Err(RunError::NoWorkspace(reason.clone()));
        }
        Fault::settle(&mut self.faults);
        Ok(RunOutcome {
            subject: self.subject,
            results: self.results.into_values().collect(),
            faults: self.faults,
            laws,
            interrupted,
            ..RunOutcome::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_cases_start_first_and_a_seed_decides_alone() {
        let file = r#"{ "contract": "a", "topic": "t", "cases": [CASES] }"#;
        let case = |id: &str, slow: bool| {
            format!(
                r#"{{ "id": "t/{id}", "why": "w", "shows": ["A-001"], "origin": "contract", "slow": {slow},
                      "steps": [{{ "call": "a.b", "returns": 1 }}] }}"#
            )
        };
        let written = [("a", false), ("b", true), ("c", false), ("d", true)];
        let written: Vec<String> = written.iter().map(|(id, slow)| case(id, *slow)).collect();
        let text = file.replace("CASES", &written.join(","));
        let (cases, problems) = proofmark_judge::fixture::parse("t.json", "a", &text);
        assert!(problems.is_empty(), "{problems:?}");
        let ordered = |seed: Option<u64>| {
            let mut cases: Vec<&Case> = cases.iter().collect();
            put_in_order(&mut cases, seed);
            cases.iter().map(|case| case.id()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ordered(None), "t/b t/d t/a t/c");
        let shuffled: std::collections::BTreeSet<String> =
            (0..50).map(|seed| ordered(Some(seed))).collect();
        assert!(shuffled.iter().any(|order| order.starts_with("t/a")), "{shuffled:?}");
    }
}
