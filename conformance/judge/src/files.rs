//! Compares files after a step with what the step expects.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::case::FileExpected;
use crate::matcher::Difference;
use crate::saved::Saved;
use crate::transcript::FileSeen;

/// A file that is not as expected.
pub(crate) struct FileDifference {
    pub expected: Value,
    pub got: Value,
    pub difference: Difference,
}

/// The first file that is not as expected.
pub(crate) fn check(
    expected: &BTreeMap<String, FileExpected>,
    seen: &BTreeMap<String, FileSeen>,
    saved: &Saved,
) -> Option<FileDifference> {
    expected.iter().find_map(|(path, expected)| {
        differ(path, expected, seen.get(path).unwrap_or(&FileSeen::Nothing), saved)
    })
}

fn differ(
    path: &str,
    expected: &FileExpected,
    found: &FileSeen,
    saved: &Saved,
) -> Option<FileDifference> {
    let got = match found {
        FileSeen::Nothing => Value::Null,
        FileSeen::Text(text) => Value::from(text.as_str()),
        FileSeen::Bytes(message) | FileSeen::Symlink(message) | FileSeen::Other(message) => {
            Value::from(message.as_str())
        }
        FileSeen::Entries(names) => Value::from(names.clone()),
    };
    let differs = |wanted: Value, place: String, expected: String, have: String| {
        Some(FileDifference {
            expected: wanted,
            got: got.clone(),
            difference: Difference { path: place, expected, got: have },
        })
    };
    match (expected, found) {
        (FileExpected::Absent, FileSeen::Nothing) => None,
        (FileExpected::Absent, _) => {
            differs(Value::Null, path.to_owned(), "no such file".to_owned(), "a file".to_owned())
        }
        (FileExpected::Text(text), FileSeen::Text(have)) if text == have => None,
        (FileExpected::Text(text), FileSeen::Text(have)) => {
            let (place, want, have) = first_difference(path, text, have);
            differs(Value::from(text.as_str()), place, want, have)
        }
        (FileExpected::Lines { prefix, ndjson }, FileSeen::Text(have)) => {
            if let Some(prefix) =
                prefix.as_ref().filter(|prefix| !have.starts_with(prefix.as_str()))
            {
                let (place, want, have) = first_difference(path, prefix, have);
                return differs(Value::from(prefix.as_str()), place, want, have);
            }
            let pattern = ndjson.as_ref()?;
            let wanted = pattern.source.clone();
            if !have.is_empty() && !have.ends_with('\n') {
                return differs(
                    wanted,
                    path.to_owned(),
                    "a last line that ends with a newline".to_owned(),
                    "a file that ends in the middle of a line".to_owned(),
                );
            }
            let mut lines = Vec::new();
            for (index, line) in have.lines().enumerate() {
                match serde_json::from_str::<Value>(line) {
                    Ok(value) => lines.push(value),
                    Err(fault) => {
                        return differs(
                            wanted,
                            format!("{path}:{}", index + 1),
                            "a line of JSON".to_owned(),
                            format!("`{}` ({fault})", line.chars().take(160).collect::<String>()),
                        );
                    }
                }
            }
            let lines = Value::Array(lines);
            let mut difference = pattern.difference_given(saved, &lines)?;
            difference.path = format!("{path} {}", difference.path);
            Some(FileDifference { expected: wanted, got: lines, difference })
        }
        (FileExpected::Bytes(bytes), FileSeen::Bytes(have)) => {
            let want = hex::encode(bytes);
            if want == *have {
                return None;
            }
            differs(Value::from(want.as_str()), path.to_owned(), want, have.clone())
        }
        (FileExpected::Symlink(target), FileSeen::Symlink(have)) => {
            if target == have {
                return None;
            }
            let (want, have) = (format!("a symlink to `{target}`"), format!("one to `{have}`"));
            differs(Value::from(target.as_str()), path.to_owned(), want, have)
        }
        (FileExpected::Entries(names), FileSeen::Entries(have)) => {
            if names == have {
                return None;
            }
            let shown = |names: &[String]| Value::from(names).to_string();
            differs(Value::from(names.clone()), path.to_owned(), shown(names), shown(have))
        }
        _ => {
            let wanted = match expected {
                FileExpected::Symlink(_) => "a symlink",
                FileExpected::Entries(_) => "a folder",
                FileExpected::Bytes(_) => "a file",
                _ => "a text file",
            };
            let message = match found {
                FileSeen::Other(message) => message.clone(),
                FileSeen::Nothing => "no such file".to_owned(),
                _ => "something else".to_owned(),
            };
            differs(Value::from(wanted), path.to_owned(), wanted.to_owned(), message)
        }
    }
}

/// The first line that differs, and that line of each text.
fn first_difference(path: &str, expected: &str, got: &str) -> (String, String, String) {
    let mut line = 0;
    let (mut wants, mut haves) = (expected.split_inclusive('\n'), got.split_inclusive('\n'));
    loop {
        line += 1;
        match (wants.next(), haves.next()) {
            (Some(want), Some(have)) if want == have => {}
            (want, have) => {
                let shown = |text: Option<&str>| {
                    text.map_or("the end of the file".to_owned(), |text| {
                        Value::from(text).to_string()
                    })
                };
                return (format!("{path}:{line}"), shown(want), shown(have));
            }
        }
    }
}
