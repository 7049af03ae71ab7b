//! How a fixture speaks of files: what is put there, and what must be left.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::expand::expand;
use crate::case::{FileExpected, FileGiven};
use crate::matcher::Pattern;

pub(super) fn files_given(
    entries: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, FileGiven>, String> {
    entries.iter().map(|(path, form)| Ok((path.clone(), file_given(path, form)?))).collect()
}

fn file_given(path: &str, form: &Value) -> Result<FileGiven, String> {
    let only = form.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
    match only.map(|(key, value)| (key.as_str(), value)) {
        Some(("text", Value::String(text))) => Ok(FileGiven::Text(text.clone())),
        Some(("hex", Value::String(digits))) => bytes(path, digits).map(FileGiven::Bytes),
        Some(("symlink", Value::String(target))) => Ok(FileGiven::Symlink(target.clone())),
        Some(("hardlink", Value::String(target))) => Ok(FileGiven::Hardlink(target.clone())),
        Some(("fifo", Value::Bool(true))) => Ok(FileGiven::Fifo),
        Some(("folder", Value::Bool(true))) => Ok(FileGiven::Folder),
        _ => Err(format!(
            "file `{path}` must be {{\"text\": …}}, {{\"hex\": …}}, {{\"symlink\": …}}, {{\"hardlink\": …}}, {{\"fifo\": true}} or {{\"folder\": true}}, not {form}"
        )),
    }
}

fn bytes(path: &str, digits: &str) -> Result<Vec<u8>, String> {
    hex::decode(digits)
        .map_err(|fault| format!("`hex` of file `{path}` must be pairs of hex digits: {fault}"))
}

pub(super) fn files_expected(
    entries: &BTreeMap<String, Value>,
) -> Result<BTreeMap<String, FileExpected>, String> {
    entries.iter().map(|(path, form)| Ok((path.clone(), file_expected(path, form)?))).collect()
}

fn file_expected(path: &str, form: &Value) -> Result<FileExpected, String> {
    let wrong = || {
        format!(
            "file `{path}` must leave null, {{\"text\": …}}, {{\"hex\": …}}, {{\"symlink\": …}}, {{\"entries\": […]}}, {{\"prefix\": …}} or {{\"ndjson\": …}} (the last two may stand together), not {form}"
        )
    };
    let Value::Object(map) = form else {
        return if form.is_null() { Ok(FileExpected::Absent) } else { Err(wrong()) };
    };
    let keys: Vec<&str> = map.keys().map(String::as_str).collect();
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    match keys.as_slice() {
        ["text"] => text("text").map(|text| FileExpected::Text(text.to_owned())).ok_or_else(wrong),
        ["hex"] => bytes(path, text("hex").ok_or_else(wrong)?).map(FileExpected::Bytes),
        ["symlink"] => {
            let target = text("symlink").ok_or_else(wrong)?;
            Ok(FileExpected::Symlink(target.to_owned()))
        }
        ["entries"] => names(map).map(FileExpected::Entries).ok_or_else(wrong),
        ["prefix"] | ["ndjson"] | ["prefix", "ndjson"] | ["ndjson", "prefix"] => {
            let prefix = match map.get("prefix") {
                Some(Value::String(text)) => Some(text.clone()),
                Some(_) => return Err(wrong()),
                None => None,
            };
            let ndjson =
                map.get("ndjson").cloned().map(|lines| Pattern::new(expand(lines)?)).transpose()?;
            Ok(FileExpected::Lines { prefix, ndjson })
        }
        _ => Err(wrong()),
    }
}

/// The names in a folder, in the order in which they are compared.
fn names(map: &Map<String, Value>) -> Option<Vec<String>> {
    let names = map.get("entries")?.as_array()?.iter();
    let mut names: Vec<String> =
        names.map(|name| name.as_str().map(str::to_owned)).collect::<Option<_>>()?;
    names.sort_unstable();
    // A folder has no name twice, and none with a slash.
    let sound = |pair: &[String]| pair[0] != pair[1];
    let plain = |name: &String| !name.is_empty() && !name.contains('/');
    (names.windows(2).all(sound) && names.iter().all(plain)).then_some(names)
}
