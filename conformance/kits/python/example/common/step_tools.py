"""The tools of steps: a step is closed when its checkpoints are confirmed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import ids, kinds
from .budgets import page
from .errors import Code, Refusal, invalid, quote, suggest
from .kinds import optional
from .store import Step, Store, Task, Workspace
from .tools import Args, Tool, check_change, check_revision, find_workspace, unknown_id
from .work_tools import find_task


def _unknown_step(workspace: Workspace, task: Task, which: str) -> Refusal:
    steps = suggest("steps_list", "the task's steps", {"workspace": workspace.id, "task": task.id})
    return unknown_id(f"step {which} in `{task.id}`", "name a step that steps_list tells", steps)


def _step_at(workspace: Workspace, task: Task, path: ids.Path) -> Step:
    step = workspace.step_at(task, path)
    if step is None:
        raise _unknown_step(workspace, task, "at this path")
    return step


def _check_address(args: Args) -> None:
    if ("step" in args) == ("path" in args):
        raise invalid("a step is named by `step` or by `path`", "give one of the two")


def _find_step(workspace: Workspace, args: Args) -> Step:
    task = find_task(workspace, args["task"])
    if "path" in args:
        return _step_at(workspace, task, args["path"])
    step = workspace.step(task, args["step"])
    if step is None:
        raise _unknown_step(workspace, task, quote(args["step"]))
    return step


def steps_create(store: Store, args: Args) -> dict[str, Any]:
    workspace = find_workspace(store, args)
    task = find_task(workspace, args["task"])
    parent = _step_at(workspace, task, args["parent"]).path if "parent" in args else ()
    return {"step": workspace.add_step(task, parent, args["title"]).to_json()}


def steps_get(store: Store, args: Args) -> dict[str, Any]:
    _check_address(args)
    return {"step": _find_step(find_workspace(store, args), args).to_json()}


def steps_patch(store: Store, args: Args) -> dict[str, Any]:
    _check_address(args)
    check_change(args, "title", "status", "checkpoints")
    workspace = find_workspace(store, args)
    step = _find_step(workspace, args)
    checkpoints = args.get("checkpoints", {})
    patched = replace(
        step,
        title=args.get("title", step.title),
        status=args.get("status", step.status),
        criteria=checkpoints.get("criteria", step.criteria),
        tests=checkpoints.get("tests", step.tests),
        revision=step.revision + 1,
    )
    closable = patched.status != "done" or patched.confirmed
    fetch = suggest("steps_get", "the step as it is now", {"workspace": workspace.id, "task": step.task, "step": step.id})
    # By id: a parsed path keeps only its indexes.
    same = {name: value for name, value in args.items() if name != "path"} | {"step": step.id}
    check_revision(args, step.revision, fetch, ("steps_patch", same) if closable else None)
    if not closable:
        confirmed = {**same, "checkpoints": {"criteria": True, "tests": True}, "status": "done"}
        raise Refusal(
            Code.CHECKPOINTS_NOT_CONFIRMED,
            f"step `{step.id}` cannot be done before its checkpoints `criteria` and `tests` are confirmed",
            "confirm both in `checkpoints`; it can be the same patch",
            suggest("steps_patch", "confirm the checkpoints and close the step", confirmed, "high"),
        )
    workspace.put_step(patched)
    return {"step": patched.to_json()}


def steps_list(store: Store, args: Args) -> dict[str, Any]:
    workspace = find_workspace(store, args)
    return page("steps_list", args, workspace.steps(find_task(workspace, args["task"])), Step.to_json)


_TASK = (kinds.WORKSPACE, kinds.TASK)
_ADDRESS = (*_TASK, optional(kinds.STEP), optional(kinds.PATH))
_PATCHED = (optional(kinds.TITLE), optional(kinds.STATUS), optional(kinds.CHECKPOINTS), *kinds.EXPECTED)

TOOLS = (
    Tool("steps_create", "Make a step of a task, or below another step.", (*_TASK, kinds.TITLE, optional(kinds.PARENT)), steps_create),
    Tool("steps_get", "A step, by `step` or by `path`.", _ADDRESS, steps_get),
    Tool("steps_patch", "Change a step, named by `step` or by `path`.", (*_ADDRESS, *_PATCHED), steps_patch),
    Tool("steps_list", "A task's steps in the order of their paths.", (*_TASK, *kinds.PAGE), steps_list),
)
