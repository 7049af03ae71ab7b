//! Fuzzes patches on files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proofmark_room::fuzz::{all_cases, short};
use sage_tools::{Edit, Registry, ToolContext, Workspace, run};
use serde_json::{Value, json};

use super::{Noon, block_on};

const FILE: &str = "a.txt";

/// The bytes before the first NUL are the file, the rest is the patch. Without a NUL there is no file.
///
/// A patch that fits returns a diff with the same effect, which can be reversed. A refused patch changes nothing.
/// `check` predicts which of the two happens.
pub(super) fn patch(bytes: &[u8]) {
    let (old, patch) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (Some(bytes[..at].to_vec()), &bytes[at + 1..]),
        None => (None, bytes),
    };
    let Ok(patch) = std::str::from_utf8(patch) else { return };
    let place = Scratch::new();

    place.put(old.as_deref());
    let foretold = place.edit(patch, "check");
    assert_eq!(place.content(), old, "a check changes nothing");
    let edited = place.edit(patch, "apply");
    let new = place.content();
    assert_eq!(edited["ok"] == true, foretold["data"]["patched"] == true, "{foretold} {edited}");
    if edited["ok"] != true {
        assert_eq!(new, old, "what is refused changes nothing: {edited}");
        return;
    }

    let diff = edited["data"]["diff"].as_str().expect("a successful edit returns a diff");
    place.put(old.as_deref());
    let again = place.edit(diff, "apply");
    assert_eq!((again["ok"] == true, place.content()), (true, new), "{diff}\n{again}");

    let back = place.edit(&reversed(diff), "apply");
    // Adjacent hunks may stand at the beginning of the new file but not of the old one.
    let may_refuse = diff.lines().filter(|line| line.starts_with("@@")).count() > 1;
    if back["ok"] == true || !may_refuse {
        assert_eq!((back["ok"] == true, place.content()), (true, old), "{diff}\n{back}");
    }
}

/// A folder with one file, or none.
struct Scratch {
    folder: tempfile::TempDir,
    registry: Registry,
    context: ToolContext,
}

impl Scratch {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let workspace = Workspace::open(folder.path()).expect("the folder is there");
        let mut context = ToolContext::new(Arc::new(workspace));
        context.permissions.insert("Edit".to_owned());
        let mut registry = Registry::new();
        registry.register(Arc::new(Edit::default())).expect("it is the only tool");
        Self { folder, registry, context }
    }

    fn put(&self, content: Option<&[u8]>) {
        let path = self.folder.path().join(FILE);
        match content {
            Some(content) => fs::write(path, content).expect("a file can be written"),
            None if path.exists() => fs::remove_file(path).expect("a file can be removed"),
            None => {}
        }
    }

    /// The content of the only file, if there is one.
    fn content(&self) -> Option<Vec<u8>> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder is there");
        let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        assert!(names.iter().all(|name| name == FILE), "{names:?}");
        (!names.is_empty()).then(|| fs::read(self.folder.path().join(FILE)).expect("it is there"))
    }

    fn edit(&self, patch: &str, strategy: &str) -> Value {
        let input = json!({ "file": FILE, "patch": patch, "strategy": strategy });
        let edited = block_on(run(&self.registry, &Noon, "Edit", input, &self.context));
        let edited = edited.to_json();
        if edited["ok"] != true {
            // Without a file to change, the path is at fault.
            let code = edited["error"]["code"].as_str();
            assert!(matches!(code, Some("EVALIDATION" | "EIO")), "{edited}");
        }
        edited
    }
}

/// The diff that reverses this one. It begins with its two headers.
fn reversed(diff: &str) -> String {
    let mut lines = diff.split_inclusive('\n');
    let (old, new) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut back = format!("--- {}+++ {}", &new[4..], &old[4..]);
    for line in lines {
        if let Some(ranges) = line.strip_prefix("@@ -") {
            let (old, rest) = ranges.split_once(" +").expect("a hunk has two ranges");
            let (new, _) = rest.split_once(" @@").expect("a hunk's header is closed");
            back += &format!("@@ -{new} +{old} @@\n");
        } else {
            let (sign, text) = line.split_at(1);
            back += match sign {
                "-" => "+",
                "+" => "-",
                other => other,
            };
            back += text;
        }
    }
    back
}

/// Every patch in the cases, on the files that the case begins with.
pub(super) fn patches(top: &Path) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for case in all_cases(top) {
        for step in case["steps"].as_array().into_iter().flatten() {
            let input = &step["args"]["input"];
            let Some(patch) = input["patch"].as_str() else { continue };
            let file = input["file"].as_str().unwrap_or_default();
            seeds.push(match case["given"]["files"][file]["text"].as_str() {
                Some(text) => [text.as_bytes(), patch.as_bytes()].join(&0),
                None => patch.as_bytes().to_vec(),
            });
        }
    }
    short(seeds)
}
