//! Saves the smallest failing inputs of laws as fixture cases.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

use proofmark_judge::verdict::{RunOutcome, Verdict};
use serde_json::Value;

use crate::exit::Failed;

/// Adds the input of each failing law to `fixtures/<contract>/found.json` in the folder, and reports it on stderr.
pub(crate) fn save(folder: &Path, outcome: &RunOutcome) -> Result<(), Failed> {
    let mut by_contract: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for result in &outcome.results {
        let Verdict::Failed { failure } = &result.verdict else { continue };
        let Some(found) = &failure.found else { continue };
        let contract = found["contract"].as_str().unwrap_or_default().to_owned();
        let cases = found["cases"].as_array().into_iter().flatten().cloned();
        by_contract.entry(contract).or_default().extend(cases);
    }
    for (contract, cases) in by_contract {
        let path = folder.join("fixtures").join(&contract).join("found.json");
        let names = add(&path, &contract, cases)
            .map_err(|fault| Failed::NotSaved { path: path.clone(), fault })?;
        for name in names {
            // If stderr is closed, the file still exists.
            let _deaf =
                writeln!(anstream::stderr(), "saved {contract}/{name} to {}", path.display());
        }
    }
    Ok(())
}

/// Adds the cases that are missing and returns their ids.
fn add(path: &Path, contract: &str, cases: Vec<Value>) -> io::Result<Vec<String>> {
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        let message = "it exists and is not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let mut file = match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            serde_json::json!({ "contract": contract, "topic": "found", "cases": [] })
        }
        Err(fault) => return Err(fault),
    };
    let Some(kept) = file.get_mut("cases").and_then(Value::as_array_mut) else {
        let message = "it exists, but has no `cases` list";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    };
    let mut added = Vec::new();
    for case in cases {
        if !kept.iter().any(|known| known["id"] == case["id"]) {
            added.extend(case["id"].as_str().map(str::to_owned));
            kept.push(case);
        }
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut text = serde_json::to_string_pretty(&file)?;
    text.push('\n');
    std::fs::write(path, text)?;
    Ok(added)
}
