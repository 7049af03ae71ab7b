//! Starts programs, watches them, and kills everything that they started when the call is over.

mod forest;
mod lookup;
mod output;
mod table;
mod tree;

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::process::Command;

use crate::redact::Redactor;
use output::Gathering;
use tree::Tree;

/// How long to wait for output after all processes are gone, in case another process holds the pipe.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A program that can be started.
pub(crate) struct Program {
    command: String,
    path: PathBuf,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    folder: PathBuf,
}

/// How a program ended.
pub(crate) enum Ended {
    Exited { code: i32, stdout: String, stderr: String },
    Late { elapsed: Duration },
}

impl Program {
    /// # Errors
    /// If there is no such program, or it may not be executed.
    pub(crate) async fn find(
        command: &str,
        args: Vec<String>,
        env: &BTreeMap<String, String>,
        folder: &Path,
    ) -> io::Result<Self> {
        let (wanted, search) = (command.to_owned(), env.get("PATH").cloned());
        let from = folder.to_owned();
        let path = blocking(move || lookup::find(&wanted, search.as_deref(), &from)).await?;
        let is_legal = |(name, value): (&String, &String)| {
            !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
        };
        if !env.iter().all(is_legal) {
            let reason =
                "in the environment, a name is empty or holds `=` or NUL, or a value holds NUL";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        Ok(Self {
            command: command.to_owned(),
            path,
            args,
            env: env.clone(),
            folder: folder.to_owned(),
        })
    }

    /// The command and its arguments as JSON.
    pub(crate) fn shown(&self) -> String {
        let words = std::iter::once(&self.command).chain(&self.args);
        words.map(|word| Value::from(word.as_str())).collect::<Value>().to_string()
    }

    /// Runs it, and returns when it and everything that it started are gone.
    pub(crate) async fn run(self, limit: Duration, redactor: &Redactor) -> io::Result<Ended> {
        let started = Instant::now();
        let mut command = Command::new(&self.path);
        command
            .arg0(&self.command)
            .args(&self.args)
            .env_clear()
            .envs(&self.env)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let (mut child, tree) = Tree::plant(command).await?;
        let pipes = (child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("its pipes are missing"));
        };
        let (stdout, stderr) = (Gathering::start(stdout), Gathering::start(stderr));
        let status = tokio::time::timeout(limit, child.wait()).await;
        tree.fell(&mut child).await?;
        let Ok(status) = status else {
            return Ok(Ended::Late { elapsed: started.elapsed() });
        };
        let code = code(status?);
        let deadline = tokio::time::Instant::now() + LAST_WORDS;
        let stdout = stdout.end(deadline).await.redacted(redactor);
        let stderr = stderr.end(deadline).await.redacted(redactor);
        Ok(Ended::Exited { code, stdout, stderr })
    }
}

/// Searching and starting block a thread, so this runs on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        Err(ended) => Err(io::Error::other(ended)),
    }
}

/// As shells report it: 128 plus the signal number.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
