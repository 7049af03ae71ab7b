//! Parses bytes to events. Everything else is skipped, so content is never an error.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use memchr::{memchr, memrchr};

use crate::event::Event;

/// Random-access bytes: a file, or a slice in tests.
pub(crate) trait ReadAt: Sync {
    /// As [`std::os::unix::fs::FileExt::read_at`].
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for std::fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }
}

/// Every event in the first `len` bytes, in order. Blocks are parsed in parallel.
pub(crate) fn all(source: &impl ReadAt, len: u64, block: usize) -> io::Result<Vec<Event>> {
    let blocks = len.div_ceil(block as u64);
    // Ask the system only if it matters: on Linux the answer takes three files of /proc and /sys.
    let cores = || thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let workers = if blocks <= 1 { 1 } else { cores() };
    if workers == 1 {
        let mut events = Vec::new();
        let mut buffer = Vec::new();
        for index in 0..blocks {
            lines_beginning_in(source, index * block as u64, block, len, &mut buffer, &mut events)?;
        }
        return Ok(events);
    }

    let next = AtomicU64::new(0);
    let work = || -> io::Result<Vec<(u64, Vec<Event>)>> {
        let mut done = Vec::new();
        let mut buffer = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= blocks {
                return Ok(done);
            }
            let mut events = Vec::new();
            lines_beginning_in(source, index * block as u64, block, len, &mut buffer, &mut events)?;
            done.push((index, events));
        }
    };
    let mut parts = thread::scope(|scope| {
        let helpers: Vec<_> = (1..workers.min(blocks)).map(|_| scope.spawn(work)).collect();
        let mut parts = work()?;
        for helper in helpers {
            parts.extend(helper.join().expect("a parser does not panic")?);
        }
        io::Result::Ok(parts)
    })?;
    parts.sort_unstable_by_key(|(index, _)| *index);
    let mut events = Vec::with_capacity(parts.iter().map(|(_, part)| part.len()).sum());
    for (_, mut part) in parts {
        events.append(&mut part);
    }
    Ok(events)
}

/// Adds the events on the lines whose first byte lies in the block at `start`. The last of these
/// lines may go on beyond the block.
fn lines_beginning_in(
    source: &impl ReadAt,
    start: u64,
    block: usize,
    len: u64,
    buffer: &mut Vec<u8>,
    events: &mut Vec<Event>,
) -> io::Result<()> {
    // The byte before the block shows whether a line begins with the block.
    let from = start.saturating_sub(1);
    let end = len.min(start + block as u64);
    fill(source, buffer, from, end)?;
    let mut begin = match (start, memchr(b'\n', buffer)) {
        (0, _) => 0,
        (_, Some(newline)) => newline + 1,
        (_, None) => return Ok(()),
    };
    while let Some(length) = memchr(b'\n', &buffer[begin..]) {
        events.extend(Event::parse(&buffer[begin..begin + length]));
        begin += length + 1;
    }
    // A line that begins exactly at the end belongs to the next block.
    if begin == buffer.len() {
        return Ok(());
    }
    buffer.drain(..begin);
    let mut at = end;
    let mut more = Vec::new();
    while at < len {
        let until = len.min(at + block as u64);
        fill(source, &mut more, at, until)?;
        match memchr(b'\n', &more) {
            Some(newline) => {
                buffer.extend_from_slice(&more[..newline]);
                break;
            }
            None => buffer.extend_from_slice(&more),
        }
        at = until;
    }
    events.extend(Event::parse(buffer));
    Ok(())
}

/// The last `want` events in the first `len` bytes, in order.
pub(crate) fn last(
    source: &impl ReadAt,
    len: u64,
    want: u64,
    block: usize,
) -> io::Result<Vec<Event>> {
    let mut events = Vec::new();
    if want > 0 {
        let mut backwards = Backwards::from_end(source, len, block)?;
        while (events.len() as u64) < want {
            let Some(event) = backwards.next()? else { break };
            events.push(event);
        }
    }
    events.reverse();
    Ok(events)
}

/// The events of a chronicle from last to first, reading no further back than needed.
pub(crate) struct Backwards<'a, S> {
    source: &'a S,
    block: usize,
    /// The position of `buffer` in the source.
    start: u64,
    buffer: Vec<u8>,
    /// How much of `buffer` is unread; `None` after the very first line.
    stop: Option<usize>,
    /// The known parts of the line that ends in `buffer[..stop]`, last part first.
    pieces: Vec<Vec<u8>>,
}

impl<'a, S: ReadAt> Backwards<'a, S> {
    pub(crate) fn from_end(source: &'a S, len: u64, block: usize) -> io::Result<Self> {
        let start = len.saturating_sub(block as u64);
        let mut buffer = Vec::new();
        fill(source, &mut buffer, start, len)?;
        let stop = Some(buffer.len());
        Ok(Self { source, block, start, buffer, stop, pieces: Vec::new() })
    }

