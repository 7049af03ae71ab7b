//! Plans: what tasks belong to.

use serde_json::{Value, json};

use super::{Call, Outcome, fetch, one, unknown};
use crate::args::Title;
use crate::ids::PlanId;
use crate::names::WorkspaceId;
use crate::records::{Plan, Workspace};
use crate::refusal::Refusal;
use crate::tables::Draft;

/// The plan of this id, and its number.
pub(super) fn find<'d>(
    draft: &'d Draft,
    workspace: &WorkspaceId,
    id: &PlanId,
) -> Result<(u64, &'d Plan), Refusal> {
    let found = id.number().and_then(|number| Some((number, draft.get(workspace, &number)?)));
    found.ok_or_else(|| {
        unknown("plan", id.as_str(), "plans_list", json!({ "workspace": workspace }))
    })
}

/// The workspace's own record, to count in.
pub(super) fn count_in(draft: &Draft, workspace: &WorkspaceId) -> Workspace {
    draft.get::<Workspace>(&(), workspace).cloned().expect("the call's workspace was found before")
}

pub(super) fn create(draft: &mut Draft, call: &Call) -> Outcome {
    let title = call.args.required::<Title>("title")?;
    let workspace = call.workspace(draft)?;
    let mut counts = count_in(draft, &workspace);
    counts.plans += 1;
    let number = counts.plans;
    let plan = Plan { title: title.0, revision: 0 };
    let view = plan.view(number);
    draft.put(&(), &workspace, counts);
    draft.put(&workspace, &number, plan);
    Ok(one("plan", view))
}

pub(super) fn get(draft: &mut Draft, call: &Call) -> Outcome {
    let workspace = call.workspace(draft)?;
    let (number, plan) = find(draft, &workspace, &call.args.required("plan")?)?;
    Ok(one("plan", plan.view(number)))
}

pub(super) fn patch(draft: &mut Draft, call: &Call) -> Outcome {
    let expected = call.expected()?;
    let title = call.args.required::<Title>("title")?;
    let workspace = call.workspace(draft)?;
    let id: PlanId = call.args.required("plan")?;
    let (number, plan) = find(draft, &workspace, &id)?;
    let now = fetch("plans_get", json!({ "workspace": workspace, "plan": id }));
    call.check_revision(expected, plan.revision, now)?;
    let plan = Plan { title: title.0, revision: plan.revision + 1 };
    let view: Value = plan.view(number);
    draft.put(&workspace, &number, plan);
    Ok(one("plan", view))
}

pub(super) fn list(draft: &mut Draft, call: &Call) -> Outcome {
    let workspace = call.workspace(draft)?;
    call.list(draft.rows::<Plan>(&workspace), |(number, plan)| plan.view(*number))
}
