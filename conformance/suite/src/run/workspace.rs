//! The workspace of a case: writes files before, and reads them after.

use std::collections::BTreeMap;

use proofmark_fakes::workspace::{TempWorkspace, WorkspaceError};
use proofmark_judge::case::{FileExpected, FileGiven};
use proofmark_judge::transcript::FileSeen;

pub(super) fn write(
    workspace: &TempWorkspace,
    files: &BTreeMap<String, FileGiven>,
) -> Result<(), WorkspaceError> {
    for (path, given) in files {
        match given {
            FileGiven::Text(text) => workspace.file(path, text)?,
            FileGiven::Bytes(bytes) => workspace.file(path, bytes)?,
            FileGiven::Symlink(target) => workspace.symlink(path, target)?,
            // Linked below, once every possible target exists.
            FileGiven::Hardlink(_) => {}
            FileGiven::Fifo => workspace.fifo(path)?,
            FileGiven::Folder => workspace.folder(path)?,
        }
    }
    for (path, given) in files {
        if let FileGiven::Hardlink(target) = given {
            workspace.hard_link(path, target)?;
        }
    }
    Ok(())
}

/// Reads the files that a step names.
pub(super) fn look(
    workspace: &TempWorkspace,
    expected: &BTreeMap<String, FileExpected>,
) -> BTreeMap<String, FileSeen> {
    let seen = |(path, expected): (&String, _)| (path.clone(), read(workspace, path, expected));
    expected.iter().map(seen).collect()
}

/// Reads a path in the form that the case expects.
fn read(workspace: &TempWorkspace, path: &str, expected: &FileExpected) -> FileSeen {
    let seen = match (workspace.exists(path), expected) {
        (Ok(false), _) => Ok(FileSeen::Nothing),
        (Ok(true), FileExpected::Bytes(_)) => {
            workspace.bytes(path).map(|bytes| FileSeen::Bytes(hex::encode(bytes)))
        }
        (Ok(true), FileExpected::Symlink(_)) => workspace.link(path).map(FileSeen::Symlink),
        (Ok(true), FileExpected::Entries(_)) => workspace.entries(path).map(FileSeen::Entries),
        (Ok(true), _) => workspace.read(path).map(FileSeen::Text),
        (Err(error), _) => Err(error),
    };
    seen.unwrap_or_else(|error| FileSeen::Other(error.to_string()))
}
