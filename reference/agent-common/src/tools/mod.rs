//! The tools: their arguments, and their effect on a draft.
//!
//! A tool checks its arguments, then the things that they name, then the expected revision, then the rules of its
//! change. It reports the first fault.

mod call;
mod graph;
mod merge;
mod plans;
mod steps;
mod tasks;
mod workspaces;

use serde_json::Value;

use crate::args::{Args, Confirm, Limit, Member, Props, Take, Title, optional, required};
use crate::ids::{ConflictId, PlanId, StepId, StepPath, TaskId};
use crate::names::{BranchName, GraphNodeId, GraphRel, GraphType, WorkspaceId};
use crate::records::Status;
use crate::tables::Draft;

pub(crate) use call::Outcome;
use call::{Call, fetch, one, unknown};

pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) members: &'static [Member],
    act: fn(&mut Draft, &Call) -> Outcome,
}

impl Tool {
    /// The tool of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Runs the tool on a draft. After a refusal, drop the draft.
    pub(crate) fn run(&self, draft: &mut Draft, arguments: &Value) -> Outcome {
        let args = Args::check(self.members, arguments)?;
        (self.act)(draft, &Call { tool: self.name, args })
    }
}

const WORKSPACE: Member = required::<WorkspaceId>("workspace");
const BRANCH: Member = optional::<BranchName>("branch");
const LIMIT: Member = optional::<Limit>("limit");
const OFFSET: Member = optional::<u64>("offset");
const MAX_CHARS: Member = optional::<u64>("max_chars");
const EXPECTED_REVISION: Member = optional::<u64>("expected_revision");
const EXPECTED_VERSION: Member = optional::<u64>("expected_version");

macro_rules! tool {
    ($name:literal, $act:path, [$($member:expr),*], $about:literal) => {
        Tool { name: $name, about: $about, members: &[$($member),*], act: $act }
    };
}

