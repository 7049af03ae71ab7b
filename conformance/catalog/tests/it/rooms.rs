//! Invariants of every room.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proofmark_catalog::{files, load, reference, rooms, unmatched_saboteurs};

/// The subfolders of a folder in the repository.
fn folders(path: &str) -> BTreeSet<String> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = fs::read_dir(top.join(path)).unwrap().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn every_contract_has_one_room_fixtures_and_a_line_in_the_catalog() {
    let listed: BTreeSet<String> = rooms().map(|room| room.contract.to_owned()).collect();
    assert_eq!(listed.len(), rooms().count(), "a contract has two rooms");
    assert_eq!(listed, folders("conformance/contracts"));
    assert_eq!(listed, folders("fixtures"));
    let claimed: BTreeSet<String> = reference().about().contracts.iter().cloned().collect();
    assert_eq!(listed, claimed, "the reference claims what the rooms are about");
}

#[test]
fn the_suite_is_sound_and_pins_the_sections_that_it_cites() {
    let suite = load(&files()).unwrap_or_else(|problems| panic!("{problems:#?}"));
    for contract in &suite.contracts {
        assert!(!contract.sections.is_empty(), "{} pins no section", contract.id);
    }
    let problems = unmatched_saboteurs(&suite);
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_page_is_about_its_own_contract_and_names_every_operation() {
    let suite = load(&files()).unwrap();
    for room in rooms() {
        let mut lines = room.guide.lines();
        assert_eq!(lines.next(), Some(format!("# {}", room.contract).as_str()));
        let contract = suite.contract(room.contract).unwrap();
        let hooks = contract.hooks.iter().flat_map(|(hook, own)| own.iter().chain([hook]));
        // Wire operations are the same for every contract.
        let own = contract.operations.iter().filter(|name| {
            contract.wire.is_none_or(|wire| !wire.operations().contains(&name.as_str()))
        });
        for name in own.chain(hooks) {
            let named = room.guide.contains(&format!("`{name}`"));
            assert!(named, "the page of {} does not name `{name}`", room.contract);
        }
        for step in room.steps {
            assert_eq!(step.contract, Some(room.contract), "{}", step.example);
            let named = room.guide.contains(step.example);
            assert!(named, "the page of {} does not list `{}`", room.contract, step.example);
        }
        for law in room.laws {
            assert_eq!(law.contract, room.contract, "{}", law.name);
        }
    }
}
