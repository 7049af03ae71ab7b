//! A temporary folder for one case.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use tempfile::TempDir;

/// The content of a workspace: each path with its text, sorted by path.
///
/// An empty folder is listed as `path/` with no text, a symlink as `path@` with its target.
pub type Tree = BTreeMap<String, String>;

/// At most this much is read from a file or a tree: a subject may leave anything behind.
const LIMIT: u64 = 64 << 20;

/// Devices that every machine has and that are safe to write to.
const DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// Why an operation on a workspace failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The prefix of the folder's name has a character that names cannot have.
    #[error("the prefix {prefix:?} must be part of a name, without `/` and NUL")]
    BadPrefix { prefix: String },
    #[error(
        "the path {path:?} must be a plain relative path in the workspace, in `../outside` or in `../workspace-…`, such as `src/a.txt`"
    )]
    BadPath { path: String },
    #[error(
        "the symlink target {target:?} would lead out of the workspace, `../outside` and `../workspace-…`"
    )]
    BadTarget { target: String },
    #[error("the file `{path}` is not UTF-8 from byte {valid_up_to} on")]
    NotUtf8 { path: String, valid_up_to: usize },
    /// A subject made an entry whose name is not UTF-8.
    #[error("the name {name:?} in `{folder}` is not UTF-8")]
    NameNotUtf8 { folder: String, name: OsString },
    #[error("`{operation}` of `{path}` failed: {source}")]
    Io { operation: &'static str, path: String, source: io::Error },
}

impl WorkspaceError {
    /// For `map_err`: `operation` on `path` failed in the system.
    fn io(operation: &'static str, path: &str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io { operation, path: path.to_owned(), source }
    }
}

/// A new folder on the disk, with a folder `outside` beside it for files that a subject must not reach.
///
/// Paths are relative, with `/`. A path that begins with `../outside` is in that other folder. There is
/// no other way out: symlinks that lead elsewhere are not followed. [`close`](Self::close) removes both
/// folders, and so does dropping the value.
#[derive(Debug)]
pub struct TempWorkspace {
    base: Option<TempDir>, // Taken only to be removed.
    dir: Dir,
    root: PathBuf,
}

impl TempWorkspace {
    /// An empty workspace in the system's temporary folder. `prefix` begins the name of its folder.
    ///
    /// # Errors
    /// `prefix` cannot begin a name, or the folder cannot be created.
    pub fn new(prefix: &str) -> Result<Self, WorkspaceError> {
        Self::new_in(&std::env::temp_dir(), prefix)
    }

    /// The same in the folder `parent`. In a file system in memory, a workspace costs a tenth of the time.
    pub fn new_in(parent: &Path, prefix: &str) -> Result<Self, WorkspaceError> {
        if prefix.contains(['/', '\0']) {
            return Err(WorkspaceError::BadPrefix { prefix: prefix.to_owned() });
        }
        let create = || {
            let base = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
            let dir = Dir::open_ambient_dir(base.path(), ambient_authority())?;
            dir.create_dir("workspace")?;
            dir.create_dir("outside")?;
            let root = base.path().join("workspace");
            Ok(Self { base: Some(base), dir, root })
        };
        create().map_err(WorkspaceError::io("create workspace", &parent.to_string_lossy()))
    }

