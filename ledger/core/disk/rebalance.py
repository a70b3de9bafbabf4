"""A bounded list of moves that makes the usable bytes of the disks more even.

The plan is greedy: each time the one move that leaves the lowest score, and only if that is lower
than before; a move that leaves the score as it is, is none. So nothing is moved back and forth, and
plans made one after another come to an end. Between equal moves the smaller one goes first, then
the first by volume and replica, then the one to the target with the most room, then by its name.

The score is that of all disks that may be written to, by one of two measures. ``balance`` is the
one that placements go by, the range over the mean. It sees only the extremes: while two disks are
equally full no single move lowers it. ``spread`` sees every disk: it is the mean square deviation
over the square of the mean, of the same bytes and ratios, mixed by the same ``alpha``.

A move takes the replica's size off what the target can promise and what it has written off what is
available there, and gives both back at the source: what a report would say afterwards. It must fit
like a new replica, and must not bring the volume's replicas closer together: never onto a disk,
node or zone that another one of them occupies, unless it stays on its own node or in its own zone.

Of the targets with equal totals that may take a replica, the one with the most usable bytes leaves
the lowest score by either measure, so only one target per distinct total is scored. That holds as
long as a replica costs every target the same; with ``net`` accounting it does not, and each target
is scored. No move promises more than there is.

A plan that is carried out later is looked at again, move by move, by the same rules but for the
score (``first_hindered``): what it was good for was judged when it was made.

Nothing here is carried out. Who approves a plan is left to ``ledger.decisions``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import nlargest, nsmallest
from operator import attrgetter
from typing import Literal

from ledger.core.disk.affinity import Replica, ReplicaName
from ledger.core.disk.eligibility import eligible
from ledger.core.disk.scheduling import (
    Drive,
    Node,
    Rules,
    Situation,
    Volume,
    candidate_nodes,
    node_tags_missing,
    switched_off,
)
from ledger.core.disk.space import Disk, DiskName, fits
from ledger.core.shares import require_count
from ledger.errors import InvalidRequest
from ledger.units import NodeName

VolumeName = str
Measure = Literal["balance", "spread"]
Address = tuple[NodeName, DiskName]


@dataclass(frozen=True, slots=True)
class Stored:
    """A replica with the volume it belongs to."""

    volume: VolumeName
    replica: Replica


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """All that lies on the disks, of every volume."""

    nodes: Sequence[Node]
    volumes: Mapping[VolumeName, Volume]
    stored: Sequence[Stored]
    rules: Rules

    def __post_init__(self) -> None:
        names = {(one.volume, one.replica.name) for one in self.stored}
        if len(names) < len(self.stored):
            raise InvalidRequest("invalid_request", "replicas: the same name twice in a volume")
        for one in self.stored:
            if one.volume not in self.volumes:
                raise InvalidRequest(
                    "invalid_request", f"replica {one.replica.name}: no volume {one.volume!r}"
                )


@dataclass(frozen=True, slots=True)
class Move:
    """One replica from disk to disk, and the score once it is there."""

    volume: VolumeName
    replica: ReplicaName
    source: Address
    target: Address
    size: int
    score: Fraction


@dataclass(frozen=True, slots=True)
class Plan:
    """The moves in order, the score before the first and after the last, and why it ends there."""

    measure: Measure
    before: Fraction | None
    after: Fraction | None
    moves: tuple[Move, ...]
    ended: Literal["undefined", "no_better_move", "max_moves", "max_bytes"]

    @property
    def size(self) -> int:
        """The bytes that the plan moves, by the sizes of the volumes."""
        return sum(move.size for move in self.moves)


def plan(
    stock: Stock, *, max_moves: int, max_bytes: int | None = None, measure: Measure = "balance"
) -> Plan:
    """Lower the score move by move, within both bounds; each replica is moved at most once."""
    require_count("max_moves", max_moves)
    if max_bytes is not None:
        require_count("max_bytes", max_bytes)
    floor = _Floor.of(stock)
    alpha = stock.rules.alpha
    evenness = _Evenness.of(floor.disks, alpha, measure)
    before = score = evenness.score({})
    moves: list[Move] = []
    left = max_bytes
    while score is not None:
        found = list(_better(floor, evenness, score))
        affordable = [one for one in found if left is None or one.size <= left]
        if not affordable or len(moves) == max_moves:
            ended: Literal["no_better_move", "max_moves", "max_bytes"] = "no_better_move"
            if found:
                ended = "max_moves" if len(moves) == max_moves else "max_bytes"
            return Plan(measure, before, score, tuple(moves), ended)
        best = min(affordable, key=floor.turn)
        assert best.score < score, "every move lowers the score"
        floor.carry_out(best.volume, best.replica, best.target)
        evenness = _Evenness.of(floor.disks, alpha, measure)
        moves.append(best)
        score = best.score
        left = None if left is None else left - best.size
    return Plan(measure, before, None, (), "undefined")


Hindrance = Literal["not_movable", "target_unavailable", "unsuitable", "no_room", "anti_affinity"]
"""What is in the way of a move: the replica is not there, broken, or has to leave anyway; nothing is
written to the disk; the volume does not want it; it has too little left; another replica is too near."""


@dataclass(frozen=True, slots=True)
class Hindered:
    """The first of several moves that cannot be made once those before it are."""

    place: int
    """Which, counted from 0."""
    why: Hindrance


def first_hindered(
    stock: Stock, moves: Sequence[tuple[VolumeName, ReplicaName, Address]]
) -> Hindered | None:
    """Make these moves one after another; None if all of them can be made."""
    floor = _Floor.of(stock)
    for place, (volume, replica, target) in enumerate(moves):
        source = floor.where.get(volume, {}).get(replica)
        if (volume, replica) not in floor.movable or source not in floor.disks:
            return Hindered(place, "not_movable")
        why = floor.hindrance(volume, replica, target)
        if why is None and floor.after(volume, source, target)[1].usable < 0:
            why = "no_room"
        if why is not None:
            return Hindered(place, why)
        floor.carry_out(volume, replica, target)
    return None


@dataclass(frozen=True, slots=True)
class _Floor:
    """The disks that may be written to, as they are after the moves made so far."""

    stock: Stock
    disks: dict[Address, Disk]
    zone_of: Mapping[NodeName, str]
    busy: frozenset[NodeName]
    """Nodes that rebuild as many replicas as they may."""
    allowed: Mapping[VolumeName, frozenset[Address]]
    """Where each volume's replicas may lie, whatever room there is."""
    where: Mapping[VolumeName, dict[ReplicaName, Address]]
    """The replicas that occupy something."""
    movable: set[tuple[VolumeName, ReplicaName]]

    @staticmethod
    def of(stock: Stock) -> "_Floor":
        drives = {
            (node.name, drive.disk.name): drive
            for node in stock.nodes
            if node.takes_replicas
            for drive in node.drives
            if not switched_off(drive)
        }
        where: dict[VolumeName, dict[ReplicaName, Address]] = {name: {} for name in stock.volumes}
        movable = set()
        for one in stock.stored:
            replica = one.replica
            if replica.occupies(replenishing=False):
                where[one.volume][replica.name] = replica.node, replica.disk
                if not (replica.failed or replica.evicting):
                    movable.add((one.volume, replica.name))
        return _Floor(
            stock=stock,
            disks={address: _booked(drives[address], stock) for address in sorted(drives)},
            zone_of={node.name: node.zone for node in stock.nodes},
            busy=frozenset(node.name for node in stock.nodes if node.busy),
            allowed={
                name: frozenset(_suitable(stock, volume)) for name, volume in stock.volumes.items()
            },
            where=where,
            movable=movable,
        )

    def hindrance(
        self, volume: VolumeName, replica: ReplicaName, target: Address
    ) -> Hindrance | None:
        """Whether the disk suits the volume, takes the replica, and keeps it apart from others."""
        if target not in self.disks or target[0] in self.busy:
            return "target_unavailable"
        if target not in self.allowed[volume]:
            return "unsuitable"
        moved = self.stock.volumes[volume]
        short = fits(
            self.disks[target],
            self.stock.rules.limits,
            size=moved.size,
            actual=moved.actual_size,
        )
        if short is not None:
            return "no_room"
        node = self.where[volume][replica][0]
        others = [other for name, other in self.where[volume].items() if name != replica]
        nodes = [other[0] for other in others]
        zone = self.zone_of[target[0]]
        apart = (
            target not in others
            and (target[0] == node or target[0] not in nodes)
            and (zone == self.zone_of.get(node) or zone not in map(self.zone_of.get, nodes))
        )
        return None if apart else "anti_affinity"

    def turn(self, move: Move) -> tuple[Fraction, int, VolumeName, ReplicaName, int, Address]:
        """What the best move has the least of."""
        room = self.disks[move.target].room
        return move.score, move.size, move.volume, move.replica, -room, move.target

    def carry_out(self, volume: VolumeName, replica: ReplicaName, target: Address) -> None:
        source = self.where[volume][replica]
        self.disks[source], self.disks[target] = self.after(volume, source, target)
        self.where[volume][replica] = target
        self.movable.discard((volume, replica))

    def after(self, volume: VolumeName, source: Address, target: Address) -> tuple[Disk, Disk]:
        """Both disks once a replica of the volume has gone from one to the other."""
        moved = self.stock.volumes[volume]
        return (
            _shifted(self.disks[source], -moved.size, -moved.actual_size),
            _shifted(self.disks[target], moved.size, moved.actual_size),
        )