    /// Whether the last byte ends a line (true if empty). Call it before [`Self::next`].
    pub(crate) fn ends_whole(&self) -> bool {
        self.buffer.last().is_none_or(|byte| *byte == b'\n')
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Event>> {
        while let Some(stop) = self.stop {
            let newline = memrchr(b'\n', &self.buffer[..stop]);
            if newline.is_none() && self.start > 0 {
                self.step_back(stop)?;
                continue;
            }
            let begin = newline.map_or(0, |newline| newline + 1);
            self.stop = newline;
            let event = if self.pieces.is_empty() {
                Event::parse(&self.buffer[begin..stop])
            } else {
                let mut line = self.buffer[begin..stop].to_vec();
                for piece in self.pieces.drain(..).rev() {
                    line.extend_from_slice(&piece);
                }
                Event::parse(&line)
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// Keeps `buffer[..stop]`, the end of a line, and continues with the block before it.
    fn step_back(&mut self, stop: usize) -> io::Result<()> {
        let mut piece = std::mem::take(&mut self.buffer);
        piece.truncate(stop);
        self.pieces.push(piece);
        let end = self.start;
        self.start = end.saturating_sub(self.block as u64);
        fill(self.source, &mut self.buffer, self.start, end)?;
        self.stop = Some(self.buffer.len());
        Ok(())
    }
}

/// Whether the last of `len` bytes are exactly the line `line`.
pub(crate) fn ends_with_line(source: &impl ReadAt, len: u64, line: &str) -> io::Result<bool> {
    let Some(start) = len.checked_sub(line.len() as u64) else { return Ok(false) };
    let mut buffer = Vec::new();
    // The byte before it shows whether a line begins with it.
    fill(source, &mut buffer, start.saturating_sub(1), len)?;
    let before = if start == 0 { b"".as_slice() } else { b"\n" };
    Ok(buffer.strip_prefix(before) == Some(line.as_bytes()))
}

/// Makes `buffer` the bytes from `from` to `end`, or fewer when the file has become shorter since
/// its length was taken: a failed append takes its torn line back.
fn fill(source: &impl ReadAt, buffer: &mut Vec<u8>, from: u64, end: u64) -> io::Result<()> {
    let wanted = usize::try_from(end - from).map_err(io::Error::other)?;
    buffer.resize(wanted, 0);
    let mut filled = 0;
    while filled < wanted {
        match source.read_at(&mut buffer[filled..], from + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.truncate(filled);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Map, Value};

    use super::*;

    impl ReadAt for Vec<u8> {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            io::Read::read(&mut self.get(offset as usize..).unwrap_or_default(), buffer)
        }
    }

    /// A plain implementation of reading.
    fn plainly(bytes: &[u8]) -> Vec<String> {
        bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| serde_json::from_slice::<Map<String, Value>>(line).is_ok())
            .map(|line| String::from_utf8(line.to_vec()).unwrap())
            .collect()
    }

    fn texts(events: Vec<Event>) -> Vec<String> {
        events.iter().map(|event| event.text().to_owned()).collect()
    }

    #[track_caller]
    fn check(bytes: &[u8], block: usize) {
        let (source, len) = (bytes.to_vec(), bytes.len() as u64);
        let expect = plainly(bytes);
        assert_eq!(texts(all(&source, len, block).unwrap()), expect, "block {block}");
        for n in 0..=expect.len() + 1 {
            let last_n = &expect[expect.len().saturating_sub(n)..];
            assert_eq!(texts(last(&source, len, n as u64, block).unwrap()), last_n, "n {n}");
        }
    }

    #[rstest]
    #[case::empty(b"")]
    #[case::one(b"{\"a\":1}\n")]
    #[case::no_end(b"{\"a\":1}\n{\"a\":2}")]
    #[case::torn(b"{\"a\":1}\n{\"a\":")]
    #[case::blank(b"\n\n{\"a\":1}\n\n\n{\"a\":2}\n\n")]
    #[case::carriage_returns(b"{\"a\":1}\r\n{\"a\":2}\r\n")]
    #[case::no_objects(b"1\n[]\nnull\n\"x\"\ntrue\n")]
    #[case::not_utf8(b"{\"a\":\"\xff\"}\n{\"a\":2}\n")]
    #[case::zeros(b"\0\0\0\n{\"a\":2}\n\0")]
    #[case::two_on_a_line(b"{\"a\":1}{\"a\":2}\n{\"a\":3}\n")]
    fn reading_gives_the_objects(#[case] bytes: &[u8]) {
        for block in 1..20 {
            check(bytes, block);
        }
    }

    #[test]
    fn a_line_may_be_longer_than_many_blocks() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1000));
        check(format!("{long}\n{{}}\n{long}\n{long}").as_bytes(), 64);
    }

    #[test]
    fn what_vanished_since_the_length_was_taken_is_not_read() {
        let source = b"{\"a\":1}\n{\"a\":2}\n".to_vec();
        for block in 1..20 {
            assert_eq!(texts(all(&source, 30, block).unwrap()), plainly(&source));
            assert_eq!(texts(last(&source, 30, 1, block).unwrap()), ["{\"a\":2}"]);
        }
    }

    /// Counts what is read of it.
    struct Counting(Vec<u8>, AtomicU64);

    impl ReadAt for Counting {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let count = self.0.read_at(buffer, offset)?;
            self.1.fetch_add(count as u64, Ordering::Relaxed);
            Ok(count)
        }
    }

    #[test]
    fn the_last_events_of_a_long_chronicle_are_found_at_its_end() {
        let source = Counting("{\"a\":1}\n".repeat(100_000).into_bytes(), AtomicU64::new(0));
        assert_eq!(last(&source, 800_000, 10, 4096).unwrap().len(), 10);
        assert_eq!(source.1.into_inner(), 4096);
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            5 => Just(b"{\"a\":1}".to_vec()),
            3 => "\\{\"[a-z]{0,9}\":\"[é\u{1F600}x]{0,30}\"\\}".prop_map(String::into_bytes),
            8 => Just(b"\n".to_vec()),
            2 => proptest::collection::vec(any::<u8>(), 0..6),
            1 => Just(b"{\"a\":".to_vec()),
        ]
    }

    proptest! {
        #[test]
        fn reading_gives_the_objects_of_any_bytes(
            pieces in proptest::collection::vec(pieces(), 0..40),
            block in 1..64_usize,
        ) {
            check(&pieces.concat(), block);
        }
    }
}
