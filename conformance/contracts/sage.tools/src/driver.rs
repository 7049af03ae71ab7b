//! The operations of `sage.tools`. The harness plays registered tools, the graph and the secrets; it receives logs as
//! stream items of the call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use proofmark_protocol::{Context, Failure, Open};
use proofmark_room::arguments::string;
use proofmark_room::{Session, State, Subject};
use room_sage_errors::driver::refused;
use room_sage_utils::driver::Foundations;
use sage_errors::{Detail, SageError};
use sage_tools::{Graph, Registry, Tool, ToolContext, ToolLog, ToolResult, Workspace, run};
use sage_utils::{BoxFuture, SecretProvider, TypedError, err};
use serde_json::{Value, json};

use crate::CONTRACT;
use crate::call::{ask, during};

/// Shared by all sessions: compiling the schemas of the standard tools takes longer than most cases.
static STANDARD: LazyLock<Registry> = LazyLock::new(|| Registry::standard(Arc::new(HarnessGraph)));

/// The session's registry, and its workspace if it has one.
struct Tools {
    registry: Mutex<Registry>,
    workspace: Option<Arc<Workspace>>,
}

impl State for Tools {
    fn open(open: &Open) -> Result<Self, Failure> {
        let workspace = open.workspace.as_ref().map(Workspace::open).transpose();
        let workspace = workspace.map_err(|fault| Failure::broken(fault.to_string()))?;
        Ok(Self { registry: Mutex::new(STANDARD.clone()), workspace: workspace.map(Arc::new) })
    }
}

impl Tools {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn workspace(session: &Session) -> Result<Arc<Workspace>, Failure> {
    let tools = session.state::<Tools>()?;
    tools.workspace.clone().ok_or_else(|| Failure::broken("this session has no workspace"))
}

pub(crate) fn operations(subject: Subject) -> Subject {
    subject
        .claims(CONTRACT)
        .on("tools.register", async |context: Context<Session>, args| {
            let tool = HarnessTool::from_json(&args["tool"]).map_err(|fault| refused(&fault))?;
            let registered = context.state().state::<Tools>()?.registry().register(Arc::new(tool));
            registered.map(|()| Value::Null).map_err(|fault| refused(&fault))
        })
        .on("tools.get", async |context: Context<Session>, args| {
            let tools = context.state().state::<Tools>()?;
            let registry = tools.registry();
            let found = registry.get(string(&args, "name")?);
            found.map(|registered| registered.to_json()).map_err(|fault| refused(&fault))
        })
        .on("tools.getToolSchemas", async |context: Context<Session>, _| {
            Ok(context.state().state::<Tools>()?.registry().schemas().into())
        })
        .on("tools.validate", async |context: Context<Session>, args| {
            let tools = context.state().state::<Tools>()?;
            let registry = tools.registry();
            let found = registry.get(string(&args, "name")?);
            let valid = found.and_then(|registered| registered.validate(args["input"].clone()));
            valid.map_err(|fault| refused(&fault))
        })
        .on("tools.execute", |context, args| {
            during(context, async move |context| {
                let name = string(&args, "name")?;
                let tool_context = tool_context(&context, &args["context"])?;
                execute(context.state(), name, args["input"].clone(), &tool_context).await
            })
        })
}

/// Runs a tool of the session's registry with a context that allows nothing.
///
/// # Errors
/// If the session has no workspace.
pub async fn execute_plainly(
    session: &Session,
    name: &str,
    input: Value,
) -> Result<Value, Failure> {
    let plain = ToolContext::new(workspace(session)?);
    execute(session, name, input, &plain).await
}

async fn execute(
    session: &Session,
    name: &str,
    input: Value,
    context: &ToolContext,
) -> Result<Value, Failure> {
    let registry = session.state::<Tools>()?.registry().clone();
    let foundations = session.state::<Foundations>()?;
    Ok(run(&registry, &foundations.clock, name, input, context).await.to_json())
}

/// The graph, played by the harness.
struct HarnessGraph;

impl Graph for HarnessGraph {
    fn query<'a>(
        &'a self,
        query: &'a str,
        params: Option<&'a Value>,
        commit: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<Value>, TypedError>> {
        let mut args = json!({ "query": query });
        if let Some(params) = params {
            args["params"] = params.clone();
        }
        if let Some(commit) = commit {
            args["commit"] = commit.into();
        }
        Box::pin(async move {
            match ask("graph", "query", args).await? {
                Value::Array(rows) => Ok(rows),
                other => {
                    Err(err("EIO", format!("the graph did not answer with rows: {other}"), None))
                }
            }
        })
    }
}

/// The secrets, played by the harness.
struct HarnessSecrets;

impl SecretProvider for HarnessSecrets {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, TypedError>> {
        Box::pin(async move {
            match ask("secrets", "get", json!({ "key": key })).await? {
                Value::Null => Ok(None),
                Value::String(value) => Ok(Some(value)),
                _ => Err(err("EIO", "the secret is no string", None)),
            }
        })
    }
}

/// A tool, played by the harness.
struct HarnessTool {
    name: String,
    description: Option<String>,
    version: Option<String>,
    schema: Value,
}

impl HarnessTool {
    fn from_json(tool: &Value) -> Result<Self, SageError> {
        let mut wrong = Vec::new();
        let mut text = |name: &'static str| match tool.get(name) {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => {
                wrong.push(Detail::new(name, "must be a string").received(other.clone()));
                None
            }
        };
        let (name, description, version) = (text("name"), text("description"), text("version"));
        match SageError::validation_of(wrong) {
            Some(refusal) => Err(refusal),
            None => Ok(Self {
                // The registry refuses an empty name.
                name: name.unwrap_or_default(),
                description,
                version,
                schema: tool["schema"].clone(),
            }),
        }
    }
}

