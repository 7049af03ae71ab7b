//! Processes that a subject's processes left behind, also those that left its process group.
//!
//! On Linux the harness makes itself the reaper of its descendants, so an orphan becomes its own
//! child and can be found. Elsewhere only the process group is killed.

/// Adopts orphans from now on. Once, at the start of the program.
pub fn adopt() {
    #[cfg(target_os = "linux")]
    {
        // Without it, orphans that left their process group are not found; nothing else is lost.
        let _unsupported = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Kills every child of this process, and theirs in turn, and tells how many were alive. Only when
/// all subjects have ended: whatever is left then is an orphan.
pub fn kill_all() -> usize {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, WaitOptions, kill_process, waitpid};
        let mut killed = 0;
        // Each round may bring the children of those killed in the one before.
        for _ in 0..1000 {
            let children = linux::children();
            if children.is_empty() {
                break;
            }
            for (pid, alive) in children {
                if alive && kill_process(pid, Signal::KILL).is_ok() {
                    killed += 1;
                }
                let _gone = waitpid(Some(pid), WaitOptions::empty());
            }
        }
        killed
    }
    #[cfg(not(target_os = "linux"))]
    0
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    use rustix::process::{Pid, getpid};

    /// Children of this process, and whether each still runs (a zombie does not).
    pub(super) fn children() -> Vec<(Pid, bool)> {
        let me = getpid().as_raw_nonzero().get();
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| {
                let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
                let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
                // `pid (name) state ppid …`; the name may hold anything, so from its end.
                let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
                let (state, parent) = (fields.next()?, fields.next()?.parse::<i32>().ok()?);
                (parent == me).then_some((pid, state != "Z"))
            })
            .collect()
    }
}
