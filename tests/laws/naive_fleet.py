"""A slow, literal fleet: what the pages say about events and questions, with nothing clever in it.

It keeps plain dictionaries and changes them. There is no index: before and after each event every
workload's candidates are worked out from all clusters, and whoever's differ is asked. There is no
queue: deadlines and tombstones are found by looking at everything. It shares no code with the
reducers or the decisions, and divides with the literal division of ``tests.laws.model``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from ledger.core.division.static_weight import Last, Request
from ledger.core.lot import Lot
from ledger.facts import cluster, quota, workload
from ledger.facts.control import PolicyChanged
from ledger.facts.event import Fact
from ledger.units import ClusterName, Replicas, Weight
from tests.laws.model import bytewise, division

DAY = 24 * 60 * 60 * 1_000_000

ObjectKey = tuple[str, str]


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
    revisions: dict[str, int] = field(default_factory=dict)
    dead: dict[str, int | None] = field(default_factory=dict)


@dataclass(slots=True)
class LastResult:
    """What was decided last about a workload."""

    number: int
    replicas: int
    weights: dict[str, int]
    allocation: dict[str, int]
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
    beings: dict[ObjectKey, Being] = field(default_factory=dict)
    grace_until: dict[str, int] = field(default_factory=dict)
    hold: bool = False
    grace_ms: int = 0
    inertia: Any = "minimal"
    last: dict[str, LastResult] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, set[str]] = field(default_factory=dict)
    number: int = 0
    effect: str = ""
    ended: list[tuple[str, str, int]] = field(default_factory=list)

    def add(self, fact: Fact, *, subject: str, source: str, at: int) -> list[Told]:
        """One event, and what is decided because of it."""
        told: list[Told] = []
        while self.grace_until and min(self.grace_until.values()) <= at:
            first = min(self.grace_until.values())
            name = bytewise([n for n in self.grace_until if self.grace_until[n] == first])[0]
            self.now = first
            told += self._ask(self._due_after(partial(self.grace_until.pop, name)), name)
        self.now = at
        self._forget_the_long_gone()
        self.effect = "applied"
        self.ended = []
        due = self._due_after(lambda: self._apply(fact, subject, source))
        if (
            isinstance(fact, workload.WorkloadRescheduled)
            and self.effect == "applied"
            and self._wish(subject) is not None
        ):
            due.setdefault(subject, set()).add("fresh" if fact.fresh else "rescheduled")
        told += self._ask(due, None)
        self.position += 1
        return told

    # What there is.

    def _fact(self, noun: str, subject: str) -> Any:
        being = self.beings.get((noun, subject))
        return None if being is None else being.fact

    def _all(self, noun: str) -> dict[str, Any]:
        return {
            subject: being.fact
            for (of, subject), being in self.beings.items()
            if of == noun and being.fact is not None
        }

    def _wish(self, subject: str) -> workload.DivisionSpec | None:
        fact = self._fact("workload", subject)
        if fact is None or (fact.kind == "Job" and fact.queue is not None):
            return None
        return cast("workload.DivisionSpec | None", fact.division)

    def _candidates(self, spec: workload.DivisionSpec) -> list[str]:
        chosen = []
        for name, fact in self._all("cluster").items():
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
        change()
        after = self._questions()
        due: dict[str, set[str]] = {}
        for subject, (*edited, candidates) in after.items():
            was = before.get(subject)
            if was is None or edited != was[:-1]:
                due[subject] = {"edited"}
            elif candidates != was[-1]:
                due[subject] = {"candidates"}
        for subject in before:
            if subject not in after or before[subject][0] != after[subject][0]:
                self._end(subject)
        return due

    def _questions(self) -> dict[str, list[Any]]:
        """Life, wish, replicas and candidates of everybody who wants to be divided."""
        questions: dict[str, list[Any]] = {}
        for subject, fact in self._all("workload").items():
            spec = self._wish(subject)
            if spec is not None:
                life = self.beings["workload", subject].life
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
        self.waiting.pop(subject, None)

    # What happens.

    def _apply(self, fact: Fact, subject: str, source: str) -> None:
        match fact:
            case cluster.ClusterUpserted():
                before = self.beings.get(("cluster", subject))
                was_life = before.life if before is not None and before.fact is not None else None
                was_ready = before is not None and before.fact is not None and before.fact.ready
                self._upsert("cluster", subject, fact, source)
                if self.effect == "applied":
                    same = self.beings["cluster", subject].life == was_life
                    if fact.ready or not same:
                        self.grace_until.pop(subject, None)
                    if not fact.ready and same and was_ready and self.grace_ms:
                        self.grace_until[subject] = self.now + self.grace_ms * 1000
            case cluster.ClusterRemoved():
                self._remove("cluster", subject, fact.uid, fact.revision, source)
                if self.effect == "applied":
                    self.grace_until.pop(subject, None)
                    for noun in ("node", "disk"):
                        for key, there in self._all(noun).items():
                            if there.cluster == subject:
                                self._bury(noun, key)
            case cluster.NodeUpserted():
                self._upsert("node", subject, fact, source)
            case cluster.NodeRemoved():
                self._remove("node", subject, fact.uid, fact.revision, source)
            case cluster.InventoryListed():
                gone = [
                    key
                    for key, there in self._all(fact.noun).items()
                    if there.cluster == fact.cluster and key not in fact.keys
                ]
                for key in gone:
                    self._bury(fact.noun, key)
                self.effect = "applied" if gone else "no_effect"
            case workload.WorkloadUpserted():
                was = self.beings.get(("workload", subject))
                life = None if was is None or was.fact is None else was.life
                self._upsert("workload", subject, fact, source)
                if self.effect == "applied" and self.beings["workload", subject].life != life:
                    self._forget_results(subject)
            case workload.WorkloadRemoved():
                self._remove("workload", subject, fact.uid, fact.revision, source)
                if self.effect == "applied":
                    self._forget_results(subject)
            case workload.WorkloadRescheduled():
                being = self.beings.get(("workload", subject))
                if being is None:
                    self.effect = "no_effect"
                elif fact.uid in being.dead:
                    self.effect = "stale"
                elif being.fact is None or fact.uid not in {None, being.uid}:
                    self.effect = "no_effect"
            case quota.QueueUpserted():
                self._upsert("queue", subject, fact, source)
            case quota.QueueRemoved():
                self._remove("queue", subject, fact.uid, fact.revision, source)
            case PolicyChanged():
                for path, value in fact.change:
                    if path == "hold":
                        self.hold = bool(value)
                    elif path == "grace.cluster_ms":
                        self.grace_ms = cast("int", value or 0)
                    elif path == "division.inertia":
                        self.inertia = value or "minimal"
            case _:
                pass

    def _upsert(self, noun: str, subject: str, fact: Any, source: str) -> None:
        being = self.beings.get((noun, subject))
        if being is None:
            self.lives += 1
            being = Being(fact.uid, fact, self.now, self.lives)
            self.beings[noun, subject] = being
        elif fact.uid in being.dead:
            self.effect = "stale"
            return
        elif fact.uid != being.uid:
            being.dead[being.uid] = None if being.fact is not None else being.at + DAY
            self.lives += 1
            being.uid, being.life, being.revisions = fact.uid, self.lives, {}
        elif self._too_old(being, source, fact.revision):
            self.effect = "stale"
            return
        elif being.fact is None:
            self.lives += 1
            being.life = self.lives
        being.fact = fact
        being.at = self.now
        if fact.revision is not None:
            being.revisions[source] = fact.revision

    def _remove(
        self, noun: str, subject: str, uid: str | None, revision: int | None, source: str
    ) -> None:
        being = self.beings.get((noun, subject))
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
        self.beings[noun, subject].fact = None
        self.beings[noun, subject].at = self.now

    def _forget_results(self, subject: str) -> None:
        self._end(subject)
        self.last.pop(subject, None)
        self.epochs.pop(subject, None)

    def _forget_the_long_gone(self) -> None:
        for (noun, subject), being in list(self.beings.items()):
            if being.fact is None and being.at + DAY <= self.now:
                del self.beings[noun, subject]
                if noun == "workload":
                    self.newest.pop(subject, None)
            for uid, until in list(being.dead.items()):
                if until is not None and until <= self.now:
                    del being.dead[uid]

    # What is decided.

    def _ask(self, due: dict[str, set[str]], grace_of: str | None) -> list[Told]:
        for subject, causes in due.items():
            self.waiting.setdefault(subject, set()).update(causes)
        if self.hold:
            return []
        asked, self.waiting = self.waiting, {}
        told = []
        for subject in bytewise(asked):
            answer = self._decide(subject, asked[subject], grace_of)
            if answer is not None:
                told.append(answer)
        return told

    def _decide(self, subject: str, causes: set[str], grace_of: str | None) -> Told | None:
        fact = self._fact("workload", subject)
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
        if spec.strategy != "static":
            answer = "unsupported_strategy"
        elif not names:
            answer = "no_candidate_cluster"
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
            )
            remembered = None
            if last is not None:
                remembered = Last(
                    {ClusterName(c): Replicas(n) for c, n in last.allocation.items()},
                    Replicas(last.replicas),
                    {ClusterName(c): Weight(w) for c, w in last.weights.items()},
                )
            found = division(request, remembered, cast("Lot", lot))
            if found is None:
                answer = "insufficient_capacity"
            else:
                branch = found[0]
                answer = {str(name): count for name, count in found[1].items()}
                gained = sum(max(0, answer.get(c, 0) - before.get(c, 0)) for c in answer)
                lost = sum(max(0, before[c] - answer.get(c, 0)) for c in before)
                moved = min(gained, lost)
        if isinstance(answer, str):
            if subject in self.refused and self.refused[subject][1] == answer:
                return None
            self.refused[subject] = (self.number, answer)
        else:
            self.refused.pop(subject, None)
            self.last[subject] = LastResult(
                self.number,
                fact.replicas,
                {str(name): int(weight) for name, weight in weights.items()},
                answer,
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
