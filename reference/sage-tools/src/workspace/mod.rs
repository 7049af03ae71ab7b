//! File access of tools in a workspace.
//!
//! - A path never leads out: not by `..`, not by a link, not by one that is swapped in meanwhile.
//! - Only regular files are opened, so nothing waits for a pipe.
//! - A file is replaced atomically: a reader sees the old or the new one. It is written beside its place and moved
//!   there, so a hard link to another file is never written through.
//! - Concurrent changes of one file do not undo each other.

mod beside;
mod names;
mod walk;

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, Stat, accessat, fstat, openat, unlinkat,
};
use rustix::io::Errno;
use sage_errors::{Detail, SageError};

use beside::Beside;
use names::Refusal;
use walk::{Purpose, Resolved, Stopped};

/// The longest file that is read.
const LONGEST_FILE: u64 = 16 << 20;

const STAYS_INSIDE: &str = "paths stay inside the workspace";
const CHRONICLES_ONLY: &str = "`.sage/` is written by chronicles only";
const FILES_ONLY: &str = "only regular files are read and written";

/// A folder, and everything that tools may touch.
#[derive(Debug)]
pub struct Workspace {
    root: OwnedFd,
    path: PathBuf,
}

/// The new state of a file.
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
        let place = self.place(path, Purpose::Read)?;
        read(&place, path).map(|seen| seen.content)
    }

    /// Locks the file at `path` against other changes in this process, until it is dropped.
    ///
    /// # Errors
    /// `EVALIDATION` with the field `file`, `EPERMISSION`, `EIO`.
    pub(crate) fn hold<'a>(&self, path: &'a str) -> Result<Held<'a>, SageError> {
        let place = self.place(path, Purpose::Write)?;
        let alone = lock(&place).map_err(|error| failure("write", path, error))?;
        Ok(Held { place, path, _alone: alone })
    }

    /// Whether `change` is possible, as far as can be checked without making it.
    ///
    /// # Errors
    /// As [`Self::change`].
    pub(crate) fn check(&self, path: &str, change: Change<'_>) -> Result<(), SageError> {
        checked(&self.place(path, Purpose::Write)?, path, change).map(|_| ())
    }

    /// Makes `change`, or nothing except folders on the way.
    ///
    /// # Errors
    /// `EVALIDATION` with the field `file`, `EPERMISSION`, `EIO`.
    pub(crate) fn change(&self, path: &str, change: Change<'_>) -> Result<(), SageError> {
        self.hold(path)?.change(change, None).map(|_| ())
    }

    fn place(&self, path: &str, purpose: Purpose) -> Result<Resolved, SageError> {
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

/// A place that is locked against other changes in this process.
pub(crate) struct Held<'a> {
    place: Resolved,
    path: &'a str,
    _alone: MutexGuard<'static, ()>,
}

/// A file as it was read.
pub(crate) struct Seen {
    pub(crate) content: Vec<u8>,
    state: Stat,
}

impl Held<'_> {
    /// # Errors
    /// `EPERMISSION`, `EIO`.
    pub(crate) fn read(&self) -> Result<Seen, SageError> {
        read(&self.place, self.path)
    }

    /// Whether `change` is possible, as far as can be checked without making it.
    ///
    /// # Errors
    /// `EPERMISSION`, `EIO`.
    pub(crate) fn check(&self, change: Change<'_>) -> Result<bool, SageError> {
        checked(&self.place, self.path, change).map(|_| true)
    }

    /// Makes `change`, or nothing except folders on the way. `false`: nothing was done, because another process
    /// changed the file after it was `seen`, or created it meanwhile.
    ///
    /// # Errors
    /// `EPERMISSION`, `EIO`.
    pub(crate) fn change(
        &self,
        change: Change<'_>,
        seen: Option<&Seen>,
    ) -> Result<bool, SageError> {
        let fault = |error: io::Error| failure("write", self.path, error);
        let found = checked(&self.place, self.path, change)?;
        let is_as_seen = || -> io::Result<bool> {
            match seen {
                None => Ok(true),
                Some(seen) => Ok(self.place.found()?.is_some_and(|now| is_same(&seen.state, &now))),
            }
        };
        // One handle from here on, so that changes of the path do not matter.
        let done = match change {
            Change::Write(content) => self.place.make().and_then(|(folder, name)| {
                let new = Beside::new(folder.as_fd(), content, found.as_ref())?;
                if is_as_seen()? { new.replace(name).map(|()| true) } else { Ok(false) }
            }),
            Change::Create(content) => self.place.make().and_then(|(folder, name)| {
                Beside::new(folder.as_fd(), content, None)?.create(name).map(|()| true)
            }),
            Change::Delete => self.place.there().and_then(|(folder, name)| {
                let is_as_seen = is_as_seen()?;
                if is_as_seen {
                    unlinkat(folder, name, AtFlags::empty())?;
                }
                Ok(is_as_seen)
            }),
        };
        done.map_err(fault)
    }
}

