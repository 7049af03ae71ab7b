//! `cargo xtask new-contract ID`: creates a room, a reference crate and a ledger with one case, to fill in.
//!
//! The result builds, lints, is certified for one case and passes the self-test. `conformance/contracts/README.md`
//! describes the next steps; `xtask/tests/new_contract.rs` follows that page.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{say, top};

const USAGE: &str = "\
cargo xtask new-contract ID [--prefix PREFIX]
  ID         such as my.notes: lower-case words with dots between them
  --prefix   of the requirements' ids [default: the last word of ID, in upper case]";

/// Files of a new contract: path and template. `{…}` is filled in, in paths too.
const TEMPLATES: &[(&str, &str)] = &[
    ("conformance/contracts/{id}/Cargo.toml", include_str!("new_contract/room.toml")),
    ("conformance/contracts/{id}/guide.md", include_str!("new_contract/guide.md")),
    ("conformance/contracts/{id}/src/lib.rs", include_str!("new_contract/lib.rs.txt")),
    ("conformance/contracts/{id}/src/driver.rs", include_str!("new_contract/driver.rs.txt")),
    ("conformance/contracts/{id}/src/saboteurs.rs", include_str!("new_contract/saboteurs.rs.txt")),
    ("fixtures/{id}/requirements.toml", include_str!("new_contract/requirements.toml")),
    ("fixtures/{id}/first.json", include_str!("new_contract/first.json")),
    ("reference/{crate}/Cargo.toml", include_str!("new_contract/reference.toml")),
    ("reference/{crate}/src/lib.rs", include_str!("new_contract/reference.rs.txt")),
];

const CATALOG: &str = "conformance/catalog/Cargo.toml";

pub(crate) fn new_contract(args: &[String]) -> Result<(), String> {
    let (id, prefix) = match args {
        [id] if !id.starts_with('-') => (id, None),
        [id, flag, prefix] if flag == "--prefix" => (id, Some(prefix.clone())),
        _ => return Err(format!("name a contract:\n{USAGE}")),
    };
    let names = Names::new(id, prefix)?;
    let top = top();
    names.are_free(&top)?;
    for (path, template) in TEMPLATES {
        let path = top.join(names.fill(path));
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, names.fill(template)))
            .map_err(|fault| format!("{} cannot be written: {fault}", path.display()))?;
        say(format_args!("made {}", path.strip_prefix(&top).unwrap_or(&path).display()))?;
    }
    names.enter(&top.join(CATALOG))?;
    say(format_args!(
        "added a line to {CATALOG}\n\nconformance/contracts/README.md says what to do next"
    ))
}

struct Names {
    id: String,
    /// The reference crate.
    krate: String,
    prefix: String,
    /// The prefix of operations.
    word: String,
}

impl Names {
    fn new(id: &str, prefix: Option<String>) -> Result<Self, String> {
        let is_word = |word: &str| {
            word.starts_with(|letter: char| letter.is_ascii_lowercase())
                && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if !id.split('.').all(is_word) {
            return Err(format!(
                "`{id}` is not a contract id; use lower-case words separated by dots, such as `my.notes`"
            ));
        }
        let word = id.rsplit('.').next().unwrap_or(id).to_owned();
        let prefix = prefix.unwrap_or_else(|| word.to_ascii_uppercase());
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(format!(
                "`{prefix}` is not a prefix; use upper-case letters, such as NOTES"
            ));
        }
        Ok(Self { id: id.to_owned(), krate: id.replace('.', "-"), prefix, word })
    }

    fn fill(&self, template: &str) -> String {
        template
            .replace("{id}", &self.id)
            .replace("{crate}", &self.krate)
            .replace("{module}", &self.krate.replace('-', "_"))
            .replace("{prefix}", &self.prefix)
            .replace("{word}", &self.word)
    }

    /// Checks that the name is free and that no other ledger uses the prefix.
    fn are_free(&self, top: &Path) -> Result<(), String> {
        for (path, _) in TEMPLATES {
            let path = self.fill(path);
            if top.join(&path).exists() {
                return Err(format!("`{path}` exists; choose another id"));
            }
        }
        for ledger in ledgers(&top.join("fixtures"))? {
            let text = fs::read_to_string(&ledger)
                .map_err(|fault| format!("{}: {fault}", ledger.display()))?;
            if text.lines().any(|line| line == format!("prefix = \"{}\"", self.prefix)) {
                return Err(format!(
                    "the prefix {} belongs to {}; choose another with --prefix",
                    self.prefix,
                    ledger.display()
                ));
            }
        }
        Ok(())
    }

    /// Adds the contract's line to the catalog, sorted by name.
    fn enter(&self, catalog: &Path) -> Result<(), String> {
        let wrong = |message: String| format!("{}: {message}", catalog.display());
        let text = fs::read_to_string(catalog).map_err(|fault| wrong(fault.to_string()))?;
        let line = format!("room-{} = {{ path = \"../contracts/{}\" }}", self.krate, self.id);
        let mut lines: Vec<&str> = text.lines().collect();
        let rooms = || lines.iter().enumerate().filter(|(_, line)| line.starts_with("room-"));
        let after = rooms().find(|(_, other)| **other > line.as_str()).map(|(at, _)| at);
        let last = rooms().next_back().map(|(at, _)| at + 1);
        let at = after.or(last).ok_or_else(|| wrong("it lists no room".to_owned()))?;
        lines.insert(at, &line);
        fs::write(catalog, lines.join("\n") + "\n").map_err(|fault| wrong(fault.to_string()))
    }
}

fn ledgers(fixtures: &Path) -> Result<Vec<PathBuf>, String> {
    let folders = fs::read_dir(fixtures).map_err(|fault| fault.to_string())?.flatten();
    let ledgers = folders.map(|folder| folder.path().join("requirements.toml"));
    Ok(ledgers.filter(|path| path.exists()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_lower_case_words() {
        for wrong in ["", "My.notes", "my..notes", "my/notes", "../notes", "my.notes ", "1st"] {
            assert!(Names::new(wrong, None).is_err(), "{wrong}");
        }
        let names = Names::new("my.notes", None).unwrap();
        assert_eq!((names.krate.as_str(), names.prefix.as_str()), ("my-notes", "NOTES"));
        assert!(Names::new("my.notes", Some("notes".to_owned())).is_err());
    }

    #[test]
    fn catalog_lines_stay_sorted() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = folder.path().join("Cargo.toml");
        fs::write(&catalog, "[dependencies]\nroom-b = {}\nroom-m = {}\n\n[x]\n").unwrap();
        for id in ["a", "c", "z"] {
            Names::new(id, None).unwrap().enter(&catalog).unwrap();
        }
        let text = fs::read_to_string(&catalog).unwrap();
        let rooms: Vec<&str> = text.lines().filter_map(|line| line.split(" =").next()).collect();
        assert_eq!(
            rooms,
            ["[dependencies]", "room-a", "room-b", "room-c", "room-m", "room-z", "", "[x]"]
        );
    }
}
