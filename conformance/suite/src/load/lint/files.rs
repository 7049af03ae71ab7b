//! Lints the files that a case gives and expects.

use std::collections::BTreeMap;

use super::CaseLint;
use proofmark_fakes::workspace::is_beside;
use proofmark_judge::case::{Action, FileExpected, FileGiven};

impl CaseLint<'_> {
    pub(super) fn check_files(&mut self) {
        let mut paths: Vec<&String> = self.case.given.files.keys().collect();
        let mut given: Vec<(&String, &FileGiven)> = self.case.given.files.iter().collect();
        for step in &self.case.steps {
            match &step.action {
                Action::Write(files) => {
                    paths.extend(files.keys());
                    given.extend(files);
                }
                Action::Leaves(files) => {
                    paths.extend(
                        files.iter().filter(|(path, _)| *path != ".").map(|(path, _)| path),
                    );
                    if files.get(".").is_some_and(|file| !matches!(file, FileExpected::Entries(_)))
                    {
                        self.wrong(
                            "`.` is the workspace itself; only its `entries` can be checked"
                                .to_owned(),
                        );
                    }
                }
                Action::Call(_) | Action::Together(_) | Action::Kill { .. } => {}
            }
        }
        if !paths.is_empty() && !self.contract.workspace {
            self.wrong(format!("{} has no workspace (`workspace = false` in its ledger), so its cases cannot use files", self.contract.id));
        }
        for path in paths {
            if !is_inside(path) {
                self.wrong(format!(
                    "the path `{path}` must be relative, without `..` except in `../outside/…` and `../workspace-…/…`"
                ));
            }
        }
        self.check_folders(&self.case.given.files);
        for step in &self.case.steps {
            if let Action::Write(files) = &step.action {
                self.check_folders(files);
            }
        }
        let paths_given: Vec<&String> = given.iter().map(|(path, _)| *path).collect();
        for (path, file) in given {
            match file {
                FileGiven::Symlink(target) if target.starts_with('/') && !is_device(target) => {
                    self.wrong("a symlink's target must be relative, or /dev/null, /dev/zero or /dev/full, so that the case means the same on every machine");
                }
                FileGiven::Symlink(target)
                    if !target.starts_with('/') && leads_away(path, target) =>
                {
                    self.wrong(format!("the symlink `{path}` to `{target}` leads out of the workspace, `../outside` and `../workspace-…`; nothing else may be touched"));
                }
                FileGiven::Hardlink(target)
                    if is_inside(target) && !paths_given.contains(&target) =>
                {
                    self.wrong(format!("the hard link `{path}` is another name of `{target}`, which the case does not give"));
                }
                FileGiven::Hardlink(target) if !is_inside(target) => {
                    self.wrong(format!("the hard link to `{target}` must be to a path in the workspace or in `../outside/…`"));
                }
                _ => {}
            }
        }
    }
    /// No path may be both a file and a folder.
    fn check_folders(&mut self, files: &BTreeMap<String, FileGiven>) {
        for (path, _) in files.iter().filter(|(_, file)| is_no_folder(file)) {
            let folder = format!("{path}/");
            if let Some(inside) = files.keys().find(|other| other.starts_with(&folder)) {
                self.wrong(format!(
                    "`{path}` is given as a file, but `{inside}` makes it a folder; rename one of them"
                ));
            }
        }
    }
}

/// Whether nothing can be below a path of this kind. A symlink may lead to a folder.
fn is_no_folder(file: &FileGiven) -> bool {
    match file {
        FileGiven::Text(_) | FileGiven::Bytes(_) | FileGiven::Hardlink(_) | FileGiven::Fifo => true,
        FileGiven::Symlink(_) | FileGiven::Folder => false,
    }
}

fn is_inside(path: &str) -> bool {
    let inside = beside(path).map_or(path, |(_, rest)| rest);
    !inside.is_empty()
        && inside.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// A path in a folder beside the workspace: that folder, and the path in it.
fn beside(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("../")?.split_once('/').filter(|(folder, _)| is_beside(folder))
}

/// Whether a link at `path` points neither into the workspace nor into the folder beside it.
fn leads_away(path: &str, target: &str) -> bool {
    let place = match beside(path) {
        Some((folder, rest)) => format!("{folder}/{rest}"),
        None => format!("workspace/{path}"),
    };
    let mut parts: Vec<&str> = place.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return true,
            ".." => {}
            name => parts.push(name),
        }
    }
    let stays = parts.first().is_some_and(|folder| *folder == "workspace" || is_beside(folder));
    target.is_empty() || !stays
}

/// Devices that every machine has and that are safe to write to.
fn is_device(target: &str) -> bool {
    ["/dev/null", "/dev/zero", "/dev/full"].contains(&target)
}
