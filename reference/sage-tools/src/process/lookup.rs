//! Which file a command is.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Where programs are looked for when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// A command with a `/` is a path, from `folder` on. Any other is looked for in `path`.
pub(super) fn find(command: &str, path: Option<&str>, folder: &Path) -> io::Result<PathBuf> {
    if command.contains('/') {
        let program = folder.join(command);
        return check(&program).map(|()| program);
    }
    let mut denied = None;
    for entry in path.unwrap_or(DEFAULT_PATH).split(':') {
        // An empty entry is the folder itself, as ever.
        let program = folder.join(entry).join(command);
        match check(&program) {
            Ok(()) => return Ok(program),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => denied = Some(error),
            Err(_) => {}
        }
    }
    Err(denied.unwrap_or_else(|| Errno::NOENT.into()))
}

fn check(program: &Path) -> io::Result<()> {
    if !std::fs::metadata(program)?.is_file() {
        return Err(Errno::ACCESS.into());
    }
    Ok(access(program, Access::EXEC_OK)?)
}
