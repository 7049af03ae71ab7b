//! Unified diffs of one file: read here, applied in [`apply`].
//!
//! As `git apply` does it, with these differences: file headers may be missing, and what they name
//! does not matter; a hunk without context goes exactly where it says; hunks are applied in their
//! order; lines that belong to no hunk are refused where git passes over them.

mod apply;

/// A patch of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patch {
    pub(crate) kind: Kind,
    hunks: Vec<Hunk>,
}

/// What becomes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Change,
    /// From `/dev/null`.
    Create,
    /// To `/dev/null`.
    Delete,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    old_start: usize,
    new_start: usize,
    lines: Vec<Line>,
}

/// A line of a hunk, with its line end unless it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    side: Side,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Old,
    New,
}

impl Patch {
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = Lines { left: text.split_inclusive('\n').collect(), next: 0 };
        let mut kind = None;
        let mut hunks = Vec::new();
        while let Some(line) = lines.peek() {
            if line.starts_with("@@") {
                hunks.push(lines.hunk()?);
            } else if line.starts_with("--- ") && lines.peek_second().starts_with("+++ ") {
                if kind.is_some() || !hunks.is_empty() {
                    return Err("is of more than one file".to_owned());
                }
                kind = Some(header(line, lines.peek_second())?);
                lines.next += 2;
                if !lines.peek().is_some_and(|line| line.starts_with("@@")) {
                    return Err(format!("has no hunk below its header: line {}", lines.next + 1));
                }
            } else if line.starts_with("diff ") && (kind.is_some() || !hunks.is_empty()) {
                return Err("is of more than one file".to_owned());
            } else if !hunks.is_empty() && !is_signature(line) && is_body(line) {
                return Err(format!("has a line that no hunk counts: line {}", lines.next + 1));
            } else {
                lines.next += 1;
            }
        }
        if hunks.is_empty() {
            return Err("has no hunk: `@@ -1,2 +1,2 @@` and its lines".to_owned());
        }
        let patch = Self { kind: kind.unwrap_or(Kind::Change), hunks };
        patch.check()
    }

    fn check(self) -> Result<Self, String> {
        let has =
            |side| self.hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| line.side == side);
        let is_whole = !has(Side::Both) && self.hunks.len() == 1;
        match self.kind {
            Kind::Create if !is_whole || has(Side::Old) => {
                Err("makes a new file, but speaks of old lines".to_owned())
            }
            Kind::Delete if !is_whole || has(Side::New) => {
                Err("deletes the file, but leaves lines".to_owned())
            }
            _ => Ok(self),
        }
    }
}

/// Whether a line looks as those of a hunk do.
fn is_body(line: &str) -> bool {
    line.starts_with([' ', '+', '-', '\\'])
}

/// What mail programs put below a patch.
fn is_signature(line: &str) -> bool {
    line.trim_end_matches(['\n', '\r']) == "-- "
}

fn header(old: &str, new: &str) -> Result<Kind, String> {
    let is_nothing = |line: &str| {
        line[4..]
            .strip_prefix("/dev/null")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    };
    match (is_nothing(old), is_nothing(new)) {
        (false, false) => Ok(Kind::Change),
        (true, false) => Ok(Kind::Create),
        (false, true) => Ok(Kind::Delete),
        (true, true) => Err("is from `/dev/null` to `/dev/null`".to_owned()),
    }
}

struct Lines<'a> {
    left: Vec<&'a str>,
    next: usize,
}

impl<'a> Lines<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.left.get(self.next).copied()
    }

    fn peek_second(&self) -> &'a str {
        self.left.get(self.next + 1).copied().unwrap_or_default()
    }

    fn hunk(&mut self) -> Result<Hunk, String> {
        let at = self.next + 1;
        let head = self.peek().unwrap_or_default();
        let (old, new) =
            ranges(head).ok_or_else(|| format!("has no legal hunk header in line {at}"))?;
        self.next += 1;
        let mut lines: Vec<Line> = Vec::new();
        let (mut old_left, mut new_left) = (old.1, new.1);
        while old_left > 0 || new_left > 0 {
            let Some(line) = self.peek() else {
                return Err(format!("ends inside the hunk of line {at}"));
            };
            if !line.ends_with('\n') && !line.starts_with('\\') {
                // It may have been cut anywhere.
                return Err(format!("ends inside line {}, without a newline", self.next + 1));
            }
            let wrong = || format!("has a line that does not fit its hunk: line {}", self.next + 1);
            let (side, text) = match line.as_bytes() {
                [b' ', text @ ..] => (Side::Both, text),
                // Some editors strip the space of an empty line.
                b"\n" => (Side::Both, line.as_bytes()),
                [b'-', text @ ..] => (Side::Old, text),
                [b'+', text @ ..] => (Side::New, text),
                [b'\\', ..] if is_end_mark(line) && !lines.is_empty() => {
                    end_without_newline(&mut lines);
                    self.next += 1;
                    continue;
                }
                _ => return Err(wrong()),
            };
            for (counted, left) in
                [(side != Side::New, &mut old_left), (side != Side::Old, &mut new_left)]
            {
                if counted {
                    *left = left.checked_sub(1).ok_or_else(wrong)?;
                }
            }
            lines.push(Line { side, text: text.to_vec() });
            self.next += 1;
        }
        if self.peek().is_some_and(is_end_mark) && !lines.is_empty() {
            end_without_newline(&mut lines);
            self.next += 1;
        }
        if lines.iter().all(|line| line.side == Side::Both) {
            return Err(format!("changes nothing in the hunk of line {at}"));
        }
        check_ends(&lines).map_err(|reason| format!("{reason} in the hunk of line {at}"))?;
        Ok(Hunk { old_start: old.0, new_start: new.0, lines })
    }
}

/// `\ No newline at end of file`, in whatever language. As in git, shorter ones have been cut.
fn is_end_mark(line: &str) -> bool {
    line.starts_with("\\ ") && line.len() >= 12
}

/// The mark is about the line before it.
fn end_without_newline(lines: &mut [Line]) {
    if let Some(last) = lines.last_mut()
        && last.text.last() == Some(&b'\n')
    {
        last.text.pop();
    }
}

/// Only the last line of either side can be without a newline.
fn check_ends(lines: &[Line]) -> Result<(), &'static str> {
    for side in [Side::Old, Side::New] {
        let mut of_side = lines.iter().filter(|line| line.side == Side::Both || line.side == side);
        let _last = of_side.next_back();
        if of_side.any(|line| line.text.last() != Some(&b'\n')) {
            return Err("has a line without a newline before others");
        }
    }
    Ok(())
}

type Range = (usize, usize);

/// `@@ -1,2 +3,4 @@ anything`.
fn ranges(line: &str) -> Option<(Range, Range)> {
    let (old, rest) = range(line.strip_prefix("@@ -")?)?;
    let (new, rest) = range(rest.strip_prefix(" +")?)?;
    rest.starts_with(" @@").then_some((old, new))
}

/// `1,2` or `1`, which is `1,1`, and what follows.
fn range(text: &str) -> Option<(Range, &str)> {
    let (start, rest) = number(text)?;
    match rest.strip_prefix(',') {
        Some(rest) => number(rest).map(|(count, rest)| ((start, count), rest)),
        None => Some(((start, 1), rest)),
    }
}

fn number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}
