//! A folder for one case, which vanishes with it.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use sage_errors::{Detail, SageError};
use tempfile::TempDir;

/// What is in a workspace: each path with its text, in the order of the paths.
///
/// An empty folder is listed as `path/` with no text, a symlink as `path@` with its target.
pub type Tree = BTreeMap<String, String>;

/// No more than this is read from a file or a tree: a subject may leave anything behind.
const LIMIT: u64 = 64 << 20;

/// What every machine has, and what writing to does no harm.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// A new folder on the disk, with a folder `outside` beside it for what a subject must not reach.
///
/// Paths are relative, with `/`; a path that begins with `../outside` is in that other folder, and
/// there is no other way out: symlinks that lead elsewhere are not followed. Both folders are
/// removed on [`close`](Self::close), or when the value is dropped.
#[derive(Debug)]
pub struct TempWorkspace {
    base: Option<TempDir>, // Taken only to be removed.
    dir: Dir,
    root: PathBuf,
}

impl TempWorkspace {
    /// An empty workspace, in the system's temporary folder, in a folder whose name begins with
    /// `prefix`.
    ///
    /// # Errors
    /// `EVALIDATION` when `prefix` cannot begin a name, `EIO` when the folder cannot be made.
    pub fn new(prefix: &str) -> Result<Self, SageError> {
        Self::new_in(&std::env::temp_dir(), prefix)
    }

    /// The same in the folder `parent`. On a file system in memory a workspace costs a tenth.
    pub fn new_in(parent: &Path, prefix: &str) -> Result<Self, SageError> {
        if prefix.contains(['/', '\0']) {
            let detail = Detail::new("prefix", "must be part of a name, without `/`");
            return Err(SageError::validation(detail.received(prefix)));
        }
        let made = || {
            let base = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
            let dir = Dir::open_ambient_dir(base.path(), ambient_authority())?;
            dir.create_dir("workspace")?;
            dir.create_dir("outside")?;
            let root = base.path().join("workspace");
            Ok(Self { base: Some(base), dir, root })
        };
        made().map_err(|error: io::Error| {
            SageError::io("create workspace", parent.display().to_string(), &error)
        })
    }

