"""The server's state: workspaces, and in each its plans, tasks, steps and graph.

Entities are never changed, only replaced: a call that is refused half-way has left nothing behind.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from . import ids
from .graph import Graph
from .room import DEFAULT_CAPACITY, Room, weight
from .text import utf8_length


@dataclass(frozen=True)
class Plan:
    id: str
    title: str
    revision: int = 0

    @property
    def weight(self) -> int:
        return weight(self.title)

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "title": self.title, "revision": self.revision}


@dataclass(frozen=True)
class Task:
    id: str
    plan: str
    title: str
    notes: str
    status: str = "open"
    revision: int = 0

    @property
    def weight(self) -> int:
        return weight(self.title, self.notes)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "plan": self.plan,
            "title": self.title,
            "status": self.status,
            "notesBytes": utf8_length(self.notes),
            "revision": self.revision,
        }


@dataclass(frozen=True)
class Step:
    id: str
    task: str
    path: ids.Path
    title: str
    status: str = "open"
    criteria: bool = False
    tests: bool = False
    revision: int = 0

    @property
    def confirmed(self) -> bool:
        return self.criteria and self.tests

    @property
    def weight(self) -> int:
        return weight(self.title) + 16 * len(self.path)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "task": self.task,
            "path": ids.write_path(self.path),
            "title": self.title,
            "status": self.status,
            "checkpoints": {"criteria": self.criteria, "tests": self.tests},
            "revision": self.revision,
        }


class Workspace:
    """Ids are valid only in their workspace."""

    def __init__(self, workspace_id: str, room: Room) -> None:
        self.id = workspace_id
        self.revision = 0
        self.plans: dict[str, Plan] = {}
        self.tasks: dict[str, Task] = {}
        self.focus: str | None = None
        self.graph = Graph(workspace_id, room)
        self._room = room
        self._steps: dict[str, Step] = {}
        self._step_ids: dict[str, dict[ids.Path, str]] = {}
        self._children: Counter[tuple[str, ids.Path]] = Counter()

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "revision": self.revision}

    def add_plan(self, title: str) -> Plan:
        plan = Plan(ids.make_plan_id(len(self.plans) + 1), title)
        self.put_plan(plan)
        return plan

    def put_plan(self, plan: Plan) -> None:
        self._make_room(plan, self.plans.get(plan.id))
        self.plans[plan.id] = plan

    def add_task(self, plan: Plan, title: str, notes: str) -> Task:
        task = Task(ids.make_task_id(len(self.tasks) + 1), plan.id, title, notes)
        self.put_task(task)
        self._step_ids[task.id] = {}
        return task

    def put_task(self, task: Task) -> None:
        self._make_room(task, self.tasks.get(task.id))
        self.tasks[task.id] = task

    def add_step(self, task: Task, parent: ids.Path, title: str) -> Step:
        """`parent` is the path of an existing step, or empty for a top-level step."""
        path = (*parent, self._children[task.id, parent])
        step = Step(ids.make_step_id(len(self._steps) + 1), task.id, path, title)
        self.put_step(step)
        self._step_ids[task.id][path] = step.id
        self._children[task.id, parent] += 1
        return step

    def put_step(self, step: Step) -> None:
        self._make_room(step, self._steps.get(step.id))
        self._steps[step.id] = step

    def step(self, task: Task, step_id: str) -> Step | None:
        step = self._steps.get(step_id)
        return step if step is not None and step.task == task.id else None

    def step_at(self, task: Task, path: ids.Path) -> Step | None:
        step_id = self._step_ids[task.id].get(path)
        return None if step_id is None else self._steps[step_id]

    def steps(self, task: Task) -> list[Step]:
        """In the order of their paths: a step, what is below it, the next step."""
        return [self._steps[step_id] for _, step_id in sorted(self._step_ids[task.id].items())]

    def _make_room(self, entity: Plan | Task | Step, replaced: Plan | Task | Step | None) -> None:
        self._room.take(entity.weight - (0 if replaced is None else replaced.weight))


class Store:
    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self.workspaces: dict[str, Workspace] = {}
        self._room = Room(capacity)

    def add_workspace(self, workspace_id: str) -> Workspace:
        self._room.take(_EMPTY_WORKSPACE)
        workspace = self.workspaces[workspace_id] = Workspace(workspace_id, self._room)
        return workspace


_EMPTY_WORKSPACE = 4096
