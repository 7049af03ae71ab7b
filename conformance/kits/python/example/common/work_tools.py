"""The tools of workspaces, plans and tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import kinds
from .budgets import cut_text, page
from .errors import Code, Refusal, quote, suggest
from .kinds import optional
from .store import Plan, Store, Task, Workspace
from .tools import Args, Tool, already_there, check_change, check_revision, find_workspace, unknown_id


def workspaces_create(store: Store, args: Args) -> dict[str, Any]:
    if args["workspace"] in store.workspaces:
        raise already_there(
            f"a workspace {quote(args['workspace'])}",
            "use it, or choose another name",
            suggest("workspaces_list", "all workspaces", {}),
        )
    return {"workspace": store.add_workspace(args["workspace"]).to_json()}


def workspaces_list(store: Store, args: Args) -> dict[str, Any]:
    return page("workspaces_list", args, list(store.workspaces.values()), Workspace.to_json)


def find_plan(workspace: Workspace, plan_id: str) -> Plan:
    plan = workspace.plans.get(plan_id)
    if plan is None:
        plans = suggest("plans_list", "the plans that are there", {"workspace": workspace.id})
        raise unknown_id(f"plan {quote(plan_id)}", "name a plan that plans_list tells", plans)
    return plan


def plans_create(store: Store, args: Args) -> dict[str, Any]:
    return {"plan": find_workspace(store, args).add_plan(args["title"]).to_json()}


def plans_get(store: Store, args: Args) -> dict[str, Any]:
    return {"plan": find_plan(find_workspace(store, args), args["plan"]).to_json()}


def plans_patch(store: Store, args: Args) -> dict[str, Any]:
    workspace = find_workspace(store, args)
    plan = find_plan(workspace, args["plan"])
    fetch = suggest("plans_get", "the plan as it is now", {"workspace": workspace.id, "plan": plan.id})
    check_revision(args, plan.revision, fetch, ("plans_patch", args))
    patched = replace(plan, title=args["title"], revision=plan.revision + 1)
    workspace.put_plan(patched)
    return {"plan": patched.to_json()}


def plans_list(store: Store, args: Args) -> dict[str, Any]:
    return page("plans_list", args, list(find_workspace(store, args).plans.values()), Plan.to_json)


def find_task(workspace: Workspace, task_id: str) -> Task:
    task = workspace.tasks.get(task_id)
    if task is None:
        raise unknown_id(f"task {quote(task_id)}", "name a task that tasks_list tells", _all_tasks(workspace))
    return task


def _all_tasks(workspace: Workspace) -> dict[str, Any]:
    return suggest("tasks_list", "the tasks that are there", {"workspace": workspace.id})


def _fetch_task(workspace: Workspace, task: Task) -> dict[str, Any]:
    return suggest("tasks_get", "the task as it is now", {"workspace": workspace.id, "task": task.id})


def tasks_create(store: Store, args: Args) -> dict[str, Any]:
    workspace = find_workspace(store, args)
    plan = find_plan(workspace, args["plan"])
    return {"task": workspace.add_task(plan, args["title"], args.get("notes", "")).to_json()}


def tasks_get(store: Store, args: Args) -> dict[str, Any]:
    return {"task": find_task(find_workspace(store, args), args["task"]).to_json()}


def tasks_focus(store: Store, args: Args) -> dict[str, Any]:
    workspace = find_workspace(store, args)
    task = find_task(workspace, args["task"])
    workspace.focus = task.id
    return {"task": task.to_json()}


def _target(workspace: Workspace, args: Args) -> Task:
    """The target of a patch, if it matches what the patch expects."""
    task_id = args.get("task", workspace.focus)
    meant = None if task_id is None else find_task(workspace, task_id)
    if "task" not in args and args.get("strict_targeting") and "expected_target_id" not in args:
        raise Refusal(
            Code.STRICT_TARGETING_REQUIRES_EXPECTED_TARGET_ID,
            "with `strict_targeting` a patch without `task` says which task it expects",
            "give `expected_target_id`, or `task`",
            _all_tasks(workspace) if meant is None else _fetch_task(workspace, meant),
        )
    if meant is None:
        raise Refusal(
            Code.INVALID_INPUT,
            "the patch names no task, and none is in focus",
            "give `task`, or call tasks_focus first",
            _all_tasks(workspace),
        )
    expected = args.get("expected_target_id", meant.id)
    if expected != meant.id:
        raise Refusal(
            Code.EXPECTED_TARGET_MISMATCH,
            f"the target is `{meant.id}`, but {quote(expected)} was expected",
            "name the task that you mean in `task`",
            _fetch_task(workspace, meant),
        )
    return meant


def tasks_patch(store: Store, args: Args) -> dict[str, Any]:
    check_change(args, "title", "notes", "status")
    workspace = find_workspace(store, args)
    task = _target(workspace, args)
    # Named explicitly: the focus may move before the client follows the suggestion.
    check_revision(args, task.revision, _fetch_task(workspace, task), ("tasks_patch", {**args, "task": task.id}))
    patched = replace(
        task,
        title=args.get("title", task.title),
        notes=args.get("notes", task.notes),
        status=args.get("status", task.status),
        revision=task.revision + 1,
    )
    workspace.put_task(patched)
    return {"task": patched.to_json()}


def tasks_notes(store: Store, args: Args) -> dict[str, Any]:
    return cut_text(find_task(find_workspace(store, args), args["task"]).notes, args)


def tasks_list(store: Store, args: Args) -> dict[str, Any]:
    workspace = find_workspace(store, args)
    tasks = list(workspace.tasks.values())
    if "plan" in args:
        plan = find_plan(workspace, args["plan"])
        tasks = [task for task in tasks if task.plan == plan.id]
    return page("tasks_list", args, tasks, Task.to_json)


_WORKSPACE = kinds.WORKSPACE
_PATCHED_TASK = (
    optional(kinds.TASK),
    optional(kinds.TITLE),
    optional(kinds.NOTES),
    optional(kinds.STATUS),
    *kinds.EXPECTED,
    optional(kinds.STRICT_TARGETING),
    optional(kinds.EXPECTED_TARGET_ID),
)

TOOLS = (
    Tool("workspaces_create", "Make a workspace.", (_WORKSPACE,), workspaces_create),
    Tool("workspaces_list", "All workspaces, the oldest first.", kinds.PAGE, workspaces_list),
    Tool("plans_create", "Make a plan.", (_WORKSPACE, kinds.TITLE), plans_create),
    Tool("plans_get", "A plan.", (_WORKSPACE, kinds.PLAN), plans_get),
    Tool("plans_patch", "Change a plan's title.", (_WORKSPACE, kinds.PLAN, kinds.TITLE, *kinds.EXPECTED), plans_patch),
    Tool("plans_list", "All plans, the oldest first.", (_WORKSPACE, *kinds.PAGE), plans_list),
    Tool("tasks_create", "Make a task in a plan.", (_WORKSPACE, kinds.PLAN, kinds.TITLE, optional(kinds.NOTES)), tasks_create),
    Tool("tasks_get", "A task, without its notes.", (_WORKSPACE, kinds.TASK), tasks_get),
    Tool("tasks_focus", "Choose the task that patches mean when they name none.", (_WORKSPACE, kinds.TASK), tasks_focus),
    Tool("tasks_patch", "Change a task, or the task in focus.", (_WORKSPACE, *_PATCHED_TASK), tasks_patch),
    Tool("tasks_notes", "A task's notes, cut to a budget.", (_WORKSPACE, kinds.TASK, *kinds.TEXT_KNOBS), tasks_notes),
    Tool("tasks_list", "All tasks, or a plan's, the oldest first.", (_WORKSPACE, optional(kinds.PLAN), *kinds.PAGE), tasks_list),
)
