//! Reads files that a server wrote, only inside the session's workspace.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::http::MOST_BYTES;
use super::offer::{HttpServer, filled, no_path};
use proofmark_judge::wire::arguments::ReadFile;

/// The poll interval while waiting for a line.
const AGAIN: Duration = Duration::from_millis(5);

/// The text of a file, or the lines of a log. With `until`, the caller sets the timeout.
pub(super) async fn read(
    workspace: Option<&Path>,
    server: &HttpServer,
    args: &ReadFile,
) -> Result<Value, String> {
    let workspace = workspace.ok_or("the contract has no workspace")?;
    match (&args.path, &args.log) {
        (Some(path), _) => Ok(json!({"text": text(workspace, Path::new(path))?})),
        (None, Some(values)) => {
            let log = server.paths.log.as_deref().ok_or_else(|| no_path("log"))?;
            let path = PathBuf::from(filled(log, values, str::to_owned)?);
            let Some(until) = &args.until else {
                let text = text(workspace, &path)?;
                return Ok(json!({"lines": text.as_deref().map(lines).transpose()?}));
            };
            loop {
                // The last line may be incomplete; ignore it until it has a newline.
                let text = text(workspace, &path)?.unwrap_or_default();
                let whole = text.rfind('\n').map_or("", |end| &text[..end]);
                let lines = lines(whole)?;
                if until.all_among(&lines) {
                    return Ok(json!({"lines": lines}));
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
        (None, None) => Err("there is neither `path` nor `log`".to_owned()),
    }
}

fn lines(text: &str) -> Result<Vec<Value>, String> {
    let line = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|fault| format!("line {} is not JSON: {fault}", at + 1))
    };
    text.lines().enumerate().map(line).collect()
}

/// The content of the file; `None` if there is no such file.
fn text(workspace: &Path, path: &Path) -> Result<Option<String>, String> {
    let at = workspace.join(path);
    let Ok(real) = at.canonicalize() else { return Ok(None) };
    let inside = workspace.canonicalize().is_ok_and(|workspace| real.starts_with(workspace));
    if !inside {
        return Err(format!("`{}` is not in the session's workspace", path.display()));
    }
    let unreadable = |fault: std::io::Error| format!("`{}`: {fault}", path.display());
    if !real.is_file() {
        return Err(format!("`{}` is not a file", path.display()));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&real).map_err(unreadable)?;
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MOST_BYTES {
        return Err(format!("`{}` has more than {MOST_BYTES} bytes", path.display()));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| format!("`{}` is not UTF-8 text", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_outside_the_workspace_are_not_read() {
        let around = tempfile::tempdir().unwrap();
        let workspace = around.path().join("w");
        std::fs::create_dir(&workspace).unwrap();
        std::fs::write(around.path().join("secret"), "s").unwrap();
        std::fs::write(workspace.join("own"), "own").unwrap();
        std::os::unix::fs::symlink("../secret", workspace.join("link")).unwrap();
        let read = |path: &str| text(&workspace, Path::new(path));
        assert_eq!(read("own"), Ok(Some("own".to_owned())));
        assert_eq!(read(workspace.join("own").to_str().unwrap()), Ok(Some("own".to_owned())));
        assert_eq!(read("none"), Ok(None));
        assert!(read("../secret").is_err());
        assert!(read("link").is_err());
        assert!(read(".").is_err());
    }
}