    /// The workspace's absolute path, for a subject.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes a file. Creates its folders; overwrites a file that exists.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> Result<(), WorkspaceError> {
        let place = locate(path)?;
        let write = || {
            self.make_parents(&place)?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            self.open(&place, &mut options)?.write_all(content.as_ref())
        };
        write().map_err(WorkspaceError::io("write", path))
    }

    /// Creates a folder and its parents. A folder that exists stays as it is.
    pub fn folder(&self, path: &str) -> Result<(), WorkspaceError> {
        let place = locate(path)?;
        self.dir.create_dir_all(place).map_err(WorkspaceError::io("create folder", path))
    }

    /// Creates a symlink. Its target is relative to the folder of the link. It need not exist, but must
    /// lie in the workspace or in `outside`, or be a device that is safe to write to.
    pub fn symlink(&self, path: &str, target: &str) -> Result<(), WorkspaceError> {
        let place = locate(path)?;
        if !stays_within(&place, target) && !DEVICES.contains(&target) {
            return Err(WorkspaceError::BadTarget { target: target.to_owned() });
        }
        self.make_parents(&place)
            .and_then(|()| self.dir.symlink(target, &place))
            .map_err(WorkspaceError::io("create symlink", path))
    }

    /// Creates a hard link to a file that exists in the workspace or in `../outside`.
    pub fn hard_link(&self, path: &str, target: &str) -> Result<(), WorkspaceError> {
        let (place, target) = (locate(path)?, locate(target)?);
        self.make_parents(&place)
            .and_then(|()| self.dir.hard_link(&target, &self.dir, &place))
            .map_err(WorkspaceError::io("create hard link", path))
    }

    /// Creates a named pipe. A program that opens it to read blocks, because nobody writes to it.
    pub fn fifo(&self, path: &str) -> Result<(), WorkspaceError> {
        let place = locate(path)?;
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let make = || rustix::fs::mknodat(&self.dir, &place, rustix::fs::FileType::Fifo, mode, 0);
        self.make_parents(&place)
            .and_then(|()| Ok(make()?))
            .map_err(WorkspaceError::io("create pipe", path))
    }

    /// Whether there is anything at this path. A dangling symlink counts.
    pub fn exists(&self, path: &str) -> Result<bool, WorkspaceError> {
        match self.dir.symlink_metadata(locate_folder(path)?) {
            Ok(_) => Ok(true),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(false)
            }
            Err(error) => Err(WorkspaceError::io("look up", path)(error)),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// The file cannot be read, is larger than 64 MiB, or is not UTF-8.
    pub fn read(&self, path: &str) -> Result<String, WorkspaceError> {
        self.text(path, &locate(path)?, LIMIT)
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// The file cannot be read, or is larger than 64 MiB.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, WorkspaceError> {
        self.content(path, &locate(path)?, LIMIT)
    }

    /// The target of a symlink.
    pub fn link(&self, path: &str) -> Result<String, WorkspaceError> {
        let target = self.dir.read_link_contents(locate(path)?);
        let target = target.map_err(WorkspaceError::io("read link", path))?;
        Ok(target.to_string_lossy().into_owned())
    }

    /// The names in a folder, sorted. `.` is the workspace itself.
    pub fn entries(&self, path: &str) -> Result<Vec<String>, WorkspaceError> {
        let mut names = self.names_at(path, &locate_folder(path)?)?;
        names.sort_unstable();
        Ok(names)
    }

    /// Everything in the workspace, without `outside`.
    ///
    /// # Errors
    /// A file cannot be read, the files are larger than 64 MiB together, or a text or a name is not UTF-8.
    pub fn tree(&self) -> Result<Tree, WorkspaceError> {
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
                let failed = |error| WorkspaceError::io("read", &path)(error);
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

    /// Compares everything in the workspace with `expected`, byte by byte.
    ///
    /// # Errors
    /// The first difference, by path.
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

    /// Removes both folders and reports a failure. Dropping the value removes them too, but ignores failures.
    pub fn close(mut self) -> Result<(), WorkspaceError> {
        let Some(base) = self.base.take() else { return Ok(()) };
        let path = base.path().display().to_string();
        remove(base).map_err(WorkspaceError::io("remove workspace", &path))
    }

    fn make_parents(&self, place: &str) -> io::Result<()> {
        match place.rsplit_once('/') {
            // `new_in` created these two.
            Some(("workspace" | "outside", _)) => Ok(()),
            Some((parent, _)) => self.dir.create_dir_all(parent),
            None => Ok(()),
        }
    }

    /// Opens a regular file. Anything else that a subject left there, such as a pipe, could block.
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

    fn content(&self, path: &str, place: &str, limit: u64) -> Result<Vec<u8>, WorkspaceError> {
        let mut bytes = Vec::new();
        self.open(place, OpenOptions::new().read(true))
            .and_then(|file| file.take(limit.saturating_add(1)).read_to_end(&mut bytes))
            .and_then(|length| match length as u64 > limit {
                true => Err(io::Error::new(ErrorKind::FileTooLarge, "more than 64 MiB to read")),
                false => Ok(()),
            })
            .map_err(WorkspaceError::io("read", path))?;
        Ok(bytes)
    }

    fn text(&self, path: &str, place: &str, limit: u64) -> Result<String, WorkspaceError> {
        String::from_utf8(self.content(path, place, limit)?).map_err(|error| {
            let valid_up_to = error.utf8_error().valid_up_to();
            WorkspaceError::NotUtf8 { path: path.to_owned(), valid_up_to }
        })
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, WorkspaceError> {
        self.names_at(folder, &format!("workspace/{folder}"))
    }

    fn names_at(&self, folder: &str, place: &str) -> Result<Vec<String>, WorkspaceError> {
        let failed = WorkspaceError::io("list", folder);
        let mut names = Vec::new();
        for entry in self.dir.read_dir(place).map_err(&failed)? {
            let name =
                entry.map_err(&failed)?.file_name().into_string().map_err(|name| {
                    WorkspaceError::NameNotUtf8 { folder: folder.to_owned(), name }
                })?;
            names.push(name);
        }
        Ok(names)
    }
}

impl Drop for TempWorkspace {
    fn drop(&mut self) {
        if let Some(base) = self.base.take() {
            let _ = remove(base); // `close` reports the failure; drop cannot.
        }
    }
}

/// How a workspace differs from what is expected in it.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    #[error("`{path}` is missing")]
    Missing { path: String },
    #[error("`{path}` should not be there")]
    Unexpected { path: String },
    /// A file has another text. Lines include their line ends; an empty one means that the text has ended.
    #[error("`{path}` differs at line {line}: expected {expected:?}, found {actual:?}")]
    Differs { path: String, line: usize, expected: String, actual: String },
    /// The workspace could not be read.
    #[error(transparent)]
    Unreadable(#[from] WorkspaceError),
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

/// Like [`locate`], but `.` is the workspace itself.
fn locate_folder(path: &str) -> Result<String, WorkspaceError> {
    if path == "." { Ok("workspace".to_owned()) } else { locate(path) }
}

/// The place of `path` below the temporary folder.
fn locate(path: &str) -> Result<String, WorkspaceError> {
    let (folder, rest) = match path.strip_prefix("../") {
        Some(beside) => match beside.split_once('/') {
            Some((folder, rest)) if is_beside(folder) => (folder, rest),
            None if is_beside(beside) => return Ok(beside.to_owned()),
            _ => return Err(WorkspaceError::BadPath { path: path.to_owned() }),
        },
        None => ("workspace", path),
    };
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    if rest.split('/').all(plain) {
        Ok(format!("{folder}/{rest}"))
    } else {
        Err(WorkspaceError::BadPath { path: path.to_owned() })
    }
}

/// Whether this is a folder beside the workspace: `outside`, or one whose name begins as that of the workspace.
pub fn is_beside(folder: &str) -> bool {
    let rest = folder.strip_prefix("workspace-").unwrap_or_default();
    folder == "outside" || (!rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// Whether a link at `place` to `target` points into the workspace or a folder beside it.
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
    parts.first().is_some_and(|folder| *folder == "workspace" || is_beside(folder))
}

/// Removes the folder. If a subject took the permissions of folders in it, restores them first.
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
