//! Normalizes the wording of steps for comparison: drops the author's values and unifies synonyms.

/// Synonyms for words of the vocabulary; an empty string for filler words.
const SAME: [(&str, &str); 15] = [
    ("answers", "returns"),
    ("gives", "returns"),
    ("hands", "returns"),
    ("produces", "returns"),
    ("responds", "returns"),
    ("yields", "returns"),
    ("back", ""),
    ("errors", "fails"),
    ("raised", "fails"),
    ("thrown", "fails"),
    ("raises", "fails"),
    ("rejects", "fails"),
    ("throws", "fails"),
    ("contains", "holds"),
    ("invoked", "called"),
];

/// Synonyms for `does not exist`.
const NOT_THERE: [&str; 6] =
    [" is gone", " is absent", " is missing", " is deleted", " is removed", " is not there"];

/// Treats an object or list in the step's text as a doc string: the author means the step that takes one.
fn with_value_below(text: &str) -> String {
    let mut quoted = false;
    let opens = text.char_indices().find(|(_, letter)| {
        quoted ^= *letter == '"';
        !quoted && matches!(letter, '[' | '{')
    });
    match opens {
        Some((at, _)) if at > 0 => format!("{}:", text[..at].trim_end().trim_end_matches(':')),
        _ => text.to_owned(),
    }
}

/// A code such as `EIO`. Any code fits the same steps.
fn is_code(word: &str) -> bool {
    word.len() > 2
        && word.starts_with('E')
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// The wording of a step without the author's values.
pub(super) fn shape(text: &str) -> String {
    let text = with_value_below(text.trim());
    let text = NOT_THERE.iter().fold(text, |text, said| text.replace(said, " does not exist"));
    let codes = text.split(' ').map(|word| if is_code(word) { "ECODE" } else { word });
    let text = codes.collect::<Vec<_>>().join(" ");
    let text = text.as_str();
    let text = ["Given ", "When ", "Then ", "And ", "But ", "* "]
        .iter()
        .find_map(|keyword| text.strip_prefix(keyword))
        .unwrap_or(text);
    let mut shape = String::new();
    for (index, part) in text.split('"').enumerate() {
        shape.push_str(if index % 2 == 1 { "\"\"" } else { part });
    }
    let shape: String = shape
        .to_lowercase()
        .chars()
        .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
        .collect();
    let words = shape.split_whitespace().map(|word| {
        let (bare, colon) = word.strip_suffix(':').map_or((word, ""), |bare| (bare, ":"));
        let meant = match bare {
            "null" | "true" | "false" => "\"\"",
            _ => SAME.iter().find(|(said, _)| *said == bare).map_or(bare, |(_, meant)| meant),
        };
        (meant, colon)
    });
    words.fold(String::new(), |mut shape, (word, colon)| {
        if !shape.is_empty() && !word.is_empty() {
            shape.push(' ');
        }
        shape + word + colon
    })
}
