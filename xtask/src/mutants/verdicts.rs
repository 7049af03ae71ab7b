//! The verdicts on mutants, over all runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Killed,
    TimedOut,
    Survived,
    /// It does not compile.
    Unviable,
}

impl Fate {
    /// cargo-mutants writes a list for each, line by line.
    const LISTS: [(&str, Self); 4] = [
        ("caught", Self::Killed),
        ("timeout", Self::TimedOut),
        ("missed", Self::Survived),
        ("unviable", Self::Unviable),
    ];
}

pub(super) struct Verdicts {
    fates: BTreeMap<String, Fate>,
}

impl Verdicts {
    /// The verdicts of earlier runs on the same sources, and those of the latest run, even an interrupted one.
    pub(super) fn gather(folder: &Path, sources: &str) -> Result<Self, String> {
        let kept = kept(folder);
        let text = fs::read_to_string(&kept).unwrap_or_default();
        let mut lines = text.lines();
        let same = lines.next() == Some(sources);
        let mut fates = BTreeMap::new();
        if same {
            fates.extend(lines.filter_map(entry));
        }
        // The first run has no such file. Lists from other sources are ignored.
        if same || text.is_empty() {
            for (list, fate) in Fate::LISTS {
                let listed = fs::read_to_string(latest(folder).join(format!("{list}.txt")));
                for mutant in listed.unwrap_or_default().lines() {
                    fates.insert(mutant.to_owned(), fate);
                }
            }
        } else {
            Self::forget(folder)?;
        }
        let mut lines = format!("{sources}\n");
        for (mutant, fate) in &fates {
            lines += &format!("{} {mutant}\n", word(*fate));
        }
        fs::write(&kept, lines).map_err(|fault| format!("{}: {fault}", kept.display()))?;
        Ok(Self { fates })
    }

    pub(super) fn forget(folder: &Path) -> Result<(), String> {
        for path in [kept(folder), latest(folder)] {
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Err(fault) if fault.kind() != std::io::ErrorKind::NotFound => {
                    return Err(format!("{}: {fault}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn of(&self, mutant: &str) -> Option<Fate> {
        self.fates.get(mutant).copied()
    }

    /// `cargo mutants --iterate` skips the mutants in this list. Survivors are tried again.
    pub(super) fn skip_the_dead(&self, folder: &Path) -> Result<(), String> {
        let dead = self.fates.iter().filter(|(_, fate)| **fate != Fate::Survived);
        let text: String = dead.map(|(mutant, _)| format!("{mutant}\n")).collect();
        let latest = latest(folder);
        fs::create_dir_all(&latest)
            .and_then(|()| fs::write(latest.join("previously_caught.txt"), text))
            .map_err(|fault| format!("{}: {fault}", latest.display()))
    }
}

fn kept(folder: &Path) -> PathBuf {
    folder.join("verdicts.txt")
}

fn latest(folder: &Path) -> PathBuf {
    folder.join("mutants.out")
}

fn word(fate: Fate) -> &'static str {
    Fate::LISTS.iter().find(|(_, listed)| *listed == fate).map_or("", |(word, _)| word)
}

fn entry(line: &str) -> Option<(String, Fate)> {
    let (word, mutant) = line.split_once(' ')?;
    let (_, fate) = Fate::LISTS.iter().find(|(listed, _)| *listed == word)?;
    Some((mutant.to_owned(), *fate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, list: &str, text: &str) {
        let latest = latest(folder);
        fs::create_dir_all(&latest).unwrap();
        fs::write(latest.join(list), text).unwrap();
    }

    #[test]
    fn a_run_resumes_where_the_last_one_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        put(folder, "caught.txt", "a.rs:1:1: x\n");
        put(folder, "missed.txt", "a.rs:2:1: y\n");
        Verdicts::gather(folder, "one").unwrap().skip_the_dead(folder).unwrap();
        let skipped = fs::read_to_string(latest(folder).join("previously_caught.txt")).unwrap();
        assert_eq!(skipped, "a.rs:1:1: x\n");

        fs::remove_dir_all(latest(folder)).unwrap();
        put(folder, "timeout.txt", "a.rs:2:1: y\n");
        let verdicts = Verdicts::gather(folder, "one").unwrap();
        assert_eq!(verdicts.of("a.rs:1:1: x"), Some(Fate::Killed));
        assert_eq!(verdicts.of("a.rs:2:1: y"), Some(Fate::TimedOut));
    }

    #[test]
    fn verdicts_on_other_sources_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "caught.txt", "a.rs:1:1: x\n");
        Verdicts::gather(folder.path(), "one").unwrap();
        assert_eq!(Verdicts::gather(folder.path(), "two").unwrap().of("a.rs:1:1: x"), None);
    }
}
