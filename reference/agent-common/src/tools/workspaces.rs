//! Workspaces: each has plans, tasks, steps and a graph of its own.

use serde_json::json;

use super::{Call, Outcome, one};
use crate::names::{BranchName, WorkspaceId};
use crate::records::{Branch, Workspace};
use crate::refusal::{Code, Priority, Proposal, Refusal};
use crate::tables::Draft;

pub(super) fn create(draft: &mut Draft, call: &Call) -> Outcome {
    let id: WorkspaceId = call.args.required("workspace")?;
    if draft.get::<Workspace>(&(), &id).is_some() {
        let message = format!("workspace `{id}` is there already");
        return Err(Refusal::new(Code::Conflict, message, "use it, or choose another id").with(
            Proposal::new(
                Priority::Medium,
                "plans_list",
                json!({ "workspace": id }),
                "See what is in it",
            ),
        ));
    }
    let workspace = Workspace::default();
    let view = workspace.view(&id);
    draft.put(&(), &id, workspace);
    draft.put(&id, &BranchName::main(), Branch::default());
    Ok(one("workspace", view))
}

pub(super) fn list(draft: &mut Draft, call: &Call) -> Outcome {
    call.list(draft.rows::<Workspace>(&()), |(id, workspace)| workspace.view(id))
}
