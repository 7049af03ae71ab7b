//! A process and all that came of it, also what left its group or its session.
//!
//! A process that loses its parent is adopted by this one, as long as a tree stands. Which tree it
//! belongs to is told by a mark that every child inherits and that hardly any program changes: a
//! limit on the time of real-time threads, of some thirty years. The environment could hold another,
//! but that is the caller's, and open files may be closed.
//!
//! The mark is put on this process while the first one is started, since a program can have had
//! children and lost them before anything could be put on it from outside. Should another thread
//! start a program of its own in that moment, the mark is taken from it again.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, child_subreaper, getpid, getrlimit, getsid,
    kill_process, prlimit, set_child_subreaper, setrlimit, waitpid,
};
use tokio::process::{Child, Command};

/// Not even SIGKILL reaches a process that waits for a broken disk.
const MOST_ROUNDS: u32 = 2000;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(2);

/// In microseconds: no real-time thread will ever reach it.
const FIRST_MARK: u64 = 1_000_000_000_000_000;

/// A process that was started here. Dropping it kills what it can find.
pub(super) struct Tree {
    root: i32,
    mark: u64,
    /// Every process that was seen to belong to it.
    seen: HashSet<Identity>,
    is_felled: bool,
    _reaper: Reaper,
}

/// A process: a number may be used again, but not with the same start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    pid: i32,
    start: u64,
}

impl Tree {
    /// Starts `command`.
    pub(super) fn plant(command: &mut Command) -> io::Result<(Child, Self)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let reaper = Reaper::new();
        // Of this process too, since what it starts may be another with trees of its own.
        let own = u64::from(std::process::id()) << 24;
        let mark = FIRST_MARK + own + NEXT.fetch_add(1, Ordering::Relaxed) % (1 << 24);
        let child = spawn_marked(command, mark)?;
        let root = child.id().map_or(0, u32::cast_signed);
        let seen = read(root).map(|process| process.identity()).into_iter().collect();
        let tree = Self { root, mark, seen, is_felled: false, _reaper: reaper };
        tree.unmark_strangers();
        Ok((child, tree))
    }

    /// Programs that this process has started by itself stay in its session, and not in our group.
    fn unmark_strangers(&self) {
        let session = getsid(None).map_or(0, |session| session.as_raw_nonzero().get());
        for process in processes() {
            if process.parent == me()
                && process.session == session
                && process.group != self.root
                && process.mark() == Some(self.mark)
                && let Some(pid) = Pid::from_raw(process.pid)
            {
                // It may have ended just now.
                let _gone = prlimit(Some(pid), Resource::Rttime, getrlimit(Resource::Rttime));
            }
        }
    }

    /// Kills what is left of it, and comes back when nothing is.
    pub(super) async fn fell(mut self, child: &mut Child) {
        for _ in 0..MOST_ROUNDS {
            // Parents are looked at before they are killed: some children are known by them alone.
            let left = self.kill_and_reap();
            // The first process is tokio's to wait for.
            let _ended = child.start_kill();
            let _status = child.try_wait();
            if left == 0 && child.id().is_none() {
                break;
            }
            tokio::time::sleep(BETWEEN_ROUNDS).await;
        }
        self.is_felled = true;
    }

    /// Kills all that can be found, and tells how many were there. Children of those that die in one
    /// round are adopted, and found in the next.
    fn kill_and_reap(&mut self) -> usize {
        let members = self.members();
        for process in &members {
            let Some(pid) = Pid::from_raw(process.pid) else { continue };
            if process.runs {
                // It may have ended just now.
                let _gone = kill_process(pid, Signal::KILL);
            }
            if process.parent == me() && process.pid != self.root {
                let _reaped = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
        members.len()
    }

    fn members(&mut self) -> Vec<Process> {
        let all = processes();
        let mut members: HashSet<i32> = HashSet::new();
        for process in &all {
            let is_adopted = process.parent == me() && process.pid != self.root;
            let is_known = self.seen.contains(&process.identity())
                || is_adopted && (process.group == self.root || process.session == self.root)
                || is_adopted && process.mark() == Some(self.mark);
            if is_known {
                members.insert(process.pid);
            }
        }
        // Children of members, and theirs.
        loop {
            let before = members.len();
            for process in &all {
                if members.contains(&process.parent) {
                    members.insert(process.pid);
                }
            }
            if members.len() == before {
                break;
            }
        }
        let members: Vec<_> =
            all.into_iter().filter(|process| members.contains(&process.pid)).collect();
        self.seen.extend(members.iter().map(Process::identity));
        members
    }
}

/// One at a time: between the two settings, no other call starts anything.
fn spawn_marked(command: &mut Command, mark: u64) -> io::Result<Child> {
    static STARTING: Mutex<()> = Mutex::new(());
    let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let usual = getrlimit(Resource::Rttime);
    // Where the limit may not be set, groups, sessions and parents still tell.
    let marked = setrlimit(Resource::Rttime, Rlimit { current: Some(mark), ..usual });
    let spawned = command.spawn();
    if marked.is_ok() {
        setrlimit(Resource::Rttime, usual)?;
    }
    spawned
}

/// The call was given up: nobody waits, but nothing is left running.
impl Drop for Tree {
    fn drop(&mut self) {
        if !self.is_felled {
            for _ in 0..MOST_ROUNDS {
                if self.members().iter().all(|process| !process.runs) {
                    break;
                }
                self.kill_and_reap();
            }
        }
    }
}

fn me() -> i32 {
    getpid().as_raw_nonzero().get()
}

struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    start: u64,
    runs: bool,
}

impl Process {
    fn identity(&self) -> Identity {
        Identity { pid: self.pid, start: self.start }
    }

    fn mark(&self) -> Option<u64> {
        let limits = fs::read_to_string(format!("/proc/{}/limits", self.pid)).ok()?;
        let limit = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
        limit.split_whitespace().next()?.parse().ok()
    }
}

/// Every process that can be seen.
fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn read(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // `pid (name) state parent group session …`; the name may hold anything, so from its end.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    Some(Process {
        pid,
        runs: !matches!(*fields.first()?, "Z" | "X"),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// As long as one stands, orphans come to this process.
struct Reaper;

/// How many stand, and whether this process adopted orphans before the first.
static REAPERS: Mutex<(usize, bool)> = Mutex::new((0, false));

impl Reaper {
    fn new() -> Self {
        let mut reapers = REAPERS.lock().unwrap_or_else(PoisonError::into_inner);
        if reapers.0 == 0 {
            reapers.1 = matches!(child_subreaper(), Ok(Some(_)));
            // Without it, orphans that left group and session are not found; nothing else is lost.
            let _unsupported = set_child_subreaper(Some(getpid()));
        }
        reapers.0 += 1;
        Self
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        let mut reapers = REAPERS.lock().unwrap_or_else(PoisonError::into_inner);
        reapers.0 -= 1;
        if reapers.0 == 0 && !reapers.1 {
            let _unsupported = set_child_subreaper(None);
        }
    }
}
