//! `--watch`: the same command again whenever a file changes.
//!
//! Each round is a process of its own, so that it reads everything anew and nothing is carried over.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ignore::WalkBuilder;
use tokio::signal::unix::{SignalKind, signal};

use crate::choice::this_program;
use crate::exit::{Exit, Failed};

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// What is known of a file: enough to see that it changed.
type Snapshot = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Runs this command line without `--watch`, again and again, until Ctrl-C. What the last round found
/// out is the result.
pub(crate) fn watch(folders: &[PathBuf]) -> Result<Exit, Failed> {
    let program = this_program()?;
    let args = without_watch(std::env::args_os().skip(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // From now on, so that one during a round is not lost.
        let mut interrupted = signal(SignalKind::interrupt())?;
        loop {
            let mut round = tokio::process::Command::new(&program).args(&args).spawn()?;
            // Ctrl-C reaches the round as well, which ends in good order.
            let status = round.wait().await?;
            let before = snapshot(folders);
            eprint_waiting(folders);
            tokio::select! {
                () = changed(folders, before) => {}
                _ = interrupted.recv() => {
                    return Ok(match status.code() {
                        Some(0) => Exit::Holds,
                        Some(1) => Exit::DoesNotHold,
                        _ => Exit::Undetermined,
                    });
                }
            }
        }
    })
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

/// All files that a project keeps: not those that git ignores, and no hidden ones.
fn snapshot(folders: &[PathBuf]) -> Snapshot {
    let mut files = Snapshot::new();
    for folder in folders {
        let walk = WalkBuilder::new(folder)
            .require_git(false)
            .filter_entry(|entry| {
                entry.file_name() != "node_modules" && entry.file_name() != "target"
            })
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
}
