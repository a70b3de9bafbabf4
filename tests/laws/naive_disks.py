"""Volumes on disks, the slow way: who is where, who has to go, who is missing.

After each event every replica is looked at: whether its disk is still there, whether it broke,
whether it has to leave. A volume whose own wish or whose replicas differ from before the event is
asked; of those that were refused everybody is, again and again, since asking in vain says nothing.
How much is scheduled on a disk is added up anew each time. One step of placing, and whether a disk
takes an expansion, are the core's, which has models of its own.

Where the page says little:

* A disk that comes back as another life is another disk: what was on the old one is lost.
* What was lost is told as given up by the next decision about its volume, which there is at once. It has moved
  once another one comes for it, in that decision or later; who went first is replaced first.
* Another life of a volume counts its replicas from 1 again.
* A volume without replicas that takes another size was served with that; a decision says so.
* A refusal of several parts waits for disks if any of them does.
* Taking room serves nobody, also where it could: among all candidates (scope) less room elsewhere can
  make a score defined. So whoever was refused is asked only after something grew.
* What a default disk reserves is the policy's part of it, rounded down, when the disk comes or its owner stops
  saying so; nothing changes it while neither happens.
* A node rebuilds those of its replicas that are broken and waited for. While they are as many as it may, there is no
  disk on it for a volume that has a sound replica when its turn begins: to such a volume they are switched off.
* The reason of a refused step is what Longhorn would say, and the core's code where it says nothing.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ledger.core.disk import affinity, scheduling, space
from ledger.core.disk.eligibility import Demands, Traits
from ledger.facts import disk
from ledger.facts.event import Fact
from ledger.units import NodeName, Uid
from tests.laws.model import bytewise
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_part import Moment, Said

REPLENISH = "replenish"
DEFAULT_WAIT = 600_000


@dataclass(slots=True)
class Lying:
    """A replica in force."""

    volume: str
    number: int
    life: int
    """Of the volume."""
    disk: str
    disk_life: int
    failed: bool = False
    over: bool = False
    """Whether it has been waited for long enough."""
    until: int | None = None

    @property
    def name(self) -> str:
        return f"{self.volume}-r{self.number}"


@dataclass(slots=True)
class Turn:
    """What a volume got and gave in one event."""

    placed: dict[str, str] = field(default_factory=dict)
    released: list[str] = field(default_factory=list)
    small: dict[str, list[str]] = field(default_factory=dict)
    """By replica that was placed, the candidates that had too little room for it."""
    grown: bool = False
    refusals: list[tuple[str, str]] = field(default_factory=list)
    """Reason and what it waits for, part by part."""
    lacks: dict[str, int] = field(default_factory=dict)
    """In the words of a refusal's detail."""

    @property
    def served(self) -> bool:
        return bool(self.placed or self.released or self.grown)


