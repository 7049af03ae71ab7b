//! Paths that lead out of the workspace, into the chronicles' folder, or to what is no file.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

mod lab;

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use lab::Lab;
use rstest::rstest;
use serde_json::{Value, json};

/// Everything that a path could abuse.
fn trap() -> Lab {
    let lab = Lab::new();
    fs::write(lab.outside("secret.txt"), "outside\n").unwrap();
    fs::create_dir(lab.outside("folder")).unwrap();
    fs::write(lab.at("inside.txt"), "inside\n").unwrap();
    fs::create_dir_all(lab.at("sub/deep")).unwrap();
    fs::write(lab.at("sub/file.txt"), "sub\n").unwrap();
    fs::create_dir_all(lab.at(".sage/logs")).unwrap();
    fs::write(lab.at(".sage/a.sage"), "{}\n").unwrap();
    fs::create_dir_all(lab.at("sub/.sage")).unwrap();
    for (link, target) in [
        ("link-out", "../outside/secret.txt"),
        ("link-new", "../outside/new.txt"),
        ("folder-out", "../outside"),
        ("folder-deep", "../outside/folder"),
        ("chain-1", "chain-2"),
        ("chain-2", "sub/chain-3"),
        ("sub/chain-3", "../../outside/secret.txt"),
        ("loop-1", "loop-2"),
        ("loop-2", "loop-1"),
        ("self", "self"),
        ("up", ".."),
        ("up-in-sub", "sub/../.."),
        ("root", "/"),
        ("etc", "/etc"),
        ("dot-sage", ".sage"),
        ("into-sage", ".sage/a.sage"),
        ("logs", ".sage/logs"),
        ("sub/up-sage", "../.sage"),
        ("hop", "dot-sage"),
        ("gone", "missing/folder"),
        ("proc-root", "/proc/self/root"),
        ("proc-cwd", "/proc/self/cwd"),
        ("sub/back", "../sub/../../outside"),
    ] {
        symlink(target, lab.at(link)).unwrap();
    }
    symlink(lab.outside("secret.txt"), lab.at("absolute")).unwrap();
    symlink(lab.at("inside.txt"), lab.at("absolute-inside")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(lab.at("pipe")).status().unwrap();
    assert!(fifo.success());
    drop(UnixListener::bind(lab.at("socket")).unwrap());
    symlink("pipe", lab.at("to-pipe")).unwrap();
    symlink("/dev/tty", lab.at("tty")).unwrap();
    lab
}

const ESCAPES: [&str; 95] = [
    // Out by name.
    "../outside/secret.txt",
    "../outside/new.txt",
    "..",
    "../",
    "../workspace/inside.txt",
    "sub/../../outside/secret.txt",
    "sub/deep/../../../outside/secret.txt",
    "./../outside/secret.txt",
    "sub/..",
    "missing/../../outside/secret.txt",
    ".//..//outside/secret.txt",
    "sub/./../../outside/new.txt",
    "inside.txt/../../outside/secret.txt",
    "../../../../../../../../etc/passwd",
    "/etc/passwd",
    "//etc/passwd",
    "/",
    "/proc/self/cwd/../etc/passwd",
    "/tmp/../etc/passwd",
    "/./inside.txt",
    "\\etc\\passwd",
    "..\\outside\\secret.txt",
    "sub\\..\\..\\outside\\secret.txt",
    "\\\\host\\share\\x",
    // Out by link.
    "link-out",
    "./link-out",
    "link-new",
    "folder-out/secret.txt",
    "folder-out/new.txt",
    "folder-out/new/deeper.txt",
    "folder-deep/new.txt",
    "folder-out/../outside/secret.txt",
    "folder-out/folder/x",
    "chain-1",
    "chain-2",
    "sub/chain-3",
    "loop-1",
    "self",
    "self/x",
    "up/outside/secret.txt",
    "up/workspace/inside.txt",
    "up-in-sub/outside/new.txt",
    "root/etc/passwd",
    "etc/passwd",
    "etc/new",
    "absolute",
    "absolute-inside",
    "proc-root/etc/passwd",
    "proc-cwd/inside.txt",
    "sub/back/secret.txt",
    "sub/back/new.txt",
    "gone/x",
    // The chronicles' folder.
    ".sage/a.sage",
    ".sage/new.txt",
    ".sage/logs/x",
    ".sage/new/x",
    "./.sage/x",
    ".//.sage//x",
    ".sage/./x",
    "sub/../.sage/x",
    "sub/.sage/x",
    "sub/deep/.sage/x",
    "dot-sage/x",
    "dot-sage/a.sage",
    "into-sage",
    "logs/x",
    "sub/up-sage/x",
    "hop/x",
    ".sage",
    "sub/deep/.sage",
    ".SAGE/x",
    ".Sage/x",
    ".sAgE/a.sage",
    ".sage./x",
    ".sage /x",
    ".sage. . /x",
    ".s\u{200c}age/x",
    ".sage\u{200d}/x",
    "\u{feff}.sage/x",
    ".\u{ff53}\u{ff41}\u{ff47}\u{ff45}/x",
    "\u{ff0e}sage/x",
    ".\u{17f}age/x",
    ".sage::$INDEX_ALLOCATION/x",
    "SAGE~1/x",
    ".sage\\x",
    "sub\\.sage\\x",
    ".sag\u{ad}e/x",
    // What is no file.
    "pipe",
    "to-pipe",
    "socket",
    "tty",
    "sub",
    "sub/",
    ".",
    "inside.txt/x",
];

fn inputs(path: &str) -> [(&'static str, Value); 5] {
    let change = "@@ -1 +1 @@\n-outside\n+changed\n";
    let create = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new\n";
    let delete = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-outside\n";
    [
        ("Write", json!({"file": path, "content": "changed\n"})),
        ("Edit", json!({"file": path, "patch": change})),
        ("Edit", json!({"file": path, "patch": create})),
        ("Edit", json!({"file": path, "patch": delete})),
        ("Edit", json!({"file": path, "patch": create, "strategy": "check"})),
    ]
}

#[tokio::test]
async fn no_path_leads_a_writer_astray() {
    let mut lab = trap();
    let before = lab.picture();
    let mut refused = 0;
    for dry_run in [false, true] {
        lab.context.dry_run = dry_run;
        for path in ESCAPES {
            for (tool, input) in inputs(path) {
                // The bound only turns a test that would hang into one that fails.
                let run = tokio::time::timeout(Duration::from_secs(60), lab.run(tool, input));
                let result = run.await.expect("it does not hang");
                assert_eq!(result["ok"], false, "{tool} of {path:?}");
                let error = &result["error"];
                let code = error["code"].as_str().unwrap();
                assert!(["EPERMISSION", "EIO"].contains(&code), "{tool} of {path:?}: {result}");
                assert_eq!(error["operation"], "write", "{tool} of {path:?}: {result}");
                let named = if code == "EIO" { &error["path"] } else { &error["resource"] };
                assert_eq!(named, path, "{result}");
                refused += 1;
            }
        }
    }
    assert_eq!(lab.picture(), before);
    println!("{} paths, {refused} refusals", ESCAPES.len());
}

/// Links to protected files are refused as such.
#[tokio::test]
async fn a_guarded_path_is_a_matter_of_permission() {
    let lab = trap();
    let special = ESCAPES.iter().position(|path| *path == "sub").unwrap();
    for path in &ESCAPES[..special] {
        let result = lab.run("Write", json!({"file": path, "content": ""})).await;
        let is_loop = path.starts_with("../") && path.len() == 3;
        let code = &result["error"]["code"];
        assert!(code == "EPERMISSION" || is_loop, "{path:?}: {result}");
    }
}

#[tokio::test]
async fn no_path_leads_a_reader_astray() {
    let lab = trap();
    let chronicles = ESCAPES.iter().position(|path| *path == ".sage/a.sage").unwrap();
    let special = ESCAPES.iter().position(|path| *path == "pipe").unwrap();
    for path in ESCAPES[..chronicles].iter().chain(&ESCAPES[special..]) {
        let read =
            tokio::time::timeout(Duration::from_secs(60), lab.run("Read", json!({"file": path})));
        let result = read.await.expect("it does not hang");
        assert_eq!(result["ok"], false, "{path:?}: {result}");
        assert_eq!(result["error"]["operation"], "read", "{path:?}: {result}");
    }
}

#[rstest]
#[case("")]
#[case("a\0b")]
#[case("\0")]
#[tokio::test]
async fn invalid_paths_are_refused(#[case] path: &str) {
    let lab = trap();
    let before = lab.picture();
    for (tool, input) in inputs(path).into_iter().chain([("Read", json!({"file": path}))]) {
        let result = lab.run(tool, input).await;
        assert_eq!(result["error"]["code"], "EVALIDATION");
        assert_eq!(result["error"]["details"][0]["field"], "file");
    }
    assert_eq!(lab.picture(), before);
}

#[rstest]
#[case::plain("new.txt", "new.txt")]
#[case::in_a_new_folder("a/b/c/new.txt", "a/b/c/new.txt")]
#[case::dots("./sub/./new.txt", "sub/new.txt")]
#[case::hidden(".hidden", ".hidden")]
#[case::dots_in_a_name("a..b", "a..b")]
#[case::odd_name("sub/…\n\u{1f642} x", "sub/…\n\u{1f642} x")]
#[case::like_the_protected_one("sub/.sages", "sub/.sages")]
#[case::a_chronicle_elsewhere("sub/file.txt.sage", "sub/file.txt.sage")]
#[tokio::test]
async fn a_legal_path_is_written(#[case] path: &str, #[case] lands: &str) {
    let lab = trap();
    let result = lab.run("Write", json!({"file": path, "content": "ü"})).await;
    assert_eq!(result["data"], json!({"bytes": 2}), "{result}");
    assert_eq!(fs::read(lab.at(lands)).unwrap(), "ü".as_bytes());
}

#[tokio::test]
async fn a_link_inside_is_followed_and_stays() {
    let lab = Lab::new();
    fs::create_dir(lab.at("real")).unwrap();
    fs::write(lab.at("real/a.txt"), "old").unwrap();
    symlink("../real/a.txt", lab.at("real/x")).unwrap();
    symlink("real", lab.at("folder")).unwrap();
    let result = lab.run("Write", json!({"file": "folder/x", "content": "new"})).await;
    assert_eq!(result["ok"], true, "{result}");
    assert_eq!(fs::read_to_string(lab.at("real/a.txt")).unwrap(), "new");
    assert!(fs::symlink_metadata(lab.at("real/x")).unwrap().is_symlink());
}

/// Where `.sage` leads is protected too.
#[tokio::test]
async fn the_folder_behind_a_protected_link() {
    let lab = Lab::new();
    fs::create_dir(lab.at("real")).unwrap();
    symlink("real", lab.at(".sage")).unwrap();
    for path in ["real/x", ".sage/x"] {
        let result = lab.run("Write", json!({"file": path, "content": "new"})).await;
        assert_eq!(result["error"]["code"], "EPERMISSION", "{path}");
    }
    assert_eq!(fs::read_dir(lab.at("real")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_hard_link_is_replaced_and_not_written_through() {
    let lab = Lab::new();
    fs::write(lab.outside("a"), "old\n").unwrap();
    for name in ["write", "edit", "delete"] {
        fs::hard_link(lab.outside("a"), lab.at(name)).unwrap();
    }
    lab.run("Write", json!({"file": "write", "content": "new"})).await;
    lab.run("Edit", json!({"file": "edit", "patch": "@@ -1 +1 @@\n-old\n+new\n"})).await;
    let delete = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n";
    lab.run("Edit", json!({"file": "delete", "patch": delete})).await;
    assert_eq!(fs::read_to_string(lab.at("write")).unwrap(), "new");
    assert_eq!(fs::read_to_string(lab.at("edit")).unwrap(), "new\n");
    assert!(!lab.at("delete").exists());
    assert_eq!(fs::read_to_string(lab.outside("a")).unwrap(), "old\n");
}

/// By its name alone, where there is no such folder that could be recognised.
#[tokio::test]
async fn a_link_to_a_protected_name() {
    let lab = Lab::new();
    fs::create_dir_all(lab.at("sub/.SAGE")).unwrap();
    symlink(".sage", lab.at("file")).unwrap();
    symlink("sub/.SAGE", lab.at("folder")).unwrap();
    let before = lab.picture();
    for path in ["file", "folder/x"] {
        let result = lab.run("Write", json!({"file": path, "content": "new"})).await;
        assert_eq!(result["error"]["code"], "EPERMISSION", "{path}");
    }
    assert_eq!(lab.picture(), before);
}
