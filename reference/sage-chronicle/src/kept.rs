//! Files that stay open between appends, because opening one costs more than writing to it.
//!
//! This is only a cache: its user must check that a file is still the one at its path, and that it still ends with
//! the same line. A crash loses nothing.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::event::Entry;
use crate::file::Identity;

/// Limit of open files.
pub(crate) const MOST_KEPT: usize = 32;
/// The longest line that is kept along with its file.
const LONGEST: usize = 4096;

/// A file that was locked and is still open.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) file: File,
    pub(crate) identity: Identity,
    /// The line last appended here, unless it is long.
    pub(crate) last: Option<Entry>,
}

/// Kept files by path, the most recently used at the end.
///
/// A file in use is not in here, so no two threads ever share one.
#[derive(Debug)]
pub(crate) struct KeptFiles {
    files: Mutex<Vec<(String, Kept)>>,
    most: usize,
}

impl KeptFiles {
    pub(crate) fn at_most(most: usize) -> Self {
        Self { files: Mutex::new(Vec::new()), most }
    }

    pub(crate) fn take(&self, path: &str) -> Option<Kept> {
        let mut files = self.files();
        let index = files.iter().rposition(|(at, _)| at == path)?;
        Some(files.remove(index).1)
    }

    pub(crate) fn put(&self, path: String, mut kept: Kept) {
        kept.last = kept.last.filter(|entry| entry.line().len() <= LONGEST);
        // Closed only after the list is unlocked.
        let _surplus = {
            let mut files = self.files();
            let same = files.iter().position(|(at, _)| *at == path);
            files.push((path, kept));
            let surplus = same.or_else(|| (files.len() > self.most).then_some(0));
            surplus.map(|index| files.remove(index))
        };
    }

    fn files(&self) -> MutexGuard<'_, Vec<(String, Kept)>> {
        // No holder can panic half-way, so the content is always sound.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::IdRule;
    use crate::file::identify_file;

    fn kept(text: &str) -> Kept {
        let actor = json!({ "agent": "sage", "id": "sage-1" });
        let event = json!({ "type": text, "timestamp": "2024-01-01", "actor": actor });
        let file = tempfile::tempfile().unwrap();
        let (identity, _) = identify_file(&file).unwrap();
        Kept { file, identity, last: Entry::new(&event, IdRule::Computed).ok() }
    }

    #[test]
    fn a_file_in_use_is_not_there_for_another() {
        let files = KeptFiles::at_most(2);
        files.put("a".to_owned(), kept("x"));
        assert!(files.take("b").is_none());
        assert!(files.take("a").is_some());
        assert!(files.take("a").is_none());
    }

    #[test]
    fn the_file_that_was_used_longest_ago_makes_room() {
        let files = KeptFiles::at_most(2);
        for path in ["a", "b", "a", "c"] {
            let file = files.take(path).unwrap_or_else(|| kept(path));
            files.put(path.to_owned(), file);
        }
        assert_eq!(["a", "b", "c"].map(|path| files.take(path).is_some()), [true, false, true]);
    }

    #[test]
    fn of_two_files_for_a_path_the_later_stays() {
        let files = KeptFiles::at_most(3);
        for (path, text) in [("a", "1"), ("b", "2"), ("a", "3")] {
            files.put(path.to_owned(), kept(text));
        }
        assert_eq!(files.take("a").unwrap().last, kept("3").last);
        assert!(files.take("a").is_none() && files.take("b").is_some());
    }

    #[test]
    fn a_long_line_is_not_kept() {
        let files = KeptFiles::at_most(1);
        files.put("a".to_owned(), kept(&"x".repeat(LONGEST)));
        assert_eq!(files.take("a").unwrap().last, None);
    }
}
