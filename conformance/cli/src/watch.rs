//! `--watch`: runs the same command again whenever a file changes.
//!
//! Each round is a separate process, so it reads everything afresh and carries nothing over.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, SystemTime};

use ignore::WalkBuilder;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{Exit, Failed};
use crate::program::this_program;

/// Polling interval.
const PAUSE: Duration = Duration::from_millis(200);

/// Enough about a file to notice a change.
type Snapshot = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Runs this command line without `--watch`, again and again, until Ctrl-C or SIGTERM. Returns the verdict of the
/// last round.
pub(crate) fn watch(folders: &[PathBuf]) -> Result<Exit, Failed> {
    let program = this_program()?;
    let args = without_watch(std::env::args_os().skip(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Installed before the first round, so that no signal is lost.
        let mut signals = Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        };
        let mut edits = Edits::default();
        loop {
            let before = snapshot(folders);
            let mut round = Command::new(&program).args(&args).spawn()?;
            let status = tokio::select! {
                status = round.wait() => status?,
                () = signals.next() => return Ok(found(end(&mut round).await?)),
            };
            let after = snapshot(folders);
            if edits.ask_for_another(&before, &after) {
                continue;
            }
            eprint_waiting(folders);
            tokio::select! {
                () = changed(folders, after) => {}
                () = signals.next() => return Ok(found(status)),
            }
        }
    })
}

/// The signals that stop watching.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

fn found(status: ExitStatus) -> Exit {
    match status.code() {
        Some(0) => Exit::Holds,
        Some(1) => Exit::DoesNotHold,
        _ => Exit::Undetermined,
    }
}

