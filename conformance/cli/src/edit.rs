//! Changing the files of an author's suite: checked before anything is written, and never over what somebody else wrote.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use proofmark_suite::{Problem, SourceError, Suite, SuiteFiles};
use tempfile::NamedTempFile;

use crate::exit::Failed;

/// The files of a suite with changes that are not written yet.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    folder: PathBuf,
    /// As they are on disk.
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
}

impl Draft {
    /// The suite of a folder; one that holds none yet is an empty suite.
    pub(crate) fn of(folder: &Path) -> Result<Self, Failed> {
        let files = match SuiteFiles::in_folder(folder) {
            Ok(files) => {
                files.iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
            }
            Err(SourceError::Empty { .. }) => BTreeMap::new(),
            Err(SourceError::Unreadable { fault, .. })
                if fault.kind() == io::ErrorKind::NotFound && !folder.exists() =>
            {
                BTreeMap::new()
            }
            Err(fault) => return Err(fault.into()),
        };
        Ok(Self { folder: folder.to_owned(), before: files.clone(), after: files })
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.after.get(path).map(String::as_str)
    }

    /// The paths of the fixture files.
    pub(crate) fn fixtures(&self) -> Vec<String> {
        let fixture = |path: &&String| path.starts_with("fixtures/") && path.ends_with(".json");
        self.after.keys().filter(fixture).cloned().collect()
    }

    /// The paths of the ledgers.
    pub(crate) fn ledgers(&self) -> Vec<String> {
        let ledger =
            |path: &&String| path.starts_with("fixtures/") && path.ends_with("/requirements.toml");
        self.after.keys().filter(ledger).cloned().collect()
    }

    pub(crate) fn put(&mut self, path: &str, text: String) {
        self.after.insert(path.to_owned(), text);
    }

    /// A file that must not be there yet.
    pub(crate) fn add(&mut self, path: &str, text: String) -> Result<(), Failed> {
        if self.after.contains_key(path) || self.folder.join(path).symlink_metadata().is_ok() {
            return Err(Failed::Usage(format!(
                "`{}` is there already, and stays as it is; choose another name",
                self.folder.join(path).display()
            )));
        }
        self.put(path, text);
        Ok(())
    }

    pub(crate) fn load(&self) -> Result<Suite, Vec<Problem>> {
        let pairs = self.after.iter().map(|(path, text)| (path.clone(), text.clone()));
        Suite::load(&SuiteFiles::from_pairs(pairs))
    }

    /// What would change: path, text before (empty if there was none), text after.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.after.iter().filter_map(|(path, after)| {
            let before = self.before.get(path).map_or("", String::as_str);
            (before != after).then_some((path.as_str(), before, after.as_str()))
        })
    }

    /// What would be wrong with the changed files.
    pub(crate) fn check(&self) -> Result<(), Failed> {
        let Err(problems) = self.load() else { return Ok(()) };
        let ours = |problem: &Problem| self.changed().any(|(path, ..)| path == problem.at.file);
        let found: Vec<Problem> = problems.into_iter().filter(ours).collect();
        if found.is_empty() { Ok(()) } else { Err(Failed::BrokenSuite(found)) }
    }

    /// Writes every change, or nothing if one cannot be written.
    pub(crate) fn write(&self) -> Result<(), Failed> {
        let mut ready = Vec::new();
        for (path, before, after) in self.changed() {
            let path = self.folder.join(path);
            let prepared = prepare(&path, before, after);
            ready.push((prepared.map_err(not_saved(&path))?, path, before.is_empty()));
        }
        for (file, path, is_new) in ready {
            let kept = if is_new { file.persist_noclobber(&path) } else { file.persist(&path) };
            kept.map_err(|fault| not_saved(&path)(fault.error))?;
        }
        Ok(())
    }
}

fn not_saved(path: &Path) -> impl Fn(io::Error) -> Failed {
    let path = path.to_owned();
    move |fault| Failed::NotSaved { path: path.clone(), fault }
}

/// The new text beside the file, so that a reader sees the old one or the new one and nothing between.
fn prepare(path: &Path, before: &str, after: &str) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(after.as_bytes())?;
    file.as_file().sync_all()?;
    if before.is_empty() {
        // As any new file of this user; a temporary one is private.
        set_mode(&file, 0o644)?;
    } else {
        if fs::read_to_string(path)? != before {
            return Err(io::Error::other("it was changed meanwhile; try again"));
        }
        file.as_file().set_permissions(fs::metadata(path)?.permissions())?;
    }
    Ok(file)
}

#[cfg(unix)]
fn set_mode(file: &NamedTempFile, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &NamedTempFile, _: u32) -> io::Result<()> {
    Ok(())
}