def _shifted(disk: Disk, size: int, actual: int) -> Disk:
    return replace(
        disk,
        # A report may promise less than what lies there; a promise below nothing is none.
        scheduled=max(0, disk.scheduled + size),
        available=disk.available - actual,
        written=None if disk.written is None else max(0, disk.written + actual),
    )


def _booked(drive: Drive, stock: Stock) -> Disk:
    """The disk with every replica on it booked, of whichever volume."""
    disk = drive.disk
    missing = sum(
        stock.volumes[one.volume].size
        for one in stock.stored
        if one.replica.is_on(disk.node, disk.name)
        and one.replica.name not in drive.scheduled_replicas
    )
    return replace(disk, scheduled=disk.scheduled + missing) if missing else disk


def _suitable(stock: Stock, volume: Volume) -> Iterator[Address]:
    rules = stock.rules
    nodes = candidate_nodes(Situation(volume=volume, nodes=stock.nodes, rules=rules))
    for node in nodes if isinstance(nodes, list) else []:
        if node_tags_missing(node, volume, rules) is None:
            for drive in node.drives:
                misfit = eligible(
                    drive.traits,
                    volume.demands,
                    allow_empty_disk_selector=rules.allow_empty_disk_selector,
                )
                if misfit is None and not switched_off(drive):
                    yield node.name, drive.disk.name


