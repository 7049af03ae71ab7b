//! The lock around an append: an advisory lock on the chronicle file itself (`flock`), which the system releases when
//! its holder dies.
//!
//! `flock` has no timeout, so a waiter polls. Among the threads of one process only the first in line polls; the
//! others wait for their turn, first come, first served. So none starves, and a hundred threads poll no more often
//! than one.

use std::collections::VecDeque;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The longest pause between two tries. Pauses start at a hundredth of it and double.
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// A file, whatever its name: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// How long a caller is ready to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// `None`: for ever, because the deadline is beyond the range of the clock.
    until: Option<Instant>,
}

impl Patience {
    pub(crate) fn of(duration: Duration) -> Self {
        Self { until: Instant::now().checked_add(duration) }
    }

    /// The remaining time; `None` after the deadline.
    pub(crate) fn left(self) -> Option<Duration> {
        match self.until {
            None => Some(Duration::MAX),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                (!left.is_zero()).then_some(left)
            }
        }
    }
}

/// A locked file. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct Locked {
    // Released before the file is closed: the inode of a deleted file is reused by the next new one, which would seem
    // locked. By then `drop` has unlocked the file for the next in line.
    _turn: Turn,
    /// `None` only during `drop`.
    file: Option<File>,
}

impl Locked {
    /// `None` unless the lock is free and nobody waits for it.
    pub(crate) fn take_free(file: File, id: FileId) -> Option<Self> {
        let turn = Turn::take_free(id)?;
        file.try_lock().ok()?;
        Some(Self { file: Some(file), _turn: turn })
    }

    /// `None` when `patience` is over. Tries at least once.
    pub(crate) fn take(file: File, id: FileId, patience: Patience) -> io::Result<Option<Self>> {
        let Some(turn) = Turn::take(id, patience) else { return Ok(None) };
        let mut pause = LONGEST_PAUSE / 100;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { file: Some(file), _turn: turn })),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {}
            }
            let Some(left) = patience.left() else { return Ok(None) };
            #[expect(
                clippy::disallowed_methods,
                reason = "no call waits for a file lock and also for a time limit"
            )]
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
    pub(crate) fn file(&self) -> &File {
        self.file.as_ref().expect("only what consumes this takes the file out")
    }

    /// Releases the lock and returns the file; `None` if unlocking failed.
    pub(crate) fn release(mut self) -> Option<File> {
        self.file.take().filter(|file| file.unlock().is_ok())
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing alone would leave the lock to a process that is being spawned from this one and has not yet closed
        // its copies.
        if let Some(file) = &self.file {
            let _ = file.unlock();
        }
    }
}

/// The queues of this process. Contains only files that are locked or about to be: so few that a linear search is
/// faster than hashing.
static LINES: Mutex<Vec<Line>> = Mutex::new(Vec::new());

/// The threads that want the same file. Exists only while one has the turn.
#[derive(Debug)]
struct Line {
    id: FileId,
    /// The number of the thread that has the turn.
    holder: u64,
    /// The last number given out.
    last: u64,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    thread: Thread,
}

#[derive(Debug)]
struct Turn {
    id: FileId,
}

impl Turn {
    /// The turn, if nobody has it.
    fn take_free(id: FileId) -> Option<Self> {
        let mut lines = lines();
        if lines.iter().any(|line| line.id == id) {
            return None;
        }
        lines.push(Line { id, holder: 0, last: 0, waiting: VecDeque::new() });
        Some(Self { id })
    }

    fn take(id: FileId, patience: Patience) -> Option<Self> {
        let number = loop {
            if let Some(turn) = Self::take_free(id) {
                return Some(turn);
            }
            // It may have just become free.
            if let Some(line) = lines().iter_mut().find(|line| line.id == id) {
                line.last += 1;
                line.waiting.push_back(Waiter { number: line.last, thread: thread::current() });
                break line.last;
            }
        };
        loop {
            if let Some(line) = lines().iter_mut().find(|line| line.id == id) {
                if line.holder == number {
                    return Some(Self { id });
                }
                if patience.left().is_none() {
                    line.waiting.retain(|waiter| waiter.number != number);
                    return None;
                }
            }
            thread::park_timeout(patience.left().unwrap_or_default());
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lines = lines();
        let Some(index) = lines.iter().position(|line| line.id == self.id) else { return };
        let line = &mut lines[index];
        match line.waiting.pop_front() {
            Some(next) => {
                line.holder = next.number;
                next.thread.unpark();
            }
            None => drop(lines.swap_remove(index)),
        }
    }
}

fn lines() -> MutexGuard<'static, Vec<Line>> {
    // No holder can panic half-way, so the content is always sound.
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns when `count` threads wait for the file.
#[cfg(test)]
pub(crate) fn until_waiting(id: FileId, count: usize) {
    let waiting = || lines().iter().find(|line| line.id == id).map_or(0, |line| line.waiting.len());
    while waiting() < count {
        thread::yield_now();
    }
}

/// How often `holder` reads the list before it gives up.
const LIST_READS: usize = 16;

/// The holder of the lock on a file. `None` if the system does not know; Linux lists every lock.
///
/// The kernel hands out the list in pieces and continues by position. If another process releases a
/// lock that is listed before ours between two pieces, the list skips an entry. So the pieces are as
/// large as the kernel allows, and a list without our lock is read again.
pub(crate) fn holder(id: FileId) -> Option<String> {
    (0..LIST_READS).find_map(|_| holder_in(&read_locks().ok()?, id))
}

fn read_locks() -> io::Result<String> {
    let mut file = File::open("/proc/locks")?;
    // `fs::read` begins with a probe of 32 bytes, which is less than one entry.
    let (mut list, mut piece) = (Vec::new(), vec![0; 64 * 1024]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(String::from_utf8_lossy(&list).into_owned()),
            count => list.extend_from_slice(&piece[..count]),
        }
    }
}

