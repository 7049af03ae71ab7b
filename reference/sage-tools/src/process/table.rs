//! The processes of the system, from `/proc`.

use std::collections::{HashMap, HashSet};
use std::fs;

use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit, prlimit};

/// A process. Its number may be reused, but not with the same start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Identity {
    pid: i32,
    start: u64,
}

pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    pub(super) runs: bool,
    start: u64,
}

/// A limit on the time of real-time threads, in microseconds. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) soft: Option<u64>,
    pub(super) hard: Option<u64>,
}

impl Limit {
    /// That of this process.
    pub(super) fn own() -> Self {
        let Rlimit { current, maximum } = getrlimit(Resource::Rttime);
        Self { soft: current, hard: maximum }
    }

    /// Sets that of a process, or of this one.
    pub(super) fn set(self, pid: Option<Pid>) -> rustix::io::Result<()> {
        let limit = Rlimit { current: self.soft, maximum: self.hard };
        prlimit(pid, Resource::Rttime, limit).map(|_| ())
    }
}

impl Process {
    pub(super) fn identity(&self) -> Identity {
        Identity { pid: self.pid, start: self.start }
    }

    /// None if it is gone.
    pub(super) fn limit(&self) -> Option<Limit> {
        let limits = fs::read_to_string(format!("/proc/{}/limits", self.pid)).ok()?;
        let limit = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
        let mut columns = limit.split_whitespace().map(|column| match column {
            "unlimited" => Some(None),
            number => number.parse().ok().map(Some),
        });
        Some(Limit { soft: columns.next()??, hard: columns.next()?? })
    }
}

pub(super) fn me() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// Every process that can be seen.
pub(super) fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The most recently assigned process or thread number.
pub(super) fn newest() -> Option<i32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().last()?.parse().ok()
}

pub(super) fn read(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // `pid (name) state parent group session …`; the name may contain anything, so parse after its end.
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

/// Sorts parents before their children. Numbers do not help: they wrap around.
pub(super) fn parents_first(processes: &mut [Process]) {
    let parents: HashMap<i32, i32> =
        processes.iter().map(|process| (process.pid, process.parent)).collect();
    processes.sort_by_cached_key(|process| {
        let above = |pid: &i32| parents.get(pid).copied();
        // A number reused during the read may produce a cycle.
        std::iter::successors(Some(process.pid), above).take(parents.len() + 1).count()
    });
}

/// Adds the children of those in `family`, and theirs.
pub(super) fn add_descendants(all: &[Process], family: &mut HashSet<i32>) {
    loop {
        let before = family.len();
        for process in all {
            if family.contains(&process.parent) {
                family.insert(process.pid);
            }
        }
        if family.len() == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(pairs: &[(i32, i32)]) -> Vec<i32> {
        let process = |(pid, parent): &(i32, i32)| Process {
            pid: *pid,
            parent: *parent,
            group: 0,
            session: 0,
            runs: true,
            start: 0,
        };
        let mut processes: Vec<Process> = pairs.iter().map(process).collect();
        parents_first(&mut processes);
        processes.iter().map(|process| process.pid).collect()
    }

    #[test]
    fn parents_come_before_their_children_whatever_their_numbers() {
        assert_eq!(order(&[(2, 9), (5, 1), (9, 5), (3, 9)]), [5, 9, 2, 3]);
        assert_eq!(order(&[(2, 9), (9, 2)]).len(), 2, "a circle ends");
    }
}
