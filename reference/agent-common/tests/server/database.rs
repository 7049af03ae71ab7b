//! The database: the same answers as from memory, and all of them again after a restart.

use std::fs;

use agent_common::{OpenError, Server};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::lab::clock;
use crate::laws::{seen, series, settled};

fn open(folder: &TempDir) -> Server {
    Server::with_database(folder.path().join("kept.redb"), clock()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_server_that_is_restarted_after_each_call_is_as_one_in_memory(calls in series(30)) {
        let folder = TempDir::new().unwrap();
        let memory = Server::in_memory(clock());
        for call in calls {
            let (tool, arguments) = settled(&memory, &call);
            let expected = memory.call(&tool, &arguments);
            let server = open(&folder);
            prop_assert_eq!(server.call(&tool, &arguments), expected);
            drop(server);
            prop_assert_eq!(seen(&open(&folder)), seen(&memory));
        }
    }
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let folder = TempDir::new().unwrap();
    let server = open(&folder);
    let w = |server: &Server, tool: &str, mut arguments: serde_json::Value| {
        arguments["workspace"] = json!("w");
        let envelope = server.call(tool, &arguments);
        assert_eq!(envelope["success"], true, "{envelope}");
        envelope["result"].clone()
    };
    w(&server, "workspaces_create", json!({}));
    w(&server, "plans_create", json!({"title": "p"}));
    w(
        &server,
        "tasks_create",
        json!({"plan": "PLAN-001", "title": "t", "notes": "\u{0}\u{1f600}"}),
    );
    w(&server, "tasks_focus", json!({"task": "TASK-001"}));
    w(&server, "graph_node_create", json!({"node": "\u{e4} \"'", "type": "T", "props": {"": ""}}));
    drop(server);
    let server = open(&folder);
    assert_eq!(w(&server, "tasks_patch", json!({"title": "u"}))["task"]["id"], "TASK-001");
    assert_eq!(w(&server, "tasks_notes", json!({"task": "TASK-001"}))["text"], "\u{0}\u{1f600}");
    assert_eq!(w(&server, "plans_create", json!({"title": "q"}))["plan"]["id"], "PLAN-002");
    assert_eq!(
        w(&server, "graph_node_get", json!({"node": "\u{e4} \"'"}))["node"]["props"],
        json!({"": ""})
    );
}

#[test]
fn a_file_that_is_open_cannot_be_opened_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("kept.redb");
    let first = Server::with_database(&path, clock()).unwrap();
    assert!(matches!(Server::with_database(&path, clock()), Err(OpenError::Storage(_))));
    drop(first);
    Server::with_database(&path, clock()).unwrap();
}

#[test]
fn foreign_files_are_refused_and_left_unchanged() {
    let folder = TempDir::new().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "this is no database").unwrap();
    assert!(matches!(Server::with_database(&text, clock()), Err(OpenError::Storage(_))));
    assert_eq!(fs::read_to_string(&text).unwrap(), "this is no database");
    let nowhere = folder.path().join("missing/kept.redb");
    assert!(matches!(Server::with_database(nowhere, clock()), Err(OpenError::Storage(_))));

    let other = folder.path().join("other.redb");
    write(&other, "somebody", "key", "value");
    let refused = Server::with_database(&other, clock()).err().unwrap();
    assert!(matches!(&refused, OpenError::Format { found } if found.is_empty()), "{refused}");
    let later = folder.path().join("later.redb");
    write(&later, "about", "format", "2");
    let refused = Server::with_database(&later, clock()).err().unwrap();
    assert!(matches!(&refused, OpenError::Format { found } if found == "2"), "{refused}");
}

#[test]
fn a_damaged_record_is_reported() {
    for (table, key, value) in [
        ("plans", r#"["w",1]"#, r#"{"title": 1}"#),
        ("plans", r#"["not a name",1]"#, r#"{"title": "t", "revision": 0}"#),
        ("conflicts", "garbage", "{}"),
    ] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("kept.redb");
        drop(Server::with_database(&path, clock()).unwrap());
        write(&path, table, key, value);
        let refused = Server::with_database(&path, clock()).err().unwrap();
        let named = matches!(&refused, OpenError::Record { table: t, key: k, .. } if *t == table && k == key);
        assert!(named, "{refused}");
    }
}

fn write(path: &std::path::Path, table: &str, key: &str, value: &str) {
    let file = redb::Database::create(path).unwrap();
    let transaction = file.begin_write().unwrap();
    let definition = redb::TableDefinition::<&str, &str>::new(table);
    transaction.open_table(definition).unwrap().insert(key, value).unwrap();
    transaction.commit().unwrap();
}
