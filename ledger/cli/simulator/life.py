"""What happens in an invented fleet: it is raised, and then it lives.

Raising it is a cold start. First nothing is to be decided (``hold``); queues, quotas, clusters with
their nodes and disks, workloads, volumes are told as inventories tell them; then the hold is
lifted. One cluster joins last, when there is something to divide anew.

Life then is a mix of three. *Reports* say what is running and that things are as they were, and
ask for nothing. *Changes* touch objects, and some of them raise a question. *Decisions* is what
asks for an answer: autoscaling, rollouts, jobs, volumes, replicas and disks that fail, nodes and
clusters that come and go.

What begins also ends: a cluster that is lost comes back some hundred events later, a failed
replica recovers, a reclaimed node is replaced.
"""

from collections import deque
from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Final

from ledger.cli.simulator.batch import Batch
from ledger.cli.simulator.control import Control
from ledger.cli.simulator.fleet import Fleet
from ledger.cli.simulator.later import Happens, Later
from ledger.cli.simulator.luck import Choice, some
from ledger.cli.simulator.outages import Outages
from ledger.cli.simulator.scaling import Scaling
from ledger.cli.simulator.sightings import Sightings
from ledger.cli.simulator.sizes import Mix
from ledger.cli.simulator.spelling import Happening
from ledger.cli.simulator.wear import Wear
from ledger.units import Microseconds

_REMEMBERED: Final = 200
"""Reports that an agent which is started again may tell once more."""

_SMALL: Final = 40
"""Workloads of a fleet in which it can be seen how clusters are lost, policies tried and so on."""
_SOON: Final = 600
"""Events until what happens seldom has happened once."""


class Life:
    """A fleet and what goes on in it; draws from ``chance`` and from nothing else."""

    def __init__(self, chance: Random, fleet: Fleet, mix: Mix, *, name: str) -> None:
        self._chance = chance
        self._fleet = fleet
        self._later = Later(chance)
        self._told: deque[Happening] = deque(maxlen=_REMEMBERED)
        self._sightings = Sightings(chance, fleet.clusters, fleet.workloads)
        self._scaling = Scaling(chance, self._later, fleet.workloads)
        self._control = Control(chance, self._later, fleet=name, subject=self._worth_a_look)
        self._raising = self._raise()
        self._kinds = self._mixed(mix)

    def next(self, now: Microseconds) -> Happening:
        """The next thing that happens, at ``now``."""
        raising = next(self._raising, None)
        if raising is not None:
            return raising
        self._scaling.now = now
        happens = self._later.next() or self._kinds.draw(self._chance).draw(self._chance)
        happened = happens()
        if "revision" in happened.data:
            self._told.append(happened)
        return happened

    def pods(self) -> Iterator[Happening]:
        """Every pod there should be, once: what agents list when they are all started at once."""
        return chain.from_iterable(map(self._sightings.pods_of, self._fleet.workloads))

    @property
    def opening(self) -> int:
        """How many events it takes to raise the fleet."""
        fleet = self._fleet
        nodes = sum(len(cluster.nodes) for cluster in fleet.clusters)
        objects = len(fleet.queues) + len(fleet.quotas) + len(fleet.volumes)
        objects += len(fleet.workloads) + len(fleet.jobs)
        return 2 + len(fleet.clusters) + nodes * (1 + fleet.disks) + objects

    def _mixed(self, mix: Mix) -> Choice[Choice[Happens]]:
        chance, later, fleet = self._chance, self._later, self._fleet
        seen, scaling = self._sightings, self._scaling
        batch = Batch(chance, later, jobs=fleet.jobs, queues=fleet.queues, quotas=fleet.quotas)
        outages = Outages(
            chance, later, fleet.clusters, lambda cluster: fleet.another_node(chance, cluster)
        )
        wear = Wear(chance, later, fleet.volumes, outages.some_node)
        reports = Choice[Happens](
            (660, seen.pod),
            (110, seen.replica_set),
            (110, seen.node),
            (60, seen.disk),
            (40, seen.collector),
            (20, self._told_again),
        )
        changes = Choice[Happens](
            (400, wear.fill),
            (200, outages.node),
            (200, scaling.wave),
            (100, batch.weight),
            (60, batch.queue),
            (40, outages.listed),
        )
        decisions = Choice[Happens](
            (34_000, scaling.wave),
            (8_000, scaling.rollout),
            (4_000, scaling.weigh),
            (3_000, scaling.place),
            (1_500, scaling.reschedule),
            (1_500, scaling.retire),
            (25_000, batch.job),
            (6_000, wear.volume),
            (5_000, wear.replica),
            (3_000, wear.fail),
            (3_000, outages.lose_node),
            (1_500, outages.drain_node),
            (2_000, outages.reclaim_node),
            (self._seldom(800), outages.lose_cluster),
            (self._seldom(100), outages.take_cluster_out),
            (self._seldom(700), self._control.policy),
            (self._seldom(800), self._control.proposal),
        )
        if mix.decisions:
            # What happens seldom happens once soon, so that a short history shows it too.
            for seldom in (
                outages.take_cluster_out,
                outages.reclaim_node,
                self._control.policy,
                self._control.proposal,
                scaling.reschedule,
                wear.lose,
                batch.lose_queue,
            ):
                later.after(_SOON, seldom)
        return Choice((mix.reports, reports), (mix.changes, changes), (mix.decisions, decisions))

    def _seldom(self, weight: int) -> int:
        """The weight of what happens as often a day in every fleet.

        A larger fleet has more events between, and more follows from each of these.
        """
        return min(weight, weight * _SMALL // len(self._fleet.workloads))

    def _raise(self) -> Iterator[Happening]:
        fleet = self._fleet
        *first, last = fleet.clusters
        yield self._control.hold(on=True)
        yield from (one.upserted() for one in fleet.queues)
        yield from (one.upserted() for one in fleet.quotas)
        for cluster in first or [last]:
            yield from cluster.joined()
        yield from (one.upserted() for one in fleet.workloads)
        yield from (one.upserted() for one in fleet.jobs)
        yield from (one.upserted() for one in fleet.volumes)
        yield self._control.hold(on=False)
        if first:
            yield from last.joined()

    def _told_again(self) -> Happening:
        """An agent that was started again tells what it told before: it may be stale by now."""
        return some(self._chance, self._told) if self._told else self._sightings.node()

    def _worth_a_look(self, kind: str) -> str | None:
        """The subject of a proposal; None is everything of its kind."""
        fleet = self._fleet
        if kind == "disks":
            return some(self._chance, fleet.volumes).name if fleet.volumes else None
        return some(self._chance, fleet.workloads).key
