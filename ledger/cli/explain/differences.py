"""What is placed differently at one position than at another, and by which decisions.

What is placed where is what was in force then (``placements_as_of``). Mostly decisions change it. An event may
end it alone: a division with its workload, instances and replicas with their node or disk.

A task comes and goes one by one: of jobs the tasks are told that rounds placed and evicted in between, and
those that ended by themselves: finished, lost with their node, or gone with their job.

A refusal that was opened and ended in between is only counted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.places import counted, elsewhere, places
from ledger.log.database import Connection
from ledger.views import differences
from ledger.views.differences import PLACING, TASKS, Refused


@dataclass(frozen=True, slots=True)
class Change:
    """A subject whose places are others."""

    kind: str
    subject: str
    before: Mapping[str, int]
    """Place and how many, in order."""
    after: Mapping[str, int]
    moved: int
    """How many are elsewhere than before; what came anew or only went has not moved."""
    decisions: tuple[int, ...]
    """The numbers that did it."""
    by_events: bool
    """Whether events alone took some of it, after the last of them or where there is none."""
    ended_by: int | None
    """Position of the event with which its workload went, if that ended it."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """What rounds and events did to a job."""

    subject: str
    placed: Mapping[str, int]
    evicted: Mapping[str, int]
    ended: Mapping[str, int]
    """By an event alone."""
    decisions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that is other at one position than at another."""

    fleet: str
    a: int
    b: int
    first: int
    """The first decision after ``a``."""
    behind: int
    """The first decision after ``b``."""
    changes: tuple[Change, ...]
    unchanged: int
    """Subjects about which something was decided, and which are where they were."""
    tasks: tuple[Tasks, ...]
    opened: tuple[Refused, ...]
    """Those that stand at ``b`` and did not at ``a``."""
    closed: tuple[Refused, ...]
    """The other way round."""
    passing: int
    """How many were opened and ended in between."""


async def difference(connection: Connection, fleet: str, a: int, b: int) -> Difference:
    """Compare two positions of a fleet; ``a`` is not after ``b``."""
    first, behind = await differences.between(connection, fleet, a, b)
    decided = await differences.decided(connection, fleet, first, behind)
    ended = await differences.ended(connection, fleet, a, b)
    numbers = {(one.kind, one.subject): one.numbers for one in decided}
    elsewhere_ = await differences.elsewhere(connection, fleet, a, b)
    running = {one: elsewhere_.pop((TASKS, one)) for kind, one in [*elsewhere_] if kind == TASKS}
    touched = sorted(elsewhere_, key=lambda one: (PLACING.index(one[0]), one[1]))
    before = await differences.in_force(connection, fleet, touched, a)
    after = await differences.in_force(connection, fleet, touched, b)
    changes: list[Change] = []
    for kind, subject in touched:
        there, here = elsewhere_[kind, subject]
        was, is_ = before.get((kind, subject)), after.get((kind, subject))
        gone = ended.get(subject) if kind == "division" and not here else None
        changes.append(
            Change(
                kind=kind,
                subject=subject,
                before=there,
                after=here,
                moved=_moved(was, is_, there, here),
                decisions=numbers.get((kind, subject), ()),
                by_events=(kind, subject) not in numbers or _left(is_) != here,
                ended_by=gone,
            )
        )
    unchanged = sum(one not in elsewhere_ for one in numbers)
    opened = await differences.opened(connection, fleet, first, behind)
    standing = tuple(one for one in opened if one.ended_position is None or one.ended_position > b)
    return Difference(
        fleet=fleet,
        a=a,
        b=b,
        first=first,
        behind=behind,
        changes=tuple(changes),
        unchanged=unchanged,
        tasks=_tasks(await differences.task_moves(connection, fleet, first, behind), running),
        opened=standing,
        closed=tuple(await differences.closed(connection, fleet, first, a, b)),
        passing=len(opened) - len(standing),
    )


def _moved(
    was: Decision | None, is_: Decision | None, before: Mapping[str, int], after: Mapping[str, int]
) -> int:
    if was is None or is_ is None or _uid(was) != _uid(is_):
        return 0
    return elsewhere(before, after)


def _left(decision: Decision | None) -> Mapping[str, int]:
    """What a decision left in force, which is all that its subject has by then; none where its workload went."""
    return places(None if decision is None else decision.outcome)


def _uid(decision: Decision) -> str:
    outcome = decision.outcome
    assert isinstance(outcome, Division | Deployment | DiskPlacement), "these are asked for only"
    return outcome.uid


def _tasks(
    moves: Sequence[differences.TaskMove], running: Mapping[str, differences.Places]
) -> tuple[Tasks, ...]:
    jobs: dict[str, list[differences.TaskMove]] = {}
    for move in moves:
        jobs.setdefault(move.subject, []).append(move)
    told = (
        _of_job(subject, jobs.get(subject, ()), running.get(subject, _NOWHERE))
        for subject in sorted({*jobs, *running})
    )
    return tuple(one for one in told if one.placed or one.evicted or one.ended)


_NOWHERE: Final = differences.Places({}, {})


def _of_job(
    subject: str, moves: Sequence[differences.TaskMove], running: differences.Places
) -> Tasks:
    placed = counted(one.node for one in moves if one.placed)
    evicted = counted(one.node for one in moves if not one.placed)
    # What was there or came, and neither is there nor was evicted, ended by itself.
    came, went = Counter(running.before), Counter(running.after)
    came.update(placed)
    went.update(evicted)
    return Tasks(
        subject=subject,
        placed=placed,
        evicted=evicted,
        ended=counted((came - went).elements()),
        decisions=tuple(sorted({one.number for one in moves})),
    )
