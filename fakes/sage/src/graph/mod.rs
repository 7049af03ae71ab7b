//! A graph of code facts in memory, seen as it was at any of its commits.
//!
//! It supports a small part of Cypher. It refuses everything else by name instead of misreading it.
//! Parameters are compared as values and never parsed.

mod parse;
mod run;
mod script;
mod token;

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use proofmark_fakes::host::{Fake, FakeKind, Released, Response};
use proofmark_fakes::script::{argument, arguments};
use sage_errors::{Detail, SageError};
use sage_tools::Graph;
use sage_utils::{BoxFuture, TypedError};
use serde_json::{Map, Value};

/// The fake `graph`. [`MemoryGraph::from_script`] describes its script.
pub static GRAPH: FakeKind = FakeKind {
    name: "graph",
    make: |script| Ok(Box::new(MemoryGraph::from_script(script)?)),
    releases: &[],
};

/// The queries that the graph supports.
pub const SUPPORTED: &str = "MATCH (n:Label {key: value}) or \
    MATCH (n:Label)-[:KIND]->(m:Label) or <-[:KIND]-, WHERE n.key = value AND m.key <> value, \
    RETURN n.key, m.key AS name, count(*), ORDER BY n.key DESC, LIMIT 10; \
    a value is 'text', a number, true, false, null or $param";

/// A graph with scripted errors.
#[derive(Debug, Default)]
pub struct MemoryGraph {
    facts: Facts,
    faults: Mutex<VecDeque<TypedError>>,
}

/// The content of the graph. Nodes are in the order of the script.
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

/// The first and the last commit at which a node or an edge existed, counted from 1.
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
    /// `first_seen` and `last_seen` are numbers of commits, counted from 1, or their names. A node or
    /// an edge without `last_seen` still exists at the last commit.
    ///
    /// # Errors
    /// The script is wrong; the message names the place and what belongs there.
    pub fn from_script(script: &Value) -> Result<Self, String> {
        let (facts, faults) = script::read(script)?;
        Ok(Self { facts, faults: Mutex::new(faults.into()) })
    }

    /// The rows that `query` finds, in the order of the nodes unless the query has another order.
    ///
    /// It searches the graph at `commit`, or else at the query's `/* @commit: HASH */`, or else at the
    /// last commit. An unknown label or commit gives no rows and is no error.
    ///
    /// # Errors
    /// The next error of the script; `EVALIDATION` with the field `query` for an unsupported query, and
    /// with the field `params` for a missing parameter.
    pub fn query(
        &self,
        query: &str,
        params: &Map<String, Value>,
        commit: Option<&str>,
    ) -> Result<Vec<Value>, TypedError> {
        // No panic can leave the queue half changed.
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
}

impl Fake for MemoryGraph {
    fn call(
        &mut self,
        _ticket: u64,
        method: &str,
        args: &Value,
        _released: &mut Released,
    ) -> Result<Response, String> {
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
        Ok(Response::recorded(rows.map(Value::Array).map_err(|error| error.to_json())))
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

/// The query is not supported, for this reason.
fn refused(reason: impl AsRef<str>) -> SageError {
    let detail = Detail::new("query", reason.as_ref()).expected(SUPPORTED);
    SageError::validation(detail)
}
