//! A temporary file beside its target, moved there when complete.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, openat, renameat,
    renameat_with, unlinkat,
};
use rustix::io::Errno;

/// Deleted when dropped, unless it was moved.
pub(super) struct Beside<'a> {
    folder: BorrowedFd<'a>,
    name: OsString,
    is_moved: bool,
}

impl<'a> Beside<'a> {
    /// Creates it with `content`, and with the owner and mode of `old`, if it replaces one.
    pub(super) fn new(
        folder: BorrowedFd<'a>,
        content: &[u8],
        old: Option<&Stat>,
    ) -> io::Result<Self> {
        let (name, file) = create(folder, old)?;
        let beside = Self { folder, name, is_moved: false };
        let mut file = File::from(file);
        file.write_all(content)?;
        if let Some(old) = old {
            give(&file, old)?;
        }
        Ok(beside)
    }

    /// Moves it to `name`, whatever is there.
    pub(super) fn replace(mut self, name: &OsStr) -> io::Result<()> {
        renameat(self.folder, &self.name, self.folder, name)?;
        self.is_moved = true;
        Ok(())
    }

    /// Moves it to `name`, where nothing is.
    pub(super) fn create(mut self, name: &OsStr) -> io::Result<()> {
        renameat_with(self.folder, &self.name, self.folder, name, RenameFlags::NOREPLACE)?;
        self.is_moved = true;
        Ok(())
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if !self.is_moved {
            // Only we use it. If it cannot be removed, nothing more can be done.
            let _gone = unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// A new file in `folder`, under a free name.
fn create(folder: BorrowedFd<'_>, old: Option<&Stat>) -> io::Result<(OsString, OwnedFd)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The replacement of a private file is never readable by others, not even while it is written.
    let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o666 });
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".new-{}-{number}", std::process::id()));
        match openat(folder, &name, flags, mode) {
            Ok(file) => return Ok((name, file)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Gives `file` the owner and the mode of `old`.
fn give(file: &File, old: &Stat) -> io::Result<()> {
    let new = fstat(file)?;
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // Few users may change the owner, but some at least the group.
        let _kept =
            fchown(file, Some(owner), Some(group)).or_else(|_| fchown(file, None, Some(group)));
    }
    // After the owner, because changing that clears mode bits.
    Ok(fchmod(file, Mode::from_raw_mode(old.st_mode))?)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown};

    use super::*;

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("taken")).unwrap();
        let handle = File::open(folder.path()).unwrap();
        let beside = || Beside::new(handle.as_fd(), b"x", None).unwrap();
        beside().replace(OsStr::new("taken")).unwrap_err();
        beside().create(OsStr::new("taken")).unwrap_err();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_replaces_a_file_is_private_until_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap();
        std::fs::write(folder.path().join("old"), "").unwrap();
        let mode = PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(folder.path().join("old"), mode).unwrap();
        let old = fstat(File::open(folder.path().join("old")).unwrap()).unwrap();
        let (_, file) = create(handle.as_fd(), Some(&old)).unwrap();
        assert_eq!(fstat(&file).unwrap().st_mode & 0o7777, 0o600);
        Beside::new(handle.as_fd(), b"x", Some(&old)).unwrap().replace(OsStr::new("new")).unwrap();
        let new = std::fs::metadata(folder.path().join("new")).unwrap();
        assert_eq!(new.permissions().mode() & 0o7777, 0o644);
    }

    #[test]
    fn the_owner_stays_where_the_system_allows_it() {
        let folder = tempfile::tempdir().unwrap();
        let handle = File::open(folder.path()).unwrap();
        let path = folder.path().join("old");
        std::fs::write(&path, "").unwrap();
        if chown(&path, Some(12_345), Some(12_346)).is_err() {
            return; // Only a privileged user can give a file away, to begin with.
        }
        let old = fstat(File::open(&path).unwrap()).unwrap();
        Beside::new(handle.as_fd(), b"x", Some(&old)).unwrap().replace(OsStr::new("old")).unwrap();
        let new = std::fs::metadata(&path).unwrap();
        assert_eq!((new.uid(), new.gid()), (12_345, 12_346));
    }
}
