//! Descriptions of expectations and differences for people.

use serde_json::Value;

use super::{KINDS, Node};

/// Clips two long texts around the first difference.
pub(super) fn around_first_difference(expected: String, got: String) -> (String, String) {
    const BEFORE: usize = 40;
    let alike = expected.chars().zip(got.chars()).take_while(|(a, b)| a == b).count();
    if alike <= BEFORE || expected.chars().count().max(got.chars().count()) <= MOST {
        return (clip(expected), clip(got));
    }
    let cut = |text: String| {
        let count = text.chars().count();
        clip_of(std::iter::once('…').chain(text.chars().skip(alike - BEFORE)).collect(), count)
    };
    (cut(expected), cut(got))
}

/// Describes the expectation.
pub(super) fn wanted(node: &Node) -> String {
    match node {
        Node::Exact(value) => short(value),
        Node::Any(kind) => {
            let word =
                KINDS.iter().find(|(_, known)| known == kind).map_or("value", |(word, _)| *word);
            format!("any {word}")
        }
        Node::NonEmpty(kind) => format!("{}, not empty", wanted(&Node::Any(*kind))),
        Node::Matches(regex) => format!("a string that matches /{regex}/"),
        Node::OneOf(choices) => choices.iter().map(wanted).collect::<Vec<_>>().join(" or "),
        Node::Saved(reference) => format!("what was saved as `{reference}`"),
        Node::StartsWithSaved(reference) => {
            format!("an array that begins with what was saved as `{reference}`")
        }
        Node::Above(limit) => format!("a number above {}", wanted(limit)),
        Node::Within { bytes, inner } => format!("at most {bytes} bytes, {}", wanted(inner)),
        Node::Optional(inner) => format!("{} or nothing", wanted(inner)),
        Node::Absent => "nothing: no such member".to_owned(),
        Node::Object { members, open } => {
            let inside: Vec<_> = members
                .iter()
                .map(|(key, node)| format!("{}: {}", Value::from(key.as_str()), wanted(node)))
                .collect();
            clip(format!("{{{}{}}}", inside.join(", "), if *open { ", …" } else { "" }))
        }
        Node::Array(items) => {
            clip(format!("[{}]", items.iter().map(wanted).collect::<Vec<_>>().join(", ")))
        }
        Node::Unordered(items) => clip(format!(
            "in any order [{}]",
            items.iter().map(wanted).collect::<Vec<_>>().join(", ")
        )),
        Node::StartsWith(items) => {
            clip(format!("[{}, …]", items.iter().map(wanted).collect::<Vec<_>>().join(", ")))
        }
        Node::Each(item) => clip(format!("an array in which each item is {}", wanted(item))),
        Node::Among { items, inner } => {
            clip(format!("{}, of the items that are {}", wanted(inner), wanted(items)))
        }
        Node::Contains(items) => clip(format!(
            "an array with [{}]",
            items.iter().map(wanted).collect::<Vec<_>>().join(", ")
        )),
    }
}

pub(super) fn push_key(path: &mut String, key: &str) {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if plain {
        path.push('.');
        path.push_str(key);
    } else {
        path.push_str(&format!("[{}]", Value::from(key)));
    }
}

pub(super) fn push_index(path: &mut String, index: usize) {
    path.push_str(&format!("[{index}]"));
}

/// A value on one line, clipped.
pub(super) fn short(value: &Value) -> String {
    clip(value.to_string())
}

/// The most characters of a value that a difference shows.
const MOST: usize = 160;

fn clip(text: String) -> String {
    let count = text.chars().count();
    clip_of(text, count)
}

/// Clips the rest of a text that had `count` characters.
fn clip_of(text: String, count: usize) -> String {
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}… ({count} characters)", &text[..at]),
        None => text,
    }
}
