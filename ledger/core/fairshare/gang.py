"""Gangs: how many of its tasks a job needs before any of them is worth starting.

A task is *ready* when it has a place or is done. Best-effort tasks, which ask for nothing, count as
ready while they wait, since nothing but a pod slot can be in their way. A job is

``ready``       with at least ``gang_min`` ready tasks
``pipelined``   if it will be once its pipelined tasks, which wait for room that is being freed, start
``starving``    if even then it lacks tasks, best-effort ones that wait not counted
``valid``       if it has tasks enough to be ready at all
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

TaskStatus = Literal[
    "pending",
    "pipelined",
    "allocated",
    "binding",
    "bound",
    "running",
    "releasing",
    "succeeded",
    "failed",
]
"""The life of a task, in Volcano's words."""

READY: Final[frozenset[TaskStatus]] = frozenset(
    {"allocated", "binding", "bound", "running", "succeeded"}
)
HOLDING: Final[frozenset[TaskStatus]] = frozenset(
    {"pipelined", "allocated", "binding", "bound", "running"}
)
"""Who takes room and counts as use. What a releasing task holds is as good as free."""


@dataclass(frozen=True, slots=True)
class GangState:
    """Where a job stands."""

    ready: bool
    pipelined: bool
    starving: bool
    valid: bool


def gang_state(
    gang_min: int, counts: Mapping[TaskStatus, int], pending_best_effort: int
) -> GangState:
    """Where a job stands that has so many tasks in each status.

    ``pending_best_effort`` are those of the pending tasks that ask for nothing.
    """
    ready = sum(count for status, count in counts.items() if status in READY)
    pipelined = counts.get("pipelined", 0)
    return GangState(
        ready=ready + pending_best_effort >= gang_min,
        pipelined=ready + pending_best_effort + pipelined >= gang_min,
        starving=ready + pipelined < gang_min,
        valid=ready + pipelined + counts.get("pending", 0) >= gang_min,
    )
