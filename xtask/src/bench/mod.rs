//! `cargo xtask bench`: measures speed as ratios, both sides in the same run and in turn. First the harness, then
//! every room that has a `benches/speed.rs`.

mod harness;

use std::fs;
use std::path::Path;

pub(crate) use harness::{echo, subject};

use crate::{rooms, run, say};

pub(crate) fn bench() -> Result<(), String> {
    if cfg!(debug_assertions) {
        // The speed of a debug build means nothing.
        return run("cargo", "run --release --quiet --package xtask -- bench".split(' '));
    }
    let mut failed = Vec::new();
    say(format_args!("== the harness"))?;
    if let Err(fault) = harness::bench().and_then(|()| proofmark_room::bench::goals_met()) {
        failed.push(format!("the harness: {fault}"));
    }
    for package in packages()? {
        say(format_args!("== {package}"))?;
        let args = ["bench", "--quiet", "--package", &package, "--bench", "speed"];
        failed.extend(run("cargo", args).err());
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n  ")) }
}

/// The packages of the rooms that have a bench.
fn packages() -> Result<Vec<String>, String> {
    let with_bench = rooms().filter(|room| room.join("benches/speed.rs").exists());
    with_bench.map(|room| package(&room.join("Cargo.toml"))).collect()
}

/// The name of a room's package.
///
/// # Errors
/// If the manifest lets cargo's own test harness run the bench, which would measure nothing and succeed.
fn package(manifest: &Path) -> Result<String, String> {
    let wrong = |fault: &str| format!("{}: {fault}", manifest.display());
    let text = fs::read_to_string(manifest).map_err(|fault| wrong(&fault.to_string()))?;
    let table: toml::Table =
        text.parse().map_err(|fault: toml::de::Error| wrong(fault.message()))?;
    let benches = table.get("bench").and_then(toml::Value::as_array).into_iter().flatten();
    let runs_itself = |bench: &toml::Value| {
        bench.get("name").and_then(toml::Value::as_str) == Some("speed")
            && bench.get("harness").and_then(toml::Value::as_bool) == Some(false)
    };
    if !benches.clone().any(runs_itself) {
        return Err(wrong("needs a [[bench]] with name = \"speed\" and harness = false"));
    }
    let name = table.get("package").and_then(|package| package.get("name"));
    name.and_then(toml::Value::as_str).map(str::to_owned).ok_or_else(|| wrong("has no package"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_benches_of_the_rooms_are_found() {
        assert!(!super::packages().unwrap().is_empty());
    }
}