@dataclass(slots=True)
class NaiveDisks:
    """Replicas of volumes, and where they lie."""

    fleet: NaiveFleet
    lying: list[Lying] = field(default_factory=list)
    size: dict[str, int] = field(default_factory=dict)
    """What is in force of a volume's size."""
    sized: dict[str, int] = field(default_factory=dict)
    """The life of a volume of which that is."""
    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of a volume's life, the highest number that was used."""
    told: dict[tuple[str, str], tuple[int, disk.DiskUpserted]] = field(default_factory=dict)
    """What was said last of each node by one of its disks, and by which life of it."""
    reserved: dict[str, tuple[int, bool, int]] = field(default_factory=dict)
    """Of a disk its life, whether the policy said what is reserved, and how much that is."""
    before: dict[str, tuple[int, Counter[str]]] = field(default_factory=dict)
    """Of a volume's life, how many replicas lay on each disk after the last decision, or had lain there and
    were missed."""
    missed: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    """Of a volume's life, the disks of those that went by themselves and for whom no other came yet."""
    questions: dict[str, Any] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)
    refused: dict[str, tuple[int, str, str]] = field(default_factory=dict)
    """Number, reason, what it waits for."""
    gone: dict[str, list[str]] = field(default_factory=dict)
    """Replicas that went by themselves since something was decided about their volume."""
    refused_life: dict[str, int] = field(default_factory=dict)
    offered: Any = None
    """All that disks offered after the last event, and what of them was scheduled."""
    grown: set[str] = field(default_factory=set)
    """Those refused for which something grew since they were asked."""
    rebuilds: bool = False
    """Whether the volume whose turn it is has a replica to rebuild others from."""
    vain: set[str] = field(default_factory=set)
    """Of these, those asked in this event, in vain so far."""

    def __post_init__(self) -> None:
        self.fleet.parts.append(self)
        self.fleet.keepers.append(self._has_to_tell)

    # As a part.

    def _has_to_tell(self, volume: str) -> bool:
        return volume in self.gone or any(one.volume == volume for one in self.lying)

    def moments(self) -> list[Moment]:
        """When failed replicas have been waited for long enough."""
        return [
            Moment(one.until, REPLENISH, f"{one.volume}/{one.name}")
            for one in self.lying
            if one.until is not None
        ]

    def fired(self, moment: Moment) -> None:
        """A failed replica does not come back."""
        for one in self.lying:
            if moment.kind == REPLENISH and moment.subject == f"{one.volume}/{one.name}":
                one.until, one.over = None, True

    def heard(self, fact: Fact, subject: str) -> None:
        """Replicas break, and come back; a disk speaks for its node."""
        if isinstance(fact, disk.DiskUpserted):
            life = self.fleet.life("disk", subject)
            self.told[fact.cluster, fact.node] = (life, fact)
            self._reserve(subject, life, fact)
        if isinstance(fact, disk.ReplicaFailed | disk.ReplicaRecovered):
            there = [one for one in self.of(fact.volume) if one.name == fact.replica]
            if not there or (isinstance(fact, disk.ReplicaRecovered) and not there[0].failed):
                self.fleet.effect = "no_effect"
            elif isinstance(fact, disk.ReplicaRecovered):
                there[0].failed, there[0].over, there[0].until = False, False, None
            elif not fact.reusable:
                self._lose(there[0])
            elif there[0].failed:
                self.fleet.effect = "no_effect"
            else:
                wait = self.fleet.settings.get("disk.replenish_wait")
                wait = DEFAULT_WAIT if wait is None else wait
                there[0].failed, there[0].over = True, wait == 0
                there[0].until = self.fleet.now + wait * 1000 if wait else None

    def _reserve(self, address: str, life: int, fact: disk.DiskUpserted) -> None:
        if fact.reserved is not None:
            self.reserved[address] = (life, False, fact.reserved)
        elif self.reserved.get(address, (0, False, 0))[:2] != (life, True):
            part = _or(self.fleet.settings.get("disk.default_reserved_pct"), 30)
            self.reserved[address] = (life, True, fact.maximum * part // 100)

    def folded(self) -> None:
        """Who is lost with a disk, and whose question is another one now."""
        for one in list(self.lying):
            gone = self.fleet.fact("disk", one.disk) is None
            if gone or self.fleet.life("disk", one.disk) != one.disk_life:
                self._lose(one)
        for volume, fact in self.fleet.all("volume").items():
            if not any(one.volume == volume for one in self.lying):
                self._begin_size(volume, fact.size)
        now = {volume: self._question(volume) for volume in self._known()}
        for volume, question in now.items():
            was = self.questions.get(volume)
            if question != was:
                self.touched.add(volume)
                if question is not None and (was is None or was[0] != question[0]):
                    self.edited.add(volume)
        for volume in {*self.questions} - {*now}:
            self.touched.add(volume)
        self.questions = now
        for volume, (number, *_) in list(self.refused.items()):
            life = self.life(volume)
            same = life is not None and self.refused_life[volume] == life
            keeps = volume in self.edited
            if not same or not (keeps or self._wants(volume)):
                self.fleet.ended.append(("refusal", volume, number))
                del self.refused[volume]
        self._compare(self.offered)

    def decide(self, moment: Moment | None) -> list[Said]:
        """All that is given up; then who was refused, who is touched, who was refused again."""
        touched, self.touched = self.touched, set()
        edited, self.edited = self.edited, set()
        said: list[Said] = []
        turns: dict[str, Turn] = {}
        served: set[str] = set()
        for volume in bytewise(touched):
            turns[volume] = Turn(released=self.gone.pop(volume, []) + self._give_up(volume))
            self._compare(self.offered)
            if turns[volume].released and not self._wants(volume):
                self._turn(volume, turns[volume])
                said += self._say(volume, turns.pop(volume), moment)
                served.add(volume)

        def again() -> bool:
            some = False
            for volume, _ in sorted(self.refused.items(), key=lambda item: item[1][0]):
                asked = volume not in turns and self.fleet.newest[volume] < self.fleet.first
                if asked and volume in self.grown and self.refused[volume][2] == "disks":
                    if self.fleet.served >= self.fleet.max_subjects:
                        return some
                    self.grown.discard(volume)
                    turn = self._turn(volume, Turn())
                    if turn.served:
                        self.fleet.served += 1
                        said.extend(self._say(volume, turn, moment))
                        self._compare(self.offered)
                        some = True
                    else:
                        self.vain.add(volume)
            return some

        some = again()
        for volume in bytewise(turns):
            if volume in self.grown:
                self.grown.discard(volume)
                self.vain.add(volume)
            turn = self._turn(volume, turns[volume])
            if turn.served:
                self.vain.discard(volume)
            keeps = volume in edited and not turn.refusals and self.life(volume) is not None
            said += self._say(volume, turn, moment, keeps=keeps)
            self._compare(self.offered)
            some |= turn.served
        turns.clear()
        while some:
            some = again()
        if self.fleet.served >= self.fleet.max_subjects:
            # Whoever is left is asked in the next event, and so is everybody who was asked with them.
            self.grown |= self.vain
        self.vain.clear()
        return said

    def _compare(self, before: Any) -> None:
        """Whether a disk is not what it was, or has less scheduled: then those refused may be served."""
        now = {
            address: (
                (self._offers(fact), self.is_busy(node_id(fact))),
                self.scheduled(address),
            )
            for address, fact in self.fleet.all("disk").items()
        }
        policy = {
            name: value
            for name, value in self.fleet.settings.items()
            if name.startswith("disk.") and value not in (None, "node")
        }
        self.offered = policy, now
        if before is None:
            return
        other = before[0] != policy or {*before[1]} != {*now}
        for address in {*before[1]} & {*now}:
            (was, scheduled), (is_, left) = before[1][address], now[address]
            other |= was != is_ or left < scheduled
        if other:
            self.grown |= {*self.refused}

    def _offers(self, fact: disk.DiskUpserted) -> Any:
        """What a disk says of itself, the latest disk of its node of that, and the node of itself."""
        _, node = self.told[fact.cluster, fact.node]
        alone = replace(
            fact,
            uid=Uid(""),
            revision=None,
            zone="",
            region="",
            node_tags=(),
            node_ready=True,
            node_allow=True,
        )
        of_node = (node.zone, node.region, node.node_tags, node.node_ready, node.node_allow)
        return alone, of_node, self._node_facts(fact)

    def settled(self) -> None:
        """What was decided is the question's new beginning."""
        self.questions = {volume: self._question(volume) for volume in self._known()}

    # What there is.

    def of(self, volume: str) -> list[Lying]:
        """The replicas of the life in force, by number."""
        mine = [one for one in self.lying if one.volume == volume]
        return sorted(
            (one for one in mine if one.life == self.life(volume)), key=lambda one: one.number
        )

    def _begin_size(self, volume: str, size: int) -> None:
        if self.sized.get(volume) != self.life(volume):
            self.sized[volume], self.size[volume] = self.fleet.life("volume", volume), size

    def _lose(self, one: Lying) -> None:
        self.lying.remove(one)
        self.gone.setdefault(one.volume, []).append(one.name)
        life, disks = self.missed.get(one.volume, (one.life, []))
        self.missed[one.volume] = (one.life, [*(disks if life == one.life else []), one.disk])

    def life(self, volume: str) -> int | None:
        """Which life of a volume is in force."""
        gone = self.fleet.fact("volume", volume) is None
        return None if gone else self.fleet.life("volume", volume)

    def _known(self) -> set[str]:
        return {*self.fleet.all("volume"), *(one.volume for one in self.lying)}

    def _question(self, volume: str) -> Any:
        """The wish and the replicas of a volume; the wish says nothing of who uses it."""
        fact = self.fleet.fact("volume", volume)
        wish = None
        if fact is not None:
            wish = (self.life(volume), replace(fact, uid="", revision=None, workload=None))
        state = [
            (one.name, one.life, one.failed, one.over, self._leaves(one))
            for one in sorted(self.lying, key=lambda one: (one.life, one.number))
            if one.volume == volume
        ]
        return (wish, state)

    def _leaves(self, one: Lying) -> bool:
        """Whether it lies on a disk or node that is to be emptied."""
        fact = self.fleet.fact("disk", one.disk)
        return bool(fact.evicting or self._node_facts(fact)[2])

    def _node_facts(self, fact: disk.DiskUpserted) -> tuple[bool, bool, bool]:
        """Ready, schedulable and about to be taken away, as the node itself says."""
        key = f"{fact.cluster}/{fact.node}"
        node = self.fleet.fact("node", key)
        if node is None:
            return True, True, False
        return node.ready, node.schedulable, self.fleet.is_reclaimed(key)

    def scheduled(self, address: str) -> int:
        """What all replicas on a disk take."""
        return sum(self.size[one.volume] for one in self.lying if one.disk == address)

    def disk(self, address: str) -> space.Disk:
        fact = self.fleet.fact("disk", address)
        return space.Disk(
            node=NodeName(node_id(fact)),
            name=fact.disk,
            maximum=fact.maximum,
            available=fact.available,
            reserved=self.reserved[address][2],
            scheduled=self.scheduled(address),
        )

    def is_busy(self, node: str) -> bool:
        """Whether a node rebuilds as many replicas as it may."""
        rebuilt = [
            one
            for one in self.lying
            if one.until is not None and node_id(self.fleet.fact("disk", one.disk)) == node
        ]
        limit: int = _or(self.fleet.settings.get("disk.rebuild_limit"), 5)
        return len(rebuilt) >= limit

    def limits(self) -> space.Limits:
        policy = self.fleet.setting
        return space.Limits(
            policy("disk.over_provisioning_pct", 100),
            _or(self.fleet.settings.get("disk.min_available_pct"), 25),
            policy("disk.disk_pressure_pct", 90),
        )

    def _wants(self, volume: str) -> bool:
        """Whether anything is still to be done for it."""
        fact = self.fleet.fact("volume", volume)
        if fact is None:
            return False
        mine = self.of(volume)
        return (
            len(mine) != fact.replicas
            or any(one.over or self._leaves(one) for one in mine)
            or (bool(mine) and self.size[volume] != fact.size)
        )

    # What is decided.

    def _give_up(self, volume: str) -> list[str]:
        """Replicas of another life, and those that are too many."""
        gone = [one for one in self.lying if one.volume == volume and one not in self.of(volume)]
        released = [one.name for one in sorted(gone, key=lambda one: one.number)]
        self.lying = [one for one in self.lying if one not in gone]
        fact = self.fleet.fact("volume", volume)
        if fact is not None:
            self._begin_size(volume, fact.size)
        while fact is not None and len(self.of(volume)) > fact.replicas:

            def order(one: Lying) -> tuple[Any, ...]:
                return (one.failed, self._leaves(one), -self.disk(one.disk).usable)

            first = max(sorted(self.of(volume), key=lambda one: one.name), key=order)
            tied = [one for one in self.of(volume) if order(one) == order(first)]
            last = bytewise(one.name for one in tied)[-1]
            self.lying = [one for one in self.lying if one.name != last or one.volume != volume]
            released.append(last)
        return released

    def _turn(self, volume: str, turn: Turn) -> Turn:
        """Expand, what is missing, what failed for good, what has to leave."""
        fact = self.fleet.fact("volume", volume)
        if fact is None:
            return turn
        mine = self.of(volume)
        if not mine:
            turn.grown = self.size[volume] != fact.size
            self.size[volume] = fact.size
        elif fact.size < self.size[volume]:
            turn.refusals.append(("shrink", "specification"))
            turn.lacks["shrink"] = self.size[volume] - fact.size
        elif fact.size > self.size[volume]:
            self._expand(volume, fact.size - self.size[volume], turn)
        self.rebuilds = any(not one.failed for one in mine)
        lying, numbers = list(self.lying), dict(self.numbers)
        never = self.numbers.get(volume, (None, 0))[0] != self.life(volume)
        for _ in range(fact.replicas - len(mine)):
            if not self._place(volume, turn):
                if never and self.fleet.settings.get("disk.degraded_creation") is False:
                    self.lying, self.numbers, turn.placed, turn.small = lying, numbers, {}, {}
                break
        for one in mine:
            if one.over and self._place(volume, turn):
                self._release(one, turn)
        for one in mine:
            if self._leaves(one) and not one.over and self._place(volume, turn):
                self._release(one, turn)
        return turn

    def _release(self, one: Lying, turn: Turn) -> None:
        self.lying = [other for other in self.lying if other is not one]
        turn.released.append(one.name)

    def _expand(self, volume: str, grow: int, turn: Turn) -> None:
        on = Counter(one.disk for one in self.of(volume))
        short = []
        for address in bytewise(on):
            found = space.expansion(self.disk(address), self.limits(), required=grow * on[address])
            if found is not None:
                short.append(found)
        if short:
            turn.refusals.append(("; ".join(sorted({found.code for found in short})), "disks"))
            turn.lacks["expansion"] = grow
            turn.lacks["expansion_short"] = max(
                bytes_short(found.code, found.value, found.bound) for found in short
            )
        else:
            self.size[volume] += grow
            turn.grown = True

    def _place(self, volume: str, turn: Turn) -> bool:
        """One step: a new replica, if there is a disk for it."""
        life = self.life(volume)
        assert life is not None
        was, highest = self.numbers.get(volume, (life, 0))
        number = highest + 1 if was == life else 1
        name = f"{volume}-r{number}"
        step = scheduling.place(self._situation(volume), self._replicas(volume), name)
        if isinstance(step, scheduling.Unplaced):
            turn.refusals.append(("; ".join(step.reasons) or step.code, "disks"))
            out = {one for rung in step.rungs for one in rung.passed_over}
            found = [
                bytes_short(one.code, one.value, one.bound)
                for one in out
                if one.value is not None and one.bound is not None
            ]
            lacks = min((one for one in found if one), default=0)
            turn.lacks.setdefault("replica_short", lacks)
            return False
        self.numbers[volume] = (life, number)
        chosen = step.choice.disk
        address = next(
            key
            for key, fact in self.fleet.all("disk").items()
            if (node_id(fact), fact.disk) == (chosen.node, chosen.name)
        )
        self.lying.append(Lying(volume, number, life, address, self.fleet.life("disk", address)))
        turn.placed[name] = address
        turn.small[name] = bytewise(
            f"{other.node}/{other.name} {left} {self.size[volume]}"
            for other in step.rungs[-1].candidates
            if (other.node, other.name) != (chosen.node, chosen.name)
            and (left := other.available - other.reserved - other.scheduled) < self.size[volume]
        )
        return True

    def _replicas(self, volume: str) -> list[affinity.Replica]:
        replicas = []
        for one in self.of(volume):
            fact = self.fleet.fact("disk", one.disk)
            replicas.append(
                affinity.Replica(
                    name=one.name,
                    node=NodeName(node_id(fact)),
                    disk=fact.disk,
                    failed=one.failed,
                    evicting=self._leaves(one),
                    # One that is not waited for any more keeps nobody away.
                    rebuild_retries=affinity.MOST_REBUILDS if one.over else 0,
                )
            )
        return replicas

    def _situation(self, volume: str) -> scheduling.Situation:
        fact = self.fleet.fact("volume", volume)
        said = self.fleet.settings.get
        soft = {
            name: _or(getattr(fact, name), _or(said(f"disk.{name}"), name != "node_soft"))
            for name in ("node_soft", "zone_soft", "disk_soft")
        }
        return scheduling.Situation(
            volume=scheduling.Volume(
                size=self.size[volume],
                demands=Demands(disk_selector=fact.disk_selector),
                node_selector=fact.node_selector,
            ),
            nodes=self._nodes(),
            rules=scheduling.Rules(
                **soft,
                limits=self.limits(),
                auto_balance=_or(said("disk.auto_balance"), "disabled"),
                allow_empty_node_selector=_or(said("disk.allow_empty_node_selector"), True),
                allow_empty_disk_selector=_or(said("disk.allow_empty_disk_selector"), True),
                alpha=_or(fact.alpha, _or(said("disk.alpha"), Fraction(1))),
                scope=_or(said("disk.scope"), "node"),
            ),
        )

    def _nodes(self) -> list[scheduling.Node]:
        nodes: dict[str, list[str]] = {}
        for address, fact in self.fleet.all("disk").items():
            nodes.setdefault(node_id(fact), []).append(address)
        return [self._node(name, nodes[name]) for name in bytewise(nodes)]

    def _node(self, name: str, disks: list[str]) -> scheduling.Node:
        one = self.fleet.fact("disk", disks[0])
        _, told = self.told[one.cluster, one.node]
        ready, schedulable, leaving = self._node_facts(one)
        drives = []
        for address in disks:
            fact = self.fleet.fact("disk", address)
            drives.append(
                scheduling.Drive(
                    disk=self.disk(address),
                    traits=Traits(
                        type=fact.type,
                        tags=fact.tags,
                        allow=fact.allow and not (self.rebuilds and self.is_busy(name)),
                        evicting=fact.evicting or leaving,
                    ),
                    schedulable=fact.schedulable,
                    scheduled_replicas=frozenset(
                        one.name for one in self.lying if one.disk == address
                    ),
                )
            )
        return scheduling.Node(
            name=NodeName(name),
            zone=told.zone,
            region=told.region,
            tags=told.node_tags,
            allow=told.node_allow,
            ready=told.node_ready and ready,
            schedulable=schedulable,
            drives=drives,
        )

    # What is said.

    def missed_of(self, volume: str) -> list[str]:
        """The disks of those that the life in force misses, as they went."""
        life, disks = self.missed.get(volume, (None, []))
        return disks if life is not None and life == self.life(volume) else []

    def _still_missed(self, volume: str, turn: Turn) -> Counter[str]:
        """Whoever was placed while some are missing came for the first of them."""
        life, fact = self.life(volume), self.fleet.fact("volume", volume)
        if life is None:
            self.missed.pop(volume, None)
            return Counter()
        lacking = fact.replicas - len(self.of(volume))
        left = self.missed_of(volume)[len(turn.placed) :][:lacking] if lacking > 0 else []
        self.missed[volume] = (life, left)
        return Counter(left)

    def _say(
        self, volume: str, turn: Turn, moment: Moment | None, *, keeps: bool = False
    ) -> list[Said]:
        said = []
        if turn.served or keeps:
            number, previous = self.fleet.next_number(volume)
            life = self.life(volume)
            now = Counter(one.disk for one in self.of(volume)) + self._still_missed(volume, turn)
            was_life, was = self.before.get(volume, (life, Counter()))
            moved = 0
            if life is not None and was_life == life:
                moved = min((now - was).total(), (was - now).total())
            if life is not None:
                self.before[volume] = (life, now)
            said.append(
                Said(
                    number=number,
                    position=self.fleet.position,
                    moment=None if moment is None else (moment.kind, moment.subject),
                    kind="disk_placement",
                    subject=volume,
                    previous=previous,
                    rows=turn.placed,
                    small=turn.small,
                    released=sorted(turn.released),
                    moved=moved,
                )
            )
        if turn.refusals:
            reason = turn.refusals[0][0]
            waits = "disks" if any(w == "disks" for _, w in turn.refusals) else "specification"
            if volume not in self.refused or self.refused[volume][1:] != (reason, waits):
                number, previous = self.fleet.next_number(volume)
                self.refused[volume] = (number, reason, waits)
                self.refused_life[volume] = self.fleet.life("volume", volume)
                if "replica_short" in turn.lacks:
                    fact, mine = self.fleet.fact("volume", volume), self.of(volume)
                    turn.lacks["missing"] = fact.replicas - len(mine)
                    turn.lacks["waited"] = sum(one.over for one in mine)
                    turn.lacks["evicting"] = sum(self._leaves(one) and not one.over for one in mine)
                said.append(
                    Said(
                        number=number,
                        position=self.fleet.position,
                        moment=None if moment is None else (moment.kind, moment.subject),
                        kind="refusal",
                        subject=volume,
                        previous=previous,
                        rows={name: str(lack) for name, lack in turn.lacks.items() if lack},
                        reason=reason,
                        waits_for=waits,
                    )
                )
        elif said:
            self.refused.pop(volume, None)
        return said


def bytes_short(code: str, value: int, bound: int) -> int:
    """How far a number is from a limit, where both are bytes."""
    if code == "disk_pressure":
        return 0
    if code.endswith("_positive") or code == "actual_space":
        # Here being equal is not enough.
        return bound + 1 - value
    return abs(value - bound)


def node_id(fact: disk.DiskUpserted) -> str:
    """A node where it has a cluster, and by its name alone where there is only one."""
    return f"{fact.cluster}/{fact.node}" if fact.cluster else str(fact.node)


def _or(told: Any, default: Any) -> Any:
    return default if told is None else told
