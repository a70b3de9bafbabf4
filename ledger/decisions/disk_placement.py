"""Where the replicas of a volume go: from the World to the core's questions, and back.

What a volume does not want any more is given up before anybody is asked (``give_up``): everything,
if it is gone or another one took its name; else the replicas that are too many, failed ones first,
then those on disks that are to be emptied, then from the disk with the least usable bytes, between
equals the last by name. A volume that only lost something and wants nothing for it says so then,
too. A turn has these parts, in this order:

``expansion``  another size: granted if every disk with replicas of the volume can take it, all or
               nothing; a smaller one is refused; without replicas any size is in force at once
``missing``    replicas that are not there, one at a time
``waited``     those that failed and were waited for in vain: a replacement each, then the old one goes
``evicting``   those on disks that are to be emptied, failed or not, by number: the same

Each replica is placed by one scheduling step of the core (``ledger.core.disk.scheduling``), under the
lowest number that was never given; one that found no disk uses up none. Where the policy wants no
``degraded_creation``, a volume that never had a replica gets all of them at once or none. A step that fails would
fail again, since nothing is freed by it: the parts after it are refused with it. A replica that was
waited for in vain does not keep others away. A node that rebuilds as many replicas as ``rebuild_limit`` says
takes none of a volume that has a sound one to rebuild from. How far a volume's replicas are kept apart, and how it is
balanced, it says itself; else the fleet's policy does.

Whatever came of a turn is one decision, and it is complete. What was refused is one refusal after it:
its reason is that of the first refused part - codes of the core for an expansion, its words for
a replica, ``anti_affinity`` where it has none, ``shrink`` - and its detail tells what every part lacks,
in bytes too where room is all there is to it: for an expansion, what the disk is short of that lacks
most, since all have to grow; for a replica, what the one lacks that lacks least, by the first limit that
it does not keep. The reason, not the detail, says whether a refusal is another one.
It waits for disks, or, if only a smaller size was wanted, for another wish. A refusal that only repeats
the open one is not recorded, and a retry that serves nothing records nothing.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, NamedTuple

from ledger.core.disk.affinity import Replica as CoreReplica
from ledger.core.disk.choice import Choice
from ledger.core.disk.eligibility import Demands
from ledger.core.disk.ground import Step
from ledger.core.disk.scheduling import (
    Kept,
    Node,
    PassedOver,
    Placed,
    Rules,
    RungName,
    Situation,
    Unplaced,
    Volume,
)
from ledger.core.disk.space import Disk
from ledger.core.disk.weighing import Weighing
from ledger.decisions import versions
from ledger.decisions.answer import REFUSED, Answered, GivenUp
from ledger.decisions.hosts import Hosts, hosts_of, limits_of, with_own
from ledger.facts import disk_placement as record
from ledger.facts.canonical import Plain, digest
from ledger.facts.disk import VolumeUpserted
from ledger.facts.disk_placement import DiskPlacement, Gone, InForce, Weighed, WhyPlaced
from ledger.facts.policy import DiskPolicy
from ledger.facts.reason import NO_LOSERS, RETRIED, Losers
from ledger.facts.refusal import Refusal
from ledger.reducers import volumes
from ledger.reducers.replicas import (
    Address,
    Copies,
    Disks,
    Lost,
    Replica,
    busy,
    replica_name,
    still_missed,
    with_copies,
)
from ledger.reducers.retries import WAITS_FOR_WISH
from ledger.reducers.volumes import WAITS_FOR_DISKS, evicting, unserved, wanted
from ledger.reducers.world import Causes, Question, World
from ledger.units import Bytes, NodeName, Subject, Uid

SYSTEM: Final = "disk"

_ROOM: Final[Causes] = frozenset({"room"})

KEEP: Final = "keep"
"""The branch of an answer that is the last one."""


class Refused(NamedTuple):
    """What a part could not get."""

    reason: str
    waits_for: str
    detail: tuple[tuple[str, int], ...]
    losers: Losers


def give_up(world: World, question: Question, causes: Causes) -> GivenUp | None:
    """What the volume does not want any more is free at once; None if it wants all it has."""
    volume = question.subject
    copies = world.disks.volumes.get(volume)
    if copies is None:
        return None
    fact = wanted(world, volume)
    if copies.over:
        gone = tuple(Lost(one.number, one.at, "gone") for one in copies.replicas)
        lost = copies.lost + gone
        if fact is None:
            after = copies._replace(replicas=(), lost=lost)
        else:
            after = Copies(fact.uid, fact.size, lost=lost)
    else:
        assert fact is not None, f"{volume} holds replicas and is not there"
        surplus = _surplus(world.disks, volume, copies, fact.replicas)
        if not surplus and (not copies.lost or unserved(world, volume)):
            return None
        after = copies._replace(
            replicas=tuple(one for one in copies.replicas if one not in surplus),
            lost=copies.lost + tuple(Lost(one.number, one.at, "surplus") for one in surplus),
        )
    without = volumes.settled(world, volume, after, complete=False)
    if unserved(without, volume):
        return GivenUp(without)
    return GivenUp(without, answer(world, without, question, causes))


def answer(before: World, world: World, question: Question, causes: Causes) -> tuple[Answered, ...]:
    """Take the volume's turn; nothing where there is nothing to record."""
    volume = question.subject
    here = world.disks.volumes.get(volume)
    if here is None:
        return ()
    if causes == _ROOM and _in_vain(world, volume, here):
        return ()
    was = before.disks.volumes.get(volume)
    turn = _Turn.of(world, volume, here, was if was is not None and not was.over else None)
    turn.take()
    return tuple(turn.told(world, question, causes))