def _better(floor: _Floor, evenness: "_Evenness", score: Fraction) -> Iterator[Move]:
    """For each replica and group of like disks the best target, where that lowers the score."""
    alike: dict[int | Address, list[Address]] = {}
    for address in sorted(floor.disks, key=lambda address: (-floor.disks[address].room, address)):
        disk = floor.disks[address]
        alike.setdefault(disk.total if disk.written is None else address, []).append(address)
    for volume, replica in sorted(floor.movable):
        source = floor.where[volume][replica]
        if source not in floor.disks:
            continue
        for targets in alike.values():
            target = next(
                (
                    one
                    for one in targets
                    if one != source and floor.hindrance(volume, replica, one) is None
                ),
                None,
            )
            if target is None:
                continue
            left, taken = floor.after(volume, source, target)
            after = evenness.score({source: left, target: taken})
            # A move that promises more than there is may look even, because nothing is below none.
            if taken.usable >= 0 and after is not None and after < score:
                size = floor.stock.volumes[volume].size
                yield Move(volume, replica, source, target, size, after)


Amount = int | Fraction


@dataclass(frozen=True, slots=True)
class _Half:
    """The absolute or the ratio half of a score, ready for a change of two members."""

    measure: Measure
    disks: Mapping[Address, Disk]
    """As they are: once a move is carried out, a half is to be made anew."""
    amount: Callable[[Disk], Amount]
    members: int
    total: Amount
    squares: Amount
    """Zero where the measure does not ask for them."""
    largest: Sequence[Address]
    """The three largest: whichever two change, one of these does not."""
    smallest: Sequence[Address]

    @staticmethod
    def of(disks: Mapping[Address, Disk], unit: Callable[[Disk], int], measure: Measure) -> "_Half":
        """Of what each has room for, in a unit of its own; who has none is left out.

        Those of one unit are summed and compared as whole numbers: there are many disks and few sizes.
        """
        alike: dict[int, list[tuple[int, Address]]] = {}
        for address, disk in disks.items():
            alike.setdefault(unit(disk), []).append((disk.room, address))
        alike.pop(0, None)

        def amount(disk: Disk) -> Amount:
            each = unit(disk)
            return disk.room if each == 1 else Fraction(disk.room, each)

        def order(address: Address) -> tuple[Amount, Address]:
            return amount(disks[address]), address

        return _Half(
            measure=measure,
            disks=disks,
            amount=amount,
            members=sum(map(len, alike.values())),
            total=sum(Fraction(sum(room for room, _ in of), each) for each, of in alike.items()),
            squares=0
            if measure == "balance"
            else sum(
                Fraction(sum(room * room for room, _ in of), each * each)
                for each, of in alike.items()
            ),
            largest=nlargest(3, _addresses(nlargest(3, of) for of in alike.values()), key=order),
            smallest=nsmallest(3, _addresses(nsmallest(3, of) for of in alike.values()), key=order),
        )

    def score(self, changed: Mapping[Address, Disk]) -> Fraction | None:
        after = {one: self.amount(disk) for one, disk in changed.items()}
        before = {one: self.amount(self.disks[one]) for one in changed}
        total = self.total + sum(after.values()) - sum(before.values())
        if total <= 0:
            return None
        if self.measure == "balance":
            ends = [
                *after.values(),
                *(self.amount(self.disks[one]) for one in self.largest if one not in changed),
                *(self.amount(self.disks[one]) for one in self.smallest if one not in changed),
            ]
            return Fraction((max(ends) - min(ends)) * self.members, total)
        squares = self.squares + sum(
            after[one] * after[one] - before[one] * before[one] for one in changed
        )
        return Fraction(squares * self.members, total * total) - 1


def _addresses(groups: Iterable[list[tuple[int, Address]]]) -> list[Address]:
    return [address for group in groups for _, address in group]


@dataclass(frozen=True, slots=True)
class _Evenness:
    """The score of a set of disks, and what it would be with two of them changed."""

    alpha: Fraction
    bytes_half: _Half
    ratio_half: _Half

    @staticmethod
    def of(disks: Mapping[Address, Disk], alpha: Fraction, measure: Measure) -> "_Evenness":
        return _Evenness(
            alpha=min(max(alpha, Fraction(0)), Fraction(1)),
            bytes_half=_Half.of(disks, lambda _: 1, measure),
            ratio_half=_Half.of(disks, attrgetter("total"), measure),
        )

    def score(self, changed: Mapping[Address, Disk]) -> Fraction | None:
        score = Fraction(0)
        if self.alpha > 0:
            absolute = self.bytes_half.score(changed)
            if absolute is None:
                return None
            score += self.alpha * absolute
        if self.alpha < 1:
            sized = {one: disk for one, disk in changed.items() if disk.total > 0}
            ratio = self.ratio_half.score(sized)
            if ratio is None:
                return None
            score += (1 - self.alpha) * ratio
        return score
