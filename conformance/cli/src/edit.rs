//! Changes files of an author's suite: checks everything first, and never overwrites someone else's change.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use proofmark_judge::{Problem, Suite};
use proofmark_suite::{SourceError, SuiteFiles};
use tempfile::NamedTempFile;

use crate::exit::Failed;

/// The files of a suite with changes that are not written yet.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    folder: PathBuf,
    /// As on disk.
    before: BTreeMap<String, String>,
    after: BTreeMap<String, String>,
    /// Files that exist but cannot be read.
    unread: Vec<Problem>,
}

impl Draft {
    /// Loads the suite of a folder. A folder without files is an empty suite.
    pub(crate) fn of(folder: &Path) -> Result<Self, Failed> {
        let files = match SuiteFiles::in_folder(folder) {
            Ok(files) => files,
            Err(SourceError::Empty { .. }) => SuiteFiles::default(),
            Err(SourceError::Unreadable { fault, .. })
                if fault.kind() == io::ErrorKind::NotFound && !folder.exists() =>
            {
                SuiteFiles::default()
            }
            Err(fault) => return Err(fault.into()),
        };
        let unread = files.problems().to_vec();
        let files: BTreeMap<String, String> =
            files.iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
        Ok(Self { folder: folder.to_owned(), before: files.clone(), after: files, unread })
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
        let text = match self.before.get(path) {
            Some(before) => with_line_ends_of(before, text),
            None => text,
        };
        self.after.insert(path.to_owned(), text);
    }

    /// Adds a file that must not exist yet.
    pub(crate) fn add(&mut self, path: &str, text: String) -> Result<(), Failed> {
        if self.after.contains_key(path) || self.folder.join(path).symlink_metadata().is_ok() {
            return Err(Failed::Usage(format!(
                "`{}` already exists; choose another name",
                self.folder.join(path).display()
            )));
        }
        self.put(path, text);
        Ok(())
    }

    pub(crate) fn load(&self) -> Result<Suite, Vec<Problem>> {
        load(&self.after, &self.unread)
    }

    /// The path of a suite file as the user sees it.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// The changed files: path, text before (none for a new file), text after.
    pub(crate) fn changed(&self) -> impl Iterator<Item = (&str, Option<&str>, &str)> {
        self.after.iter().filter_map(|(path, after)| {
            let before = self.before.get(path).map(String::as_str);
            (before != Some(after)).then_some((path.as_str(), before, after.as_str()))
        })
    }

    /// Refuses changes that leave a problem in a changed file, or that add a problem elsewhere. A requirement without
    /// a case does not count: authors add cases one by one.
    pub(crate) fn check(&self) -> Result<(), Failed> {
        let Err(problems) = self.load() else { return Ok(()) };
        let before = load(&self.before, &self.unread).err().unwrap_or_default();
        // Compared without line numbers: an insertion moves the lines below it.
        let was_there = |problem: &Problem| {
            before
                .iter()
                .any(|one| one.at.file == problem.at.file && one.message == problem.message)
        };
        let touched = |problem: &Problem| self.changed().any(|(path, ..)| path == problem.at.file);
        let ours = |problem: &Problem| {
            !was_there(problem) || (touched(problem) && !problem.is_missing_case())
        };
        let found: Vec<Problem> = problems.into_iter().filter(ours).collect();
        if found.is_empty() { Ok(()) } else { Err(Failed::BrokenSuite(found)) }
    }

    /// Writes every change. It prepares all files before it replaces the first one, so that a full disk or a missing
    /// permission changes nothing. If replacing fails halfway, the error lists the files already written.
    pub(crate) fn write(&self) -> Result<(), Failed> {
        let mut ready = Vec::new();
        for (path, before, after) in self.changed() {
            let path = self.folder.join(path);
            // Follow a link to its target; the link stays.
            let path = fs::canonicalize(&path).unwrap_or(path);
            let prepared = prepare(&path, before, after);
            ready.push((prepared.map_err(not_written(&path))?, path, before.is_none()));
        }
        let mut written: Vec<String> = Vec::new();
        for (file, path, is_new) in ready {
            let kept = if is_new { file.persist_noclobber(&path) } else { file.persist(&path) };
            kept.map_err(|fault| not_written(&path)(halfway(fault.error, &written)))?;
            written.push(format!("`{}`", path.display()));
        }
        Ok(())
    }
}

fn load(files: &BTreeMap<String, String>, unread: &[Problem]) -> Result<Suite, Vec<Problem>> {
    let pairs = files.iter().map(|(path, text)| (path.clone(), text.clone()));
    proofmark_catalog::load(&SuiteFiles::from_pairs(pairs).with_problems(unread.to_vec()))
}

fn not_written(path: &Path) -> impl Fn(io::Error) -> Failed {
    let path = path.to_owned();
    move |fault| Failed::NotSaved { path: path.clone(), fault }
}

fn halfway(fault: io::Error, written: &[String]) -> io::Error {
    if written.is_empty() {
        return fault;
    }
    io::Error::new(fault.kind(), format!("{fault}; already written: {}", written.join(", ")))
}

/// A file whose lines all end in CR LF keeps that line ending.
fn with_line_ends_of(before: &str, text: String) -> String {
    let ends = before.matches('\n').count();
    if ends == 0 || before.matches("\r\n").count() < ends {
        return text;
    }
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Writes the new text beside the file, so that a reader sees either the old or the new text.
fn prepare(path: &Path, before: Option<&str>, after: &str) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    // The mode of any new file of this user: the umask applies.
    #[cfg(unix)]
    builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(after.as_bytes())?;
    if let Some(before) = before {
        if fs::read_to_string(path)? != before {
            return Err(io::Error::other("another program changed it; try again"));
        }
        file.as_file().set_permissions(fs::metadata(path)?.permissions())?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]
mod tests {
    use super::*;

    const LEDGER: &str = "fixtures/a/requirements.toml";

    fn suite(text: &str) -> (tempfile::TempDir, Draft) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LEDGER);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let draft = Draft::of(folder.path()).unwrap();
        (folder, draft)
    }

    #[test]
    fn an_existing_empty_file_counts_as_changed() {
        let (folder, mut draft) = suite("");
        draft.put(LEDGER, "x".to_owned());
        assert_eq!(draft.changed().collect::<Vec<_>>(), [(LEDGER, Some(""), "x")]);
        draft.write().unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(LEDGER)).unwrap(), "x");
    }

    #[test]
    fn a_failed_write_lists_the_files_already_written() {
        let (folder, mut draft) = suite("");
        draft.put(LEDGER, "x".to_owned());
        draft.put("fixtures/b/requirements.toml", "x".to_owned());
        // Another writer was faster, so the file is no longer new.
        let other = folder.path().join("fixtures/b/requirements.toml");
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        fs::write(&other, "theirs").unwrap();
        let message = draft.write().unwrap_err().to_string();
        assert!(message.contains("already written: `") && message.contains(LEDGER), "{message}");
        assert_eq!(fs::read_to_string(other).unwrap(), "theirs");
    }
}
