//! Whether a silent subject is at work. On a busy machine, a right subject may need long to answer.

use std::time::Duration;

use rustix::process::Pid;

/// A silent subject that is at work hangs only after this many times the limit.
const LIMITS_AT_WORK: u32 = 3;

/// The process group of a subject, with everything that its processes started.
#[derive(Debug, Clone, Copy, Default)]
pub struct Group(pub(super) Option<Pid>);

impl Group {
    /// Whether a thread computes, or waits for a processor or a disk. Only Linux tells.
    fn is_at_work(self) -> bool {
        #[cfg(target_os = "linux")]
        {
            self.0.is_some_and(|group| linux::is_at_work(group.as_raw_nonzero().get()))
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Whether it gets one more limit, after a silence of so many.
    pub(super) fn may_go_on(self, limits: u32) -> bool {
        limits < LIMITS_AT_WORK && self.is_at_work()
    }

    /// Waits for the result: for one limit, or for several while the group is at work.
    pub async fn within<T>(self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let mut limits = 1;
        loop {
            match tokio::time::timeout(limit, &mut work).await {
                Ok(done) => return Some(done),
                Err(_) if self.may_go_on(limits) => limits += 1,
                Err(_) => return None,
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;

    use crate::subject::orphans::linux::{has_busy_thread, processes};

    pub(super) fn is_at_work(group: i32) -> bool {
        let all: Vec<_> = processes().filter(|process| process.runs).collect();
        let mut members = HashSet::new();
        loop {
            let known = members.len();
            for process in &all {
                if process.group == group || members.contains(&process.parent) {
                    members.insert(process.pid.as_raw_nonzero().get());
                }
            }
            if members.len() == known {
                break;
            }
        }
        let member = |pid: rustix::process::Pid| members.contains(&pid.as_raw_nonzero().get());
        all.iter().any(|process| member(process.pid) && has_busy_thread(process.pid))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::subject::SubjectCommand;
    use crate::subject::process::Process;

    fn starts(script: &str) -> Process {
        let args = vec!["-c".into(), script.into()];
        let command = SubjectCommand { program: "sh".into(), args, ..Default::default() };
        Process::start(&command).expect("sh starts").0
    }

    async fn becomes(process: &Process, at_work: bool) {
        while process.group().is_at_work() != at_work {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_subject_is_at_work_while_it_computes() {
        let local = tokio::task::LocalSet::new();
        let seen = local.run_until(async {
            let busy = starts("while :; do :; done");
            let waiting = starts("sleep 1000");
            let started = starts("set -m; (while kill -0 $$; do :; done) & wait");
            becomes(&waiting, false).await;
            becomes(&busy, true).await;
            becomes(&started, true).await;
            assert!(!waiting.group().may_go_on(1));
            assert!(busy.group().may_go_on(LIMITS_AT_WORK - 1));
            assert!(!busy.group().may_go_on(LIMITS_AT_WORK));
            let begun = std::time::Instant::now();
            let limit = Duration::from_millis(20);
            assert_eq!(busy.group().within(limit, std::future::pending::<()>()).await, None);
            assert!(begun.elapsed() >= limit * LIMITS_AT_WORK);
            for process in [busy, waiting, started] {
                process.kill().await;
            }
        });
        tokio::time::timeout(Duration::from_secs(60), seen).await.expect("both are seen");
    }

    #[tokio::test]
    async fn a_subject_that_only_waits_has_one_limit() {
        let limit = Duration::from_millis(1);
        assert_eq!(Group::default().within(limit, std::future::pending::<()>()).await, None);
        assert_eq!(Group::default().within(limit, async { 7 }).await, Some(7));
    }
}
