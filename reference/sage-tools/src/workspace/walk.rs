//! Walks the names of a path to its folder, by handles.
//!
//! Each step opens one name in an open folder without following links; this code decides where a link leads. So there
//! is no gap between a check and a use in which something could be swapped, and the names on the way show where we
//! are.

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

/// The same limit as Linux.
const MOST_LINKS: usize = 40;

const FOLDER: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Why the walk failed.
#[derive(Debug)]
pub(super) enum Stopped {
    /// A link leads out of the workspace, or to a place that cannot be created.
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

/// The target of a path: a folder, and a name in it that is not a link.
#[derive(Debug)]
pub(super) struct Resolved {
    folder: OwnedFd,
    /// Missing folders.
    missing: Vec<OsString>,
    name: OsString,
}

impl Resolved {
    /// What exists there, if anything.
    pub(super) fn found(&self) -> io::Result<Option<Stat>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        look(self.folder.as_fd(), &self.name)
    }

    /// The identity of the place, whatever path led to it.
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
    // The folders from the root to here, with the handles for `..` of a link.
    let mut here = vec![openat(root, ".", FOLDER, Mode::empty())?];
    let mut links = 0;
    // How many of `left` come from links. Only names from the caller are created.
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
                // Fails if it has become a link, or is not a folder.
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

/// The names in a link's target.
fn target_names(target: &OsStr) -> Result<Vec<OsString>, Stopped> {
    let bytes = target.as_bytes();
    if bytes.first() == Some(&b'/') {
        return Err(Stopped::Outside);
    }
    let names = bytes.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    Ok(names.map(|name| OsStr::from_bytes(name).to_owned()).collect())
}

/// Protects the folder of the chronicles from writers, by its name and by its identity.
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
