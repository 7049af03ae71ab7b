//! The steps that an author can write, each with an example and a description. A test parses every example.

use super::wording::shape;
use proofmark_judge::problem::distance;

/// One step of the vocabulary.
#[derive(Debug)]
pub struct VocabularyStep {
    pub example: &'static str,
    /// What the step requires below it: nothing, a doc string, or a table.
    pub below: Below,
    /// One sentence that says what it does.
    pub does: &'static str,
    /// The contract that the step belongs to; `None` for a general step.
    pub contract: Option<&'static str>,
    /// Steps that must come before the example.
    pub after: &'static [&'static str],
}

#[derive(Debug, PartialEq, Eq)]
pub enum Below {
    Nothing,
    Text(&'static str),
    Table(&'static str),
}

impl VocabularyStep {
    /// A step with nothing under it.
    pub const fn plain(example: &'static str, does: &'static str) -> Self {
        Self { example, below: Below::Nothing, does, contract: None, after: &[] }
    }

    /// A step with a doc string under it.
    pub const fn with(example: &'static str, doc: &'static str, does: &'static str) -> Self {
        Self { example, below: Below::Text(doc), does, contract: None, after: &[] }
    }

    /// The same, for one contract.
    pub const fn of(mut self, contract: &'static str) -> Self {
        self.contract = Some(contract);
        self
    }

    /// The same, with the steps that must come before the example.
    pub const fn after(mut self, steps: &'static [&'static str]) -> Self {
        self.after = steps;
        self
    }

    /// `Given`, `When` or `Then`.
    fn keyword(&self) -> &'static str {
        self.example.split_whitespace().next().unwrap_or_default()
    }
}

