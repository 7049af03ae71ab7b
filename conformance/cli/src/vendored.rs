//! The adapter kits that `init` copies beside an adapter, so that it needs no package registry.

use toml::{Table, Value};

/// A file to create: its path in the folder, and its text.
pub(crate) type Made = (String, String);

/// The texts of files below one folder of the repository, by name.
macro_rules! texts {
    ($from:literal, [$($name:literal),* $(,)?]) => {
        &[$(($name, include_str!(concat!($from, $name)))),*]
    };
}

type Texts = &'static [(&'static str, &'static str)];

const TYPESCRIPT: Texts = texts!(
    "../../kits/typescript/",
    [
        "proofmark.mjs",
        "proofmark-errors.mjs",
        "proofmark-fakes.mjs",
        "proofmark-wire.mjs",
        "proofmark.d.mts",
        "proofmark-fakes.d.mts",
    ]
);
const PYTHON: Texts = texts!(
    "../../kits/python/proofmark/",
    [
        "__init__.py",
        "adapter.py",
        "collaborators.py",
        "errors.py",
        "py.typed",
        "session.py",
        "threads.py",
        "wire.py"
    ]
);
const RUST: Texts = texts!(
    "../../protocol/src/",
    [
        "adapter.rs",
        "context.rs",
        "failure.rs",
        "frame.rs",
        "lib.rs",
        "message.rs",
        "outbox.rs",
        "stdio.rs"
    ]
);
const PROTOCOL_MANIFEST: &str = include_str!("../../protocol/Cargo.toml");
const WORKSPACE_MANIFEST: &str = include_str!("../../../Cargo.toml");

pub(crate) fn typescript() -> Vec<Made> {
    below("proofmark", TYPESCRIPT)
}

pub(crate) fn python() -> Vec<Made> {
    below("proofmark", PYTHON)
}

/// The crate that `init` copies beside an adapter in Rust.
pub(crate) const RUST_KIT: &str = "proofmark-protocol";

/// The protocol crate, and a package that uses it.
pub(crate) fn rust(name: &str) -> Vec<Made> {
    let mut files = below("proofmark-protocol/src", RUST);
    let edition = workspace()["package"]["edition"].clone();
    // The same features as here, but always on: an adapter needs them all.
    let features = "\n[features]\ndefault = [\"adapter\"]\nadapter = []\n";
    let protocol = package(RUST_KIT, &edition, dependencies()) + features;
    files.insert(0, ("proofmark-protocol/Cargo.toml".to_owned(), protocol));
    let mut needs = dependencies();
    needs.retain(|name, _| ["serde_json", "tokio"].contains(&name));
    let here = Table::from_iter([("path".to_owned(), Value::from(RUST_KIT))]);
    needs.insert(RUST_KIT.to_owned(), Value::Table(here));
    files.insert(
        0,
        ("Cargo.toml".to_owned(), format!("{}\n[workspace]\n", package(name, &edition, needs))),
    );
    files.push((".gitignore".to_owned(), "/target\n".to_owned()));
    files
}

fn below(folder: &str, texts: Texts) -> Vec<Made> {
    texts.iter().map(|(name, text)| (format!("{folder}/{name}"), (*text).to_owned())).collect()
}

fn package(name: &str, edition: &Value, dependencies: Table) -> String {
    let dependencies = Table::from_iter([("dependencies".to_owned(), Value::Table(dependencies))]);
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = {edition}\npublish = false\n\n{dependencies}"
    )
}

fn workspace() -> Table {
    parsed(WORKSPACE_MANIFEST, "workspace")
}

/// Dependencies of the protocol crate, in the versions that it was tested with.
fn dependencies() -> Table {
    let versions = workspace();
    let wanted = parsed(PROTOCOL_MANIFEST, "dependencies");
    wanted.keys().map(|name| (name.clone(), versions["dependencies"][name].clone())).collect()
}

fn parsed(manifest: &str, table: &str) -> Table {
    let manifest: Table = manifest.parse().expect("cargo read the same file");
    manifest[table].as_table().expect("cargo read the same table").clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file missing from this list would be missing in every new adapter.
    #[test]
    fn every_file_of_a_kit_is_copied() {
        for (folder, texts, kind) in [
            ("../kits/typescript", TYPESCRIPT, "proofmark"),
            ("../kits/python/proofmark", PYTHON, ""),
            ("../protocol/src", RUST, ""),
        ] {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let files = std::fs::read_dir(&folder).unwrap().map(Result::unwrap);
            let mut found: Vec<String> = files
                .filter(|file| file.path().is_file())
                .map(|file| file.file_name().into_string().unwrap())
                .filter(|name| name.starts_with(kind))
                .collect();
            let mut copied: Vec<&str> = texts.iter().map(|(name, _)| *name).collect();
            found.sort();
            copied.sort();
            assert_eq!(copied, found, "{}", folder.display());
        }
    }
}
