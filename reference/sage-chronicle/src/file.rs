//! Chronicles as files of a workspace.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{AtFlags, FileType, OFlags, StatxFlags, makedev, readlinkat_raw, statx};
use rustix::io::Errno;
use sage_errors::SageError;
use serde_json::Value;

use crate::append::{How, append};
use crate::args::check_append;
use crate::event::{Entry, Event, IdRule};
use crate::kept::{Kept, KeptFiles, MOST_KEPT};
use crate::lines;
use crate::lock::{FileId, Locked, Patience, holder};
use crate::path::ChroniclePath;
use crate::{DEFAULT_LOCK_TIMEOUT_MS, DEFAULT_TAIL, EventLog};

/// Block size of reads. Small enough for a core's own cache.
const BLOCK: usize = 1 << 20;
/// Block size of `tail`: some hundreds of events.
const TAIL_BLOCK: usize = 1 << 16;

/// The policy in the error for a path that leads out of the workspace.
const POLICY: &str = "paths stay inside the workspace";

/// How a [`Chronicle`] behaves where the contract leaves a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Acknowledge an event only when it would survive a power failure. Otherwise an acknowledged event survives the
    /// process, but not the machine.
    pub durable: bool,
    /// How long to wait for a lock when the call does not say, in milliseconds.
    pub default_lock_timeout_ms: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { durable: true, default_lock_timeout_ms: DEFAULT_LOCK_TIMEOUT_MS }
    }
}

/// The chronicles of one workspace. Calls block; any number of threads and processes may use the same files.
#[derive(Debug)]
pub struct Chronicle {
    root: Dir,
    options: Options,
    kept: KeptFiles,
}

/// A chronicle that we have locked.
#[derive(Debug)]
struct Held {
    locked: Locked,
    identity: Identity,
    len: u64,
    /// A guess of its last line: the last event appended here.
    last: Option<Entry>,
}

/// Holds the lock of one chronicle until it is dropped.
#[derive(Debug)]
pub struct LockGuard {
    _held: Held,
}

