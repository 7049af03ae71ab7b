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

/// One fault in a ledger, a fixture or a feature.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub at: Location,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { at: Location { file: file.to_owned(), line }, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

/// Where the lines of a text begin, so that finding the line of an offset is no scan of the text.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self(
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect(),
        )
    }

    /// The line of a byte offset, from 1.
    pub(crate) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
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
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

/// How many letters must be added, dropped or changed (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
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
    fn lines_count_from_one() {
        let lines = Lines::of("a\nb\n");
        assert_eq!([0, 1, 2, 9].map(|at| lines.at(at)), [1, 1, 2, 3]);
    }
}
