"""A step of placing where most nodes were judged before: the same answer, without looking at them.

A volume has replicas on a few nodes, and these are looked at anew in every step
(``ledger.core.disk.scheduling``). All others are to it what they are to any volume of its size with
its selectors and rules. They are its *ground*: what each of them has to offer, kept in order, and
added up by zone. Whoever keeps a ground puts a node in again when it changes, and a step costs what
the volume's own nodes cost and the few that can come first.

Only two rungs of the ladder reach beyond the volume's own nodes, the one of unused zones and the one
of unused nodes; on the others a node is used. So on the first of these the ground counts but for the
zones in use, on the second all of it does, and each time without the nodes that are looked at anew.

Where the score of a node reads more than sums and extremes - ratios, or the set of all candidates -
the ground is listed, and then the step costs what there is.

What a node offers that depends on no size (``Footing``) is shared by the grounds of all sizes.

Volumes that admit one node, want to be near to one or have terms of topology have no ground here.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest, nsmallest
from itertools import groupby, islice
from typing import Final, Literal, NamedTuple, TypeVar

from ledger.core.disk.affinity import Replica, ReplicaName, ZoneName
from ledger.core.disk.choice import Choice, NoDisk, choose, on_node
from ledger.core.disk.eligibility import Reason
from ledger.core.disk.scheduling import (
    Kept,
    Ladder,
    Node,
    PassedOver,
    Placed,
    Rules,
    Rung,
    RungName,
    Situation,
    Unplaced,
    Volume,
    candidate_nodes,
    infeasible,
    met_on,
    node_tags_missing,
    passed_over,
)
from ledger.core.disk.space import Disk, Shortfall, bytes_short, headroom, over_limit
from ledger.core.disk.weighing import Outline, Weighing
from ledger.units import NodeName

_Key = tuple[int, NodeName]
"""How nodes are ordered: by usable bytes, below zero so that the most come first, then by name.

Those with disks that lack room are ordered by how much.
"""

_BEYOND_ITS_OWN: Final = frozenset[RungName]({"unused_zone", "unused_node"})

_Place = tuple[str, NodeName]
"""How those passed over are ordered: by address, which for a disk is its node's, a slash and its name."""

_Ordered = TypeVar("_Ordered", NodeName, _Key, _Place)


class Offer(NamedTuple):
    """What a node has for a replica of a size."""

    node: NodeName
    zone: ZoneName | None
    """None where the node takes no replicas: then it is on no rung."""
    disks: tuple[Disk, ...]
    """Those that fit."""
    room: int
    """Their usable bytes."""
    total: int
    largest: int
    """The most usable bytes of one of them."""
    passed_over: tuple[PassedOver, ...]
    infeasible: tuple[PassedOver, ...]
    """Of those that fit, the ones that have too few usable bytes."""

    @property
    def losers(self) -> tuple[PassedOver, ...]:
        """Its disks that cannot be picked, or the node itself."""
        return self.passed_over + self.infeasible

    @property
    def key(self) -> _Key:
        """Its place among the others."""
        return -self.room, self.node


@dataclass(frozen=True, slots=True)
class Footing:
    """What a node has for volumes with certain selectors, whatever their size."""

    offer: Offer
    """For a size that every disk takes which takes any, and has the usable bytes for."""
    most: tuple[int, ...]
    """For each of these disks the largest size that it takes."""
    least: int
    """The least of these, and of the usable bytes of these disks."""

    @staticmethod
    def of(node: Node, volume: Volume, rules: Rules) -> "Footing":
        """Judge a node; of the volume its size is not read."""
        disks: list[Disk] = []
        most: list[int] = []
        out: list[PassedOver] = []
        off = node.out_of_service
        mismatch = node_tags_missing(node, volume, rules)
        if off is not None:
            out.append(PassedOver(node.name, "", off, None))
        elif mismatch is not None:
            out.append(mismatch)
        else:
            for met in met_on(node, volume, rules):
                if isinstance(met, PassedOver):
                    out.append(met)
                    continue
                room = headroom(met.disk, rules.limits, actual=volume.actual_size)
                if isinstance(room, Shortfall):
                    out.append(passed_over(met.disk, room))
                else:
                    disks.append(met.disk)
                    most.append(room)
        zone = node.zone if off is None else None
        least = min((*most, *(disk.room for disk in disks)), default=0)
        return Footing(_offer(node.name, zone, disks, out), tuple(most), least)

    def at(self, size: int) -> Offer:
        """What the node has for replicas of a size."""
        if size <= self.least or not self.most:
            return self.offer
        disks: list[Disk] = []
        out = list(self.offer.passed_over)
        for disk, most in zip(self.offer.disks, self.most, strict=True):
            if size <= most:
                disks.append(disk)
            else:
                out.append(passed_over(disk, over_limit(disk, most, size=size)))
        return _offer(self.offer.node, self.offer.zone, disks, out, size=size)


