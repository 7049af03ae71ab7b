//! A library without tests in its sources must say so in its manifest, because building and starting an empty test
//! program takes time. A library with tests must not: its tests would not run.

use std::collections::BTreeMap;

use super::read;

/// The kinds of tests in a library's sources.
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
                    "{path}: there are {what}, but `{key} = false` keeps them from running; delete it"
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
    // Built from parts, so that this file does not match itself.
    let marks =
        [concat!("#[te", "st]"), concat!("#[rs", "test]"), concat!("::te", "st]"), "proptest! {"];
    text.lines().any(|line| marks.iter().any(|mark| line.trim_start().contains(mark)))
}

/// Whether a doc comment contains a Rust code block. Blocks in another language name it.
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
