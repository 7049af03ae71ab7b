//! `cargo xtask mutants`: breaks the reference's source in hundreds of small ways, and lets only the conformance
//! cases judge.
//!
//! cargo-mutants makes and builds the changes. The judge is a `proofmark` that is built once, and mutants are built
//! without the harness (`reference/adapter/tests/conformance.rs`). Verdicts are kept beside the build, so that an
//! interrupted run can resume, and a new case is tried only on survivors.

mod config;
mod ledger;
mod verdicts;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::options::Options;
use crate::{run, say, target, top};
use ledger::Accepted;
use sha2::{Digest as _, Sha256};
use verdicts::{Fate, Verdicts};

/// The crate that puts the reference behind the protocol. No contract covers it.
const ADAPTER: &str = "adapter";

/// Percentage of mutants that must be killed. Mutants that do not compile, or that behave exactly like the original,
/// do not count; other listed mutants count as survivors.
const GOAL: usize = 90;

const USAGE: &str = "\
cargo xtask mutants [--crate NAME]… [--file GLOB]… [--jobs N] [--fresh] [--report] [--install]
  --crate, --file   only these mutants; both may be given several times. Without --crate: every crate of the reference
                    that lists its survivors in accepted-mutants.toml. Any other can be named, and each of its
                    survivors is then one that is not listed
  --jobs N          how many are tried at a time [default: 2]
  --fresh           forget the verdicts of earlier runs
  --report          only report what earlier runs found
  --install         install cargo-mutants if it is not there";

pub(crate) fn mutants(args: &[String]) -> Result<(), String> {
    let mut options = Options::of(args, USAGE)?;
    let (crates, files) = (options.values("--crate")?, options.values("--file")?);
    let jobs = options.number("--jobs")?.unwrap_or(2);
    let (fresh, report) = (options.flag("--fresh"), options.flag("--report"));
    let install = options.flag("--install");
    options.finish()?;
    let all = Crates::of(&top())?;
    if let Some(unknown) = crates.iter().find(|name| !all.names().any(|known| known == *name)) {
        let names: Vec<&str> = all.names().collect();
        return Err(format!("no crate `{unknown}`; there are {}", names.join(", ")));
    }
    crate::tool::needed("cargo-mutants", &["mutants", "--version"], install)?;

    let folder = target()?.join("mutants");
    fs::create_dir_all(&folder).map_err(|fault| format!("{}: {fault}", folder.display()))?;
    if fresh {
        Verdicts::forget(&folder)?;
    }
    let config = config::write(&top(), all.names(), &folder)?;
    let filters = Filters { config, crates: all.chosen(&crates), files };
    let wanted = filters.list()?;
    if wanted.is_empty() {
        return Err("no mutant fits; see `cargo mutants --list`".to_owned());
    }
    // First collect what an interrupted run left.
    let mut verdicts = Verdicts::gather(&folder, &sources(&all)?)?;
    if !report {
        judge_of(&folder)?;
        unbroken_reference_holds(&folder)?;
        verdicts.skip_the_dead(&folder)?;
        filters.try_all(&folder, jobs)?;
        verdicts = Verdicts::gather(&folder, &sources(&all)?)?;
    }
    tell(&all, &wanted, &verdicts)
}

/// The crates that the cases judge: all of the reference but its adapter.
struct Crates(Vec<Crate>);

struct Crate {
    name: String,
    /// Its survivors are listed.
    listed: bool,
}

impl Crates {
    /// The crates in the repository at `top`, by name.
    fn of(top: &Path) -> Result<Self, String> {
        let folder = top.join("reference");
        let wrong = |fault: std::io::Error| format!("{}: {fault}", folder.display());
        let mut crates = Vec::new();
        for entry in fs::read_dir(&folder).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != ADAPTER && entry.path().join("Cargo.toml").exists() {
                let listed = entry.path().join(ledger::FILE).exists();
                crates.push(Crate { name, listed });
            }
        }
        crates.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self(crates))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|one| one.name.as_str())
    }

    fn listed(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|one| one.listed).map(|one| one.name.as_str())
    }

    /// The named crates, or if none is named, those with a list of survivors. Any other would fail for every
    /// survivor.
    fn chosen(&self, named: &[String]) -> Vec<String> {
        if named.is_empty() {
            self.listed().map(str::to_owned).collect()
        } else {
            self.names()
                .filter(|name| named.iter().any(|one| one == name))
                .map(str::to_owned)
                .collect()
        }
    }
}

