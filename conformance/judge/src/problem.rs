//! Problems in a suite's files: where, what is wrong, and how to fix it.

use std::fmt;

/// A place in a file of the suite. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub file: String,
    pub line: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            // A law is in no file.
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// A range of characters in one line. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub line: usize,
    pub column: usize,
    pub length: usize,
}

/// One problem in a ledger, a fixture or a feature.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where the wrong case, step or requirement begins.
    pub at: Location,
    /// What is wrong, and how to fix it.
    pub message: String,
    /// The characters to highlight.
    place: Option<Span>,
    row: Option<Row>,
}

/// The example row for which a step of an outline is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    line: usize,
    /// The number of rows of the outline.
    among: usize,
}

impl Problem {
    pub fn new(file: &str, line: usize, message: impl Into<String>) -> Self {
        let at = Location { file: file.to_owned(), line };
        Self { at, message: message.into(), place: None, row: None }
    }

    /// As [`Problem::new`], with the exact characters.
    pub fn exact(file: &str, place: Span, message: impl Into<String>) -> Self {
        Self { place: Some(place), ..Self::new(file, place.line, message) }
    }

    /// The same, with a more precise place.
    pub fn inside(self, place: Span) -> Self {
        Self { place: Some(place), ..self }
    }

    /// The same, for the example row on this line.
    pub fn of_row(self, line: usize, among: usize) -> Self {
        Self { row: Some(Row { line, among }), ..self }
    }

    /// The characters to highlight.
    pub fn place(&self) -> Span {
        self.place.unwrap_or(Span { line: self.at.line, column: 1, length: 0 })
    }

    /// Whether it only says that a requirement has no case yet.
    pub fn is_missing_case(&self) -> bool {
        self.message.contains(NO_CASE)
    }

    /// The part of the message that says how to fix it: the text after the semicolon, or the whole message if it has
    /// none.
    pub fn fix(&self) -> &str {
        let ends = outside_backticks(&self.message);
        let after = |mark: &str| {
            let found = ends.iter().find_map(|range| {
                self.message[range.clone()].find(mark).map(|at| range.start + at + mark.len())
            });
            found.map(|at| self.message[at..].trim())
        };
        let meant = || after(" (").and_then(|rest| rest.strip_suffix(')'));
        let meant = || meant().filter(|rest| rest.starts_with("did you mean "));
        after("; ").or_else(|| after(", expected ")).or_else(meant).unwrap_or(&self.message)
    }

