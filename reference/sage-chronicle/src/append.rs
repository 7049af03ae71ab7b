//! Appends one event to a locked log.

use std::io;

use crate::event::Entry;
use crate::lines::{Backwards, ReadAt, ends_with_line};

/// How much of a log's end is read first. Most events are shorter.
const LOOK_BACK: usize = 1024;

/// The file operations that an append needs; tests use a failing one.
pub(crate) trait Log: ReadAt {
    /// Writes at the end, and returns how many bytes were written.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Truncates the log to `len` bytes.
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

/// Options of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct How {
    /// Skip an event that the log already ends with.
    pub(crate) drop_repeat: bool,
    /// Return only when the event is on the disk.
    pub(crate) durable: bool,
}

/// Writes `entry` after the `len` bytes of `log`. On failure, the log is unchanged.
///
/// `last` is a guess of the log's last line, which is checked against its bytes.
pub(crate) fn append(
    log: &impl Log,
    len: u64,
    last: Option<&Entry>,
    entry: &Entry,
    how: How,
) -> io::Result<()> {
    let written = match End::of(log, len, last, how.drop_repeat.then(|| entry.id()))? {
        End::Whole => write_all_at_once(log, entry.line().as_bytes()),
        // The partial line of a dead writer stays, on a separate line.
        End::Torn => write_all_at_once(log, format!("\n{}", entry.line()).as_bytes()),
        // Its writer may have died before the sync, and we acknowledge it.
        End::Repeated => Ok(()),
        // Only its newline is missing.
        End::RepeatedUnfinished => write_all_at_once(log, b"\n"),
    };
    let done = written.and_then(|()| if how.durable { log.sync() } else { Ok(()) });
    if done.is_err() {
        // If this fails too, the next writer closes the torn line; the first error says more.
        let _ = log.truncate(len);
    }
    done
}

/// How a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With a whole line, or with nothing.
    Whole,
    /// Within a line.
    Torn,
    /// Its last event, ignoring torn lines, has the given id.
    Repeated,
    /// The same, and that event is the last line, without its newline.
    RepeatedUnfinished,
}

impl End {
    fn of(log: &impl Log, len: u64, last: Option<&Entry>, id: Option<&str>) -> io::Result<Self> {
        if let Some(last) = last
            && ends_with_line(log, len, last.line())?
        {
            return Ok(if id == Some(last.id()) { Self::Repeated } else { Self::Whole });
        }
        let mut backwards = Backwards::from_end(log, len, LOOK_BACK)?;
        let whole = backwards.ends_whole();
        let repeated = match id {
            Some(id) => backwards.next()?.is_some_and(|event| event.has_id(id)),
            None => false,
        };
        Ok(match (repeated, whole) {
            (true, true) => Self::Repeated,
            (true, false) => Self::RepeatedUnfinished,
            (false, true) => Self::Whole,
            (false, false) => Self::Torn,
        })
    }
}

