//! One event into a log that is already locked.

use std::io;

use crate::event::Entry;
use crate::lines::{Backwards, ReadAt};

/// How much of a log's end is looked at first. Most events are far shorter.
const LOOK_BACK: usize = 4096;

/// What appending needs of a file; tests put a failing one in its place.
pub(crate) trait Log: ReadAt {
    /// Writes at the end, and tells how much of it.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the log off after `len` bytes.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Returns when the bytes are on the disk.
    fn sync(&self) -> io::Result<()>;
}

impl Log for std::fs::File {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut &*self, bytes)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// What to do besides writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct How {
    /// Leave an event out that the log already ends with.
    pub(crate) drop_repeat: bool,
    /// Return only when the event is on the disk.
    pub(crate) durable: bool,
}

/// Writes `entry` after the `len` bytes that `log` has. If that fails, the log is as it was.
pub(crate) fn append(log: &impl Log, len: u64, entry: &Entry, how: How) -> io::Result<()> {
    let mut backwards = Backwards::from_end(log, len, LOOK_BACK)?;
    let ends_whole = backwards.ends_whole();
    if how.drop_repeat
        && let Some(event) = backwards.next()?
        && event.has_id(entry.id())
    {
        // Who wrote it may have died before it was on the disk, and we say that it is.
        return if how.durable { log.sync() } else { Ok(()) };
    }

    // What a dead writer left unfinished stays, on a line of its own.
    let written = if ends_whole {
        write_all_at_once(log, entry.line().as_bytes())
    } else {
        write_all_at_once(log, format!("\n{}", entry.line()).as_bytes())
    };
    let done = written.and_then(|()| if how.durable { log.sync() } else { Ok(()) });
    if done.is_err() {
        // Should this fail too, the torn line is the next writer's to close; the first error says more.
        let _ = log.truncate(len);
    }
    done
}

/// One write for the whole of it, so that no reader and no crash finds two halves.
fn write_all_at_once(log: &impl Log, bytes: &[u8]) -> io::Result<()> {
    loop {
        match log.write(bytes) {
            Ok(count) if count == bytes.len() => return Ok(()),
            Ok(count) => {
                let told = format!("only {count} of {} bytes could be written", bytes.len());
                return Err(io::Error::new(io::ErrorKind::StorageFull, told));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