/// The selected mutants.
struct Filters {
    /// The configuration of cargo-mutants.
    config: PathBuf,
    crates: Vec<String>,
    files: Vec<String>,
}

impl Filters {
    fn cargo_mutants(&self) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(["mutants", "--colors", "never", "--config"])
            .arg(&self.config)
            // Each copy of the source has its own target folder.
            .env_remove("CARGO_TARGET_DIR")
            .current_dir(top());
        for name in &self.crates {
            command.args(["--package", name]);
        }
        for glob in &self.files {
            command.args(["--file", glob]);
        }
        command
    }

    /// The names of all mutants: `reference/notes/src/hash.rs:5:5: replace digest -> …`.
    fn list(&self) -> Result<Vec<String>, String> {
        let listed = self
            .cargo_mutants()
            .arg("--list")
            .output()
            .map_err(|fault| format!("cargo mutants cannot be started: {fault}"))?;
        if !listed.status.success() {
            return Err(String::from_utf8_lossy(&listed.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect())
    }

    fn try_all(&self, folder: &Path, jobs: u64) -> Result<(), String> {
        let status = with_judge(&mut self.cargo_mutants(), folder)
            .args(["--iterate", "--baseline", "skip", "--jobs", &jobs.to_string()])
            // The judge's timeout kills a hanging mutant long before.
            .args(["--timeout", "120", "--build-timeout", "900"])
            .arg("--output")
            .arg(folder)
            // Mutants need no debug info.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_TEST_DEBUG", "0")
            .status()
            .map_err(|fault| format!("cargo mutants cannot be started: {fault}"))?;
        match status.code() {
            // All caught, some missed, some timed out: our own summary says more.
            Some(0 | 2 | 3) => Ok(()),
            _ => Err(format!(
                "cargo mutants ended with {status}; run the same command again to resume"
            )),
        }
    }
}

/// Builds the judge and copies it with the cases, so that the repository can change meanwhile.
fn judge_of(folder: &Path) -> Result<(), String> {
    run("cargo", ["build", "--release", "--quiet", "--locked", "--package", "proofmark"])?;
    let built = target()?.join("release/proofmark");
    fs::copy(&built, judge(folder)).map_err(|fault| format!("{}: {fault}", built.display()))?;
    let suite = suite(folder);
    if suite.exists() {
        fs::remove_dir_all(&suite).map_err(|fault| format!("{}: {fault}", suite.display()))?;
    }
    for part in ["fixtures", "features"] {
        copy_folder(&top().join(part), &suite.join(part))
            .map_err(|fault| format!("`{part}` cannot be copied: {fault}"))?;
    }
    Ok(())
}

fn judge(folder: &Path) -> PathBuf {
    folder.join("proofmark")
}

fn suite(folder: &Path) -> PathBuf {
    folder.join("suite")
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&from, &to)?;
        } else {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

fn with_judge<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command.env("PROOFMARK_JUDGE", judge(folder)).env("PROOFMARK_SUITE", suite(folder))
}

/// If the cases failed on the unchanged reference, every mutant would seem killed.
fn unbroken_reference_holds(folder: &Path) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command
        .args(["test", "--quiet", "--locked", "--package", "proofmark-reference"])
        .args(["--test", "conformance"])
        .current_dir(top());
    let status = with_judge(&mut command, folder)
        .status()
        .map_err(|fault| format!("cargo cannot be started: {fault}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("the unchanged reference fails, so no mutant can be judged; run `proofmark run reference`".to_owned())
    }
}

/// A digest of the mutated sources: with other sources, the same names are other mutants.
fn sources(crates: &Crates) -> Result<String, String> {
    let mut hash = Sha256::new();
    for name in crates.names() {
        let folder = top().join("reference").join(name).join("src");
        let files =
            rust_files(&folder).map_err(|fault| format!("{}: {fault}", folder.display()))?;
        for path in files {
            let text = fs::read(&path).map_err(|fault| format!("{}: {fault}", path.display()))?;
            hash.update(text);
        }
    }
    Ok(hex::encode(hash.finalize()))
}

