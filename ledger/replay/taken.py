"""What was taken from Kafka and what was set aside, held against the events that came of it.

These books are of the ledger and not of a fleet: a partition carries events of several. A receipt says
how many records of which offsets became events and how many went to quarantine; a row of quarantine
belongs to an event of the ledger's own fleet that says where it came from, why, and of which bytes.

All rows are read once, in order, side by side. What no row can show is told in docs/verify.md.
"""

import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from ledger.events.codec import CONTRACT_REVISION, Rejected, accept, accept_line
from ledger.events.contract import Family
from ledger.log.database import Connection, refusals_named
from ledger.log.detached import Stretch
from ledger.log.fleets import LAST_NUMBER
from ledger.log.messages import (
    Coordinates,
    Headers,
    address,
    digest_of,
    read_headers,
    spelled_headers,
)
from ledger.replay.report import Divergence
from ledger.units import LEDGER_FLEET, FleetName

QUARANTINED: Final = "ledger.quarantine.message.quarantined.v1"
RELEASED: Final = "ledger.quarantine.message.released.v1"

EVERYTHING: Final[frozenset[Family]] = frozenset(
    {"cluster", "workload", "quota", "disk", "control"}
)

OF_THE_LOG: Final = frozenset(
    {
        "identity_conflict",
        "salt_not_first",
        "source_not_bound",
        "time_required",
        "time_too_far_ahead",
        "unknown_fleet",
    }
)
"""Why a message that is good by itself was set aside."""

OF_FLEETS: Final = (
    *("events", "event_identity", "event_effects", "decisions", "decided", "heads", "tile_hashes"),
    "admission_answers",
    *(
        "checkpoints",
        "geneses",
        "incarnations",
        "snapshots",
        "divisions",
        "deployments",
        "bindings",
    ),
    *("disk_placements", "task_moves", "ended_refusals", "ended_incidents", "ended_proposals"),
    *("placements", "placed_by", "past_placements", "past_placed_by"),
    *("running_tasks", "fair_shares", "open_refusals", "node_books", "disk_books", "job_books"),
    *("queue_books", "past_running_tasks", "past_fair_shares"),
    *("namespace_weights", "past_namespace_weights", "shared_totals", "past_shared_totals"),
    *("open_incidents", "past_open_incidents"),
    *("past_open_refusals", "past_disk_books", "past_job_books", "past_queue_books"),
)

_SET_ASIDE: Final = ("position", "subject", "revision", "payload")

_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**63 - 1

DIGEST_BYTES: Final = 32

PAGE: Final = 2000
ONE_BY_ONE: Final = 50
"""Messages in quarantine may be a mebibyte each."""

Place = tuple[str, int]
"""A topic's partition."""


class _Record(NamedTuple):
    """A record that the log still speaks of."""

    at: Place
    offset: int
    event: bool
    """Whether it became an event; else it is in quarantine."""
    digest: bytes | None
    """Of all of it; None where it is an event, which keeps less."""


_RECORDS: Final = """
SELECT topic, partition, coordinate, event, digest FROM (
  SELECT topic, partition, coordinate, true AS event, NULL AS digest
    FROM ledger.events WHERE channel = 'kafka'
  UNION ALL
  SELECT topic, partition, coordinate, false, digest
    FROM ledger.quarantine WHERE channel = 'kafka') AS r
 WHERE NOT EXISTS (SELECT FROM ledger.receipts b
                    WHERE b.topic = r.topic AND b.partition = r.partition AND b.next < b.first)
 ORDER BY topic COLLATE "C", partition, coordinate
"""
"""Where a person let a partition go back, offsets do not tell receipts apart: there it is looked only
whether they continue one another."""