/// One write for the whole line, so that no reader and no crash sees a part.
fn write_all_at_once(log: &impl Log, bytes: &[u8]) -> io::Result<()> {
    loop {
        match log.write(bytes) {
            Ok(count) if count == bytes.len() => return Ok(()),
            Ok(count) => {
                let message = format!("only {count} of {} bytes could be written", bytes.len());
                return Err(io::Error::new(io::ErrorKind::StorageFull, message));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::event::IdRule;

    /// A disk that can be full and can fail.
    #[derive(Default)]
    struct Disk {
        bytes: Mutex<Vec<u8>>,
        /// How many bytes go in with one write; `None`: all.
        room: Option<usize>,
        interrupts: Mutex<u32>,
        sync_fails: bool,
        truncate_fails: bool,
        syncs: Mutex<u32>,
    }

    impl Disk {
        fn holding(text: &str) -> Self {
            Self { bytes: Mutex::new(text.as_bytes().to_vec()), ..Self::default() }
        }

        fn text(&self) -> String {
            String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
        }

        fn append(&self, entry: &Entry, how: How) -> io::Result<()> {
            let len = self.bytes.lock().unwrap().len() as u64;
            append(self, len, None, entry, how)
        }
    }

    impl ReadAt for Disk {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let bytes = self.bytes.lock().unwrap();
            io::Read::read(&mut bytes.get(offset as usize..).unwrap_or_default(), buffer)
        }
    }

    impl Log for Disk {
        fn write(&self, bytes: &[u8]) -> io::Result<usize> {
            let mut interrupts = self.interrupts.lock().unwrap();
            if *interrupts > 0 {
                *interrupts -= 1;
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = self.room.unwrap_or(usize::MAX).min(bytes.len());
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.lock().unwrap().extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn truncate(&self, len: u64) -> io::Result<()> {
            if self.truncate_fails {
                return Err(io::ErrorKind::Other.into());
            }
            self.bytes.lock().unwrap().truncate(len as usize);
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            *self.syncs.lock().unwrap() += 1;
            if self.sync_fails { Err(io::Error::other("the disk is gone")) } else { Ok(()) }
        }
    }

    const PLAIN: How = How { drop_repeat: true, durable: false };
    const DURABLE: How = How { drop_repeat: true, durable: true };

    fn entry(n: u32) -> Entry {
        let actor = json!({ "agent": "sage", "id": "sage-1" });
        let event = json!({ "type": "NOTE", "timestamp": "2024-01-01", "actor": actor, "n": n });
        Entry::new(&event, IdRule::Computed).unwrap()
    }

    #[rstest]
    #[case::nothing_goes_in(0)]
    #[case::one_byte_goes_in(1)]
    #[case::half_goes_in(60)]
    fn a_full_disk_leaves_no_torn_line(
        #[case] room: usize,
        #[values("", "{\"a\":1}\n", "{\"a\":1}\n{\"tor")] before: &str,
    ) {
        let disk = Disk { room: Some(room), ..Disk::holding(before) };
        let error = disk.append(&entry(1), PLAIN).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(disk.text(), before);
    }

    #[test]
    fn a_line_that_could_not_be_taken_back_is_closed_by_the_next_writer() {
        let mut disk = Disk { room: Some(10), truncate_fails: true, ..Disk::default() };
        disk.append(&entry(1), PLAIN).unwrap_err();
        disk.room = None;
        disk.append(&entry(2), PLAIN).unwrap();
        assert_eq!(disk.text(), format!("{}\n{}", &entry(1).line()[..10], entry(2).line()));
    }

    #[test]
    fn an_interrupted_write_is_made_again() {
        let disk = Disk { interrupts: Mutex::new(3), ..Disk::default() };
        disk.append(&entry(1), PLAIN).unwrap();
        assert_eq!(disk.text(), entry(1).line());
    }

    #[test]
    fn what_cannot_be_synced_is_taken_back() {
        let disk = Disk { sync_fails: true, ..Disk::holding("{\"a\":1}\n") };
        disk.append(&entry(1), DURABLE).unwrap_err();
        assert_eq!(disk.text(), "{\"a\":1}\n");
    }

    #[test]
    fn a_durable_append_syncs_even_what_it_leaves_out() {
        let disk = Disk::default();
        for syncs in 1..=2 {
            disk.append(&entry(1), DURABLE).unwrap();
            assert_eq!(*disk.syncs.lock().unwrap(), syncs);
        }
        assert_eq!(disk.text(), entry(1).line());
    }

    #[rstest]
    #[case::whole("", "\n", false)]
    #[case::garbage_after("", "\ngarbage\n\n", false)]
    #[case::another_after("", "\n{\"eventId\":\"another\"}\n", true)]
    #[case::same_text_elsewhere("{\"eventId\":\"x\",\"prevEventId\":", "}\n", true)]
    fn a_repeat_of_the_last_event_is_left_out(
        #[case] head: &str,
        #[case] tail: &str,
        #[case] appended: bool,
    ) {
        let entry = entry(1);
        let before = format!("{head}{}{tail}", entry.line().trim_end());
        let disk = Disk::holding(&before);
        disk.append(&entry, PLAIN).unwrap();
        let expect = if appended { format!("{before}{}", entry.line()) } else { before };
        assert_eq!(disk.text(), expect);
    }

    /// The event is acknowledged, so its line is complete from now on, and no later append runs into it.
    #[rstest]
    #[case::its_own_end_is_missing("")]
    #[case::something_torn_follows("\n{\"type\":\"NO")]
    fn a_repeat_ends_the_line_that_a_dead_writer_left(#[case] tail: &str) {
        let entry = entry(1);
        let before = format!("{}{tail}", entry.line().trim_end());
        let disk = Disk::holding(&before);
        disk.append(&entry, PLAIN).unwrap();
        assert_eq!(disk.text(), format!("{before}\n"));
    }

    #[rstest]
    #[case::the_last_of_two_counts("\"eventId\":\"other\",\"eventId\":\"ID\"", false)]
    #[case::the_first_of_two_does_not("\"eventId\":\"ID\",\"eventId\":\"other\"", true)]
    #[case::no_string("\"eventId\":[\"ID\"]", true)]
    #[case::null("\"eventId\":null", true)]
    #[case::deeper("\"x\":{\"eventId\":\"ID\"}", true)]
    fn an_odd_id_is_compared_as_it_is_read(#[case] members: &str, #[case] appended: bool) {
        let before = format!("{{{}}}\n", members.replace("ID", entry(1).id()));
        let disk = Disk::holding(&before);
        disk.append(&entry(1), PLAIN).unwrap();
        assert_eq!(disk.text() != before, appended);
    }

    #[test]
    fn an_id_in_escapes_is_the_same_id() {
        let escaped: String =
            entry(1).id().chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
        let before = format!("{{\"eventId\":\"{escaped}\"}}\n");
        let disk = Disk::holding(&before);
        disk.append(&entry(1), PLAIN).unwrap();
        assert_eq!(disk.text(), before);
    }

    #[test]
    fn of_a_log_that_ends_as_expected_no_more_is_read() {
        /// Ends in a line, and cannot be read before it.
        struct Long(Disk);
        impl ReadAt for Long {
            fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
                assert_eq!(offset, 6, "the end of the line before is enough");
                self.0.read_at(buffer, offset)
            }
        }
        impl Log for Long {
            fn write(&self, bytes: &[u8]) -> io::Result<usize> {
                self.0.write(bytes)
            }
            fn truncate(&self, len: u64) -> io::Result<()> {
                self.0.truncate(len)
            }
            fn sync(&self) -> io::Result<()> {
                self.0.sync()
            }
        }
        let before = format!("before\n{}", entry(1).line());
        let log = Long(Disk::holding(&before));
        append(&log, before.len() as u64, Some(&entry(1)), &entry(1), PLAIN).unwrap();
        assert_eq!(log.0.text(), before);
        append(&log, before.len() as u64, Some(&entry(1)), &entry(2), PLAIN).unwrap();
        assert_eq!(log.0.text(), before + entry(2).line());
    }

    proptest! {
        /// It may be true or false: what is appended does not depend on it.
        #[test]
        fn what_a_log_is_thought_to_end_with_decides_nothing(
            pieces in prop::collection::vec((0..3_u32, 0..200_usize, any::<bool>()), 0..4),
            last in 0..3_u32,
            n in 0..3_u32,
        ) {
            let mut before = String::new();
            for (n, cut, whole) in pieces {
                let line = entry(n).line().to_owned();
                before += if whole { &line } else { &line[..cut.min(line.len())] };
            }
            let (with, without) = (Disk::holding(&before), Disk::holding(&before));
            let len = before.len() as u64;
            append(&with, len, Some(&entry(last)), &entry(n), PLAIN).unwrap();
            append(&without, len, None, &entry(n), PLAIN).unwrap();
            prop_assert_eq!(with.text(), without.text());
        }
    }
}
