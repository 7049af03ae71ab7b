//! The configuration of cargo-mutants: what holds for every crate, and the exclusions of each.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

/// What holds for every crate.
const GENERAL: &str = "xtask/mutants/config.toml";
/// A file of this name in the folder of a crate lists what no case can see of it.
const FILE: &str = "mutants.toml";

/// The exclusions of one crate.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exclusions {
    /// Files, relative to the crate.
    #[serde(default)]
    exclude_globs: Vec<String>,
    /// Patterns for the names of the crate's mutants.
    #[serde(default)]
    exclude_re: Vec<String>,
}

/// Writes the configuration for these crates of the repository at `top` to a file in `folder`.
pub(super) fn write<'a>(
    top: &Path,
    crates: impl IntoIterator<Item = &'a str>,
    folder: &Path,
) -> Result<PathBuf, String> {
    let config = combined(top, crates)?;
    let path = folder.join("config.toml");
    fs::write(&path, config.to_string()).map_err(|fault| format!("{}: {fault}", path.display()))?;
    Ok(path)
}

fn combined<'a>(top: &Path, crates: impl IntoIterator<Item = &'a str>) -> Result<Table, String> {
    let mut config: Table = read(&top.join(GENERAL))?;
    for name in crates {
        let path = top.join("reference").join(name).join(FILE);
        if !path.exists() {
            continue;
        }
        let Exclusions { exclude_globs, exclude_re } = read(&path)?;
        let globs = exclude_globs.iter().map(|glob| format!("reference/{name}/{glob}"));
        // A mutant's name begins with the path of its file.
        let patterns =
            exclude_re.iter().map(|pattern| format!("^reference/{name}/.*(?:{pattern})"));
        extend(&mut config, "exclude_globs", globs);
        extend(&mut config, "exclude_re", patterns);
    }
    Ok(config)
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let wrong = |fault: String| format!("{}: {fault}", path.display());
    let text = fs::read_to_string(path).map_err(|fault| wrong(fault.to_string()))?;
    toml::from_str(&text).map_err(|fault| wrong(fault.to_string()))
}

fn extend(config: &mut Table, key: &str, values: impl Iterator<Item = String>) {
    let list = config.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(list) = list {
        list.extend(values.map(Value::String));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::Crates;

    fn texts<'a>(config: &'a Table, key: &str) -> Vec<&'a str> {
        config[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    #[test]
    fn a_crate_excludes_only_its_own_mutants() {
        let top = tempfile::tempdir().unwrap();
        for folder in ["xtask/mutants", "reference/notes", "reference/plain"] {
            fs::create_dir_all(top.path().join(folder)).unwrap();
        }
        fs::write(top.path().join(GENERAL), "exclude_re = [\"Debug\"]").unwrap();
        let own = "exclude_globs = [\"src/slow.rs\"]\nexclude_re = [\" in a$|b\"]";
        let file = top.path().join("reference/notes").join(FILE);
        fs::write(&file, own).unwrap();
        let config = combined(top.path(), ["notes", "plain"]).unwrap();
        assert_eq!(texts(&config, "exclude_globs"), ["reference/notes/src/slow.rs"]);
        let patterns = ["Debug", "^reference/notes/.*(?: in a$|b)"];
        assert_eq!(texts(&config, "exclude_re"), patterns);
        fs::write(&file, "exclude = []").unwrap();
        let fault = combined(top.path(), ["notes"]).unwrap_err();
        assert!(fault.contains("unknown field `exclude`"), "{fault}");
    }

    #[test]
    fn excluded_files_of_this_repository_exist() {
        let crates = Crates::of(&crate::top()).unwrap();
        let config = combined(&crate::top(), crates.names()).unwrap();
        let globs = texts(&config, "exclude_globs");
        assert!(!globs.is_empty());
        for glob in globs {
            assert!(crate::top().join(glob).is_file(), "{glob}");
        }
    }
}
