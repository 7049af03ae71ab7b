//! Parses server-sent events from bytes in chunks of any size.
//!
//! It returns only the data of an event; names and ids are ignored, and comments only keep a connection alive.

/// Limit of a line and of an event's data, which are buffered until they end.
pub(crate) const LONGEST: usize = 1 << 20;

/// Why the bytes are not events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SseFault {
    TooLong,
    NotUtf8,
    /// The bytes ended in the middle of an event.
    Half,
}

impl std::fmt::Display for SseFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong => write!(f, "an event of more than {LONGEST} bytes"),
            Self::NotUtf8 => f.write_str("an event that is not UTF-8"),
            Self::Half => f.write_str("half an event at the end"),
        }
    }
}

#[derive(Default)]
pub(crate) struct Sse {
    buffer: Vec<u8>,
    /// The start of the unread line.
    start: usize,
    /// The line has no end before this position.
    scanned: usize,
    /// A line ended in CR; a following LF belongs to it.
    after_cr: bool,
    /// The first line may begin with a byte order mark.
    begun: bool,
    /// The data of the event so far.
    data: Option<String>,
}

impl Sse {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The data of the next event that is there in full.
    pub(crate) fn next_data(&mut self) -> Result<Option<String>, SseFault> {
        while let Some((start, end)) = self.next_line()? {
            let line = &self.buffer[start..end];
            if line.is_empty() {
                if let Some(data) = self.data.take() {
                    return Ok(Some(data));
                }
                continue;
            }
            let Some(value) = data_of(line) else { continue };
            let value = std::str::from_utf8(value).map_err(|_| SseFault::NotUtf8)?;
            match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) if data.len() + value.len() >= LONGEST => return Err(SseFault::TooLong),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            }
        }
        Ok(None)
    }

    /// No more bytes come.
    pub(crate) fn finish(&self) -> Result<(), SseFault> {
        // A lone LF of a CR LF is no beginning of anything.
        let rest = &self.buffer[self.start..];
        let rest = if self.after_cr { rest.strip_prefix(b"\n").unwrap_or(rest) } else { rest };
        if rest.is_empty() && self.data.is_none() { Ok(()) } else { Err(SseFault::Half) }
    }

    /// Where the next whole line is, without its end.
    fn next_line(&mut self) -> Result<Option<(usize, usize)>, SseFault> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.scanned = self.scanned.max(self.start);
            }
        }
        let found = memchr::memchr2(b'\n', b'\r', &self.buffer[self.scanned..]);
        let end = found.map_or(self.buffer.len(), |offset| self.scanned + offset);
        if end - self.start > LONGEST {
            return Err(SseFault::TooLong);
        }
        self.scanned = end;
        if found.is_none() {
            return Ok(None);
        }
        let mut start = self.start;
        if !self.begun {
            self.begun = true;
            if self.buffer[start..end].starts_with(b"\xef\xbb\xbf") {
                start += 3;
            }
        }
        self.after_cr = self.buffer[end] == b'\r';
        self.start = end + 1;
        self.scanned = self.start;
        Ok(Some((start, end)))
    }
}

/// What a line adds to the data; nothing when it is a comment or another field.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    /// Everything that is read from these pieces, and how it ended.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, Result<(), SseFault>) {
        let (mut sse, mut all) = (Sse::default(), Vec::new());
        for piece in pieces {
            sse.push(piece);
            loop {
                match sse.next_data() {
                    Ok(Some(data)) => all.push(data),
                    Ok(None) => break,
                    Err(fault) => return (all, Err(fault)),
                }
            }
        }
        (all, sse.finish())
    }

    #[rstest]
    #[case::lf("data: a\n\ndata: b\n\n", &["a", "b"])]
    #[case::crlf("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"])]
    #[case::cr("data: a\r\rdata: b\r\r", &["a", "b"])]
    #[case::mixed("data: a\r\n\ndata: b\n\r\n", &["a", "b"])]
    #[case::no_space("data:a\n\n", &["a"])]
    #[case::one_space_only("data:  a \n\n", &[" a "])]
    #[case::many_lines("data: a\ndata: b\ndata:\ndata: c\n\n", &["a\nb\n\nc"])]
    #[case::bare_field("data\n\n", &[""])]
    #[case::comments(": ping\n\n:\ndata: a\n: in between\n\n", &["a"])]
    #[case::other_fields("event: x\nid: 1\nretry: 5\ndata: a\ndatum: b\ndata-x: c\n\n", &["a"])]
    #[case::other_fields_alone("event: x\nid: 1\n\n", &[])]
    #[case::blank_lines("\n\n\ndata: a\n\n\n\n", &["a"])]
    #[case::byte_order_mark("\u{feff}data: a\n\n", &["a"])]
    #[case::mark_later_is_no_field("data: a\n\n\u{feff}data: b\n\n", &["a"])]
    #[case::beyond_ascii("data: żółć 🦀\n\n", &["żółć 🦀"])]
    #[case::colons("data: a: b\n\n", &["a: b"])]
    #[case::nothing("", &[])]
    fn events(#[case] text: &str, #[case] expected: &[&str]) {
        let whole = read([text.as_bytes()]);
        assert_eq!(whole, (expected.iter().map(|&data| data.to_owned()).collect(), Ok(())));
        assert_eq!(read(text.as_bytes().chunks(1)), whole, "byte by byte");
    }

    #[rstest]
    #[case::no_blank_line("data: a\n\ndata: b\n", 1)]
    #[case::no_line_end("data: a\n\ndata: b", 1)]
    #[case::half_a_field("dat", 0)]
    #[case::half_a_comment("data: a\n\n: pi", 1)]
    #[case::half_a_blank_line_is_one("data: a\r\n\r", 1)]
    fn half_events(#[case] text: &str, #[case] whole: usize) {
        let (events, end) = read([text.as_bytes()]);
        let complete = text.ends_with("\r\n\r");
        assert_eq!((events.len(), end.is_ok()), (whole, complete));
    }

    #[test]
    fn bytes_that_are_no_text() {
        assert_eq!(read([&b"data: \xff\n\n"[..]]), (vec![], Err(SseFault::NotUtf8)));
    }

    #[rstest]
    #[case::just_long_enough(LONGEST - 6, true)]
    #[case::too_long(LONGEST - 5, false)]
    fn the_longest_line(#[case] length: usize, #[case] fits: bool) {
        let line = format!("data: {}", "x".repeat(length));
        let (events, end) = read(format!("{line}\n\n").as_bytes().chunks(4096));
        assert_eq!(
            (events.len(), end),
            if fits { (1, Ok(())) } else { (0, Err(SseFault::TooLong)) }
        );
        // Not only when the line is over: nobody has to wait for that.
        let (_, end) = read(line.as_bytes().chunks(4096));
        assert_eq!(end, Err(if fits { SseFault::Half } else { SseFault::TooLong }));
    }

    #[test]
    fn many_short_lines_are_bounded_too() {
        let text = "data: 0123456789\n".repeat(LONGEST / 10);
        assert_eq!(read(text.as_bytes().chunks(4096)).1, Err(SseFault::TooLong));
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(
            text in r"((data: ?[a-zé🦀:]{0,6}|: c|event: x|[a-z]{0,3})?(\n|\r\n|\r)){0,12}(data: x)?",
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces = places.windows(2).map(|place| &bytes[place[0]..place[1]]);
            prop_assert_eq!(read(pieces), read([bytes]));
        }
    }
}
