"""A slow, literal model of deployments: a cluster's share onto its nodes, instance by instance.

Whoever may be touched is found by comparing every subject's question with what it was, whoever may
be served although refused by comparing what every node has free. Nothing is decided on a copy of
the World: what a part of a turn tried and could not do is put back by hand.

How many fit where, and who gets how many, is asked of ``tests.laws.naive_book`` and
``tests.laws.placement_model``; a changed request on its node of the core, which has a model of its
own, and so is the target of on-demand pods.

Where the page is silent, the simplest reading:

- Targets are decided where deployments are: for workloads that say how they are deployed.
- A node that another uid names is another node: what the old one held is lost.
- The pods of a node do not say which instance they are, so the one lost on an unschedulable node
  is the highest there, and only while fewer pods are active than instances are held. Whether the pod
  ended before or after the node was cordoned does not matter; one that was never seen did not end.
- Pods are marked as given up by what a decision leaves on their node less than before.
- Pods beyond the instances hold their room until the turn is decided, against everybody but their
  own workload; what only changes hands with the decision is no growth.
- What is lost or reclaimed is one group of both classes, and so are movers.
- A refused reschedule is recorded each time and is never open, so it hides no other refusal.
- Whatever touches a subject that then has all it wants is recorded as kept, a changed share too
  (but for EACH), and so is the end of a refusal that nobody needs any more.
- Where nothing is held, and nothing was by the last decision, a refusal ends with the event that takes the
  share or the life away. Where something was, a decision says that it is no more.
- Whoever was lost and waits is still where it was, as far as it counts who moved; it may have been told of.
- Those are decided again who have a share or hold something when it is asked for, not who get a share
  by it. Who has nothing of its own, because a life that is over holds it all, is not among them.
- A share of nothing forgets the lost numbers, and the life its targets.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from ledger.core.capacity.amounts import Core, Device, NumaGroup
from ledger.core.capacity.cpu import CpuNode
from ledger.core.capacity.reallocation import Change, NoRoom, reallocate
from ledger.core.capacity.reallocation import Holding as Bindings
from ledger.core.capacity.request import InstanceRequest
from ledger.core.capacity.volume_reallocation import NoDevice, reallocate_volumes
from ledger.core.capacity.volume_requests import volume_requests
from ledger.core.capacity.volumes import Placed, VolumeNode
from ledger.core.placement import question
from ledger.core.spot.min_available import read_min_available
from ledger.core.spot.target import Workload, target
from ledger.facts.event import Fact
from ledger.facts.workload import DeploySpec, Request, WorkloadRescheduled, WorkloadUpserted
from ledger.units import NodeName
from tests.laws.model import bytewise
from tests.laws.naive_book import (
    UNBOUND,
    Bound,
    Free,
    Holding,
    decides,
    in_storage,
    instance_holding,
    plans,
    pod_of_set,
)
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_part import Moment, Said
from tests.laws.placement_model import answer as placed_by_model

Selector = tuple[tuple[str, str], ...]


class Question(NamedTuple):
    """What is wanted of a cluster for a workload."""

    life: int
    share: int
    request: Request
    deploy: DeploySpec


@dataclass(slots=True)
class Instance:
    """Where an instance is, and under what it was put or confirmed there."""

    node: str
    node_life: int
    request: Request
    selector: Selector
    bound: Bound


@dataclass(slots=True)
class Standing:
    """What is in force for a subject."""

    life: int
    held: dict[int, Instance] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    """Numbers whose instance was lost and not replaced."""
    ordered: bool = False
    """An order of EACH is open."""
    lost_from: dict[int, str] = field(default_factory=dict)
    """Where numbers were that were lost, whether they still are or not."""
    told: Counter[str] = field(default_factory=Counter)
    """How many on each node, as decided last."""
    places: Counter[str] = field(default_factory=Counter)
    """The same with those that were lost and waited, where they had been."""

    def numbers(self) -> dict[str, set[int]]:
        """Which numbers are on each node now."""
        return {
            node: {number for number, one in self.held.items() if one.node == node}
            for node in self.count()
        }

    def count(self) -> Counter[str]:
        """How many are on each node now."""
        return Counter(one.node for one in self.held.values())


class Refused(NamedTuple):
    """An open refusal."""

    number: int
    reason: str
    waits_for: str
    life: int
    """Of the workload."""


class Rule(NamedTuple):
    """How new nodes are chosen."""

    strategy: Any
    limit: int


@dataclass(slots=True)
class Turn:
    """One subject while it is asked."""

    subject: str
    workload: str
    cluster: str
    fact: WorkloadUpserted
    share: int
    deploy: DeploySpec
    standing: Standing
    on_demand: set[int] | None = None
    """The numbers that go to on-demand nodes; None: classes do not matter."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Code and what it waits for, part by part."""
    fill_asked: bool = False
    fresh: bool = False
    fresh_refused: str | None = None


