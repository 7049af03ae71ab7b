//! Tasks: found by id or by the focus, and their notes.

use serde_json::{Map, json};

use super::{Call, Outcome, fetch, one, plans, unknown};
use crate::args::{Title, quoted};
use crate::budget::TextBudget;
use crate::ids::TaskId;
use crate::names::WorkspaceId;
use crate::records::{Status, Task};
use crate::refusal::{Code, Priority, Proposal, Refusal};
use crate::tables::Draft;

/// The task of this id, and its number.
pub(super) fn find<'d>(
    draft: &'d Draft,
    workspace: &WorkspaceId,
    id: &TaskId,
) -> Result<(u64, &'d Task), Refusal> {
    let found = id.number().and_then(|number| Some((number, draft.get(workspace, &number)?)));
    found.ok_or_else(|| {
        unknown("task", id.as_str(), "tasks_list", json!({ "workspace": workspace }))
    })
}

pub(super) fn create(draft: &mut Draft, call: &Call) -> Outcome {
    let title = call.args.required::<Title>("title")?;
    let notes = call.args.optional("notes")?.unwrap_or_default();
    let workspace = call.workspace(draft)?;
    let (plan, _) = plans::find(draft, &workspace, &call.args.required("plan")?)?;
    let mut counts = plans::count_in(draft, &workspace);
    counts.tasks += 1;
    let number = counts.tasks;
    let task = Task { plan, title: title.0, status: Status::Open, notes, revision: 0, children: 0 };
    let view = task.view(number);
    draft.put(&(), &workspace, counts);
    draft.put(&workspace, &number, task);
    Ok(one("task", view))
}

pub(super) fn get(draft: &mut Draft, call: &Call) -> Outcome {
    let workspace = call.workspace(draft)?;
    let (number, task) = find(draft, &workspace, &call.args.required("task")?)?;
    Ok(one("task", task.view(number)))
}

/// The focus belongs to the workspace; the task is not written.
pub(super) fn focus(draft: &mut Draft, call: &Call) -> Outcome {
    let workspace = call.workspace(draft)?;
    let (number, task) = find(draft, &workspace, &call.args.required("task")?)?;
    let view = task.view(number);
    let mut record = plans::count_in(draft, &workspace);
    record.focus = Some(number);
    draft.put(&(), &workspace, record);
    Ok(one("task", view))
}

pub(super) fn patch(draft: &mut Draft, call: &Call) -> Outcome {
    let expected = call.expected()?;
    let title = call.args.optional::<Title>("title")?;
    let notes = call.args.optional("notes")?;
    let status = call.args.optional("status")?;
    call.changes_one_of(&["title", "notes", "status"])?;
    let workspace = call.workspace(draft)?;
    let id = target(draft, call, &workspace)?;
    let (number, task) = find(draft, &workspace, &id)?;
    let now = fetch("tasks_get", json!({ "workspace": workspace, "task": id }));
    call.check_revision(expected, task.revision, now)?;
    let mut task = task.clone();
    if let Some(title) = title {
        task.title = title.0;
    }
    if let Some(notes) = notes {
        task.notes = notes;
    }
    if let Some(status) = status {
        task.status = status;
    }
    task.revision += 1;
    let view = task.view(number);
    draft.put(&workspace, &number, task);
    Ok(one("task", view))
}

/// The target task of a patch.
fn target(draft: &Draft, call: &Call, workspace: &WorkspaceId) -> Result<TaskId, Refusal> {
    let named: Option<TaskId> = call.args.optional("task")?;
    let expected: Option<TaskId> = call.args.optional("expected_target_id")?;
    let strict = call.args.optional("strict_targeting")?.unwrap_or(false);
    let focus = plans::count_in(draft, workspace).focus.map(TaskId::of);
    let list = Proposal::new(
        Priority::Low,
        "tasks_list",
        json!({ "workspace": workspace }),
        "See which tasks there are",
    );
    if strict && named.is_none() && expected.is_none() {
        let refusal = Refusal::new(
            Code::StrictTargetingRequiresExpectedTargetId,
            "a strict patch that names no task must say which one it expects",
            "add `expected_target_id`, or name the `task`",
        );
        let in_focus = focus.map(|focus| {
            let reason = "The same patch, if the task in focus is the one that is meant";
            call.again(Priority::High, [("expected_target_id", json!(focus))], reason)
        });
        return Err(in_focus.into_iter().chain([list]).fold(refusal, Refusal::with));
    }
    let Some(meant) = named.or(focus) else {
        let mut refusal = Refusal::invalid_input("no `task` is named, and none is in focus");
        refusal.recovery = "name the `task`, or call tasks_focus first";
        return Err(refusal.with(list));
    };
    find(draft, workspace, &meant)?;
    match expected {
        Some(expected) if expected != meant => Err(Refusal::new(
            Code::ExpectedTargetMismatch,
            format!(
                "the patch would change `{meant}`, and `{}` is expected",
                quoted(expected.as_str())
            ),
            "name the `task` that is meant",
        )
        .with(call.again(
            Priority::High,
            [("task", json!(expected))],
            "The same patch, of the task that is expected",
        ))
        .with(fetch("tasks_get", json!({ "workspace": workspace, "task": meant })))
        .with(list)),
        _ => Ok(meant),
    }
}

pub(super) fn notes(draft: &mut Draft, call: &Call) -> Outcome {
    let budget = TextBudget {
        max_chars: call.args.optional("max_chars")?,
        max_bytes: call.args.optional("max_bytes")?,
        max_lines: call.args.optional("max_lines")?,
    };
    let workspace = call.workspace(draft)?;
    let (_, task) = find(draft, &workspace, &call.args.required("task")?)?;
    let (text, cut_by) = budget.apply(&task.notes);
    let mut result = Map::new();
    result.insert("text".to_owned(), text.into());
    result.insert("truncated".to_owned(), cut_by.is_some().into());
    if let Some(budget) = cut_by {
        result.insert("budget".to_owned(), json!(budget));
    }
    Ok(result)
}

pub(super) fn list(draft: &mut Draft, call: &Call) -> Outcome {
    let workspace = call.workspace(draft)?;
    let plan = match call.args.optional("plan")? {
        Some(id) => Some(plans::find(draft, &workspace, &id)?.0),
        None => None,
    };
    let asked = |(_, task): &(&u64, &Task)| plan.is_none_or(|plan| task.plan == plan);
    let tasks = draft.rows::<Task>(&workspace).filter(asked);
    call.list(tasks, |(number, task)| task.view(*number))
}
