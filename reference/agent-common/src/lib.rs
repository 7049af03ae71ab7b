//! What MCP tool servers of one family share: the envelope, identifiers, revisions, budgets, errors.
//!
//! Others are judged beside this crate, so it is written to be read. It is a whole server: plans,
//! tasks, steps and a graph with branches, in memory or in a database file. Ids are counted and time
//! is given, so the same calls get the same answers. A call works on a draft; if it is accepted, the
//! draft goes to the disk and then to memory, and if it is refused the draft is dropped. A
//! suggestion is tried on a draft of its own before it is made.
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
//! Decided here: `intent` is the tool's name, on failure too. A plan's id is a well-formed TaskId, since
//! the contract has one pattern for both, and names no task. `1.0` is an integer, as JSON Schema has
//! it. A patch replaces `props` as a whole. A conflict that is resolved cannot be resolved again
//! (`CONFLICT`), and a branch is not merged into itself (`INVALID_INPUT`). Merges compare what a node
//! says, not how often it was written. A database that fails is `STORAGE_FAILED`, which is not in
//! the contract's list.
//!
//! Left open: the wording of messages and hints; which of several faults of one call is told; the
//! order of conflicts and edges in a list.

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
