//! Tools with scripted answers, call by call.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proofmark_fakes::host::{Fake, FakeKind, Released, Response};
use proofmark_fakes::script::{argument, arguments, array, list, object, stall, string};
use sage_errors::{Detail, SageError};
use sage_llm::ToolRunner;
use sage_tools::{Tool, ToolContext, ToolLog, ToolResult};
use sage_utils::{BoxFuture, TypedError};
use serde_json::Value;

use crate::fault::fault;

/// The fake `tools`. [`ScriptedTools::from_script`] describes its script.
pub static TOOLS: FakeKind = FakeKind {
    name: "tools",
    make: |script| Ok(Box::new(ScriptedTools::from_script(script)?)),
    releases: &[],
};

/// What a tool does when it is called.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolAnswer {
    /// It returns this result, which may have a `log`.
    Result(Value),
    /// It throws.
    Error(TypedError),
    /// It never answers.
    Stall,
}

/// Tools by name, each with its answers in order. The input of a call makes no difference.
#[derive(Debug, Default)]
pub struct ScriptedTools {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    answers: BTreeMap<String, Answers>,
    asked: Vec<(String, Value)>,
}

#[derive(Debug, Default)]
struct Answers {
    left: VecDeque<ToolAnswer>,
    taken: usize,
}

impl ScriptedTools {
    /// No tools. Add them with [`Self::answering`].
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools of a script: `{"results": {"Name": [answer, …]}}`, where an answer is
    /// `{"value": ToolResult}`, `{"error": {"code", "message", …}}` or `{"stall": true}`.
    ///
    /// # Errors
    /// The script is wrong; the message names the place and what belongs there.
    pub fn from_script(script: &Value) -> Result<Self, String> {
        let members = object("tools", script, &["results"])?;
        let mut tools = Self::new();
        let Some(results) = members.get("results") else { return Ok(tools) };
        let Some(results) = results.as_object() else {
            return Err(format!("`results` must be an object of lists by name, not {results}"));
        };
        for (name, answers) in results {
            let place = format!("results.{name}");
            // Also for an empty list: then the tool exists, but has no answers left.
            tools.state().answers.entry(name.clone()).or_default();
            for (at, value) in array(&place, Some(answers))?.iter().enumerate() {
                tools = tools.answering(name, answer(&format!("{place}[{at}]"), value)?);
            }
        }
        Ok(tools)
    }

    /// Adds an answer to those of the tool `name`.
    #[must_use]
    pub fn answering(self, name: impl Into<String>, answer: ToolAnswer) -> Self {
        self.state().answers.entry(name.into()).or_default().left.push_back(answer);
        self
    }

    /// The calls so far, in order, each with its input.
    pub fn asked(&self) -> Vec<(String, Value)> {
        self.state().asked.clone()
    }

