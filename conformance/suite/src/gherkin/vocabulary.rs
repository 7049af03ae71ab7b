//! The steps that an author can write, each with an example and what it does. A test reads every example back.

use super::wording::shape;
use crate::problem::distance;

/// One step of the vocabulary.
#[derive(Debug)]
pub struct VocabularyStep {
    pub example: &'static str,
    /// What must stand under it: nothing, a doc string, or a table.
    pub below: Below,
    /// In one sentence.
    pub does: &'static str,
    /// The contract whose words it speaks; none for the general ones.
    pub contract: Option<&'static str>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Below {
    Nothing,
    Text(&'static str),
    Table(&'static str),
}

const fn plain(example: &'static str, does: &'static str) -> VocabularyStep {
    VocabularyStep { example, below: Below::Nothing, does, contract: None }
}

const fn with(example: &'static str, doc: &'static str, does: &'static str) -> VocabularyStep {
    VocabularyStep { example, below: Below::Text(doc), does, contract: None }
}

const fn of_chronicle(step: VocabularyStep) -> VocabularyStep {
    VocabularyStep { contract: Some("sage.chronicle"), ..step }
}

const fn of_tools(step: VocabularyStep) -> VocabularyStep {
    VocabularyStep { contract: Some("sage.tools"), ..step }
}

const fn of_llm(step: VocabularyStep) -> VocabularyStep {
    VocabularyStep { contract: Some("sage.llm"), ..step }
}

const fn of_runs(step: VocabularyStep) -> VocabularyStep {
    VocabularyStep { contract: Some("runs"), ..step }
}

/// In the order in which one tells a story.
pub const STEPS: &[VocabularyStep] = &[
    plain(
        r#"Given the clock starts at "2024-01-01T00:00:00.000Z" and steps 1000 ms"#,
        "Sets the session's clock: its first reading, and how far each reading is from the one before.",
    ),
    plain(
        "Given the random tape has integers 7, 9 and floats 0.25, 0.5",
        "Sets the random numbers that the session reads, in this order.",
    ),
    with(
        r#"Given the file "notes.sage" holds:"#,
        "{}",
        "Puts a file of whole lines into the workspace.",
    ),
    with(
        r#"Given the file "notes.sage" holds the unfinished text:"#,
        r#"{"type":"#,
        "Puts a file into the workspace whose last line has no line end.",
    ),
    plain(r#"Given the folder "notes.sage" exists"#, "Makes a folder in the workspace."),
    plain(
        r#"Given the secret "API_KEY" is "s3cret""#,
        "Lets the fake `secrets` answer with this value.",
    ),
    with(
        r#"Given the fake "secrets" plays:"#,
        r#"{"values": {"API_KEY": "s3cret"}}"#,
        "Gives a fake its whole script, as JSON.",
    ),
    plain(
        r#"Given the file "notes.txt" is a symlink to "other.txt""#,
        "Makes a symlink in the workspace; the target is relative to its folder.",
    ),
    of_tools(plain(
        r#"Given the permission "Write""#,
        "Allows the tools that are run from here on to do so.",
    )),
    of_tools(plain(
        "Given a dry run",
        "The tools that are run from here on only show what they would do.",
    )),
    of_tools(plain(
        "Given secrets are injected",
        "The tools that are run from here on get values for `$ENV.NAME`, from the fake `secrets`.",
    )),
    of_tools(with(
        r#"Given the tool "Search" takes:"#,
        r#"{"type": "object", "properties": {"text": {"type": "string"}}}"#,
        "Registers a tool with this JSON Schema; the fake `tools` plays it.",
    )),
    of_tools(with(
        r#"Given the tool "Search" will answer:"#,
        r#"{"ok": true, "data": {}}"#,
        "The fake `tools` answers the next call of this tool with this ToolResult.",
    )),
    of_llm(with(
        "Given the model will answer:",
        r#"{"events": [{"type": "text", "value": "Hi."}, {"type": "end"}]}"#,
        "The model's next turn: `events`, `text`, `error` or `stall`.",
    )),
    of_llm(with(
        r#"Given the model may use the tool "Search", which takes:"#,
        r#"{"type": "object", "properties": {"text": {"type": "string"}}}"#,
        "Offers the model a tool with this JSON Schema; the fake `tools` plays it.",
    )),
    of_chronicle(plain(
        r#"Given the agent "sage" with id "sage-1""#,
        "Introduces an agent; later steps name it by its id.",
    )),
    of_runs(plain("Given a run", "Makes a run, and the user watches its stream.")),
    of_runs(plain(
        r#"Given the node "Implementer A" of role "implementer""#,
        "Makes a node of this label and role.",
    )),
    of_runs(plain(
        r#"Given the gated node "Implementer A" of role "implementer""#,
        "Makes a node that asks before its tools run.",
    )),
    of_runs(plain(
        r#"Given an edge from "Implementer A" to "Reviewer""#,
        "Makes an edge between two nodes, with its defaults.",
    )),
    of_runs(with(
        r#"Given the provider of "Implementer A" will play:"#,
        r#"[{"done": {"message": "Done."}}]"#,
        "The items of the node's next turn.",
    )),
    of_runs(with(
        r#"Given the provider of "Implementer A" will play in every further turn:"#,
        r#"[{"done": {"message": "Done."}}]"#,
        "The items of each turn after those that are played once.",
    )),
    plain(
        r#"When "utils.clock.now" is called"#,
        "Calls an operation without arguments; it must succeed unless a `Then` says otherwise.",
    ),
    with(
        r#"When "utils.sha256" is called with:"#,
        r#"{"text": "hello"}"#,
        "Calls an operation with these arguments, a JSON object.",
    ),
    with(
        r#"When "chronicle.readChronicle" is called in process "b" with:"#,
        r#"{"path": "notes.sage"}"#,
        "Calls an operation in another process of the subject, on the same workspace.",
    ),
    plain(
        r#"When process "b" is killed"#,
        "Ends a process with SIGKILL; the next step that names it starts a fresh one.",
    ),
    VocabularyStep {
        example: "When these calls are made together:",
        below: Below::Table("| call | args |\n| utils.clock.now | {} |\n| utils.clock.now | {} |"),
        does: "Sends all calls of the table at once; each must succeed.",
        contract: None,
    },
    of_chronicle(plain(
        r#"When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "notes.sage""#,
        "Appends an event by an agent that was introduced.",
    )),
    of_chronicle(with(
        r#"When "sage-1" appends a "NOTE" event at "2024-01-01T12:00:00.000Z" to "notes.sage" with:"#,
        r#"{"text": "hi"}"#,
        "Appends an event with further members, a JSON object.",
    )),
    of_chronicle(plain(
        r#"When "sage-1" and "sage-1" each append 10 "NOTE" events to "notes.sage" at once"#,
        "Sends the appends of two agents at once, numbered from 0.",
    )),
    of_tools(with(
        r#"When the tool "Read" is run with:"#,
        r#"{"file": "notes.txt"}"#,
        "Runs a tool with this input, a JSON object.",
    )),
    of_llm(plain(
        r#"When the model is asked "Who are you?""#,
        "Starts a chat with one message of the user, and takes all that comes.",
    )),
    of_runs(plain(r#"When the user tells "Implementer A" "Tidy up.""#, "A message to this node.")),
    of_runs(plain(
        r#"When "Implementer A" asks for an approval"#,
        "The user watches until the node wants an approval.",
    )),
    of_runs(plain("When the user approves", "The approval that was asked for last is given.")),
    of_runs(plain("When the user denies", "The approval that was asked for last is refused.")),
    of_runs(with(
        "When the user approves other arguments:",
        r#"{"cmd": "ls"}"#,
        "The approval that was asked for last is given, with these arguments for the tool.",
    )),
    of_runs(plain(
        r#"When "Implementer A" is idle again"#,
        "The user watches until the node is idle.",
    )),
    of_runs(plain("When the run stalls", "The user watches until the run has stalled.")),
    of_runs(plain(
        "When the server is killed and starts again",
        "The server gets SIGKILL; a new one serves the same folder, and the user watches from the beginning.",
    )),
    of_runs(plain("When the user looks at the run", "The run as it is now.")),
    with(
        "Then it returns:",
        r#"{"$any": "value"}"#,
        "The last call returned exactly this JSON; matchers may stand in it.",
    ),
    plain(
        r#"Then it returns "text""#,
        "The last call returned this string, number, true, false or null.",
    ),
    plain("Then it fails with EVALIDATION", "The last call failed with this code."),
    with(
        "Then it fails with EVALIDATION and:",
        r#"{"details": {"$any": "array"}}"#,
        "The last call failed with this code and at least these properties.",
    ),
    with(
        r#"Then the fake "secrets" was asked "get" with:"#,
        r#"{"key": "API_KEY"}"#,
        "The last call asked a fake this; one such step for each call of a fake, in order.",
    ),
    with(
        "Then it streams:",
        r#"[{"type": "end"}]"#,
        "Before the last call was answered, exactly these items came; adjacent texts are one.",
    ),
    plain(
        r#"Then it is remembered as "pool""#,
        r#"Later steps refer to the answer of the last call by this name: {"$ref": "pool/handle"}."#,
    ),
    plain(
        r#"Then "s3cret" is nowhere in what it said"#,
        "The text stands nowhere in the answer of the last call and in its stream.",
    ),
    of_runs(with(
        "Then the run is:",
        r#"{"status": "paused"}"#,
        "The run that was looked at has these members.",
    )),
    of_runs(with(
        "Then of these kinds the user saw exactly:",
        r#"[{"type": "tool.started"}]"#,
        "Until what was waited for, these events came, in this order, and no others of their types.",
    )),
    of_tools(with(
        "Then the tool answers:",
        r#"{"$any": "value"}"#,
        "The tool ran, and its data is this.",
    )),
    of_tools(plain("Then the tool is refused with EPERMISSION", "The tool failed with this code.")),
    of_tools(with(
        "Then the tool is refused with EPERMISSION and:",
        r#"{"operation": "write"}"#,
        "The tool failed with this code and at least these properties.",
    )),
    of_chronicle(plain("Then the append is acknowledged", "The last append returned null.")),
    of_chronicle(plain(
        r#"Then reading "notes.sage" gives 1 event"#,
        "Reads the chronicle: it has so many events.",
    )),
    of_chronicle(plain(
        r#"Then event 1 of "notes.sage" is a "NOTE" by "sage-1""#,
        "Reads the chronicle: the event of this number (from 1) has this type and actor.",
    )),
    of_chronicle(with(
        r#"Then the last 1 event of "notes.sage" are:"#,
        r#"[{"$any": "object"}]"#,
        "Reads the end of the chronicle: exactly these events, as JSON.",
    )),
    with(r#"Then the file "notes.sage" holds:"#, "{}", "The file has exactly these lines now."),
    with(
        r#"Then the file "notes.sage" begins with:"#,
        "{}",
        "The file begins with these lines now.",
    ),
    with(
        r#"Then the file "notes.sage" holds the events:"#,
        r#"[{"$any": "object"}]"#,
        "The lines of the file, each read as JSON, are this array now.",
    ),
    plain(r#"Then the file "notes.sage" does not exist"#, "There is no such file now."),
];

/// The steps that a misspelt one may have meant, the nearest first; among equals those of any contract. One of another
/// keyword than the text's own is taken for further away.
pub fn like(text: &str) -> Vec<&'static VocabularyStep> {
    // A keyword may be of any spoken language, and misspelt as well.
    let without_keyword = text.trim_start().split_once(char::is_whitespace).map(|(_, rest)| rest);
    let wanted: Vec<String> =
        [Some(text), without_keyword].into_iter().flatten().map(shape).collect();
    let mut near: Vec<(usize, bool, usize)> = Vec::new();
    for (index, step) in STEPS.iter().enumerate() {
        let said = shape(step.example);
        let away = wanted.iter().map(|wanted| distance(wanted, &said)).min().unwrap_or(usize::MAX);
        if away <= 1 + said.chars().count() / 3 {
            let further = if is_of_another_keyword(text, step) { OTHER_KEYWORD } else { 0 };
            near.push((away + further, step.contract.is_some(), index));
        }
    }
    near.sort_unstable();
    near.into_iter().map(|(.., index)| &STEPS[index]).collect()
}

/// So many letters is a step of another keyword further away: less than most slips of the pen take to be another step.
const OTHER_KEYWORD: usize = 3;

/// Nobody says which keyword is meant where a text begins with none of them.
fn is_of_another_keyword(text: &str, step: &VocabularyStep) -> bool {
    let keyword = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    let said = keyword(text);
    ["Given", "When", "Then"].contains(&said.as_str()) && said != keyword(step.example)
}

/// The steps that speak of these words, those with the most of them first; among equals those of any contract.
pub fn about(text: &str) -> Vec<&'static VocabularyStep> {
    let words: Vec<String> = shape(text)
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.len() > 2 && !SMALL_WORDS.contains(word))
        .map(str::to_owned)
        .collect();
    let hits = |step: &VocabularyStep| {
        let said = format!("{} {}", shape(step.example), shape(step.does));
        words.iter().filter(|word| said.contains(word.as_str())).count()
    };
    let mut found: Vec<(usize, &VocabularyStep)> =
        STEPS.iter().map(|step| (hits(step), step)).filter(|(hits, _)| *hits > 0).collect();
    // Stable: among equals the order of the story stays.
    found.sort_by_key(|(hits, step)| {
        (is_of_another_keyword(text, step), std::cmp::Reverse(*hits), step.contract.is_some())
    });
    found.into_iter().map(|(_, step)| step).collect()
}

/// Those that are like a text, then those that are about the same.
pub fn near(text: &str) -> Vec<&'static VocabularyStep> {
    let mut found = like(text);
    for step in about(text) {
        if !found.iter().any(|known| known.example == step.example) {
            found.push(step);
        }
    }
    found
}

/// They stand in too many steps to tell one from another.
const SMALL_WORDS: [&str; 5] = ["and", "has", "the", "was", "with"];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn first(text: &str, example: Option<&str>) {
        assert_eq!(like(text).first().map(|step| step.example), example, "{text}");
    }

    #[test]
    fn what_is_filled_in_keywords_and_other_words_do_not_hide_a_step() {
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
    fn keyword_and_kind_of_value_tell_steps_apart() {
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
        let found = near("Then an error EIO is raised");
        assert_eq!(found[0].example, "Then it fails with EVALIDATION");
    }

    #[test]
    fn general_steps_come_first_among_equals() {
        let found: Vec<bool> =
            about("it returned").iter().map(|step| step.contract.is_some()).collect();
        assert!(found.is_sorted() && found.contains(&true) && found.contains(&false), "{found:?}");
    }
}