/// All steps that an author can write: the general ones and those of rooms.
#[derive(Debug, Clone)]
pub struct Vocabulary(Vec<&'static VocabularyStep>);

/// The steps for any contract, in the order of a typical scenario.
const GENERAL: &[VocabularyStep] = &[
    VocabularyStep::plain(
        r#"Given the clock starts at "2024-01-01T00:00:00.000Z" and steps 1000 ms"#,
        "Sets the session's clock: its first reading, and how far each reading is from the one before.",
    ),
    VocabularyStep::plain(
        "Given the random tape has integers 7, 9 and floats 0.25, 0.5",
        "Sets the random numbers that the session reads, in this order.",
    ),
    VocabularyStep::with(
        r#"Given the file "notes.sage" holds:"#,
        "{}",
        "Puts a file of whole lines into the workspace.",
    ),
    VocabularyStep::with(
        r#"Given the file "notes.sage" holds the unfinished text:"#,
        r#"{"type":"#,
        "Puts a file into the workspace whose last line has no line end.",
    ),
    VocabularyStep::plain(
        r#"Given the folder "notes.sage" exists"#,
        "Makes a folder in the workspace.",
    ),
    VocabularyStep::plain(
        r#"Given the secret "API_KEY" is "s3cret""#,
        "Lets the fake `secrets` answer with this value.",
    ),
    VocabularyStep::with(
        r#"Given the fake "secrets" plays:"#,
        r#"{"values": {"API_KEY": "s3cret"}}"#,
        "Gives a fake its whole script, as JSON.",
    ),
    VocabularyStep::plain(
        r#"Given the file "notes.txt" is a symlink to "other.txt""#,
        "Makes a symlink in the workspace; the target is relative to its folder.",
    ),
    VocabularyStep::plain(
        r#"When "utils.clock.now" is called"#,
        "Calls an operation without arguments; it must succeed unless a `Then` says otherwise.",
    ),
    VocabularyStep::with(
        r#"When "utils.sha256" is called with:"#,
        r#"{"text": "hello"}"#,
        "Calls an operation with these arguments, a JSON object.",
    ),
    VocabularyStep::with(
        r#"When "chronicle.readChronicle" is called in process "b" with:"#,
        r#"{"path": "notes.sage"}"#,
        "Calls an operation in another process of the subject, on the same workspace.",
    ),
    VocabularyStep::plain(
        r#"When process "b" is killed"#,
        "Ends a process with SIGKILL; the next step that names it starts a fresh one.",
    ),
    VocabularyStep {
        example: "When these calls are made together:",
        below: Below::Table("| call | args |\n| utils.clock.now | {} |\n| utils.clock.now | {} |"),
        does: "Sends all calls of the table at once; each must succeed.",
        contract: None,
        after: &[],
    },
    VocabularyStep::plain(
        r#"When its answer is remembered as "pool""#,
        r#"Later steps refer to the answer of the last call by this name: {"$ref": "pool/handle"}."#,
    ),
    VocabularyStep::with(
        "Then it returns:",
        r#"{"$any": "value"}"#,
        "The last call returned exactly this JSON; it may contain matchers.",
    ),
    VocabularyStep::plain(
        r#"Then it returns "text""#,
        "The last call returned this string, number, true, false or null.",
    ),
    VocabularyStep::plain("Then it fails with EVALIDATION", "The last call failed with this code."),
    VocabularyStep::with(
        "Then it fails with EVALIDATION and:",
        r#"{"details": {"$any": "array"}}"#,
        "The last call failed with this code and at least these properties.",
    ),
    VocabularyStep::with(
        r#"Then the fake "secrets" was asked "get" with:"#,
        r#"{"key": "API_KEY"}"#,
        "The last call called a fake with these arguments; write one such step for each call of a fake, in order.",
    ),
    VocabularyStep::plain(
        r#"Then the fake "secrets" was asked "get" 2 times"#,
        "The last call made so many calls of this fake and method, whatever the arguments; other calls are free.",
    ),
    VocabularyStep::with(
        "Then it streams:",
        r#"[{"type": "end"}]"#,
        "The last call streamed exactly these items before its answer; adjacent texts are joined.",
    ),
    VocabularyStep::plain(
        r#"Then "s3cret" is nowhere in what it said"#,
        "The text occurs neither in the answer of the last call nor in its stream.",
    ),
    VocabularyStep::with(
        r#"Then the file "notes.sage" holds:"#,
        "{}",
        "The file has exactly these lines now.",
    ),
    VocabularyStep::with(
        r#"Then the file "notes.sage" begins with:"#,
        "{}",
        "The file begins with these lines now.",
    ),
    VocabularyStep::with(
        r#"Then the file "notes.sage" holds the events:"#,
        r#"[{"$any": "object"}]"#,
        "The lines of the file, each read as JSON, are this array now.",
    ),
    VocabularyStep::plain(
        r#"Then the file "notes.sage" does not exist"#,
        "There is no such file now.",
    ),
];

impl Vocabulary {
    /// The general steps and these, in the order of a typical scenario.
    pub fn new(further: &[&'static VocabularyStep]) -> Self {
        let mut steps: Vec<&VocabularyStep> = GENERAL.iter().collect();
        steps.extend(further);
        // A stable sort: within a keyword, the general steps come first, then room by room.
        steps.sort_by_key(|step| KEYWORDS.iter().position(|keyword| *keyword == step.keyword()));
        Self(steps)
    }

    pub fn steps(&self) -> &[&'static VocabularyStep] {
        &self.0
    }

    /// The steps that a misspelt one may mean, the closest first and general ones before others. A step with another
    /// keyword counts as less close.
    pub fn like(&self, text: &str) -> Vec<&'static VocabularyStep> {
        // The keyword may be in any language, or misspelt.
        let without_keyword =
            text.trim_start().split_once(char::is_whitespace).map(|(_, rest)| rest);
        let wanted: Vec<String> =
            [Some(text), without_keyword].into_iter().flatten().map(shape).collect();
        let mut near: Vec<(usize, bool, usize)> = Vec::new();
        for (index, step) in self.0.iter().enumerate() {
            let shaped = shape(step.example);
            let away = wanted.iter().map(|wanted| distance(wanted, &shaped)).min();
            let away = away.unwrap_or(usize::MAX);
            if away <= 1 + shaped.chars().count() / 3 {
                let further = if is_of_another_keyword(text, step) { OTHER_KEYWORD } else { 0 };
                near.push((away + further, step.contract.is_some(), index));
            }
        }
        near.sort_unstable();
        near.into_iter().map(|(.., index)| self.0[index]).collect()
    }

    /// The steps that share words with a text, those with the most first and general ones before others.
    pub fn about(&self, text: &str) -> Vec<&'static VocabularyStep> {
        let words: Vec<String> = shape(text)
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| word.len() > 2 && !SMALL_WORDS.contains(word))
            .map(str::to_owned)
            .collect();
        let hits = |step: &VocabularyStep| {
            let shaped = format!("{} {}", shape(step.example), shape(step.does));
            words.iter().filter(|word| shaped.contains(word.as_str())).count()
        };
        let mut found: Vec<(usize, &'static VocabularyStep)> =
            self.0.iter().map(|step| (hits(step), *step)).filter(|(hits, _)| *hits > 0).collect();
        // A stable sort keeps the order among equals.
        found.sort_by_key(|(hits, step)| {
            (is_of_another_keyword(text, step), std::cmp::Reverse(*hits), step.contract.is_some())
        });
        found.into_iter().map(|(_, step)| step).collect()
    }

    /// The steps of [`Self::like`], then those of [`Self::about`].
    pub fn near(&self, text: &str) -> Vec<&'static VocabularyStep> {
        let mut found = self.like(text);
        for step in self.about(text) {
            if !found.iter().any(|known| known.example == step.example) {
                found.push(step);
            }
        }
        found
    }
}

