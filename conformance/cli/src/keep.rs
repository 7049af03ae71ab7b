//! Reads and writes the files that outlive a run. Reads are bounded, and writes are atomic.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use proofmark_judge::record::{MOST_BYTES, Record};

use crate::exit::Failed;

/// Limit for certificates and keys, in bytes.
pub(crate) const MOST_TEXT: u64 = 16 * 1024 * 1024;

/// Opens a regular file. Rejects folders, pipes and devices, which could block.
fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Reads a file of at most `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, Failed> {
    let unreadable = |fault| Failed::Unreadable { path: path.to_owned(), fault };
    let mut bytes = Vec::new();
    let file = open(path).map_err(unreadable)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        return Err(unreadable(io::Error::other(format!("it is larger than {most} bytes"))));
    }
    Ok(bytes)
}

/// Reads a record from a file.
pub(crate) fn read_record(path: &Path) -> Result<Record, Failed> {
    let bad = |fault| Failed::BadRecord { path: path.to_owned(), fault };
    Record::parse(&read(path, MOST_BYTES)?).map_err(bad)
}

/// SHA-256 of a file of any size.
pub(crate) fn digest(path: &Path) -> Result<String, Failed> {
    open(path)
        .and_then(proofmark_certificate::sha256_of)
        .map_err(|fault| Failed::Unreadable { path: path.to_owned(), fault })
}

/// A file that the run itself reads or writes, and its role.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) path: PathBuf,
    pub(crate) what: &'static str,
}

impl Own {
    pub(crate) fn new(path: impl Into<PathBuf>, what: &'static str) -> Self {
        Self { path: path.into(), what }
    }
}

/// Resolves links in a path. The part that does not exist yet stays as it is.
pub(crate) fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = path.ancestors().find_map(|known| Some((known, known.canonicalize().ok()?)));
    match there.and_then(|(known, real)| Some(real.join(path.strip_prefix(known).ok()?))) {
        // Joining an empty path would add a slash.
        Some(real) => real.components().collect(),
        None => path,
    }
}

/// Allows writing if the file does not exist, if `is_ours` accepts its content, or with `force` (if the command has
/// that option).
pub(crate) fn may_write(
    path: &Path,
    force: Option<bool>,
    is_ours: impl Fn(&[u8]) -> bool,
) -> Result<(), Failed> {
    let refused = |why: &str| {
        Err(Failed::NotSaved { path: path.to_owned(), fault: io::Error::other(why.to_owned()) })
    };
    match fs::symlink_metadata(path) {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(fault) => Err(Failed::NotSaved { path: path.to_owned(), fault }),
        Ok(about) if !about.is_file() => refused("it exists and is not a regular file"),
        Ok(_)
            if force == Some(true) || read(path, MOST_BYTES).is_ok_and(|bytes| is_ours(&bytes)) =>
        {
            Ok(())
        }
        Ok(_) => {
            let way = if force.is_some() { "say --force" } else { "remove it" };
            refused(&format!(
                "it exists, and no earlier run made it; choose another name, or {way}"
            ))
        }
    }
}

/// Creates the parent folder before the run, so that a missing folder does not waste one.
pub(crate) fn make_folder_of(path: &Path) -> Result<(), Failed> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), fs::create_dir_all);
    made.map_err(|fault| Failed::NotSaved { path: path.to_owned(), fault })
}

/// Whether the bytes are a record of any suite and version, which a later run may replace.
pub(crate) fn is_record(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{\"format\":\"proofmark-transcript/")
}

/// Writes a file atomically: a reader sees the whole new file or the old one.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failed> {
    let written = || -> io::Result<()> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
        // Report the target; the name of the temporary file would not help.
        fs::metadata(folder)?;
        let mut file = builder.tempfile_in(folder).map_err(|fault| fault.kind())?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|fault| fault.error)?;
        Ok(())
    };
    written().map_err(|fault| Failed::NotSaved { path: path.to_owned(), fault })
}

/// Writes the record of a run, once `may_write` allowed it.
pub(crate) fn write_record(path: &Path, record: &Record) -> Result<(), Failed> {
    may_write(path, None, is_record)?;
    write(path, &record.to_bytes())
}
