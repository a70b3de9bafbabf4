"""Go on from a restore: what was lost, and the next life of a fleet's log.

A database that was restored to an earlier point does not know what it has lost. What is remembered
outside it does: the signer's memory, published notes, the decisions that Kafka has, and how far it was
told that each partition was taken. ``assess`` holds all of that against the log. ``begin`` opens the
next life where the log ends, whose first event names the last signed ends of the life before; every
decision from there on has an id that nothing ever had, because the life is part of it.

The last signed end lies behind a log that was restored, so it says nothing of what was kept. Ends that were
signed before it do (``ledger.log.known_ends``). Where none of those is known, somebody has to say that the
log is believed as it is (``unvouched``).

Decisions about the events that are left are not lost: they follow from the events, so deciding them
again makes the same ones, with the same ids. That is no longer so if the log went on before anybody
noticed. Ids have two contents then, and no next life can undo it: such a log is not recovered, but
restored once more, and recovered before anything writes to it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import asyncpg

from ledger.errors import LedgerStopped, SetupProblem
from ledger.events.codec import CONTRACT_REVISION, Accepted, own_event
from ledger.log import (
    decisions,
    fleets,
    incidents,
    known_ends,
    lives,
    outbox,
    receipts,
    stops,
    trees,
)
from ledger.log.append import append
from ledger.log.archive.reading import Archive
from ledger.log.database import refusals_named
from ledger.log.decisions import NOTHING_DECIDED
from ledger.log.fleets import NO_NUMBER, Clock, Fleet
from ledger.log.known_ends import NOBODY, KnownEnd, Signers, in_order, tree_of
from ledger.log.messages import Coordinates, Message
from ledger.log.signed import Signed
from ledger.log.signing_keys import life_of, read_origin
from ledger.log.stops import Stop
from ledger.log.trees import TREES, Tree
from ledger.units import (
    DecisionNumber,
    EventType,
    FleetName,
    Incarnation,
    Microseconds,
    Offset,
    Position,
    Subject,
)


@dataclass(frozen=True, slots=True)
class HandedOn:
    """What Kafka has of a fleet's decisions that the log would have to have too."""

    newest: tuple[Incarnation, DecisionNumber]
    """Life and number of the newest decision found there."""
    first_lost: tuple[Incarnation, DecisionNumber] | None
    """The first one that is not in the log."""
    lost: int
    """How many are not."""
    other: tuple[Incarnation, DecisionNumber] | None
    """The first one whose id has another content in the log."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is known outside the database."""

    signed: Mapping[str, Signed]
    """The last signed end of each origin."""
    handed_on: HandedOn | None
    told: Mapping[tuple[str, int], Offset]
    """Up to where Kafka was told that partitions were taken."""
    before: tuple[KnownEnd, ...] = ()
    """Ends that were signed before those."""
    signers: Signers = NOBODY
    """Whose notes in the database are believed."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The last signed end of a tree, and how much of it is not in the log."""

    origin: str
    tree: Tree
    signed: Signed
    lost: int
    """So many of its leaves, the last ones."""
    is_told: bool = False
    """Whether it is of a life that is over: what that lost is told by the first event of the next."""


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """A Kafka partition that a fleet's events come by."""

    topic: str
    partition: int
    next: Offset
    """Where the log goes on reading."""
    told: Offset | None
    """Up to where Kafka was told that it was taken; None where nobody asked, or nothing was told."""
    fleets: tuple[str, ...]
    """Who comes by it: it goes on once all of them were recovered."""
    recovered: bool
    """Whether this fleet was, since anything was taken: then what Kafka was told is known to be more."""

    @property
    def lost(self) -> bool:
        """Whether Kafka was told of more than there is, and nobody has heard of that yet."""
        return self.told is not None and self.told > self.next and not self.recovered


NOT_BORN: Final = Incarnation(0)
"""The life of a fleet that the log has never heard of."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a restore lost, as far as anybody remembers."""

    fleet: Fleet
    incarnation: Incarnation
    """``NOT_BORN`` where the fleet was opened behind the point that was restored to."""
    next: Incarnation
    """The life that a recovery begins: above every one that anybody has heard of."""
    events: int
    decisions: int
    """How many of each the log has."""
    decided_through: Position
    ends: tuple[Ended, ...]
    """Of the newest life that was signed for."""
    handed_on: HandedOn | None
    partitions: tuple[ReadAgain, ...]
    stopped: tuple[Stop, ...]
    forked: tuple[str, ...]
    """Where the log is not the beginning of what is remembered: each is a sentence."""
    as_signed: Mapping[Tree, int]
    """So many events and decisions are known to be those that were signed."""

    @property
    def unvouched(self) -> tuple[Tree, ...]:
        """The trees of which nothing that was signed is known to be in the log, though somebody signs."""
        if not self.ends:
            return ()
        kept: dict[Tree, int] = {"events": self.events, "decisions": self.decisions}
        return known_ends.unvouched(kept, self.as_signed)

    @property
    def is_rewound(self) -> bool:
        """Whether anybody remembers more than there is, or said so before."""
        handed_on = self.handed_on
        return (
            bool(self.stopped)
            or any(end.lost for end in self.ends)
            or any(
                (life_of(end.origin, self.fleet.name) or 0) > self.incarnation for end in self.ends
            )
            or (handed_on is not None and handed_on.lost > 0)
            or any(one.lost for one in self.partitions)
        )

    @property
    def published(self) -> str | None:
        """The id of the newest decision that was handed on, as far as anybody knows."""
        return None if self.handed_on is None else decision_id(self.fleet, self.handed_on.newest)