impl Chronicle {
    /// The workspace must exist.
    ///
    /// # Errors
    /// `EIO` when it cannot be opened.
    pub fn open(workspace_root: impl AsRef<Path>, options: Options) -> Result<Self, SageError> {
        let path = workspace_root.as_ref();
        let root = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| SageError::io("open", path.display().to_string(), &error))?;
        Ok(Self { root, options, kept: KeptFiles::at_most(MOST_KEPT) })
    }

    /// Takes the same lock as an append, with the default timeout, and creates the file if it is missing.
    ///
    /// # Errors
    /// As an append.
    pub fn hold_lock(&self, path: &str) -> Result<LockGuard, SageError> {
        let path = ChroniclePath::parse(path)?;
        Ok(LockGuard { _held: self.lock(&path, None)? })
    }

    fn append(
        &self,
        path: &str,
        event: &Value,
        rule: IdRule,
        lock_timeout_ms: Option<u64>,
    ) -> Result<(), SageError> {
        let (path, entry) = check_append(path, event, rule)?;
        let held = self.lock(&path, lock_timeout_ms)?;
        let how = How { drop_repeat: rule == IdRule::Computed, durable: self.options.durable };
        let fail = |error: io::Error| failure(&path, "write", &error);
        if how.durable && held.last.is_none() {
            // The file was newly opened. Its creator may not have synced it, and an event is only as durable as the
            // folders that lead to it.
            self.sync_folders(&path).map_err(fail)?;
        }
        append(held.locked.file(), held.len, held.last.as_ref(), &entry, how).map_err(fail)?;
        if let Some(file) = held.locked.release() {
            let kept = Kept { file, identity: held.identity, last: Some(entry) };
            self.kept.put(path.into_normal(), kept);
        }
        Ok(())
    }

    fn lock(&self, path: &ChroniclePath, timeout_ms: Option<u64>) -> Result<Held, SageError> {
        if let Some(held) = self.kept.take(path.normal()).and_then(|kept| self.relock(path, kept)) {
            return Ok(held);
        }
        let timeout_ms = timeout_ms.unwrap_or(self.options.default_lock_timeout_ms);
        let patience = Patience::of(Duration::from_millis(timeout_ms));
        let fail = |error: io::Error| failure(path, "write", &error);
        loop {
            let file = self.open_or_create(path).map_err(fail)?;
            let (identity, _) = identify_file(&file).map_err(fail)?;
            let late = || SageError::lock_timeout(path.given(), timeout_ms, holder(identity.id));
            let locked =
                Locked::take(file, identity.id, patience).map_err(fail)?.ok_or_else(late)?;
            // The file may have been deleted or replaced during the wait; nobody would read what we write into it.
            if let Some(len) = self.len_if_at(path, identity, AtFlags::empty()) {
                return Ok(Held { locked, identity, len, last: None });
            }
            if patience.left().is_none() {
                return Err(late());
            }
        }
    }

    /// A kept file with its lock, if that is free and the file is still the one at `path`. It is not
    /// waited for, since until then the file may be any.
    ///
    /// The file was inside the workspace when it was opened. With no link on the way to it now, it
    /// still is; a way with links is left to those who open it, for they know where links may lead.
    /// Who moves folders between these looks is as one who moves a file while it is written to: the
    /// event goes into the file that was the chronicle, and into no other.
    fn relock(&self, path: &ChroniclePath, kept: Kept) -> Option<Held> {
        let Kept { file, identity, last } = kept;
        let locked = Locked::take_free(file, identity.id)?;
        if !path.folders().all(|folder| self.is_no_link(folder)) {
            return None;
        }
        let len = self.len_if_at(path, identity, AtFlags::SYMLINK_NOFOLLOW)?;
        Some(Held { locked, identity, len, last })
    }

    fn is_no_link(&self, path: &str) -> bool {
        // This error says that something exists and is not a link; asking for more takes longer.
        readlinkat_raw(&self.root, path, &mut [0]) == Err(Errno::INVAL)
    }

    /// The length of the file at `path`, if it is this one. Nothing is opened, so it does no harm
    /// to follow links anywhere.
    fn len_if_at(&self, path: &ChroniclePath, identity: Identity, links: AtFlags) -> Option<u64> {
        let (found, len) = identify(&self.root, path.normal(), links).ok()?;
        (found == identity).then_some(len)
    }

    fn open_or_create(&self, path: &ChroniclePath) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).custom_flags(NO_WAITING);
        match self.root.open_with(path.normal(), &options) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.map(cap_std::fs::File::into_std),
        }
        if let Some(parent) = path.parent() {
            self.root.create_dir_all(parent)?;
        }
        options.create(true);
        self.root.open_with(path.normal(), &options).map(cap_std::fs::File::into_std)
    }

    /// `None` when there is no such file.
    fn open_to_read(&self, path: &ChroniclePath) -> Result<Option<(File, u64)>, SageError> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(NO_WAITING);
        let opened = match self.root.open_with(path.normal(), &options) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map(cap_std::fs::File::into_std),
        };
        opened
            .and_then(|file| {
                let (_, len) = identify_file(&file)?;
                Ok(Some((file, len)))
            })
            .map_err(|error| failure(path, "read", &error))
    }

    /// Syncs the folders that lead to `path`.
    fn sync_folders(&self, path: &ChroniclePath) -> io::Result<()> {
        let mut folder = path.parent();
        while let Some(name) = folder {
            // Opened as a file: a handle from `open_dir` cannot be synced.
            self.root.open(name)?.sync_all()?;
            folder = name.rsplit_once('/').map(|(parent, _)| parent);
        }
        self.root.open(".")?.sync_all()
    }
}

impl EventLog for Chronicle {
    fn append_event(
        &self,
        path: &str,
        event: &Value,
        lock_timeout_ms: Option<u64>,
    ) -> Result<(), SageError> {
        self.append(path, event, IdRule::Computed, lock_timeout_ms)
    }

    fn append_event_with_id(
        &self,
        path: &str,
        event: &Value,
        lock_timeout_ms: Option<u64>,
    ) -> Result<(), SageError> {
        self.append(path, event, IdRule::Given, lock_timeout_ms)
    }

    fn read(&self, path: &str) -> Result<Vec<Event>, SageError> {
        let path = ChroniclePath::parse(path)?;
        let Some((file, len)) = self.open_to_read(&path)? else { return Ok(Vec::new()) };
        lines::all(&file, len, BLOCK).map_err(|error| failure(&path, "read", &error))
    }

    fn tail(&self, path: &str, n: Option<u64>) -> Result<Vec<Event>, SageError> {
        let path = ChroniclePath::parse(path)?;
        let Some((file, len)) = self.open_to_read(&path)? else { return Ok(Vec::new()) };
        lines::last(&file, len, n.unwrap_or(DEFAULT_TAIL), TAIL_BLOCK)
            .map_err(|error| failure(&path, "read", &error))
    }
}

/// Opens without blocking. A pipe or a device under a chronicle's name is refused.
const NO_WAITING: i32 = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits() as i32;

/// Which file it is, and who may do what with it.
///
/// An open file can be written to even when its mode forbids it by now; who finds another mode opens
/// it again, and is refused as anybody would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    id: FileId,
    /// Mode, user and group.
    access: [u32; 3],
}

pub(crate) fn identify_file(file: &File) -> io::Result<(Identity, u64)> {
    identify(file, "", AtFlags::EMPTY_PATH)
}

