//! The sources of a suite's files: embedded in the program, or an author's folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::walk::Walk;
use proofmark_judge::problem::Problem;

/// The text files of a suite, in order of their paths relative to its root (`fixtures/…`, `features/…`).
#[derive(Debug, Clone, Default)]
pub struct SuiteFiles {
    files: Vec<(String, String)>,
    /// Problems with files that could not be read or would be ignored.
    problems: Vec<Problem>,
}

/// Why a suite's folder could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(
        "`{path}` cannot be read: {fault}; a suite is a folder with `fixtures/<contract>/` and `features/<contract>/` in it"
    )]
    Unreadable { path: PathBuf, fault: io::Error },
    #[error("`{path}` contains neither `fixtures` nor `features`")]
    Empty { path: PathBuf },
}

impl SuiteFiles {
    /// The files of a folder, in place of the embedded ones.
    pub fn in_folder(folder: &Path) -> Result<Self, SourceError> {
        let mut walk = Walk::of(folder);
        let mut found = false;
        for part in ["fixtures", "features"] {
            let path = folder.join(part);
            if path.is_dir() {
                found = true;
                walk.folder(&path, part);
            }
        }
        if !found {
            // Distinguishes a missing folder from one with other content.
            fs::read_dir(folder)
                .map_err(|fault| SourceError::Unreadable { path: folder.to_owned(), fault })?;
            return Err(SourceError::Empty { path: folder.to_owned() });
        }
        Ok(Self { problems: walk.problems, ..Self::sorted(walk.files) })
    }

    /// Whether a suite reads files of this name.
    pub fn takes(path: &str) -> bool {
        [".toml", ".json", ".feature"].iter().any(|end| path.ends_with(end))
    }

    /// Files given as pairs of path and text.
    pub fn from_pairs(files: impl IntoIterator<Item = (String, String)>) -> Self {
        Self::sorted(files.into_iter().collect())
    }

    fn sorted(mut files: Vec<(String, String)>) -> Self {
        files.sort();
        Self { files, problems: Vec::new() }
    }

    /// The same, with problems from reading the files.
    pub fn with_problems(self, problems: Vec<Problem>) -> Self {
        Self { problems, ..self }
    }

    /// Problems with files that could not be read.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// SHA-256 over every path and text: suites with the same digest judge alike.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (path, text) in &self.files {
            for part in [path, text] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
        }
        hex::encode(hash.finalize())
    }
}
