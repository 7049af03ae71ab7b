//! The files of a workspace, as tools may see and change them.
//!
//! - A path never leads out: not by `..`, not by a link, not by one that is swapped in meanwhile.
//! - What is no regular file is refused and not opened, so nothing waits for a pipe.
//! - A file is replaced whole: whoever reads it sees the old or the new one. It is written beside its
//!   place and moved there, so a hard link to another file is never written through.

mod names;
mod walk;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, accessat, fchmod, fstat, openat,
    renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use sage_errors::{Detail, SageError};

use names::Refusal;
use walk::{Place, Purpose, Stopped};

/// The longest file that is read.
const LONGEST_FILE: u64 = 16 << 20;

const STAYS_INSIDE: &str = "paths stay inside the workspace";
const CHRONICLES_ONLY: &str = "`.sage/` is written by chronicles only";
const FILES_ONLY: &str = "only regular files are read and written";

/// A folder, and all that tools may touch.
#[derive(Debug)]
pub struct Workspace {
    root: OwnedFd,
    path: PathBuf,
}

/// What a file is to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// There is a file with this content, whether there was one before or not.
    Write(&'a [u8]),
    /// There was none, and there is one with this content.
    Create(&'a [u8]),
    /// There is none.
    Delete,
}

impl Workspace {
    /// # Errors
    /// `EIO` when the folder cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SageError> {
        let path = path.as_ref();
        let fail = |error: io::Error| SageError::io("open", path.display().to_string(), &error);
        let absolute = std::path::absolute(path).map_err(fail)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root =
            rustix::fs::open(path, flags, Mode::empty()).map_err(|error| fail(error.into()))?;
        Ok(Self { root, path: absolute })
    }

    /// Where it is, for programs that are started in it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of the file at `path`.
    ///
    /// # Errors
    /// `EVALIDATION` with the field `file`, `EPERMISSION`, `EIO`.
    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, SageError> {
        let fault = |error: io::Error| failure("read", path, error);
        let place = self.place(path, Purpose::Read)?;
        match place.found().map_err(fault)? {
            None => return Err(fault(Errno::NOENT.into())),
            Some(found) => check_kind(&found, "read", path)?,
        }
        let (folder, name) = place.there().map_err(fault)?;
        // Not followed and not waited for, should it have become a link or a pipe by now.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = openat(&folder, &name, flags | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| fault(error.into()))?;
        check_kind(&fstat(&file).map_err(|error| fault(error.into()))?, "read", path)?;
        let mut content = Vec::new();
        File::from(file).take(LONGEST_FILE + 1).read_to_end(&mut content).map_err(fault)?;
        if content.len() as u64 > LONGEST_FILE {
            let reason = format!("the file is longer than {LONGEST_FILE} bytes");
            return Err(fault(io::Error::new(io::ErrorKind::FileTooLarge, reason)));
        }
        Ok(content)
    }

    /// Whether `change` could be made, as far as can be told without making it.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub(crate) fn check(&self, path: &str, change: Change<'_>) -> Result<(), SageError> {
        self.checked(path, change).map(|_| ())
    }

    /// Makes `change`, or nothing at all but for folders on the way.
    ///
    /// # Errors
    /// `EVALIDATION` with the field `file`, `EPERMISSION`, `EIO`.
    pub(crate) fn change(&self, path: &str, change: Change<'_>) -> Result<(), SageError> {
        let fault = |error: io::Error| failure("write", path, error);
        let (place, found) = self.checked(path, change)?;
        // One handle from here on: whatever is done to the way that led to it, it is this folder.
        let done = match change {
            Change::Write(content) => place.make().and_then(|(folder, name)| {
                replace(folder.as_fd(), &name, content, found.as_ref(), RenameFlags::empty())
            }),
            Change::Create(content) => place.make().and_then(|(folder, name)| {
                replace(folder.as_fd(), &name, content, None, RenameFlags::NOREPLACE)
            }),
            Change::Delete => place.there().and_then(|(folder, name)| {
                unlinkat(folder, name, AtFlags::empty()).map_err(io::Error::from)
            }),
        };
        done.map_err(fault)
    }

    fn checked(&self, path: &str, change: Change<'_>) -> Result<(Place, Option<Stat>), SageError> {
        let fault = |error: io::Error| failure("write", path, error);
        let place = self.place(path, Purpose::Write)?;
        let found = place.found().map_err(fault)?;
        if let Some(found) = &found {
            check_kind(found, "write", path)?;
            if matches!(change, Change::Create(_)) {
                return Err(fault(Errno::EXIST.into()));
            }
            // Moving another file to its place would not ask whether this one may be written to.
            place.check_writable().map_err(fault)?;
        } else if change == Change::Delete {
            return Err(fault(Errno::NOENT.into()));
        }
        Ok((place, found))
    }

    fn place(&self, path: &str, purpose: Purpose) -> Result<Place, SageError> {
        let operation = match purpose {
            Purpose::Read => "read",
            Purpose::Write => "write",
        };
        let denied = |policy: &str| SageError::permission(path, operation, Some(policy.to_owned()));
        let refuse = |reason| {
            let detail = Detail::new("file", reason).received(path);
            SageError::validation(detail.expected("a relative POSIX path inside the workspace"))
        };
        if path.is_empty() {
            return Err(refuse("is empty"));
        }
        if path.contains('\0') {
            return Err(refuse("holds a NUL character"));
        }
        let names = names::parse(path).map_err(|refusal| match refusal {
            Refusal::Outside => denied(STAYS_INSIDE),
            Refusal::TooLong => failure(operation, path, Errno::NAMETOOLONG.into()),
            Refusal::Folder => failure(operation, path, Errno::ISDIR.into()),
        })?;
        walk::walk(self.root.as_fd(), &names, purpose).map_err(|stopped| match stopped {
            Stopped::Outside => denied(STAYS_INSIDE),
            Stopped::Protected => denied(CHRONICLES_ONLY),
            Stopped::System(error) => failure(operation, path, error),
        })
    }
}

