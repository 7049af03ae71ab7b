//! Modules of a crate import one another without cycles, and crates that only judge need no runtime.

use std::collections::{BTreeMap, BTreeSet};

use super::read;

/// The modules that each top-level module of a crate imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

pub(super) fn modules_import_in_one_direction(
    files: &[String],
    problems: &mut Vec<String>,
) -> Result<(), String> {
    let mut crates: BTreeMap<&str, Imports> = BTreeMap::new();
    for path in files.iter().filter(|path| path.starts_with("conformance/")) {
        let Some((folder, within)) = path.split_once("/src/") else { continue };
        let Some(within) = within.strip_suffix(".rs") else { continue };
        let module = within.split('/').next().unwrap_or(within);
        // These files list the modules, and may use any.
        if ["lib", "main"].contains(&module) {
            continue;
        }
        let imports = crates.entry(folder).or_default().entry(module.to_owned()).or_default();
        imports.extend(imported(&read(path)?));
    }
    for (folder, mut imports) in crates {
        let modules: BTreeSet<String> = imports.keys().cloned().collect();
        for (module, imported) in &mut imports {
            imported.retain(|name| modules.contains(name) && name != module);
        }
        if let Some(cycle) = cycle(&imports) {
            problems.push(format!(
                "{folder}: modules import one another in a cycle: {}",
                cycle.join(" → ")
            ));
        }
    }
    Ok(())
}

/// Crates that only judge, or only write results.
const OFFLINE: [&str; 3] = ["certificate", "judge", "report"];
/// Dependencies that drive subjects.
const RUNTIME: [&str; 5] = ["cucumber", "hyper", "proofmark-suite", "reqwest", "tokio"];

/// Checking a certificate needs no subject, so these crates must not be able to start or reach one.
pub(super) fn judging_needs_no_runtime(problems: &mut Vec<String>) -> Result<(), String> {
    for name in OFFLINE {
        let path = format!("conformance/{name}/Cargo.toml");
        let manifest: toml::Table =
            read(&path)?.parse().map_err(|fault| format!("{path}: {fault}"))?;
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        let has = |name: &str| dependencies.and_then(|all| all.get(name));
        for wrong in RUNTIME.into_iter().filter(|name| has(name).is_some()) {
            problems.push(format!("{path}: must not depend on `{wrong}`"));
        }
        if has("proofmark-protocol").is_some_and(|protocol| protocol.get("features").is_some()) {
            problems.push(format!(
                "{path}: use `proofmark-protocol` only with its messages, without other features"
            ));
        }
    }
    Ok(())
}

/// The first path segments after `crate::`, outside of tests.
fn imported(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.collect::<Vec<_>>().join("\n");
    let mut names = BTreeSet::new();
    for (place, mark) in code.match_indices("crate::") {
        // `proofmark_crate::` is something else.
        if code[..place].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            continue;
        }
        names.extend(first_names(&code[place + mark.len()..]));
    }
    names
}

/// `a` of `a::b`, and `a` and `c` of `{a::{b}, c}`.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| {
        text.trim_start()
            .chars()
            .take_while(|one| one.is_alphanumeric() || *one == '_')
            .collect::<String>()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    let (mut depth, mut names, mut item) = (0_usize, Vec::new(), String::new());
    for one in group.chars() {
        match one {
            '}' if depth == 0 => break,
            ',' if depth == 0 => names.push(name(&std::mem::take(&mut item))),
            _ => {
                depth = match one {
                    '{' => depth + 1,
                    '}' => depth - 1,
                    _ => depth,
                };
                item.push(one);
            }
        }
    }
    names.push(name(&item));
    names
}

/// A cycle of modules, if there is one.
fn cycle(imports: &Imports) -> Option<Vec<&str>> {
    fn visit<'a>(
        imports: &'a Imports,
        module: &'a str,
        path: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> Option<Vec<&'a str>> {
        if let Some(start) = path.iter().position(|one| *one == module) {
            let mut cycle = path[start..].to_vec();
            cycle.push(module);
            return Some(cycle);
        }
        if !done.insert(module) {
            return None;
        }
        path.push(module);
        let found = imports[module].iter().find_map(|next| visit(imports, next, path, done));
        path.pop();
        found
    }
    let (mut path, mut done) = (Vec::new(), BTreeSet::new());
    imports.keys().find_map(|module| visit(imports, module, &mut path, &mut done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_in_every_form() {
        let text = "use crate::a::{b};\nuse crate::{c::{d, e}, f};\nfn g() { crate::h::i(); }\n// crate::j\n\
                    use my_crate::k;\n#[cfg(test)]\nmod tests { use crate::l; }\n";
        assert_eq!(imported(text), ["a", "c", "f", "h"].map(str::to_owned).into());
    }

    #[test]
    fn cycles_of_any_length_are_found() {
        let imports = |edges: &[(&str, &[&str])]| -> Imports {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            edges.iter().map(|(from, to)| ((*from).to_owned(), owned(to))).collect()
        };
        let straight = imports(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
        assert_eq!(cycle(&straight), None);
        let round = imports(&[("a", &["b"]), ("b", &["c"]), ("c", &["d"]), ("d", &["b"])]);
        assert_eq!(cycle(&round), Some(vec!["b", "c", "d", "b"]));
    }
}
