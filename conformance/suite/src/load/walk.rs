//! Walks the folder of an author's suite. A file that cannot be read, or whose name would be ignored, is a problem.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::source::SuiteFiles;
use proofmark_judge::problem::{Lines, Problem, distance};

pub(super) struct Walk {
    top: PathBuf,
    /// The canonical paths of visited folders, with the name used for each.
    entered: BTreeMap<PathBuf, String>,
    pub(super) files: Vec<(String, String)>,
    pub(super) problems: Vec<Problem>,
}

impl Walk {
    pub(super) fn of(top: &Path) -> Self {
        let (files, problems) = (Vec::new(), Vec::new());
        Self { top: top.to_owned(), entered: BTreeMap::new(), files, problems }
    }

    fn wrong(&mut self, name: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(name, 1, message));
    }

    fn unreadable(&mut self, name: &str, fault: &io::Error) {
        let message = match fault.kind() {
            io::ErrorKind::NotFound => "it is a broken link; fix or delete it".to_owned(),
            _ => format!("it cannot be read: {fault}; make it readable, or delete it"),
        };
        self.wrong(name, message);
    }

    /// Reads everything in a folder, in name order.
    pub(super) fn folder(&mut self, path: &Path, name: &str) {
        let entries = fs::read_dir(path).and_then(|entries| {
            let mut names: Vec<_> =
                entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
            names.sort();
            Ok((fs::canonicalize(path)?, names))
        });
        let (real, names) = match entries {
            Ok(entries) => entries,
            Err(fault) => return self.unreadable(name, &fault),
        };
        // A link may lead back to a parent folder, which would recurse forever.
        if let Some(first) = self.entered.get(&real) {
            let message = format!(
                "it leads to `{first}`, which is already read; delete the link, or replace it with a folder"
            );
            return self.wrong(name, message);
        }
        self.entered.insert(real, name.to_owned());
        for entry in names {
            let inside = format!("{name}/{}", entry.to_string_lossy());
            if !is_dropping(&entry.to_string_lossy()) {
                self.entry(&path.join(&entry), &inside);
            }
        }
    }

    fn entry(&mut self, path: &Path, name: &str) {
        let kind = match fs::metadata(path) {
            Ok(found) => found.file_type(),
            Err(fault) => return self.unreadable(name, &fault),
        };
        if kind.is_dir() {
            if SuiteFiles::takes(name) && !self.is_contract(name) {
                let message = "it is a folder with the name of a file; name a folder after its contract, and put files into it";
                self.wrong(name, message);
            }
            self.folder(path, name);
        } else if !kind.is_file() {
            let message = "it is neither a file nor a folder (a pipe, a socket or a device); delete it, or replace it with a file";
            self.wrong(name, message);
        } else if SuiteFiles::takes(name) {
            match fs::read(path) {
                Ok(bytes) => self.text(name, bytes),
                Err(fault) => self.unreadable(name, &fault),
            }
        } else if let Some(right) = meant(name) {
            let own = name.rsplit('/').next().unwrap_or(name);
            self.wrong(name, format!("`{own}` is ignored; rename it to `{right}`"));
        }
    }

    fn text(&mut self, name: &str, bytes: Vec<u8>) {
        match String::from_utf8(bytes) {
            Ok(text) => self.files.push((name.to_owned(), text)),
            Err(fault) => {
                let sound = &fault.as_bytes()[..fault.utf8_error().valid_up_to()];
                let line = Lines::of(&String::from_utf8_lossy(sound)).at(sound.len());
                self.problems.push(Problem::new(name, line, "it is not UTF-8; save it as UTF-8"));
            }
        }
    }

    /// A contract id may look like a file name.
    fn is_contract(&self, name: &str) -> bool {
        let mut parts = name.split('/').skip(1);
        match (parts.next(), parts.next()) {
            (Some(id), None) => {
                self.top.join("fixtures").join(id).join("requirements.toml").is_file()
            }
            _ => false,
        }
    }
}

/// Files that editors and operating systems leave behind.
fn is_dropping(name: &str) -> bool {
    let hidden = name.starts_with('.') && (name.starts_with(".#") || !SuiteFiles::takes(name));
    hidden || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'))
}

/// The intended name of a file that looks like a misspelt suite file. Other files, such as a README.md, are allowed.
fn meant(name: &str) -> Option<String> {
    let own = name.rsplit('/').next().unwrap_or(name);
    let small = own.to_lowercase();
    let cut = [".feature", ".json", ".toml"].into_iter().find_map(|end| {
        let at = small.find(end).filter(|at| *at > 0 && own.is_char_boundary(*at))?;
        Some((at, end))
    });
    let misspelt = || {
        let (at, end) = (small.rfind('.')?, ".feature");
        (own.is_char_boundary(at) && distance(&small[at..], end) <= 2).then_some((at, end))
    };
    let (at, end) = cut.or_else(misspelt)?;
    Some(format!("{}{end}", &own[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_right_is_found() {
        let right = |name: &str| meant(&format!("features/demo/{name}"));
        for (name, meant) in [
            ("b.Feature", "b.feature"),
            ("c.feature.txt", "c.feature"),
            ("d.featrue", "d.feature"),
            ("z.JSON", "z.json"),
            ("z.jsonc", "z.json"),
            ("requirements.toml.orig", "requirements.toml"),
        ] {
            assert_eq!(right(name).as_deref(), Some(meant), "{name}");
        }
        for name in ["README.md", "notes.txt", "LICENSE", "picture.png", "my.picture.html"] {
            assert_eq!(right(name), None, "{name}");
        }
    }

    #[test]
    fn editor_backups_are_ignored() {
        for name in [".a.feature.swp", "a.feature~", ".#a.feature", "#a.feature#", ".gitkeep"] {
            assert!(is_dropping(name), "{name}");
        }
        for name in ["a.feature", ".a.feature", "b.Feature", "a.feature.txt"] {
            assert!(!is_dropping(name), "{name}");
        }
    }
}
