//! Removes secrets from everything that a call returns.

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;
use sage_errors::SageError;
use serde_json::{Map, Value};

use crate::ToolError;
use crate::secrets::Secrets;

/// Shorter lines of a longer secret do not count as secrets.
const SHORTEST_LINE: usize = 4;

/// Member names of the contract itself, which reveal nothing.
const OWN_NAMES: [&str; 24] = [
    "rows",
    "content",
    "bytes",
    "patched",
    "diff",
    "code",
    "stdout",
    "stderr",
    "message",
    "name",
    "cause",
    "details",
    "field",
    "reason",
    "received",
    "expected",
    "resource",
    "operation",
    "policy",
    "timeoutMs",
    "elapsedMs",
    "path",
    "ok",
    "data",
];

/// Knows the secrets of one call. It has no `Debug`.
#[derive(Default)]
pub(crate) struct Redactor {
    finder: Option<Finder>,
}

struct Finder {
    search: AhoCorasick,
    /// The search patterns, and the secret of each.
    needles: Vec<(String, String)>,
}

/// Marks for a redacted secret. The first that contains no secret is used.
#[derive(Clone, Copy)]
enum Mark {
    Named,
    Unnamed,
    Stars,
    Nothing,
}

impl Redactor {
    pub(crate) fn of(secrets: &Secrets) -> Self {
        // Sorted, and of equal values the first name: the same secrets leave the same marks.
        let mut needles: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in secrets.iter() {
            for form in forms(value) {
                needles.entry(form).or_insert_with(|| name.to_owned());
            }
        }
        let needles: Vec<_> = needles.into_iter().collect();
        let search = AhoCorasick::new(needles.iter().map(|(needle, _)| needle));
        // Building fails only beyond the memory limit; then nothing may be returned.
        let search = search.expect("secrets are shorter than two gigabytes");
        Self { finder: (!needles.is_empty()).then_some(Finder { search, needles }) }
    }

    /// `text` without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        match &self.finder {
            Some(finder) if finder.search.is_match(text) => finder.redact(text),
            _ => text.to_owned(),
        }
    }

    /// `text` without secrets, if the rest was cut off: an end that may be the beginning of a secret is removed too.
    pub(crate) fn cut_text(&self, text: &str) -> String {
        let Some(mut end) = self.beginning(text) else { return self.text(text) };
        // A complete secret must not lose its end to this one, which would reveal its beginning.
        while let Some(start) = self.across(text, end) {
            end = start;
        }
        self.text(&text[..end])
    }

    /// Where a secret begins that stands on both sides of `at`.
    fn across(&self, text: &str, at: usize) -> Option<usize> {
        let needles = self.finder.iter().flat_map(|finder| &finder.needles);
        needles
            .filter_map(|(needle, _)| {
                let from =
                    text.ceil_char_boundary(at.saturating_sub(needle.len().saturating_sub(1)));
                let to = text.floor_char_boundary((at + needle.len()).saturating_sub(1));
                text.get(from..to)?.find(needle.as_str()).map(|found| from + found)
            })
            .min()
    }

    /// The position at which the end of `text` may begin a secret.
    fn beginning(&self, text: &str) -> Option<usize> {
        let needles = || self.finder.iter().flat_map(|finder| &finder.needles);
        let longest = needles().map(|(needle, _)| needle.len()).max()?;
        let begins = |needle: &str, end: &str| end.len() < needle.len() && needle.starts_with(end);
        (text.len().saturating_sub(longest)..text.len())
            .filter(|start| text.is_char_boundary(*start))
            .find(|start| needles().any(|(needle, _)| begins(needle, &text[*start..])))
    }

    /// `value` without secrets in any string, including member names.
    pub(crate) fn value(&self, value: &Value) -> Value {
        if self.finder.is_none() {
            return value.clone();
        }
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => Value::Object(self.members(members)),
            other => other.clone(),
        }
    }

    fn members(&self, members: &Map<String, Value>) -> Map<String, Value> {
        let mut redacted = Map::new();
        for (name, value) in members {
            let is_own = OWN_NAMES.contains(&name.as_str());
            let mut free = if is_own { name.clone() } else { self.text(name) };
            // Two names may become equal; none is lost.
            while redacted.contains_key(&free) {
                free.push('_');
            }
            redacted.insert(free, self.value(value));
        }
        redacted
    }

    pub(crate) fn error(&self, error: ToolError) -> ToolError {
        let is_own = SageError::CODES.contains(&error.code.as_str());
        ToolError {
            code: if is_own { error.code } else { self.text(&error.code) },
            message: self.text(&error.message),
            properties: self.members(&error.properties),
        }
    }
}

impl Finder {
    fn redact(&self, text: &str) -> String {
        let mut redacted = text.to_owned();
        for mark in [Mark::Named, Mark::Unnamed, Mark::Stars] {
            let tried = self.replaced(text, mark);
            if !self.search.is_match(&tried) {
                return tried;
            }
        }
        // Removing text may form a secret again. Each round is shorter.
        while self.search.is_match(&redacted) {
            redacted = self.replaced(&redacted, Mark::Nothing);
        }
        redacted
    }

    fn replaced(&self, text: &str, mark: Mark) -> String {
        let mut replaced = String::new();
        let mut from = 0;
        for (start, end, name) in self.ranges(text) {
            replaced.push_str(&text[from..start]);
            match mark {
                Mark::Named => replaced.push_str(&format!("[SECRET:{name}]")),
                Mark::Unnamed => replaced.push_str("[SECRET]"),
                Mark::Stars => replaced.push_str("***"),
                Mark::Nothing => {}
            }
            from = end;
        }
        replaced.push_str(&text[from..]);
        replaced
    }