def decision_id(fleet: Fleet, one: tuple[Incarnation, DecisionNumber]) -> str:
    """What a decision is called outside the database."""
    return f"{fleet.name}/{one[0]}/{one[1]}"


def unborn(name: FleetName, clock: Clock, remembered: Remembered) -> Assessment | None:
    """All that is lost of a fleet that the log has not; None where nobody has heard of it either."""
    newest = _newest(name, remembered)
    if newest == NOT_BORN:
        return None
    return Assessment(
        fleet=Fleet(NO_NUMBER, name, clock),
        incarnation=NOT_BORN,
        next=Incarnation(newest + 1),
        events=0,
        decisions=0,
        decided_through=Position(NOTHING_DECIDED),
        ends=tuple(
            Ended(origin, tree, signed, signed.size)
            for origin, tree, signed in _ends(name, remembered)
        ),
        handed_on=remembered.handed_on,
        partitions=(),
        stopped=(),
        forked=(),
        as_signed=dict.fromkeys(TREES, 0),
    )


def remembered_names(origins: Iterable[str], handed_on: Iterable[FleetName]) -> list[FleetName]:
    """Whom the signer and Kafka have heard of, by name."""
    signed = [read_origin(origin) for origin in origins]
    return sorted({*handed_on, *(one.fleet for one in signed if one is not None)})


async def not_in_the_log(
    connection: asyncpg.Connection, names: Collection[FleetName]
) -> list[FleetName]:
    """Which of these fleets the log has never heard of, by name."""
    return [name for name in sorted(names) if await fleets.find(connection, name) is None]


async def assess(
    connection: asyncpg.Connection,
    fleet: Fleet,
    remembered: Remembered,
    archive: Archive | None = None,
) -> Assessment:
    """Hold what is remembered of a fleet's log against what is there, and in an archive where it was detached."""
    with refusals_named():
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return await _assessed(connection, fleet, remembered, archive)


async def _assessed(
    connection: asyncpg.Connection,
    fleet: Fleet,
    remembered: Remembered,
    archive: Archive | None,
) -> Assessment:
    life = await lives.newest(connection, fleet)
    heads = {
        tree: Signed(*await trees.recorded_root(connection, fleet.number, tree)) for tree in TREES
    }
    through, _ = await decisions.cursor(connection, fleet)
    ends: list[Ended] = []
    for origin, tree, signed in _ends(fleet.name, remembered):
        # What a life before this one lost is told by the first event of this one.
        earlier = (life_of(origin, fleet.name) or NOT_BORN) < life.incarnation
        lost = 0 if earlier else max(0, signed.size - heads[tree].size)
        ends.append(Ended(origin, tree, signed, lost, is_told=earlier))
    known = [
        *(KnownEnd(origin, signed) for origin, signed in remembered.signed.items()),
        *remembered.before,
        *await known_ends.recorded(connection, fleet, remembered.signers),
    ]
    held = await known_ends.held(connection, fleet, known, heads, archive)
    forked = [
        f"{origin}: {signed.size} {signed.root.hex()} were signed, and the log does not continue them"
        for origin, signed in held.broken
    ]
    handed_on = remembered.handed_on
    if handed_on is not None and handed_on.other is not None:
        forked.append(
            f"{decision_id(fleet, handed_on.other)}: Kafka has a decision of this id with another"
            " content"
        )
    return Assessment(
        fleet=fleet,
        incarnation=life.incarnation,
        next=Incarnation(max(life.incarnation, _newest(fleet.name, remembered)) + 1),
        events=heads["events"].size,
        decisions=heads["decisions"].size,
        decided_through=through,
        ends=tuple(ends),
        handed_on=handed_on,
        partitions=await _partitions(connection, fleet, remembered.told),
        stopped=await stops.standing(connection, fleet),
        forked=tuple(forked),
        as_signed=held.through,
    )