    /// The next answer of the tool `name`.
    ///
    /// # Errors
    /// The caller's mistake: there is no such tool, or it has no answers left.
    pub fn execute(&self, name: &str, input: &Value) -> Result<ToolAnswer, String> {
        let mut state = self.state();
        let State { answers, asked } = &mut *state;
        let Some(answers) = answers.get_mut(name) else {
            let known: Vec<&str> = answers.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { list(&known) };
            return Err(format!("the fake `tools` plays no tool `{name}`; it plays {known}"));
        };
        let taken = answers.taken;
        let answer = answers.left.pop_front().ok_or_else(|| {
            let call = taken + 1;
            format!("the script of the tool `{name}` has {taken} answers; this is call {call}")
        })?;
        answers.taken = taken + 1;
        asked.push((name.to_owned(), input.clone()));
        Ok(answer)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No panic can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fake for ScriptedTools {
    fn call(
        &mut self,
        _ticket: u64,
        method: &str,
        args: &Value,
        _released: &mut Released,
    ) -> Result<Response, String> {
        if method != "execute" {
            return Err(format!("the fake `tools` has no method `{method}`; it has `execute`"));
        }
        let args = arguments("tools.execute", args, &["name", "input"])?;
        let name = argument("tools.execute", args, "name")?;
        let Some(input) = args.get("input") else {
            return Err("`tools.execute` takes an `input`, which is missing".to_owned());
        };
        Ok(match self.execute(name, input)? {
            ToolAnswer::Result(result) => Response::recorded(Ok(result)),
            ToolAnswer::Error(error) => Response::recorded(Err(error.to_json())),
            ToolAnswer::Stall => Response::Later { recorded: true },
        })
    }
}

/// One of the scripted tools, for a registry.
#[derive(Debug, Clone)]
pub struct ScriptedTool {
    name: String,
    schema: Value,
    script: Arc<ScriptedTools>,
}

impl ScriptedTool {
    /// The tool `name` of `script`. Its input must fit `schema`.
    pub fn new(name: impl Into<String>, schema: Value, script: Arc<ScriptedTools>) -> Self {
        Self { name: name.into(), schema, script }
    }
}

impl Tool for ScriptedTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    /// Writes the answer's `log` before it returns.
    fn execute<'a>(&'a self, input: Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let result = match self.script.execute(&self.name, &input) {
                Ok(ToolAnswer::Result(result)) => result,
                Ok(ToolAnswer::Error(error)) => return ToolResult::failed(error),
                Ok(ToolAnswer::Stall) => std::future::pending().await,
                Err(problem) => {
                    return ToolResult::failed(SageError::validation(Detail::new("name", problem)));
                }
            };
            let text =
                |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            for entry in result["log"].as_array().into_iter().flatten() {
                context.log(ToolLog {
                    ts: text(entry, "ts"),
                    name: text(entry, "name"),
                    msg: text(entry, "msg"),
                    data: entry.get("data").cloned(),
                });
            }
            ToolResult::from_json(&result).unwrap_or_else(ToolResult::failed)
        })
    }
}

/// Runs the tools for an LLM client. Drops their logs, because the client does not read them.
impl ToolRunner for ScriptedTools {
    fn run<'a>(
        &'a self,
        name: &'a str,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<Value, TypedError>> {
        Box::pin(async move {
            match self.execute(name, input) {
                Ok(ToolAnswer::Result(mut result)) => {
                    if let Value::Object(members) = &mut result {
                        members.shift_remove("log");
                    }
                    Ok(result)
                }
                Ok(ToolAnswer::Error(error)) => Err(error),
                Ok(ToolAnswer::Stall) => std::future::pending().await,
                Err(problem) => Err(SageError::validation(Detail::new("name", problem)).into()),
            }
        })
    }
}

fn answer(place: &str, value: &Value) -> Result<ToolAnswer, String> {
    let kinds = ["value", "error", "stall"];
    let members = object(place, value, &kinds)?;
    match members.iter().map(|(name, value)| (name.as_str(), value)).collect::<Vec<_>>()[..] {
        [("value", result)] => {
            check_result(&format!("{place}.value"), result)?;
            Ok(ToolAnswer::Result(result.clone()))
        }
        [("error", error)] => Ok(ToolAnswer::Error(fault(&format!("{place}.error"), error)?)),
        [("stall", value)] => stall(place, value).map(|()| ToolAnswer::Stall),
        _ => Err(format!("`{place}` must have exactly one of {}: {value}", list(&kinds))),
    }
}

/// Checks a `ToolResult` of the contract with an optional `log`.
fn check_result(place: &str, result: &Value) -> Result<(), String> {
    let members = object(place, result, &["ok", "data", "error", "meta", "log"])?;
    if !members.get("ok").is_some_and(Value::is_boolean) {
        return Err(format!("`{place}.ok` must be true or false"));
    }
    if let Some(error) = members.get("error") {
        fault(&format!("{place}.error"), error)?;
    }
    for (at, entry) in array(&format!("{place}.log"), members.get("log"))?.iter().enumerate() {
        let place = format!("{place}.log[{at}]");
        let entry = object(&place, entry, &["ts", "name", "msg", "data"])?;
        for name in ["ts", "name", "msg"] {
            string(&format!("{place}.{name}"), entry.get(name))?;
        }
    }
    Ok(())
}