@dataclass(slots=True)
class NaiveDeployments:
    """Deployments, and the targets of on-demand pods before them."""

    fleet: NaiveFleet
    standing: dict[str, Standing] = field(default_factory=dict)
    refused: dict[str, Refused] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)
    """Who was refused and may be served: something grew since."""
    touched: dict[str, set[str]] = field(default_factory=dict)
    targets: dict[str, tuple[int, int | None, tuple[str, ...]]] = field(default_factory=dict)
    last_valid: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The newest annotation of a workload's life that could be read."""
    classes_touched: set[str] = field(default_factory=set)
    known: dict[str, Question] = field(default_factory=dict)
    known_lives: dict[str, int] = field(default_factory=dict)
    known_classes: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    known_kinds: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """Of whom a target is, by which even those who have none said have one: a lone replica's is one."""
    known_pods: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    known_reclaimed: set[tuple[str, int]] = field(default_factory=set)
    known_ground: dict[str, Any] = field(default_factory=dict)
    known_free: dict[str, dict[str, int]] = field(default_factory=dict)
    known_ways: Any = None
    closing_pass: set[str] = field(default_factory=set)
    """Who was refused and may be served by what the evictions of a round set free."""
    decided: set[str] = field(default_factory=set)
    """Who was decided about in this event."""
    began_with: dict[str, dict[str, set[int]]] = field(default_factory=dict)
    """Which numbers those who were asked in this event held on each node before."""
    gave_up: set[str] = field(default_factory=set)
    """Who gave something up before their turn."""
    bereft: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many pods ended for which no other came, by subject and node."""

    def __post_init__(self) -> None:
        self.fleet.parts.append(self)
        self.fleet.book.holders.append(self)
        self.fleet.book.undecided.append(self._before_turn)

    # What the fleet and its book ask.

    def moments(self) -> list[Moment]:
        """The graces of nodes are the fleet's own."""
        return []

    def fired(self, moment: Moment) -> None:
        """Only what follows matters."""

    def heard(self, fact: Fact, subject: str) -> None:
        """Somebody wants a workload decided again."""
        if isinstance(fact, WorkloadRescheduled):
            life = self.fleet.life("workload", subject)
            holding = {
                about
                for about, standing in self.standing.items()
                if standing.held and standing.life == life
            }
            for about in self.known.keys() | holding:
                if about.split("@")[0] == subject:
                    way = "fresh" if fact.fresh else "rescheduled"
                    self.touched.setdefault(about, set()).add(way)
        if isinstance(fact, WorkloadUpserted):
            text, life = fact.min_available, self.fleet.life("workload", subject)
            if read_min_available(text, replicas=1).pods is not None and text is not None:
                self.last_valid[subject] = (life, text)

    def settled(self) -> None:
        """Nothing waits for the other kinds."""

    def holdings(self, node: str) -> Iterator[Holding]:
        """Every instance on a node, under the request recorded with it."""
        for subject, standing in self.standing.items():
            for one in standing.held.values():
                if one.node == node:
                    yield instance_holding(subject.split("@")[0], one.request, one.bound)

    def count_of(self, workload: str, cluster: str) -> int:
        """How many instances are held by the life that is in force."""
        standing = self.standing.get(f"{workload}@{cluster}")
        if standing is None or standing.life != self.fleet.life("workload", workload):
            return 0
        return len(standing.held)

    def numbers_of(self, workload: str, node: str) -> list[int]:
        """Which instances are on a node, of whichever life."""
        standing = self.standing.get(f"{workload}@{node.split('/', maxsplit=1)[0]}")
        held = {} if standing is None else standing.held
        return [number for number, one in held.items() if one.node == node]

    def _before_turn(self, workload: str, node: str) -> int | None:
        """How many a subject in its turn held on a node before; None where none is in its turn."""
        began_with = self.began_with.get(f"{workload}@{node.split('/', maxsplit=1)[0]}")
        return None if began_with is None else len(began_with.get(node, ()))

    # What follows from an event before anybody is asked.

    def folded(self) -> None:
        """See who is lost, who is touched and what grew."""
        self._touch()
        self._lose_with_nodes()
        self._lose_with_pods()
        self._see_reclaimed()
        self._look_for_growth()

    def _lose_with_nodes(self) -> None:
        for subject, standing in list(self.standing.items()):
            for number, one in sorted(standing.held.items()):
                being = self.fleet.beings["node"].get(one.node)
                stays = (
                    being is not None
                    and being.fact is not None
                    and being.life == one.node_life
                    and (being.fact.ready or one.node in self.fleet.node_grace_until)
                )
                if not stays:
                    self._lose(subject, number)

    def _lose(self, subject: str, number: int) -> None:
        standing = self.standing[subject]
        standing.lost_from[number] = standing.held.pop(number).node
        if subject in self.known and self.known[subject].life == standing.life:
            standing.lost.add(number)
            self.touched.setdefault(subject, set()).add("lost")

    def _lose_with_pods(self) -> None:
        before, self.known_pods = self.known_pods, {}
        for key, pod in self.fleet.all("pod").items():
            dead = pod.terminating or pod.phase == "Failed"
            name, kind = self.fleet.book.owner_of(pod)
            where = f"{pod.cluster}/{pod.node}", f"{name}@{pod.cluster}"
            self.known_pods[key] = (self.fleet.life("pod", key), *where, dead, kind)
        self.fleet.book.count_again()
        gone = []
        for key in bytewise(before.keys() | self.known_pods.keys()):
            was, is_ = before.get(key), self.known_pods.get(key)
            if was is not None and not was[3] and (is_ is None or is_[0] != was[0]):
                gone.append((key, was))
            if is_ is not None and is_[3] and (was is None or was[0] != is_[0] or not was[3]):
                gone.append((key, is_))
        for key, (life, node, subject, _, kind) in gone:
            above = self.fleet.fact("workload", subject.split("@")[0])
            if above is None or above.kind != kind or not decides(above):
                continue
            if (key, life) not in self.fleet.book.given_up:
                self.bereft[subject, node] += 1
        for subject, node in sorted(self.bereft):
            self._see_bereft(subject, node)
            fact = self.fleet.fact("node", node)
            if fact is not None and not fact.schedulable:
                for _ in range(self.bereft.pop((subject, node), 0)):
                    self._lose(subject, self._bereft_number(subject, node))

    def _bereft_number(self, subject: str, node: str) -> int:
        """Of a set the one whose pod is not there; else, and of several, the last."""
        name = subject.split("@", 1)[0]
        numbers = self.numbers_of(name, node)
        if self._is_set(name):
            fact = self.fleet.fact("workload", name)
            there = {pod.split("/")[-1] for pod in self.fleet.book.pods_of(name, node)}
            without = [one for one in numbers if pod_of_set(fact, one) not in there]
            return max(without or numbers)
        return max(numbers)

    def _is_set(self, name: str) -> bool:
        fact = self.fleet.fact("workload", name)
        return fact is not None and fact.kind == "StatefulSet"

    def _see_bereft(self, subject: str, node: str) -> None:
        """No more instances are without a pod than there are more instances than pods."""
        standing = self.standing.get(subject)
        there = 0 if standing is None else standing.count()[node]
        active = len(self.fleet.book.pods_of(subject.split("@", maxsplit=1)[0], node))
        self.bereft[subject, node] = min(self.bereft[subject, node], max(0, there - active))

    def _see_reclaimed(self) -> None:
        reclaimed = {
            (key, self.fleet.life("node", key))
            for key in self.fleet.all("node")
            if self.fleet.is_reclaimed(key)
        }
        for subject, standing in self.standing.items():
            for one in standing.held.values():
                if (one.node, one.node_life) in reclaimed - self.known_reclaimed:
                    self.touched.setdefault(subject, set()).add("reclaiming")
        self.known_reclaimed = reclaimed

    def _end_refusal(self, subject: str) -> None:
        if subject in self.refused:
            self.fleet.ended.append(("refusal", subject, self.refused.pop(subject).number))
            self.marks.discard(subject)

    def _questions(self) -> dict[str, Question]:
        questions = {}
        for name, fact in self.fleet.all("workload").items():
            if fact.deploy is not None:
                life = self.fleet.life("workload", name)
                for cluster, share in self.fleet.shares(name).items():
                    if share:
                        subject = f"{name}@{cluster}"
                        questions[subject] = Question(life, share, fact.request, fact.deploy)
        return questions

    def _class_questions(self) -> dict[str, tuple[Any, ...]]:
        questions = {}
        for name, fact in self.fleet.all("workload").items():
            if fact.min_available is not None and fact.deploy is not None:
                life = self.fleet.life("workload", name)
                for cluster, share in self.fleet.shares(name).items():
                    if share:
                        asked = (life, share, fact.min_available, fact.kind)
                        questions[f"{name}@{cluster}"] = asked
        return questions

    def _kinds(self) -> dict[str, tuple[Any, ...]]:
        kinds = {}
        for name, fact in self.fleet.all("workload").items():
            life = self.fleet.life("workload", name)
            for cluster, share in self.fleet.shares(name).items():
                if share:
                    kinds[f"{name}@{cluster}"] = (life, fact.min_available, fact.kind)
        return kinds

    def _touch(self) -> None:
        self._forget_the_dead()
        before, self.known = self.known, self._questions()
        for subject in before.keys() | self.known.keys():
            was, is_ = before.get(subject), self.known.get(subject)
            if was == is_:
                continue
            causes = self.touched.setdefault(subject, set())
            standing = self.standing.get(subject)
            began = is_ is not None and (was is None or was.life != is_.life)
            if standing is not None and (is_ is None or (began and is_.life != standing.life)):
                standing.lost, standing.ordered = set(), False
                if not (standing.held or standing.told):
                    self._end_refusal(subject)
                    del self.standing[subject]
            if is_ is None:
                causes.add("share")
                continue
            standing = self.standing.setdefault(subject, Standing(is_.life))
            if was is None or was.life != is_.life or was[2:] != is_[2:]:
                causes.add("edited")
            if was is None or was.share != is_.share:
                causes.add("share")
            if is_.deploy.strategy != "EACH":
                standing.ordered = False
            elif was is None or was.life != is_.life or order(was) != order(is_):
                standing.ordered = True
        classes, self.known_classes = self.known_classes, self._class_questions()
        for subject in classes.keys() | self.known_classes.keys():
            if classes.get(subject) != self.known_classes.get(subject):
                self.classes_touched.add(subject)
                if subject in self.refused:
                    self._mark(subject)
        kinds, self.known_kinds = self.known_kinds, self._kinds()
        for subject in kinds.keys() & self.known_kinds.keys() & self.refused.keys():
            if kinds[subject] != self.known_kinds[subject]:
                self._mark(subject)

    def _forget_the_dead(self) -> None:
        """What a life was to be asked the next one is not."""
        lives = {name: self.fleet.life("workload", name) for name in self.fleet.all("workload")}
        for subject, causes in self.touched.items():
            name = subject.split("@")[0]
            if self.known_lives.get(name) != lives.get(name):
                causes.clear()
        self.known_lives = lives

    def _look_for_growth(self) -> None:
        ground: dict[str, Any] = {}
        for name, fact in self.fleet.all("cluster").items():
            ground[name] = [unnumbered(fact)]
        for key, node in sorted(self.fleet.all("node").items()):
            told = (unnumbered(node), self.fleet.is_reclaimed(key))
            ground.setdefault(node.cluster, []).append(told)
        free = self._free()
        ways = {
            path: value
            for path, value in self.fleet.settings.items()
            if path.startswith(("placement", "spot"))
        }
        grown = {name for name in ground if ground[name] != self.known_ground.get(name)}
        for key, amounts in free.items():
            was = self.known_free.get(key, {})
            if any(left > was.get(what, left) for what, left in amounts.items()):
                grown.add(key.split("/")[0])
        for subject in self.refused:
            if ways != self.known_ways or subject.split("@")[1] in grown:
                self._mark(subject)
        self.known_ground, self.known_free, self.known_ways = ground, free, ways

    def _free(self) -> dict[str, dict[str, int]]:
        return {key: self.fleet.book.free(key).amounts() for key in self.fleet.all("node")}

    def _mark(self, subject: str) -> None:
        if self.refused[subject].waits_for == "nodes":
            self.marks.add(subject)

    # What is decided.

    def decide(self, moment: Moment | None) -> list[Said]:
        """Targets, then whoever gives up, is served although refused, or is touched."""
        said = self.targets_decided(moment)
        touched, self.touched = self.touched, {}
        self.decided, self.gave_up, self.began_with = set(), set(), {}
        for subject in bytewise(touched):
            said += self._give_up(subject, touched[subject], moment)
        some = self._again(set(touched), said, moment)
        for subject in bytewise(touched):
            if subject not in self.decided:
                some |= self._ask(subject, touched[subject], said, moment, again=False)
        while some:
            some = self._again(set(), said, moment)
        for subject in [one for one in self.standing if one not in self.known]:
            del self.standing[subject]
        self.began_with = {}
        return said

    def unblocked(self) -> None:
        """A task was evicted: who was refused may be served by what it held."""
        before, self.marks = self.marks, set()
        self._look_for_growth()
        self.closing_pass |= self.marks
        self.marks |= before

    def closing(self, moment: Moment | None) -> list[Said]:
        """One pass over what the evictions of a round set free, for nobody else."""
        said: list[Said] = []
        unblocked, self.closing_pass = self.closing_pass, set()
        self._again(self.marks - unblocked, said, moment)
        # They were asked beside what the round placed: from there on it is growth.
        self.known_free = self._free()
        return said

    def targets_decided(self, moment: Moment | None) -> list[Said]:
        """Targets alone; what is told here is not told again."""
        self._touch()
        self._look_for_growth()
        said = []
        for subject in bytewise(self.classes_touched):
            if subject not in self.known_classes:
                continue
            name, cluster = subject.split("@")
            fact = self.fleet.fact("workload", name)
            found = self._target(fact, self.fleet.shares(name)[cluster])
            now = (self.fleet.life("workload", name), *found)
            if self.targets.get(subject) != now:
                self.targets[subject] = now
                made = self._say("capacity_class", subject, moment)
                made.rows = {"target": str(found[0]), **dict.fromkeys(found[1], "")}
                said.append(made)
        self.classes_touched = set()
        return said

    def _target(self, fact: WorkloadUpserted, share: int) -> tuple[int | None, tuple[str, ...]]:
        name = f"{fact.namespace}/{fact.name}"
        life, text = self.last_valid.get(name, (0, None))
        found = target(
            Workload(
                fact.kind,
                share,
                fact.min_available,
                text if life == self.fleet.life("workload", name) else None,
            ),
            default=self.fleet.setting("spot.default_min_available", None),
            strictness=self.fleet.setting("spot.strictness", "clamp"),
        )
        return found.pods, found.flags

    def _say(self, kind: str, subject: str, moment: Moment | None) -> Said:
        number, previous = self.fleet.next_number(subject)
        ran_out = None if moment is None else (moment.kind, moment.subject)
        return Said(number, self.fleet.position, ran_out, kind, subject, previous)

    def _again(self, but: set[str], said: list[Said], moment: Moment | None) -> bool:
        """Ask those for whom something grew, the oldest refusal first; whether anybody was served."""
        some = False
        able = [one for one in self.marks if one not in but and one not in self.decided]
        for subject in sorted(able, key=lambda one: self.refused[one].number):
            if self.fleet.served < self.fleet.max_subjects:
                served = self._ask(subject, set(), said, moment, again=True)
                self.fleet.served += served
                some |= served
        return some

    def _turn(self, subject: str) -> Turn | None:
        """Nothing where nothing is wanted any more."""
        wanted = self.known.get(subject)
        if wanted is None:
            return None
        name, cluster = subject.split("@")
        fact = self.fleet.fact("workload", name)
        standing = self.standing[subject]
        return Turn(subject, name, cluster, fact, wanted.share, wanted.deploy, standing)

    def _give_up(self, subject: str, causes: set[str], moment: Moment | None) -> list[Said]:
        """The first pass: what is not wanted any more is free at once."""
        standing = self.standing.get(subject)
        if standing is None:
            return []
        self.began_with[subject] = standing.numbers()
        held, lost = dict(standing.held), set(standing.lost)
        turn = self._turn(subject)
        if turn is None:
            standing.held, standing.lost = {}, set()
            # Also what was lost before anybody said that it was there no more.
            gave_up = bool(held or standing.told)
        elif self.known[subject].life != standing.life:
            standing.held, standing.lost, standing.places = {}, set(), Counter()
            standing.life = self.known[subject].life
            self.refused.pop(subject, None)
            self.marks.discard(subject)
            gave_up = True
        else:
            if turn.deploy.strategy not in {"FILL", "EACH"}:
                self.fleet.book.asking = turn.workload, turn.cluster
                self._scale_down(turn)
                self.fleet.book.asking = None
            gave_up = standing.held != held or standing.lost != lost
        if not gave_up:
            return []
        self.gave_up.add(subject)
        self._look_for_growth()
        if turn is None or not self._wants_more(turn, causes):
            return self._record(subject, None, moment)
        return []

    def _wants_more(self, turn: Turn, causes: set[str]) -> bool:
        standing = turn.standing
        return (
            "fresh" in causes
            or any(
                (one.request, one.selector) != (turn.fact.request, turn.deploy.node_selector)
                for one in standing.held.values()
            )
            or bool(standing.lost)
            or any(self.fleet.is_reclaimed(one.node) for one in standing.held.values())
            or turn.deploy.strategy == "FILL"
            or standing.ordered
            or (turn.deploy.strategy != "EACH" and len(standing.held) != turn.share)
        )

    def _ask(
        self,
        subject: str,
        causes: set[str],
        said: list[Said],
        moment: Moment | None,
        *,
        again: bool,
    ) -> bool:
        """Whether anything was served."""
        self.marks.discard(subject)
        turn = self._turn(subject)
        if turn is None:
            return False
        standing = turn.standing
        before = (dict(standing.held), set(standing.lost), standing.ordered)
        self.began_with.setdefault(subject, standing.numbers())
        self.fleet.book.asking = turn.workload, turn.cluster
        self._split(turn)
        if "fresh" in causes:
            self._from_nothing(turn)
        if not turn.fresh:
            self._edit(turn)
            self._replace_lost(turn)
            self._replace_reclaimed(turn)
            self._grow(turn)
        self.fleet.book.asking = None
        served = (
            turn.fresh
            or subject in self.gave_up
            or (standing.held, standing.lost, standing.ordered) != before
        )
        kept = causes & {"edited", "rescheduled"} or (
            "share" in causes and turn.deploy.strategy != "EACH"
        )
        kept = turn.fresh_refused is None and bool(kept)
        if not turn.refused and (kept or subject in self.refused):
            served = True
        if served:
            said += self._record(subject, turn, moment)
        if turn.fresh_refused is not None:
            made = self._say("refusal", subject, moment)
            made.reason, made.waits_for = turn.fresh_refused, "nothing"
            self.decided.add(subject)
            said.append(made)
        if turn.refused and (served or not again):
            said += self._record_refusal(subject, turn.refused, moment)
        return served

    def _record(self, subject: str, turn: Turn | None, moment: Moment | None) -> list[Said]:
        """A decision with what is now in force; it ends the refusal of all that it serves."""
        standing = self.standing[subject]
        now = standing.count()
        name = subject.split("@", 1)[0]
        for node, numbers in sorted(self.began_with.pop(subject).items()):
            left = numbers - standing.numbers().get(node, set())
            if self._is_set(name) or len(numbers) > now[node]:
                count = len(left) if self._is_set(name) else len(numbers) - now[node]
                self.fleet.book.give_up(name, node, sorted(left)[:count])
        self.fleet.book.count_again(only=name)
        for node in bytewise({key for about, key in self.bereft if about == subject}):
            self._see_bereft(subject, node)
        made = self._say("deployment", subject, moment)
        places = now + Counter(standing.lost_from[number] for number in standing.lost)
        gained = sum((places - standing.places).values())
        made.moved = min(gained, sum((standing.places - places).values()))
        made.rows = {
            str(number): told(one.node, one.bound) for number, one in sorted(standing.held.items())
        }
        standing.told, standing.places = now, places
        self.decided.add(subject)
        if turn is None or not turn.refused:
            self.refused.pop(subject, None)
            self.marks.discard(subject)
        self._look_for_growth()
        return [made]

    def _record_refusal(
        self, subject: str, refused: list[tuple[str, str]], moment: Moment | None
    ) -> list[Said]:
        code, waits_for = refused[0]
        was = self.refused.get(subject)
        if was is not None and (was.reason, was.waits_for) == (code, waits_for):
            return []
        made = self._say("refusal", subject, moment)
        made.reason, made.waits_for = code, waits_for
        life = self.standing[subject].life
        self.refused[subject] = Refused(made.number, code, waits_for, life)
        self.marks.discard(subject)
        self.decided.add(subject)
        return [made]

    # The parts of a turn.

    def _has_known_class(self, turn: Turn) -> bool:
        label = self.fleet.setting("spot.label", "node.kubernetes.io/capacity")
        known = {
            self.fleet.setting("spot.on_demand", "on-demand"),
            self.fleet.setting("spot.spot", "spot"),
        }
        return any(
            node.cluster == turn.cluster and dict(node.labels).get(label) in known
            for node in self.fleet.all("node").values()
        )

    def _protected(self, turn: Turn, numbers: set[int]) -> set[int] | None:
        """The numbers that go to on-demand nodes; None where classes do not matter."""
        if turn.deploy.strategy in {"FILL", "EACH"} or not self._has_known_class(turn):
            return None
        pods, _ = self._target(turn.fact, turn.share)
        return None if pods is None else set(sorted(numbers)[:pods])

    def _split(self, turn: Turn) -> None:
        standing = turn.standing
        numbers = standing.held.keys() | standing.lost
        turn.on_demand = self._protected(turn, numbers | set(self._new_numbers(turn)))

    def _new_numbers(self, turn: Turn) -> list[int]:
        """Numbers that nobody has, lowest first, as many as are missing from the share."""
        used = turn.standing.held.keys() | turn.standing.lost
        return unused(used, turn.share - len(used))

    def _matches(self, selector: Selector, node: str) -> bool:
        return set(selector) <= set(self.fleet.fact("node", node).labels)

    def _from_nothing(self, turn: Turn) -> None:
        """Give up everything and place it anew, or leave it all as it was."""
        standing = turn.standing
        held, lost, on_demand = standing.held, standing.lost, turn.on_demand
        standing.held, standing.lost = {}, set()
        turn.on_demand = self._protected(turn, set(range(turn.share)))
        code = None
        if turn.deploy.strategy == "FILL":
            code = self._fill(turn)
        elif turn.deploy.strategy == "EACH":
            code = self._each(turn)
        else:
            for group in self._groups(turn, list(range(turn.share))):
                code = code or self._place(turn, group, self._rule(turn))
        if code is None or code == "already_filled":
            turn.fresh = True
            standing.ordered = False
            return
        standing.held, standing.lost, turn.on_demand = held, lost, on_demand
        turn.fresh_refused = code

    def _edit(self, turn: Turn) -> None:
        standing = turn.standing
        wanted, selector = turn.fact.request, turn.deploy.node_selector
        before = dict(standing.held)
        movers = []
        in_order = sorted(before.items(), key=lambda one: (one[1].node.encode(), one[0]))
        for number, one in in_order:
            del standing.held[number]
            stays = one.selector == selector or self._matches(selector, one.node)
            bound = one.bound if one.request == wanted else self._reallocated(turn, one)
            if stays and bound is not None:
                standing.held[number] = replace(one, request=wanted, selector=selector, bound=bound)
            else:
                movers.append(number)
        code = None
        for group in self._groups(turn, sorted(movers)):
            code = code or self._place(turn, group, self._rule(turn))
        if code is not None:
            standing.held = before
            turn.refused.append((code, "nodes"))

    def _reallocated(self, turn: Turn, one: Instance) -> Bound | None:
        """What an instance gets of its node under the wanted request; it has given back its own."""
        wanted, node = turn.fact.request, self.fleet.fact("node", one.node)
        free = self.fleet.book.free(one.node)
        if in_storage(wanted) and free.storage < in_storage(wanted):
            return None
        if wanted.cpu_bind and (
            free.milli < wanted.cpu or (Fraction(wanted.cpu, 1000) * free.base).denominator != 1
        ):
            return None
        declared = dict(node.cores) or {str(core): 0 for core in range((node.cpu or 0) // 1000)}
        held = Bindings(
            InstanceRequest(
                cpu_request=Fraction(one.request.cpu, 1000), memory_request=one.request.memory
            ),
            {Core(core): pieces for core, pieces in one.bound.cores.items()},
            NumaGroup(one.bound.group),
        )
        group_memory = {NumaGroup(group): left for group, left in free.group_memory.items()}
        if one.bound.group:
            group = NumaGroup(one.bound.group)
            group_memory[group] = group_memory.get(group, 0) - one.request.memory
        beside = CpuNode(
            {Core(core): free.cores[core] - one.bound.cores.get(core, 0) for core in declared},
            free.memory - one.request.memory,
            {Core(core): NumaGroup(group) for core, group in free.groups.items()},
            group_memory,
        )
        found = reallocate(
            beside,
            held,
            Change(
                cpu_request=Fraction(wanted.cpu - one.request.cpu, 1000),
                memory_request=wanted.memory - one.request.memory,
                cpu_bind=wanted.cpu_bind,
            ),
            share_base=free.base,
            max_share=turn.deploy.max_share,
        )
        if isinstance(found, NoRoom):
            return None
        volumes = one.bound.volumes
        if wanted.volumes != one.request.volumes:
            before = {request.text: request for request in volume_requests(one.request.volumes)}
            used = dict(free.used)
            for device, size in volumes.values():
                used[device] = used.get(device, 0) + size
            placed = reallocate_volumes(
                VolumeNode(
                    {Device(name): size for name, size in free.devices.items()},
                    {Device(name): size for name, size in used.items()},
                ),
                asked=tuple(before.values()),
                held=tuple(
                    Placed(before[text], Device(device), size)
                    for text, (device, size) in volumes.items()
                ),
                requests=volume_requests(wanted.volumes),
            )
            if isinstance(placed, NoDevice):
                return None
            volumes = {each.request.text: (str(each.device), each.size) for each in placed}
        cores = {str(core): pieces for core, pieces in found.holding.cores.items()}
        return Bound(str(found.holding.group), cores, volumes)

    def _replace_lost(self, turn: Turn) -> None:
        standing = turn.standing
        if standing.lost and turn.deploy.strategy == "FILL":
            self._ask_fill(turn)
            return
        self._together_or_one_by_one(turn, sorted(standing.lost))
        standing.lost -= standing.held.keys()

    def _replace_reclaimed(self, turn: Turn) -> None:
        reclaimed = [
            number
            for number, one in turn.standing.held.items()
            if self.fleet.is_reclaimed(one.node)
        ]
        self._together_or_one_by_one(turn, sorted(reclaimed))

    def _together_or_one_by_one(self, turn: Turn, numbers: list[int]) -> None:
        before = dict(turn.standing.held)
        code = None
        for group in self._groups(turn, numbers):
            code = code or self._place(turn, group, self._rule(turn))
        if code is None:
            return
        turn.standing.held = before
        codes = [self._place(turn, [number], self._rule(turn)) for number in numbers]
        # One by one all of them may fit, where volumes are packed another way.
        turn.refused += [(code, "nodes") for code in codes if code is not None][:1]

    def _grow(self, turn: Turn) -> None:
        if turn.deploy.strategy == "FILL":
            self._ask_fill(turn)
        elif turn.deploy.strategy == "EACH":
            if turn.standing.ordered:
                code = self._each(turn)
                if code is None:
                    turn.standing.ordered = False
                else:
                    waits_for = "specification" if code == "invalid_count" else "nodes"
                    turn.refused.append((code, waits_for))
        else:
            for group in self._groups(turn, self._new_numbers(turn)):
                code = self._place(turn, group, self._rule(turn))
                if code is not None:
                    turn.refused.append((code, "nodes"))

    def _ask_fill(self, turn: Turn) -> None:
        if turn.fill_asked:
            return
        turn.fill_asked = True
        code = self._fill(turn)
        if code is None or code == "already_filled":
            turn.standing.lost = set()
        else:
            turn.refused.append((code, "specification" if code == "invalid_count" else "nodes"))

    def _fill(self, turn: Turn) -> str | None:
        rule = Rule("FILL", turn.deploy.nodes_limit)
        return self._by_level(turn, rule, sorted(turn.standing.lost))

    def _each(self, turn: Turn) -> str | None:
        return self._by_level(turn, Rule("EACH", turn.deploy.nodes_limit), [])

    def _by_level(self, turn: Turn, rule: Rule, first: list[int]) -> str | None:
        """So many on each chosen node; these numbers are used first."""
        if turn.deploy.count == 0:
            return "invalid_count"
        found = self._chosen(turn, self._seen(turn, None), turn.deploy.count, rule)
        if isinstance(found, str):
            return found
        needed = sum(found.values())
        used = turn.standing.held.keys() | turn.standing.lost
        numbers = (first + unused(used, needed - len(first)))[:needed]
        self._put(turn, found, numbers)
        return None

    def _rule(self, turn: Turn) -> Rule:
        """How those find a node who do not come by FILL or EACH."""
        if turn.deploy.strategy in {"FILL", "EACH"}:
            return Rule("AUTO", 0)
        return Rule(turn.deploy.strategy, turn.deploy.nodes_limit)

    def _groups(self, turn: Turn, numbers: list[int]) -> list[list[int]]:
        """All together, or one group a class, on-demand first."""
        if turn.on_demand is None:
            return [numbers] if numbers else []
        both = (
            [number for number in numbers if number in turn.on_demand],
            [number for number in numbers if number not in turn.on_demand],
        )
        return [group for group in both if group]

    def _place(self, turn: Turn, numbers: list[int], rule: Rule) -> str | None:
        """Put these on new nodes, or say why not."""
        if turn.on_demand is None:
            tries = [self._seen(turn, None)]
        elif numbers[0] in turn.on_demand:
            tries = [self._seen(turn, "on_demand")]
        else:
            tries = [self._seen(turn, "spot"), self._seen(turn, None)]
        code = None
        for nodes in tries:
            found = self._chosen(turn, nodes, len(numbers), rule)
            if not isinstance(found, str):
                self._put(turn, found, numbers)
                return None
            code = found
        return code

    def _seen(self, turn: Turn, node_class: str | None) -> list[str]:
        """The nodes that are weighed, those that take nothing new included."""
        above = self.fleet.fact("cluster", turn.cluster)
        if above is None or not above.ready:
            return []
        label = self.fleet.setting("spot.label", "node.kubernetes.io/capacity")
        wanted = {
            None: None,
            "on_demand": self.fleet.setting("spot.on_demand", "on-demand"),
            "spot": self.fleet.setting("spot.spot", "spot"),
        }[node_class]
        return bytewise(
            key
            for key, node in self.fleet.all("node").items()
            if node.cluster == turn.cluster
            and node.ready
            and not self.fleet.is_reclaimed(key)
            and self._matches(turn.deploy.node_selector, key)
            and (wanted is None or dict(node.labels).get(label) == wanted)
        )

    def _chosen(
        self, turn: Turn, nodes: Sequence[str], count: int, rule: Rule
    ) -> dict[str, int] | str:
        if not any(self.fleet.fact("node", key).schedulable for key in nodes):
            return "no_eligible_node"
        held = turn.standing.count()
        weighed = []
        for key in nodes:
            free = self.fleet.book.free(key)
            usage, rate = self._load(turn.fact.request, key, free)
            weighed.append(
                question.Node(
                    NodeName(key),
                    self._capacity(turn, key, free),
                    held[key],
                    usage,
                    rate,
                )
            )
        policy = turn.deploy.policy or self.fleet.setting(
            "placement.global_policy", "nearest_level"
        )
        return placed_by_model(question.Request(rule.strategy, count, weighed, rule.limit, policy))

    def _capacity(self, turn: Turn, key: str, free: Free) -> int:
        if not self.fleet.fact("node", key).schedulable:
            return 0
        return self.fleet.fits(free, turn.fact.request, turn.deploy.max_share)

    def _load(self, request: Request, key: str, free: Free) -> tuple[Fraction, Fraction]:
        """How full a node is, and what of it one instance more takes."""
        node = self.fleet.fact("node", key)
        milli = node.cpu
        if milli is None:
            milli = 1000 * sum(dict(node.cores).values()) // free.base
        loads: list[tuple[int, int, int, int]] = []
        if request.cpu_bind:
            loads.append((100, milli, milli - free.milli, request.cpu))
        if request.memory:
            loads.append((1, node.memory, node.memory - free.memory, request.memory))
        if in_storage(request):
            loads.append((1, node.storage, node.storage - free.storage, in_storage(request)))
        usage = rate = Fraction(0)
        total = sum(weight for weight, *_ in loads)
        for weight, declared, used, each in loads:
            if declared:
                usage += Fraction(weight * used, total * declared)
                rate += Fraction(weight * each, total * declared)
        return usage, rate

    def _put(self, turn: Turn, chosen: dict[str, int], numbers: list[int]) -> None:
        """Give the chosen nodes these numbers, by name, and each the next of the node's plans."""
        left = list(numbers)
        for key in bytewise(chosen):
            _, bound = plans(
                self.fleet.book.free(key),
                turn.fact.request,
                max_share=turn.deploy.max_share,
                max_deploy=self.fleet.setting("placement.max_deploy", 1000),
            )
            for place in range(chosen[key]):
                turn.standing.held[left.pop(0)] = Instance(
                    key,
                    self.fleet.life("node", key),
                    turn.fact.request,
                    turn.deploy.node_selector,
                    bound[place] if bound else UNBOUND,
                )
        assert not left, f"{left} of {turn.subject} came to no node"

    def _scale_down(self, turn: Turn) -> None:
        standing = turn.standing
        if turn.fact.kind == "StatefulSet":
            # Its pods are named by number, so those from 0 on are the ones that there are.
            exist = set(range(turn.share))
            standing.held = {n: one for n, one in standing.held.items() if n in exist}
            standing.lost = standing.lost & exist
            return
        while len(standing.held) + len(standing.lost) > turn.share:
            last = max(standing.lost) if standing.lost else self._next_to_go(turn)
            standing.held.pop(last, None)
            standing.lost.discard(last)

    def _next_to_go(self, turn: Turn) -> int:
        standing = turn.standing
        protected = self._protected(turn, set(standing.held)) or set()
        numbers = (standing.held.keys() - protected) or set(standing.held)
        keys = {standing.held[number].node for number in numbers}
        leaving = {key for key in keys if not self._takes_new(key)}
        count = standing.count()

        def rank(key: str) -> tuple[int | Fraction, bytes]:
            free = self.fleet.book.free(key)
            if turn.deploy.strategy == "AUTO":
                return count[key], key.encode()
            if turn.deploy.strategy == "GLOBAL":
                return self._load(turn.fact.request, key, free)[0], key.encode()
            return self.fleet.fits(free, turn.fact.request, turn.deploy.max_share), key.encode()

        chosen = max(leaving or keys, key=rank)
        return max(number for number in numbers if standing.held[number].node == chosen)

    def _takes_new(self, key: str) -> bool:
        node = self.fleet.fact("node", key)
        return node.ready and node.schedulable and not self.fleet.is_reclaimed(key)


def unnumbered(fact: Any) -> Any:
    """What an object says of itself, of whichever revision."""
    return fact if fact.revision is None else replace(fact, revision=None)


def unused(used: set[int], count: int) -> list[int]:
    """The lowest numbers that are not used."""
    free = [number for number in range(len(used) + max(0, count)) if number not in used]
    return free[: max(0, count)]


def order(wanted: Question) -> tuple[object, ...]:
    """What an order for so many on each node says."""
    return wanted.deploy.strategy, wanted.deploy.count, wanted.deploy.nodes_limit


def told(node: str, bound: Bound) -> str:
    """Where an instance is, and what it is bound to there."""
    cores = [f"{core}:{pieces}" for core, pieces in sorted(bound.cores.items())]
    volumes = [f"{text}={device}:{size}" for text, (device, size) in sorted(bound.volumes.items())]
    return f"{node} {bound.group}[{' '.join(cores)}] [{' '.join(volumes)}]"
