//! From the names of a path to the folder that it leads to, by handles.
//!
//! Each step opens one name in a folder that is open already, and follows nothing by itself: where
//! a link leads is decided here. So there is no moment between a check and a use in which somebody
//! could put something else in its place, and where we are is known from the names that led there.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::hash::Hash;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, statat,
};
use rustix::io::Errno;

use super::names::{PROTECTED, is_protected};

/// As many as Linux follows.
const MOST_LINKS: usize = 40;

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Why the walk did not arrive.
#[derive(Debug)]
pub(super) enum Stopped {
    /// A link leads out of the workspace, or nowhere that could be made.
    Outside,
    /// The folder of the chronicles is on the way.
    Protected,
    System(io::Error),
}

impl From<Errno> for Stopped {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// Where a path leads: a folder, and a name in it that is no link.
#[derive(Debug)]
pub(super) struct Resolved {
    folder: OwnedFd,
    /// Folders that are not there yet.
    missing: Vec<OsString>,
    name: OsString,
}

impl Resolved {
    /// What is there, if anything is.
    pub(super) fn found(&self) -> io::Result<Option<Stat>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        look(self.folder.as_fd(), &self.name)
    }

    /// Which place it is, whatever path led to it.
    pub(super) fn key(&self) -> io::Result<impl Hash + '_> {
        let folder = fstat(&self.folder)?;
        Ok((folder.st_dev, folder.st_ino, &self.missing, &self.name))
    }

    /// The folder as far as it is there, and the name.
    pub(super) fn at(&self) -> (BorrowedFd<'_>, &OsStr) {
        (self.folder.as_fd(), &self.name)
    }

    /// The folder, made if need be, and the name in it.
    pub(super) fn make(&self) -> io::Result<(OwnedFd, &OsStr)> {
        let mut folder = self.folder.try_clone()?;
        for name in &self.missing {
            match mkdirat(&folder, name, Mode::from_bits_truncate(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            folder = openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok((folder, &self.name))
    }

    /// The folder if it is there, and the name in it.
    pub(super) fn there(&self) -> io::Result<(BorrowedFd<'_>, &OsStr)> {
        if self.missing.is_empty() { Ok(self.at()) } else { Err(Errno::NOENT.into()) }
    }
}

pub(super) fn look(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<Option<Stat>> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What a caller wants to do there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Write,
}

/// Walks `names` from `root`.
pub(super) fn walk(
    root: BorrowedFd<'_>,
    names: &[&str],
    purpose: Purpose,
) -> Result<Resolved, Stopped> {
    let guard = Guard::of(root, purpose);
    guard.check_names(names.iter().map(OsStr::new))?;
    let mut left: VecDeque<OsString> = names.iter().map(OsString::from).collect();
    // The folders from the root to here, each with the handle that `..` of a link goes back to.
    let mut here = vec![openat(root, ".", FOLDER, Mode::empty())?];
    let mut links = 0;
    // How many of `left` come from links. Only what the caller named is made.
    let mut linked = 0_usize;
    while let Some(name) = left.pop_front() {
        let is_linked = linked > 0;
        linked = linked.saturating_sub(1);
        let Some(folder) = here.last() else { return Err(Stopped::Outside) };
        if name == ".." {
            here.pop();
            if here.is_empty() {
                return Err(Stopped::Outside);
            }
            continue;
        }
        let found = look(folder.as_fd(), &name).map_err(Stopped::System)?;
        match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
            Some(FileType::Symlink) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let target =
                    OsString::from_vec(readlinkat(folder, &name, Vec::new())?.into_bytes());
                let names = target_names(&target)?;
                guard.check_names(names.iter().map(OsString::as_os_str))?;
                linked += names.len();
                for name in names.into_iter().rev() {
                    left.push_front(name);
                }
            }
            _ if left.is_empty() => {
                let folder = here.pop().ok_or(Stopped::Outside)?;
                return Ok(Resolved { folder, missing: Vec::new(), name });
            }
            Some(_) => {
                // If it is a link by now, or no folder, this fails.
                let next = openat(folder, &name, FOLDER, Mode::empty())?;
                guard.check_folder(next.as_fd())?;
                here.push(next);
            }
            None if is_linked || linked > 0 || left.iter().any(|name| name == "..") => {
                return Err(Stopped::Outside);
            }
            None => {
                let folder = here.pop().ok_or(Stopped::Outside)?;
                let mut missing = vec![name];
                missing.extend(left);
                let name = missing.pop().ok_or(Errno::NOENT)?;
                return Ok(Resolved { folder, missing, name });
            }
        }
    }
    // A link to a folder, or one that ends in `..`.
    Err(Errno::ISDIR.into())
}

/// The names on the way that a link tells.
fn target_names(target: &OsStr) -> Result<Vec<OsString>, Stopped> {
    let bytes = target.as_bytes();
    if bytes.first() == Some(&b'/') {
        return Err(Stopped::Outside);
    }
    let names = bytes.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    Ok(names.map(|name| OsStr::from_bytes(name).to_owned()).collect())
}

/// Keeps writers away from the folder of the chronicles, by its name and by which folder it is.
struct Guard {
    is_on: bool,
    /// The device and the number of the folder `.sage` of the workspace, if there is one. A link of
    /// that name counts as where it leads.
    folder: Option<(u64, u64)>,
}

impl Guard {
    fn of(root: BorrowedFd<'_>, purpose: Purpose) -> Self {
        let found = statat(root, PROTECTED, AtFlags::empty()).ok();
        let folder = found.map(|found| (found.st_dev, found.st_ino));
        Self { is_on: purpose == Purpose::Write, folder }
    }

    fn check_names<'a>(&self, mut names: impl Iterator<Item = &'a OsStr>) -> Result<(), Stopped> {
        if self.is_on && names.any(|name| is_protected(&name.to_string_lossy())) {
            return Err(Stopped::Protected);
        }
        Ok(())
    }

    fn check_folder(&self, folder: BorrowedFd<'_>) -> Result<(), Stopped> {
        let found = fstat(folder)?;
        if self.is_on && self.folder == Some((found.st_dev, found.st_ino)) {
            return Err(Stopped::Protected);
        }
        Ok(())
    }
}
