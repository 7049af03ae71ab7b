//! A table in plain text: columns side by side, with long cells wrapped.

use proofmark_report::style::{STRONG, styled};
use textwrap::core::display_width;

/// Spaces between two columns.
const GAP: usize = 2;
/// A column never gets narrower than this.
const NARROWEST: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Table {
    /// The first row is the header.
    rows: Vec<Vec<String>>,
    row: Vec<String>,
}

impl Table {
    pub(super) fn cell(&mut self, text: String) {
        self.row.push(text.trim().to_owned());
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    pub(super) fn render(&self, columns: usize) -> String {
        let widths = self.widths(columns);
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<String>> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| {
                    let options = textwrap::Options::new(*width)
                        .break_words(false)
                        .word_splitter(textwrap::WordSplitter::NoHyphenation)
                        .word_separator(textwrap::WordSeparator::AsciiSpace);
                    textwrap::wrap(cell, options).into_iter().map(Into::into).collect()
                })
                .collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut written = String::new();
                for (cell, width) in cells.iter().zip(&widths) {
                    let part = cell.get(line).map_or("", String::as_str);
                    let padding = " ".repeat(width.saturating_sub(display_width(part)) + GAP);
                    written.push_str(part);
                    written.push_str(&padding);
                }
                let written = written.trim_end();
                match number {
                    0 => text.push_str(&styled(STRONG, written).to_string()),
                    _ => text.push_str(written),
                }
                text.push('\n');
            }
        }
        text
    }

    /// Each column gets the width of its widest cell if that fits. Otherwise the widest columns shrink.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| display_width(cell)).max()
        };
        let mut widths: Vec<usize> = (0..count).map(|column| widest(column).unwrap_or(0)).collect();
        let room = columns.saturating_sub(GAP * count.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max().filter(|width| **width > NARROWEST) else {
                break;
            };
            *widest -= 1;
        }
        widths
    }
}
