//! Steps: a tree below each task, and the checkpoints that must be confirmed before one is done.

use serde_json::{Map, Value, json};

use super::{Call, Outcome, fetch, one, plans, tasks, unknown};
use crate::args::{Confirm, Title};
use crate::ids::{StepId, StepPath, TaskId};
use crate::names::WorkspaceId;
use crate::records::{Checkpoints, Status, Step, StepPlace};
use crate::refusal::{Code, Priority, Refusal};
use crate::tables::Draft;

/// How a call names a step.
enum Which {
    Id(StepId),
    Path(StepPath),
}

impl Which {
    fn of(call: &Call) -> Result<Self, Refusal> {
        match (call.args.optional("step")?, call.args.optional("path")?) {
            (Some(id), None) => Ok(Self::Id(id)),
            (None, Some(path)) => Ok(Self::Path(path)),
            _ => {
                Err(Refusal::invalid_input("one of `step` and `path` must be named, and not both"))
            }
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Id(id) => id.as_str(),
            Self::Path(path) => path.as_str(),
        }
    }

    /// Where it stands in `task`, if it does.
    fn place(&self, draft: &Draft, workspace: &WorkspaceId, task: u64) -> Option<Vec<u64>> {
        match self {
            Self::Id(id) => {
                let place = draft.get::<StepPlace>(workspace, &id.number()?)?;
                (place.task == task).then(|| place.path.clone())
            }
            Self::Path(path) => path.indexes(),
        }
    }
}

/// A step and where it was found.
struct Found<'d> {
    task: u64,
    path: Vec<u64>,
    step: &'d Step,
}

fn find<'d>(
    draft: &'d Draft,
    workspace: &WorkspaceId,
    task: &TaskId,
    which: &Which,
) -> Result<Found<'d>, Refusal> {
    let (number, _) = tasks::find(draft, workspace, task)?;
    let found = which.place(draft, workspace, number).and_then(|path| {
        let step = draft.get(&(workspace.clone(), number), &path)?;
        Some(Found { task: number, path, step })
    });
    found.ok_or_else(|| {
        let params = json!({ "workspace": workspace, "task": task });
        unknown("step", which.text(), "steps_list", params)
    })
}

pub(super) fn create(draft: &mut Draft, call: &Call) -> Outcome {
    let title = call.args.required::<Title>("title")?;
    let parent: Option<StepPath> = call.args.optional("parent")?;
    let workspace = call.workspace(draft)?;
    let id: TaskId = call.args.required("task")?;
    let (task, record) = tasks::find(draft, &workspace, &id)?;
    let scope = (workspace.clone(), task);
    // The parent counts its children; that is not a write to it.
    let path = match parent {
        None => {
            let mut record = record.clone();
            let index = record.children;
            record.children += 1;
            draft.put(&workspace, &task, record);
            vec![index]
        }
        Some(parent) => {
            let above = find(draft, &workspace, &id, &Which::Path(parent))?;
            let mut step = above.step.clone();
            let mut path = above.path;
            let index = step.children;
            step.children += 1;
            draft.put(&scope, &path, step);
            path.push(index);
            path
        }
    };
    let mut counts = plans::count_in(draft, &workspace);
    counts.steps += 1;
    let step = Step {
        number: counts.steps,
        title: title.0,
        status: Status::Open,
        checkpoints: Checkpoints::default(),
        revision: 0,
        children: 0,
    };
    let view = step.view(task, &path);
    draft.put(&workspace, &step.number, StepPlace { task, path: path.clone() });
    draft.put(&(), &workspace, counts);
    draft.put(&scope, &path, step);
    Ok(one("step", view))
}

pub(super) fn get(draft: &mut Draft, call: &Call) -> Outcome {
    let which = Which::of(call)?;
    let workspace = call.workspace(draft)?;
    let found = find(draft, &workspace, &call.args.required("task")?, &which)?;
    Ok(one("step", found.step.view(found.task, &found.path)))
}

pub(super) fn patch(draft: &mut Draft, call: &Call) -> Outcome {
    let expected = call.expected()?;
    let which = Which::of(call)?;
    let title = call.args.optional::<Title>("title")?;
    let status = call.args.optional("status")?;
    let confirm = call.args.optional::<Confirm>("checkpoints")?;
    call.changes_one_of(&["title", "status", "checkpoints"])?;
    let workspace = call.workspace(draft)?;
    let id: TaskId = call.args.required("task")?;
    let Found { task, path, step } = find(draft, &workspace, &id, &which)?;
    call.check_revision(expected, step.revision, fetch("steps_get", naming(call)))?;
    let mut step = step.clone();
    if let Some(title) = title {
        step.title = title.0;
    }
    if let Some(status) = status {
        step.status = status;
    }
    if let Some(confirm) = confirm {
        let now = &mut step.checkpoints;
        now.criteria = confirm.criteria.unwrap_or(now.criteria);
        now.tests = confirm.tests.unwrap_or(now.tests);
    }
    if step.status == Status::Done && step.checkpoints != Checkpoints::CONFIRMED {
        return Err(not_confirmed(call, &step.checkpoints));
    }
    step.revision += 1;
    let view = step.view(task, &path);
    draft.put(&(workspace, task), &path, step);
    Ok(one("step", view))
}

fn not_confirmed(call: &Call, checkpoints: &Checkpoints) -> Refusal {
    let missing = match (checkpoints.criteria, checkpoints.tests) {
        (false, false) => "`criteria` and `tests` are",
        (false, true) => "`criteria` is",
        _ => "`tests` is",
    };
    Refusal::new(
        Code::CheckpointsNotConfirmed,
        format!("a step is done when its checkpoints are confirmed, and {missing} not"),
        "confirm both checkpoints, then close the step",
    )
    .with(call.again(
        Priority::High,
        [("checkpoints", json!(Checkpoints::CONFIRMED)), ("status", json!(Status::Done))],
        "Confirm both checkpoints and close the step",
    ))
}

/// The members of `call` that name its step.
fn naming(call: &Call) -> Value {
    let given = call.args.as_given();
    let named = ["workspace", "task", "step", "path"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), given.get(name)?.clone())));
    Value::Object(Map::from_iter(named))
}

pub(super) fn list(draft: &mut Draft, call: &Call) -> Outcome {
    let workspace = call.workspace(draft)?;
    let (task, _) = tasks::find(draft, &workspace, &call.args.required("task")?)?;
    let steps = draft.rows::<Step>(&(workspace, task));
    call.list(steps, |(path, step)| step.view(task, path))
}
