//! A disk that fails, and a disk that loses what was not synced.

use std::io;
use std::sync::MutexGuard;

use redb::StorageBackend;

use super::*;

/// A disk in memory.
#[derive(Debug, Default, Clone)]
struct Disk(Arc<Mutex<Bytes>>);

#[derive(Debug, Default)]
struct Bytes {
    written: Vec<u8>,
    /// What a crash leaves.
    synced: Vec<u8>,
    broken: bool,
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap()
    }

    fn to_write(&self) -> io::Result<MutexGuard<'_, Bytes>> {
        let bytes = self.lock();
        if bytes.broken { Err(io::Error::other("the disk is broken")) } else { Ok(bytes) }
    }

    /// The disk after the power went.
    fn after_a_crash(&self) -> Self {
        let synced = self.lock().synced.clone();
        let bytes = Bytes { written: synced.clone(), synced, broken: false };
        Self(Arc::new(Mutex::new(bytes)))
    }

    fn server(&self) -> Server {
        let file = redb::Builder::new().create_with_backend(self.clone()).unwrap();
        let (database, tables) = Database::load(file).unwrap();
        let store = Store { tables, database: Some(database) };
        Server::new(store, Arc::new(|| Timestamp::UNIX_EPOCH))
    }
}

fn span(offset: u64, length: usize) -> std::ops::Range<usize> {
    let start = usize::try_from(offset).unwrap();
    start..start + length
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().written.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        out.copy_from_slice(&self.lock().written[span(offset, out.len())]);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.to_write()?.written.resize(usize::try_from(length).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut bytes = self.to_write()?;
        bytes.synced = bytes.written.clone();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.to_write()?.written[span(offset, data.len())].copy_from_slice(data);
        Ok(())
    }
}

fn plans(server: &Server) -> Value {
    server.call("plans_list", &json!({ "workspace": "w" }))["result"]["total"].clone()
}

#[test]
fn memory_is_not_ahead_of_a_disk_that_fails() {
    let disk = Disk::default();
    let server = disk.server();
    server.call("workspaces_create", &json!({ "workspace": "w" }));
    disk.lock().broken = true;
    for _ in 0..2 {
        let refused = server.call("plans_create", &json!({ "workspace": "w", "title": "p" }));
        assert_eq!(refused["error"]["code"], "STORAGE_FAILED");
        assert_eq!(plans(&server), 0, "what is in memory can still be read");
    }
    assert_eq!(plans(&disk.after_a_crash().server()), 0);
}

#[test]
fn what_was_acknowledged_survives_a_crash() {
    let disk = Disk::default();
    let server = disk.server();
    server.call("workspaces_create", &json!({ "workspace": "w" }));
    for count in 1..10 {
        let made = server.call("plans_create", &json!({ "workspace": "w", "title": "p" }));
        assert_eq!(made["success"], true);
        assert_eq!(plans(&disk.after_a_crash().server()), count);
    }
}

/// Not only what can be seen: what two branches parted from, the counts and the focus, too.
#[test]
fn every_table_is_on_the_disk_as_it_is_in_memory() {
    let disk = Disk::default();
    let server = disk.server();
    let node = |kind: &str, branch: &str| json!({ "node": "x", "type": kind, "branch": branch });
    let merge = json!({ "from": "a", "into": "main" });
    let script = [
        ("workspaces_create", json!({})),
        ("plans_create", json!({ "title": "p" })),
        ("plans_patch", json!({ "plan": "PLAN-001", "title": "q" })),
        ("tasks_create", json!({ "plan": "PLAN-001", "title": "t", "notes": "n" })),
        ("tasks_focus", json!({ "task": "TASK-001" })),
        ("tasks_patch", json!({ "status": "done" })),
        ("steps_create", json!({ "task": "TASK-001", "title": "s" })),
        ("steps_create", json!({ "task": "TASK-001", "title": "s", "parent": "s:0" })),
        (
            "steps_patch",
            json!({ "task": "TASK-001", "path": "s:0", "checkpoints": { "tests": true } }),
        ),
        ("graph_node_create", node("T", "main")),
        ("graph_edge_create", json!({ "from": "x", "rel": "r", "to": "x" })),
        ("graph_branch_create", json!({ "branch": "a" })),
        ("graph_branch_create", json!({ "branch": "b", "from": "a" })),
        ("graph_node_patch", node("U", "a")),
        ("graph_merge", merge.clone()),
        ("graph_node_patch", node("V", "a")),
        ("graph_node_patch", node("W", "main")),
        ("graph_merge", merge),
        ("graph_conflict_resolve", json!({ "take": "theirs" })),
    ];
    for (tool, mut arguments) in script {
        arguments["workspace"] = json!("w");
        if tool == "graph_conflict_resolve" {
            let list = server.call("graph_conflict_list", &json!({ "workspace": "w" }));
            arguments["conflict"] = list["result"]["items"][0]["id"].clone();
        }
        let envelope = server.call(tool, &arguments);
        assert_eq!(envelope["success"], true, "{envelope}");
        let again = disk.after_a_crash().server();
        assert_eq!(
            again.store.lock().unwrap().tables,
            server.store.lock().unwrap().tables,
            "{tool}"
        );
    }
}
