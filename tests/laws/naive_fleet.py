"""A slow, literal fleet: what the pages say about events and questions, with nothing clever in it.

It keeps plain dictionaries and changes them. There is no index: before and after each event every
workload's candidates are worked out from all clusters, and whoever's differ is asked. There is no
queue: deadlines and tombstones are found by looking at everything, and so is whatever grew and may
serve somebody who was refused. It shares no code with the reducers or the decisions, divides with
the literal divisions of ``tests.laws.model`` and ``tests.laws.division_model``, and counts what fits
on a node plan by plan (``tests.laws.naive_book``). Room that later kinds set free is seen at the
next event: no division is asked again after them in theirs.

Of the other kinds of decisions it only knows that there are parts which see to them
(``tests.laws.naive_part``): it shares with them what there is, what time it is and how decisions
are numbered, tells them what happens, and lets each decide in its turn.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, cast

from ledger.core.division.static_weight import Last, Request
from ledger.core.lot import Lot
from ledger.facts import cluster, disk, quota, workload
from ledger.facts.control import PolicyChanged
from ledger.facts.event import Fact
from ledger.units import ClusterName, Replicas, Weight
from tests.laws import division_model
from tests.laws.model import bytewise, division
from tests.laws.naive_book import (
    INFINITE,
    Free,
    NaiveBook,
    in_storage,
    on_devices,
    plans,
)
from tests.laws.naive_part import Moment, Part, Said

DAY = 24 * 60 * 60 * 1_000_000


@dataclass(slots=True)
class Told:
    """One decision as the naive fleet sees it."""

    number: int
    position: int
    grace_of: str | None
    subject: str
    branch: str
    answer: dict[str, int] | str
    """Who got how many, without zeros; or why nobody did."""
    moved: int
    epoch: int | None
    """None where nothing was drawn."""
    previous: int | None
    because: list[str]


@dataclass(slots=True)
class Being:
    """One object: which life, what it said, what is remembered of it."""

    uid: str
    fact: Any
    at: int
    life: int
    born: int
    """The position of the event that began this life."""
    revisions: dict[str, int] = field(default_factory=dict)
    dead: dict[str, int | None] = field(default_factory=dict)
    reclaimed: int | None = None
    """The life that is about to be taken away."""


@dataclass(slots=True)
class LastResult:
    """What was decided last about a workload."""

    number: int
    replicas: int
    weights: dict[str, int]
    allocation: dict[str, int]
    strategy: str
    in_force: bool = True


@dataclass(slots=True)
class WatchedLot:
    """A lot that notices whether it is read."""

    lot: Lot
    read: bool = False

    @property
    def salt(self) -> str:
        self.read = True
        return self.lot.salt

    @property
    def workload(self) -> str:
        return self.lot.workload

    @property
    def epoch(self) -> int:
        return self.lot.epoch


@dataclass(slots=True)
class NaiveFleet:
    """A fleet that does what the pages say, step by step."""

    salt: str
    position: int = 0
    now: int = 0
    lives: int = 0
    beings: dict[str, dict[str, Being]] = field(default_factory=lambda: defaultdict(dict))
    """By noun and name."""
    grace_until: dict[str, int] = field(default_factory=dict)
    node_grace_until: dict[str, int] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """What policies said, by path; None is the default."""
    hold: bool = False
    grace_ms: int = 0
    inertia: Any = "minimal"
    kappa: Any = None
    max_subjects: int = 64
    marks: dict[str, tuple[set[str], int]] = field(default_factory=dict)
    """Who was refused and is to be asked again: why, and which decision was next then."""
    first: int = 0
    served: int = 0
    last: dict[str, LastResult] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    refused: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    """Number, reason, what it waits for."""
    newest: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, set[str]] = field(default_factory=dict)
    number: int = 0
    effect: str = ""
    ended: list[tuple[str, str, int]] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    """Who sees to the other kinds, in the order of the kinds."""
    unheld: list[Part] = field(default_factory=list)
    """Those of the parts that decide under ``hold`` too."""
    listeners: list[Callable[[Fact, str], None]] = field(default_factory=list)
    """Told of every event, whatever came of it."""
    said: list[Said] = field(default_factory=list)
    """What the parts decided because of the last event."""
    book: NaiveBook = field(init=False)
    keepers: list[Callable[[str], bool]] = field(default_factory=list)
    """Who knows whether something else than instances is held by a name."""
    room_seen: dict[str, dict[tuple[str, object], int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.book = NaiveBook(self)

    def add(self, fact: Fact, *, subject: str, source: str, at: int) -> list[Told]:
        """One event, and which divisions are decided because of it."""
        told: list[Told] = []
        self.said, self.ended = [], []
        while (moment := self._next_moment()) is not None and moment.at <= at:
            self._begin()
            self.now = max(self.now, moment.at)
            due = self._due_after(partial(self._fire, moment))
            told += self._ask(due, moment.subject)
            self._let_parts_decide(moment)
        self._begin()
        self.now = at
        self._forget_the_long_gone()
        self.effect = "applied"
        due = self._due_after(partial(self._happen, fact, subject, source))
        if (
            isinstance(fact, workload.WorkloadRescheduled)
            and self.effect == "applied"
            and self._wish(subject) is not None
        ):
            due.setdefault(subject, set()).add("fresh" if fact.fresh else "rescheduled")
        told += self._ask(due, None)
        self._let_parts_decide(None)
        self.position += 1
        return told

    # What the parts share.

    def setting(self, path: str, default: Any) -> Any:
        """What the policy says."""
        value = self.settings.get(path)
        return default if value is None else value

    def next_number(self, subject: str) -> tuple[int, int | None]:
        """The number of a decision that is made now, and that of the one before it."""
        number, previous = self.number, self.newest.get(subject)
        self.newest[subject] = number
        self.number += 1
        return number, previous

    def _next_moment(self) -> Moment | None:
        moments = [Moment(at, "grace", name) for name, at in self.grace_until.items()]
        moments += [Moment(at, "node_grace", key) for key, at in self.node_grace_until.items()]
        for part in self.parts:
            moments += part.moments()
        return min(moments, default=None)

    def _fire(self, moment: Moment) -> None:
        for restate in self.book.restating:
            restate()
        if moment.kind == "grace":
            self.grace_until.pop(moment.subject, None)
        if moment.kind == "node_grace":
            self.node_grace_until.pop(moment.subject, None)
        for part in self.parts:
            part.fired(moment)
        for part in self.parts:
            part.folded()

    def _let_parts_decide(self, moment: Moment | None) -> None:
        for part in self.unheld if self.hold else self.parts:
            self.said += part.decide(moment)
        if not self.hold:
            for part in self.parts:
                part.settled()

    # What there is.

    def fact(self, noun: str, subject: str) -> Any:
        """What an object in force says of itself."""
        being = self.beings[noun].get(subject)
        return None if being is None else being.fact

    def all(self, noun: str) -> dict[str, Any]:
        """What all objects of a noun say of themselves."""
        return {
            subject: being.fact
            for subject, being in self.beings[noun].items()
            if being.fact is not None
        }

    def life(self, noun: str, subject: str) -> int:
        """Which life of an object is in force; no two objects ever share one."""
        return self.beings[noun][subject].life

    def is_reclaimed(self, node: str) -> bool:
        """Whether a node is about to be taken away."""
        return self.beings["node"][node].reclaimed == self.life("node", node)

    def says_of(self, pod: workload.PodObserved) -> str | None:
        """Of which class a pod is by its label, or else by its node; None where neither says."""
        for word, found in (("on-demand", "od"), ("spot", "spot")):
            if pod.capacity_class == word:
                return found
        node = self.fact("node", f"{pod.cluster}/{pod.node}")
        label = self.setting("spot.label", "node.kubernetes.io/capacity")
        says = None if node is None else dict(node.labels).get(label)
        if says == self.setting("spot.on_demand", "on-demand"):
            return "od"
        return "spot" if says == self.setting("spot.spot", "spot") else None

    def _wish(self, subject: str) -> workload.DivisionSpec | None:
        fact = self.fact("workload", subject)
        if fact is None or (fact.kind == "Job" and fact.queue is not None):
            return None
        return cast("workload.DivisionSpec | None", fact.division)

    def _candidates(self, spec: workload.DivisionSpec) -> list[str]:
        chosen = []
        for name, fact in self.all("cluster").items():
            if not fact.ready and name not in self.grace_until:
                continue
            if spec.clusters:
                if name in spec.clusters:
                    chosen.append(name)
            elif spec.cluster_selector:
                if set(spec.cluster_selector) <= set(fact.labels):
                    chosen.append(name)
            elif not spec.weights or name in dict(spec.weights):
                chosen.append(name)
        return bytewise(chosen)

    def _due_after(self, change: Callable[[], object]) -> dict[str, set[str]]:
        """Make a change; whom it asks, by comparing everything before with everything after."""
        before = self._questions()
        takes = {key: (fact.request, fact.deploy) for key, fact in self.all("workload").items()}
        ground, ways = self._ground(), self._ways()
        change()
        after = self._questions()
        due: dict[str, set[str]] = {}
        for subject in self.refused:
            fact = self.fact("workload", subject)
            if subject in after and takes[subject] != (fact.request, fact.deploy):
                due[subject] = {"edited"}
        for subject, (*edited, candidates) in after.items():
            was = before.get(subject)
            if was is None or edited != was[:-1]:
                due[subject] = {"edited"}
            elif candidates != was[-1]:
                due[subject] = {"candidates"}
        for subject in before:
            if subject not in after or before[subject][0] != after[subject][0]:
                self._end(subject)
        now = self._ground()
        self._grew({name for name in now if ground.get(name) != now[name]})
        self._look_for_room()
        if ways != self._ways():
            self._mark(list(self.refused), "policy")
        return due

    def _ways(self) -> tuple[Any, ...]:
        """What of the policy divisions are made by; how much counts as room is a part of it."""
        return self.inertia, self.kappa, self.setting("placement.max_deploy", None)

    # Who may be served although refused.

    def _begin(self) -> None:
        if not self.hold and self.served < self.max_subjects:
            self.marks = {
                subject: mark
                for subject, mark in self.marks.items()
                if self.newest[subject] >= self.first
            }
        self.first, self.served = self.number, 0

    def _ground(self) -> dict[str, Any]:
        """What a cluster says of itself, and what those of its nodes that take new work say."""
        ground: dict[str, Any] = {}
        for name, fact in self.all("cluster").items():
            nodes = {
                node.name: replace(node, uid=None, revision=None, region="", zone="")
                for node in self.nodes(name)
            }
            until = self.grace_until.get(name)
            ground[name] = [fact.ready, fact.region, fact.labels, until or fact.ready, nodes]
        return ground

    def nodes(self, name: str) -> list[Any]:
        """The nodes of a cluster that take new work."""
        return [
            node
            for key, node in self.all("node").items()
            if node.cluster == name
            and node.ready
            and node.schedulable
            and not self.is_reclaimed(key)
        ]

    def shares(self, subject: str) -> dict[str, int]:
        """How many of a workload each cluster is to hold: as divided last, or where it says."""
        fact = self.fact("workload", subject)
        if fact is None or (fact.kind == "Job" and fact.queue is not None):
            return {}
        if fact.division is None:
            return {fact.cluster: fact.replicas} if fact.cluster and fact.replicas else {}
        last = self.last.get(subject)
        return dict(last.allocation) if last is not None and last.in_force else {}

    def _claims(self) -> dict[str, list[int]]:
        """Bound cpu, memory, storage, pods and devices of all shares not on nodes, by cluster."""
        claims: dict[str, list[int]] = {}
        for subject, fact in self.all("workload").items():
            each = fact.request
            one = (each.cpu if each.cpu_bind else 0, each.memory, in_storage(each), 1)
            for name, share in self.shares(subject).items():
                count = share - self.book.count_of(subject, name)
                held = claims.setdefault(name, [0, 0, 0, 0, 0])
                for place, amount in enumerate((*one, on_devices(each))):
                    held[place] += amount * max(0, count)
        return claims

    def _room(self) -> dict[str, dict[tuple[str, object], int]]:
        """All that is free on each cluster's nodes, and what is promised of it, as a debt."""
        room: dict[str, dict[tuple[str, object], int]] = {}
        for key, node in self.all("node").items():
            for amount, left in self.book.free(key).amounts().items():
                room.setdefault(node.cluster, {})[key, amount] = left
        for name, claims in self._claims().items():
            for place, claimed in enumerate(claims):
                room.setdefault(name, {})["claims", place] = -claimed
        return room

    def _look_for_room(self) -> None:
        """Whoever was refused is told of all that is free and was not when last looked at."""
        before, self.room_seen = self.room_seen, self._room()
        freed = set()
        for name, amounts in before.items():
            for what, left in amounts.items():
                # Claims that are gone are none; a node that is gone left nothing.
                gone = 0 if what[0] == "claims" else left
                if self.room_seen.get(name, {}).get(what, gone) > left:
                    freed.add(name)
        self._grew(freed)

    def _grew(self, names: set[str]) -> None:
        concerned = [
            subject
            for subject in self.refused
            if names & set(self._candidates(cast("workload.DivisionSpec", self._wish(subject))))
        ]
        self._mark(concerned, "room")

    def _mark(self, subjects: list[str], why: str) -> None:
        for subject in subjects:
            if self.refused[subject][2] in {"nodes", "cluster"}:
                causes, _ = self.marks.get(subject, (set(), 0))
                self.marks[subject] = (causes | {why}, self.number)

    def _available(self, name: str, fact: workload.WorkloadUpserted) -> int:
        """How many more fit on a cluster: on its nodes one by one, and beside what is promised."""
        each, deploy = fact.request, fact.deploy
        selector = set() if deploy is None else set(deploy.node_selector)
        nodes = [node for node in self.nodes(name) if selector <= set(node.labels)]
        if not self.fact("cluster", name).ready or not nodes:
            return 0
        self.book.asking = f"{fact.namespace}/{fact.name}", name
        free = [self.book.free(f"{name}/{node.name}") for node in nodes]
        self.book.asking = None
        max_share = -1 if deploy is None else deploy.max_share
        fits = [self.fits(one, each, max_share) for one in free]
        cpu, memory, storage, pods, devices = self._claims().get(name, [0, 0, 0, 0, 0])
        limits = [sum(fits), INFINITE]
        if each.cpu_bind:
            limits.append((sum(max(0, one.milli) for one in free) - cpu) // each.cpu)
        if each.memory:
            limits.append((sum(max(0, one.memory) for one in free) - memory) // each.memory)
        if in_storage(each):
            left = sum(max(0, one.storage) for one in free) - storage
            limits.append(left // in_storage(each))
        if on_devices(each):
            left = sum(
                max(0, size - one.used.get(device, 0))
                for one in free
                for device, size in one.devices.items()
            )
            limits.append((left - devices) // on_devices(each))
        if all(one.pods is not None for one in free):
            limits.append(sum(max(0, one.pods or 0) for one in free) - pods)
        return max(0, min(limits))

    def fits(self, free: Free, each: workload.Request, max_share: int) -> int:
        """How many instances fit on a node with so much free."""
        most, _ = plans(
            free, each, max_share=max_share, max_deploy=self.setting("placement.max_deploy", 1000)
        )
        return most

    def _questions(self) -> dict[str, list[Any]]:
        """Life, wish, replicas and candidates of everybody who wants to be divided."""
        questions: dict[str, list[Any]] = {}
        for subject, fact in self.all("workload").items():
            spec = self._wish(subject)
            if spec is not None:
                life = self.beings["workload"][subject].life
                questions[subject] = [life, spec, fact.replicas, self._candidates(spec)]
        return questions

    def _end(self, subject: str) -> None:
        """A wish is over, and with it its places and its refusal."""
        last = self.last.get(subject)
        if last is not None and last.in_force:
            self.ended.append(("division", subject, last.number))
            last.in_force = False
        if subject in self.refused:
            self.ended.append(("refusal", subject, self.refused.pop(subject)[0]))
            self.marks.pop(subject, None)
        self.waiting.pop(subject, None)

    # What happens.

    def _happen(self, fact: Fact, subject: str, source: str) -> None:
        for restate in self.book.restating:
            restate()
        self._apply(fact, subject, source)
        if self.effect == "applied":
            for part in self.parts:
                part.heard(fact, subject)
        for listen in self.listeners:
            listen(fact, subject)
        for part in self.parts:
            part.folded()

    def _apply(self, fact: Fact, subject: str, source: str) -> None:
        match fact:
            case cluster.ClusterUpserted():
                before = self.beings["cluster"].get(subject)
                was_life = before.life if before is not None and before.fact is not None else None
                was_ready = before is not None and before.fact is not None and before.fact.ready
                self._upsert("cluster", subject, fact, source)
                if self.effect == "applied":
                    same = self.beings["cluster"][subject].life == was_life
                    if fact.ready or not same:
                        self.grace_until.pop(subject, None)
                    if not fact.ready and same and was_ready and self.grace_ms:
                        self.grace_until[subject] = self.now + self.grace_ms * 1000
            case cluster.ClusterRemoved():
                self._remove("cluster", subject, fact.uid, fact.revision, source)
                if self.effect == "applied":
                    self.grace_until.pop(subject, None)
                    for noun in ("node", "disk", "pod", "replicaset"):
                        for key, there in self.all(noun).items():
                            if there.cluster == subject:
                                self._bury(noun, key)
                                self.node_grace_until.pop(key, None)
            case cluster.NodeUpserted():
                self._node_upserted(fact, subject, source)
            case cluster.NodeRemoved():
                self._remove("node", subject, fact.uid, fact.revision, source)
                if self.effect == "applied":
                    self._without_node(subject)
            case cluster.NodeReclaiming():
                self._name("node", subject, fact.uid)
                if self.effect == "applied":
                    node = self.beings["node"][subject]
                    self.effect = "no_effect" if node.reclaimed == node.life else "applied"
                    node.reclaimed = node.life
            case cluster.InventoryListed():
                gone = [
                    key
                    for key, there in self.all(fact.noun).items()
                    if there.cluster == fact.cluster
                    and key not in fact.keys
                    and (fact.through is None or self.beings[fact.noun][key].at <= fact.through)
                ]
                for key in gone:
                    self._bury(fact.noun, key)
                    if fact.noun == "node":
                        self._without_node(key)
                self.effect = "applied" if gone else "no_effect"
            case workload.WorkloadUpserted():
                was = self.beings["workload"].get(subject)
                life = None if was is None or was.fact is None else was.life
                self._upsert("workload", subject, fact, source)
                if self.effect == "applied" and self.beings["workload"][subject].life != life:
                    self._forget_results(subject)
            case workload.WorkloadRemoved():
                self._remove("workload", subject, fact.uid, fact.revision, source)
                if self.effect == "applied":
                    self._forget_results(subject)
            case workload.WorkloadRescheduled():
                self._name("workload", subject, fact.uid)
            case workload.JobFinished():
                self._name("workload", subject, fact.uid)
                job = self.fact("workload", subject)
                if self.effect == "applied" and (
                    job.kind != "Job" or (fact.task is not None and fact.task >= job.replicas)
                ):
                    self.effect = "no_effect"
            case workload.PodObserved():
                self._upsert("pod", subject, fact, source)
            case workload.PodDeleted():
                self._remove("pod", subject, fact.uid, fact.revision, source)
            case workload.ReplicaSetUpserted():
                self._upsert("replicaset", subject, fact, source)
            case quota.QueueUpserted():
                self._upsert("queue", subject, fact, source)
            case quota.QueueRemoved():
                self._remove("queue", subject, fact.uid, fact.revision, source)
            case quota.QuotaUpserted():
                self._upsert("quota", subject, fact, source)
            case quota.QuotaRemoved():
                self._remove("quota", subject, fact.uid, fact.revision, source)
            case disk.DiskUpserted():
                self._upsert("disk", subject, fact, source)
            case disk.DiskRemoved():
                self._remove("disk", subject, fact.uid, fact.revision, source)
            case disk.VolumeUpserted():
                self._upsert("volume", subject, fact, source)
            case disk.VolumeRemoved():
                self._remove("volume", subject, fact.uid, fact.revision, source)
            case disk.ReplicaFailed() | disk.ReplicaRecovered():
                self._name("volume", fact.volume, fact.uid)
            case PolicyChanged():
                for path, value in fact.change:
                    self.settings[path] = value
                    if path == "fairshare.history" and value is None:
                        for name in [name for name in self.settings if name.startswith(f"{path}.")]:
                            del self.settings[name]
                    elif path.startswith("fairshare.history."):
                        self.settings["fairshare.history"] = True
                    elif path == "hold":
                        self.hold = bool(value)
                    elif path == "grace.cluster_ms":
                        self.grace_ms = cast("int", value or 0)
                    elif path == "division.inertia":
                        self.inertia = value or "minimal"
                    elif path == "division.kappa":
                        self.kappa = value
                    elif path == "retry.max_subjects":
                        self.max_subjects = cast("int", value or 64)
            case _:
                pass

    def _node_upserted(self, fact: cluster.NodeUpserted, key: str, source: str) -> None:
        being = self.beings["node"].get(key)
        was = None if being is None or being.fact is None else (being.life, being.fact.ready)
        self._upsert("node", key, fact, source)
        if self.effect != "applied":
            return
        same = was is not None and self.beings["node"][key].life == was[0]
        if fact.ready or not same:
            self.node_grace_until.pop(key, None)
        grace = self.setting("grace.node_ms", 0)
        if not fact.ready and same and was is not None and was[1] and grace:
            self.node_grace_until[key] = self.now + grace * 1000

    def _without_node(self, key: str) -> None:
        self.node_grace_until.pop(key, None)
        for disk_key, there in self.all("disk").items():
            if f"{there.cluster}/{there.node}" == key:
                self._bury("disk", disk_key)

    def _name(self, noun: str, subject: str, uid: str | None) -> None:
        """An event that only names an object does something if it means the life in force."""
        being = self.beings[noun].get(subject)
        if being is None:
            self.effect = "no_effect"
        elif uid in being.dead:
            self.effect = "stale"
        elif being.fact is None or uid not in {None, being.uid}:
            self.effect = "no_effect"

    def _upsert(self, noun: str, subject: str, fact: Any, source: str) -> None:
        being = self.beings[noun].get(subject)
        if being is None:
            self.lives += 1
            being = Being(fact.uid, fact, self.now, self.lives, self.position)
            self.beings[noun][subject] = being
        elif fact.uid in being.dead:
            self.effect = "stale"
            return
        elif fact.uid != being.uid:
            being.dead[being.uid] = None if being.fact is not None else being.at + DAY
            self.lives += 1
            being.uid, being.life, being.revisions = fact.uid, self.lives, {}
            being.born = self.position
        elif self._too_old(being, source, fact.revision):
            self.effect = "stale"
            return
        elif being.fact is None:
            self.lives += 1
            being.life = self.lives
            being.born = self.position
        being.fact = fact
        being.at = self.now
        if fact.revision is not None:
            being.revisions[source] = fact.revision

    def _remove(
        self, noun: str, subject: str, uid: str | None, revision: int | None, source: str
    ) -> None:
        being = self.beings[noun].get(subject)
        if being is None:
            self.effect = "no_effect"
        elif uid in being.dead:
            self.effect = "stale"
        elif uid is not None and uid != being.uid:
            self.effect = "no_effect"
        elif self._too_old(being, source, revision):
            self.effect = "stale"
        elif being.fact is None:
            self.effect = "no_effect"
        else:
            if revision is not None:
                being.revisions[source] = revision
            self._bury(noun, subject)

    def _too_old(self, being: Being, source: str, revision: int | None) -> bool:
        return (
            revision is not None
            and source in being.revisions
            and revision < being.revisions[source]
        )

    def _bury(self, noun: str, subject: str) -> None:
        self.beings[noun][subject].fact = None
        self.beings[noun][subject].at = self.now

    def _forget_results(self, subject: str) -> None:
        self._end(subject)
        self.last.pop(subject, None)
        self.epochs.pop(subject, None)

    def _forget_the_long_gone(self) -> None:
        everything = [
            (noun, subject, being)
            for noun, beings in self.beings.items()
            for subject, being in beings.items()
        ]
        for noun, subject, being in everything:
            if being.fact is None and being.at + DAY <= self.now:
                del self.beings[noun][subject]
                continue
            for uid, until in list(being.dead.items()):
                if until is not None and until <= self.now:
                    del being.dead[uid]
        # And what was decided about it, unless something is still held by that.
        for about in list(self.newest):
            name, _, place = about.partition("@")
            if not (
                any(name in self.beings[noun] for noun in ("workload", "volume"))
                or self.book.is_held(name, place)
                or any(holds(name) for holds in self.keepers)
            ):
                del self.newest[about]

    # What is decided.

    def _ask(self, due: dict[str, set[str]], grace_of: str | None) -> list[Told]:
        for subject, causes in due.items():
            self.waiting.setdefault(subject, set()).update(causes)
        if self.hold:
            return []
        touched, self.waiting = self.waiting, {}
        told: list[Told] = []
        asked: dict[str, int] = {}

        def ask(subject: str, causes: set[str], *, again: bool) -> bool:
            asked[subject] = self.number
            answer = self._decide(subject, causes, grace_of, again=again)
            if answer is None:
                return False
            told.append(answer)
            self.marks.pop(subject, None)
            self.served += again
            self._look_for_room()
            return answer.branch != "refused"

        def ask_again(but: set[str]) -> bool:
            some = False
            eligible = [
                subject
                for subject, (_, since) in self.marks.items()
                if subject not in but
                and self.newest[subject] < self.first
                and since > asked.get(subject, -1)
            ]
            for subject in sorted(eligible, key=lambda one: self.refused[one][0]):
                if self.served < self.max_subjects:
                    some |= ask(subject, self.marks[subject][0], again=True)
            return some

        some = ask_again(set(touched))
        for subject in bytewise(touched):
            some |= ask(subject, touched[subject], again=False)
        while some:
            some = ask_again(set())
        return told

    def _decide(
        self, subject: str, causes: set[str], grace_of: str | None, *, again: bool
    ) -> Told | None:
        fact = self.fact("workload", subject)
        spec = self._wish(subject)
        assert spec is not None
        names = [ClusterName(name) for name in self._candidates(spec)]
        epoch = self.epochs.get(subject, 0)
        last = self.last.get(subject)
        before = last.allocation if last is not None and last.in_force else {}
        lot = WatchedLot(Lot(self.salt, fact.uid, epoch))
        answer: dict[str, int] | str
        branch, moved = "refused", 0
        weights: dict[ClusterName, Weight] = {}
        waits_for = "cluster"
        if not names:
            answer = "no_candidate_cluster"
        elif spec.strategy != "static":
            answer, branch = self._divided(
                fact, spec, names, {ClusterName(c): n for c, n in before.items()}, causes
            )
            waits_for = "nodes" if answer == "insufficient_capacity" else "cluster"
        else:
            weights = {
                name: dict(spec.weights).get(name, Weight(0)) if spec.weights else Weight(1)
                for name in names
            }
            request = Request(
                replicas=fact.replicas,
                weights=weights,
                inertia=self.inertia,
                fresh="fresh" in causes,
                caps={name: cap for name, cap in spec.caps if name in names},
                capacities=None
                if self.kappa is None
                else {name: Replicas(self._available(name, fact)) for name in names},
                kappa=self.kappa,
            )
            remembered = None
            if last is not None and last.strategy == "static":
                remembered = Last(
                    {ClusterName(c): Replicas(n) for c, n in last.allocation.items()},
                    Replicas(last.replicas),
                    {ClusterName(c): Weight(w) for c, w in last.weights.items()},
                )
            found = division(request, remembered, cast("Lot", lot))
            if found is None:
                answer = "insufficient_capacity"
                waits_for = "cluster" if self._others_may_serve(fact, spec) else "specification"
            else:
                branch = found[0]
                answer = {str(name): count for name, count in found[1].items()}
        if isinstance(answer, str):
            if again or (
                subject in self.refused and self.refused[subject][1:] == (answer, waits_for)
            ):
                return None
            self.refused[subject] = (self.number, answer, waits_for)
        else:
            gained = sum(max(0, answer.get(c, 0) - before.get(c, 0)) for c in answer)
            lost = sum(max(0, before[c] - answer.get(c, 0)) for c in before)
            moved = min(gained, lost)
            self.refused.pop(subject, None)
            self.last[subject] = LastResult(
                self.number,
                fact.replicas,
                {str(name): int(weight) for name, weight in weights.items()},
                answer,
                spec.strategy,
            )
            if lot.read:
                self.epochs[subject] = epoch + 1
        told = Told(
            number=self.number,
            position=self.position,
            grace_of=grace_of,
            subject=subject,
            branch=branch,
            answer=answer,
            moved=moved,
            epoch=epoch if lot.read else None,
            previous=self.newest.get(subject),
            because=sorted(causes),
        )
        self.newest[subject] = self.number
        self.number += 1
        return told

    def _others_may_serve(
        self, fact: workload.WorkloadUpserted, spec: workload.DivisionSpec
    ) -> bool:
        """Whether any clusters that may come, known or not, would serve what caps are too small for."""
        told, caps = dict(spec.weights), dict(spec.caps)
        may_come = set(spec.clusters) or (set() if spec.cluster_selector else set(told))
        if not may_come:
            may_come = {*told, ClusterName("never heard of")}
        here = [ClusterName(name) for name in self._candidates(spec)]
        absent = bytewise(may_come.difference(here))
        for many in range(1, len(absent) + 1):
            for some in combinations(absent, many):
                there = {one: told.get(one, 0) if told else 1 for one in (*here, *some)}
                served = {one for one in there if there[one]} or set(there)
                if not served <= caps.keys():
                    return True
                if sum(caps[one] for one in served) >= fact.replicas:
                    return True
        return False

    def _divided(
        self,
        fact: workload.WorkloadUpserted,
        spec: workload.DivisionSpec,
        names: list[ClusterName],
        held: dict[ClusterName, int],
        causes: set[str],
    ) -> tuple[dict[str, int] | str, str]:
        """Who gets how many by any strategy but static, and by which branch; or why nobody does."""
        fresh = "fresh" in causes
        room = {name: self._available(name, fact) for name in names}
        if spec.spread_clusters is not None or spec.spread_regions is not None:
            chosen = self._selected(fact, spec, names, room, held, fresh=fresh)
            if isinstance(chosen, str):
                return chosen, "refused"
            names = bytewise(chosen)
        found: dict[ClusterName, int] | None
        if spec.strategy == "webster":
            told = dict(spec.weights)
            weights = {name: int(told.get(name, 0)) if told else 1 for name in names}
            found, branch = (
                division_model.webster(fact.replicas, weights, {}, fact.uid),
                "apportioned",
            )
        elif spec.strategy == "duplicated":
            found, branch = {name: int(fact.replicas) for name in names}, "duplicated"
        else:
            found = division_model.dynamic(
                fact.replicas,
                {name: room[name] for name in names},
                held,
                fact.uid,
                aggregated=spec.strategy == "aggregated",
                fresh=fresh,
            )
            here = sum(held.get(name, 0) for name in names)
            branch = "scale_up" if here < fact.replicas else "scale_down"
            if here == fact.replicas:
                branch = "keep"
            if fresh:
                branch = "fresh"
        if found is None:
            return "insufficient_capacity", "refused"
        answer = {str(name): count for name, count in found.items() if count}
        subject = f"{fact.namespace}/{fact.name}"
        last = self.last.get(subject)
        if branch in {"apportioned", "duplicated"} and last is not None and last.in_force:
            branch = "keep" if answer == last.allocation else branch
        return answer, branch

    def _selected(
        self,
        fact: workload.WorkloadUpserted,
        spec: workload.DivisionSpec,
        names: list[ClusterName],
        room: dict[ClusterName, int],
        held: dict[ClusterName, int],
        *,
        fresh: bool,
    ) -> list[ClusterName] | str:
        score = {name: 100 if held.get(name) and not fresh else 0 for name in names}
        row = [(0, score[name], room[name] + held.get(name, 0), name) for name in names]
        bound = spec.spread_clusters or workload.Bounds(0, None)
        if spec.spread_regions is None:
            need = None if spec.strategy == "duplicated" else int(fact.replicas)
            chosen = division_model.by_cluster(row, bound.least, bound.most, need)
        else:
            spread = spec.spread_regions
            part = -(-fact.replicas // max(1, spread.least))
            regions = {}
            for region in {self.fact("cluster", name).region for name in names} - {""}:
                inside = [one for one in row if self.fact("cluster", one[3]).region == region]
                mean = sum(one[1] for one in inside) // len(inside)
                fits = sum(one[2] for one in inside)
                regions[region] = (min(part, fits) * 1000 + mean, inside)
            chosen = division_model.by_region(
                regions, (spread.least, spread.most), (bound.least, bound.most)
            )
        return chosen or "too_few_clusters"
