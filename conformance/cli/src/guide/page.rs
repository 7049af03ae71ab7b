//! A Markdown page as a terminal shows it: wrapped, with headings, and without raw links.

use std::fmt::Write as _;

use proofmark_report::style::{QUIET, STRONG, styled};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use textwrap::core::display_width;

use super::table::Table;

/// Renders a page in so many columns. Code is never wrapped.
pub(super) fn render(markdown: &str, columns: usize) -> String {
    let mut page = Page { columns, ..Page::default() };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.add(event);
    }
    page.text
}

#[derive(Default)]
struct Page {
    columns: usize,
    text: String,
    /// Text of the current paragraph, heading, item or cell.
    inline: String,
    /// Targets of the open links.
    links: Vec<String>,
    /// For each open list the number of the next item, or none for bullets.
    lists: Vec<Option<u64>>,
    /// Indentation of each open list.
    indents: Vec<usize>,
    /// Prefix of the next line of an item.
    marker: Option<String>,
    /// The last block on the page is a list item.
    after_item: bool,
    in_code: bool,
    table: Table,
}

impl Page {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => self.code(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.inline.push_str(&text);
            }
            // Without colours, only the backticks mark code.
            Event::Code(code) => {
                let _ = write!(self.inline, "`{code}`");
            }
            Event::SoftBreak => self.inline.push(' '),
            Event::HardBreak => self.inline.push('\n'),
            Event::Rule => self.block(&"─".repeat(self.columns.min(40))),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            // Write an item's own text before its nested blocks.
            Tag::List(first) => {
                self.flush();
                // As wide as the marker.
                self.indents.push(if first.is_some() { 3 } else { 2 });
                self.lists.push(first);
            }
            Tag::Item => {
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.marker = Some(marker);
            }
            Tag::Link { dest_url, .. } => self.links.push(dest_url.into_string()),
            Tag::CodeBlock(kind) => {
                self.flush();
                self.in_code = true;
                if let CodeBlockKind::Fenced(_) = kind {
                    self.gap();
                }
            }
            Tag::Table(_) => self.table = Table::default(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let heading = std::mem::take(&mut self.inline);
                self.block(&styled(STRONG, heading.trim()));
                // Headings stay readable without colours.
                let rule = match level {
                    HeadingLevel::H1 => "=",
                    HeadingLevel::H2 => "-",
                    _ => return,
                };
                let _ = writeln!(self.text, "{}", rule.repeat(display_width(heading.trim())));
            }
            TagEnd::Paragraph => self.flush(),
            TagEnd::Item => {
                self.flush();
                self.marker = None;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.indents.pop();
                self.after_item &= !self.lists.is_empty();
            }
            TagEnd::Link => {
                if let Some(target) = self.links.pop() {
                    self.end_link(&target);
                }
            }
            TagEnd::CodeBlock => self.in_code = false,
            TagEnd::TableCell => self.table.cell(std::mem::take(&mut self.inline)),
            TagEnd::TableHead | TagEnd::TableRow => self.table.end_row(),
            TagEnd::Table => {
                let table = std::mem::take(&mut self.table).render(self.columns);
                self.block(table.trim_end());
            }
            _ => {}
        }
    }

    fn code(&mut self, text: &str) {
        let indent = self.indent() + 4;
        for line in text.lines() {
            let line = format!("{}{line}", " ".repeat(indent));
            let _ = writeln!(self.text, "{}", styled(QUIET, line.trim_end()));
        }
    }

    /// Writes the collected text as a paragraph or an item.
    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        let text = inline.trim();
        if text.is_empty() {
            return;
        }
        let indent = " ".repeat(self.indent());
        let (first, rest) = match self.marker.take() {
            Some(marker) => {
                let outer = " ".repeat(indent.len().saturating_sub(marker.len()));
                (format!("{outer}{marker}"), indent)
            }
            None => (indent.clone(), indent),
        };
        // No blank line between list items.
        let is_item = !self.lists.is_empty();
        if !(is_item && self.after_item) {
            self.gap();
        }
        self.after_item = is_item;
        let options =
            textwrap::Options::new(self.columns).initial_indent(&first).subsequent_indent(&rest);
        let options = options
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .word_separator(textwrap::WordSeparator::AsciiSpace);
        let _ = writeln!(self.text, "{}", textwrap::fill(text, options));
    }

    fn block(&mut self, text: &str) {
        self.gap();
        let _ = writeln!(self.text, "{text}");
        self.after_item = false;
    }

    /// Writes a blank line, except at the top of the page or after another blank line.
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn indent(&self) -> usize {
        self.indents.iter().sum()
    }

    /// Renders a link: another page as its command, a web page as its address.
    fn end_link(&mut self, target: &str) {
        let file = target.split('#').next().unwrap_or_default();
        let name = file.rsplit('/').next().unwrap_or_default();
        let page = match name.strip_suffix(".md").or(name.strip_suffix(".yml")) {
            Some("guide") => file.rsplit('/').nth(1),
            page => page.filter(|page| super::pages().any(|(name, ..)| name == *page)),
        };
        let _ = match page {
            _ if target.contains("://") => write!(self.inline, " ({target})"),
            // A file name is no use in a terminal.
            Some(page) if self.inline.ends_with(name) => {
                self.inline.truncate(self.inline.len() - name.len());
                write!(self.inline, "`proofmark guide {page}`")
            }
            Some(page) => write!(self.inline, " (`proofmark guide {page}`)"),
            None => Ok(()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(markdown: &str, columns: usize) -> String {
        anstream::adapter::strip_str(&render(markdown, columns)).to_string()
    }

    #[test]
    fn a_page_is_text() {
        let markdown = "# Title\n\nSome words that are\ntoo long, and [a page](wires.md#mcp) with `code`.\n\n\
            - one\n- two, which is\n  longer than a line of this page\n\n  1. inner\n\n## Next\n\n```sh\nproofmark run --case 'a very long line'\n```\n\n\
            | word | meaning |\n|---|---|\n| `a` | the first one of them all, by far |\n| bc | [it](https://example.org) |\n";
        insta::assert_snapshot!(plain(markdown, 40), @r"
        Title
        =====

        Some words that are too long, and a page
        (`proofmark guide wires`) with `code`.

        - one
        - two, which is longer than a line of
          this page
          1. inner

        Next
        ----

            proofmark run --case 'a very long line'

        word  meaning
        `a`   the first one of them all, by far
        bc    it (https://example.org)
        ");
    }

    #[test]
    fn no_page_has_raw_links_or_lines_that_do_not_fit() {
        for (name, _, text) in super::super::pages().filter(|(name, ..)| *name != "workflow") {
            let page = plain(text, 80);
            assert!(!page.contains("]("), "{name}");
            let long = page.lines().find(|line| {
                let words = line.trim_start().split(' ').count();
                // Code keeps its lines, and a single word cannot be broken.
                !line.starts_with("    ") && words > 1 && display_width(line) > 80
            });
            assert_eq!(long, None, "{name}");
        }
    }
}