/// Every tool, in listing order.
pub(crate) static TOOLS: &[Tool] = &[
    tool!("workspaces_create", workspaces::create, [WORKSPACE], "Make a workspace."),
    tool!("workspaces_list", workspaces::list, [LIMIT, OFFSET, MAX_CHARS], "List the workspaces."),
    tool!("plans_create", plans::create, [WORKSPACE, required::<Title>("title")], "Make a plan."),
    tool!("plans_get", plans::get, [WORKSPACE, required::<PlanId>("plan")], "Show a plan."),
    tool!(
        "plans_patch",
        plans::patch,
        [
            WORKSPACE,
            required::<PlanId>("plan"),
            required::<Title>("title"),
            EXPECTED_REVISION,
            EXPECTED_VERSION
        ],
        "Change the title of a plan."
    ),
    tool!(
        "plans_list",
        plans::list,
        [WORKSPACE, LIMIT, OFFSET, MAX_CHARS],
        "List the plans of a workspace, oldest first."
    ),
    tool!(
        "tasks_create",
        tasks::create,
        [
            WORKSPACE,
            required::<PlanId>("plan"),
            required::<Title>("title"),
            optional::<String>("notes")
        ],
        "Make a task of a plan."
    ),
    tool!("tasks_get", tasks::get, [WORKSPACE, required::<TaskId>("task")], "Show a task."),
    tool!(
        "tasks_focus",
        tasks::focus,
        [WORKSPACE, required::<TaskId>("task")],
        "Make a task the one that patches mean when they name none."
    ),
    tool!(
        "tasks_patch",
        tasks::patch,
        [
            WORKSPACE,
            optional::<TaskId>("task"),
            optional::<Title>("title"),
            optional::<String>("notes"),
            optional::<Status>("status"),
            EXPECTED_REVISION,
            EXPECTED_VERSION,
            optional::<bool>("strict_targeting"),
            optional::<TaskId>("expected_target_id")
        ],
        "Change the title, the notes or the status of a task: the one that is named, or the one in focus."
    ),
    tool!(
        "tasks_notes",
        tasks::notes,
        [
            WORKSPACE,
            required::<TaskId>("task"),
            MAX_CHARS,
            optional::<u64>("max_bytes"),
            optional::<u64>("max_lines")
        ],
        "Read the notes of a task, or their beginning. max_chars and max_bytes count bytes of UTF-8."
    ),
    tool!(
        "tasks_list",
        tasks::list,
        [WORKSPACE, optional::<PlanId>("plan"), LIMIT, OFFSET, MAX_CHARS],
        "List the tasks of a workspace or of one plan, oldest first."
    ),
    tool!(
        "steps_create",
        steps::create,
        [
            WORKSPACE,
            required::<TaskId>("task"),
            required::<Title>("title"),
            optional::<StepPath>("parent")
        ],
        "Make a step of a task, or below another step."
    ),
    tool!(
        "steps_get",
        steps::get,
        [
            WORKSPACE,
            required::<TaskId>("task"),
            optional::<StepId>("step"),
            optional::<StepPath>("path")
        ],
        "Show a step, named by its id or by its path."
    ),
    tool!(
        "steps_patch",
        steps::patch,
        [
            WORKSPACE,
            required::<TaskId>("task"),
            optional::<StepId>("step"),
            optional::<StepPath>("path"),
            optional::<Title>("title"),
            optional::<Status>("status"),
            optional::<Confirm>("checkpoints"),
            EXPECTED_REVISION,
            EXPECTED_VERSION
        ],
        "Change a step, named by its id or by its path. It can be done when both checkpoints are true."
    ),
    tool!(
        "steps_list",
        steps::list,
        [WORKSPACE, required::<TaskId>("task"), LIMIT, OFFSET, MAX_CHARS],
        "List the steps of a task, in the order of their paths."
    ),
    tool!(
        "graph_branch_create",
        graph::create_branch,
        [WORKSPACE, required::<BranchName>("branch"), optional::<BranchName>("from")],
        "Make a branch of the graph: a copy of another one, of `main` if none is named."
    ),
    tool!(
        "graph_node_create",
        graph::create_node,
        [
            WORKSPACE,
            BRANCH,
            required::<GraphNodeId>("node"),
            required::<GraphType>("type"),
            optional::<Props>("props")
        ],
        "Make a node."
    ),
    tool!(
        "graph_node_get",
        graph::get_node,
        [WORKSPACE, BRANCH, required::<GraphNodeId>("node")],
        "Show a node."
    ),
    tool!(
        "graph_node_patch",
        graph::patch_node,
        [
            WORKSPACE,
            BRANCH,
            required::<GraphNodeId>("node"),
            optional::<GraphType>("type"),
            optional::<Props>("props"),
            EXPECTED_REVISION,
            EXPECTED_VERSION
        ],
        "Change the type or the properties of a node. Properties are replaced as a whole."
    ),
    tool!(
        "graph_node_list",
        graph::list_nodes,
        [WORKSPACE, BRANCH, LIMIT, OFFSET, MAX_CHARS],
        "List the nodes of a branch, in the order of their ids."
    ),
    tool!(
        "graph_edge_create",
        graph::create_edge,
        [
            WORKSPACE,
            BRANCH,
            required::<GraphNodeId>("from"),
            required::<GraphRel>("rel"),
            required::<GraphNodeId>("to")
        ],
        "Make an edge between two nodes."
    ),
    tool!(
        "graph_edge_list",
        graph::list_edges,
        [WORKSPACE, BRANCH, LIMIT, OFFSET, MAX_CHARS],
        "List the edges of a branch."
    ),
    tool!(
        "graph_merge",
        merge::merge,
        [WORKSPACE, required::<BranchName>("from"), required::<BranchName>("into")],
        "Bring what changed in one branch into another. What both changed differently is a conflict."
    ),
    tool!(
        "graph_conflict_get",
        merge::get,
        [WORKSPACE, required::<ConflictId>("conflict")],
        "Show a conflict."
    ),
    tool!(
        "graph_conflict_resolve",
        merge::resolve,
        [
            WORKSPACE,
            required::<ConflictId>("conflict"),
            required::<Take>("take"),
            EXPECTED_REVISION,
            EXPECTED_VERSION
        ],
        "Settle a conflict: keep what is there (ours), or take over what the other branch had (theirs)."
    ),
    tool!(
        "graph_conflict_list",
        merge::list,
        [WORKSPACE, LIMIT, OFFSET, MAX_CHARS],
        "List the conflicts of a workspace, those that are resolved too."
    ),
];
