//! Every kit: a new adapter is sound at once, the wire carries everything, and the worked example is certified.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{PROOFMARK, is_there, needed};
use rstest::rstest;

fn kits() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kits").canonicalize().unwrap()
}

fn proofmark(folder: &Path, args: &[&str]) -> Output {
    Command::new(PROOFMARK)
        .args(args)
        .current_dir(folder)
        // A new adapter needs only crates that this workspace already has.
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-adapter"))
        .output()
        .unwrap()
}

#[track_caller]
fn holds(output: &Output) -> String {
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{shown}{err}");
    shown
}

#[rstest]
#[case("typescript", "node")]
#[case("python", "python3")]
#[case("rust", "cargo")]
fn a_new_adapter_is_sound_at_once(#[case] language: &str, #[case] program: &str) {
    if !is_there(program) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    holds(&proofmark(folder.path(), &["init", language, "my-adapter"]));
    let adapter = folder.path().join("my-adapter");
    let shown = holds(&proofmark(&adapter, &["doctor"]));
    assert!(!shown.contains("CHANGE"), "{shown}");
    let run = proofmark(&adapter, &["run", "--contract", "sage.utils"]);
    let shown = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(1), "{shown}");
    assert!(shown.contains("MISSING utils.sha256  not implemented"), "{shown}");
    assert!(!shown.contains("FAILED"), "nothing but what is missing fails: {shown}");
}

#[test]
fn a_new_adapter_has_the_selected_operations() {
    let folder = tempfile::tempdir().unwrap();
    holds(&proofmark(folder.path(), &["init", "python", "mine", "--contract", "sage.errors"]));
    let text = std::fs::read_to_string(folder.path().join("mine/adapter.py")).unwrap();
    assert!(text.contains("\"errors.raise\"") && !text.contains("utils.sha256"), "{text}");
}

#[rstest]
#[case(&["init", "python", "mine"], "already exists")]
#[case(&["init", "cobol", "new"], "invalid value 'cobol'")]
#[case(&["init", "python", "new", "--contract", "sage.util"], "did you mean `sage.utils`?")]
#[case(&["init", "python", "new", "--contract", "utils"], "did you mean `sage.utils`?")]
#[case(&["init", "python", "42"], "begins with a letter")]
#[case(&["init", "python", "mine/proofmark.toml"], "is a file, not a folder; choose")]
#[case(&["init", "rust", "proofmark-protocol"], "is also the name of the kit's crate")]
fn init_refuses_bad_arguments(#[case] args: &[&str], #[case] shown: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    std::fs::write(folder.path().join("mine/proofmark.toml"), "mine").unwrap();
    let output = proofmark(folder.path(), args);
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains(shown), "{err}");
    let kept: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(kept.len(), 1, "nothing was made");
    assert_eq!(std::fs::read_dir(folder.path().join("mine")).unwrap().count(), 1);
}

#[test]
fn init_refuses_a_dangling_link() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("mine")).unwrap();
    let output = proofmark(folder.path(), &["init", "python", "mine"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("`mine` is a dangling link; choose"), "{err}");
}

/// Megabytes, every kind of text, hundreds of calls in flight, errors, streams, stray prints.
#[rstest]
#[case("node", "typescript/wire-adapter.mjs")]
#[case("python3", "python/wire-adapter.py")]
fn the_wire_carries_everything(#[case] program: &str, #[case] adapter: &str) {
    if !is_there(program) {
        return;
    }
    let args = ["certify", "--suite", "wire", "--", program, adapter];
    let shown = holds(&proofmark(&kits(), &args));
    assert!(shown.contains("certified: kit.wire"), "{shown}");
    assert!(shown.contains(" 0 failed, 0 not exercised"), "{shown}");
}

#[rstest]
#[case("node", "typescript/dist/adapter.js", "runs")]
#[case("python3", "python/example/adapter.py", "common")]
fn the_worked_example_is_certified(
    #[case] program: &str,
    #[case] adapter: &str,
    #[case] server: &str,
) {
    let built = kits().join(adapter).exists();
    if !is_there(program) || !needed(built, &format!("{adapter} is not built: `cargo xtask kits`"))
    {
        return;
    }
    // Both examples run at once and start many processes, so each uses few workers.
    let args =
        ["certify", "--timeout", "60000", "--jobs", "1", "--window", "16", "--", program, adapter];
    let shown = holds(&proofmark(&kits(), &args));
    let certified = format!(
        "certified: {server}, sage.chronicle, sage.errors, sage.llm, sage.tools, sage.utils"
    );
    assert!(shown.contains(&certified), "{shown}");
    assert!(shown.contains(" 0 failed, "), "{shown}");
    assert_eq!(
        shown.matches("not exercised: ").count(),
        1,
        "the other server is not claimed: {shown}"
    );
}
