"""A slow, literal model of proposals of disks: every move of every replica to every disk is tried.

Each time the best of all moves is looked for, and its score worked out as the page defines it. After
each event every open proposal is looked at: whether the replicas that it would move are where they
were, and the disks that they would go to are the ones that were meant. An approved one is made move by
move, on disks that are added up anew each time; if one cannot be made, all are taken back.

Whether a disk suits and has room is asked of the core, which has models of its own for that.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from ledger.core.disk.eligibility import Demands, eligible, tags_match
from ledger.core.disk.scheduling import Drive, Node, switched_off
from ledger.core.disk.space import fits
from ledger.facts.control import ProposalApproved, ProposalRequested
from ledger.facts.event import Fact
from tests.laws.model import bytewise
from tests.laws.naive_disks import Lying, NaiveDisks, node_id
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_part import Moment, Said

MOST = 100


class Move(NamedTuple):
    """A replica that would go to another disk."""

    volume: str
    replica: str
    out: str
    into: str


@dataclass(slots=True)
class Open:
    """A proposal that nobody carried out yet."""

    number: int
    subject: str
    moves: list[Move]
    lives: list[tuple[int, int, int]]
    """Of the volume, of the disk that is left and of the one that is gone to, move by move."""


@dataclass(slots=True)
class NaiveProposals:
    """What is proposed after everything else was decided."""

    fleet: NaiveFleet
    disks: NaiveDisks
    open: dict[str, Open] = field(default_factory=dict)
    """By subject."""
    approved: set[int] = field(default_factory=set)
    requested: dict[str, ProposalRequested] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fleet.parts.append(self)

    # As a part.

    def moments(self) -> list[Moment]:
        """Nothing runs out."""
        return []

    def fired(self, moment: Moment) -> None:
        """Only what follows matters."""

    def heard(self, fact: Fact, subject: str) -> None:
        """Somebody asks, or says yes to what is open."""
        if isinstance(fact, ProposalRequested):
            self.requested[fact.subject or self.fleet.salt] = fact
        if isinstance(fact, ProposalApproved):
            numbers = {one.number for one in self.open.values()}
            if fact.proposal in numbers - self.approved:
                self.approved.add(fact.proposal)
            else:
                self.fleet.effect = "no_effect"

    def folded(self) -> None:
        """Withdraw what does not stand any more."""
        for one in list(self.open.values()):
            if [self._lives(move) for move in one.moves] != one.lives:
                self._withdraw(one)

    def settled(self) -> None:
        """Nothing follows."""

    def decide(self, moment: Moment | None) -> list[Said]:
        """Withdraw what moves those that were decided, then answer who asked."""
        decided = {
            made.subject
            for made in self.fleet.said
            if made.number >= self.fleet.first and made.kind == "disk_placement"
        }
        self._withdraw_of(decided)
        said = []
        for subject in bytewise(self.requested):
            asked = self.requested[subject]
            scope = self._scope(subject)
            if scope is None:
                said.append(self._heading("refusal", subject, None, moment))
                said[-1].reason, said[-1].waits_for = "unknown_subject", "nothing"
                continue
            most = MOST if asked.max_moves is None else asked.max_moves
            moves = list(self._planned(*scope, most, asked.max_bytes))
            open_ = self.open.get(subject)
            if open_ is not None and open_.moves == moves:
                continue
            made = self._heading(
                "proposal", subject, None if open_ is None else open_.number, moment
            )
            made.rows = {one.replica: f"{one.out} -> {one.into}" for one in moves}
            said.append(made)
            if open_ is not None:
                self._close(open_)
            if moves:
                lives = [self._lives(move) for move in moves]
                assert all(lives)
                self.open[subject] = Open(
                    made.number, subject, moves, [one for one in lives if one]
                )
        self.requested = {}
        return said

    def carried_out(self, moment: Moment | None) -> list[Said]:
        """Everything that is approved and open."""
        said: list[Said] = []
        for number in sorted(self.approved):
            one = next((each for each in self.open.values() if each.number == number), None)
            if one is None:
                continue
            before = [(lying, lying.disk, lying.disk_life) for lying in self.disks.lying]
            why, tried = None, 0
            for move in one.moves:
                tried += 1
                why = self._in_the_way(move)
                if why is not None:
                    break
                self._lay(self._lying(move), move.into)
            for lying, disk, life in before:
                lying.disk, lying.disk_life = disk, life
            self._close(one)
            if why is not None:
                made = self._heading("refusal", one.subject, number, moment)
                made.reason, made.waits_for = why, "nothing"
                told = {"move": tried, "moves": len(one.moves), "proposal": number}
                made.rows = {name: str(amount) for name, amount in told.items()}
                said.append(made)
                continue
            for volume in bytewise({move.volume for move in one.moves}):
                said.append(self._moved(volume, one, moment))
                self._withdraw_of({volume})
        self.approved = set()
        return said

    # What is open.

    def _heading(
        self, kind: str, subject: str, previous: int | None, moment: Moment | None
    ) -> Said:
        number = self.fleet.number
        self.fleet.number += 1
        ran_out = None if moment is None else (moment.kind, moment.subject)
        return Said(number, self.fleet.position, ran_out, kind, subject, previous)

    def _close(self, one: Open) -> None:
        del self.open[one.subject]
        self.approved -= {one.number}

    def _withdraw(self, one: Open) -> None:
        self._close(one)
        self.fleet.ended.append(("proposal", one.subject, one.number))

    def _withdraw_of(self, volumes: Iterable[str]) -> None:
        for one in list(self.open.values()):
            if any(move.volume in volumes for move in one.moves):
                self._withdraw(one)

    def _lives(self, move: Move) -> tuple[int, int, int] | None:
        """Which lives a move speaks of; None where the replica, or where it would go to, is no more."""
        life = self.disks.life(move.volume)
        there = [one for one in self.disks.of(move.volume) if one.name == move.replica]
        if life is None or not there or there[0].disk != move.out:
            return None
        if self.fleet.fact("disk", move.into) is None:
            return None
        return life, there[0].disk_life, self.fleet.life("disk", move.into)

    # What is moved.

    def _lying(self, move: Move) -> Lying:
        return next(one for one in self.disks.of(move.volume) if one.name == move.replica)

    def _lay(self, one: Lying, disk: str) -> None:
        one.disk, one.disk_life = disk, self.fleet.life("disk", disk)

    def _moved(self, volume: str, proposal: Open, moment: Moment | None) -> Said:
        """The replicas of one volume are where the proposal says, under new names."""
        disks = self.disks
        was = Counter(one.disk for one in disks.of(volume))
        rows, released = {}, []
        for move in proposal.moves:
            if move.volume != volume:
                continue
            old = self._lying(move)
            disks.lying.remove(old)
            life, highest = disks.numbers[volume]
            disks.numbers[volume] = (life, highest + 1)
            new = Lying(volume, highest + 1, old.life, move.into, 0)
            self._lay(new, move.into)
            disks.lying.append(new)
            rows[new.name] = move.into
            released.append(old.name)
        now = Counter(one.disk for one in disks.of(volume))
        life_now = disks.life(volume)
        assert life_now is not None
        disks.before[volume] = (life_now, now + Counter(disks.missed_of(volume)))
        number, previous = self.fleet.next_number(volume)
        return Said(
            number,
            self.fleet.position,
            None if moment is None else (moment.kind, moment.subject),
            "disk_placement",
            volume,
            previous,
            rows=rows,
            released=sorted(released),
            moved=min((now - was).total(), (was - now).total()),
        )

    # What may be moved.

    def _scope(self, subject: str) -> tuple[list[str], set[str]] | None:
        """Whose replicas, and among which disks."""
        volumes = bytewise(self.fleet.all("volume"))
        disks = self.fleet.all("disk")
        if subject == self.fleet.salt:
            return volumes, set(disks)
        if subject in volumes:
            return [subject], set(disks)
        there = {key for key, one in disks.items() if subject in {node_id(one), one.cluster}}
        return (volumes, there) if there else None

    def _drives(self) -> dict[str, tuple[Node, Drive]]:
        """The disks that may be written to."""
        self.disks.rebuilds = False
        return {
            f"{node.name}/{drive.disk.name}": (node, drive)
            for node in self.disks._nodes()
            if node.takes_replicas
            for drive in node.drives
            if switched_off(drive) is None
        }

    def _score(self, within: set[str]) -> Fraction | None:
        """How uneven the disks are as they are now."""
        alpha = self.fleet.settings.get("disk.alpha")
        alpha = Fraction(1) if alpha is None else alpha
        rooms, ratios = [], []
        for key, (_, drive) in self._drives().items():
            if key in within:
                disk = drive.disk
                room = max(0, disk.available - disk.reserved - disk.scheduled)
                total = max(0, disk.maximum - disk.reserved)
                rooms.append(Fraction(room))
                if total:
                    ratios.append(Fraction(room, total))
        score = Fraction(0)
        for part, amounts in ((alpha, rooms), (1 - alpha, ratios)):
            if part:
                mean = sum(amounts, Fraction(0)) / max(1, len(amounts))
                if mean <= 0:
                    return None
                squares = sum(((one - mean) * (one - mean) for one in amounts), Fraction(0))
                score += part * squares / len(amounts) / (mean * mean)
        return score

    def _in_the_way(self, move: Move) -> str | None:
        """Why a move cannot be made, the score aside."""
        drives = self._drives()
        one = self._lying(move)
        if one.failed or self.disks._leaves(one) or one.disk not in drives:
            return "not_movable"
        if move.into not in drives:
            return "target_unavailable"
        node, drive = drives[move.into]
        if self.disks.is_busy(str(node.name)):
            return "target_unavailable"
        situation = self.disks._situation(move.volume)
        rules = situation.rules
        suits = tags_match(
            node.tags,
            situation.volume.node_selector,
            allow_empty=rules.allow_empty_node_selector,
        ) and not eligible(
            drive.traits,
            Demands(disk_selector=situation.volume.demands.disk_selector),
            allow_empty_disk_selector=rules.allow_empty_disk_selector,
        )
        if not suits:
            return "unsuitable"
        size = situation.volume.size
        disk = drive.disk
        if fits(disk, rules.limits, size=size, actual=0) is not None:
            return "no_room"
        nodes = {str(node.name): node.zone for node in self.disks._nodes()}

        def host(key: str) -> str:
            return node_id(self.fleet.fact("disk", key))

        own = host(one.disk)
        others = [
            other for other in self.disks.of(move.volume) if other is not one and not other.over
        ]
        hosts = {host(other.disk) for other in others}
        zones = {nodes[name] for name in hosts}
        if (
            move.into in {other.disk for other in others}
            or (node.name != own and node.name in hosts)
            or (node.zone != nodes[own] and node.zone in zones)
        ):
            return "anti_affinity"
        if disk.available - disk.reserved - disk.scheduled - size < 0:
            return "no_room"
        return None

    def _planned(
        self, volumes: list[str], within: set[str], most: int, most_bytes: int | None
    ) -> Iterator[Move]:
        """The best move, then the best of those that are left, and so on."""
        before = [(one, one.disk, one.disk_life) for one in self.disks.lying]
        moved: set[str] = set()
        left = most_bytes
        for _ in range(most):
            found = self._best(volumes, within, moved, left)
            if found is None:
                break
            self._lay(self._lying(found), found.into)
            moved.add(found.replica)
            if left is not None:
                left -= self.disks.size[found.volume]
            yield found
        for one, disk, life in before:
            one.disk, one.disk_life = disk, life

    def _best(
        self, volumes: list[str], within: set[str], moved: set[str], left: int | None
    ) -> Move | None:
        score = self._score(within)
        drives = self._drives()
        best: tuple[object, ...] | None = None
        chosen = None
        for volume in volumes if score is not None else []:
            for one in self.disks.of(volume):
                size = self.disks.size[volume]
                affordable = left is None or size <= left
                if one.name in moved or one.disk not in within or not affordable:
                    continue
                for into in bytewise(within & drives.keys()):
                    move = Move(volume, one.name, one.disk, into)
                    if into == one.disk or self._in_the_way(move) is not None:
                        continue
                    disk = drives[into][1].disk
                    room = max(0, disk.available - disk.reserved - disk.scheduled)
                    was = one.disk, one.disk_life
                    self._lay(one, into)
                    after = self._score(within)
                    one.disk, one.disk_life = was
                    assert score is not None
                    if after is None or after >= score:
                        continue
                    host, _, name = into.rpartition("/")
                    turn = (
                        after,
                        size,
                        volume.encode(),
                        one.name.encode(),
                        -room,
                        host.encode(),
                        name.encode(),
                    )
                    if best is None or turn < best:
                        best, chosen = turn, move
        return chosen
