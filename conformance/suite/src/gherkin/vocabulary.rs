//! The steps that an author can write, each with an example. A test reads every example back.

/// One step of the vocabulary.
#[derive(Debug)]
pub struct VocabularyStep {
    pub example: &'static str,
    /// What must stand under it: nothing, a doc string, or a table.
    pub below: Below,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Below {
    Nothing,
    Text(&'static str),
    Table(&'static str),
}

const fn plain(example: &'static str) -> VocabularyStep {
    VocabularyStep { example, below: Below::Nothing }
}

const fn with(example: &'static str, doc: &'static str) -> VocabularyStep {
    VocabularyStep { example, below: Below::Text(doc) }
}

/// In the order in which one tells a story.
pub const STEPS: &[VocabularyStep] = &[
    plain(r#"Given the clock starts at "2024-01-01T00:00:00.000Z" and steps 1000 ms"#),
    plain("Given the random tape has integers 7, 9 and floats 0.25, 0.5"),
    with(r#"Given the file "notes.sage" holds:"#, "{}"),
    with(r#"Given the file "notes.sage" holds the unfinished text:"#, r#"{"type":"#),
    plain(r#"Given the folder "notes.sage" exists"#),
    plain(r#"Given the secret "API_KEY" is "s3cret""#),
    plain(r#"Given the agent "sage" with id "sage-1""#),
    plain(r#"When "utils.clock.now" is called"#),
    with(r#"When "utils.sha256" is called with:"#, r#"{"text": "hello"}"#),
    with(
        r#"When "chronicle.readChronicle" is called in process "b" with:"#,
        r#"{"path": "notes.sage"}"#,
    ),
    plain(r#"When process "b" is killed"#),
    VocabularyStep {
        example: "When these calls are made together:",
        below: Below::Table("| call | args |\n| utils.clock.now | {} |"),
    },
    plain(r#"When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "notes.sage""#),
    with(
        r#"When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "notes.sage" with:"#,
        r#"{"text": "hi"}"#,
    ),
    plain(r#"When "sage-1" and "sage-1" each append 10 "NOTE" events to "notes.sage" at once"#),
    with("Then it returns:", r#"{"$any": "value"}"#),
    plain(r#"Then it returns "text""#),
    plain("Then it fails with EVALIDATION"),
    with("Then it fails with EVALIDATION and:", r#"{"details": {"$any": "array"}}"#),
    with(r#"Then the fake "secrets" was asked "get" with:"#, r#"{"key": "API_KEY"}"#),
    plain("Then the append is acknowledged"),
    plain(r#"Then reading "notes.sage" gives 1 event"#),
    plain(r#"Then event 1 of "notes.sage" is a "NOTE" by "sage-1""#),
    with(r#"Then the last 1 event of "notes.sage" are:"#, r#"[{"$any": "object"}]"#),
    with(r#"Then the file "notes.sage" holds:"#, "{}"),
    with(r#"Then the file "notes.sage" begins with:"#, "{}"),
    with(r#"Then the file "notes.sage" holds the events:"#, r#"[{"$any": "object"}]"#),
    plain(r#"Then the file "notes.sage" does not exist"#),
];

/// A step's wording without what an author fills in, to compare wordings.
pub(super) fn shape(text: &str) -> String {
    let text = ["Given ", "When ", "Then "]
        .iter()
        .find_map(|keyword| text.strip_prefix(keyword))
        .unwrap_or(text);
    let mut shape = String::new();
    for (index, part) in text.split('"').enumerate() {
        shape.push_str(if index % 2 == 1 { "\"\"" } else { part });
    }
    shape.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect()
}