    /// The positions of secrets. Overlapping ones count as one, with the name of the longest.
    fn ranges(&self, text: &str) -> Vec<(usize, usize, &str)> {
        let mut found: Vec<_> = self
            .search
            .find_overlapping_iter(text)
            .map(|found| (found.start(), found.end(), found.pattern().as_usize()))
            .collect();
        found.sort_unstable_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
        let mut merged: Vec<(usize, usize, usize, usize)> = Vec::new();
        for (start, end, needle) in found {
            match merged.last_mut() {
                Some((_, last, longest, named)) if start < *last => {
                    *last = (*last).max(end);
                    if end - start > *longest {
                        (*longest, *named) = (end - start, needle);
                    }
                }
                _ => merged.push((start, end, end - start, needle)),
            }
        }
        let named = |(start, end, _, needle): (usize, usize, usize, usize)| {
            (start, end, self.needles[needle].1.as_str())
        };
        merged.into_iter().map(named).collect()
    }
}

/// The forms of a secret: as is, JSON-escaped, and line by line.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    let lines: Vec<_> = value.split(['\n', '\r']).collect();
    if lines.len() > 1 {
        let long = lines.into_iter().filter(|line| line.chars().count() >= SHORTEST_LINE);
        forms.extend(long.map(str::to_owned));
    }
    let escaped: Vec<_> =
        forms.iter().flat_map(|form| [in_json(form), in_ascii_json(form)]).collect();
    forms.extend(escaped);
    forms.retain(|form| !form.is_empty());
    forms
}

fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// As writers do that keep to ASCII.
fn in_ascii_json(text: &str) -> String {
    let mut ascii = String::new();
    for c in in_json(text).chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn redactor(secrets: &[(&str, &str)]) -> Redactor {
        Redactor::of(&Secrets::known(secrets))
    }

    #[rstest]
    #[case::plain(&[("A", "xyz")], "<xyz>", "<[SECRET:A]>")]
    #[case::twice(&[("A", "xyz")], "xyzxyz", "[SECRET:A][SECRET:A]")]
    #[case::the_longest_first(&[("A", "xyz"), ("B", "xyzzy")], "xyzzy", "[SECRET:B]")]
    #[case::overlapping(&[("A", "abcd"), ("B", "cdef")], "-abcdef-", "-[SECRET:A]-")]
    #[case::itself_overlapping(&[("A", "aba")], "ababa", "[SECRET:A]")]
    #[case::one_inside(&[("A", "abcdef"), ("B", "cd")], "abcdef cd", "[SECRET:A] [SECRET:B]")]
    #[case::escaped(&[("A", "a\"b")], r#"{"x":"a\"b"}"#, r#"{"x":"[SECRET:A]"}"#)]
    #[case::a_line(&[("A", "first\nsecond")], "> second", "> [SECRET:A]")]
    #[case::a_short_line(&[("A", "first\nend")], "the end", "the end")]
    #[case::empty(&[("A", "")], "text", "text")]
    #[case::its_own_name(&[("NAME", "NAME")], "<NAME>", "<[SECRET]>")]
    #[case::its_own_mark(&[("A", "SECRET")], "<SECRET>", "<***>")]
    #[case::every_mark(&[("A", "S"), ("B", "*")], "<S*S>", "<>")]
    #[case::made_by_removing(&[("A", "S"), ("B", "*"), ("C", "xy")], "xSy", "")]
    fn what_is_left(#[case] secrets: &[(&str, &str)], #[case] text: &str, #[case] expect: &str) {
        assert_eq!(redactor(secrets).text(text), expect);
    }

    #[rstest]
    #[case("text sec", "text ")]
    #[case("text s", "text ")]
    #[case("text secret", "text [SECRET:A]")]
    #[case("text secre!", "text secre!")]
    // The first three letters are followed by others than the secret's, so they are none of it.
    #[case("secsec", "sec")]
    fn what_is_left_before_a_cut(#[case] text: &str, #[case] expect: &str) {
        assert_eq!(redactor(&[("A", "secret")]).cut_text(text), expect);
    }

    #[test]
    fn a_cut_through_two_that_overlap_leaves_neither() {
        let redactor = redactor(&[("A", "secret"), ("B", "retarget")]);
        assert_eq!(redactor.cut_text("text secretar"), "text ");
    }

    #[test]
    fn names_that_become_one_are_both_kept() {
        let redacted = redactor(&[("A", "xyz")]).value(&json!({"xyz": 1, "[SECRET:A]": 2}));
        assert_eq!(redacted, json!({"[SECRET:A]": 1, "[SECRET:A]_": 2}));
    }

    proptest! {
        #[test]
        fn no_secret_is_left(
            secrets in prop::collection::vec("[ab\"*S\\n]{0,4}", 1..4),
            text in "[ab\"*S\\[\\n]{0,30}",
        ) {
            let values = secrets.iter().map(String::as_str);
            let named: Vec<_> = ["A", "B", "C"].into_iter().zip(values).collect();
            let redacted = redactor(&named).text(&text);
            for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
                prop_assert!(!redacted.contains(secret.as_str()), "{secret:?} in {redacted:?}");
            }
        }
    }
}
