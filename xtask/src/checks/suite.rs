//! Checks of suite files, as an author may write them.

use std::sync::LazyLock;

use proofmark_suite::SuiteFiles;

pub(super) fn fixture(bytes: &[u8]) {
    loads(bytes, |contract| format!("fixtures/{contract}/topic.json"));
}

pub(super) fn feature(bytes: &[u8]) {
    loads(bytes, |contract| format!("features/{contract}/story.feature"));
}

pub(super) fn ledger(bytes: &[u8]) {
    loads(bytes, ledger_path);
}

fn ledger_path(contract: &str) -> String {
    format!("fixtures/{contract}/requirements.toml")
}

/// A contract of the catalog, with its ledger.
struct Contract {
    id: String,
    /// Matches a file of this contract: its id in quotes, or the prefix of its requirement ids.
    marks: [String; 2],
    ledger: String,
}

static CONTRACTS: LazyLock<Vec<Contract>> = LazyLock::new(|| {
    let files = proofmark_catalog::files();
    let suite = proofmark_catalog::load(&files).expect("the embedded suite is sound");
    let contracts = suite.contracts.iter().filter_map(|contract| {
        let path = ledger_path(&contract.id);
        let (_, ledger) = files.iter().find(|(file, _)| *file == path)?;
        let (prefix, _) = contract.requirements.first()?.id.rsplit_once('-')?;
        let marks = [format!("\"{}\"", contract.id), format!("{prefix}-")];
        Some(Contract { id: contract.id.clone(), marks, ledger: ledger.to_owned() })
    });
    contracts.collect()
});

/// The contract that a text mentions first, or the first contract if it mentions none.
fn contract_of(text: &str) -> &'static Contract {
    let first = |contract: &&Contract| {
        let places = contract.marks.iter().filter_map(|mark| text.find(mark.as_str()));
        places.min().unwrap_or(usize::MAX)
    };
    CONTRACTS.iter().min_by_key(first).expect("the catalog has contracts")
}

/// A file is accepted, or every problem has a message and a position in an existing file.
fn loads(bytes: &[u8], path: impl Fn(&str) -> String) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let contract = contract_of(text);
    let (path, ledger) = (path(&contract.id), ledger_path(&contract.id));
    let mut files = vec![(path.clone(), text.to_owned())];
    if path != ledger {
        files.push((ledger, contract.ledger.clone()));
    }
    let suite = SuiteFiles::from_pairs(files.clone());
    let Err(problems) = proofmark_catalog::load(&suite) else { return };
    assert!(!problems.is_empty());
    for problem in problems {
        let named = files.iter().find(|(file, _)| *file == problem.at.file);
        let (_, text) = named.unwrap_or_else(|| panic!("no such file: {problem}"));
        let lines = text.split('\n').count();
        assert!((1..=lines).contains(&problem.at.line), "{lines} lines, but {problem}");
        assert!(!problem.message.trim().is_empty(), "{problem}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise every seed would be refused for its contract, and nothing beyond that would be tested.
    #[test]
    fn a_file_goes_to_its_own_contract() {
        let files = proofmark_catalog::files();
        for (path, text) in files.iter() {
            let folder = path.split('/').nth(1).unwrap();
            assert_eq!(contract_of(text).id, folder, "{path}");
        }
    }
}