    /// The workspace's own path, to be given to a subject.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file, over an older one too. Its folders are made.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> Result<(), SageError> {
        let place = locate(path)?;
        let write = || {
            self.make_parents(&place)?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            self.open(&place, &mut options)?.write_all(content.as_ref())
        };
        write().map_err(|error| SageError::io("write", path, &error))
    }

    /// Makes a folder and those above it; one that is there already stays as it is.
    pub fn folder(&self, path: &str) -> Result<(), SageError> {
        let place = locate(path)?;
        self.dir.create_dir_all(place).map_err(|error| SageError::io("create folder", path, &error))
    }

    /// Makes a symlink. Its target is relative to the folder of the link; it need not exist, and
    /// must lie in the workspace or in `outside`, or be a device that writing to does no harm.
    pub fn symlink(&self, path: &str, target: &str) -> Result<(), SageError> {
        let place = locate(path)?;
        if !stays_within(&place, target) && !DEVICES.contains(&target) {
            let detail = Detail::new("target", "would lead out of the workspace and of `outside`");
            return Err(SageError::validation(detail.received(target)));
        }
        self.make_parents(&place)
            .and_then(|()| self.dir.symlink(target, &place))
            .map_err(|error| SageError::io("create symlink", path, &error))
    }

    /// Gives a file that is there, in the workspace or in `../outside`, another name.
    pub fn hard_link(&self, path: &str, target: &str) -> Result<(), SageError> {
        let (place, target) = (locate(path)?, locate(target)?);
        self.make_parents(&place)
            .and_then(|()| self.dir.hard_link(&target, &self.dir, &place))
            .map_err(|error| SageError::io("create hard link", path, &error))
    }

    /// Makes a named pipe. Whoever opens it carelessly waits for a writer that never comes.
    pub fn fifo(&self, path: &str) -> Result<(), SageError> {
        let place = locate(path)?;
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let make = || rustix::fs::mknodat(&self.dir, &place, rustix::fs::FileType::Fifo, mode, 0);
        self.make_parents(&place)
            .and_then(|()| Ok(make()?))
            .map_err(|error| SageError::io("create pipe", path, &error))
    }

    /// Whether anything has this path, be it a symlink that leads nowhere.
    pub fn exists(&self, path: &str) -> Result<bool, SageError> {
        match self.dir.symlink_metadata(locate_folder(path)?) {
            Ok(_) => Ok(true),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(false)
            }
            Err(error) => Err(SageError::io("look up", path, &error)),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// `EIO` when it cannot be read (`cause.code` is `ENOENT` when it is not there) or is larger
    /// than 64 MiB, `EVALIDATION` when it is not UTF-8.
    pub fn read(&self, path: &str) -> Result<String, SageError> {
        self.text(path, &locate(path)?, LIMIT)
    }

    /// What is in a file, text or not.
    ///
    /// # Errors
    /// As [`read`](Self::read), but for UTF-8.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, SageError> {
        self.content(path, &locate(path)?, LIMIT)
    }

    /// The target of a symlink.
    pub fn link(&self, path: &str) -> Result<String, SageError> {
        let target = self.dir.read_link_contents(locate(path)?);
        let target = target.map_err(|error| SageError::io("read link", path, &error))?;
        Ok(target.to_string_lossy().into_owned())
    }

    /// The names in a folder, in order; `.` is the workspace itself.
    pub fn entries(&self, path: &str) -> Result<Vec<String>, SageError> {
        let mut names = self.names_at(path, &locate_folder(path)?)?;
        names.sort_unstable();
        Ok(names)
    }

    /// Everything in the workspace; not what is in `outside`.
    ///
    /// # Errors
    /// As [`read`](Self::read), for all files together; `EVALIDATION` for a name that is not UTF-8.
    pub fn tree(&self) -> Result<Tree, SageError> {
        let mut tree = Tree::new();
        let mut left = LIMIT;
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let mut names = self.names(&folder)?;
            if names.is_empty() && !folder.is_empty() {
                tree.insert(format!("{folder}/"), String::new());
            }
            while let Some(name) = names.pop() {
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                let failed = |error: io::Error| SageError::io("read", &path, &error);
                let place = format!("workspace/{path}");
                let kind = self.dir.symlink_metadata(&place).map_err(failed)?.file_type();
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_symlink() {
                    let target = self.dir.read_link_contents(&place).map_err(failed)?;
                    tree.insert(format!("{path}@"), target.to_string_lossy().into_owned());
                } else {
                    let text = self.text(&path, &place, left)?;
                    left -= text.len() as u64;
                    tree.insert(path, text);
                }
            }
        }
        Ok(tree)
    }

    /// Compares everything in the workspace with what should be there, to the byte.
    ///
    /// # Errors
    /// The first difference in the order of the paths.
    pub fn golden(&self, expected: &Tree) -> Result<(), GoldenError> {
        let actual = self.tree()?;
        let mut paths: Vec<_> = expected.keys().chain(actual.keys()).collect();
        paths.sort();
        paths.dedup();
        for path in paths {
            match (expected.get(path), actual.get(path)) {
                (Some(expected), Some(actual)) => compare(path, expected, actual)?,
                (Some(_), None) => return Err(GoldenError::Missing { path: path.clone() }),
                (None, _) => return Err(GoldenError::Unexpected { path: path.clone() }),
            }
        }
        Ok(())
    }

    /// Removes everything, and says so when that fails. Dropping removes as well, in silence.
    pub fn close(mut self) -> Result<(), SageError> {
        let Some(base) = self.base.take() else { return Ok(()) };
        let path = base.path().display().to_string();
        remove(base).map_err(|error| SageError::io("remove workspace", path, &error))
    }

    fn make_parents(&self, place: &str) -> io::Result<()> {
        match place.rsplit_once('/') {
            // The two folders at the top are there from the beginning.
            Some((parent, _)) if parent.contains('/') => self.dir.create_dir_all(parent),
            _ => Ok(()),
        }
    }

    /// Opens a plain file. What else a subject may have put there, such as a pipe, would block.
    fn open(&self, place: &str, options: &mut OpenOptions) -> io::Result<File> {
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let file = self.dir.open_with(place, options)?;
        let kind = file.metadata()?.file_type();
        if kind.is_file() {
            Ok(file)
        } else if kind.is_dir() {
            Err(ErrorKind::IsADirectory.into())
        } else {
            Err(io::Error::new(ErrorKind::InvalidInput, "neither a file nor a folder"))
        }
    }

    fn content(&self, path: &str, place: &str, limit: u64) -> Result<Vec<u8>, SageError> {
        let mut bytes = Vec::new();
        self.open(place, OpenOptions::new().read(true))
            .and_then(|file| file.take(limit.saturating_add(1)).read_to_end(&mut bytes))
            .and_then(|length| match length as u64 > limit {
                true => Err(io::Error::new(ErrorKind::FileTooLarge, "more than 64 MiB to read")),
                false => Ok(()),
            })
            .map_err(|error| SageError::io("read", path, &error))?;
        Ok(bytes)
    }

    fn text(&self, path: &str, place: &str, limit: u64) -> Result<String, SageError> {
        String::from_utf8(self.content(path, place, limit)?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let reason = format!("the file `{path}` is not UTF-8 from byte {at} on");
            SageError::validation(Detail::new("path", reason).received(path))
        })
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, SageError> {
        self.names_at(folder, &format!("workspace/{folder}"))
    }

    fn names_at(&self, folder: &str, place: &str) -> Result<Vec<String>, SageError> {
        let failed = |error: io::Error| SageError::io("list", folder, &error);
        let mut names = Vec::new();
        for entry in self.dir.read_dir(place).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().into_string().map_err(|name| {
                let reason = format!("the name {name:?} in `{folder}` is not UTF-8");
                SageError::validation(Detail::new("path", reason))
            })?;
            names.push(name);
        }
        Ok(names)
    }
}

