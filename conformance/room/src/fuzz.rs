//! Fuzz targets for `cargo xtask fuzz`, which `cargo test` runs with the seeds only; and helpers for seeds.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A parser of untrusted input.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// The target's name, which is also the folder of its findings.
    pub name: &'static str,
    /// Panics if a property does not hold for these bytes.
    pub check: fn(&[u8]),
    /// The initial inputs, from the repository at this path.
    pub seeds: fn(&Path) -> Vec<Vec<u8>>,
}

/// All cases of all fixtures.
pub fn all_cases(top: &Path) -> Vec<Value> {
    let files = all_fixtures(top);
    files.iter().flat_map(|file| file["cases"].as_array().into_iter().flatten().cloned()).collect()
}

/// All fixture files.
pub fn all_fixtures(top: &Path) -> Vec<Value> {
    let texts = texts(&top.join("fixtures"), ".json");
    texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
}

/// The texts of all files below `folder` with this ending, in path order.
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

/// Keeps only short seeds, which mutate faster, and drops duplicates.
pub fn short(mut seeds: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    seeds.retain(|seed| seed.len() < 5000);
    seeds.sort();
    seeds.dedup();
    seeds
}
