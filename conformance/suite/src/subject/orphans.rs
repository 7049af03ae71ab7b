//! Processes that a subject's processes left behind, also those that left its process group.
//!
//! On Linux the harness makes itself the reaper of its descendants, so an orphan becomes its own
//! child and can be found. Elsewhere only the process group is killed.

use std::collections::HashSet;

/// The children that this process had before any subject was started: none of a subject's business.
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
            // Without it, orphans that left their process group are not found; nothing else is lost.
            let _unsupported =
                rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
            let before = linux::children().map(|child| child.pid.as_raw_nonzero().get());
            Self { before: before.collect() }
        }
        #[cfg(not(target_os = "linux"))]
        Self::default()
    }

    /// Kills every later child of this process, and theirs in turn, and tells how many were alive.
    /// Only when all subjects have ended: whatever is left then is an orphan.
    pub fn kill(&self) -> usize {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Signal, WaitOptions, kill_process, waitpid};
            self.wait_for_the_dying();
            let mut killed = 0;
            // Each round may bring the children of those killed in the one before.
            for _ in 0..1000 {
                let later: Vec<_> =
                    linux::children().filter(|child| self.is_later(child)).collect();
                if later.is_empty() {
                    break;
                }
                for child in later {
                    if child.runs && kill_process(child.pid, Signal::KILL).is_err() {
                        // Not ours to kill, so not ours to wait for.
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

    /// Who was killed a moment ago is not left behind, though it may take that moment to die.
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

/// How many processes of a group run; those that have ended and wait to be reaped do not count.
pub(super) fn alive_in_group(group: rustix::process::Pid) -> usize {
    #[cfg(target_os = "linux")]
    {
        // The common case: the group is empty, and nothing has to be searched.
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
mod linux {
    use std::fs;

    use rustix::process::{Pid, getpid};

    pub(super) struct Seen {
        pub(super) pid: Pid,
        pub(super) runs: bool,
        parent: i32,
        pub(super) group: i32,
    }

    /// Every process that can be seen.
    pub(super) fn processes() -> impl Iterator<Item = Seen> {
        fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // `pid (name) state parent group …`; the name may hold anything, so from its end.
            let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
            let (state, parent, group) = (fields.next()?, fields.next()?, fields.next()?);
            Some(Seen {
                pid,
                runs: state != "Z",
                parent: parent.parse().ok()?,
                group: group.parse().ok()?,
            })
        })
    }

    pub(super) fn children() -> impl Iterator<Item = Seen> {
        let me = getpid().as_raw_nonzero().get();
        processes().filter(move |process| process.parent == me)
    }
}