impl Drop for TempWorkspace {
    fn drop(&mut self) {
        if let Some(base) = self.base.take() {
            let _ = remove(base); // Nobody is left to be told; `close` tells.
        }
    }
}

/// How a workspace differs from what should be in it.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum GoldenError {
    /// A path that should be there is not.
    #[error("`{path}` is missing")]
    Missing { path: String },
    /// A path that is there should not be.
    #[error("`{path}` should not be there")]
    Unexpected { path: String },
    /// A file has another text. Lines are given with their ends; none is left where it is empty.
    #[error("`{path}` differs at line {line}: expected {expected:?}, found {actual:?}")]
    Differs { path: String, line: usize, expected: String, actual: String },
    /// The workspace could not be read.
    #[error(transparent)]
    Unreadable(#[from] SageError),
}

fn compare(path: &str, expected: &str, actual: &str) -> Result<(), GoldenError> {
    let (mut right, mut found) = (expected.split_inclusive('\n'), actual.split_inclusive('\n'));
    for line in 1.. {
        match (right.next(), found.next()) {
            (None, None) => break,
            (expected, actual) if expected == actual => {}
            (expected, actual) => {
                return Err(GoldenError::Differs {
                    path: path.to_owned(),
                    line,
                    expected: expected.unwrap_or_default().to_owned(),
                    actual: actual.unwrap_or_default().to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// As [`locate`], where `.` is the workspace itself.
fn locate_folder(path: &str) -> Result<String, SageError> {
    if path == "." { Ok("workspace".to_owned()) } else { locate(path) }
}

/// Where `path` lies below the temporary folder.
fn locate(path: &str) -> Result<String, SageError> {
    let (folder, rest) = match path.strip_prefix("../outside") {
        Some("") => return Ok("outside".to_owned()),
        Some(rest) if rest.starts_with('/') => ("outside", &rest[1..]),
        _ => ("workspace", path),
    };
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    if rest.split('/').all(plain) {
        Ok(format!("{folder}/{rest}"))
    } else {
        let reason = "must be a plain relative path in the workspace or in `../outside`";
        let detail = Detail::new("path", reason).received(path).expected("src/Foo.ts.sage");
        Err(SageError::validation(detail))
    }
}

/// Whether a link at `place` to `target` points into one of the two folders.
fn stays_within(place: &str, target: &str) -> bool {
    if target.is_empty() || target.starts_with('/') || target.contains('\0') {
        return false;
    }
    let mut parts: Vec<_> = place.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return false,
            ".." => {}
            name => parts.push(name),
        }
    }
    matches!(parts.first(), Some(&("workspace" | "outside")))
}

/// Removes the folder. A subject may have locked folders in it, which are then unlocked.
fn remove(base: TempDir) -> io::Result<()> {
    let path = base.keep();
    match std::fs::remove_dir_all(&path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            unlock(&path)?;
            std::fs::remove_dir_all(&path)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn unlock(folder: &Path) -> io::Result<()> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        std::fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}
