//! The registry, the policy, and what the file tools answer.

mod lab;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use lab::{Lab, Made};
use rstest::rstest;
use sage_tools::{Tool, ToolContext, ToolResult, run};
use sage_utils::Clock;
use serde_json::{Value, json};

fn made(name: &'static str, schema: Value) -> Arc<dyn Tool> {
    let act = |input: Value, _: &ToolContext| ToolResult::done(json!({ "got": input }));
    Arc::new(Made { name, schema, act })
}

#[track_caller]
fn assert_refused(error: &sage_errors::SageError, field: &str) {
    assert_eq!(error.code(), "EVALIDATION");
    assert_eq!(error.to_json()["details"][0]["field"], field);
}

#[test]
fn tools_by_their_names() {
    let mut lab = Lab::new();
    let schema = json!({"properties": {"z": {}, "a": {}}});
    lab.registry.register(made("Zeta", schema.clone())).unwrap();
    lab.registry.register(made("alpha", json!({}))).unwrap();
    assert_eq!(
        lab.registry.get("Zeta").unwrap().to_json(),
        json!({"name": "Zeta", "schema": schema})
    );
    let names: Vec<_> = lab.registry.schemas().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["Bash", "Edit", "GraphQuery", "Read", "Write", "Zeta", "alpha"]);
    for name in ["zeta", "ZETA", "", "Zeta "] {
        assert_refused(&lab.registry.get(name).map(|_| ()).unwrap_err(), "name");
    }
    assert_refused(&lab.registry.register(made("Zeta", json!({}))).unwrap_err(), "name");
    assert_refused(&lab.registry.register(made("", json!({}))).unwrap_err(), "name");
    assert_refused(&lab.registry.register(made("X", json!(true))).unwrap_err(), "schema");
    assert_eq!(lab.registry.get("Zeta").unwrap().to_json()["schema"], schema, "the first stays");
}

#[tokio::test]
async fn an_unknown_tool_is_reported() {
    let result = Lab::new().run("Nope", json!({})).await;
    assert_eq!(result["error"]["details"][0]["field"], "name");
}

#[rstest]
#[case("Write", json!({"file": "a", "content": ""}), "a", "write")]
#[case("Edit", json!({"file": "a", "patch": ""}), "a", "write")]
#[case("Bash", json!({"command": "touch", "args": ["a"]}), "touch", "execute")]
#[tokio::test]
async fn tools_that_need_a_permission(
    #[case] tool: &str,
    #[case] input: Value,
    #[case] resource: &str,
    #[case] operation: &str,
) {
    let mut lab = Lab::new();
    for others in [&[][..], &["Read", "write", "*"]] {
        lab.context.permissions = others.iter().map(|name| (*name).to_owned()).collect();
        let error = &lab.run(tool, input.clone()).await["error"];
        assert_eq!(error["code"], "EPERMISSION");
        assert_eq!(error["resource"], resource);
        assert_eq!(error["operation"], operation);
        assert!(error["policy"].is_string());
    }
    assert_eq!(fs::read_dir(lab.at("")).unwrap().count(), 0);
}

#[tokio::test]
async fn tools_that_need_no_permission() {
    let mut lab = Lab::new();
    lab.context.permissions.clear();
    fs::write(lab.at("a"), "\u{feff}x\r\n").unwrap();
    lab.registry.register(made("Mine", json!({}))).unwrap();
    let read = lab.run("Read", json!({"file": "a"})).await;
    assert_eq!(read["data"], json!({"content": "\u{feff}x\r\n"}));
    let rows =
        lab.run("GraphQuery", json!({"query": "q", "params": {"a": 1}, "commit": "c"})).await;
    assert_eq!(rows["data"], json!({"rows": [{"query": "q", "params": {"a": 1}, "commit": "c"}]}));
    assert_eq!(lab.run("Mine", json!({})).await["data"], json!({"got": {}}));
}

#[tokio::test]
async fn an_error_of_the_graph_is_the_results() {
    let result = Lab::new().run("GraphQuery", json!({"query": "fail"})).await;
    assert_eq!(result["ok"], false);
    assert_eq!(result["error"], json!({"code": "EIO", "message": "no graph"}));
}

#[rstest]
#[case::missing("none", "ENOENT")]
#[case::in_a_missing_folder("none/none", "ENOENT")]
#[case::folder("folder", "EISDIR")]
#[case::below_a_file("file/x", "ENOTDIR")]
#[tokio::test]
async fn a_file_that_cannot_be_read(#[case] path: &str, #[case] cause: &str) {
    let lab = Lab::new();
    fs::create_dir(lab.at("folder")).unwrap();
    fs::write(lab.at("file"), "").unwrap();
    let error = &lab.run("Read", json!({"file": path})).await["error"];
    assert_eq!((&error["code"], &error["path"]), (&json!("EIO"), &json!(path)));
    assert_eq!((&error["operation"], &error["cause"]["code"]), (&json!("read"), &json!(cause)));
}

