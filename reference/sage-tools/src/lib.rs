//! Tools: narrow, auditable actions on a workspace, and the runtime that lets them act.
//!
//! Others are judged beside this crate, so it is written to be read. A [`Registry`] knows tools by
//! their names; [`run`] is the way of one call: look the tool up, ask the policy, inject secrets,
//! validate, execute, redact. The clock, the graph, secrets and the listener to logs are the
//! caller's. What touches the disk stands behind [`Workspace`], and what starts programs in
//! `process`.
//!
//! `proofmark show sage.tools` lists the promises that it keeps.
//!
//! Decided here: `..` in a path is refused even where it would stay inside, since where it leads
//! depends on links. Links inside the workspace are followed. A program without `timeoutMs` has ten
//! minutes.
//!
//! Left open: the wording of messages; what a dry run prints; whether folders that were made stay
//! when a write then fails.

mod patch;
mod process;
mod redact;
mod registry;
mod result;
mod runtime;
mod schema;
mod secrets;
mod standard;
mod tool;
mod workspace;

pub use registry::{Registered, Registry};
pub use result::{Meta, ToolError, ToolResult};
pub use runtime::run;
pub use schema::InputSchema;
pub use standard::{Bash, Edit, Graph, GraphQuery, Read, Write};
pub use tool::{Access, Logger, Tool, ToolContext, ToolLog};
pub use workspace::Workspace;