def _in_vain(world: World, volume: Subject, here: Copies) -> bool:
    """Whether nothing that changed since a volume was refused can matter to it.

    What it lacks is refused again unless a host that changed has a disk that may take a replica, or
    is one that it has replicas on: then others may be kept away by less, or it may grow. Where disks
    are scored among all candidates any of them can matter.
    """
    fact = wanted(world, volume)
    if fact is None or world.policy.disk.scope != "node":
        return False
    changed = world.disks.changed
    if any(one.at.host in changed for one in here.replicas):
        return False
    demands = Demands(disk_selector=fact.disk_selector)
    size = here.size if here.replicas else fact.size
    return size > hosts_of(world).largest_of_changed(world, demands)


def _surplus(disks: Disks, volume: Subject, copies: Copies, replicas: int) -> list[Replica]:
    """Those that go if only so many are wanted, in the order in which they go."""
    left, found = copies, []
    while len(left.replicas) > replicas:
        # The last by name first, then whatever comes before the name: sorting keeps that order.
        last_first = sorted(
            left.replicas, key=lambda one: replica_name(volume, one.number), reverse=True
        )
        # Usable bytes are those of the moment: whoever went before gave back theirs.
        first = min(
            last_first,
            key=lambda one: (not one.failed, not evicting(disks, one), _usable(disks, one.at)),
        )
        found.append(first)
        left = left._replace(replicas=tuple(one for one in left.replicas if one != first))
        disks = with_copies(disks, volume, left)
    return found


def _usable(disks: Disks, at: Address) -> int:
    disk = disks.hosts[at.host].disk(at.disk)
    assert disk is not None, f"{at} holds a replica and is not there"
    return disk.available - disk.reserved - disk.scheduled


