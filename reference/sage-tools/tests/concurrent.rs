//! Several calls that change one file at the same time.

mod lab;

use std::fs;
use std::sync::Arc;

use lab::Lab;
use serde_json::json;
use tokio::task::JoinSet;

const EDITS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_edit_undoes_another() {
    let lab = Arc::new(Lab::new());
    fs::create_dir(lab.at("folder")).unwrap();
    std::os::unix::fs::symlink("folder", lab.at("link")).unwrap();
    for round in 0..20 {
        let old: String = (0..EDITS).map(|n| format!("line {n}\n")).collect();
        fs::write(lab.at("folder/file"), old).unwrap();
        let mut calls = JoinSet::new();
        for n in 0..EDITS {
            let lab = Arc::clone(&lab);
            // Two ways to one file.
            let file = ["folder/file", "link/file"][n % 2];
            let patch = format!("@@ -{0} +{0} @@\n-line {n}\n+done {n}\n", n + 1);
            calls
                .spawn(async move { lab.run("Edit", json!({"file": file, "patch": patch})).await });
        }
        for result in calls.join_all().await {
            assert_eq!(result["data"]["patched"], true, "{result}");
        }
        let expect: String = (0..EDITS).map(|n| format!("done {n}\n")).collect();
        assert_eq!(fs::read_to_string(lab.at("folder/file")).unwrap(), expect, "round {round}");
    }
}

/// If several create or delete one file, one succeeds, and the others get an error that it does not fit.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_is_made_and_deleted_once() {
    let lab = Arc::new(Lab::new());
    for (patch, refusal) in [
        ("--- /dev/null\n+++ b/file\n@@ -0,0 +1 @@\n+x\n", "EVALIDATION"),
        ("--- a/file\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "EIO"),
    ] {
        let mut calls = JoinSet::new();
        for _ in 0..EDITS {
            let lab = Arc::clone(&lab);
            calls.spawn(
                async move { lab.run("Edit", json!({"file": "file", "patch": patch})).await },
            );
        }
        let results = calls.join_all().await;
        let (done, refused): (Vec<_>, Vec<_>) =
            results.into_iter().partition(|result| result["ok"] == true);
        assert_eq!(done.len(), 1);
        for result in refused {
            assert_eq!(result["error"]["code"], refusal, "{result}");
        }
    }
}
