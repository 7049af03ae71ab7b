//! Makes untrusted text safe to show.

use std::borrow::Cow;

/// Escapes invisible characters, and those that change how neighbouring text looks, as JSON does: `\u001b`, `\u202e`.
/// Keeps newlines and tabs. In a JSON string the meaning stays the same.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_hidden(letter) {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// The same, on one line: escapes newlines and tabs, too.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    match visible(text) {
        shown if shown.contains(['\n', '\t']) => {
            Cow::Owned(shown.replace('\n', "\\n").replace('\t', "\\t"))
        }
        shown => shown,
    }
}

/// Control characters, direction marks, zero-width characters and noncharacters. Legal XML allows neither the first
/// nor the last.
fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => {
            true
        }
        '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => letter.is_control() || u32::from(letter) & 0xfffe == 0xfffe,
    }
}

/// At most `head` and `tail` characters, with the number omitted from the middle.
pub fn cut(text: &str, head: usize, tail: usize) -> Cow<'_, str> {
    // Quick check: a text has at least as many bytes as characters.
    if text.len() <= head + tail {
        return Cow::Borrowed(text);
    }
    let count = text.chars().count();
    if count <= head + tail {
        return Cow::Borrowed(text);
    }
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(count - tail).collect();
    Cow::Owned(format!("{first} … {} characters … {last}", count - head - tail))
}

/// A count with its noun: `1 case`, `2 cases`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped() {
        let hostile = "a\u{1b}[31m\u{202e}b\u{feff}\u{fffe}\u{e0041}\u{9b}\0";
        assert_eq!(visible(hostile), r"a\u001b[31m\u202eb\ufeff\ufffe\udb40\udc41\u009b\u0000");
        assert_eq!(visible_line("a\r\nb\t"), r"a\u000d\nb\t");
    }

    #[test]
    fn visible_text_is_unchanged() {
        for text in ["plain", "Größe 漢字 🙂", "two\nlines\tand a tab"] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }

    /// Parsing the shown form as JSON gives the value back.
    #[test]
    fn a_json_value_keeps_its_meaning() {
        let value = serde_json::json!({"k\u{202e}": "a\u{7f}\u{10ffff}\u{200d}"});
        let shown = visible(&value.to_string()).into_owned();
        assert!(shown.is_ascii(), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }

    #[test]
    fn the_middle_is_cut() {
        assert_eq!(cut("äöüäöü", 2, 1), "äö … 3 characters … ü");
        assert_eq!(cut("äöü", 2, 1), "äöü");
    }
}
