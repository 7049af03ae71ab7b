//! The parts of a line of Gherkin: tags, cells, doc strings.

use super::document::Tag;
use super::parse::Wrong;
use proofmark_judge::problem::Span;

/// A line without its newline.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: usize,
    text: &'a str,
    pub(super) trimmed: &'a str,
    /// In characters.
    pub(super) indent: usize,
}

impl<'a> Line<'a> {
    pub(super) fn new(number: usize, text: &'a str) -> Self {
        let text = text.strip_suffix('\r').unwrap_or(text);
        let indent = text.chars().take_while(|letter| letter.is_whitespace()).count();
        Self { number, text, trimmed: text.trim(), indent }
    }

    /// The span of the trimmed line.
    pub(super) fn whole(&self) -> Span {
        let length = self.trimmed.chars().count();
        Span { line: self.number, column: self.indent + 1, length }
    }

    /// The span of a word in it.
    pub(super) fn word(&self, word: &str) -> Span {
        let before = self.text.find(word).map_or("", |at| &self.text[..at]);
        let (column, length) = (before.chars().count() + 1, word.chars().count());
        Span { line: self.number, column, length }
    }

    /// The line without `margin`, or without as much of it as the line has.
    fn after(&self, margin: usize) -> &'a str {
        let cut = self.text.char_indices().nth(margin.min(self.indent));
        cut.map_or("", |(at, _)| &self.text[at..])
    }
}

/// The tags of a line, up to a comment.
pub(super) fn tags(line: &Line<'_>) -> (Vec<Tag>, Vec<Wrong>) {
    let mut tags = Vec::new();
    let mut wrong = Vec::new();
    let comment = line.trimmed.char_indices().zip(line.trimmed.chars().skip(1));
    let end = comment
        .clone()
        .find(|((_, letter), next)| letter.is_whitespace() && *next == '#')
        .map_or(line.trimmed.len(), |((at, _), _)| at);
    let mut column = line.indent + 1;
    for item in line.trimmed[..end].split('@').skip(1) {
        let name = item.trim();
        let at = Span { line: line.number, column, length: name.chars().count() + 1 };
        column += item.chars().count() + 1;
        if name.is_empty() || name.contains(char::is_whitespace) {
            let message =
                format!("`@{name}` is not a tag; a tag is a word without spaces after `@`");
            wrong.push((at, message));
        } else {
            tags.push(Tag { at, name: name.to_owned() });
        }
    }
    (tags, wrong)
}

/// The cells of a row. `\n`, `\|` and `\\` stand for a newline, a bar and a backslash; any other backslash is kept.
pub(super) fn cells(line: &Line<'_>) -> Result<Vec<String>, Wrong> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut letters = line.trimmed.chars().skip(1);
    while let Some(letter) = letters.next() {
        match letter {
            '|' => cells.push(trimmed(&std::mem::take(&mut cell))),
            '\\' => match letters.next() {
                Some('n') => cell.push('\n'),
                Some(escaped @ ('|' | '\\')) => cell.push(escaped),
                other => cell.extend(std::iter::once('\\').chain(other)),
            },
            plain => cell.push(plain),
        }
    }
    if !cell.trim().is_empty() || cells.is_empty() {
        return Err((
            line.whole(),
            "the row does not end in a bar; close its last cell with `|`".to_owned(),
        ));
    }
    Ok(cells)
}

/// Trims a cell, but keeps newlines that were written as `\n`.
fn trimmed(cell: &str) -> String {
    cell.trim_matches(|letter: char| letter.is_whitespace() && letter != '\n').to_owned()
}

/// The lines up to the closing quotes, each with a newline; `None` if the quotes are never closed.
pub(super) fn doc_string<'a>(
    margin: usize,
    quotes: &str,
    lines: &mut impl Iterator<Item = Line<'a>>,
) -> Option<String> {
    let escaped: String = quotes.chars().flat_map(|quote| ['\\', quote]).collect();
    let mut text = String::new();
    for line in lines {
        if line.trimmed.starts_with(quotes) {
            return Some(text);
        }
        text.push_str(&line.after(margin).replace(&escaped, quotes));
        text.push('\n');
    }
    None
}
