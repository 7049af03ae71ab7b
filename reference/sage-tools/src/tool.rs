//! Tools and their context.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use sage_utils::{BoxFuture, Iso8601, SecretProvider};
use serde_json::{Map, Value};

use crate::redact::Redactor;
use crate::{ToolResult, Workspace};

/// A named action. The runtime validates and permits it before executing it.
pub trait Tool: Send + Sync {
    fn name(&self) -> &str;

    fn description(&self) -> Option<&str> {
        None
    }

    fn version(&self) -> Option<&str> {
        None
    }

    /// What it takes, as a JSON Schema.
    fn schema(&self) -> &Value;

    /// What it would do with `input`, if that needs a permission of the tool's name. The input is not validated yet.
    fn needs_permission(&self, input: &Value) -> Option<Access> {
        let _ = input;
        None
    }

    /// `input` fits the schema.
    fn execute<'a>(&'a self, input: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult>;
}

/// An operation on a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// A path or a command, as it was given.
    pub resource: String,
    /// `write` or `execute`.
    pub operation: &'static str,
}

/// A line of a tool's log.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolLog {
    pub ts: Iso8601,
    pub name: String,
    pub msg: String,
    pub data: Option<Value>,
}

impl ToolLog {
    /// `{ts, name, msg, data?}`.
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        for (member, text) in [("ts", &self.ts), ("name", &self.name), ("msg", &self.msg)] {
            json.insert(member.to_owned(), text.clone().into());
        }
        if let Some(data) = &self.data {
            json.insert("data".to_owned(), data.clone());
        }
        Value::Object(json)
    }
}

/// The logger of tools.
pub type Logger = Arc<dyn Fn(ToolLog) + Send + Sync>;

/// What a tool call may see, do and report.
#[derive(Clone)]
pub struct ToolContext {
    pub workspace: Arc<Workspace>,
    /// The whole environment of programs that are started. Nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// A dry run: nothing is changed or started; tools report what they would do.
    pub dry_run: bool,
    /// Names of permitted tools, among those that change something.
    pub permissions: BTreeSet<String>,
    pub logger: Option<Logger>,
    /// The source of values for `$ENV.NAME`. Without it, such texts stay as they are.
    pub secrets: Option<Arc<dyn SecretProvider>>,
    /// Knows the secrets of this call.
    pub(crate) redactor: Arc<Redactor>,
}

impl ToolContext {
    /// May read the workspace, and nothing else.
    pub fn new(workspace: Arc<Workspace>) -> Self {
        Self {
            workspace,
            env: BTreeMap::new(),
            dry_run: false,
            permissions: BTreeSet::new(),
            logger: None,
            secrets: None,
            redactor: Arc::default(),
        }
    }

    /// Writes to the logger, if there is one, without the secrets of this call.
    pub fn log(&self, mut log: ToolLog) {
        let Some(logger) = &self.logger else { return };
        for text in [&mut log.ts, &mut log.name, &mut log.msg] {
            *text = self.redactor.text(text);
        }
        log.data = log.data.map(|data| self.redactor.value(&data));
        logger(log);
    }
}

/// The environment may contain secrets, so its values are not printed.
impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("workspace", &self.workspace)
            .field("env", &self.env.keys())
            .field("dry_run", &self.dry_run)
            .field("permissions", &self.permissions)
            .finish_non_exhaustive()
    }
}
