"""The World after one more fact: ``evolve(world, fact) -> world``.

There are two kinds of fact. An event is folded at its position, in its order, and says in the
World what it did (``last_effect``), what it put out of force (``ended``) and which questions it
raises (``due``). A decision that answers one of them is folded in turn. Who asks and who answers
is not told here: see ``ledger.decisions``.

Between two events a deadline may run out. It fires before the first event at or past it, in the
order of ``ledger.reducers.deadlines``, and each firing is folded by itself (``lapse``), so that
what it raises is decided before anything later happens. Fleet time is then the deadline's.

History that was decided already is folded by ``follow``, which keeps to that order without asking
anybody. Deciding and following make equal Worlds.

How all of this is done has a version, that of the engine. The policy in force before an event names the
one by which it is folded, with the deadlines before it and the decisions it came to (``FOLDING``); what
asks is of the same version (``ledger.decisions.step``). All of them fold the one kind of World that
there is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.facts.allocation import Allocation
from ledger.facts.cluster import (
    ClusterRemoved,
    ClusterUpserted,
    InventoryListed,
    NodeReclaiming,
    NodeRemoved,
    NodeUpserted,
)
from ledger.facts.control import PolicyChanged, ProposalApproved, ProposalRequested
from ledger.facts.decision import Decision
from ledger.facts.disk import (
    DiskRemoved,
    DiskUpserted,
    ReplicaFailed,
    ReplicaRecovered,
    VolumeRemoved,
    VolumeUpserted,
)
from ledger.facts.event import Event, Fact, MessageReleased
from ledger.facts.eviction import Eviction
from ledger.facts.own import (
    AdmissionBypassed,
    AdmissionRequested,
    IncidentRecorded,
    LogRecovered,
    MessageQuarantined,
    PodsListed,
    TimePassed,
)
from ledger.facts.quota import QueueRemoved, QueueUpserted, QuotaRemoved, QuotaUpserted
from ledger.facts.refusal import Refusal
from ledger.facts.workload import (
    JobFinished,
    PodDeleted,
    PodObserved,
    ReplicaSetUpserted,
    WorkloadRemoved,
    WorkloadRescheduled,
    WorkloadUpserted,
)
from ledger.reducers import (
    admissions,
    clusters,
    deadlines,
    incidents,
    jobs,
    lives,
    objects,
    outcomes,
    pods,
    policies,
    proposals,
    retries,
    rooms,
    rounds,
    volumes,
    workloads,
)
from ledger.reducers.registry import Versions
from ledger.reducers.replacing import replace
from ledger.reducers.world import NOTHING_DUE, NOTHING_TURNED, Due, World
from ledger.units import Microseconds, Position, Subject

ENGINE_VERSION: Final = 1
"""Of everything here and of what ``ledger.decisions`` asks when."""


@dataclass(frozen=True, slots=True)
class Folding:
    """One version of how facts and deadlines are folded."""

    evolve: Callable[[World, Event | Decision], World]
    lapse: Callable[[World], World]


def evolve(world: World, fact: Event | Decision) -> World:
    """Fold one fact. Deadlines up to an event have fired before it; ``lapse`` and ``follow`` see to it."""
    match fact:
        case Event():
            return _happened(world, fact)
        case Decision():
            return outcomes.decided(world, fact)


def lapse(world: World) -> World:
    """Fire the first deadline."""
    deadline = deadlines.first(world.deadlines)
    assert deadline is not None, "nothing runs out"
    turned = world.turned
    world = replace(
        rounds.begun(proposals.begun(volumes.begun(retries.begun(world))), within=False),
        now=deadline.at,
        due=NOTHING_DUE,
        ended=(),
        released=(),
        incidents=incidents.begun(world.incidents),
        turned=NOTHING_TURNED,
    )
    world = rooms.recut(world, turned)
    match deadline.kind:
        case "grace":
            world = clusters.grace_over(world, deadline)
        case "node_grace":
            world = clusters.node_grace_over(world, deadline)
        case "replenish":
            world = volumes.waited(world, deadline)
        case "reservation":
            world = admissions.time_over(world, deadline)
        case "round":
            world = rounds.fired(world, deadline)
    assert not deadlines.is_set(world.deadlines, deadline), f"{deadline} would fire for ever"
    return _held(pods.lost(world))


def follow(world: World, event: Event, decisions: Sequence[Decision]) -> World:
    """Fold an event and the decisions recorded at its position, in the order they were made in."""
    *_, last = followed(world, event, decisions)
    return last


def followed(world: World, event: Event, decisions: Sequence[Decision]) -> Iterator[World]:
    """The Worlds on that way: behind each deadline that fired and what it raised, and at the end."""
    folding = FOLDING.of(world.policy.algorithms.engine)
    waiting = list(reversed(decisions))
    world = lives.entered(world, event)
    while (deadline := deadlines.due(world.deadlines, event.recorded_at)) is not None:
        world = folding.lapse(world)
        closed: str | None = None
        while waiting and waiting[-1].deadline == deadline:
            if _is_of_round(waiting[-1]):
                # One that was full may go on at the same moment, by an equal deadline: what goes
                # into a round is other each time, and the same for all its decisions.
                if closed not in {None, waiting[-1].inputs}:
                    break
                closed = waiting[-1].inputs
            world = folding.evolve(world, waiting.pop())
        yield world
    world = folding.evolve(world, event)
    while waiting:
        world = folding.evolve(world, waiting.pop())
    yield world


def _is_of_round(decision: Decision) -> bool:
    match decision.outcome:
        case Allocation() | Eviction():
            return True
        case Refusal(wanted="allocation", waits_for=waits_for):
            return waits_for == jobs.WAITS_FOR_ROUND
        case _:
            return False


def _happened(world: World, event: Event) -> World:
    assert event.position == world.position, f"{event.position} is not the next event"
    began = event.position == 0
    assert began or event.recorded_at >= world.now, f"{event.position}: fleet time runs backwards"
    assert deadlines.due(world.deadlines, event.recorded_at) is None, "a deadline comes first"
    turned = world.turned
    world = replace(
        rounds.begun(
            _crumbled(proposals.begun(volumes.begun(retries.begun(world))), event.recorded_at),
            within=True,
        ),
        position=Position(event.position + 1),
        now=event.recorded_at,
        due=NOTHING_DUE,
        last_effect="applied",
        ended=(),
        released=(),
        incidents=incidents.begun(world.incidents),
        turned=NOTHING_TURNED,
    )
    world = admissions.begun(rooms.recut(world, turned))
    return _held(pods.lost(_said(world, event.source, event.subject, event.fact)))


def _said(world: World, source: str, subject: Subject, fact: Fact) -> World:
    match fact:
        case ClusterUpserted():
            return clusters.upserted(world, subject, fact, source=source)
        case ClusterRemoved():
            return clusters.removed(world, subject, fact, source=source)
        case NodeUpserted():
            return clusters.node_upserted(world, subject, fact, source=source)
        case NodeRemoved():
            return clusters.node_removed(world, subject, fact, source=source)
        case NodeReclaiming():
            return clusters.node_reclaiming(world, subject, fact)
        case InventoryListed():
            return admissions.inventory_listed(clusters.listed(world, fact), fact)
        case WorkloadUpserted():
            return workloads.upserted(world, subject, fact, source=source)
        case WorkloadRemoved():
            return workloads.removed(world, subject, fact, source=source)
        case WorkloadRescheduled():
            return workloads.rescheduled(world, subject, fact)
        case JobFinished():
            return workloads.finished(world, subject, fact)
        case PodObserved():
            world = pods.observed(world, subject, fact, source=source)
            return admissions.pods_heard_of(world, fact.cluster)
        case PodDeleted():
            world = pods.deleted(world, subject, fact, source=source)
            return admissions.pods_heard_of(world, fact.cluster)
        case ReplicaSetUpserted():
            return pods.replicaset_upserted(world, subject, fact, source=source)
        case QueueUpserted():
            return jobs.queue_upserted(world, subject, fact, source=source)
        case QueueRemoved():
            return jobs.queue_removed(world, subject, fact, source=source)
        case QuotaUpserted():
            return jobs.quota_upserted(world, subject, fact, source=source)
        case QuotaRemoved():
            return jobs.quota_removed(world, subject, fact, source=source)
        case DiskUpserted():
            return volumes.disk_upserted(world, subject, fact, source=source)
        case DiskRemoved():
            return volumes.disk_removed(world, subject, fact, source=source)
        case VolumeUpserted():
            return volumes.upserted(world, subject, fact, source=source)
        case VolumeRemoved():
            return volumes.removed(world, subject, fact, source=source)
        case ReplicaFailed():
            return volumes.replica_failed(world, fact)
        case ReplicaRecovered():
            return volumes.replica_recovered(world, fact)
        case PolicyChanged():
            return policies.changed(world, fact)
        case ProposalRequested():
            return proposals.requested(world, fact)
        case ProposalApproved():
            return proposals.approved(world, fact)
        case MessageReleased():
            return _said(world, fact.source, fact.subject, fact.fact)
        case AdmissionRequested():
            return admissions.requested(world, fact)
        case AdmissionBypassed():
            return admissions.bypassed(world, fact)
        case PodsListed():
            return admissions.listed(world, fact)
        case TimePassed() | MessageQuarantined() | IncidentRecorded() | LogRecovered():
            return world


def _crumbled(world: World, now: Microseconds) -> World:
    """Without the objects that are forgotten, and what was decided about workloads and volumes of them.

    Only what still holds something is remembered until it does not.
    """
    remembered, gone = objects.crumble(world.objects, now)
    if remembered is world.objects:
        return world
    world = replace(world, objects=remembered)
    for noun, subject in gone:
        match noun:
            case "workload":
                world = workloads.forgotten(world, subject)
            case "volume":
                world = volumes.forgotten(world, subject)
            case _:
                pass
    return world


def _held(world: World) -> World:
    """Under ``hold`` what is due waits; once it is lifted, what waited is due."""
    world = rounds.settled(world)
    if world.policy.hold:
        if not world.due:
            return world
        return replace(world, waiting=_both(world.waiting, world.due), due=NOTHING_DUE)
    if not world.waiting:
        return world
    return replace(world, due=_both(world.waiting, world.due), waiting=NOTHING_DUE)


def _both(due: Due, more: Due) -> Due:
    """A question due twice is asked once, for all its causes."""
    for question in sorted(more):
        due = due.set(question, due.get(question, frozenset()) | more[question])
    return due


FOLDING: Final = Versions("engine", {ENGINE_VERSION: Folding(evolve, lapse)})
"""By the version of the engine."""
