//! The stored records, one for each entity, and their JSON forms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ids::{ConflictId, PlanId, StepId, StepPath, TaskId};
use crate::names::{BranchName, GraphNodeId, GraphRel, GraphType, WorkspaceId};

/// Whether something is still to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Open,
    Done,
}

/// A workspace with its counters. The counters and the focus are not shown, so they do not change its revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Workspace {
    pub(crate) revision: u64,
    pub(crate) plans: u64,
    pub(crate) tasks: u64,
    pub(crate) steps: u64,
    pub(crate) focus: Option<u64>,
}

impl Workspace {
    pub(crate) fn view(&self, id: &WorkspaceId) -> Value {
        json!({ "id": id, "revision": self.revision })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) title: String,
    pub(crate) revision: u64,
}

impl Plan {
    pub(crate) fn view(&self, number: u64) -> Value {
        json!({ "id": PlanId::of(number), "title": self.title, "revision": self.revision })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) plan: u64,
    pub(crate) title: String,
    pub(crate) status: Status,
    pub(crate) notes: String,
    pub(crate) revision: u64,
    /// The number of direct child steps.
    pub(crate) children: u64,
}

impl Task {
    pub(crate) fn view(&self, number: u64) -> Value {
        json!({
            "id": TaskId::of(number),
            "plan": PlanId::of(self.plan),
            "title": self.title,
            "status": self.status,
            "notesBytes": self.notes.len(),
            "revision": self.revision,
        })
    }
}

/// What must be confirmed before a step is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoints {
    pub(crate) criteria: bool,
    pub(crate) tests: bool,
}

impl Checkpoints {
    pub(crate) const CONFIRMED: Self = Self { criteria: true, tests: true };
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) status: Status,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) revision: u64,
    /// The number of direct child steps.
    pub(crate) children: u64,
}

impl Step {
    pub(crate) fn view(&self, task: u64, path: &[u64]) -> Value {
        json!({
            "id": StepId::of(self.number),
            "task": TaskId::of(task),
            "path": StepPath::of(path),
            "title": self.title,
            "status": self.status,
            "checkpoints": self.checkpoints,
            "revision": self.revision,
        })
    }
}

/// The place of step number `number`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepPlace {
    pub(crate) task: u64,
    pub(crate) path: Vec<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Branch {
    pub(crate) revision: u64,
}

impl Branch {
    pub(crate) fn view(&self, name: &BranchName) -> Value {
        json!({ "id": name, "revision": self.revision })
    }
}

/// The content of a node. Merges compare only this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    #[serde(rename = "type")]
    pub(crate) kind: GraphType,
    pub(crate) props: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Node {
    #[serde(flatten)]
    pub(crate) content: Content,
    pub(crate) revision: u64,
}

impl Node {
    pub(crate) fn view(&self, id: &GraphNodeId) -> Value {
        json!({
            "id": id,
            "type": self.content.kind,
            "props": self.content.props,
            "revision": self.revision,
        })
    }
}

/// The key of an edge in a branch, in listing order.
pub(crate) type EdgeName = (GraphNodeId, GraphRel, GraphNodeId);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Edge {
    pub(crate) revision: u64,
}

impl Edge {
    pub(crate) fn view(&self, (from, rel, to): &EdgeName) -> Value {
        json!({ "from": from, "rel": rel, "to": to, "revision": self.revision })
    }
}

/// A node at the time two branches parted, or were last merged. See `merge`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Base {
    pub(crate) content: Option<Content>,
    /// Its revision in each of the two, 0 if it did not exist.
    pub(crate) revisions: BTreeMap<BranchName, u64>,
}

impl Base {
    pub(crate) fn revision_in(&self, branch: &BranchName) -> u64 {
        self.revisions.get(branch).copied().unwrap_or(0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ConflictStatus {
    Open,
    Resolved,
}

/// A node that two branches changed differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Conflict {
    pub(crate) key: GraphNodeId,
    pub(crate) from: BranchName,
    pub(crate) into: BranchName,
    pub(crate) status: ConflictStatus,
    pub(crate) base: Option<Content>,
    pub(crate) ours: Option<Content>,
    pub(crate) theirs: Option<Content>,
    pub(crate) revision: u64,
    /// The revisions in `from`: of `base` and of `theirs`.
    pub(crate) base_revision: u64,
    pub(crate) theirs_revision: u64,
}

impl Conflict {
    pub(crate) fn view(&self, id: &ConflictId) -> Value {
        json!({
            "id": id,
            "kind": "node",
            "key": self.key,
            "from": self.from,
            "into": self.into,
            "status": self.status,
            "base": self.base,
            "ours": self.ours,
            "theirs": self.theirs,
            "revision": self.revision,
        })
    }
}