/// Asks the round to stop cleanly, so that no process of its subject is left, and waits for it. After Ctrl-C in a
/// terminal the round already got the signal; a second one does no harm.
async fn end(round: &mut Child) -> std::io::Result<ExitStatus> {
    let id = round.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
    if let Some(id) = id {
        // It may have just exited.
        let _ended = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
    round.wait().await
}

/// Tells a user's edit during a round from files that the rounds write themselves.
#[derive(Default)]
struct Edits {
    /// What changed during the last round, if that triggered this one.
    last: Option<BTreeSet<PathBuf>>,
    /// Files that changed in two consecutive rounds: reports, a subject's files.
    own: BTreeSet<PathBuf>,
}

impl Edits {
    /// Whether files changed that the round may not have read. Returns true only once in a row: a subject that writes
    /// a new file each time would make it spin.
    fn ask_for_another(&mut self, before: &Snapshot, after: &Snapshot) -> bool {
        let touched = differing(before, after);
        // A file that a round left alone is not written each time, so a user edited it.
        self.own.retain(|path| touched.contains(path));
        match self.last.take() {
            Some(last) => {
                self.own.extend(touched.intersection(&last).cloned());
                false
            }
            None if touched.is_subset(&self.own) => false,
            None => {
                self.last = Some(touched);
                true
            }
        }
    }
}

/// Files that are in only one snapshot, or differ.
fn differing(before: &Snapshot, after: &Snapshot) -> BTreeSet<PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths.filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

fn eprint_waiting(folders: &[PathBuf]) {
    let named: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    anstream::eprintln!("\nwaiting for a change in {} (Ctrl-C to stop)", named.join(", "));
}

/// Returns when something has changed and then stayed still for a moment.
async fn changed(folders: &[PathBuf], before: Snapshot) {
    let mut last = before.clone();
    loop {
        tokio::time::sleep(PAUSE).await;
        let now = snapshot(folders);
        if now == last && now != before {
            return;
        }
        last = now;
    }
}

/// Build products of compilers and interpreters, possibly made by the run itself.
fn is_made(name: &str) -> bool {
    ["node_modules", "target", "__pycache__"].contains(&name)
        || [".pyc", ".pyo", ".class", ".tsbuildinfo"].iter().any(|ending| name.ends_with(ending))
}

/// All files that a project keeps: no ignored, generated or hidden files.
fn snapshot(folders: &[PathBuf]) -> Snapshot {
    let mut files = Snapshot::new();
    for folder in folders {
        let walk = WalkBuilder::new(folder)
            .require_git(false)
            .filter_entry(|entry| !is_made(&entry.file_name().to_string_lossy()))
            .build();
        for entry in walk.flatten() {
            if let Ok(about) = entry.metadata()
                && about.is_file()
            {
                files.insert(entry.into_path(), (about.modified().ok(), about.len()));
            }
        }
    }
    files
}

/// Arguments after `--` belong to the subject.
fn without_watch(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut ours = true;
    args.filter(|word| {
        ours &= word != "--";
        !(ours && word == "--watch")
    })
    .collect()
}

/// The watched folders: this one and the suite.
pub(crate) fn folders(suite: Option<&Path>) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from(".")];
    folders.extend(
        suite.map(Path::to_owned).filter(|folder| folder.is_absolute() || folder.starts_with("..")),
    );
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_the_subject_are_kept() {
        let words = ["run", "--watch", "--case", "a", "--", "make", "--watch"].map(OsString::from);
        let kept = without_watch(words.into_iter());
        assert_eq!(kept, ["run", "--case", "a", "--", "make", "--watch"].map(OsString::from));
    }

    /// A first run compiles the kit beside an adapter.
    #[test]
    fn interpreter_caches_do_not_count_as_changes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("proofmark/__pycache__")).unwrap();
        std::fs::write(at("proofmark/wire.py"), "").unwrap();
        std::fs::write(at("proofmark/__pycache__/wire.cpython-312.pyc"), "").unwrap();
        std::fs::write(at("old.pyc"), "").unwrap();
        let seen = snapshot(&[folder.path().to_owned()]);
        assert_eq!(seen.into_keys().collect::<Vec<_>>(), [at("proofmark/wire.py")]);
    }

    fn files(all: &[(&str, u64)]) -> Snapshot {
        all.iter().map(|(name, size)| (PathBuf::from(name), (None, *size))).collect()
    }

    #[test]
    fn an_edit_during_a_round_asks_for_one_more_round() {
        let (old, new) = (files(&[("a", 1)]), files(&[("a", 2)]));
        let mut edits = Edits::default();
        assert!(!edits.ask_for_another(&old, &old), "nothing changed");
        assert!(edits.ask_for_another(&old, &new));
        assert!(!edits.ask_for_another(&new, &new), "that round saw it");
        assert!(edits.ask_for_another(&new, &files(&[])), "a file that is gone is a change too");
    }

    /// A report that every round writes triggers one extra round, once. An edit beside it still counts.
    #[test]
    fn files_that_every_round_writes_do_not_count_as_edits() {
        let at = |round: u64, source: u64| files(&[("report.json", round), ("source", source)]);
        let mut edits = Edits::default();
        assert!(edits.ask_for_another(&at(0, 1), &at(1, 1)));
        assert!(!edits.ask_for_another(&at(1, 1), &at(2, 1)), "only once in a row");
        assert!(!edits.ask_for_another(&at(2, 1), &at(3, 1)));
        assert!(edits.ask_for_another(&at(3, 1), &at(4, 2)));
        assert!(!edits.ask_for_another(&at(4, 2), &at(5, 3)), "only once in a row");
        assert!(!edits.ask_for_another(&at(5, 3), &at(6, 3)));
        assert!(
            edits.ask_for_another(&at(6, 3), &at(7, 4)),
            "edited twice is not written each time"
        );
    }

    /// Names that are new each time cannot be recognised.
    #[test]
    fn a_subject_that_writes_new_files_does_not_loop_forever() {
        let mut edits = Edits::default();
        let names = ["a", "b", "c", "d", "e"].map(|name| files(&[(name, 1)]));
        let asked: Vec<bool> =
            names.windows(2).map(|two| edits.ask_for_another(&two[0], &two[1])).collect();
        assert_eq!(asked, [true, false, true, false]);
    }
}
