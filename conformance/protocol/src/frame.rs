//! Reads bounded lines from a byte stream.

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::message::excerpt;

/// Why no more lines can be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("a line is longer than {limit} bytes")]
    TooLong { limit: usize },
    #[error("the stream ended in the middle of a line: `{excerpt}`")]
    HalfALine { excerpt: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Reads lines of at most `limit` bytes. Scans each byte once, however the stream is split.
#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// There is no newline before this offset.
    searched: usize,
    limit: usize,
}

const CHUNK: usize = 64 * 1024;

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(source: R, limit: usize) -> Self {
        Self { source, buffer: Vec::with_capacity(CHUNK), start: 0, searched: 0, limit }
    }

    /// The next line without its end (`\n` or `\r\n`), or `None` at a clean end of the stream. Skips blank lines.
    /// Cancel-safe: no data is lost.
    pub async fn next_line(&mut self) -> Result<Option<&[u8]>, FrameError> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let (from, end) = (self.start, self.searched + at);
                self.start = end + 1;
                self.searched = self.start;
                let to = if self.buffer[from..end].ends_with(b"\r") { end - 1 } else { end };
                if to - from > self.limit {
                    return Err(FrameError::TooLong { limit: self.limit });
                }
                if self.buffer[from..to].iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Ok(Some(&self.buffer[from..to]));
            }
            self.searched = self.buffer.len();
            if self.searched - self.start > self.limit + 1 {
                return Err(FrameError::TooLong { limit: self.limit });
            }
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
            self.buffer.reserve(CHUNK);
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                return if self.buffer.iter().all(u8::is_ascii_whitespace) {
                    Ok(None)
                } else {
                    Err(FrameError::HalfALine { excerpt: excerpt(&self.buffer) })
                };
            }
        }
    }

    /// The bytes of an incomplete line.
    pub fn unfinished(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use proptest::prelude::*;
    use tokio::io::ReadBuf;

    use super::*;

    /// Returns a few bytes at a time, as a pipe may.
    struct Dribble(Cursor<Vec<u8>>, usize);

    impl AsyncRead for Dribble {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            let at = usize::try_from(self.0.position()).unwrap();
            let end = (at + self.1).min(self.0.get_ref().len()).min(at + buf.remaining());
            buf.put_slice(&self.0.get_ref()[at..end]);
            self.0.set_position(end as u64);
            Poll::Ready(Ok(()))
        }
    }

    fn read_all(bytes: &[u8], step: usize, limit: usize) -> (Vec<String>, Option<String>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut reader = LineReader::new(Dribble(Cursor::new(bytes.to_vec()), step), limit);
            let mut lines = Vec::new();
            loop {
                match reader.next_line().await {
                    Ok(Some(line)) => lines.push(String::from_utf8(line.to_vec()).unwrap()),
                    Ok(None) => return (lines, None),
                    Err(fault) => return (lines, Some(fault.to_string())),
                }
            }
        })
    }

    #[track_caller]
    fn check(bytes: &str, limit: usize, lines: &[&str], fault: Option<&str>) {
        for step in [1, 2, 7, 1 << 20] {
            let (got, end) = read_all(bytes.as_bytes(), step, limit);
            assert_eq!(
                (got.iter().map(String::as_str).collect::<Vec<_>>(), end.as_deref()),
                (lines.to_vec(), fault),
                "{step} bytes at a time"
            );
        }
    }

    #[test]
    fn lines_survive_any_split() {
        check("{}\n[1]\r\n\n  \nx\n", 10, &["{}", "[1]", "x"], None);
    }

    #[test]
    fn half_a_line_is_an_error() {
        check("a\nbc", 10, &["a"], Some("the stream ended in the middle of a line: `bc`"));
    }

    #[test]
    fn the_bound_is_inclusive() {
        check("12345\n", 5, &["12345"], None);
        check("12345\r\n", 5, &["12345"], None);
        check("123456\n", 5, &[], Some("a line is longer than 5 bytes"));
        check("1234567890", 5, &[], Some("a line is longer than 5 bytes"));
    }

    proptest! {
        #[test]
        fn written_lines_are_read_back(lines in prop::collection::vec("[a-zé]{1,30}", 0..20), step in 1usize..40) {
            let bytes: String = lines.iter().map(|line| format!("{line}\n")).collect();
            prop_assert_eq!(read_all(bytes.as_bytes(), step, 64), (lines, None));
        }
    }
}
