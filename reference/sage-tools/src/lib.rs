//! Tools: narrow, auditable actions on a workspace, and the runtime that lets them act.
//!
//! Others are judged beside this crate, so it is written to be read. A [`Registry`] knows tools by name; [`run`]
//! performs one call: look up the tool, ask the policy, inject secrets, validate, execute, redact. The caller
//! provides the clock, the graph, the secrets and the logger. Disk access is behind [`Workspace`], and starting
//! programs in `process`.
//!
//! `proofmark show sage.tools` lists the promises that it keeps.
//!
//! Decided here: `..` in a path is refused even if it would stay inside, because its target depends on links. Links
//! inside the workspace are followed. A program without `timeoutMs` has ten minutes.
//!
//! Left open: the wording of messages; what a dry run prints; whether created folders stay when a write then fails.

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
