//! The harness names no contract, and a room's laws and steps cannot use the reference.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;

use super::read;
use crate::top;

/// Folders of the harness. They know a contract only through its room.
const HARNESS: &[&str] = &[
    "conformance/adversaries/",
    "conformance/certificate/",
    "conformance/cli/",
    "conformance/doctor/",
    "conformance/judge/",
    "conformance/protocol/",
    "conformance/report/",
    "conformance/room/",
    "conformance/selftest/",
    "conformance/suite/",
    "fakes/core/",
    "xtask/",
];

/// Modules of a room that define what is right. The reference must not influence them.
const JUDGING: &[&str] = &["laws", "model", "steps"];

/// Names that belong to one contract.
pub(super) struct Names {
    /// An id anywhere, or only in quotes if the id is a plain word.
    ids: Regex,
    /// A reference crate or a room, as Rust and Cargo spell them.
    crates: Regex,
}

impl Names {
    pub(super) fn new<'a>(contracts: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let (mut ids, mut crates) = (Vec::new(), Vec::new());
        for id in contracts {
            ids.push(match id.contains('.') {
                true => format!(r"\b{}\b", regex::escape(id)),
                false => format!("[\"`]{}[\"`]", regex::escape(id)),
            });
            crates.push(format!("room-{}", id.replace('.', "-")));
        }
        let folders = fs::read_dir(top().join("reference")).map_err(|fault| fault.to_string())?;
        let folders =
            folders.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        // The reference program is built from the catalog and has no contract of its own.
        crates.extend(folders.filter(|name| name != "adapter"));
        let crates: BTreeSet<String> =
            crates.iter().flat_map(|name| [name.clone(), name.replace('-', "_")]).collect();
        let any =
            |names: Vec<String>| Regex::new(&names.join("|")).map_err(|fault| fault.to_string());
        Ok(Self {
            ids: any(ids)?,
            crates: any(crates.iter().map(|name| format!(r"\b{name}\b")).collect())?,
        })
    }
}

/// No source of the harness names a contract or depends on a contract's crate.
pub(super) fn harness_names_no_contract(
    files: &[String],
    names: &Names,
    problems: &mut Vec<String>,
) -> Result<(), String> {
    let of_harness = |path: &&String| HARNESS.iter().any(|folder| path.starts_with(folder));
    let source = |path: &&String| path.contains("/src/") && path.ends_with(".rs");
    for path in files.iter().filter(of_harness) {
        if source(&path) {
            for (number, line) in read(path)?.lines().enumerate() {
                for name in [&names.ids, &names.crates].into_iter().filter_map(|it| it.find(line)) {
                    problems.push(format!(
                        "{path}:{}: the harness names `{}`; move code about one contract to its room",
                        number + 1,
                        name.as_str()
                    ));
                }
            }
        } else if path.ends_with("/Cargo.toml") {
            let manifest = read(path)?;
            for name in names.crates.find_iter(&manifest) {
                problems.push(format!(
                    "{path}: the harness depends on `{}`; only rooms may",
                    name.as_str()
                ));
            }
        }
    }
    Ok(())
}

/// Laws, models and steps use neither a reference crate nor the part of the room that drives it.
pub(super) fn judging_sees_no_reference(
    files: &[String],
    names: &Names,
    problems: &mut Vec<String>,
) -> Result<(), String> {
    let others = Regex::new(r"crate::(driver|saboteurs|fuzz)|super::super")
        .map_err(|fault| fault.to_string())?;
    for path in files {
        let Some(inside) = path
            .strip_prefix("conformance/contracts/")
            .and_then(|path| path.split_once("/src/"))
            .map(|(_, inside)| inside)
        else {
            continue;
        };
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        if !JUDGING.contains(&module) {
            continue;
        }
        for (number, line) in read(path)?.lines().enumerate() {
            if let Some(name) = names.crates.find(line).or_else(|| others.find(line)) {
                problems.push(format!(
                    "{path}:{}: `{}` belongs to the reference; laws and steps may use only the contract's text",
                    number + 1,
                    name.as_str()
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contract_is_found_by_its_id_and_by_its_crates() {
        let names = Names::new(["my.notes", "diary"].into_iter()).unwrap();
        for found in ["// `my.notes/a/b`", "contract: \"diary\",", "of `diary`"] {
            assert!(names.ids.is_match(found), "{found}");
        }
        for free in ["my_notes", "a diary", "diary.rs"] {
            assert!(!names.ids.is_match(free), "{free}");
        }
        assert!(names.crates.is_match("use room_my_notes::ROOM;"));
        assert!(names.crates.is_match("room-diary = {"));
    }
}
