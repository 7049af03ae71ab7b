//! A graph of code facts in memory, seen as it was at any of its commits.
//!
//! It understands a small part of Cypher, and what is beyond it is refused by name rather than
//! misread. Values that come as parameters are compared and never parsed.

mod parse;
mod run;
mod script;
mod token;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use sage_errors::{Detail, SageError};
use sage_tools::Graph;
use sage_utils::{BoxFuture, TypedError};
use serde_json::{Map, Value};

use crate::host::Answer;
use crate::script::{argument, arguments};

/// What a query can be.
pub const UNDERSTOOD: &str = "MATCH (n:Label {key: value}) or \
    MATCH (n:Label)-[:KIND]->(m:Label) or <-[:KIND]-, WHERE n.key = value AND m.key <> value, \
    RETURN n.key, m.key AS name, count(*), ORDER BY n.key DESC, LIMIT 10; \
    a value is 'text', a number, true, false, null or $param";

/// A graph, with faults that come when the script says so.
#[derive(Debug, Default)]
pub struct MemoryGraph {
    facts: Facts,
    faults: Mutex<VecDeque<TypedError>>,
}

/// What is in the graph. Nodes are in the order in which they were given.
#[derive(Debug, Default, Clone, PartialEq)]
struct Facts {
    commits: Vec<String>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

#[derive(Debug, Clone, PartialEq)]
struct Node {
    id: String,
    label: String,
    properties: Map<String, Value>,
    seen: Seen,
}

#[derive(Debug, Clone, PartialEq)]
struct Edge {
    /// Positions in the list of nodes.
    from: usize,
    to: usize,
    kind: String,
    seen: Seen,
}

/// The first and the last commit at which something was there, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    first: usize,
    last: usize,
}

impl Seen {
    fn at(self, commit: usize) -> bool {
        (self.first..=self.last).contains(&commit)
    }
}

impl MemoryGraph {
    /// The graph of a script: `{"commits", "nodes", "edges", "faults"}`.
    ///
    /// `first_seen` and `last_seen` are numbers of commits, counted from 1, or their names. What has
    /// no `last_seen` is still there at the last commit.
    ///
    /// # Errors
    /// A sentence that names the place that is wrong, and what would be right.
    pub fn from_script(script: &Value) -> Result<Self, String> {
        let (facts, faults) = script::read(script)?;
        Ok(Self { facts, faults: Mutex::new(faults.into()) })
    }

    /// The rows that `query` finds, in the order of the nodes unless it says otherwise.
    ///
    /// They are those of `commit`, or else of the query's `/* @commit: HASH */`, or else of the last
    /// commit. What is not there is not found, be it a label or a commit: no rows, no error.
    ///
    /// # Errors
    /// The next fault of the script; `EVALIDATION` with the field `query` for what is not understood,
    /// and with the field `params` for a parameter that is not given.
    pub fn query(
        &self,
        query: &str,
        params: &Map<String, Value>,
        commit: Option<&str>,
    ) -> Result<Vec<Value>, TypedError> {
        // A queue is whole after every single step, so a panic elsewhere does not spoil it.
        let fault = self.faults.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match fault {
            Some(fault) => Err(fault),
            None => Ok(self.answer(query, params, commit)?),
        }
    }

    fn answer(
        &self,
        query: &str,
        params: &Map<String, Value>,
        commit: Option<&str>,
    ) -> Result<Vec<Value>, SageError> {
        let query = parse::query(query, params)?;
        let commits = &self.facts.commits;
        let at = match commit.or(query.commit.as_deref()) {
            Some(name) => commits.iter().position(|commit| commit == name).map(|at| at + 1),
            None => Some(commits.len()),
        };
        Ok(at.map(|at| run::rows(&self.facts, &query, at)).unwrap_or_default())
    }

    pub(crate) fn call(&self, method: &str, args: &Value) -> Result<Answer, String> {
        if method != "query" {
            return Err(format!("the fake `graph` has no method `{method}`; it has `query`"));
        }
        let args = arguments("graph.query", args, &["query", "params", "commit"])?;
        let query = argument("graph.query", args, "query")?;
        let none = Map::new();
        let params = match args.get("params") {
            None | Some(Value::Null) => &none,
            Some(Value::Object(params)) => params,
            Some(other) => {
                return Err(format!("`graph.query` takes an object `params`, not {other}"));
            }
        };
        let commit = match args.get("commit") {
            None | Some(Value::Null) => None,
            Some(_) => Some(argument("graph.query", args, "commit")?),
        };
        let rows = self.query(query, params, commit);
        Ok(Answer::noted(rows.map(Value::Array).map_err(|error| error.to_json())))
    }
}

impl Graph for MemoryGraph {
    fn query<'a>(
        &'a self,
        query: &'a str,
        params: Option<&'a Value>,
        commit: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<Value>, TypedError>> {
        Box::pin(async move {
            let none = Map::new();
            match params.map_or(Some(&none), Value::as_object) {
                Some(params) => self.query(query, params, commit),
                None => {
                    Err(SageError::validation(Detail::new("params", "must be an object")).into())
                }
            }
        })
    }
}

/// A query that is not understood, for this reason.
fn refused(reason: impl AsRef<str>) -> SageError {
    let detail = Detail::new("query", reason.as_ref()).expected(UNDERSTOOD);
    SageError::validation(detail)
}
