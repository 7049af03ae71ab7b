//! A workspace with a folder `outside` beside it, and tools that work in it.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as the test itself may")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sage_tools::{Graph, Registry, Tool, ToolContext, ToolLog, ToolResult, Workspace, run};
use sage_utils::{BoxFuture, Clock, SecretProvider, TypedError, err};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Lab {
    folder: TempDir,
    pub(crate) registry: Registry,
    pub(crate) context: ToolContext,
    pub(crate) logs: Arc<Mutex<Vec<Value>>>,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        let workspace = Workspace::open(folder.path().join("workspace")).unwrap();
        let mut context = ToolContext::new(Arc::new(workspace));
        context.permissions = ["Write", "Edit", "Bash"].map(str::to_owned).into();
        let logs = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&logs);
        context.logger =
            Some(Arc::new(move |log: ToolLog| kept.lock().unwrap().push(log.to_json())));
        Self { folder, registry: Registry::standard(Arc::new(NoGraph)), context, logs }
    }

    /// With these secrets.
    pub(crate) fn with_secrets(secrets: &[(&str, &str)]) -> Self {
        let mut lab = Self::new();
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let secrets = Arc::new(Secrets {
            values: secrets.iter().map(own).collect(),
            asked: Mutex::default(),
        });
        lab.context.secrets = Some(secrets);
        lab
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("workspace").join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join("outside").join(name)
    }

    pub(crate) async fn run(&self, name: &str, input: Value) -> Value {
        self.run_with(&self.context, name, input).await
    }

    pub(crate) async fn run_with(&self, context: &ToolContext, name: &str, input: Value) -> Value {
        run(&self.registry, &Noon, name, input, context).await.to_json()
    }

    /// Runs a command line in a shell.
    pub(crate) async fn sh(&self, script: &str, timeout_ms: u64) -> Value {
        let input = json!({"command": "/bin/sh", "args": ["-c", script], "timeoutMs": timeout_ms});
        self.run("Bash", input).await
    }

    /// All that is there, inside and outside: names, kinds, modes, contents.
    pub(crate) fn picture(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        paint(self.folder.path(), &mut found);
        found
    }
}

fn paint(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        let kind = about.file_type();
        let described = if kind.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if kind.is_dir() {
            paint(&path, found);
            "folder".to_owned()
        } else if kind.is_fifo() || kind.is_socket() {
            "special".to_owned()
        } else {
            format!("{:o} {:?}", about.permissions().mode(), fs::read(&path).unwrap())
        };
        found.insert(path, described);
    }
}

/// A clock that stands still.
pub(crate) struct Noon;

impl Clock for Noon {
    fn now(&self) -> String {
        "2024-01-01T12:00:00.000Z".to_owned()
    }
}

pub(crate) struct NoGraph;

impl Graph for NoGraph {
    fn query<'a>(
        &'a self,
        query: &'a str,
        params: Option<&'a Value>,
        commit: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<Value>, TypedError>> {
        let row = json!({ "query": query, "params": params, "commit": commit });
        Box::pin(async move {
            if row["query"] == "fail" { Err(err("EIO", "no graph", None)) } else { Ok(vec![row]) }
        })
    }
}

pub(crate) struct Secrets {
    pub(crate) values: BTreeMap<String, String>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl SecretProvider for Secrets {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, TypedError>> {
        self.asked.lock().unwrap().push(key.to_owned());
        let answer = match key {
            "BROKEN" => Err(err("EIO", "the vault said hunter2", None)),
            _ => Ok(self.values.get(key).cloned()),
        };
        Box::pin(async move { answer })
    }
}

/// A tool that does what the test says.
pub(crate) struct Made<F> {
    pub(crate) name: &'static str,
    pub(crate) schema: Value,
    pub(crate) act: F,
}

impl<F> Tool for Made<F>
where
    F: Fn(Value, &ToolContext) -> ToolResult + Send + Sync,
{
    fn name(&self) -> &str {
        self.name
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn execute<'a>(&'a self, input: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { (self.act)(input, context) })
    }
}
