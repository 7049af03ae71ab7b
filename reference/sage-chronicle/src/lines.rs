//! From bytes to events. Whatever is not an event is passed over, so content never fails.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use memchr::{memchr, memrchr};

use crate::event::Event;

/// Bytes that can be read at any place: a file, or a slice in tests.
pub(crate) trait ReadAt: Sync {
    /// As [`std::os::unix::fs::FileExt::read_at`].
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for std::fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }
}

/// Every event in the first `len` bytes, in order. Blocks are parsed side by side.
pub(crate) fn all(source: &impl ReadAt, len: u64, block: usize) -> io::Result<Vec<Event>> {
    let blocks = len.div_ceil(block as u64);
    let workers = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    if blocks <= 1 || workers == 1 {
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
    // The byte before the block tells whether a line begins with the block.
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

/// The events of a chronicle from the last one on, reading no further back than it must.
pub(crate) struct Backwards<'a, S> {
    source: &'a S,
    block: usize,
    /// Where `buffer` lies in the source.
    start: u64,
    buffer: Vec<u8>,
    /// How much of `buffer` is still to be looked at; `None` after the first line of all.
    stop: Option<usize>,
    /// What is known of the line that begins before `buffer[..stop]` ends, last piece first.
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

    /// Whether the last byte ends a line; so does the end of nothing. Asked before [`Self::next`].
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

    /// Keeps `buffer[..stop]`, the end of a line, and goes on with the block before it.
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
