"""A slow, literal model of incidents: whatever contradicts the book, looked for everywhere each time.

What contradicted it when an incident was recorded is not recorded again until it has ended. Nothing
is recorded under ``hold``; what has ended by the time it is lifted never is.
"""

from dataclasses import dataclass, field, replace

from ledger.facts.cluster import NodeUpserted
from ledger.facts.event import Fact
from tests.histories import FLEET
from tests.laws.naive_admissions import NaiveAdmissions
from tests.laws.naive_book import decides
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_jobs import NaiveJobs
from tests.laws.naive_part import Moment, Said

Contradiction = tuple[str, str, str]
"""Subject, what it is, and the node."""


@dataclass(slots=True)
class NaiveIncidents:
    """The last of the parts: what the decisions of an event put right is no contradiction."""

    fleet: NaiveFleet
    admissions: NaiveAdmissions | None = None
    """Who hears of pods that come after they were given up."""
    told: set[Contradiction] = field(default_factory=set)
    before: set[Contradiction] = field(default_factory=set)
    """What was told when the moment began."""
    kept: dict[Contradiction, str] = field(default_factory=dict)
    """What is over once it is told: upserts that would have changed the pieces of a node, pods that came late."""
    cuts: dict[str, tuple[int, NodeUpserted]] = field(default_factory=dict)
    """Which life of a node was cut into pieces how."""
    otherwise: dict[str, tuple[int, NodeUpserted]] = field(default_factory=dict)
    """Which life of a node told last that it is cut otherwise than it is."""

    def __post_init__(self) -> None:
        self.fleet.parts.append(self)
        self.fleet.book.restating.append(self._restate)

    def moments(self) -> list[Moment]:
        """Nothing runs out."""
        return []

    def fired(self, moment: Moment) -> None:
        """Only what is so matters."""

    def heard(self, fact: Fact, subject: str) -> None:
        """A node keeps its pieces while some of them are given out."""
        if not isinstance(fact, NodeUpserted):
            return
        being = self.fleet.beings["node"][subject]
        life, cut = self.cuts.get(subject, (0, fact))
        told_by, told = self.otherwise.pop(subject, (0, cut))
        base = cut.share_base
        if being.life == life and base != fact.share_base and self._is_bound(subject):
            being.fact = replace(fact, share_base=base)
            if fact.cores:
                being.fact = replace(being.fact, cores=cut.cores, cpu=cut.cpu)
            self.otherwise[subject] = life, fact
            if told_by != life or told.share_base != fact.share_base:
                numbers = f"kept:{base} told:{fact.share_base}"
                self.kept[subject, "share_base_kept", subject] = numbers

    def _is_bound(self, node: str) -> bool:
        return any(
            one.bound.cores for holder in self.fleet.book.holders for one in holder.holdings(node)
        )

    def _restate(self) -> None:
        """Where nobody is bound any more a node is cut as it told last, before anything else happens."""
        for subject, (life, fact) in list(self.otherwise.items()):
            being = self.fleet.beings["node"].get(subject)
            if being is None or being.fact is None or being.life != life:
                del self.otherwise[subject]
            elif not self._is_bound(subject):
                being.fact = fact
                del self.otherwise[subject]
        self._see_cuts()

    def _see_cuts(self) -> None:
        for key, node in self.fleet.all("node").items():
            self.cuts[key] = (self.fleet.life("node", key), node)

    def folded(self) -> None:
        """What is over may begin again; but not in the same moment, in which it was never over to see."""
        self.before = set(self.told)
        self.told &= self._contradictions().keys()
        self._see_cuts()

    def settled(self) -> None:
        """Nothing follows."""

    def decide(self, moment: Moment | None) -> list[Said]:
        """Record what began."""
        said = []
        now = self._contradictions()
        if self.admissions is not None:
            for (about, replicaset), pods in self.admissions.late.items():
                self.kept[about, "late_confirmation", replicaset] = f"pods:{pods}"
            self.admissions.late.clear()
        for one, numbers in sorted((now | self.kept).items()):
            subject, what, node = one
            if one in self.told | self.before:
                continue
            # An incident is no answer, so what was decided last about its subject stays that.
            number, previous = self.fleet.number, self.fleet.newest.get(subject)
            self.fleet.number += 1
            ran_out = None if moment is None else (moment.kind, moment.subject)
            said.append(
                Said(
                    number,
                    self.fleet.position,
                    ran_out,
                    "incident",
                    subject,
                    None if subject == node else previous,
                    rows={node: numbers},
                    reason=what,
                )
            )
        self.told, self.kept = set(now), {}
        return said

    def _contradictions(self) -> dict[Contradiction, str]:
        found: dict[Contradiction, str] = {}
        book = self.fleet.book
        for key, node in self.fleet.all("node").items():
            held = book.all_holdings(key)
            free = book.free(key, held).amounts()
            short = {name: -left for name, left in free.items() if left < 0}
            if held and short:
                numbers = " ".join(f"{name}:{left}" for name, left in sorted(short.items()))
                found[key, "over_committed", key] = numbers
            for (workload, kind), pods in book.crews(key).items():
                fact = self.fleet.fact("workload", workload)
                there = sum(one.workload == workload for one in held)
                if fact is not None and fact.kind == kind and decides(fact) and len(pods) > there:
                    one = (f"{workload}@{node.cluster}", "pods_beyond_instances", key)
                    found[one] = f"instances:{there} pods:{len(pods)}"
        for key, quota in self.fleet.all("quota").items():
            if quota.invalid_weight is not None:
                found[key, "weight_invalid", key] = f"counts_as:1 told:{quota.invalid_weight}"
        for part in self.fleet.parts:
            if isinstance(part, NaiveJobs) and part.told_total is not None:
                queues = self.fleet.all("queue").values()
                names = sorted({name for queue in queues for name, _ in queue.guarantee} - {"pods"})
                sums = {
                    name: sum(dict(queue.guarantee).get(name, 0) for queue in queues)
                    for name in names
                }
                beyond = {name: sums[name] - part.told_total.get(name, 0) for name in names}
                told = [f"{name}:{amount}" for name, amount in beyond.items() if amount > 0]
                if told:
                    found[FLEET, "guarantee_infeasible", FLEET] = " ".join(told)
        return found
