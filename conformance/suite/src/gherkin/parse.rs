//! Parses Gherkin line by line, as Cucumber's own parser does. It accepts every legal form and reports every problem
//! of a file at once, with its position.
//!
//! The parser of the `gherkin` crate silently ignores too much (escapes, media types, margins, a second feature), so
//! we parse files here; `cucumber` still matches and runs the steps. This parser is stricter than Cucumber only where
//! a line would be lost: a second feature, a background after scenarios, an outline or examples without cases, text
//! after a row's last bar.

use std::collections::HashMap;

use super::document::{DocString, Remark, Scenario, Step, Tag};
use super::languages::Keywords;
use super::lines::{Line, cells, doc_string, tags};
use super::outline::{Examples, Outline};
use proofmark_judge::problem::Span;

/// A position and a message.
pub(super) type Wrong = (Span, String);

/// The parsed file and its problems.
#[derive(Debug)]
pub(super) struct Read {
    /// The keywords of the file's language.
    pub(super) keywords: &'static Keywords,
    pub(super) scenarios: Vec<Scenario>,
    pub(super) remarks: Vec<Remark>,
    pub(super) wrong: Vec<Wrong>,
}

/// Parses a whole file.
pub(super) fn read(text: &str) -> Read {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let keywords = Keywords::of("en").expect("English is in the table");
    let mut parser = Parser {
        language_said: false,
        room: Room::Start,
        tags: Vec::new(),
        feature: None,
        feature_tags: Vec::new(),
        rule_tags: Vec::new(),
        in_rule: false,
        feature_background: None,
        rule_background: None,
        outline: None,
        outlines: HashMap::new(),
        read: Read { keywords, scenarios: Vec::new(), remarks: Vec::new(), wrong: Vec::new() },
    };
    let mut lines = text.lines().enumerate().map(|(index, text)| Line::new(index + 1, text));
    while let Some(line) = lines.next() {
        parser.line(&line, &mut lines);
    }
    parser.end();
    parser.read
}

/// The block that the last title opened. It decides what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Start,
    /// Under `Feature:` or `Rule:`: description.
    Words,
    Background,
    Scenario,
    Examples,
    /// Under a misplaced title: ignore everything that follows.
    Lost,
}

#[derive(Debug, Clone, Copy)]
enum Title {
    Feature,
    Rule,
    Background,
    Scenario,
    Outline,
    Examples,
}

struct Parser {
    language_said: bool,
    room: Room,
    /// Tags that wait for their title.
    tags: Vec<Tag>,
    /// The line of the feature.
    feature: Option<usize>,
    feature_tags: Vec<Tag>,
    rule_tags: Vec<Tag>,
    in_rule: bool,
    feature_background: Option<Vec<Step>>,
    rule_background: Option<Vec<Step>>,
    outline: Option<Outline>,
    /// The ids of outlines, with their lines.
    outlines: HashMap<String, usize>,
    read: Read,
}

impl Parser {
    fn wrong(&mut self, at: Span, message: impl Into<String>) {
        self.read.wrong.push((at, message.into()));
    }

