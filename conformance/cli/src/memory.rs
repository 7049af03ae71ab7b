//! Remembers which cases of a subject failed when they last ran here, for `--last-failed`. A run changes only the
//! cases that it ran, so the failures of one contract survive a run of another.
//!
//! The file is in the user's cache, keyed by subject, suite and folder. In CI nothing is kept: a gate has no memory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proofmark_judge::case::Case;
use proofmark_judge::verdict::{RunOutcome, Verdict};
use sha2::{Digest as _, Sha256};

use crate::choice::Subject;
use crate::exit::Failed;

pub(crate) struct Memory {
    /// None if there is no cache folder, or in CI.
    file: Option<PathBuf>,
}

impl Memory {
    pub(crate) fn of(subject: &Subject, suite: Option<&Path>) -> Self {
        let cache = std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
        let in_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty());
        let here = std::env::current_dir().ok();
        let file = cache.filter(|_| !in_ci).zip(here).map(|(cache, here)| {
            let key = format!("{}\0{}\0{suite:?}", here.display(), subject.words);
            let name = hex::encode(&Sha256::digest(key)[..16]);
            cache.join("proofmark").join("last-failed").join(name)
        });
        Self { file }
    }

    /// Those of the cases that failed last time, or all if none did.
    pub(crate) fn failed_of<'a>(&self, cases: Vec<&'a Case>) -> Result<Vec<&'a Case>, Failed> {
        let Some(file) = &self.file else {
            return Err(Failed::Usage("--last-failed needs the results of an earlier run, which are not kept here: CI keeps none; elsewhere, set HOME or XDG_CACHE_HOME".to_owned()));
        };
        let text = std::fs::read_to_string(file).map_err(|_| {
            Failed::Usage(
                "--last-failed: this subject has not run here before; run it once without --last-failed"
                    .to_owned(),
            )
        })?;
        let failed: BTreeSet<&str> = text.lines().collect();
        let again: Vec<&Case> =
            cases.iter().copied().filter(|case| failed.contains(case.name.as_str())).collect();
        Ok(if again.is_empty() { cases } else { again })
    }

    /// Saves what failed; cases that did not run keep their state. A failure to save is reported by the next
    /// `--last-failed`.
    pub(crate) fn keep(&self, outcome: &RunOutcome) {
        let Some(file) = &self.file else { return };
        let before = std::fs::read_to_string(file).unwrap_or_default();
        let mut failed: BTreeSet<&str> = before.lines().collect();
        for result in &outcome.results {
            match &result.verdict {
                Verdict::Failed { .. } | Verdict::Blocked { .. } => failed.insert(&result.case),
                Verdict::Passed | Verdict::NotExercised { .. } => {
                    failed.remove(result.case.as_str())
                }
            };
        }
        let text: String = failed.iter().map(|name| format!("{name}\n")).collect();
        let folder = file.parent().unwrap_or(Path::new("."));
        let _untold = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(file, text));
    }
}
