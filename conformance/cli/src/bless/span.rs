//! Finds the characters of an expectation in a fixture file, so that every other byte stays the same.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proofmark_judge::case::Case;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::golden::{Expectation, Outcome};
use crate::edit::Draft;

/// Replacements in one file.
#[derive(Debug)]
pub(super) struct Change {
    file: String,
    edits: Vec<(Range<usize>, String)>,
    /// An author's value (not `$bless`) and its replacement.
    overwritten: Vec<(String, String)>,
}

impl Change {
    /// The first value of the author's that would be replaced, and its replacement.
    pub(super) fn overwrites(&self) -> Option<(&str, &str)> {
        self.overwritten.first().map(|(old, new)| (old.as_str(), new.as_str()))
    }
}

/// Replaces `{"$bless": true}` during the run. No subject returns it.
const WAITS: &str = "\"\\u0000 waits for `proofmark bless` ";

#[derive(Deserialize)]
struct File<'a> {
    contract: String,
    #[serde(borrow)]
    cases: Vec<&'a RawValue>,
}

/// An object whose values are not parsed yet.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Cases with a `{"$bless": …}`, which was replaced so that the suite can run.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    cases: BTreeSet<String>,
    /// File, current text, original text.
    places: Vec<(String, String, String)>,
}

impl Waiting {
    pub(super) fn has(&self, case: &str) -> bool {
        self.cases.contains(case)
    }

    /// Restores the placeholders that were not blessed.
    pub(super) fn restore(&self, draft: &mut Draft) {
        for (file, now, before) in &self.places {
            let text = draft.text(file).unwrap_or_default().replace(now, before);
            draft.put(file, text);
        }
    }
}

/// Replaces every `{"$bless": …}` with a value that no subject returns.
pub(super) fn fill_waiting(draft: &mut Draft) -> Waiting {
    let mut waiting = Waiting::default();
    let mut changes = Vec::new();
    for path in draft.fixtures() {
        let text = draft.text(&path).unwrap_or_default();
        // Loading the suite reports files that cannot be parsed.
        let Ok(file) = serde_json::from_str::<File<'_>>(without_mark(text)) else { continue };
        for raw in file.cases {
            let Ok(case) = serde_json::from_str::<Members<'_>>(raw.get()) else { continue };
            let mut edits = Vec::new();
            for call in calls(&case) {
                let Some(returns) = call.get("returns") else { continue };
                let value: Option<Members<'_>> = serde_json::from_str(returns.get()).ok();
                let waits = |value: Members<'_>| {
                    value.len() == 1 && value.get("$bless").is_some_and(|it| it.get() == "true")
                };
                if value.is_some_and(waits) {
                    let now = format!("{WAITS}{}\"", waiting.places.len());
                    waiting.places.push((path.clone(), now.clone(), returns.get().to_owned()));
                    edits.push((span(text, returns.get()), now));
                }
            }
            if let (Some(id), false) = (string(&case, "id"), edits.is_empty()) {
                waiting.cases.insert(format!("{}/{id}", file.contract));
                changes.push(Change { file: path.clone(), edits, overwritten: Vec::new() });
            }
        }
    }
    apply(draft, changes);
    waiting
}

/// Every call of a case, including those in `together`.
fn calls<'a>(case: &Members<'a>) -> Vec<Members<'a>> {
    let steps: Vec<Members<'a>> = list(case, "steps");
    let together = steps.iter().flat_map(|step| list::<Members<'a>>(step, "together"));
    let together: Vec<Members<'a>> = together.collect();
    steps.into_iter().chain(together).collect()
}

