"""How the lives of a fleet's log began, as their rows say, and whether they can have begun so.

The first begins when the fleet is opened, by no event; a later one with an event that its row repeats.
``ledger.replay.told_events`` meets that event and asks ``repeats``.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.read import StoredEvent
from ledger.replay.report import ABSENT, Divergence

OPENED: Final = "opened"
"""Why the first life began."""


class Begun(NamedTuple):
    """What the row of a life says of how it began."""

    incarnation: int
    size: int
    """Of the log, then."""
    reason: str
    said: bytes | None
    """What the event says that it begins with; None in the first."""
    revision: int | None
    taken: str | None
    """Where events came by, and which receipt was the newest of each partition; None in the first."""


Newest = Mapping[tuple[str, int], int]
"""By topic and partition: the number of the newest receipt, -1 where there is none."""

_TAKEN: Final = frozenset({"partition", "receipt"})


async def recorded(connection: Connection, fleet: Fleet) -> list[Begun]:
    """The lives of a fleet, the newest first."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT incarnation, from_size, reason, said, revision, taken"
            "  FROM ledger.incarnations WHERE fleet = $1 ORDER BY incarnation DESC",
            fleet.number,
        )
    return [Begun(*row) for row in rows]


async def unlike(
    connection: Connection, fleet: Fleet, lives: Sequence[Begun], size: int
) -> Divergence | None:
    """What is wrong with a row by itself, the newest looked at first; ``size``: of the log."""
    # A later life has begun only once the event that begins it is there.
    if lives and lives[0].size + (lives[0].incarnation > 1) > size:
        return Divergence(
            "incarnation_mismatch",
            size,
            subject=str(lives[0].incarnation),
            path="incarnations.from_size",
            recorded=f"{lives[0].incarnation} from {lives[0].size}",
        )
    newest = await _newest(connection, fleet)
    for one in lives:
        trouble = _opened(one) if one.incarnation == 1 else _recovered(one, newest)
        if trouble is not None:
            return trouble
    return None


async def _newest(connection: Connection, fleet: Fleet) -> Newest:
    """Of the partitions that the fleet's events ever came by."""
    with refusals_named():
        rows = await connection.fetch(
            "SELECT p.topic, p.partition, coalesce(max(r.number), -1) AS number"
            "  FROM ledger.partition_pins p"
            "  LEFT JOIN ledger.receipts r ON r.topic = p.topic AND r.partition = p.partition"
            " WHERE p.fleet = $1 GROUP BY p.topic, p.partition",
            fleet.name,
        )
    return {(row["topic"], row["partition"]): row["number"] for row in rows}


def repeats(one: Begun, event: StoredEvent, why: str) -> Divergence | None:
    """Whether the row of a later life says what the event does that it began with."""
    if one.said != event.payload:
        return _column(one, "said", _hex(one.said), event.payload.hex())
    if one.revision != event.revision:
        return _column(one, "revision", str(one.revision), str(event.revision))
    return None if one.reason == why else _column(one, "reason", one.reason, why)


def _opened(one: Begun) -> Divergence | None:
    """No event began it, and nothing was taken before."""
    if one.reason != OPENED:
        return _column(one, "reason", one.reason, OPENED)
    if one.said is not None:
        return _column(one, "said", _hex(one.said), ABSENT)
    if one.revision is not None:
        return _column(one, "revision", str(one.revision), ABSENT)
    return None if one.taken is None else _column(one, "taken", one.taken, ABSENT)


def _recovered(one: Begun, newest: Newest) -> Divergence | None:
    if one.said is None:
        return _column(one, "said", ABSENT, "an event")
    if one.revision is None:
        return _column(one, "revision", ABSENT, "that of the event")
    if one.taken is None:
        return _column(one, "taken", ABSENT, "what was taken")
    told = json.loads(one.taken)
    if not isinstance(told, dict):
        return _column(one, "taken", one.taken, "topics")
    for topic, last in told.items():
        trouble = _taken(one, topic, last, newest)
        if trouble is not None:
            return trouble
    return None


def _taken(one: Begun, topic: str, last: Any, newest: Newest) -> Divergence | None:
    """Whether the fleet came by this partition, and there is a receipt of this number in it."""
    whole = isinstance(last, dict) and last.keys() == _TAKEN
    if not whole or any(type(number) is not int for number in last.values()):
        return _column(one, "taken", f"{topic} {json.dumps(last)}", "a partition and a receipt")
    partition, receipt = last["partition"], last["receipt"]
    named = f"{topic}/{partition}"
    if (topic, partition) not in newest:
        return _column(one, "taken", named, "a partition that the fleet came by")
    there = newest[topic, partition]
    if -1 <= receipt <= there:
        return None
    return _column(one, "taken", f"{named} receipt {receipt}", f"from receipt -1 to {there}")


def _hex(said: bytes | None) -> str:
    return ABSENT if said is None else said.hex()


def _column(one: Begun, name: str, recorded: str, recomputed: str) -> Divergence:
    return Divergence(
        "incarnation_mismatch",
        one.size,
        subject=str(one.incarnation),
        path=f"incarnations.{name}",
        recorded=recorded,
        recomputed=recomputed,
    )
