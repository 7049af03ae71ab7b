//! What `cargo xtask fuzz` tries, and `cargo test` with the seeds alone; and what seeds are made of.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A parser that reads what a stranger wrote.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// The target's name, and that of the folder with its findings.
    pub name: &'static str,
    /// Panics when something does not hold of these bytes.
    pub check: fn(&[u8]),
    /// Inputs to begin with, from the repository at this path.
    pub seeds: fn(&Path) -> Vec<Vec<u8>>,
}

/// Every case of every fixture.
pub fn all_cases(top: &Path) -> Vec<Value> {
    let files = all_fixtures(top);
    files.iter().flat_map(|file| file["cases"].as_array().into_iter().flatten().cloned()).collect()
}

/// Every file of cases.
pub fn all_fixtures(top: &Path) -> Vec<Value> {
    let texts = texts(&top.join("fixtures"), ".json");
    texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
}

/// The texts of all files below `folder` with this ending, in the order of their paths.
pub fn texts(folder: &Path, ending: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(texts(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.extend(fs::read_to_string(&path));
        }
    }
    found
}

/// Only the short ones, which are changed more quickly, and each once.
pub fn short(mut seeds: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    seeds.retain(|seed| seed.len() < 5000);
    seeds.sort();
    seeds.dedup();
    seeds
}
