//! Libraries without tests in their sources say so, because building and starting a test program for nothing takes
//! time. Those with tests must not say so: their tests would not run.

use std::collections::BTreeMap;

use super::read;

/// What the sources of a library hold.
#[derive(Default)]
struct Tests {
    unit: bool,
    doc: bool,
}

pub(super) fn only_libraries_with_tests_are_tested(
    files: &[String],
    problems: &mut Vec<String>,
) -> Result<(), String> {
    let mut libraries: BTreeMap<&str, Tests> = BTreeMap::new();
    for folder in files.iter().filter_map(|path| path.strip_suffix("/src/lib.rs")) {
        libraries.insert(folder, Tests::default());
    }
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        let Some((folder, _)) = path.split_once("/src/") else { continue };
        let Some(tests) = libraries.get_mut(folder) else { continue };
        let text = read(path)?;
        tests.unit |= has_unit_tests(&text);
        tests.doc |= has_doc_tests(&text);
    }
    for (folder, tests) in libraries {
        let path = format!("{folder}/Cargo.toml");
        let manifest: toml::Table =
            read(&path)?.parse().map_err(|fault| format!("{path}: {fault}"))?;
        let is_on = |key: &str| {
            let set = manifest.get("lib").and_then(|lib| lib.get(key));
            set.and_then(toml::Value::as_bool).unwrap_or(true)
        };
        for (key, has, what) in
            [("test", tests.unit, "unit tests"), ("doctest", tests.doc, "doc tests")]
        {
            match (is_on(key), has) {
                (false, true) => problems.push(format!(
                    "{path}: there are {what}, and `{key} = false` keeps them from running; drop it"
                )),
                (true, false) => problems
                    .push(format!("{path}: there are no {what}; write `{key} = false` in `[lib]`")),
                _ => {}
            }
        }
    }
    Ok(())
}

fn has_unit_tests(text: &str) -> bool {
    // Written in parts, so that this file does not find itself.
    let marks =
        [concat!("#[te", "st]"), concat!("#[rs", "test]"), concat!("::te", "st]"), "proptest! {"];
    text.lines().any(|line| marks.iter().any(|mark| line.trim_start().contains(mark)))
}

/// Whether a block of code stands in a doc comment. Blocks in another language say which.
fn has_doc_tests(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines().map(str::trim_start) {
        let Some(doc) = line.strip_prefix("///").or(line.strip_prefix("//!")) else { continue };
        let Some(language) = doc.trim_start().strip_prefix("```") else { continue };
        if !inside && ["", "rust", "no_run", "should_panic"].contains(&language.trim()) {
            return true;
        }
        inside = !inside;
    }
    false
}