impl Tool for HarnessTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn execute<'a>(&'a self, input: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let answer = ask("tools", "execute", json!({ "name": self.name, "input": input }));
            let mut answer = match answer.await {
                Ok(answer) => answer,
                Err(error) => return ToolResult::failed(error),
            };
            let logs = answer.as_object_mut().and_then(|members| members.shift_remove("log"));
            for log in logs.iter().filter_map(Value::as_array).flatten() {
                context.log(tool_log(log));
            }
            ToolResult::from_json(&answer).unwrap_or_else(ToolResult::failed)
        })
    }
}

fn tool_log(log: &Value) -> ToolLog {
    let text = |name: &str| log[name].as_str().unwrap_or_default().to_owned();
    ToolLog { ts: text("ts"), name: text("name"), msg: text("msg"), data: log.get("data").cloned() }
}

fn tool_context(harness: &Context<Session>, given: &Value) -> Result<ToolContext, Failure> {
    let wrong = |what: &str| Failure::broken(format!("in `context`, {what}"));
    let mut context = ToolContext::new(workspace(harness.state())?);
    let Value::Object(given) = given else {
        return if given.is_null() { Ok(context) } else { Err(wrong("an object is expected")) };
    };
    for (name, value) in given {
        match (name.as_str(), value) {
            ("env", Value::Object(env)) => {
                let texts = env.iter().map(|(name, value)| {
                    let value = value.as_str().ok_or_else(|| wrong("`env` holds strings"))?;
                    Ok((name.clone(), value.to_owned()))
                });
                context.env = texts.collect::<Result<BTreeMap<_, _>, Failure>>()?;
            }
            ("permissions", Value::Array(names)) => {
                let texts = names.iter().map(|name| {
                    name.as_str()
                        .map(str::to_owned)
                        .ok_or_else(|| wrong("`permissions` holds strings"))
                });
                context.permissions = texts.collect::<Result<BTreeSet<_>, Failure>>()?;
            }
            ("dryRun", Value::Bool(dry_run)) => context.dry_run = *dry_run,
            ("secrets", Value::Bool(true)) => {
                context.secrets = Some(Arc::new(HarnessSecrets));
            }
            ("logger", Value::Bool(true)) => {
                let harness = harness.clone();
                context.logger = Some(Arc::new(move |log: ToolLog| harness.emit(log.to_json())));
            }
            ("secrets" | "logger", Value::Bool(false)) => {}
            (other, value) => return Err(wrong(&format!("`{other}` cannot be {value}"))),
        }
    }
    Ok(context)
}
