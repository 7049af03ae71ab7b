//! A process and all its descendants, even those that left its group or session.
//!
//! While a tree exists, this process adopts orphans. An orphan's mark shows its tree, see [`forest`](super::forest).
//! An orphan without a mark belongs to the only tree, or is killed with the last.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::process::{Child, Command};

use super::blocking;
use super::forest::Forest;
use super::table::{Identity, Process, add_descendants, me, parents_first, processes, read};

/// Not even SIGKILL reaches a process that waits for a broken disk.
const MOST_ROUNDS: u32 = 2000;
const BETWEEN_ROUNDS: Duration = Duration::from_millis(2);

/// A started process. Dropping it kills everything that can be found.
pub(super) struct Tree {
    root: i32,
    mark: u64,
    /// Every process that was seen to belong to it.
    seen: HashSet<Identity>,
    is_felled: bool,
}

/// The result of one round of killing.
struct Left {
    all: usize,
    /// Without zombies that wait to be reaped.
    running: usize,
}

impl Tree {
    /// Starts `command`.
    pub(super) async fn plant(mut command: Command) -> io::Result<(Child, Self)> {
        blocking(move || {
            let (child, mark) = Forest::lock().plant(&mut command)?;
            let root = child.id().map_or(0, u32::cast_signed);
            let seen = read(root).map(|process| process.identity()).into_iter().collect();
            Ok((child, Self { root, mark, seen, is_felled: false }))
        })
        .await
    }

    /// Kills everything left, and returns when nothing is.
    pub(super) async fn fell(self, child: &mut Child) -> io::Result<()> {
        let mut tree = self;
        for _ in 0..MOST_ROUNDS {
            // Inspect parents before killing them: some children are known only by them.
            let left;
            (tree, left) = blocking(move || {
                let left = tree.kill_and_reap(|left| left.all == 0);
                Ok((tree, left))
            })
            .await?;
            // tokio reaps the first process.
            let _ended = child.start_kill();
            let _status = child.try_wait();
            if left.all == 0 && child.id().is_none() {
                break;
            }
            tokio::time::sleep(BETWEEN_ROUNDS).await;
        }
        Forest::lock().remove(tree.mark);
        tree.is_felled = true;
        Ok(())
    }

    /// Kills all that can be found, and tells what was there. Children of those that die in one round
    /// are adopted, and found in the next. When it `is_over`, the tree stands no more: in the same
    /// breath, or two that fall together would both leave strays to the other.
    fn kill_and_reap(&mut self, is_over: impl FnOnce(&Left) -> bool) -> Left {
        let mut forest = Forest::lock();
        let members = if forest.is_bare() { Vec::new() } else { self.members(&forest) };
        for process in &members {
            let Some(pid) = Pid::from_raw(process.pid) else { continue };
            if process.runs {
                // It may have just exited.
                let _gone = kill_process(pid, Signal::KILL);
            }
            if process.parent == me() && process.pid != self.root {
                let _reaped = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
        let running = members.iter().filter(|process| process.runs).count();
        let left = Left { all: members.len(), running };
        if is_over(&left) {
            forest.remove(self.mark);
        }
        left
    }

    fn members(&mut self, forest: &Forest) -> Vec<Process> {
        let all = processes();
        let takes_strays = forest.is_only(self.mark);
        let is_member = |process: &&Process| {
            let is_adopted = process.parent == me() && process.pid != self.root;
            self.seen.contains(&process.identity())
                || is_adopted && (process.group == self.root || process.session == self.root)
                || is_adopted && process.limit().is_some_and(|limit| limit.soft == Some(self.mark))
                || is_adopted && takes_strays && forest.is_stray(process)
        };
        let mut members = all.iter().filter(is_member).map(|process| process.pid).collect();
        add_descendants(&all, &mut members);
        let mut members: Vec<_> =
            all.into_iter().filter(|process| members.contains(&process.pid)).collect();
        // A shell whose child is killed says so, unless it is dead already.
        parents_first(&mut members);
        self.seen.extend(members.iter().map(Process::identity));
        members
    }
}

/// The call was cancelled. Nobody waits for it, but this process may be about to exit, so kill now.
impl Drop for Tree {
    #[expect(clippy::disallowed_methods, reason = "a killed process takes a moment to die")]
    fn drop(&mut self) {
        if self.is_felled {
            return;
        }
        for _ in 0..MOST_ROUNDS {
            // If the first process is dead, tokio reaps it.
            if self.kill_and_reap(|left| left.running == 0).running == 0 {
                break;
            }
            std::thread::sleep(BETWEEN_ROUNDS);
        }
        Forest::lock().remove(self.mark);
    }
}
