"""Why jobs wait after a round, where it is another reason than they were told last.

``queue_closed``    the queue is not open
``evicted``         in this round
``gang_short``      fewer tasks of a gang have places, are done, or ask for nothing than it needs; what stood
                    in the way of the next one is told with it
``queue_limit``     in its last turn, with a task the queue would hold more than it deserves
``node_fit``        in its last turn, no node had room for a task; or a slot, for one that asks for nothing else
``queue_overused``  else: the queue has all it deserves, so the job had no turn

A job whose tasks run one by one is no gang, however few of them run. Whoever was not reached because the
round was full is told nothing: it is not over for them.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from ledger.core.fairshare.reasons import (
    Loser,
    NodeFit,
    QueueLimit,
    QueueOverused,
    Reason,
)
from ledger.core.fairshare.resources import (
    Resource,
)
from ledger.core.fairshare.room import SLOTS
from ledger.decisions.contest import Contender, Contest, amounts
from ledger.decisions.round_steps import Came, not_reached
from ledger.decisions.spare import RESOURCES
from ledger.facts.refusal import Refusal
from ledger.reducers.jobs import WAITS_FOR_ROUND
from ledger.reducers.tasks import Tasks
from ledger.reducers.world import Question, World
from ledger.units import Subject

QUEUE_CLOSED: Final = "queue_closed"
EVICTED: Final = "evicted"
GANG_SHORT: Final = "gang_short"
QUEUE_OVERUSED: Final = "queue_overused"

_COUNTED: Final = frozenset({*RESOURCES, SLOTS})


def refusals(world: World, contest: Contest, came: Came) -> Iterator[tuple[Subject, Refusal]]:
    """Whoever waits for another reason than they were told last, by name."""
    losers = {Subject(loser.job): loser for loser in came.played.losers}
    closed = {queue.name for queue in contest.queues if not queue.is_open}
    for subject in sorted({*losers, *came.losses}):
        waiting = came.left(subject, world.jobs.of[subject])
        if not waiting:
            continue
        loser = losers.get(subject)
        if world.jobs.of[subject].queue in closed:
            reason, detail = QUEUE_CLOSED, {}
        elif subject in came.losses:
            reason, detail = EVICTED, {"tasks": len(came.losses[subject])}
        else:
            assert loser is not None
            if not_reached(loser):
                continue
            why = _why(loser, came, world.jobs.of[subject], waiting, contest.jobs[subject])
            if why is None:
                continue
            reason, detail = why
        open_refusal = world.refusals.get(Question("allocation", subject))
        if open_refusal is not None and open_refusal.refusal.reason == reason:
            continue
        yield (
            subject,
            Refusal(
                wanted="allocation",
                reason=reason,
                waits_for=WAITS_FOR_ROUND,
                detail=tuple(sorted({**detail, "waiting": waiting}.items())),
                because=("round",),
            ),
        )


def _why(
    loser: Loser, came: Came, tasks: Tasks, waiting: int, job: Contender
) -> tuple[str, dict[str, int]] | None:
    """Why a job waits, as a code, and the numbers behind it; None if its slots were not reached."""
    for_slots = not amounts(job.request)
    obstacle = _obstacle(loser, came, job)
    told = None if obstacle is None else _told(obstacle)
    ready = tasks.replicas if for_slots else tasks.replicas - waiting
    if ready < job.fact.gang_min and job.fact.gang_min > 1:
        numbers = {"gang_min": job.fact.gang_min, "ready": ready}
        return GANG_SHORT, numbers if told is None else numbers | told[1]
    if told is not None or for_slots:
        return told
    return QUEUE_OVERUSED, {}


def _obstacle(loser: Loser, came: Came, job: Contender) -> Reason | None:
    """What the first task that found no place met in the last turn; without a turn, its queue."""
    if job.subject in came.slotless:
        return came.slotless[job.subject]
    if loser.last_obstacle is not None or not amounts(job.request):
        return loser.last_obstacle
    overused = (reason for reason in loser.reasons if isinstance(reason, QueueOverused))
    return next(overused, None)


def _told(reason: Reason) -> tuple[str, dict[str, int]]:
    """What decided, as a code, and the numbers behind it."""
    match reason:
        case QueueLimit():
            return reason.code, {
                f"allocated {reason.resource}": reason.allocated,
                **_deserved(reason.resource, reason.deserved),
                f"request {reason.resource}": reason.request,
            }
        case NodeFit():
            return reason.code, {
                "nodes": reason.nodes,
                **{_lacking(name): count for name, count in reason.lacking.items()},
            }
        case QueueOverused():
            told: dict[str, int] = {}
            for resource, amount in reason.allocated.items():
                if amount or reason.deserved[resource]:
                    told |= _deserved(resource, reason.deserved[resource])
                    told[f"allocated {resource}"] = amount
            return reason.code, told
        case _:
            return reason.code, {}


def _lacking(resource: Resource) -> str:
    """What so many nodes have too little of; or they are out of the job's pool."""
    return f"lacking {resource}" if resource in _COUNTED else "not allowed"


def _deserved(resource: Resource, deserved: Fraction) -> dict[str, int]:
    """An exact part as its whole numbers; the second is left out where it is 1."""
    told = {f"deserved {resource}": deserved.numerator}
    if deserved.denominator != 1:
        told[f"deserved {resource} in parts of"] = deserved.denominator
    return told