class _Records:
    """The records of all partitions, in order: those in the database, and those that were detached."""

    def __init__(self, cursor: Any, detached: Iterator[_Record]) -> None:
        self._cursor = cursor
        self._detached = detached
        self._archived = next(detached, None)
        self._waiting: deque[_Record] = deque()
        self._more = True

    async def next(self) -> _Record | None:
        """The next one, left where it is."""
        if not self._waiting and self._more:
            rows = await self._cursor.fetch(PAGE)
            self._more = len(rows) == PAGE
            self._waiting.extend(_Record((row[0], row[1]), *row[2:]) for row in rows)
        there = self._waiting[0] if self._waiting else None
        if self._archived is not None and (there is None or self._archived < there):
            self._waiting.appendleft(self._archived)
            self._archived = next(self._detached, None)
        return self._waiting[0] if self._waiting else None

    async def of(self, at: Place, first: int, next_: int) -> tuple[list[_Record], _Record | None]:
        """The records of some offsets; and one that lies before them, if there is one."""
        found: list[_Record] = []
        while (one := await self.next()) is not None and (one.at, one.offset) < (at, next_):
            if (one.at, one.offset) < (at, first):
                return found, one
            found.append(self._waiting.popleft())
        return found, None


@dataclass(slots=True)
class Taken:
    """The books of what was taken, over one connection and in one snapshot."""

    connection: Connection
    detached: Sequence[Stretch] = ()
    """Where events lie that are no longer in the database."""

    async def check(self) -> Divergence | None:
        """The first row that does not fit."""
        return (
            await self._strays()
            or await self._quarantine()
            or await self._receipts()
            or await self._outcomes()
        )

    async def _strays(self) -> Divergence | None:
        """No row of history is of a fleet that there is not: it would be read by nobody."""
        numbers = await self.connection.fetch("SELECT number FROM ledger.fleets ORDER BY number")
        known = [_LOWEST, *(row["number"] for row in numbers), _HIGHEST]
        for table in OF_FLEETS:
            found = await self.connection.fetchval(
                "SELECT min((SELECT min(t.fleet)"  # noqa: S608 - one of our own names
                f"             FROM ledger.{table} t WHERE t.fleet > g.low AND t.fleet < g.high))"
                "  FROM unnest($1::bigint[], $2::bigint[]) AS g (low, high)",
                known[:-1],
                known[1:],
            )
            if found is not None:
                return Divergence(
                    "row_unexpected",
                    None,
                    subject=str(found),
                    path=table,
                    recorded="of a fleet that there is not",
                )
        part = await self.connection.fetchrow(
            "SELECT p.snapshot, p.part FROM ledger.snapshot_parts p WHERE NOT EXISTS"
            " (SELECT FROM ledger.snapshots s WHERE s.number = p.snapshot) LIMIT 1"
        )
        if part is None:
            return None
        return Divergence(
            "row_unexpected",
            None,
            subject=f"{part['snapshot']} {part['part']}",
            path="snapshot_parts",
            recorded="of a snapshot that there is not",
        )

    async def _receipts(self) -> Divergence | None:
        """Receipts continue one another and account for the events of their offsets."""
        epochs = {
            (row["topic"], row["partition"]): row["newest"]
            for row in await self.connection.fetch(
                "SELECT topic, partition, max(epoch) AS newest FROM ledger.partition_epochs"
                " GROUP BY topic, partition"
            )
        }
        receipts = await self._cursor(
            "SELECT topic, partition, number, epoch, first, next, records, appended, duplicates,"
            "       quarantined, last_digest, resumed_by,"
            "       bool_or(next < first) OVER (PARTITION BY topic, partition) AS rewound"
            '  FROM ledger.receipts ORDER BY topic COLLATE "C", partition, number'
        )
        records = _Records(await self._cursor(_RECORDS), await self._detached_records())
        before: Any = None
        while rows := await receipts.fetch(PAGE):
            for row in rows:
                at = (row["topic"], row["partition"])
                if before is not None and (before["topic"], before["partition"]) != at:
                    before = None
                trouble = _continued(before, row, epochs.get(at, 0))
                if trouble is not None:
                    return trouble
                before = row
                if row["rewound"]:
                    continue
                mine, stray = await records.of(at, row["first"], row["next"])
                if stray is not None:
                    return _receipt(row, "", f"a receipt for {_named(stray)} before it")
                events = sum(one.event for one in mine)
                told, found = (row["appended"], row["quarantined"]), (events, len(mine) - events)
                if told != found:
                    return _receipt(
                        row,
                        f"{told[0]} appended, {told[1]} quarantined",
                        f"{found[0]} appended, {found[1]} quarantined",
                    )
                if mine and not row["duplicates"]:
                    # Each of its records is there, so that they say where it began and where it ended.
                    told = row["first"], row["next"]
                    found = mine[0].offset, mine[-1].offset + 1
                    if told != found:
                        return _receipt(
                            row, f"from {told[0]} to {told[1]}", f"from {found[0]} to {found[1]}"
                        )
                aside = mine[-1].digest if mine and mine[-1].offset == row["next"] - 1 else None
                if aside not in (None, row["last_digest"]):
                    return _receipt(row, row["last_digest"].hex(), aside.hex())
        stray = await records.next()
        if stray is None:
            return None
        return Divergence(
            "receipt_mismatch",
            None,
            subject=_named(stray),
            path="receipts",
            recomputed="a receipt for it",
        )

    async def _detached_records(self) -> Iterator[_Record]:
        """The records that became events which were detached, in order."""
        rewound = [
            tuple(row)
            for row in await self.connection.fetch(
                "SELECT DISTINCT topic, partition FROM ledger.receipts WHERE next < first"
            )
        ]
        # They lie in the order of positions, of each fleet alone, and may be more than memory has room
        # for: put in order by a database without a name, which is on disk and gone when it is closed.
        ordering = sqlite3.connect("")
        ordering.execute("CREATE TABLE taken (topic TEXT, partition INTEGER, coordinate INTEGER)")
        for stretch in self.detached:
            for rows in _archived_rows(stretch, ("channel", "topic", "partition", "coordinate")):
                ordering.executemany(
                    "INSERT INTO taken VALUES (?, ?, ?)",
                    [told for channel, *told in rows if channel == "kafka"],
                )
        ordering.executemany("DELETE FROM taken WHERE (topic, partition) = (?, ?)", rewound)
        return _in_order(ordering)

    async def _set_aside_events(self) -> AsyncIterator[Any]:
        """The events of messages that were set aside, in order, wherever they lie."""
        for stretch in self.detached:
            assert stretch.archive is not None, "it was detached"
            if stretch.archive.manifest.fleet == LEDGER_FLEET:
                for rows in _archived_rows(stretch, (*_SET_ASIDE, "type")):
                    for row in rows:
                        if row[-1] == QUARANTINED:
                            yield dict(zip(_SET_ASIDE, row[:-1], strict=True))
        cursor = await self._cursor(
            "SELECT position, subject, revision, payload FROM ledger.events"
            " WHERE fleet = $1 AND type = $2 ORDER BY position",
            LAST_NUMBER,
            QUARANTINED,
        )
        while rows := await cursor.fetch(ONE_BY_ONE):
            for row in rows:
                yield row

    async def _quarantine(self) -> Divergence | None:
        """Each message that was set aside has its event, and the other way round."""
        events = self._set_aside_events()
        rows = await self._cursor("SELECT * FROM ledger.quarantine ORDER BY position")
        while True:
            told = [one async for one in _some(events, ONE_BY_ONE)]
            there = await rows.fetch(ONE_BY_ONE)
            for event, row in zip(told, there, strict=False):
                trouble = _set_aside(event, row)
                if trouble is not None:
                    return trouble
            if len(told) != len(there):
                one = (told if len(told) > len(there) else there)[min(len(told), len(there))]
                missing = len(told) > len(there)
                return Divergence(
                    "row_missing" if missing else "row_unexpected",
                    one["position"],
                    path="quarantine",
                )
            if len(told) < ONE_BY_ONE:
                return None

    async def _outcomes(self) -> Divergence | None:
        """What was let in is in the log as the row says, and nothing else is."""
        rows = await self.connection.fetch(
            "SELECT o.quarantined, o.released_position, q.address, q.fleet, e.fleet AS found,"
            "       f.name, e.position"
            "  FROM ledger.quarantine_outcomes o"
            "  LEFT JOIN ledger.quarantine q ON q.position = o.quarantined"
            "  LEFT JOIN ledger.events e ON o.outcome = 'released'"
            "   AND e.position = o.released_position AND e.source = 'ledger/quarantine'"
            "   AND e.id = 'release/' || o.quarantined AND e.subject = q.address"
            "   AND e.type = $1"
            "  LEFT JOIN ledger.fleets f ON f.number = e.fleet"
            " WHERE (q.position IS NULL OR (o.outcome = 'released') <> (e.position IS NOT NULL))"
            # What was let in into a range that was detached is not looked for: the archive says it.
            "   AND NOT EXISTS (SELECT FROM ledger.archived_ranges a"
            "     JOIN ledger.fleets g ON g.number = a.fleet"
            "    WHERE q.position IS NOT NULL AND g.name = q.fleet"
            "      AND o.released_position >= a.first AND o.released_position < a.next)"
            " ORDER BY o.quarantined LIMIT 1",
            RELEASED,
        )
        for row in rows:
            return Divergence(
                "row_differs",
                row["quarantined"],
                subject=row["address"],
                path="quarantine_outcomes.released_position",
                recorded=str(row["released_position"]),
                recomputed="the event that was let in",
            )
        missing = await self.connection.fetchrow(
            "SELECT e.position, e.id, e.subject FROM ledger.events e"
            " WHERE e.type = $1 AND e.source = 'ledger/quarantine'"
            "   AND NOT EXISTS (SELECT FROM ledger.quarantine_outcomes o"
            "     WHERE o.outcome = 'released' AND e.id = 'release/' || o.quarantined)"
            " ORDER BY e.position LIMIT 1",
            RELEASED,
        )
        if missing is None:
            return None
        return Divergence(
            "row_missing",
            missing["position"],
            subject=missing["subject"],
            path="quarantine_outcomes",
            recomputed=missing["id"],
        )

    async def _cursor(self, query: str, *values: object) -> Any:
        with refusals_named():
            return await self.connection.cursor(query, *values)


