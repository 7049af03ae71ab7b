//! Finds processes that a subject left behind, even those that left its process group.
//!
//! On Linux the harness makes itself the reaper of its descendants, so an orphan becomes its child and can be found.
//! Elsewhere only the process group is killed.

use std::collections::HashSet;

/// The children that this process had before any subject was started. They are left alone.
#[derive(Debug, Default)]
pub struct Orphans {
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "orphans are found on Linux only")
    )]
    before: HashSet<i32>,
}

impl Orphans {
    /// Adopts orphans from now on.
    pub fn adopt() -> Self {
        #[cfg(target_os = "linux")]
        {
            // If this fails, orphans outside their process group are not found; nothing else is lost.
            let _unsupported =
                rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
            let before = linux::children().map(|child| child.pid.as_raw_nonzero().get());
            Self { before: before.collect() }
        }
        #[cfg(not(target_os = "linux"))]
        Self::default()
    }

    /// Kills all new children of this process, and their children in turn. Returns how many were alive. Call it only
    /// after all subjects have ended: every remaining child is then an orphan.
    pub fn kill(&self) -> usize {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Signal, WaitOptions, kill_process, waitpid};
            self.wait_for_the_dying();
            let mut killed = 0;
            // Each round may find the children of those killed in the previous one.
            for _ in 0..1000 {
                let later: Vec<_> =
                    linux::children().filter(|child| self.is_later(child)).collect();
                if later.is_empty() {
                    break;
                }
                for child in later {
                    if child.runs && kill_process(child.pid, Signal::KILL).is_err() {
                        // If we may not kill it, do not wait for it.
                        continue;
                    }
                    killed += usize::from(child.runs);
                    let _gone = waitpid(Some(child.pid), WaitOptions::empty());
                }
            }
            killed
        }
        #[cfg(not(target_os = "linux"))]
        0
    }
}

#[cfg(target_os = "linux")]
impl Orphans {
    fn is_later(&self, child: &linux::Seen) -> bool {
        !self.before.contains(&child.pid.as_raw_nonzero().get())
    }

    /// Processes that were just killed may take a moment to exit; they do not count as orphans.
    #[expect(clippy::disallowed_methods, reason = "nothing tells when a process is gone")]
    fn wait_for_the_dying(&self) {
        for _ in 0..50 {
            if !linux::children().any(|child| child.runs && self.is_later(&child)) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// The number of running processes in a group, without zombies.
pub(super) fn alive_in_group(group: rustix::process::Pid) -> usize {
    #[cfg(target_os = "linux")]
    {
        // The common case: the group is empty, so skip the search.
        if rustix::process::test_kill_process_group(group).is_err() {
            return 0;
        }
        linux::processes()
            .filter(|process| process.group == group.as_raw_nonzero().get() && process.runs)
            .count()
    }
    #[cfg(not(target_os = "linux"))]
    {
        usize::from(rustix::process::test_kill_process_group(group).is_ok())
    }
}

#[cfg(target_os = "linux")]
pub(super) mod linux {
    use std::fs;
    use std::path::Path;

    use rustix::process::{Pid, getpid};

    pub(in crate::subject) struct Seen {
        pub(in crate::subject) pid: Pid,
        pub(in crate::subject) runs: bool,
        pub(in crate::subject) parent: i32,
        pub(in crate::subject) group: i32,
    }

    /// Every visible process.
    pub(in crate::subject) fn processes() -> impl Iterator<Item = Seen> {
        fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let (state, parent, group) = stat(&entry.path())?;
            Some(Seen { pid, runs: state != "Z", parent, group })
        })
    }

    /// Whether a thread of the process is running or ready to run (`R`), or waits for a disk (`D`).
    pub(in crate::subject) fn has_busy_thread(process: Pid) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()));
        threads
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|thread| stat(&thread.path()))
            .any(|(state, ..)| state == "R" || state == "D")
    }

    /// The state, the parent and the group of a process or a thread.
    fn stat(folder: &Path) -> Option<(String, i32, i32)> {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // `pid (name) state parent group …`. The name may contain anything, so split after its end.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, parent, group) = (fields.next()?, fields.next()?, fields.next()?);
        Some((state.to_owned(), parent.parse().ok()?, group.parse().ok()?))
    }

    pub(super) fn children() -> impl Iterator<Item = Seen> {
        let me = getpid().as_raw_nonzero().get();
        processes().filter(move |process| process.parent == me)
    }
}
