//! Runs of agents: a runtime with its nodes, edges, turns and approvals, behind REST and a stream of events.
//!
//! Others are judged beside this crate, so it is written to be read. Each run has one task that owns its desk:
//! a request is carried out there without waiting, and becomes events. The task writes the events that are staged, puts
//! them on the disk, and only then tells anybody: consumers, those who asked, providers. Nothing but the log is
//! stored, artifacts aside; what is known of a run is the fold of its log, and a folder that is opened again is folded
//! again. Clock, ids and the provider are the caller's ([`Settings`]); the rules stand one by one in [`Policy`].
//!
//! `proofmark show runs` lists the promises that it keeps.
//!
//! Decided here: a change that changes nothing tells nothing. The first event of a run has a member `ordinal`, since
//! runs are listed oldest first and clocks may stand still. `node.progress` comes beside a `node.patch` with the
//! summary, so that the fold has it. A failed node is set right by a new session: a reset command, or another
//! provider. A spawn whose arguments make no node is denied before anybody is asked, and an approval cannot be modified
//! into one. What is counted for stalls is forgotten at a restart. A handoff to a label that several nodes have goes to
//! the first of them that an edge leads to. A run whose log can no longer be written rests until the folder is opened
//! again, since nobody knows what the disk has. A folder is served by one engine at a time.
//!
//! Left open: what `override` in a prompt is for, `connection.lastHeartbeatAt` and `lastOutputAt`, and artifacts other
//! than prompts and diffs. All events of a run are held in memory, as they are on the disk.

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
pub use http::{Fault, FaultBody, MOST_BYTES, openapi, router, serve};
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