/// The metadata that changes whenever a file is written or replaced.
fn is_same(seen: &Stat, now: &Stat) -> bool {
    let about = |stat: &Stat| {
        let times = [(stat.st_mtime, stat.st_mtime_nsec), (stat.st_ctime, stat.st_ctime_nsec)];
        (stat.st_dev, stat.st_ino, stat.st_size, times)
    };
    about(seen) == about(now)
}

/// Locks by place and not by path, because several paths may lead to it. Two places may share a lock: nobody holds
/// two at once.
fn lock(place: &Resolved) -> io::Result<MutexGuard<'static, ()>> {
    static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    let mut hasher = DefaultHasher::new();
    place.key()?.hash(&mut hasher);
    let chosen = usize::try_from(hasher.finish() % 64).unwrap_or(0);
    Ok(LOCKS[chosen].lock().unwrap_or_else(PoisonError::into_inner))
}

fn read(place: &Resolved, path: &str) -> Result<Seen, SageError> {
    let fault = |error: io::Error| failure("read", path, error);
    match place.found().map_err(fault)? {
        None => return Err(fault(Errno::NOENT.into())),
        Some(found) => check_kind(&found, "read", path)?,
    }
    let (folder, name) = place.there().map_err(fault)?;
    // Do not follow or wait, in case it has become a link or a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| fault(error.into()))?;
    let state = fstat(&file).map_err(|error| fault(error.into()))?;
    check_kind(&state, "read", path)?;
    let mut content = Vec::new();
    File::from(file).take(LONGEST_FILE + 1).read_to_end(&mut content).map_err(fault)?;
    if content.len() as u64 > LONGEST_FILE {
        let reason = format!("the file is longer than {LONGEST_FILE} bytes");
        return Err(fault(io::Error::new(io::ErrorKind::FileTooLarge, reason)));
    }
    Ok(Seen { content, state })
}

/// The current file, if `change` seems possible.
fn checked(place: &Resolved, path: &str, change: Change<'_>) -> Result<Option<Stat>, SageError> {
    let fault = |error: io::Error| failure("write", path, error);
    let found = place.found().map_err(fault)?;
    if let Some(found) = &found {
        check_kind(found, "write", path)?;
        if matches!(change, Change::Create(_)) {
            return Err(fault(Errno::EXIST.into()));
        }
        // Check write access here, because moving another file to its place would not.
        let (folder, name) = place.at();
        accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|error| fault(error.into()))?;
    } else if change == Change::Delete {
        return Err(fault(Errno::NOENT.into()));
    }
    Ok(found)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Another process does not use our locks.
    #[test]
    fn a_file_that_has_changed_since_it_was_read_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let workspace = Workspace::open(folder.path()).unwrap();
        for change in [Change::Write(b"ours"), Change::Delete] {
            std::fs::write(&path, "old").unwrap();
            let held = workspace.hold("a").unwrap();
            let seen = held.read().unwrap();
            std::fs::write(&path, "theirs").unwrap();
            assert!(!held.change(change, Some(&seen)).unwrap());
            assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
            let seen = held.read().unwrap();
            assert!(held.change(change, Some(&seen)).unwrap());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
