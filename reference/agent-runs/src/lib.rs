//! Runs of agents: a runtime with its nodes, edges, turns and approvals, behind REST and a stream of events.
//!
//! Others are judged beside this crate, so it is written to be read. Each run has one task that owns its desk:
//! a request is carried out there without waiting, and becomes events. The task writes the events that are staged, puts
//! them on the disk, and only then tells anybody: consumers, those who asked, providers. Nothing but the log is
//! stored, artifacts aside; what is known of a run is the fold of its log, and a folder that is opened again is folded
//! again. Clock, ids and the provider are the caller's ([`Settings`]); the rules stand one by one in [`Policy`].
//!
//! # Contract
//! - RUNS-001 A run's state has `contractVersion` `"1"`.
//! - RUNS-002 A change that breaks the contract gets a new version and a migration note.
//! - RUNS-003 A run may be asked for with `contractVersion` `"1"`; with any other it is refused with 400.
//! - RUNS-004 The id of a run is a UUID.
//! - RUNS-005 The id of a node is a UUID.
//! - RUNS-006 The id of an edge is a UUID.
//! - RUNS-007 The id of a handoff payload is a UUID.
//! - RUNS-008 The id of an artifact is a UUID.
//! - RUNS-009 Timestamps of runs and nodes are ISO-8601 in UTC.
//! - RUNS-010 The `ts` of an event is ISO-8601 in UTC.
//! - RUNS-011 Timestamps of messages, artifacts and handoff payloads are ISO-8601 in UTC.
//! - RUNS-012 Timestamps come from the session's clock.
//! - RUNS-158 The ids of events, approvals and messages are UUIDs.
//! - RUNS-013 Every event has `id`, `runId`, `ts` and `type`, and its `nodeId`, where there is one, is a UUID.
//! - RUNS-014 The event log of a run is a file of JSON objects, one a line, and holds the events of the run.
//! - RUNS-015 A log is only added to: what stands in it stays, in its place, when more is written.
//! - RUNS-016 An event about a node has its `nodeId`.
//! - RUNS-017 The first event of a run is a `run.patch` with all members of the run.
//! - RUNS-018 The first event of a node is a `node.patch` with all members of the node.
//! - RUNS-019 The log, the history and the stream tell the same events in the same order.
//! - RUNS-020 An event is in the log before anybody is told of it.
//! - RUNS-021 A run's state has all the fields of the contract, with values that it allows.
//! - RUNS-022 A run's `nodes`, `edges` and `artifacts` are kept by their ids.
//! - RUNS-023 No run ever has a `mode` or `globalMode` that the contract does not list.
//! - RUNS-024 `POST /api/runs` makes a run.
//! - RUNS-025 `GET /api/runs` lists the runs.
//! - RUNS-026 `GET /api/runs/:id` answers that run as it is now.
//! - RUNS-027 `GET /api/runs/:id/events` answers the events of that run, and of no other.
//! - RUNS-028 A new run is `running`, in phase `BOOT`, `AUTO` and `IMPLEMENTATION` unless asked otherwise, without
//!   nodes, edges and artifacts.
//! - RUNS-029 A run is made with the `mode` and `globalMode` that were asked for.
//! - RUNS-030 Runs are listed oldest first.
//! - RUNS-157 A list of runs has each run's whole state.
//! - RUNS-031 `GET /api/runs/:id/events?after=ID` answers the events after that one.
//! - RUNS-032 `PATCH /api/runs/:id` changes `status`, `phase`, `mode` and `globalMode`, one or more, and leaves the
//!   rest.
//! - RUNS-033 A change of a run is told with `run.patch`, that has the members that changed; one of the phase also
//!   with `run.phase`, one of a mode also with `run.mode`.
//! - RUNS-034 A change of a run that names nothing, something else, or a value that is not listed is refused with
//!   400.
//! - RUNS-035 A node's state has all the fields of the contract, with values that it allows.
//! - RUNS-036 A node can have each of the four providers.
//! - RUNS-037 A node is made with the label, the role, the provider, the capabilities and the permissions that were
//!   asked for.
//! - RUNS-038 No node ever has a `provider` or a `cliPermissionsMode` that the contract does not list.
//! - RUNS-039 `POST /api/runs/:id/nodes` makes a node of that run.
//! - RUNS-040 `PATCH /api/runs/:id/nodes/:nodeId` changes what it names of that node, and nothing else.
//! - RUNS-041 A change of a node is told with `node.patch`.
//! - RUNS-042 `connection`, where a node has it, has a `status` of the three, `streaming` and, where they are
//!   there, two timestamps.
//! - RUNS-043 `inboxCount` tells how many inputs are queued.
//! - RUNS-044 A new node is `idle`, with an empty summary and an empty inbox, the capabilities of the contract's
//!   example, `cliPermissionsMode` `skip`, `spawnRequiresApproval` true, and `/new` and `/clear` as reset commands.
//! - RUNS-045 Of `capabilities` and `permissions`, members that are not given get their defaults, or keep their
//!   values in a change.
//! - RUNS-046 What a provider tells of its progress is told with `node.progress`.
//! - RUNS-047 If its provider fails, a node is `failed`, and there is no final message of that turn.
//! - RUNS-048 An edge's state has all the fields of the contract, with values that it allows.
//! - RUNS-049 An edge is made between the nodes, and with the type, the label and the direction, that were asked
//!   for.
//! - RUNS-050 An edge from an orchestrator to a node is a `handoff` with the label `task` if nothing else is asked
//!   for.
//! - RUNS-051 An edge from a node to an orchestrator is a `report` with the label `report` if nothing else is asked
//!   for.
//! - RUNS-052 No edge ever has a `type` that the contract does not list.
//! - RUNS-053 A new edge is told with `edge.created`, one that is gone with `edge.deleted`.
//! - RUNS-054 `POST /api/runs/:id/edges` makes an edge of that run.
//! - RUNS-055 `DELETE /api/runs/:id/edges/:edgeId` takes that edge away, and no other.
//! - RUNS-156 `edge.created` has the state of the edge.
//! - RUNS-056 An edge that says nothing else is bidirectional, and between nodes of which none is an orchestrator a
//!   `handoff` with the label `task`.
//! - RUNS-057 `handoff.sent` tells the handoff payload with the fields of the contract.
//! - RUNS-058 What the sender says (message, structured, status, contextRef) stands in the payload as it was said.
//! - RUNS-059 A handoff is an input of the other node, which takes it on its next turn.
//! - RUNS-060 A handoff refers to an artifact with a reference that begins with `artifact://`.
//! - RUNS-061 The user interface resolves artifacts to local paths.
//! - RUNS-062 The reference is `artifact://` and the artifact's id, nothing else.
//! - RUNS-063 A handoff goes along an edge, or against one that is bidirectional; where there is none it is not
//!   sent.
//! - RUNS-064 A handoff that comes without `structured`, `status`, `contextRef` or artifacts has none made up.
//! - RUNS-065 What comes for a node while its turn is under way is queued, and taken on the next turn.
//! - RUNS-066 An input is for its node, and reaches no other.
//! - RUNS-067 Without `interrupt`, a turn under way goes on to its end.
//! - RUNS-068 A user can say of a message that it interrupts, or that it is queued.
//! - RUNS-069 The record of a user's message has the fields of the contract, with what the user said.
//! - RUNS-070 A user's message is told with `message.user`, an answer with `message.assistant.final`.
//! - RUNS-071 A turn takes all that is in the inbox, in order, and each input is taken once.
//! - RUNS-072 A message with `interrupt: true` ends the turn under way; the provider is told to stop.
//! - RUNS-073 A message with `interrupt: true` is taken before what is queued already.
//! - RUNS-074 Chat without `nodeId` is for the orchestrator that was made first; where there is none it is only
//!   recorded.
//! - RUNS-075 Pieces of an answer are told with `message.assistant.delta` as they come; the final message is all of
//!   them, or the message that the provider ends with.
//! - RUNS-076 A turn is told in this order: `running`, the two prompts, the pieces, the final message, the diff,
//!   handoffs, `idle`.
//! - RUNS-077 A node's first turn is asked for with the full prompt.
//! - RUNS-078 Further turns are asked for with a delta.
//! - RUNS-079 After a reset, the full prompt is sent.
//! - RUNS-080 After a change of the node's provider, the full prompt is sent.
//! - RUNS-081 The prompt of a turn, full or delta, holds the input of that turn.
//! - RUNS-082 For every turn, one with a delta as well, the full effective prompt is kept in `prompt.full.txt`.
//! - RUNS-083 For every turn `prompt.blocks.json` keeps the prompt split into system, role, mode, task and
//!   override.
//! - RUNS-084 The full prompt that is sent is the text of `prompt.full.txt`.
//! - RUNS-085 A delta holds the inputs of its turn, and not those of turns before.
//! - RUNS-086 `prompt.blocks.json` is an object of the five blocks, each a string, and the input of the turn stands
//!   in `task`.
//! - RUNS-087 A message that is one of the node's own reset commands is recorded and is no input: no turn begins of
//!   it.
//! - RUNS-088 The provider is told the run, the node, its label and its provider.
//! - RUNS-089 `artifact.created` tells the artifact with the fields of the contract.
//! - RUNS-090 The path of an artifact leads to its file.
//! - RUNS-091 Every completed turn emits an artifact of the kind `diff`.
//! - RUNS-092 The diff of a turn that changed something is in its artifact.
//! - RUNS-093 The node inspector shows the diffs of its node.
//! - RUNS-094 The metadata of a diff name the files that changed.
//! - RUNS-095 The artifact of a diff is called `diff.patch`.
//! - RUNS-096 The diff of a turn that changed nothing is the text `no changes`.
//! - RUNS-097 `tool.proposed` has the `nodeId` and the tool's id, name and arguments.
//! - RUNS-098 `tool.completed` has the `nodeId`, the tool's id and its result, and the message of its error if it
//!   has one.
//! - RUNS-099 A tool that runs is told with `tool.started`.
//! - RUNS-100 A tool is proposed, then started, then completed; `tool.started` has the tool with the arguments that
//!   it runs with.
//! - RUNS-101 Where a node is `gated`, a proposed tool is put to the user: `approval.requested`, with the fields of
//!   the contract.
//! - RUNS-102 Where a node is `gated`, the provider is paused until the user has answered, and the tool does not
//!   start before.
//! - RUNS-103 The user's answer is told with `approval.resolved`, with the fields of the contract.
//! - RUNS-104 The user's answer is forwarded to the provider.
//! - RUNS-105 The arguments that the user put in place are told and forwarded.
//! - RUNS-106 A tool that was denied is not started.
//! - RUNS-107 Where a node is in mode `skip`, tools run without approval.
//! - RUNS-108 `GET /api/approvals` tells an approval that waits.
//! - RUNS-109 `POST /api/approvals/:id/resolve` resolves that approval, and no other.
//! - RUNS-110 A node that is no orchestrator always needs an approval to spawn, whatever its permissions.
//! - RUNS-111 Whether an orchestrator needs an approval to spawn is what its `spawnRequiresApproval` says.
//! - RUNS-112 A spawn that was denied makes no node.
//! - RUNS-113 `GET /api/approvals` tells the approvals that wait, of all runs, and none that is resolved.
//! - RUNS-114 An approval is resolved once: a second answer is refused with 409.
//! - RUNS-159 An approval that waits when its turn is interrupted is gone: it is not listed any more, and an answer
//!   is refused with 404.
//! - RUNS-155 The answer to a resolution is the resolution.
//! - RUNS-115 An answer has a `status` of the three, and `modifiedArgs` only with `modified`; else it is refused
//!   with 400.
//! - RUNS-116 While an approval waits, the turn goes no further: no event of its node comes between.
//! - RUNS-117 Where a node is in mode `skip`, nothing is forwarded for its tools.
//! - RUNS-118 An approved spawn makes the node that its arguments describe and an edge from its maker, between
//!   `tool.started` and `tool.completed`, and the answer is forwarded, also where none was asked for.
//! - RUNS-119 A node without the capability `spawnNodes` cannot spawn: `tool.completed` with `ok: false`, `denied`
//!   is forwarded and nobody is asked.
//! - RUNS-120 Nodes that go round with the same output stall: `run.stalled`.
//! - RUNS-121 Nodes that go round with the same diff stall: `run.stalled`.
//! - RUNS-122 Nodes that go round with the same failed verification stall: `run.stalled`.
//! - RUNS-123 A run that stalls is paused.
//! - RUNS-124 `run.stalled` has evidence.
//! - RUNS-125 Nodes that go round with ever new output and diffs, and no failed verification, do not stall.
//! - RUNS-126 It is a stall at the third time in a row, for each node by itself.
//! - RUNS-127 That nothing was changed, or that a verification is passed, again and again is no stall.
//! - RUNS-128 A stall is told in this order: the run `paused`, `run.stalled`, the node `blocked`.
//! - RUNS-129 While a run is not `running` inboxes fill and no turn begins; when it is `running` again, turns
//!   begin.
//! - RUNS-130 A run that is set to `running` after a stall goes on: what was blocked is idle, and what was counted
//!   is counted anew.
//! - RUNS-131 What happens in a run is told to a consumer of its stream as it happens.
//! - RUNS-132 Every consumer of a stream is told everything.
//! - RUNS-133 A consumer is told of the run that it asked for, and of no other.
//! - RUNS-134 A consumer understands every type of event in the list.
//! - RUNS-135 A consumer is told first what happened before, in the order of the log, then what is new, nothing
//!   twice and nothing left out.
//! - RUNS-136 A consumer that names an event with `after` is told only what came after it.
//! - RUNS-137 What a consumer sends is ignored.
//! - RUNS-138 The stream of a run that there is not is refused with 404.
//! - RUNS-139 An id that names nothing is refused with 404.
//! - RUNS-140 An id that is no UUID is refused with 400 or 404, and never leads out of the server's own files.
//! - RUNS-141 A body of a new run with an unknown member, a wrong kind or a value that is not listed is refused
//!   with 400.
//! - RUNS-142 A body of a node, new or changed, with a missing or unknown member, a wrong kind, a label or role of
//!   less than 1 or more than 200 characters, or a value that is not listed, is refused with 400.
//! - RUNS-143 A body of an edge with a missing or unknown member, a wrong kind or a value that is not listed is
//!   refused with 400.
//! - RUNS-144 A body of a message without content, or with an unknown member or a wrong kind, is refused with 400.
//! - RUNS-145 A body that is no JSON object is refused with 400.
//! - RUNS-146 A refused request changes nothing and is told to nobody.
//! - RUNS-147 A method that a path does not have is refused with 405.
//! - RUNS-148 A body over 1 MiB is refused with 413.
//! - RUNS-149 A request from a page of another machine (its `Origin`), or for another `Host`, is refused with 403,
//!   and so is a consumer of the stream.
//! - RUNS-150 After its process was killed, a server that is started again goes on with the runs: their states,
//!   their events, and what waits in inboxes.
//! - RUNS-151 A turn that was under way when the process was killed is lost, and its node `idle`, which is told;
//!   approvals that waited are gone.
//! - RUNS-152 Requests that come at once lose nothing: every change is in the log, each on a line of its own.
//! - RUNS-153 Requests that come at once lose nothing: every run and node that was acknowledged is there, and every
//!   change is made.
//! - RUNS-154 Of two answers to one approval that come at once, one counts.
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
