"""How the owners of an invented fleet's workloads change their minds.

Replicas follow the day, each workload's a little differently and some by hours: that is what
autoscalers do. Beside it there are rollouts, other weights, other ways to be placed, and now and
then somebody who asks for everything anew, or a workload that goes and comes back as another one.
"""

from functools import partial
from random import Random
from typing import Final

from ledger.cli.simulator.later import Later
from ledger.cli.simulator.luck import Choice, happens, some, template_hash, uid
from ledger.cli.simulator.spelling import Data, Happening
from ledger.cli.simulator.workloads import Wanted, Workload
from ledger.units import Microseconds

_HOUR: Final = 3_600_000_000
_DAY_HOURS: Final = 24
_BUSIEST_HOUR: Final = 14

_DEPLOYS: Final[Choice[Data]] = Choice(
    (50, {"strategy": "AUTO"}),
    (8, {"strategy": "AUTO", "nodes_limit": 3}),
    (15, {"strategy": "GLOBAL"}),
    (5, {"strategy": "GLOBAL", "policy": "after_usage"}),
    (10, {"strategy": "DRAINED"}),
    (6, {"strategy": "FILL", "count": 2, "nodes_limit": 3}),
    (6, {"strategy": "EACH", "count": 1, "nodes_limit": 2}),
)
_AVAILABLE: Final[Choice[str | None]] = Choice((60, None), (25, "50%"), (10, "2"), (5, "100%"))
_REQUESTS: Final = (
    ("100m", "128Mi"),
    ("250m", "256Mi"),
    ("500m", "512Mi"),
    ("1", "2Gi"),
    ("2", "4Gi"),
)


def request(chance: Random) -> Wanted:
    """What one replica might take."""
    cpu, memory = some(chance, _REQUESTS)
    storage = "1Gi" if happens(chance, 20) else None
    return Wanted(cpu, memory, bind=happens(chance, 15), storage=storage)


def deploy(chance: Random) -> Data:
    """How instances might be placed on nodes; now and then on nodes of one kind only."""
    chosen = _DEPLOYS.draw(chance)
    if happens(chance, 10):
        return {**chosen, "node_selector": {"node.kubernetes.io/capacity": "on-demand"}}
    return chosen


def available(chance: Random) -> str | None:
    """The annotation that says how many must not run on spot nodes, where there is one."""
    return _AVAILABLE.draw(chance)


class Scaling:
    """Workloads in motion; ``now`` is what the hour of the day is taken from."""

    def __init__(self, chance: Random, later: Later, workloads: list[Workload]) -> None:
        self._chance = chance
        self._later = later
        self._workloads = workloads
        self._gone = 0
        self.now = Microseconds(0)

    def wave(self) -> Happening:
        """An autoscaler follows the hour of the day."""
        workload = self._some()
        wanted = self._at_this_hour(workload)
        # An autoscaler that wants what is there already says nothing.
        workload.replicas = wanted if wanted != workload.replicas else wanted + 1
        return workload.upserted()

    def rollout(self) -> Happening:
        """A new template, in half of all cases with another request; clusters follow one by one."""
        workload = self._some()
        workload.template = template_hash(self._chance)
        if happens(self._chance, 50):
            workload.request = request(self._chance)
        if workload.kind == "Deployment":
            for cluster in workload.homes[:6]:
                if cluster.present:
                    self._later.after(20, partial(workload.replica_set, cluster))
        return workload.upserted()

    def weigh(self) -> Happening:
        """One of the clusters is to get another part."""
        workload = self._some()
        if workload.wish is None or not workload.wish.weights:
            return self.wave()
        weights = workload.wish.weights
        cluster = some(self._chance, list(weights))
        weights[cluster] = 1 + (weights[cluster] + 1) % 6
        return workload.upserted()

    def place(self) -> Happening:
        """Its instances are to be placed otherwise, or fewer of them on spot nodes."""
        workload = self._some()
        if workload.deploy is None:
            return self.wave()
        if happens(self._chance, 50):
            workload.min_available = available(self._chance)
        else:
            workload.deploy = deploy(self._chance)
        return workload.upserted()

    def reschedule(self) -> Happening:
        """Somebody asks for a workload to be decided anew."""
        return self._some().rescheduled(fresh=happens(self._chance, 50))

    def retire(self) -> Happening:
        """A workload goes; another one of the same name comes some time after."""
        if 8 * (self._gone + 1) > len(self._workloads):
            return self.wave()
        workload = self._some()
        self._gone += 1
        self._later.after(60, partial(self._come_back, workload))
        return workload.removed()

    def _come_back(self, workload: Workload) -> Happening:
        self._gone -= 1
        workload.uid = uid(self._chance)
        workload.template = template_hash(self._chance)
        workload.replicas = self._at_this_hour(workload)
        return workload.upserted()

    def _at_this_hour(self, workload: Workload) -> int:
        hour = (self.now // _HOUR - workload.phase) % _DAY_HOURS
        distance = abs(hour - _BUSIEST_HOUR)
        percent = 160 - 9 * min(distance, _DAY_HOURS - distance)
        percent += int(self._chance.random() * 31) - 15
        return max(1, workload.usual * percent // 100)

    def _some(self) -> Workload:
        """A workload that is there; seven in eight always are."""
        while not (workload := some(self._chance, self._workloads)).present:
            pass
        return workload
