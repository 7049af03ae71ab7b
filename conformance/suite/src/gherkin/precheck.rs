//! What the parser passes over in silence, or blames on a line far away.

use std::collections::HashMap;

use cucumber::gherkin::{Feature, GherkinEnv, Scenario};

/// A line and what is wrong there.
type Wrong = (usize, String);

/// Looks at the lines: languages, doc strings, tables and second features.
pub(super) fn text(text: &str) -> Result<(), Wrong> {
    let mut doc_string: Option<(&str, usize)> = None;
    let mut feature: Option<&str> = None;
    let mut cells: Option<usize> = None;
    for (index, written) in text.lines().enumerate() {
        let (number, line) = (index + 1, written.trim());
        if let Some((quotes, _)) = doc_string {
            // As the parser has it: the quotes end it wherever they stand.
            if line.contains(quotes) {
                doc_string = None;
            }
            continue;
        }
        let opened = ["\"\"\"", "```"].into_iter().find(|quotes| line.starts_with(quotes));
        doc_string = opened
            .filter(|quotes| line.matches(quotes).count() == 1)
            .map(|quotes| (quotes, number));
        if !line.starts_with('|') {
            cells = None;
        } else if *cells.get_or_insert_with(|| count_cells(line)) != count_cells(line) {
            return Err((
                number,
                format!(
                    "this row has {} cells and the first has {}; write \\| for a bar inside a cell",
                    count_cells(line),
                    cells.unwrap_or_default()
                ),
            ));
        }
        let Some((keyword, _)) = line.split_once(':') else { continue };
        match feature {
            // Only what stands before the feature can name a language.
            None if line.starts_with('#') => check_language(line).map_err(|told| (number, told))?,
            None if !line.starts_with('@') => feature = Some(keyword),
            Some(first) if first == keyword => {
                return Err((
                    number,
                    format!(
                        "a second `{keyword}:` in one file would be ignored; give it a file of its own"
                    ),
                ));
            }
            None | Some(_) => {}
        }
    }
    match doc_string {
        Some((quotes, number)) => {
            Err((number, format!("this doc string has no end; close it with a line of {quotes}")))
        }
        None => Ok(()),
    }
}

fn check_language(comment: &str) -> Result<(), String> {
    let directive = comment.trim_start_matches('#').trim_start().strip_prefix("language");
    let Some(name) = directive.and_then(|rest| rest.trim_start().strip_prefix(':')) else {
        return Ok(());
    };
    let name = name.trim();
    GherkinEnv::new(name).map(|_| ()).map_err(|_| {
        format!("`{name}` is no language that Gherkin knows; write a code such as `en` or `de`")
    })
}

/// Bars that are not escaped, less the first.
fn count_cells(row: &str) -> usize {
    let mut escaped = false;
    let mut bars = 0_usize;
    for letter in row.chars() {
        bars += usize::from(letter == '|' && !escaped);
        escaped = letter == '\\' && !escaped;
    }
    bars.saturating_sub(1)
}

/// Outlines from which no case would come, or cases whose numbers depend on another outline.
pub(super) fn outlines(feature: &Feature) -> Vec<Wrong> {
    let ruled = feature.rules.iter().flat_map(|rule| &rule.scenarios);
    let mut wrong = Vec::new();
    let mut seen: HashMap<&str, &Scenario> = HashMap::new();
    for outline in feature.scenarios.iter().chain(ruled) {
        for examples in &outline.examples {
            if examples.table.as_ref().is_none_or(|table| table.rows.len() < 2) {
                wrong.push((
                    examples.position.line,
                    "these examples have no row, so no case comes of them; write a row or drop them".to_owned(),
                ));
            }
        }
        let id = outline.tags.iter().rev().find_map(|tag| tag.strip_prefix("id:"));
        if let Some(id) = id.filter(|_| !outline.examples.is_empty())
            && let Some(first) = seen.insert(id, outline)
        {
            wrong.push((
                outline.position.line,
                format!(
                    "the id `{id}` is taken by the outline on line {}; names are permanent and unique",
                    first.position.line
                ),
            ));
        }
    }
    wrong
}
