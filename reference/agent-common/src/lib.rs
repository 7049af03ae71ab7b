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
//! # Contract
//! - COMMON-001 Every answer of a tool has the eight members success, intent, result, warnings, suggestions,
//!   context, error and timestamp.
//! - COMMON-002 intent is a text, warnings and suggestions are lists, context is an object, and the result of a
//!   success is an object.
//! - COMMON-003 On success, success is true and error is null.
//! - COMMON-004 On failure, success is false and error has a code and a message, both texts that are not empty.
//! - COMMON-005 timestamp is a date and a time of day as ISO 8601 writes them.
//! - COMMON-006 timestamp is in UTC and ends in Z.
//! - COMMON-007 The envelope has no members beyond the eight.
//! - COMMON-008 On failure, result is an empty object.
//! - COMMON-009 error has no members but code, message and recovery.
//! - COMMON-010 The MCP result of a call has isError when, and only when, success is false.
//! - COMMON-011 Input that a tool refuses is answered with an envelope, and not with a JSON-RPC error.
//! - COMMON-012 A suggestion has action, target and reason, which are texts, a priority, validated, and params, an
//!   object.
//! - COMMON-013 A suggestion that is called as it stands succeeds.
//! - COMMON-014 The action of a suggestion is call_tool, its priority is high, medium or low, and validated is true
//!   or false.
//! - COMMON-015 A WorkspaceId of 1 to 128 characters that fits the pattern is accepted.
//! - COMMON-016 A WorkspaceId that is empty, has more than 128 characters or does not fit the pattern is refused.
//! - COMMON-017 An ill-formed WorkspaceId is refused with INVALID_NAME, wherever one is taken.
//! - COMMON-018 Ids are of one workspace: in another one they name nothing.
//! - COMMON-019 The ids of plans and tasks fit the pattern: PLAN- or TASK-, and three digits or more.
//! - COMMON-020 A text that does not fit the pattern names no plan and no task.
//! - COMMON-021 An ill-formed PlanId or TaskId is refused with INVALID_INPUT.
//! - COMMON-022 Plans and tasks are counted from 1 in each workspace, with three digits at least.
//! - COMMON-023 Ids are compared letter by letter, and each kind has its own: PLAN-0001 is not PLAN-001, and the id
//!   of a task names no plan.
//! - COMMON-024 The id of a step fits the pattern: STEP- and eight letters or digits or more.
//! - COMMON-025 A step keeps its id, whatever happens to it and to its siblings, and is found by it.
//! - COMMON-026 A text that does not fit the pattern names no step.
//! - COMMON-027 An ill-formed StepId or StepPath is refused with INVALID_INPUT.
//! - COMMON-028 The id of a task node fits the pattern: NODE- and eight letters or digits or more.
//! - COMMON-029 The path of a step fits the pattern, and finds the step.
//! - COMMON-030 A text that does not fit the pattern addresses no step.
//! - COMMON-031 Paths count from 0 at every level: the second step below the first one is s:0.s:1.
//! - COMMON-032 A step is addressed by its id or by its path, and not by both or neither.
//! - COMMON-033 A GraphNodeId of 1 to 256 characters without bars and control characters is accepted.
//! - COMMON-034 A GraphNodeId that is empty, has more than 256 characters, a bar or a control character is refused.
//! - COMMON-035 A GraphType of 1 to 128 characters without control characters is accepted; a bar is allowed.
//! - COMMON-036 A GraphType that is empty, has more than 128 characters or a control character is refused.
//! - COMMON-037 A GraphRel of 1 to 128 characters without bars and control characters is accepted.
//! - COMMON-038 A GraphRel that is empty, has more than 128 characters, a bar or a control character is refused.
//! - COMMON-039 Characters are Unicode scalar values: one beyond U+FFFF counts once, and a letter with a combining
//!   accent counts twice.
//! - COMMON-040 The control characters from U+0080 to U+009F are control characters, too.
//! - COMMON-041 White space around a graph id is taken off before it is checked and before it is kept.
//! - COMMON-042 A graph id is kept as it was given but for the white space around it: case, accents and inner
//!   spaces stay.
//! - COMMON-043 An ill-formed graph id or branch name is refused with INVALID_NAME.
//! - COMMON-044 A branch is named like a WorkspaceId, main is always there, and a new branch is a copy of another
//!   as it is then.
//! - COMMON-045 The id of a conflict fits the pattern: CONFLICT- and 32 hex digits in lower case.
//! - COMMON-046 The id of a conflict is deterministic: another process that is told the same gives the same id.
//! - COMMON-047 A conflict is an entity of its own: it is found by its id, and two conflicts have two ids.
//! - COMMON-048 A text that does not fit the pattern names no conflict.
//! - COMMON-049 An ill-formed ConflictId is refused with INVALID_INPUT.
//! - COMMON-050 A merge that is called again while nothing changed tells the same conflicts, and makes no new ones.
//! - COMMON-051 Plans, tasks, steps, graph nodes and conflicts carry a revision, an integer.
//! - COMMON-052 With each write the revision of what was written grows.
//! - COMMON-053 A write that expects the revision that is there is done.
//! - COMMON-054 A write that expects another revision than the one that is there is refused with REVISION_MISMATCH.
//! - COMMON-055 A write that is refused for its revision changes nothing.
//! - COMMON-056 expected_version means what expected_revision means.
//! - COMMON-057 A REVISION_MISMATCH comes with at least one suggestion.
//! - COMMON-058 Each write adds 1 to the revision, and nothing else changes it.
//! - COMMON-059 The first revision is 1 for graph nodes and 0 for everything else.
//! - COMMON-060 Workspaces, branches and edges carry a revision, too.
//! - COMMON-061 expected_revision and expected_version may both be given when they are the same; two that differ
//!   are refused with INVALID_INPUT.
//! - COMMON-062 A write that expects nothing is done, whatever the revision.
//! - COMMON-063 An expected revision that is no integer is refused with INVALID_INPUT.
//! - COMMON-064 Of writes that come at once and expect the same revision, one is done; of writes that expect
//!   nothing, all are, one after the other.
//! - COMMON-065 Notes and lists take the knobs of budgets, and what fits into the budget is not cut.
//! - COMMON-066 max_chars is a hard cap, in bytes of UTF-8.
//! - COMMON-067 max_bytes is a cap in bytes.
//! - COMMON-068 max_lines is a cap in lines.
//! - COMMON-069 limit is the number of items that are shown at most, offset the number of those that are passed
//!   over.
//! - COMMON-070 What is cut says so: truncated is true, and budget has used and limit.
//! - COMMON-071 What is not cut does not claim to be.
//! - COMMON-072 Notes are cut from the end, as late as the cap allows, and never inside a character.
//! - COMMON-073 max_lines keeps so many lines from the beginning, with their line ends.
//! - COMMON-074 budget tells the bytes or lines that are shown and the cap that cut them; where nothing is cut,
//!   truncated is false and there is no budget.
//! - COMMON-075 With several knobs the shortest text wins, and budget tells the knob that cut; of two that cut
//!   alike the first of max_chars, max_bytes, max_lines.
//! - COMMON-076 max_chars leaves items of a list out from the end until the list as compact JSON fits; budget tells
//!   its bytes and the cap.
//! - COMMON-077 A list tells total, how many there are in all, and is truncated when items after the last one shown
//!   are left out; budget then tells the items shown and limit.
//! - COMMON-078 limit is 1 to 1000 and 50 if absent, offset is 0 if absent; other limits are refused with
//!   INVALID_INPUT.
//! - COMMON-079 Nodes are listed in the order of the code points of their ids, and steps in the order of their
//!   paths, by number, with a step before those below it.
//! - COMMON-080 A cap that not even the smallest answer fits is refused with BUDGET_EXCEEDED: max_chars below 2 for
//!   a list.
//! - COMMON-081 A knob that is no integer of 0 or more is refused with INVALID_INPUT.
//! - COMMON-082 The code of an error is one of the eleven that the text recommends.
//! - COMMON-083 An error that can be mended by the caller has recovery, a hint for machines.
//! - COMMON-084 An error that can be mended by a call has suggestions.
//! - COMMON-085 NOT_INITIALIZED is the code for what was not set up.
//! - COMMON-086 A well-formed WorkspaceId that was not created is refused with UNKNOWN_WORKSPACE, by every tool
//!   that takes one.
//! - COMMON-087 A well-formed id that names nothing is refused with UNKNOWN_ID.
//! - COMMON-088 A workspace, a branch, a node or an edge that is there already is not made again: CONFLICT.
//! - COMMON-089 A member that a tool does not have is refused with INVALID_INPUT.
//! - COMMON-090 A member that is needed and absent is refused with INVALID_INPUT.
//! - COMMON-091 A member of another kind, or with a value that is not among those that there are, is refused with
//!   INVALID_INPUT.
//! - COMMON-092 A call that is refused changes nothing.
//! - COMMON-093 What was created or patched is what is read: names, title, plan, status, notesBytes, path,
//!   checkpoints, type and props, and no other members.
//! - COMMON-094 A title has 1 to 500 characters.
//! - COMMON-095 A patch changes what it names and nothing else, and one that names nothing is refused.
//! - COMMON-096 A patch of a task that names none means the task in focus, which is of one workspace; without a
//!   focus it is refused.
//! - COMMON-097 A patch whose expected_target_id is not the id of the task that is meant is refused with
//!   EXPECTED_TARGET_MISMATCH.
//! - COMMON-098 With strict_targeting a patch that names no task must have expected_target_id: else
//!   STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID.
//! - COMMON-099 A step whose checkpoints, after the patch, are not both confirmed cannot be done:
//!   CHECKPOINTS_NOT_CONFIRMED.
//! - COMMON-100 The refusal of a closing comes with a suggestion that confirms and closes.
//! - COMMON-101 Checkpoints are criteria and tests, both false at first; a patch may name one, and the other stays.
//! - COMMON-102 A list of tasks that names a plan has the tasks of this plan alone.
//! - COMMON-103 What only the branch that is merged changed is taken over, and merged counts it, nodes and edges.
//! - COMMON-104 What only the other branch changed stays, and so does what both made the same.
//! - COMMON-105 A node that both changed differently is a conflict, and stays as it is until that is resolved.
//! - COMMON-106 A conflict tells its kind, key, branches and status, and the node as it was at the parting, in the
//!   one branch and in the other.
//! - COMMON-107 A merge brings what changed since the last one.
//! - COMMON-108 ours keeps the node, theirs takes over what the merged branch had at the merge; the conflict is
//!   then resolved, and stays in the list.
//! - COMMON-109 A branch keeps the revisions of the nodes that it copies, and a node that a merge takes over is
//!   written like any other.
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
