//! What is wrong with a suite's files: where, what, and what would be right.

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
            // A law stands in no file.
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// Some characters of a line. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub line: usize,
    pub column: usize,
    pub length: usize,
}

/// One fault in a ledger, a fixture or a feature.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where what is wrong begins: the case, the step, the requirement.
    pub at: Location,
    /// What is wrong, and what would be right.
    pub message: String,
    /// The characters to look at.
    place: Option<Span>,
    row: Option<Row>,
}

/// The row of an outline's examples with which a step of the outline is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    line: usize,
    /// So many rows has the outline.
    among: usize,
}

impl Problem {
    pub fn new(file: &str, line: usize, message: impl Into<String>) -> Self {
        let at = Location { file: file.to_owned(), line };
        Self { at, message: message.into(), place: None, row: None }
    }

    /// As [`Problem::new`], where the very characters are known.
    pub fn exact(file: &str, place: Span, message: impl Into<String>) -> Self {
        Self { place: Some(place), ..Self::new(file, place.line, message) }
    }

    /// The same, with a better place inside of what is wrong.
    pub fn inside(self, place: Span) -> Self {
        Self { place: Some(place), ..self }
    }

    /// The same, which shows with the row of examples on this line.
    pub fn of_row(self, line: usize, among: usize) -> Self {
        Self { row: Some(Row { line, among }), ..self }
    }

    /// The characters to look at.
    pub fn place(&self) -> Span {
        self.place.unwrap_or(Span { line: self.at.line, column: 1, length: 0 })
    }

    /// Whether it says no more than that nobody has written a case for a requirement yet.
    pub fn is_missing_case(&self) -> bool {
        self.message.contains(NO_CASE)
    }

    /// The part of the message that says what would be right: what follows the semicolon, or all of it
    /// where one sentence says both.
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

    /// Finds the place, where it is not known yet, by what the message quotes: the first such word that stands on the line or
    /// below it, before line `until`; else the whole line.
    pub fn locate(&mut self, text: &str, until: usize) {
        if self.place.is_some() {
            return;
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = || text.lines().enumerate().map(|(index, line)| (index + 1, line));
        let below = || lines().filter(|(line, _)| (self.at.line..until).contains(line));
        // A narrative's tags stand above it.
        let above = || lines().filter(|(line, _)| *line < self.at.line).collect::<Vec<_>>();
        let about_a_case = self.message.starts_with("case `");
        let mut words: Vec<&str> =
            self.message.split('`').skip(1).step_by(2).filter(|word| !word.is_empty()).collect();
        if about_a_case && words.len() > 1 {
            // Its name is the last resort.
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

/// What is said of a requirement without a case.
pub const NO_CASE: &str = "has no case; write one that shows it, or say in `excluded` why none can";

/// In order, and each once, though a step of an outline or a background is read for each case that it is part of.
/// Where it is not wrong with every row, the rows are named.
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

/// The stretches of a message that quote nothing.
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

/// Where the lines of a text begin, so that finding the line of an offset is no scan of the text.
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

    /// The place of some bytes of the text, up to the end of their first line.
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

/// The byte offset of what a reader of `text` calls line and column, both from 1, columns in bytes.
pub fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (before + column.saturating_sub(1)).min(text.len())
}

/// The name in `known` that is nearest to `word`, if one is near enough to be a slip of the pen.
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

/// How many letters must be added, dropped or changed (Levenshtein).
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
    fn a_slip_of_the_pen_is_recognised() {
        assert_eq!(nearest("CHRONICEL-001", ["CHRONICLE-001", "UTILS-001"]), Some("CHRONICLE-001"));
        assert_eq!(nearest("xyz", ["CHRONICLE-001"]), None);
    }

    #[test]
    fn a_fix_follows_the_semicolon_that_quotes_nothing() {
        let fix = |message: &str| Problem::new("f", 1, message).fix().to_owned();
        assert_eq!(fix("no step says `a; b`; the nearest is `c; d`"), "the nearest is `c; d`");
        assert_eq!(fix("unknown field `x`, expected `y`"), "`y`");
        assert_eq!(fix("no `x` (did you mean `y`?)"), "did you mean `y`?");
        assert_eq!(fix("it must be `y`"), "it must be `y`");
    }

    #[test]
    fn a_place_is_found_by_what_the_message_quotes() {
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
