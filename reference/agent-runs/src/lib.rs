//! Runs of agents: a runtime with its nodes, edges, turns and approvals, behind REST and a stream of events.
//!
//! Others are judged beside this crate, so it is written to be read. Each run has one task that owns its desk. The
//! desk handles a request without waiting and turns it into events. The task writes the staged events, syncs them to
//! the disk, and only then notifies consumers, clients and providers. Only the log and artifacts are stored; the
//! state of a run is the fold of its log, and reopening a folder folds it again. The caller provides clock, ids and
//! the provider ([`Settings`]); [`Policy`] has the rules one by one.
//!
//! `proofmark show runs` lists the promises that it keeps.
//!
//! Decided here: a change without effect produces no event. The first event of a run has a member `ordinal`, because
//! runs are listed oldest first and clocks may stand still. `node.progress` comes with a `node.patch` of the summary,
//! so that the fold has it. A new session (a reset command, or another provider) resets a failed node. A spawn whose
//! arguments make no node is denied before the user is asked, and an approval cannot be modified into one. Stall
//! counts are lost at a restart. A handoff to a label that several nodes have goes to the first of them that an edge
//! leads to. A run whose log can no longer be written rests until the folder is reopened, because the state of the
//! disk is unknown. Only one engine serves a folder at a time.
//!
//! Left open: the use of `override` in a prompt, `connection.lastHeartbeatAt` and `lastOutputAt`, and artifacts other
//! than prompts and diffs. All events of a run are kept in memory as well as on the disk.

mod bodies;
mod desk;
mod engine;
mod event;
mod fold;
mod http;
mod id;
mod log;
mod policy;
mod prompt;
mod provider;
mod refusal;
mod run;
mod settings;
mod stall;
mod state;
mod stream;
mod tools;
mod turn;
mod turns;

pub use bodies::{
    CapabilitiesChange, Chat, NewEdge, NewNode, NewRun, NodeChange, PermissionsChange, Resolve,
    RunChange, SessionChange,
};
pub use engine::{Engine, OpenError};
pub use event::{Event, NodePatch, RunPatch, What};
pub use fold::{Input, Misfit};
pub use http::{Fault, FaultBody, MOST_BYTES, openapi, router, serve, serve_router};
pub use id::{Id, NoId};
pub use log::{Line, RunFault};
pub use policy::{Policy, Rules, Served};
pub use prompt::{Blocks, task};
pub use provider::{
    Done, Forward, Handoff, Item, Prompt, PromptKind, Provider, ProviderFault, ToolEnd, TurnAsk,
    Verification,
};
pub use refusal::Refusal;
pub use settings::{Clock, Flush, Ids, Limits, Settings};
pub use state::*;