#[tokio::test]
async fn bytes_that_are_no_text_and_files_that_are_too_long() {
    let lab = Lab::new();
    fs::write(lab.at("bytes"), b"a\xff").unwrap();
    fs::File::create(lab.at("long")).unwrap().set_len((16 << 20) + 1).unwrap();
    fs::File::create(lab.at("longest")).unwrap().set_len(16 << 20).unwrap();
    assert_eq!(lab.run("Read", json!({"file": "bytes"})).await["error"]["code"], "EIO");
    assert_eq!(lab.run("Read", json!({"file": "long"})).await["error"]["code"], "EIO");
    assert_eq!(lab.run("Read", json!({"file": "longest"})).await["ok"], true);
}

#[tokio::test]
async fn a_file_is_replaced_in_its_mode() {
    let lab = Lab::new();
    fs::write(lab.at("a"), "old").unwrap();
    fs::set_permissions(lab.at("a"), fs::Permissions::from_mode(0o751)).unwrap();
    let result = lab.run("Write", json!({"file": "a", "content": "grüße"})).await;
    assert_eq!(result["data"], json!({"bytes": 7}));
    assert_eq!(fs::metadata(lab.at("a")).unwrap().permissions().mode() & 0o7777, 0o751);
    assert_eq!(fs::read_dir(lab.at("")).unwrap().count(), 1);
}

#[rstest]
#[case::write("Write", json!({"file": "new/a", "content": "ü"}), json!({"bytes": 2}))]
#[case::replace("Write", json!({"file": "a", "content": "x"}), json!({"bytes": 1}))]
#[tokio::test]
async fn a_dry_run_changes_nothing(#[case] tool: &str, #[case] input: Value, #[case] data: Value) {
    let mut lab = Lab::new();
    fs::write(lab.at("a"), "old\n").unwrap();
    let before = lab.picture();
    lab.context.dry_run = true;
    assert_eq!(lab.run(tool, input).await["data"], data);
    assert_eq!(lab.picture(), before);
}

const PATCH: &str = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n";
const CREATE: &str = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+new\n";
const DELETE: &str = "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n";

#[rstest]
#[case::change("a", PATCH, true)]
#[case::create("x/y", CREATE, true)]
#[case::delete("a", DELETE, true)]
#[case::create_what_is_there("a", CREATE, false)]
#[case::no_fit("a", "@@ -1 +1 @@\n-odd\n+new\n", false)]
#[tokio::test]
async fn a_check_and_a_dry_run_of_an_edit_change_nothing(
    #[case] file: &str,
    #[case] patch: &str,
    #[case] fits: bool,
) {
    let mut lab = Lab::new();
    fs::write(lab.at("a"), "old\n").unwrap();
    let before = lab.picture();
    let check = lab.run("Edit", json!({"file": file, "patch": patch, "strategy": "check"})).await;
    lab.context.dry_run = true;
    let dry = lab.run("Edit", json!({"file": file, "patch": patch})).await;
    assert_eq!(lab.picture(), before);
    assert_eq!(dry["ok"], fits, "{dry}");
    if fits {
        assert_eq!(check["data"]["patched"], true, "{check}");
        assert_eq!(dry["data"]["patched"], true, "{dry}");
        lab.context.dry_run = false;
        let done = lab.run("Edit", json!({"file": file, "patch": patch})).await;
        assert_eq!(done["data"], dry["data"], "it reported what it would do");
        assert_ne!(lab.picture(), before);
    } else {
        assert_ne!(check["data"]["patched"], true);
        assert_eq!(dry["error"]["details"][0]["field"], "patch");
    }
}

#[rstest]
#[case::empty("")]
#[case::no_hunk("--- a/a\n+++ b/a\n")]
#[case::prose("please change old to new\n")]
#[case::bad_header("@@ -1 @@\n-old\n+new\n")]
#[case::bad_number("@@ -x +1 @@\n-old\n+new\n")]
#[case::huge_number("@@ -99999999999999999999999 +1 @@\n-old\n+new\n")]
#[case::short("@@ -1,2 +1,2 @@\n-old\n")]
#[case::long("@@ -1 +1 @@\n-old\n+new\n+more\n")]
#[case::cut("@@ -1 +1 @@\n-old\n+ne")]
#[case::no_change("@@ -1 +1 @@\n old\n")]
#[case::two_files(
    "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-old\n+new\n"
)]
#[case::two_git_files(
    "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\ndiff --git a/b b/b\n"
)]
#[case::second_hunk_fails("@@ -1 +1 @@\n-old\n+new\n@@ -9 +9 @@\n-none\n+new\n")]
#[case::nothing_to_nothing("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-old\n+new\n")]
#[case::creation_with_old_lines("--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n")]
#[case::deletion_that_leaves_lines("--- a/a\n+++ /dev/null\n@@ -1 +1 @@\n-old\n+new\n")]
#[case::binary("diff --git a/a b/a\nGIT binary patch\nliteral 3\nKc$@>}3jhE#00\n")]
#[case::line_end("@@ -1 +1 @@\n-old\r\n+new\r\n")]
#[tokio::test]
async fn a_patch_that_is_refused(#[case] patch: &str) {
    let lab = Lab::new();
    fs::write(lab.at("a"), "old\n").unwrap();
    let before = lab.picture();
    let result = lab.run("Edit", json!({"file": "a", "patch": patch})).await;
    assert_eq!(result["error"]["code"], "EVALIDATION", "{result}");
    assert_eq!(result["error"]["details"][0]["field"], "patch");
    assert_eq!(lab.picture(), before);
}