/// A line is `1: FLOCK ADVISORY WRITE 1234 fe:00:5678 0 EOF`: process, device in hexadecimal and
/// inode. Those who wait have `->` before the kind. A holder outside our sight has process 0.
fn holder_in(locks: &str, id: FileId) -> Option<String> {
    let (major, minor) = (rustix::fs::major(id.device), rustix::fs::minor(id.device));
    let file = format!("{major:02x}:{minor:02x}:{}", id.inode);
    locks.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        (words.next()? == "FLOCK").then_some(())?;
        let process = words.nth(2)?;
        (words.next()? == file && process.parse::<u32>().is_ok_and(|pid| pid > 0)).then_some(())?;
        Some(format!("pid {process}"))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const LOCKS: &str = "\
1: POSIX  ADVISORY  WRITE 11 fe:01:77 0 EOF
2: FLOCK  ADVISORY  WRITE 12 fe:01:770 0 EOF
3: FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF
4: FLOCK  ADVISORY  WRITE 14 fe:01:77 0 EOF
4: -> FLOCK  ADVISORY  WRITE 15 fe:01:77 0 EOF
5: -> FLOCK  ADVISORY  WRITE 16 fe:01:78 0 EOF
6: FLOCK  ADVISORY  WRITE 0 fe:01:79 0 EOF
garbage
";

    #[rstest]
    #[case::among_others(77, Some("pid 14"))]
    #[case::only_waiters(78, None)]
    #[case::out_of_sight(79, None)]
    #[case::not_listed(80, None)]
    fn the_holder_is_the_one_listed(#[case] inode: u64, #[case] expect: Option<&str>) {
        let device = rustix::fs::makedev(0xfe, 1);
        assert_eq!(holder_in(LOCKS, FileId { device, inode }).as_deref(), expect);
    }

    /// The list is newest first, so the threads release what is listed before our lock.
    #[rstest]
    #[case::in_one_piece(2)]
    #[case::in_several_pieces(50)]
    fn a_holder_is_found_while_other_locks_come_and_go(#[case] count: usize) {
        use std::os::unix::fs::MetadataExt as _;
        use std::sync::atomic::{AtomicBool, Ordering};

        let folder = tempfile::tempdir().unwrap();
        let held = File::create(folder.path().join("held")).unwrap();
        held.lock().unwrap();
        let about = held.metadata().unwrap();
        let id = FileId { device: about.dev(), inode: about.ino() };
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for name in ["a", "b", "c"] {
                let (over, folder) = (&over, folder.path());
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        let locked: Vec<File> = (0..count)
                            .map(|n| File::create(folder.join(format!("{name}{n}"))).unwrap())
                            .inspect(|file| file.lock().unwrap())
                            .collect();
                        drop(locked);
                    }
                });
            }
            let found: Vec<_> = (0..500).map(|_| holder(id)).collect();
            over.store(true, Ordering::Relaxed);
            let expect = Some(format!("pid {}", std::process::id()));
            assert_eq!(found.iter().filter(|holder| **holder != expect).count(), 0);
        });
    }

    #[test]
    fn turns_are_given_in_the_order_of_asking() {
        let id = FileId { device: 0, inode: 0 };
        let forever = Patience::of(Duration::MAX);
        let first = Turn::take(id, forever).unwrap();
        let (done, order) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            for name in 1..=8 {
                let done = done.clone();
                scope.spawn(move || {
                    let _turn = Turn::take(id, forever).unwrap();
                    done.send(name).unwrap();
                });
                until_waiting(id, name);
            }
            assert!(Turn::take(id, Patience::of(Duration::ZERO)).is_none());
            drop(first);
        });
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(lines().iter().all(|line| line.id != id));
    }
}