impl Place {
    fn check_writable(&self) -> io::Result<()> {
        let (folder, name) = self.at();
        Ok(accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS)?)
    }
}

fn check_kind(found: &Stat, operation: &str, path: &str) -> Result<(), SageError> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(failure(operation, path, Errno::ISDIR.into())),
        _ => Err(SageError::permission(path, operation, Some(FILES_ONLY.to_owned()))),
    }
}

fn failure(operation: &str, path: &str, error: io::Error) -> SageError {
    // A link where none was a moment ago.
    if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
        return SageError::permission(path, operation, Some(STAYS_INSIDE.to_owned()));
    }
    SageError::io(operation, path, &error)
}

/// Puts `content` at `name`, in the mode of the file that it replaces.
fn replace(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    content: &[u8],
    old: Option<&Stat>,
    how: RenameFlags,
) -> io::Result<()> {
    let (beside, file) = create_beside(folder)?;
    let done = fill(file, content, old).and_then(|()| {
        if how.is_empty() {
            renameat(folder, &beside, folder, name)?;
        } else {
            renameat_with(folder, &beside, folder, name, how)?;
        }
        Ok(())
    });
    if done.is_err() {
        // It is ours alone. If it cannot be removed, there is nothing better to tell than `done`.
        let _gone = unlinkat(folder, &beside, AtFlags::empty());
    }
    done
}

fn fill(file: OwnedFd, content: &[u8], old: Option<&Stat>) -> io::Result<()> {
    let mut file = File::from(file);
    file.write_all(content)?;
    if let Some(old) = old {
        fchmod(&file, Mode::from_raw_mode(old.st_mode))?;
    }
    Ok(())
}

/// A new file in `folder`, under a name that nobody has.
fn create_beside(folder: BorrowedFd<'_>) -> io::Result<(OsString, OwnedFd)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".new-{}-{number}", std::process::id()));
        match openat(folder, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, file)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("taken")).unwrap();
        let handle = File::open(folder.path()).unwrap();
        for how in [RenameFlags::empty(), RenameFlags::NOREPLACE] {
            replace(handle.as_fd(), OsStr::new("taken"), b"x", None, how).unwrap_err();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