@dataclass(slots=True)
class _Turn:
    """A volume's turn while it is taken."""

    world: World
    volume: Subject
    fact: VolumeUpserted | None
    was: Copies | None
    """What the same life had, before anything was given up; None where it had nothing yet."""
    uid: Uid
    size: Bytes
    used: int
    replicas: list[Replica]
    released: list[Gone]
    rules: Rules
    version: int
    hosts: Hosts
    whole: bool
    """Whether the volume is to begin with all of its replicas or with none."""
    busy: frozenset[NodeName]
    """Hosts that take none of its replicas because they rebuild as many as they may."""
    scheduled: dict[Address, int] = field(default_factory=dict)
    """What this turn took of disks and gave back."""
    steps: list[record.Step] = field(default_factory=list)
    asked_everywhere: bool = False
    resized: Refused | None = None
    unplaced: Step | None = None

    @staticmethod
    def of(world: World, volume: Subject, here: Copies, was: Copies | None) -> "_Turn":
        fact = wanted(world, volume)
        return _Turn(
            world=world,
            volume=volume,
            fact=fact,
            was=was,
            uid=here.uid if fact is None else fact.uid,
            size=here.size,
            used=here.used,
            replicas=list(here.replicas),
            released=[
                Gone(replica_name(volume, one.number), one.at.host, one.at.disk, one.why)
                for one in here.lost
            ],
            rules=rules_of(world.policy.disk, fact),
            version=world.policy.algorithms.disk,
            hosts=hosts_of(world),
            whole=not (here.used or world.policy.disk.degraded_creation),
            # Without another replica that is sound there is nothing to rebuild one from.
            busy=busy(world.disks, world.policy.disk.rebuild_limit)
            if any(not one.failed for one in here.replicas)
            else frozenset(),
        )

    def take(self) -> None:
        """All parts, in their order."""
        fact = self.fact
        if fact is None:
            return
        if fact.size != self.size:
            self._resize(fact.size)
        while len(self.replicas) < fact.replicas and self._placed("missing", None):
            pass
        if self.whole and self.unplaced is not None:
            self._take_none()
        for one in self._overdue():
            self._placed("waited", one)
        for one in self._leaving():
            self._placed("evicting", one)

    def told(self, world: World, question: Question, causes: Causes) -> Iterator[Answered]:
        """The decision, if something changed or was edited; the refusal, if it says anything new."""
        changed = bool(self.released or self.steps or self.size != self._previous_size())
        complete = self.resized is None and self.unplaced is None
        if not (changed or complete) and RETRIED.issuperset(causes):
            return
        refused = self._refused()
        inputs = self._digest().hex()
        because = tuple(sorted(causes))
        if changed or (refused is None and "edited" in causes):
            yield Answered(
                subject=self.volume,
                algorithm=SYSTEM,
                version=self.version,
                inputs=inputs,
                branch=self._branch(),
                outcome=DiskPlacement(
                    volume=str(self.volume),
                    uid=self.uid,
                    wanted=0 if self.fact is None else self.fact.replicas,
                    size=self.size,
                    previous_size=self._previous_size(),
                    replicas=tuple(self._in_force()),
                    complete=complete,
                    released=tuple(self.released),
                    steps=tuple(self.steps),
                    alpha=self.rules.alpha,
                    scope=self.rules.scope,
                    because=because,
                ),
                moved=self._moved(),
            )
        if refused is None or (RETRIED.issuperset(causes) and not changed):
            return
        open_refusal = world.refusals.get(question)
        if open_refusal is not None:
            known = open_refusal.refusal
            if (known.reason, known.waits_for) == (refused.reason, refused.waits_for):
                return
        yield Answered(
            subject=self.volume,
            algorithm=SYSTEM,
            version=self.version,
            inputs=inputs,
            branch=REFUSED,
            outcome=Refusal(
                wanted="disk_placement",
                reason=refused.reason,
                waits_for=refused.waits_for,
                detail=refused.detail,
                losers=refused.losers,
                because=because,
            ),
            moved=0,
        )

    def _resize(self, size: Bytes) -> None:
        if not self.replicas:
            self.size = size
            return
        more = size - self.size
        if more < 0:
            self.resized = Refused("shrink", WAITS_FOR_WISH, (("shrink", -more),), NO_LOSERS)
            return
        count = Counter(one.at for one in self.replicas)
        short = []
        for at in sorted(count):
            shortfall = versions.disk(self.version).expansion(
                self._disk(at), self.rules.limits, required=more * count[at]
            )
            if shortfall is not None:
                short.append((f"{at.host}/{at.disk}", shortfall))
        if short:
            amounts = [one.bytes_short for _, one in short if one.bytes_short is not None]
            self.resized = Refused(
                reason="; ".join(sorted({shortfall.code for _, shortfall in short})),
                waits_for=WAITS_FOR_DISKS,
                detail=(("expansion", more), ("expansion_short", max(amounts))),
                losers=_losers(
                    [(name, f"{one.code} {one.value} {one.bound}") for name, one in short],
                    self.world.losers_named,
                ),
            )
            return
        self.size = size
        for at in sorted(count):
            self._take(at, more * count[at])

    def _take_none(self) -> None:
        self.used, self.replicas, self.steps, self.scheduled = 0, [], [], {}

    def _placed(self, why: WhyPlaced, instead: Replica | None) -> bool:
        """Place one more replica; the one it replaces goes when it is there."""
        if self.unplaced is not None:
            return False
        self.asked_everywhere = True
        number = self.used + 1
        name = replica_name(self.volume, number)
        situation = self._situation()
        step = versions.disk(self.version).place_on(
            self.hosts.ground(situation.volume, self.rules),
            situation,
            self._occupants(),
            name,
            first=self.world.losers_named + 1,
        )
        found = step.found
        if not isinstance(found, Placed):
            self.unplaced = step
            return False
        at = Address(found.choice.disk.node, found.choice.disk.name)
        self.steps.append(self._step(step, found, why, instead))
        self.used = number
        self.replicas.append(Replica(number, at))
        self._take(at, self.size)
        if instead is not None:
            self.replicas.remove(instead)
            self._take(instead.at, -self.size)
            self.released.append(Gone(self._name(instead), *instead.at, why=_gone(why)))
        return True

    def _overdue(self) -> list[Replica]:
        return [one for one in self.replicas if one.overdue]

    def _leaving(self) -> list[Replica]:
        """By number; those that were waited for in vain have been seen to."""
        return [one for one in self.replicas if not one.overdue and evicting(self.world.disks, one)]

    def _take(self, at: Address, size: int) -> None:
        self.scheduled[at] = self.scheduled.get(at, 0) + size

    def _situation(self) -> Situation:
        """The volume on the hosts that it has to do with; all others are its ground."""
        assert self.fact is not None
        return Situation(
            volume=Volume(
                size=self.size,
                demands=Demands(disk_selector=self.fact.disk_selector),
                node_selector=self.fact.node_selector,
            ),
            nodes=[self._node(name) for name in sorted(self._touched() | self.busy)],
            rules=self.rules,
        )

    def _touched(self) -> frozenset[NodeName]:
        """Hosts that this volume has replicas on, or had before this turn."""
        return frozenset(at.host for at in (*self.scheduled, *(one.at for one in self.replicas)))

    def _node(self, name: NodeName) -> Node:
        names: dict[str, frozenset[str]] = {}
        for one in self.replicas:
            if one.at.host == name:
                names[one.at.disk] = names.get(one.at.disk, frozenset()) | {self._name(one)}
        more = {at.disk: size for at, size in self.scheduled.items() if at.host == name}
        node = with_own(self.hosts.node(name), names, more)
        return replace(node, busy=True) if name in self.busy else node

    def _disk(self, at: Address) -> Disk:
        drives = self._node(at.host).drives
        return next(drive.disk for drive in drives if drive.disk.name == at.disk)

    def _occupants(self) -> list[CoreReplica]:
        """The volume's replicas, but for those that do not count any more."""
        return [
            CoreReplica(
                name=self._name(one),
                node=one.at.host,
                disk=one.at.disk,
                failed=one.failed,
                evicting=evicting(self.world.disks, one),
            )
            for one in self.replicas
            if not one.overdue
        ]

    def _name(self, one: Replica) -> str:
        return replica_name(self.volume, one.number)

    def _step(
        self, step: Step, found: Placed, why: WhyPlaced, instead: Replica | None
    ) -> record.Step:
        choice = found.choice
        nodes, disks = _stages(choice, self.world.losers_named)
        return record.Step(
            replica=found.replica,
            why=why,
            instead=None if instead is None else self._name(instead),
            rung=found.rungs[-1].name,
            rule=choice.rule,
            overcommitted=choice.overcommitted,
            candidates=step.candidates,
            nodes=nodes,
            disks=disks,
            losers=self._losers(step),
        )

    def _losers(self, step: Step) -> Losers:
        """Who could not be picked, and why: of several rungs what the last one says."""
        why = dict(self._out_of_service())
        rungs = step.found.rungs
        for rung in rungs:
            for kept in rung.kept:
                why[_address(why, kept.node, kept.disk)] = _kept(kept, rung.name)
            for one in rung.passed_over:
                why[_address(why, one.node, one.disk)] = _passed_over(one)
        if rungs:
            for disk in rungs[-1].candidates:
                why.pop(f"{disk.node}/{disk.name}", None)
                why.pop(disk.node, None)
        for one in step.infeasible:
            why[f"{one.node}/{one.disk}"] = _passed_over(one)
        counts = Counter(step.losers.counts)
        counts.update(reason.partition(" ")[0] for reason in why.values())
        for loser in step.losers.first:
            told = loser.why
            why[loser.address] = (
                _kept(told, loser.rung) if isinstance(told, Kept) else _passed_over(told)
            )
        named = sorted(why.items())[: self.world.losers_named]
        return Losers(tuple(sorted(counts.items())), tuple(named))

    def _out_of_service(self) -> Iterator[tuple[str, str]]:
        for name in sorted(self._touched() | self.busy):
            off = self.hosts.node(name).out_of_service
            if off is not None:
                yield name, off

    def _refused(self) -> Refused | None:
        """What all parts together lack; the first of them gives the reason."""
        parts = [] if self.resized is None else [self.resized]
        if self.unplaced is not None:
            assert self.fact is not None
            unplaced = self.unplaced.found
            assert isinstance(unplaced, Unplaced)
            lacking = {
                "missing": self.fact.replicas - len(self.replicas),
                "waited": len(self._overdue()),
                "evicting": len(self._leaving()),
                "replica_short": self.unplaced.bytes_short() or 0,
            }
            parts.append(
                Refused(
                    reason="; ".join(unplaced.reasons) or unplaced.code,
                    waits_for=WAITS_FOR_DISKS,
                    detail=tuple((name, count) for name, count in lacking.items() if count),
                    losers=self._losers(self.unplaced),
                )
            )
        if not parts:
            return None
        waits = {part.waits_for for part in parts}
        return Refused(
            reason=parts[0].reason,
            waits_for=WAITS_FOR_DISKS if WAITS_FOR_DISKS in waits else WAITS_FOR_WISH,
            detail=tuple(sorted(entry for part in parts for entry in part.detail)),
            losers=parts[-1].losers,
        )

    def _branch(self) -> str:
        if self.steps:
            replaces = any(step.instead is not None for step in self.steps)
            lost = any(gone.why in ("lost", "failed") for gone in self.released)
            return "replaced" if replaces or lost else "placed"
        if self.released:
            return "released"
        if self.size != self._previous_size():
            return "resized"
        return KEEP if self.replicas else "placed"

    def _previous_size(self) -> Bytes:
        return self.size if self.was is None else self.was.size

    def _in_force(self) -> Iterator[InForce]:
        hosts = self.world.disks.hosts
        for one in sorted(self.replicas):
            host = hosts[one.at.host]
            yield InForce(self._name(one), one.number, host.cluster, host.node, one.at.disk)

    def _moved(self) -> int:
        """Replicas that are on another disk than before, or were lost and are back elsewhere.

        Whoever was lost is counted where it was until another one comes for it, in this decision or in a
        later one.
        """
        if self.was is None:
            return 0
        missed = still_missed(
            self.was.missed,
            placed=sum(step.instead is None for step in self.steps),
            lacking=(0 if self.fact is None else self.fact.replicas) - len(self.replicas),
        )
        before = Counter([*(one.at for one in self.was.replicas), *self.was.missed])
        after = Counter([*(one.at for one in self.replicas), *missed])
        return min((after - before).total(), (before - after).total())

    def _digest(self) -> bytes:
        """Of what the turn was given: all disks if one was looked for, else those the volume is on."""
        hosts: Plain
        if self.asked_everywhere:
            hosts = self.hosts.fingerprints().hex()
        else:
            names = sorted({one.at.host for one in self._here()})
            hosts = [self.hosts.fingerprint(name).hex() for name in names]
        return digest({**self._spelled(), "hosts": hosts})

    def _spelled(self) -> dict[str, Plain]:
        """The same but for the disks."""
        fact, policy, here = self.fact, self.world.policy.disk, self._here()
        alpha = self.rules.alpha
        return {
            "volume": None
            if fact is None
            else {
                "uid": fact.uid,
                "size": fact.size,
                "replicas": fact.replicas,
                "node_selector": fact.node_selector,
                "disk_selector": fact.disk_selector,
            },
            "rules": {
                "node_soft": self.rules.node_soft,
                "zone_soft": self.rules.zone_soft,
                "disk_soft": self.rules.disk_soft,
                "alpha": [alpha.numerator, alpha.denominator],
                "scope": self.rules.scope,
                "auto_balance": self.rules.auto_balance,
                "limits": [
                    policy.over_provisioning_pct,
                    policy.min_available_pct,
                    policy.disk_pressure_pct,
                ],
                "allow_empty": [
                    policy.allow_empty_node_selector,
                    policy.allow_empty_disk_selector,
                ],
            },
            **({"whole": True} if self.whole else {}),
            **({"rebuilding": sorted(self.busy)} if self.busy else {}),
            "size": self.size if self.was is None else self.was.size,
            "replicas": [[one.number, *one.at, one.failed, one.overdue] for one in here],
        }

    def _here(self) -> tuple[Replica, ...]:
        copies = self.world.disks.volumes.get(self.volume)
        return () if copies is None else copies.replicas