    fn line<'a>(&mut self, line: &Line<'a>, rest: &mut impl Iterator<Item = Line<'a>>) {
        let written = line.trimmed;
        if written.is_empty() {
        } else if written.starts_with('#') {
            self.comment(line);
        } else if written.starts_with('@') {
            let (mut found, wrong) = tags(line);
            self.tags.append(&mut found);
            self.read.wrong.extend(wrong);
        } else if let Some((title, keyword)) = self.title(written) {
            self.open(title, &keyword, line);
        } else if self.room == Room::Lost {
        } else if self.room == Room::Start {
            self.not_here(line);
            // Report this only once: the following lines would fail for the same reason.
            self.room = Room::Words;
            self.feature = Some(line.number);
        } else if written.starts_with('|') && self.takes_rows() {
            self.row(line);
        } else if let Some(quotes) = quotes(written).filter(|_| self.steps_begun()) {
            self.quoted(line, quotes, rest);
        } else if let Some(step) = self.step_of(line) {
            self.no_tags_before("a step");
            if let Some(steps) = self.steps() {
                steps.push(step);
            }
        } else {
            self.words(line);
        }
    }

    /// A comment sets the language only before anything else.
    fn comment(&mut self, line: &Line<'_>) {
        if self.room != Room::Start || self.language_said || !self.tags.is_empty() {
            return;
        }
        let directive = line.trimmed[1..].trim_start().strip_prefix("language");
        let Some(name) = directive.and_then(|rest| rest.trim_start().strip_prefix(':')) else {
            return;
        };
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return;
        }
        self.language_said = true;
        match Keywords::of(name) {
            Some(keywords) => self.read.keywords = keywords,
            None => {
                self.wrong(
                    line.word(name),
                    format!("`{name}` is not a language that Gherkin knows; write a code such as `en` or `de`"),
                );
            }
        }
    }

    fn title(&self, written: &str) -> Option<(Title, String)> {
        let Keywords { feature, rule, background, scenario, scenario_outline, examples, .. } =
            self.read.keywords;
        let titles = [
            (Title::Feature, feature),
            (Title::Rule, rule),
            (Title::Background, background),
            (Title::Scenario, scenario),
            (Title::Outline, scenario_outline),
            (Title::Examples, examples),
        ];
        titles.into_iter().find_map(|(title, words)| {
            let opens = |word: &&String| {
                written.strip_prefix(word.as_str()).is_some_and(|rest| rest.starts_with(':'))
            };
            words.iter().find(opens).map(|word| (title, word.clone()))
        })
    }

    fn open(&mut self, title: Title, keyword: &str, line: &Line<'_>) {
        let at = line.whole();
        let name = line.trimmed[keyword.len() + 1..].trim().to_owned();
        match (title, self.feature) {
            (Title::Feature, None) => {
                self.feature = Some(line.number);
                self.feature_tags = std::mem::take(&mut self.tags);
                self.room = Room::Words;
            }
            (Title::Feature, Some(_)) => {
                self.wrong(at, format!("a second `{keyword}:` in one file would be ignored; give it a file of its own"));
                self.room = Room::Lost;
            }
            (_, None) => {
                self.not_here(line);
                self.feature = Some(line.number);
                self.open(title, keyword, line);
            }
            (Title::Rule, _) => {
                self.flush();
                self.in_rule = true;
                self.rule_tags = std::mem::take(&mut self.tags);
                self.rule_background = None;
                self.room = Room::Words;
            }
            (Title::Background, _) => {
                self.no_tags_before("a background");
                if self.room == Room::Words && self.background().is_none() {
                    *self.background() = Some(Vec::new());
                    self.room = Room::Background;
                } else {
                    self.wrong(at, format!("only one `{keyword}:` is allowed, before the scenarios of its feature or rule; move it there, or make it a scenario"));
                    self.room = Room::Lost;
                }
            }
            (Title::Scenario | Title::Outline, _) => {
                self.flush();
                let of_rule = self.rule_tags.iter().filter(|_| self.in_rule);
                let inherited = self.feature_tags.iter().chain(of_rule).cloned();
                self.outline = Some(Outline {
                    at,
                    name,
                    must_have_examples: matches!(title, Title::Outline).then(|| keyword.to_owned()),
                    own_tags: self.tags.clone(),
                    tags: inherited.chain(self.tags.drain(..)).collect(),
                    steps: Vec::new(),
                    examples: Vec::new(),
                });
                self.room = Room::Scenario;
            }
            // Like Cucumber: where no examples can be, this is a line of description.
            (Title::Examples, _)
                if self.outline.is_none() && self.tags.is_empty() && !self.steps_begun() =>
            {
                self.words(line);
            }
            (Title::Examples, _) => {
                let tags = std::mem::take(&mut self.tags);
                match &mut self.outline {
                    Some(outline) => {
                        outline.examples.push(Examples { at, tags, rows: Vec::new() });
                        self.room = Room::Examples;
                    }
                    None => {
                        let outline = self.read.keywords.outline_word();
                        self.wrong(at, format!("`{keyword}:` belongs to an outline; write a `{outline}:` with steps above it"));
                        self.room = Room::Lost;
                    }
                }
            }
        }
    }

    fn background(&mut self) -> &mut Option<Vec<Step>> {
        if self.in_rule { &mut self.rule_background } else { &mut self.feature_background }
    }

    /// The steps that the next step is added to, if a step is allowed here.
    fn steps(&mut self) -> Option<&mut Vec<Step>> {
        match self.room {
            Room::Background => self.background().as_mut(),
            Room::Scenario => self.outline.as_mut().map(|outline| &mut outline.steps),
            Room::Start | Room::Words | Room::Examples | Room::Lost => None,
        }
    }

    fn steps_begun(&mut self) -> bool {
        self.steps().is_some_and(|steps| !steps.is_empty())
    }

    fn takes_rows(&mut self) -> bool {
        self.room == Room::Examples || self.steps_begun()
    }

    fn step_of(&mut self, line: &Line<'_>) -> Option<Step> {
        self.steps()?;
        let (keyword, kinds) = self.read.keywords.step(line.trimmed)?;
        Some(Step {
            at: line.whole(),
            keyword: keyword.to_owned(),
            kinds,
            in_background: self.room == Room::Background,
            text: line.trimmed[keyword.len()..].trim().to_owned(),
            doc_string: None,
            table: None,
        })
    }

    fn row(&mut self, line: &Line<'_>) {
        self.no_tags_before("a row");
        let row = match cells(line) {
            Ok(row) => row,
            Err(wrong) => return self.read.wrong.push(wrong),
        };
        let width = if self.room == Room::Examples {
            let examples = self.outline.as_ref().and_then(|outline| outline.examples.last());
            examples.and_then(|examples| examples.rows.first()).map(|(_, first)| first.len())
        } else {
            let step = self.steps().and_then(|steps| steps.last_mut());
            if step.as_ref().is_some_and(|step| step.doc_string.is_some()) {
                return self.wrong(
                    line.whole(),
                    "a step has a doc string or a table, not both; drop one, or make it two steps",
                );
            }
            step.and_then(|step| step.table.as_ref()).and_then(|rows| rows.first()).map(Vec::len)
        };
        if let Some(width) = width.filter(|width| *width != row.len()) {
            let message = format!(
                "this row has {} cells and the first has {width}; write \\| for a bar inside a cell",
                row.len()
            );
            return self.wrong(line.whole(), message);
        }
        if self.room == Room::Examples {
            let examples = self.outline.as_mut().and_then(|outline| outline.examples.last_mut());
            examples.expect("a room of examples has some").rows.push((line.whole(), row));
        } else if let Some(step) = self.steps().and_then(|steps| steps.last_mut()) {
            step.table.get_or_insert_default().push(row);
        }
    }

    fn quoted<'a>(
        &mut self,
        opening: &Line<'a>,
        quotes: &'static str,
        rest: &mut impl Iterator<Item = Line<'a>>,
    ) {
        self.no_tags_before("a doc string");
        let Some(text) = doc_string(opening.indent, quotes, rest) else {
            let message = format!("this doc string has no end; close it with a line of {quotes}");
            return self.wrong(opening.whole(), message);
        };
        let found = DocString {
            media_type: opening.trimmed[quotes.len()..].trim().to_owned(),
            text,
            line: opening.number + 1,
            margin: opening.indent,
        };
        let step = self.steps().and_then(|steps| steps.last_mut());
        let step = step.expect("a doc string is looked for under a step alone");
        if step.doc_string.is_some() || step.table.is_some() {
            let message = "a step has one doc string or one table; drop one, or make it two steps";
            return self.wrong(opening.whole(), message);
        }
        step.doc_string = Some(found);
    }

    /// Any other line: description, where it is allowed.
    fn words(&mut self, line: &Line<'_>) {
        let rows = |outline: &Outline| {
            outline.examples.last().is_some_and(|examples| !examples.rows.is_empty())
        };
        let over = match self.room {
            Room::Start | Room::Words | Room::Lost => false,
            Room::Background | Room::Scenario => self.steps_begun(),
            Room::Examples => self.outline.as_ref().is_some_and(rows),
        };
        if over || !self.tags.is_empty() {
            return self.not_here(line);
        }
        self.read.remarks.push(Remark { at: line.whole(), text: line.trimmed.to_owned() });
    }

    fn not_here(&mut self, line: &Line<'_>) {
        let words = self.read.keywords;
        let (feature, rule) = (words.feature_word(), words.rule_word());
        let (scenario, examples) = (words.scenario_word(), words.examples_word());
        let expected = match self.room {
            _ if !self.tags.is_empty() => {
                format!(
                    "tags must be followed by `{feature}:`, `{rule}:`, `{scenario}:` or `{examples}:`"
                )
            }
            Room::Start => format!(
                "a file must begin with `{feature}:`, optionally with tags and `# language: …` above it"
            ),
            Room::Words | Room::Lost => format!("a scenario begins with `{scenario}:`"),
            Room::Background | Room::Scenario => {
                let steps = words.step_words().join("`, `");
                format!(
                    "a line must begin with `{steps}`, a table's `|`, a doc string's \"\"\" or ```, a tag, `{scenario}:`, `{examples}:` or `{rule}:`; a description must come before the first step"
                )
            }
            Room::Examples => format!(
                "a table may be followed by more `{examples}:`, `{scenario}:`, `{rule}:` or tags; steps must come before the examples"
            ),
        };
        self.tags.clear();
        self.wrong(line.whole(), format!("`{}` is not Gherkin here; {expected}", line.trimmed));
    }

    /// Tags are allowed above every title except a background.
    fn no_tags_before(&mut self, what: &str) {
        if let Some(tag) = self.tags.first() {
            let words = self.read.keywords;
            let (feature, rule) = (words.feature_word(), words.rule_word());
            let (scenario, examples) = (words.scenario_word(), words.examples_word());
            let message = format!(
                "tags belong above `{feature}:`, `{rule}:`, `{scenario}:` or `{examples}:`, not above {what}; move or drop them"
            );
            self.wrong(tag.at, message);
            self.tags.clear();
        }
    }

    /// Ends the current scenario.
    fn flush(&mut self) {
        let Some(outline) = self.outline.take() else { return };
        if let (Some(id), false) = (outline.id(), outline.examples.is_empty())
            && let Some(first) = self.outlines.insert(id.name.clone(), outline.at.line)
        {
            let id = id.name["id:".len()..].to_owned();
            let message = format!(
                "the id `{id}` is taken by the outline on line {first}; names are permanent and unique"
            );
            self.wrong(outline.at, message);
        }
        let of_feature = self.feature_background.iter().flatten();
        let of_rule = self.rule_background.iter().flatten().filter(|_| self.in_rule);
        let before: Vec<Step> = of_feature.chain(of_rule).cloned().collect();
        match outline.expand(&before, self.read.keywords) {
            Ok(mut scenarios) => self.read.scenarios.append(&mut scenarios),
            Err(mut wrong) => self.read.wrong.append(&mut wrong),
        }
    }

    fn end(&mut self) {
        self.no_tags_before("nothing at all");
        self.flush();
        if self.feature.is_none() {
            let feature = self.read.keywords.feature_word();
            let message = format!("the file is blank; a narrative begins with `{feature}:`");
            self.wrong(Span { line: 1, column: 1, length: 0 }, message);
        }
    }
}

fn quotes(written: &str) -> Option<&'static str> {
    ["\"\"\"", "```"].into_iter().find(|quotes| written.starts_with(quotes))
}