def _archived_rows(stretch: Stretch, columns: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of events that were detached, group after group."""
    assert stretch.archive is not None, "it was detached"
    return stretch.archive.event_rows(stretch.first, stretch.before, columns)


def _in_order(ordering: sqlite3.Connection) -> Iterator[_Record]:
    """What was put there, by topic, partition and offset."""
    with closing(ordering):
        for topic, partition, offset in ordering.execute(
            "SELECT topic, partition, coordinate FROM taken ORDER BY topic, partition, coordinate"
        ):
            yield _Record((topic, partition), offset, event=True, digest=None)


async def _some(events: AsyncIterator[Any], count: int) -> AsyncIterator[Any]:
    """So many of what is left."""
    for _ in range(count):
        try:
            yield await anext(events)
        except StopAsyncIteration:
            return


def _continued(before: Any, row: Any, newest: int) -> Divergence | None:
    """Whether a receipt goes on where the one before it ended, and adds up by itself."""
    number, next_, epoch = (
        (-1, 0, 0) if before is None else (before["number"], before["next"], before["epoch"])
    )
    # Of two that do not fit each other it may be either: both are named.
    since = f"from {next_}" if before is None else f"from {next_}, where receipt {number} ends"
    turn = f"from {epoch}" if before is None else f"from {epoch}, as of receipt {number},"
    counted = row["appended"] + row["duplicates"] + row["quarantined"]
    if row["number"] != number + 1:
        return _receipt(row, f"number {row['number']}", f"number {number + 1}")
    if not epoch <= row["epoch"] <= newest:
        return _receipt(row, f"epoch {row['epoch']}", f"an epoch {turn} to {newest}")
    if row["records"] != counted:
        return _receipt(row, f"{row['records']} records", f"{counted} records")
    if row["resumed_by"] is not None:
        whole = counted == 0 and (before is None or row["first"] == next_)
        return None if whole else _receipt(row, f"from {row['first']}", f"{since}, of nothing")
    if row["first"] < next_ or not 1 <= counted <= row["next"] - row["first"]:
        return _receipt(row, f"{counted} records of {row['first']} to {row['next']}", since)
    if row["last_digest"] is None or len(row["last_digest"]) != DIGEST_BYTES:
        return _receipt(row, "no digest of its last record", "32 bytes")
    return None


def _receipt(row: Any, recorded: str, recomputed: str | None) -> Divergence:
    return Divergence(
        "receipt_mismatch",
        None,
        subject=f"{row['topic']}/{row['partition']} receipt {row['number']}",
        path="receipts",
        recorded=recorded,
        recomputed=recomputed,
    )


def _named(record: _Record) -> str:
    topic, partition = record.at
    return f"{topic}/{partition}@{record.offset}"


def _set_aside(event: Any, row: Any) -> Divergence | None:
    """What is wrong with a row of quarantine, by its event and by what it holds."""
    if event["position"] != row["position"]:
        missing = event["position"] < row["position"]
        return Divergence(
            "row_missing" if missing else "row_unexpected",
            min(event["position"], row["position"]),
            path="quarantine",
        )
    said = orjson.loads(event["payload"])["data"]
    at = Coordinates(row["channel"], row["topic"], row["partition"], row["coordinate"])
    told: dict[str, object] = {"address": said["address"], "reason": said["reason"]}
    try:
        headers = read_headers(row["headers"])
        digest = digest_of(row["key"], row["value"], headers)
    except (ValueError, TypeError) as error:
        return _column(row, "headers", str(error))
    if digest.hex() != said["sha256"]:
        return _column(row, "value", said["sha256"], digest.hex())
    if spelled_headers(headers) != row["headers"]:
        return _column(row, "headers", spelled_headers(headers).decode())
    told["digest"] = digest
    if row["topic"] is not None and row["channel"] != _channel(row, said["address"]):
        return _column(row, "channel", _channel(row, said["address"]))
    if address(at) != said["address"]:
        return _column(row, "coordinate", said["address"], address(at))
    if event["revision"] == CONTRACT_REVISION:
        told |= _judged(row, headers)
    for name, value in told.items():
        if row[name] != value:
            return _column(row, name, value)
    return None


def _channel(row: Any, told: str) -> str:
    """By which way a message came whose address names a topic, a file or a caller."""
    # A topic may be called http, and has a partition then; neither a topic nor a file has a slash in its name.
    if told.startswith("http/") and row["partition"] is None:
        return "http"
    return "kafka" if "/" in told else "file"


def _judged(row: Any, headers: Headers) -> dict[str, object]:
    """What today's contract says of who sent it and what is wrong with it.

    Nothing where it refuses the message for another reason: what a topic may carry, and what a file
    was said to be of, are not in the row.
    """
    key, value = row["key"], row["value"]
    if row["channel"] == "kafka":
        told = None if key is None else FleetName(key.decode("utf-8", "backslashreplace"))
        verdict = accept(value, headers=headers, families=EVERYTHING, fleet=told)
    else:
        named = None if row["fleet"] is None else FleetName(row["fleet"])
        verdict = accept_line(value or b"", families=EVERYTHING, fleet=named)
    if row["reason"] not in ({verdict.reason} if isinstance(verdict, Rejected) else OF_THE_LOG):
        return {}
    columns: dict[str, object] = {
        name: getattr(verdict, name) for name in ("source", "id", "type", "subject", "fleet")
    }
    # Of lines that are longer than any event only the beginning is kept.
    if isinstance(verdict, Rejected) and verdict.reason != "too_large":
        columns["detail"] = verdict.detail
    return columns


def _column(row: Any, name: str, wanted: object, found: object = None) -> Divergence:
    return Divergence(
        "row_differs",
        row["position"],
        subject=row["address"],
        path=f"quarantine.{name}",
        recorded=_shown(row[name] if found is None else found),
        recomputed=_shown(wanted),
    )


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