fn list<'a, T: Deserialize<'a>>(members: &Members<'a>, name: &str) -> Vec<T> {
    members.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn string(members: &Members<'_>, name: &str) -> Option<String> {
    serde_json::from_str(members.get(name)?.get()).ok()
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Works because `part` is a slice of `text`.
fn span(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// The replacements that make step `index` of the case expect this.
pub(super) fn change(
    case: &Case,
    index: usize,
    expectations: Vec<Expectation>,
    draft: &Draft,
) -> Result<Change, String> {
    let text = draft.text(&case.at.file).ok_or("its file is gone")?;
    let file: File<'_> =
        serde_json::from_str(without_mark(text)).map_err(|fault| fault.to_string())?;
    let members: Members<'_> = file
        .cases
        .iter()
        .filter_map(|raw| serde_json::from_str::<Members<'_>>(raw.get()).ok())
        .find(|members| string(members, "id").as_deref() == Some(case.id()))
        .ok_or("it is not in its file")?;
    let steps: Vec<Members<'_>> = list(&members, "steps");
    if steps.iter().any(|step| step.contains_key("$repeat")) {
        return Err("`$repeat` makes its steps, so none of them is written in the file".to_owned());
    }
    let mut edits = Vec::new();
    for expectation in expectations {
        // The case's own `leaves` is checked after all steps.
        let step = steps.get(index).unwrap_or(&members);
        match expectation {
            Expectation::Call { call: None, outcome } => {
                edits.push(outcome_edit(text, step, outcome)?)
            }
            Expectation::Call { call: Some(at), outcome } => {
                let together: Vec<Members<'_>> = list(step, "together");
                if together.iter().any(|call| call.contains_key("$repeat")) {
                    return Err("`$repeat` makes its calls".to_owned());
                }
                let call = together.get(at).ok_or("its call is not in its file")?;
                edits.push(outcome_edit(text, call, outcome)?);
            }
            Expectation::List { name, value } => match step.get(name) {
                Some(list) => edits.push(replaced(text, span(text, list.get()), &value)),
                None => {
                    let call = step.get("call").ok_or("the step is not a call")?;
                    let end = span(text, call.get()).end;
                    let written = format!(", \"{name}\": {}", inline(&value));
                    edits.push((end..end, written));
                }
            },
            Expectation::File { path, value } => {
                let files = step.get("leaves").ok_or("the step has no `leaves`")?;
                let files: Members<'_> =
                    serde_json::from_str(files.get()).map_err(|fault| fault.to_string())?;
                let old = files.get(&path).ok_or("the file is not in `leaves`")?;
                edits.push(replaced(text, span(text, old.get()), &value));
            }
        }
    }
    let stood =
        |(range, new): &(Range<usize>, String)| (text[range.clone()].to_owned(), new.clone());
    let own = |(old, _): &(String, String)| !old.contains(WAITS);
    let overwritten = edits.iter().map(stood).filter(own).collect();
    let origin = members.get("origin").ok_or("it has no `origin`")?;
    if origin.get() != "\"reference\"" {
        edits.push((span(text, origin.get()), "\"reference\"".to_owned()));
    }
    Ok(Change { file: case.at.file.clone(), edits, overwritten })
}

/// The member that states the outcome of a call, including its key.
fn outcome_edit(
    text: &str,
    call: &Members<'_>,
    outcome: Outcome,
) -> Result<(Range<usize>, String), String> {
    let (key, value) = match outcome {
        Outcome::Returns(value) => ("returns", value),
        Outcome::Fails(value) => ("fails", value),
    };
    let old = ["returns", "fails", "either"]
        .into_iter()
        .find_map(|name| Some((name, span(text, call.get(name)?.get()))));
    let (name, at) = old.ok_or("the call has neither `returns` nor `fails` nor `either`")?;
    let quoted = format!("\"{name}\"");
    let before = &text[..at.start];
    let start = before.rfind(&quoted).ok_or("the member's name is written with escapes")?;
    let (range, written) = replaced(text, at, &value);
    let between = &text[start + quoted.len()..range.start];
    Ok((start..range.end, format!("\"{key}\"{between}{written}")))
}

/// On one line if it is short, otherwise on several lines with the indentation of the current line.
fn replaced(text: &str, at: Range<usize>, value: &Value) -> (Range<usize>, String) {
    const SHORT: usize = 100;
    let line = text[..at.start].rsplit('\n').next().unwrap_or_default();
    let short = inline(value);
    if line.chars().count() + short.chars().count() <= SHORT {
        return (at, short);
    }
    let margin: String = line.chars().take_while(|letter| letter.is_whitespace()).collect();
    let long = serde_json::to_string_pretty(value).unwrap_or(short);
    (at, long.replace('\n', &format!("\n{margin}")))
}

/// `{ "a": [1, 2] }`, as people write it.
fn inline(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(items) => format!("[{}]", joined(items.iter().map(inline).collect())),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), inline(value))
            };
            format!("{{ {} }}", joined(map.iter().map(member).collect()))
        }
        scalar => scalar.to_string(),
    }
}

/// Applies all replacements, from the end of each file, so that earlier offsets stay valid.
pub(super) fn apply(draft: &mut Draft, changes: Vec<Change>) {
    let mut by_file: BTreeMap<String, Vec<(Range<usize>, String)>> = BTreeMap::new();
    for Change { file, mut edits, .. } in changes {
        by_file.entry(file).or_default().append(&mut edits);
    }
    for (file, mut edits) in by_file {
        let mut text = draft.text(&file).unwrap_or_default().to_owned();
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, new) in edits {
            text.replace_range(range, &new);
        }
        draft.put(&file, text);
    }
}