/// All files below `folder`, sorted by path.
fn rust_files(folder: &Path) -> std::io::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension() == Some(OsStr::new("rs")) {
            files.insert(path);
        }
    }
    Ok(files)
}

/// Reports each crate's result, the survivors, and whether they match the lists.
fn tell(crates: &Crates, wanted: &[String], verdicts: &Verdicts) -> Result<(), String> {
    say(format_args!(
        "{:16} {:>6} {:>8} {:>6} {:>9} {:>8} {:>7}",
        "crate", "all", "viable", "killed", "timed out", "survived", "killed"
    ))?;
    let (mut killed, mut viable) = (0, 0);
    for name in crates.names() {
        let start = format!("reference/{name}/");
        let of = |fate| {
            let fits =
                |mutant: &&String| mutant.starts_with(&start) && verdicts.of(mutant) == Some(fate);
            wanted.iter().filter(fits).count()
        };
        let all = wanted.iter().filter(|mutant| mutant.starts_with(&start)).count();
        let (caught, late, missed) = (of(Fate::Killed), of(Fate::TimedOut), of(Fate::Survived));
        if all > 0 {
            let of_viable = caught + late + missed;
            say(format_args!(
                "{name:16} {all:>6} {of_viable:>8} {caught:>6} {late:>9} {missed:>8} {:>6.1}%",
                percent(caught + late, of_viable)
            ))?;
            killed += caught + late;
            viable += of_viable;
        }
    }
    let survivors: Vec<&str> = wanted
        .iter()
        .filter(|mutant| verdicts.of(mutant) == Some(Fate::Survived))
        .map(String::as_str)
        .collect();
    let accepted = Accepted::read(&top(), crates.listed())?;
    let equivalent = accepted.equivalent_among(&survivors);
    let score = percent(killed, viable - equivalent);
    say(format_args!("killed {killed} of {viable}: {:.1}%", percent(killed, viable)))?;
    say(format_args!("{score:.1}% without {equivalent} equivalent mutants"))?;
    let mut problems = accepted.compare(wanted, &survivors);
    let waiting = wanted.iter().filter(|mutant| verdicts.of(mutant).is_none()).count();
    if waiting > 0 {
        problems.push(format!("{waiting} mutants have not been tried yet"));
    }
    if killed * 100 < (viable - equivalent) * GOAL {
        problems.push(format!("fewer than {GOAL} of a hundred are killed"));
    }
    if problems.is_empty() {
        say(format_args!("every survivor is listed in the {} of its crate", ledger::FILE))
    } else {
        Err(problems.join("\n  "))
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_in_folders_count_too() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("inner")).unwrap();
        for name in ["lib.rs", "inner/mod.rs", "inner/notes.md"] {
            fs::write(at(name), "").unwrap();
        }
        let found = rust_files(folder.path()).unwrap();
        assert_eq!(found, BTreeSet::from([at("inner/mod.rs"), at("lib.rs")]));
    }

    #[test]
    fn a_crate_whose_survivors_are_not_listed_is_tried_when_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in [ADAPTER, "listed", "other"] {
            let at = folder.path().join("reference").join(name);
            fs::create_dir_all(&at).unwrap();
            fs::write(at.join("Cargo.toml"), "").unwrap();
        }
        fs::write(folder.path().join("reference/listed").join(ledger::FILE), "").unwrap();
        let crates = Crates::of(folder.path()).unwrap();
        assert_eq!(crates.names().collect::<Vec<_>>(), ["listed", "other"]);
        assert_eq!(crates.chosen(&[]), ["listed"]);
        assert_eq!(crates.chosen(&["other".to_owned()]), ["other"]);
    }

    #[test]
    fn the_crates_of_this_repository_are_found() {
        let crates = Crates::of(&top()).unwrap();
        assert!(crates.listed().count() > 0 && crates.names().all(|name| name != ADAPTER));
    }
}
