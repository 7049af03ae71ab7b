//! `--watch`: the same command again whenever a file changes.
//!
//! Each round is a process of its own, so that it reads everything anew and nothing is carried over.

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

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// What is known of a file: enough to see that it changed.
type Snapshot = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Runs this command line without `--watch`, again and again, until Ctrl-C or SIGTERM. What the last
/// round found out is the result.
pub(crate) fn watch(folders: &[PathBuf]) -> Result<Exit, Failed> {
    let program = this_program()?;
    let args = without_watch(std::env::args_os().skip(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // From now on, so that one during a round is not lost.
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

/// The signals that end it.
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

/// Asks the round to end in good order, so that nothing of its subject is left, and waits for it. After
/// a Ctrl-C at a terminal it has been asked already, and once more is as good as once.
async fn end(round: &mut Child) -> std::io::Result<ExitStatus> {
    let id = round.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
    if let Some(id) = id {
        // It may have ended just now.
        let _ended = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
    round.wait().await
}

/// Tells an edit during a round from what the rounds write themselves.
#[derive(Default)]
struct Edits {
    /// What changed during the last round, if that was the reason for this one.
    last: Option<BTreeSet<PathBuf>>,
    /// What changed in a round and again in the next: reports, a subject's files.
    own: BTreeSet<PathBuf>,
}

impl Edits {
    /// Whether files changed that the round may not have read. Only once in a row: a subject that writes
    /// a new file each time would never let it rest.
    fn ask_for_another(&mut self, before: &Snapshot, after: &Snapshot) -> bool {
        let touched = differing(before, after);
        // Whoever left a file alone once does not write it each time: it was edited.
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

/// The files that are in one only, or not the same in both.
fn differing(before: &Snapshot, after: &Snapshot) -> BTreeSet<PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths.filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

fn eprint_waiting(folders: &[PathBuf]) {
    let named: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    anstream::eprintln!("\nwaiting for a change in {} (Ctrl-C ends)", named.join(", "));
}

/// Ends when something is not as it was, and has been still for a moment.
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

/// What compilers and interpreters make of sources, by the run itself perhaps.
fn is_made(name: &str) -> bool {
    ["node_modules", "target", "__pycache__"].contains(&name)
        || [".pyc", ".pyo", ".class", ".tsbuildinfo"].iter().any(|ending| name.ends_with(ending))
}

/// All files that a project keeps: not those that git ignores or that are made of others, and no hidden ones.
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

/// What stands after `--` is the subject's own.
fn without_watch(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut ours = true;
    args.filter(|word| {
        ours &= word != "--";
        !(ours && word == "--watch")
    })
    .collect()
}

/// Where a change counts: here, and in the suite.
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
    fn the_subjects_own_words_stay() {
        let words = ["run", "--watch", "--case", "a", "--", "make", "--watch"].map(OsString::from);
        let kept = without_watch(words.into_iter());
        assert_eq!(kept, ["run", "--case", "a", "--", "make", "--watch"].map(OsString::from));
    }

    /// A first run compiles the kit that lies beside an adapter.
    #[test]
    fn what_an_interpreter_makes_is_no_change() {
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

    /// A report that every round writes costs one round, once; an edit beside it still counts.
    #[test]
    fn what_every_round_writes_is_no_edit() {
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

    /// Names that are new each time are never known.
    #[test]
    fn a_subject_that_writes_new_files_does_not_make_it_spin() {
        let mut edits = Edits::default();
        let names = ["a", "b", "c", "d", "e"].map(|name| files(&[(name, 1)]));
        let asked: Vec<bool> =
            names.windows(2).map(|two| edits.ask_for_another(&two[0], &two[1])).collect();
        assert_eq!(asked, [true, false, true, false]);
    }
}