    /// Finds the place, if it is not known yet, by the words that the message quotes: the first such word on the line
    /// or below it, before line `until`; otherwise the whole line.
    pub fn locate(&mut self, text: &str, until: usize) {
        if self.place.is_some() {
            return;
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = || text.lines().enumerate().map(|(index, line)| (index + 1, line));
        let below = || lines().filter(|(line, _)| (self.at.line..until).contains(line));
        // The tags of a narrative are above it.
        let above = || lines().filter(|(line, _)| *line < self.at.line).collect::<Vec<_>>();
        let about_a_case = self.message.starts_with("case `");
        let mut words: Vec<&str> =
            self.message.split('`').skip(1).step_by(2).filter(|word| !word.is_empty()).collect();
        if about_a_case && words.len() > 1 {
            // Look for the case's name last.
            words.rotate_left(1);
        }
        let found = words.into_iter().find_map(|word| {
            let quoted = format!("\"{word}\"");
            let tagged = format!(":{word}");
            let in_line = |(line, written): (usize, &str), word: &str| {
                let before = &written[..written.find(word)?];
                let (column, length) = (before.chars().count() + 1, word.chars().count());
                Some(Span { line, column, length })
            };
            below()
                .find_map(|line| in_line(line, &quoted))
                .or_else(|| below().find_map(|line| in_line(line, word)))
                .or_else(|| {
                    let tags = above().into_iter().rev();
                    tags.take_while(|(_, line)| line.trim_start().starts_with('@'))
                        .find_map(|line| in_line(line, &tagged))
                })
        });
        let whole = || {
            let (line, written) = below().next()?;
            let column = written.chars().take_while(|letter| letter.is_whitespace()).count() + 1;
            Some(Span { line, column, length: written.trim().chars().count() })
        };
        self.place = found.or_else(whole);
    }
}

/// The message for a requirement without a case.
pub const NO_CASE: &str = "has no case; write one that shows it, or say in `excluded` why none can";

/// Sorts and deduplicates: a step of an outline or a background is read once for each of its cases. If it is wrong
/// only for some rows, the message names them.
pub fn without_duplicates(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort();
    problems.dedup();
    let same = |a: &Problem, b: &Problem| a.at == b.at && a.message == b.message;
    let groups = problems.chunk_by(same).map(|group| {
        let mut merged = Problem { row: None, ..group[0].clone() };
        let rows: Option<Vec<Row>> = group.iter().map(|problem| problem.row).collect();
        if let Some(rows) = rows.filter(|rows| rows.len() == 1 || rows.len() < rows[0].among) {
            let s = if rows.len() == 1 { "" } else { "s" };
            let lines: Vec<String> = rows.iter().map(|row| row.line.to_string()).collect();
            merged.message =
                format!("with the example{s} on line{s} {}: {}", lines.join(", "), merged.message);
        }
        merged
    });
    groups.collect()
}

/// The parts of a message outside backticks.
fn outside_backticks(message: &str) -> Vec<std::ops::Range<usize>> {
    let mut at = 0;
    let mut ranges = Vec::new();
    for (index, part) in message.split('`').enumerate() {
        if index % 2 == 0 {
            ranges.push(at..at + part.len());
        }
        at += part.len() + 1;
    }
    ranges
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// The offsets of line ends, to find the line of an offset without a scan.
pub struct Lines(Vec<usize>);

impl Lines {
    pub fn of(text: &str) -> Self {
        Self(
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect(),
        )
    }

    /// The line of a byte offset, from 1.
    pub fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }

    /// The span of some bytes of the text, up to the end of their first line.
    pub fn place(&self, text: &str, bytes: std::ops::Range<usize>) -> Span {
        let line = self.at(bytes.start);
        let start = if line == 1 { 0 } else { self.0[line - 2] + 1 };
        let end = bytes.end.min(self.0.get(line - 1).copied().unwrap_or(text.len()));
        let letters = |range: std::ops::Range<usize>| {
            text.get(range).map_or(0, |part| part.trim_end_matches('\r').chars().count())
        };
        Span { line, column: letters(start..bytes.start) + 1, length: letters(bytes.start..end) }
    }
}

/// The byte offset of a line and column, both from 1, columns in bytes.
pub fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// The name in `known` that is closest to `word`, if `word` is likely a typo of it.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (distance(&word.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 1 + name.chars().count() / 3)
        .min()
        .map(|(_, name)| name)
}

/// ` (did you mean `x`?)`, or nothing.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// The Levenshtein distance.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_recognised() {
        assert_eq!(nearest("CHRONICEL-001", ["CHRONICLE-001", "UTILS-001"]), Some("CHRONICLE-001"));
        assert_eq!(nearest("xyz", ["CHRONICLE-001"]), None);
    }

    #[test]
    fn a_fix_follows_the_first_semicolon_outside_backticks() {
        let fix = |message: &str| Problem::new("f", 1, message).fix().to_owned();
        assert_eq!(fix("no step matches `a; b`; the nearest is `c; d`"), "the nearest is `c; d`");
        assert_eq!(fix("unknown field `x`, expected `y`"), "`y`");
        assert_eq!(fix("no `x` (did you mean `y`?)"), "did you mean `y`?");
        assert_eq!(fix("it must be `y`"), "it must be `y`");
    }

    #[test]
    fn a_place_is_found_by_the_words_that_the_message_quotes() {
        let place = |line: usize, message: &str| {
            let mut problem = Problem::new("f", line, message);
            problem.locate("  @shows:X-1\n  é a\n   \"b\": c", 9);
            let Span { line, column, length } = problem.place();
            (line, column, length)
        };
        assert_eq!(place(2, "case `a`: `b` is wrong"), (3, 4, 3));
        assert_eq!(place(2, "case `a`: all is wrong"), (2, 5, 1));
        assert_eq!(place(2, "case `z`: `X-1` is wrong"), (1, 9, 4));
        assert_eq!(place(2, "nothing quoted"), (2, 3, 3));
        assert_eq!(place(7, "beyond `a`"), (7, 1, 0));
    }

    #[test]
    fn lines_count_from_one() {
        let lines = Lines::of("a\nb\n");
        assert_eq!([0, 1, 2, 9].map(|at| lines.at(at)), [1, 1, 2, 3]);
    }
}