/// Which file is at `path`, and its length. Only a regular file can be a chronicle.
///
/// Its times are not asked for: Linux sees to it that whoever asked for them notices the next
/// change, and that makes a write twice as slow.
fn identify(folder: impl AsFd, path: &str, flags: AtFlags) -> io::Result<(Identity, u64)> {
    const WANTED: StatxFlags = StatxFlags::TYPE
        .union(StatxFlags::MODE)
        .union(StatxFlags::UID)
        .union(StatxFlags::GID)
        .union(StatxFlags::INO)
        .union(StatxFlags::SIZE);
    let found = statx(folder, path, flags, WANTED)?;
    match FileType::from_raw_mode(found.stx_mode.into()) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(io::ErrorKind::IsADirectory.into()),
        _ => return Err(io::Error::other("not a regular file")),
    }
    let device = makedev(found.stx_dev_major, found.stx_dev_minor);
    let id = FileId { device, inode: found.stx_ino };
    let access = [found.stx_mode.into(), found.stx_uid, found.stx_gid];
    Ok((Identity { id, access }, found.stx_size))
}

fn failure(path: &ChroniclePath, operation: &str, error: &io::Error) -> SageError {
    // The workspace's folder says so without a number of the system's; a file whose mode forbids it
    // comes with one.
    if error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return SageError::permission(path.given(), operation, Some(POLICY.to_owned()));
    }
    SageError::io(operation, path.given(), error)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::lock::until_waiting;

    fn event() -> Value {
        let actor = json!({ "agent": "sage", "id": "sage-1" });
        json!({ "type": "NOTE", "timestamp": "2024-01-01T12:00:00.000Z", "actor": actor })
    }

    /// The result of a waiting append, when `meanwhile` happens and the lock is released.
    fn append_that_waits(meanwhile: impl FnOnce(&Path)) -> (tempfile::TempDir, Chronicle) {
        let folder = tempfile::tempdir().unwrap();
        let chronicle = Chronicle::open(folder.path(), Options::default()).unwrap();
        let guard = chronicle.hold_lock("a.sage").unwrap();
        let id = guard._held.identity.id;
        thread::scope(|scope| {
            let append = scope.spawn(|| chronicle.append_event("a.sage", &event(), Some(u64::MAX)));
            until_waiting(id, 1);
            meanwhile(&folder.path().join("a.sage"));
            drop(guard);
            append.join().unwrap().unwrap();
        });
        (folder, chronicle)
    }

    #[rstest]
    #[case::nothing(|_: &Path| {})]
    #[case::deleted(|path: &Path| std::fs::remove_file(path).unwrap())]
    #[case::replaced(|path: &Path| {
        std::fs::rename(path, path.with_extension("old")).unwrap();
        std::fs::write(path, "{\"a\":1}\n").unwrap();
    })]
    fn an_append_that_waited_lands_in_the_file_that_is_there_then(#[case] meanwhile: fn(&Path)) {
        let (_folder, chronicle) = append_that_waits(meanwhile);
        let last = &chronicle.tail("a.sage", Some(1)).unwrap()[0];
        assert_eq!(last.members()["type"], "NOTE");
    }

    /// Unless its file is reused, nothing here tests kept files.
    #[rstest]
    #[case::untouched(|_: &Path| {}, true)]
    #[case::rewritten(|path: &Path| std::fs::write(path, "x").unwrap(), true)]
    #[case::deleted(|path: &Path| std::fs::remove_file(path).unwrap(), false)]
    #[case::replaced(|path: &Path| {
        std::fs::copy(path, path.with_extension("new")).unwrap();
        std::fs::rename(path.with_extension("new"), path).unwrap();
    }, false)]
    #[case::linked(|path: &Path| {
        std::fs::rename(path, path.with_extension("old")).unwrap();
        std::os::unix::fs::symlink("a.old", path).unwrap();
    }, false)]
    #[case::folder_linked(|path: &Path| {
        let folder = path.parent().unwrap();
        std::fs::rename(folder, folder.with_extension("old")).unwrap();
        let name = folder.with_extension("old");
        std::os::unix::fs::symlink(name.file_name().unwrap(), folder).unwrap();
    }, false)]
    #[case::forbidden(|path: &Path| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o400);
        std::fs::set_permissions(path, mode).unwrap();
    }, false)]
    fn a_kept_file_is_used_again_while_it_is_the_one(
        #[case] meanwhile: fn(&Path),
        #[case] used: bool,
        #[values("x/a.sage", "x/y/a.sage")] path: &str,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { durable: false, ..Options::default() };
        let chronicle = Chronicle::open(folder.path(), options).unwrap();
        chronicle.append_event(path, &event(), None).unwrap();
        meanwhile(&folder.path().join(path));
        let kept = chronicle.kept.take(path).unwrap();
        let held = chronicle.relock(&ChroniclePath::parse(path).unwrap(), kept);
        assert_eq!(held.is_some(), used);
    }
}