const KEYWORDS: [&str; 3] = ["Given", "When", "Then"];

/// The extra distance of a step with another keyword: less than the distance between two real steps.
const OTHER_KEYWORD: usize = 3;

/// Whether the text begins with a different keyword. A text without a keyword may mean any.
fn is_of_another_keyword(text: &str, step: &VocabularyStep) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    KEYWORDS.contains(&first) && first != step.keyword()
}

/// Words that occur in too many steps to distinguish them.
const SMALL_WORDS: [&str; 5] = ["and", "has", "the", "was", "with"];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn first(text: &str, example: Option<&str>) {
        assert_eq!(
            Vocabulary::new(&[]).like(text).first().map(|step| step.example),
            example,
            "{text}"
        );
    }

    #[test]
    fn synonyms_typos_and_keywords_do_not_hide_a_step() {
        let returns = Some("Then it returns \"text\"");
        for text in [
            "it retruns null",
            "it returned null",
            "it retruns true",
            "Dann it retruns null",
            "it gives back null",
            "it answers \"x\"",
        ] {
            first(text, returns);
        }
        first("it gives back:", Some("Then it returns:"));
        first("it throws EVALIDATION", Some("Then it fails with EVALIDATION"));
        first("all is well in the world", None);
    }

    #[test]
    fn keywords_and_kinds_of_values_distinguish_steps() {
        for (text, example) in [
            ("Then the file \"a\" contains:", "Then the file \"notes.sage\" holds:"),
            ("Given the file \"a\" contains:", "Given the file \"notes.sage\" holds:"),
            ("Then the file \"a\" is gone", "Then the file \"notes.sage\" does not exist"),
            ("Then it returns [\"buy milk\"]", "Then it returns:"),
            ("Then it returns {}", "Then it returns:"),
            ("Then it gives back {\"a\": 1}", "Then it returns:"),
            ("Then it throws EIO", "Then it fails with EVALIDATION"),
            ("Given \"x\" is called", "When \"utils.clock.now\" is called"),
        ] {
            first(text, Some(example));
        }
        let found = Vocabulary::new(&[]).near("Then an error EIO is raised");
        assert_eq!(found[0].example, "Then it fails with EVALIDATION");
    }

    #[test]
    fn general_steps_come_first_among_equals() {
        static ROOM: VocabularyStep =
            VocabularyStep::plain("Then the note returned", "The last note returned.")
                .of("my.notes");
        let found: Vec<bool> = Vocabulary::new(&[&ROOM])
            .about("it returned")
            .iter()
            .map(|step| step.contract.is_some())
            .collect();
        assert!(found.is_sorted() && found.contains(&true) && found.contains(&false), "{found:?}");
    }
}
