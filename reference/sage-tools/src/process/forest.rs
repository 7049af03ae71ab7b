//! All process trees in this process, and how to tell their processes from others.
//!
//! Every child inherits a limit on the time of real-time threads, of some thirty years, that hardly any program
//! changes. Each tree has its own limit, its mark, and this process has another, which identifies what the rest of
//! the program starts. Processes older than the first tree are remembered, and get the limit of this process. So a
//! child that has none of these limits, and is not that old, is an orphan that removed the mark of its tree.
//!
//! The mark is put on this process while the first process of a tree is started, because a program could have had
//! children and lost them before anything could be put on it from outside. If another thread starts a program at that
//! moment, the mark is removed from it again.
//!
//! Two programs that the rest of the program starts are mistaken for orphans of a tree: one that starts outside of its
//! own process group while a tree exists and sets its limit itself; and one that starts at the very moment in which a
//! tree's first process is started, and has left the session before the mark can be removed from it.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{
    Pid, WaitId, WaitIdOptions, child_subreaper, getpid, set_child_subreaper, waitid,
};
use tokio::process::{Child, Command};

use super::table::{Identity, Limit, Process, add_descendants, me, newest, processes, read};

/// In microseconds: no real-time thread will ever reach it.
const FIRST_MARK: u64 = 1_000_000_000_000_000;
/// How many marks a process has.
const MARKS: u64 = 1 << 24;
/// How often it is looked whether those that were there before have had children meanwhile.
const MOST_LOOKS: usize = 10;

pub(super) struct Forest {
    /// The marks of the trees that stand.
    marks: BTreeSet<u64>,
    planted: u64,
    host: Option<Host>,
    /// Whether orphans come to this process, and whether they did before the first tree.
    adopts: bool,
    adopted_before: bool,
}

/// The program that the trees are part of.
struct Host {
    /// Its limit, if it could be set.
    label: Option<u64>,
    /// What it had started before the first tree.
    before: BTreeSet<Identity>,
}

impl Forest {
    /// Only its holder starts, searches for, or kills processes.
    pub(super) fn lock() -> MutexGuard<'static, Self> {
        static FOREST: Mutex<Forest> = Mutex::new(Forest {
            marks: BTreeSet::new(),
            planted: 0,
            host: None,
            adopts: false,
            adopted_before: false,
        });
        FOREST.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts `command` as the first process of a tree, and returns the tree's mark.
    pub(super) fn plant(&mut self, command: &mut Command) -> io::Result<(Child, u64)> {
        self.host.get_or_insert_with(Host::new);
        // 0 is the label of the host.
        let mark = own_marks() + 1 + self.planted % (MARKS - 1);
        self.planted += 1;
        if self.marks.is_empty() {
            self.adopted_before = matches!(child_subreaper(), Ok(Some(_)));
            // Without it, orphans that left group and session are not found; nothing else is lost.
            self.adopts = set_child_subreaper(Some(getpid())).is_ok();
        }
        self.marks.insert(mark);
        let before = newest();
        match spawn_marked(command, mark) {
            Ok(child) => {
                let root = child.id().map_or(0, u32::cast_signed);
                unmark_strangers(mark, root, started_since(before, root));
                Ok((child, mark))
            }
            Err(error) => {
                self.remove(mark);
                Err(error)
            }
        }
    }

    /// Removes a tree.
    pub(super) fn remove(&mut self, mark: u64) {
        if self.marks.remove(&mark) && self.marks.is_empty() && !self.adopted_before {
            let _unsupported = set_child_subreaper(None);
        }
    }

    /// Whether no process is left that could belong to any tree, without inspecting each.
    pub(super) fn is_bare(&self) -> bool {
        self.adopts && !has_children()
    }

    pub(super) fn is_only(&self, mark: u64) -> bool {
        self.marks.len() == 1 && self.marks.contains(&mark)
    }

    /// Whether it is an orphan of some tree, even if of which is unknown.
    pub(super) fn is_stray(&self, process: &Process) -> bool {
        let Some(Host { label: Some(label), before }) = &self.host else { return false };
        // Programs started by others stay in the group, unless they leave it explicitly.
        if process.parent != me()
            || read(me()).is_none_or(|own| process.group == own.group)
            || before.contains(&process.identity())
        {
            return false;
        }
        process.limit().is_some_and(|Limit { soft, .. }| {
            let is_of_host = soft == Some(*label) || soft == Limit::own().soft;
            !is_of_host && !soft.is_some_and(|soft| self.marks.contains(&soft))
        })
    }
}

impl Host {
    fn new() -> Self {
        let usual = Limit::own();
        let labelled = Limit { soft: Some(own_marks()), ..usual };
        if labelled.set(None).is_err() {
            return Self { label: None, before: BTreeSet::new() };
        }
        let mut before = BTreeSet::new();
        for _ in 0..MOST_LOOKS {
            if !has_children() {
                break;
            }
            let all = processes();
            let mut family = HashSet::from([me()]);
            add_descendants(&all, &mut family);
            let known = before.len();
            for process in &all {
                if process.pid != me()
                    && family.contains(&process.pid)
                    && before.insert(process.identity())
                    && process.limit() == Some(usual)
                {
                    // It may have just exited, or belong to somebody else.
                    let _refused = labelled.set(Pid::from_raw(process.pid));
                }
            }
            if before.len() == known {
                break;
            }
        }
        Self { label: labelled.soft, before }
    }
}

/// Of this process alone, since what it starts may be another with trees of its own.
fn own_marks() -> u64 {
    FIRST_MARK + u64::from(std::process::id()) * MARKS
}

fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

fn spawn_marked(command: &mut Command, mark: u64) -> io::Result<Child> {
    let usual = Limit::own();
    // If the limit may not be set, groups, sessions and parents still identify processes.
    let marked = Limit { soft: Some(mark), ..usual }.set(None);
    let spawned = command.spawn();
    if marked.is_ok() {
        usual.set(None)?;
    }
    spawned
}

/// The processes started since `before` was the newest. All processes, if the numbers are unusable: they wrapped
/// around, or `/proc/loadavg` belongs to another machine.
fn started_since(before: Option<i32>, root: i32) -> Vec<Process> {
    match (before, newest()) {
        (Some(before), Some(newest)) if (before + 1..=newest).contains(&root) => {
            (before + 1..=newest).filter(|pid| *pid != root).filter_map(read).collect()
        }
        _ => processes(),
    }
}

/// Programs that this process started by itself stay in its session, and not in the tree's group.
fn unmark_strangers(mark: u64, root: i32, started: Vec<Process>) {
    if started.is_empty() {
        return;
    }
    let Some(own) = read(me()) else { return };
    for process in started {
        if process.parent == me()
            && process.session == own.session
            && process.group != root
            && process.limit().is_some_and(|limit| limit.soft == Some(mark))
        {
            // It may have just exited.
            let _gone = Limit::own().set(Pid::from_raw(process.pid));
        }
    }
}