class Total:
    """What some nodes come to."""

    __slots__ = ("codes", "disks", "infeasible", "nodes", "room", "taking")

    def __init__(self) -> None:
        self.taking = 0
        """Nodes that take replicas."""
        self.nodes = 0
        """Of these, the ones with disks that fit."""
        self.disks = 0
        self.room = 0
        """Of these disks, the usable bytes."""
        self.infeasible = 0
        """Of these disks, the ones that have too few."""
        self.codes: Counter[tuple[str, Reason | None]] = Counter()
        """Who was passed over, by code and what Longhorn says."""

    def add(self, offer: Offer, times: int) -> None:
        """One more node, or one less."""
        if offer.zone is not None:
            self.taking += times
        if offer.disks:
            self.nodes += times
            self.disks += times * len(offer.disks)
            self.room += times * offer.room
            self.infeasible += times * len(offer.infeasible)
        for one in offer.passed_over:
            self.codes[one.code, one.reason] += times

    def add_all(self, other: "Total", times: int) -> None:
        """Others besides, or without them."""
        self.taking += times * other.taking
        self.nodes += times * other.nodes
        self.disks += times * other.disks
        self.room += times * other.room
        self.infeasible += times * other.infeasible
        for code, count in other.codes.items():
            self.codes[code] += times * count


@dataclass(frozen=True, slots=True)
class Loser:
    """Who of the ground could not be picked: passed over, infeasible, or kept away on a rung by replicas."""

    address: str
    why: PassedOver | Kept
    rung: RungName | None
    """None where nobody keeps it away."""