#[rstest]
#[case::headers_of_git(
    "diff --git a/q b/q\nindex 1..2 100644\n--- a/q\n+++ b/q\n@@ -1 +1 @@ fn x\n-old\n+new\n",
    "new\n"
)]
#[case::mail(
    "From: me\nSubject: x\n\n---\n a | 2 +-\n\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n-- \n2.47\n",
    "new\n"
)]
#[case::bare("@@ -1 +1 @@\n-old\n+new\n", "new\n")]
#[case::emptied("@@ -1 +0,0 @@\n-old\n", "")]
#[case::no_newline("@@ -1 +1 @@\n-old\n+old\n\\ No newline at end of file\n", "old")]
#[case::appended("@@ -1 +1,2 @@\n old\n+more\n", "old\nmore\n")]
#[case::inserted_without_context("@@ -0,0 +1 @@\n+first\n", "first\nold\n")]
#[case::line_of_dashes("@@ -1 +1,2 @@\n old\n+-- \n", "old\n-- \n")]
#[tokio::test]
async fn a_patch_that_is_applied(#[case] patch: &str, #[case] expect: &str) {
    let lab = Lab::new();
    fs::write(lab.at("a"), "old\n").unwrap();
    let result = lab.run("Edit", json!({"file": "a", "patch": patch})).await;
    assert_eq!(result["data"]["patched"], true, "{result}");
    assert_eq!(fs::read_to_string(lab.at("a")).unwrap(), expect);
}

#[tokio::test]
async fn hunks_are_applied_in_their_order() {
    let lab = Lab::new();
    fs::write(lab.at("a"), "x\ny\n1\n2\n3\n4\n5\n").unwrap();
    let patch = "@@ -4,3 +4,3 @@\n 2\n-3\n+three\n 4\n@@ -7,2 +7,2 @@\n-x\n+X\n y\n";
    let result = lab.run("Edit", json!({"file": "a", "patch": patch})).await;
    assert_eq!(result["error"]["details"][0]["field"], "patch", "{result}");
}

#[tokio::test]
async fn an_edit_of_a_missing_file() {
    let error = &Lab::new().run("Edit", json!({"file": "a", "patch": PATCH})).await["error"];
    assert_eq!((&error["code"], &error["path"]), (&json!("EIO"), &json!("a")));
}

/// Tells a second more at each reading.
struct Ticking(std::sync::atomic::AtomicU32);

impl Clock for Ticking {
    fn now(&self) -> String {
        let second = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("2024-01-01T12:00:{second:02}.250Z")
    }
}

#[tokio::test]
async fn the_clock_is_read_before_and_after() {
    let lab = Lab::new();
    let clock = Ticking(std::sync::atomic::AtomicU32::new(0));
    for (tool, start) in [("Read", 0), ("Nope", 2), ("GraphQuery", 4)] {
        let input = json!({"query": "q"});
        let result = run(&lab.registry, &clock, tool, input, &lab.context).await.to_json();
        assert_eq!(
            result["meta"],
            json!({
                "startedAt": format!("2024-01-01T12:00:{start:02}.250Z"),
                "endedAt": format!("2024-01-01T12:00:{:02}.250Z", start + 1),
                "durationMs": 1000,
            })
        );
    }
}

#[tokio::test]
async fn an_input_that_is_too_deep_is_refused() {
    let mut lab = Lab::with_secrets(&[]);
    lab.registry.register(made("Mine", json!({"additionalProperties": true}))).unwrap();
    let mut input = json!({});
    for _ in 0..1000 {
        input = Value::Object([("a".to_owned(), input)].into_iter().collect());
    }
    let result = lab.run("Mine", input).await;
    assert_eq!(result["error"]["details"][0]["field"], "input");
}

#[tokio::test]
async fn checking_a_new_file_over_an_existing_one_does_not_fit() {
    let lab = Lab::new();
    fs::write(lab.at("a"), "old\n").unwrap();
    let patch = "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+new\n";
    let result = lab.run("Edit", json!({"file": "a", "patch": patch, "strategy": "check"})).await;
    assert_eq!(result["data"], json!({"patched": false}), "{result}");
    let result = lab.run("Edit", json!({"file": "b", "patch": patch, "strategy": "check"})).await;
    assert_eq!(result["data"]["patched"], true, "{result}");
    assert!(!lab.at("b").exists());
}