def rules_of(policy: DiskPolicy, fact: VolumeUpserted | None) -> Rules:
    """How far a volume's replicas are kept apart, and how it is balanced: its own word first."""
    node_soft, zone_soft, disk_soft = policy.node_soft, policy.zone_soft, policy.disk_soft
    alpha = policy.alpha
    if fact is not None:
        node_soft = node_soft if fact.node_soft is None else fact.node_soft
        zone_soft = zone_soft if fact.zone_soft is None else fact.zone_soft
        disk_soft = disk_soft if fact.disk_soft is None else fact.disk_soft
        alpha = alpha if fact.alpha is None else fact.alpha
    return Rules(
        node_soft=node_soft,
        zone_soft=zone_soft,
        disk_soft=disk_soft,
        limits=limits_of(policy),
        auto_balance=policy.auto_balance,
        allow_empty_node_selector=policy.allow_empty_node_selector,
        allow_empty_disk_selector=policy.allow_empty_disk_selector,
        alpha=alpha,
        scope=policy.scope,
    )


def _gone(why: WhyPlaced) -> record.WhyReleased:
    assert why != "missing", "what is missing replaces nobody"
    return why


def _losers(named: list[tuple[str, str]], most: int) -> Losers:
    """What a record says of these; they are counted by the code that their reason begins with."""
    counts = Counter(reason.partition(" ")[0] for _, reason in named)
    return Losers(tuple(sorted(counts.items())), tuple(named[:most]))


def _kept(kept: Kept, rung: RungName | None) -> str:
    return " ".join(["anti_affinity", str(rung), *kept.by])


def _passed_over(one: PassedOver) -> str:
    numbers = [] if one.value is None else [str(one.value), str(one.bound)]
    return " ".join([one.code, *numbers])


def _address(why: dict[str, str], host: str, disk: str) -> str:
    """How a loser is called; a node whose disks were looked at on a later rung is none any more."""
    if not disk:
        return host
    why.pop(host, None)
    return f"{host}/{disk}"


def _stages(choice: Choice, losers: int) -> tuple[tuple[Weighed, ...], tuple[Weighed, ...]]:
    """Who was weighed, the best and the first that came after it; nobody where nothing was scored."""
    if choice.node_stage is None or choice.disk_stage is None:
        return (), ()
    return _ranked(choice.node_stage, losers), _ranked(choice.disk_stage, losers)


def _ranked(stage: Weighing, losers: int) -> tuple[Weighed, ...]:
    return tuple(
        Weighed(stage.names[place], _told(score), stage.usable[place])
        for place, score in stage.ranking(losers + 1).items()
    )


def _told(score: Fraction | str) -> str:
    return score if isinstance(score, str) else f"{score.numerator}/{score.denominator}"
