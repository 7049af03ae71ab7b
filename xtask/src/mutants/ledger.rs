//! The accepted survivors, each with its reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A file of this name in the folder of each crate lists its survivors.
pub(super) const FILE: &str = "accepted-mutants.toml";

/// Counts of survivors by name without position, such as `reference/…/lock.rs: replace …`, so that moving a line
/// changes nothing.
pub(super) struct Accepted {
    survivors: BTreeMap<String, usize>,
    /// Those of them that behave exactly like the original.
    equivalent: BTreeMap<String, usize>,
}

impl Accepted {
    /// Reads the lists of these crates, in the repository at `top`.
    pub(super) fn read<'a>(
        top: &Path,
        crates: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, String> {
        let mut accepted = Self { survivors: BTreeMap::new(), equivalent: BTreeMap::new() };
        for name in crates {
            let folder = format!("reference/{name}/");
            let wrong = |fault: &str| format!("{folder}{FILE}: {fault}");
            let text = fs::read_to_string(top.join(&folder).join(FILE))
                .map_err(|fault| wrong(&fault.to_string()))?;
            accepted.add(&text, &folder).map_err(|fault| wrong(&fault))?;
        }
        Ok(accepted)
    }

    /// Adds the list of the crate in this folder.
    fn add(&mut self, text: &str, folder: &str) -> Result<(), String> {
        let table: toml::Table = toml::from_str(text).map_err(|fault| fault.to_string())?;
        let groups = table.get("group").and_then(toml::Value::as_array);
        for group in groups.into_iter().flatten() {
            let reason = group.get("reason").and_then(toml::Value::as_str).unwrap_or_default();
            if reason.trim().is_empty() {
                return Err(format!("a group without a reason: {group}"));
            }
            let equivalent = match group.get("equivalent") {
                None => false,
                Some(toml::Value::Boolean(equivalent)) => *equivalent,
                Some(other) => return Err(format!("`equivalent` is true or false, not {other}")),
            };
            let mutants = group.get("mutants").and_then(toml::Value::as_array);
            for mutant in mutants.into_iter().flatten() {
                let name = mutant.as_str().ok_or_else(|| format!("`{mutant}` is not a string"))?;
                if !name.starts_with(folder) {
                    return Err(format!("`{name}` belongs to another crate; list it there"));
                }
                *self.survivors.entry(name.to_owned()).or_default() += 1;
                *self.equivalent.entry(name.to_owned()).or_default() += usize::from(equivalent);
            }
        }
        Ok(())
    }

    /// How many of the survivors behave exactly like the original.
    pub(super) fn equivalent_among(&self, survivors: &[&str]) -> usize {
        let survive = |name: &str| survivors.iter().filter(|one| placeless(one) == name).count();
        self.equivalent.iter().map(|(name, listed)| survive(name).min(*listed)).sum()
    }

    /// Differences from the lists: unlisted survivors, and listed mutants that no longer survive.
    pub(super) fn compare(&self, tried: &[String], survivors: &[&str]) -> Vec<String> {
        let mut problems = Vec::new();
        let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for survivor in survivors {
            found.entry(placeless(survivor)).or_default().push(survivor);
        }
        for (name, places) in &found {
            let listed = self.survivors.get(name).copied().unwrap_or_default();
            if places.len() > listed {
                let listed =
                    if listed > 0 { format!(" ({listed} of them listed)") } else { String::new() };
                problems.extend(places.iter().map(|place| format!("survived: {place}{listed}")));
            }
        }
        for (name, listed) in &self.survivors {
            let among_the_tried = tried.iter().any(|mutant| placeless(mutant) == *name);
            let file = name.split(": ").next().unwrap_or_default();
            let gone = !among_the_tried && tried.iter().any(|mutant| mutant.starts_with(file));
            let survive = found.get(name).map_or(0, Vec::len);
            if gone || among_the_tried && survive < *listed {
                problems
                    .push(format!("{FILE}: listed {listed} times, but {survive} survive: {name}"));
            }
        }
        problems
    }
}

/// The name without line and column.
fn placeless(mutant: &str) -> String {
    let (place, what) = mutant.split_once(": ").unwrap_or((mutant, ""));
    format!("{}: {what}", place.split(':').next().unwrap_or(place))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::mutants::Crates;
    use crate::top;

    const LISTED: &str = r#"
        [[group]]
        reason = "speed"
        mutants = ["a.rs: replace x", "a.rs: replace y", "a.rs: replace y"]
    "#;

    fn accepted() -> Accepted {
        let mut accepted = Accepted { survivors: BTreeMap::new(), equivalent: BTreeMap::new() };
        accepted.add(LISTED, "").unwrap();
        accepted
    }

    #[rstest]
    #[case::as_listed(&["a.rs:1:1: replace x", "a.rs:2:1: replace y", "a.rs:3:1: replace y"], 0)]
    #[case::one_too_many(&["a.rs:1:1: replace x", "a.rs:2:1: replace y", "a.rs:3:1: replace y", "a.rs:4:1: replace z"], 1)]
    #[case::one_is_killed_by_now(&["a.rs:1:1: replace x", "a.rs:2:1: replace y"], 1)]
    fn survivors_must_match_the_list(#[case] survivors: &[&str], #[case] problems: usize) {
        let mut tried: Vec<String> = survivors.iter().map(|name| (*name).to_owned()).collect();
        tried.push("a.rs:9:9: replace y".to_owned());
        let found = accepted().compare(&tried, survivors);
        assert_eq!(found.len(), problems, "{found:?}");
    }

    #[test]
    fn untried_mutants_are_not_stale() {
        let tried = ["b.rs:1:1: replace x".to_owned()];
        assert!(accepted().compare(&tried, &[]).is_empty());
    }

    #[test]
    fn removed_mutants_are_stale() {
        let tried = ["a.rs:1:1: replace q".to_owned()];
        assert_eq!(accepted().compare(&tried, &[]).len(), 2);
    }

    #[test]
    fn a_list_names_mutants_of_its_own_crate_only() {
        let mut accepted = accepted();
        assert!(accepted.add(LISTED, "b").unwrap_err().contains("another crate"));
    }

    #[test]
    fn the_lists_of_this_repository_can_be_read() {
        let crates = Crates::of(&top()).unwrap();
        let accepted = Accepted::read(&top(), crates.listed()).unwrap();
        assert!(!accepted.survivors.is_empty());
    }
}