def _newest(name: FleetName, remembered: Remembered) -> Incarnation:
    """The newest life of a fleet that anybody outside has heard of."""
    heard = [life_of(origin, name) or NOT_BORN for origin in remembered.signed]
    if remembered.handed_on is not None:
        heard.append(remembered.handed_on.newest[0])
    return max(heard, default=NOT_BORN)


def _ends(name: FleetName, remembered: Remembered) -> list[tuple[str, Tree, Signed]]:
    """The ends of both trees in the newest life that was signed for."""
    newest = max((life_of(one, name) or NOT_BORN for one in remembered.signed), default=NOT_BORN)
    return [
        (origin, tree, remembered.signed[origin])
        for origin in sorted(remembered.signed, key=in_order)
        if (tree := tree_of(origin)) is not None and life_of(origin, name) == newest
    ]


async def _partitions(
    connection: asyncpg.Connection, fleet: Fleet, told: Mapping[tuple[str, int], Offset]
) -> tuple[ReadAgain, ...]:
    return tuple(
        ReadAgain(
            one.topic,
            one.partition,
            one.next,
            told.get((one.topic, one.partition)),
            one.fleets,
            one.recovered,
        )
        for one in await receipts.feeding(connection, fleet.name)
    )


async def is_remembered_elsewhere(
    connection: asyncpg.Connection, fleet: Fleet
) -> tuple[bool, bool]:
    """Whether somebody signs for a fleet, and whether its decisions are handed on to Kafka."""
    with refusals_named():
        signed: bool = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM ledger.checkpoints WHERE fleet = $1)", fleet.number
        )
    return signed, await outbox.next_number(connection, fleet) > 0


async def begin(
    connection: asyncpg.Connection,
    found: Assessment,
    *,
    why: str,
    by: str,
    unvouched: bool = False,
) -> tuple[ReadAgain, ...]:
    """Begin the next life of a log, and let partitions go on that only waited for it.

    A fleet that is not there is opened: its first life is over before it has an event, and the event
    with which the next one begins is its first.

    Answers with those. Raises WrongPosition, with nothing written, where the log is not as it was
    assessed any more; LedgerStopped where it is not what was signed, and SetupProblem where nobody can say,
    unless it is said on purpose that it is believed.
    """
    fleet = found.fleet
    if found.forked:
        raise LedgerStopped(
            f"{fleet.name}: the log went on after it was restored, or is another one: {found.forked[0]};"
            " restore it once more, and recover it before anything writes to it"
        )
    if found.unvouched and not unvouched:
        raise SetupProblem(
            f"{fleet.name}: nothing is known that was signed of the {' and '.join(found.unvouched)} that are"
            " left, so nobody can say whether they are those that were: give --notes, the directory that"
            " `ledger seal --publish` wrote, or an older --checkpoint, or where there is none say --unvouched"
        )
    if unvouched and not found.unvouched:
        raise SetupProblem(
            f"{fleet.name}: --unvouched: what was signed of this log is known; leave it out"
        )
    event = await _event(connection, found, why=why, by=by)
    with refusals_named():
        async with connection.transaction():
            if found.incarnation == NOT_BORN:
                fleet = await fleets.open_(connection, fleet.name, clock=fleet.clock)
            await connection.execute(
                "SELECT ledger.open_incarnation($1, $2, $3, $4, $5, $6, $7)",
                fleet.number,
                found.next,
                found.events,
                found.decisions,
                why,
                event.stored,
                CONTRACT_REVISION,
            )
            message = Message(Coordinates("ledger", None, None, None), event, None, None)
            done = await append(connection, fleet, [(message, event)], ask_first=True)
            assert done.count == 1, "no life begins twice"
            await incidents.record(
                connection,
                kind="log_recovered",
                address=fleet.name,
                detail=f"by {by}, as {fleet.name}/{found.next} from {found.events} events: {why}",
                id_=f"recovered/{fleet.name}/{found.next}",
            )
            going_on = await receipts.go_on_recovered(connection, why=why, by=by)
    return tuple(one for one in found.partitions if (one.topic, one.partition) in going_on)


async def _event(
    connection: asyncpg.Connection, found: Assessment, *, why: str, by: str
) -> Accepted:
    """The event with which the life begins."""
    fleet = found.fleet
    data: dict[str, object] = {
        "incarnation": found.next,
        "signed": [
            {"origin": end.origin, "size": end.signed.size, "root": end.signed.root.hex()}
            for end in found.ends
        ],
        "why": why,
        "by": by,
    }
    if found.published is not None:
        data["published"] = found.published
    time: Microseconds | None = None
    if fleet.clock == "event":
        # Where time is what events say, none has passed since the last one.
        time = await trees.recorded_at(connection, fleet.number, size=found.events)
    return own_event(
        fleet=fleet.name,
        source="ledger/recovery",
        id=str(found.next),
        type=EventType("ledger.recovery.log.recovered.v1"),
        subject=Subject(fleet.name),
        data=data,
        time=time,
    )