@dataclass(frozen=True, slots=True)
class Losers:
    """How many of the ground lost for each reason, and the first of them by address."""

    counts: Counter[str]
    first: tuple[Loser, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A step: what its rungs say of the volume's own nodes, and who lost on the ground.

    It is good for as long as nothing is put on the ground.
    """

    found: Placed | Unplaced
    candidates: int
    """On the last rung, with those of the ground."""
    losers: Losers
    infeasible: tuple[PassedOver, ...]
    """Of the candidates on the volume's own nodes."""
    view: "View"
    """What of the ground was seen from there."""

    def bytes_short(self) -> int | None:
        """Of all disks that lack nothing but room, how much the one lacks that lacks least."""
        own = (_least_short(rung.passed_over) for rung in self.found.rungs)
        there = (*own, self.view.least_short())
        return min((short for short in there if short is not None), default=None)


class Ground:
    """What nodes offer to replicas of one size, in order; ``put`` and ``drop`` keep it up."""

    __slots__ = ("all", "by_room", "losers", "names", "offers", "short", "zones")

    def __init__(self, offers: Iterable[Offer]) -> None:
        self.offers: dict[NodeName, Offer] = {}
        self.all: Final = Total()
        self.zones: dict[ZoneName | None, Total] = {}
        self.names: dict[ZoneName | None, list[NodeName]] = {}
        """Of each zone, in order."""
        for offer in offers:
            self.offers[offer.node] = offer
            self._count(offer, 1)
            self.names.setdefault(offer.zone, []).append(offer.node)
        for names in self.names.values():
            names.sort()
        there = self.offers.values()
        self.by_room = sorted(offer.key for offer in there if offer.disks)
        """The nodes with disks that fit."""
        self.losers = sorted(place for offer in there for place in _places(offer))
        self.short = sorted(key for offer in there for key in _short(offer))
        """The nodes with disks that lack nothing but room, by how much the one lacks that lacks least."""

    def put(self, offer: Offer) -> None:
        """A node as it now is."""
        before = self.offers.get(offer.node)
        if before is offer:
            return
        if before is not None:
            self.drop(offer.node)
        self.offers[offer.node] = offer
        self._count(offer, 1)
        insort(self.names.setdefault(offer.zone, []), offer.node)
        if offer.disks:
            insort(self.by_room, offer.key)
        for place in _places(offer):
            insort(self.losers, place)
        for key in _short(offer):
            insort(self.short, key)

    def drop(self, node: NodeName) -> None:
        """A node that is not there any more, if it was."""
        offer = self.offers.pop(node, None)
        if offer is None:
            return
        self._count(offer, -1)
        _remove(self.names[offer.zone], node)
        if offer.disks:
            _remove(self.by_room, offer.key)
        for place in _places(offer):
            _remove(self.losers, place)
        for key in _short(offer):
            _remove(self.short, key)

    def _count(self, offer: Offer, times: int) -> None:
        self.all.add(offer, times)
        there = self.zones.get(offer.zone)
        if there is None:
            there = self.zones[offer.zone] = Total()
        there.add(offer, times)


@dataclass(frozen=True, slots=True)
class View:
    """A ground without some zones, and without some nodes."""

    ground: Ground
    closed: frozenset[ZoneName]
    but: frozenset[NodeName]

    def total(self) -> Total:
        """What it comes to."""
        ground, left = self.ground, Total()
        left.add_all(ground.all, 1)
        for zone in sorted(self.closed):
            if zone in ground.zones:
                left.add_all(ground.zones[zone], -1)
        for name in sorted(self.but):
            offer = ground.offers.get(name)
            if offer is not None and offer.zone not in self.closed:
                left.add(offer, -1)
        return left

    def offers(self, keys: Iterable[_Key]) -> Iterator[Offer]:
        """What is seen of some of the ground's nodes."""
        offers, closed, but = self.ground.offers, self.closed, self.but
        for _, node in keys:
            offer = offers[node]
            if offer.zone not in closed and node not in but:
                yield offer

    def least_short(self) -> int | None:
        """Of disks that lack nothing but room, how much the one lacks that lacks least."""
        nearest = next(self.offers(self.ground.short), None)
        return None if nearest is None else _least_short(nearest.passed_over)

    def lost(self) -> Iterator[Loser]:
        """Who was passed over or is infeasible, by address."""
        for address, node in self.ground.losers:
            offer = self.ground.offers[node]
            if node not in self.but and offer.zone not in self.closed:
                why = next(one for one in offer.losers if _address(one) == address)
                yield Loser(address, why, None)

    def has_infeasible(self, disk: Disk) -> bool:
        """Whether it is one of those that are seen, and has too few usable bytes."""
        if disk.node in self.but:
            return False
        offer = self.ground.offers[disk.node]
        return any(one.disk == disk.name for one in offer.infeasible)

    def kept(self, zone: ZoneName) -> tuple[int, Iterator[NodeName]]:
        """How many nodes of a zone that is not seen there are, and who they are, by name."""
        names, offers = self.ground.names.get(zone, ()), self.ground.offers
        count = len(names) - sum(name in offers and offers[name].zone == zone for name in self.but)
        return count, (name for name in names if name not in self.but)


def place_on(
    ground: Ground,
    situation: Situation,
    replicas: Sequence[Replica],
    name: ReplicaName,
    *,
    first: int,
) -> Step:
    """Find the disk for a new replica, on nodes of the situation or of the ground.

    A node of the situation counts as it is there, whether or not it lies on the ground too. Of the
    stage in which nodes are compared no more than the ``first`` of the ranking can be told, and as
    many losers are named.
    """
    volume = situation.volume
    for demand in (volume.only_node, volume.near_node, volume.topology):
        assert not demand, "no ground is kept for it"
    own = frozenset(node.name for node in situation.nodes)
    assert all(one.name != name and one.node in own for one in replicas), f"{name} is not new"
    view = View(ground, frozenset(), own)
    nodes = candidate_nodes(situation)
    if not isinstance(nodes, list):
        total = view.total()
        if not total.taking:
            unplaced = Unplaced(name, "no_eligible_node", (nodes,))
            return Step(unplaced, 0, _losers(view, total, None, (), None, first), (), view)
        nodes = []
    ladder = Ladder.of(situation, nodes, replicas)
    view = View(ground, frozenset(ladder.occupancy.zones), own)
    total = view.total()
    rungs: list[Rung] = []
    choice: Choice | NoDisk | None = None
    candidates = 0
    for rung in ladder.rungs():
        rungs.append(rung)
        if rung.name == "unused_node":
            view = View(ground, frozenset(), own)
            total = view.total()
        beyond = rung.name in _BEYOND_ITS_OWN and total.disks > 0
        candidates = len(rung.candidates) + (total.disks if beyond else 0)
        if candidates:
            if beyond:
                choice = _choice(view, total, rung.candidates, situation, first)
            else:
                rules = situation.rules
                choice = choose(
                    rung.candidates, size=volume.size, alpha=rules.alpha, scope=rules.scope
                )
            break
    chosen = choice.disk if isinstance(choice, Choice) else None
    losers = _losers(view, total, ladder, rungs, chosen, first)
    others = tuple(
        short
        for disk in rungs[-1].candidates
        if disk != chosen and (short := infeasible(disk, size=volume.size)) is not None
    )
    if isinstance(choice, Choice):
        return Step(Placed(name, choice, tuple(rungs)), candidates, losers, others, view)
    if choice is not None:
        reasons: tuple[Reason, ...] = ("replica scheduling failed",)
        unplaced = Unplaced(name, "no_disk", reasons, tuple(rungs))
        return Step(unplaced, candidates, losers, others, view)
    said = {one.reason for rung in rungs for one in rung.passed_over if one.reason}
    said.update(reason for (_, reason), count in total.codes.items() if reason and count)
    code: Literal["no_fitting_disk", "anti_affinity"]
    code = "no_fitting_disk" if said else "anti_affinity"
    unplaced = Unplaced(name, code, tuple(sorted(said)), tuple(rungs))
    return Step(unplaced, 0, losers, others, view)


def _choice(
    view: View, total: Total, mine: Sequence[Disk], situation: Situation, first: int
) -> Choice | NoDisk:
    """Choose among what is seen of the ground, and the candidates on the volume's own nodes."""
    ground, size, rules = view.ground, situation.volume.size, situation.rules
    if total.disks == 1 and not mine:
        (disk,) = next(view.offers(ground.by_room)).disks
        return Choice(disk, "single", overcommitted=disk.usable < size)
    own = [
        _offer(node, "", list(disks), [])
        for node, disks in groupby(mine, key=lambda disk: disk.node)
    ]
    if rules.scope == "node":
        nodes = _node_stage(view, total, own, size=size, alpha=rules.alpha, first=first)
        best = nodes.best(undefined_wins=True)
        if best is not None:
            name = NodeName(nodes.names[best])
            chosen = next((one for one in own if one.node == name), None)
            return on_node((chosen or ground.offers[name]).disks, nodes)
    everything = [disk for offer in view.offers(ground.by_room) for disk in offer.disks]
    return choose([*everything, *mine], size=size, alpha=rules.alpha, scope=rules.scope)


def _node_stage(
    view: View, total: Total, own: Sequence[Offer], *, size: int, alpha: Fraction, first: int
) -> Weighing:
    """The nodes with candidates; where bytes are all that counts, only the first of them."""
    ground, outline = view.ground, None
    if alpha >= 1:
        large_enough = [offer for offer in own if offer.largest >= size]
        there = (offer for offer in view.offers(ground.by_room) if offer.largest >= size)
        large_enough += islice(there, first)
        members = sorted(large_enough, key=lambda offer: offer.key)[:first]
        rooms = [offer.room for offer in own]
        outline = Outline(
            members=total.nodes + len(own),
            usable=total.room + sum(rooms),
            largest=nlargest(2, [*rooms, *_rooms(view.offers(ground.by_room))]),
            smallest=nsmallest(2, [*rooms, *_rooms(view.offers(reversed(ground.by_room)))]),
        )
    else:
        members = [*view.offers(ground.by_room), *own]
    return Weighing(
        names=[offer.node for offer in members],
        usable=[offer.room for offer in members],
        totals=[offer.total for offer in members],
        size=size,
        alpha=alpha,
        feasible=[place for place, one in enumerate(members) if one.largest >= size],
        listed=range(len(members)),
        outline=outline,
    )


def _rooms(offers: Iterator[Offer]) -> list[int]:
    """Of the first two, which is as many as can be extreme."""
    return [offer.room for offer in islice(offers, 2)]


def _losers(
    view: View,
    total: Total,
    ladder: Ladder | None,
    rungs: Sequence[Rung],
    chosen: Disk | None,
    first: int,
) -> Losers:
    """Who of the ground was passed over, infeasible, or kept away: the last rung that says so."""
    counts = Counter[str](infeasible=total.infeasible)
    for (code, _), count in total.codes.items():
        counts[code] += count
    lost = view.lost()
    if chosen is not None and view.has_infeasible(chosen):
        # Where nobody has room the one with most is taken, and nobody lost with it.
        counts["infeasible"] -= 1
        its_own = f"{chosen.node}/{chosen.name}"
        lost = (loser for loser in lost if loser.address != its_own)
    # Where few lost there are no others to be looked for.
    named = list(islice(lost, min(first, counts.total())))
    went_on = any(rung.name == "evict_only_zone" for rung in rungs)
    for zone in sorted(view.closed):
        assert ladder is not None, "a zone is closed to a volume that has replicas there"
        rung: RungName = "unused_zone"
        by = ladder.occupancy.zones[zone]
        if went_on and not all(replica.evicting for replica in by):
            rung = "evict_only_zone"
            by = tuple(replica for replica in by if not replica.evicting)
        count, names = view.kept(zone)
        counts["anti_affinity"] += count
        told = tuple(replica.name for replica in by)
        named += [Loser(name, Kept(name, "", told), rung) for name in islice(names, first)]
    named.sort(key=lambda loser: loser.address)
    return Losers(+counts, tuple(named[:first]))


def _offer(
    node: NodeName,
    zone: ZoneName | None,
    disks: Sequence[Disk],
    out: Sequence[PassedOver],
    *,
    size: int = 0,
) -> Offer:
    rooms = [disk.room for disk in disks]
    short = (infeasible(disk, size=size) for disk in disks)
    return Offer(
        node=node,
        zone=zone,
        disks=tuple(disks),
        room=sum(rooms),
        total=sum(disk.total for disk in disks),
        largest=max(rooms, default=0),
        passed_over=tuple(out),
        infeasible=tuple(one for one in short if one is not None),
    )


def _short(offer: Offer) -> list[_Key]:
    """Its place among those that lack room, if it is one of them."""
    least = _least_short(offer.passed_over)
    return [] if least is None else [(least, offer.node)]


def _least_short(out: Sequence[PassedOver]) -> int | None:
    """Of disks that lack nothing but room, how much the one lacks that lacks least."""
    short = [
        bytes_short(one.code, one.value, one.bound)
        for one in out
        if one.value is not None and one.bound is not None
    ]
    return min((one for one in short if one is not None), default=None)


def _places(offer: Offer) -> list[_Place]:
    return [(_address(one), offer.node) for one in offer.losers]


def _address(one: PassedOver) -> str:
    return f"{one.node}/{one.disk}" if one.disk else one.node


def _remove(ordered: list[_Ordered], one: _Ordered) -> None:
    place = bisect_left(ordered, one)
    assert ordered[place] == one, f"{one} is not where it was put"
    del ordered[place]
