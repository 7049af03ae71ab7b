//! What MCP tool servers of one family share: the envelope, identifiers, revisions, budgets, errors.
//!
//! Others are judged beside this crate, so it is written to be read. It is a whole server: plans, tasks, steps and a
//! graph with branches, in memory or in a database file. Ids are counters and the caller passes the time, so the same
//! calls get the same answers. A call works on a draft. An accepted draft goes to the disk and then to memory; a
//! refused one is dropped. A suggestion is tried on a separate draft before it is made.
//!
//! ```no_run
//! # async fn run() -> std::io::Result<()> {
//! let clock = std::sync::Arc::new(jiff::Timestamp::now);
//! let server = agent_common::Server::in_memory(clock);
//! server.serve(tokio::io::stdin(), tokio::io::stdout()).await // until stdin ends
//! # }
//! ```
//!
//! `proofmark show common` lists the promises that it keeps.
//!
//! Decided here: `intent` is the tool's name, also on failure. A plan's id is a well-formed TaskId, because the
//! contract has one pattern for both, but names no task. `1.0` is an integer, as in JSON Schema. A patch replaces
//! `props` as a whole. A resolved conflict cannot be resolved again (`CONFLICT`), and a branch is not merged into
//! itself (`INVALID_INPUT`). Merges compare the content of nodes, not their revisions. A database failure is
//! `STORAGE_FAILED`, which is not in the contract's list.
//!
//! Left open: the wording of messages and hints; which of several faults of one call is reported; the order of
//! conflicts and edges in a list.

mod args;
mod budget;
mod database;
mod envelope;
mod frames;
mod ids;
mod names;
mod records;
mod refusal;
mod server;
mod tables;
mod tools;
mod wire;

pub use budget::{
    Budget, DEFAULT_LIMIT, MOST_LIMIT, Page, SMALLEST_LIST, TextBudget, cut, cut_lines,
};
pub use database::OpenError;
pub use envelope::{Action, Envelope, Failure, Suggestion};
pub use frames::MOST_OF_A_LINE;
pub use ids::{ConflictId, IdError, PlanId, StepId, StepPath, TaskId};
pub use names::{BranchName, GraphNodeId, GraphRel, GraphType, NameError, WorkspaceId};
pub use refusal::{Code, Priority};
pub use server::{Clock, Real, Server};
pub use wire::PROTOCOL_VERSIONS;
