//! Outlines: one case for each row of each `Examples:`.

use std::collections::BTreeSet;

use super::document::{Scenario, Step, Tag};
use super::languages::Keywords;
use super::parse::Wrong;
use proofmark_judge::problem::{Span, did_you_mean};

/// A scenario as written, with or without examples.
pub(super) struct Outline {
    pub(super) at: Span,
    pub(super) name: String,
    /// The keyword, if it requires examples.
    pub(super) must_have_examples: Option<String>,
    pub(super) own_tags: Vec<Tag>,
    /// Its own tags and the inherited ones.
    pub(super) tags: Vec<Tag>,
    pub(super) steps: Vec<Step>,
    pub(super) examples: Vec<Examples>,
}

pub(super) struct Examples {
    pub(super) at: Span,
    pub(super) tags: Vec<Tag>,
    /// The first row is the header.
    pub(super) rows: Vec<(Span, Vec<String>)>,
}

impl Outline {
    pub(super) fn id(&self) -> Option<&Tag> {
        self.own_tags.iter().rev().find(|tag| tag.name.starts_with("id:"))
    }

    fn rows(&self) -> usize {
        self.examples.iter().map(|examples| examples.rows.len().saturating_sub(1)).sum()
    }

    /// The cases of the outline, with background steps before its own.
    pub(super) fn expand(
        &self,
        before: &[Step],
        words: &Keywords,
    ) -> Result<Vec<Scenario>, Vec<Wrong>> {
        if self.examples.is_empty() {
            if let Some(keyword) = &self.must_have_examples {
                let (examples, scenario) = (words.examples_word(), words.scenario_word());
                let message = format!(
                    "this `{keyword}:` has no examples, so its <columns> would not be replaced; write `{examples}:` with a table under it, or call it `{scenario}:`"
                );
                return Err(vec![(self.at, message)]);
            }
            return Ok(vec![self.scenario(self.at, &self.name, &[], before, self.steps.clone())]);
        }
        let mut all = Vec::new();
        let mut wrong = Vec::new();
        for examples in &self.examples {
            let Some(((header_at, header), rows)) =
                examples.rows.split_first().filter(|(_, rows)| !rows.is_empty())
            else {
                wrong.push((
                    examples.at,
                    "these examples have no row, so they produce no case; add a row or drop them"
                        .to_owned(),
                ));
                continue;
            };
            let columns: BTreeSet<&String> = header.iter().collect();
            if columns.len() < header.len() {
                wrong
                    .push((*header_at, "a column occurs twice; give each its own name".to_owned()));
                continue;
            }
            for (at, row) in rows {
                let mut filled = Filled { header, row, wrong: &mut wrong };
                let name = filled.text(&self.name, self.at);
                let steps = self.steps.iter().map(|step| filled.step(step)).collect();
                all.push(self.scenario(*at, &name, &examples.tags, before, steps));
            }
        }
        if wrong.is_empty() { Ok(all) } else { Err(wrong) }
    }

    fn scenario(
        &self,
        at: Span,
        name: &str,
        tags: &[Tag],
        before: &[Step],
        own: Vec<Step>,
    ) -> Scenario {
        // A scenario without its own steps tests nothing, whatever its background does.
        let before = if own.is_empty() { &[] } else { before };
        Scenario {
            at,
            title: self.at.line,
            name: name.to_owned(),
            tags: self.tags.iter().chain(tags).cloned().collect(),
            steps: before.iter().cloned().chain(own).collect(),
            own_tags: self.own_tags.clone(),
            rows: (!self.examples.is_empty()).then(|| self.rows()),
        }
    }
}

/// Fills in one row.
struct Filled<'a> {
    header: &'a [String],
    row: &'a [String],
    wrong: &'a mut Vec<Wrong>,
}

impl Filled<'_> {
    fn step(&mut self, step: &Step) -> Step {
        let mut filled = step.clone();
        filled.text = self.text(&step.text, step.at);
        if let Some(doc) = &mut filled.doc_string {
            doc.text = self.text(&doc.text, step.at);
            doc.media_type = self.text(&doc.media_type, step.at);
        }
        for cell in filled.table.iter_mut().flatten().flatten() {
            *cell = self.text(cell, step.at);
        }
        filled
    }

    /// Replaces every `<column>` with the row's cell. Inserted text is not expanded again.
    fn text(&mut self, text: &str, at: Span) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('<') {
            out.push_str(&rest[..open]);
            rest = &rest[open..];
            let name = rest.find('>').map(|close| &rest[1..close]);
            let column = self.header.iter().position(|column| Some(column.as_str()) == name);
            if let (Some(name), Some(column)) = (name, column) {
                out.push_str(&self.row[column]);
                rest = &rest[name.len() + 2..];
                continue;
            }
            if let Some(name) = name.filter(|name| is_name(name)) {
                let hint = did_you_mean(name, self.header.iter().map(String::as_str));
                self.wrong.push((at, format!("the outline uses <{name}>, which is not a column of its examples{hint}; add the column (to keep the text as it is: with the cell <{name}>)")));
            }
            out.push('<');
            rest = &rest[1..];
        }
        out.push_str(rest);
        out
    }
}

/// Whether the text between `<` and `>` is a column name, not an arrow or a comparison.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains(['<', '\n', '"'])
}
