//! Starts and stops processes without leaving anything behind.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::work::Group;
use super::{SubjectCommand, orphans, signals};
use proofmark_judge::Fault;

/// The subject could not be started, so nothing about it can be determined.
#[derive(Debug, thiserror::Error)]
#[error("`{shown}` cannot be started: {fault}{advice}")]
pub struct StartError {
    pub shown: String,
    pub fault: io::Error,
    /// What to do, after a `; `.
    pub advice: String,
}

impl StartError {
    fn of(command: &SubjectCommand, fault: io::Error) -> Self {
        let advice =
            advice(command, &fault).map(|message| format!("; {message}")).unwrap_or_default();
        Self { shown: command.shown.clone(), fault, advice }
    }
}

/// What to change so that the program starts.
fn advice(command: &SubjectCommand, fault: &io::Error) -> Option<String> {
    let program = Path::new(&command.program);
    let named = program.display();
    let is_path = command.program.as_encoded_bytes().contains(&b'/');
    let at = command.directory.as_deref().unwrap_or(Path::new("")).join(program);
    // ENOEXEC has no `io::ErrorKind`.
    const NO_FORMAT: i32 = 8;
    match fault.kind() {
        io::ErrorKind::NotFound if !is_path => Some(format!(
            "no folder of PATH has a program `{named}`; install it, or give its path (`./{named}`)"
        )),
        io::ErrorKind::NotFound if at.exists() => Some(format!(
            "`{named}` exists, but the interpreter in its first line (`#!`) does not; install it, or put it before the file"
        )),
        io::ErrorKind::NotFound => {
            Some("there is no such file; give the path of the adapter's program".to_owned())
        }
        io::ErrorKind::PermissionDenied if at.is_dir() => {
            Some(format!("`{named}` is a folder; give the program in it"))
        }
        io::ErrorKind::PermissionDenied => Some(format!(
            "make it executable (`chmod +x {named}`), or name its interpreter before it, such as `python3 {named}`"
        )),
        _ if fault.raw_os_error() == Some(NO_FORMAT) => Some(format!(
            "it is not a program; begin it with a line such as `#!/bin/sh`, or name its interpreter before it, such as `sh {named}`"
        )),
        _ => None,
    }
}

/// The last lines of stderr, with a size limit.
#[derive(Debug, Default)]
pub struct StderrTail {
    lines: VecDeque<String>,
    partial: Vec<u8>,
}

/// The time to wait for a killed process.
const UNKILLABLE: Duration = Duration::from_secs(5);

const KEPT_LINES: usize = 20;
const KEPT_BYTES_OF_A_LINE: usize = 400;

impl StderrTail {
    fn push(&mut self, bytes: &[u8]) {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        self.extend(first);
        for next in lines {
            let line = String::from_utf8_lossy(&self.partial).trim_end().to_owned();
            self.partial.clear();
            self.lines.push_back(line);
            if self.lines.len() > KEPT_LINES {
                self.lines.pop_front();
            }
            self.extend(next);
        }
    }

    fn extend(&mut self, part: &[u8]) {
        let room = KEPT_BYTES_OF_A_LINE - self.partial.len();
        self.partial.extend_from_slice(&part[..part.len().min(room)]);
    }

    pub fn snapshot(&self) -> Vec<String> {
        let partial = String::from_utf8_lossy(&self.partial);
        let last = Some(partial.into_owned()).filter(|line| !line.is_empty());
        self.lines.iter().cloned().chain(last).collect()
    }
}

/// A running subject. Dropping it kills its whole process group.
pub struct Process {
    child: Child,
    group: Option<rustix::process::Pid>,
    pub stderr: Rc<RefCell<StderrTail>>,
}

impl Process {
    pub fn start(command: &SubjectCommand) -> Result<(Self, ChildStdin, ChildStdout), StartError> {
        let failed = |fault| StartError::of(command, fault);
        signals::restore();
        let mut starting = Command::new(&command.program);
        if let Some(directory) = &command.directory {
            starting.current_dir(directory);
        }
        let mut child = starting
            .args(&command.args)
            .envs(&command.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(io::Error::other("its pipes are missing")));
        };
        let group = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        let tail = Rc::new(RefCell::new(StderrTail::default()));
        tokio::task::spawn_local(keep_tail(stderr, Rc::clone(&tail)));
        Ok((Self { child, group, stderr: tail }, stdin, stdout))
    }

    /// Resolves when the process has exited; its children may still run.
    pub async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => super::fault::describe(status),
            Err(fault) => format!("with an unknown status ({fault})"),
        }
    }

    /// How it exited, if it has.
    pub fn has_ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(super::fault::describe)
    }

    pub fn group(&self) -> Group {
        Group(self.group)
    }

    fn signal(&self, signal: rustix::process::Signal) -> bool {
        self.group.is_some_and(|group| rustix::process::kill_process_group(group, signal).is_ok())
    }

    /// Kills the whole group at once, and the process itself, which may have left the group.
    pub async fn kill(mut self) {
        self.signal(rustix::process::Signal::KILL);
        // It may have ended already.
        let _ended = self.child.start_kill();
        self.gone(UNKILLABLE).await;
    }

    /// Whether it exits within `patience`. Even SIGKILL does not reach a process that waits for a broken disk.
    async fn gone(&mut self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.ended()).await.is_ok()
    }

    /// Waits for the exit after `shutdown` and the end of stdin, then sends SIGTERM, then SIGKILL. Returns the fault,
    /// if there was one.
    pub async fn end(mut self, patience: Duration) -> Option<Fault> {
        let mut fault = None;
        if !self.gone(patience).await {
            fault = Some(Fault::IgnoredShutdown { signal: "SIGTERM".to_owned() });
            self.signal(rustix::process::Signal::TERM);
            if !self.gone(patience).await {
                fault = Some(Fault::IgnoredShutdown { signal: "SIGKILL".to_owned() });
                self.signal(rustix::process::Signal::KILL);
                // It may have ended just now.
                let _ended = self.child.start_kill();
                self.gone(UNKILLABLE).await;
            }
        }
        let left = self.left_behind(patience.min(Duration::from_millis(500))).await;
        self.signal(rustix::process::Signal::KILL);
        if left > 0 {
            // Wait for them, or the search for orphans would find them again.
            self.left_behind(UNKILLABLE).await;
        }
        fault.or((left > 0).then_some(Fault::LeftProcesses { count: left }))
    }

    /// The number of processes in the group that are still running, after some time to exit.
    async fn left_behind(&self, patience: Duration) -> usize {
        let Some(group) = self.group else { return 0 };
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let left = orphans::alive_in_group(group);
            if left == 0 || tokio::time::Instant::now() >= deadline {
                return left;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }
}

async fn keep_tail(mut stderr: impl AsyncRead + Unpin, tail: Rc<RefCell<StderrTail>>) {
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(count) = stderr.read(&mut chunk).await {
        if count == 0 {
            return;
        }
        tail.borrow_mut().push(&chunk[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tail_of_stderr_is_kept() {
        let mut tail = StderrTail::default();
        for number in 0..100 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        tail.push(&[b'x'; 10_000]);
        let lines = tail.snapshot();
        assert_eq!(lines.first().map(String::as_str), Some("line 80"));
        assert_eq!(lines.last().map(String::len), Some(KEPT_BYTES_OF_A_LINE));
    }
}
