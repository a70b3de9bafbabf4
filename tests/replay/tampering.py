"""Change anything behind the ledger's back: every change that matters is found, and where it is.

    python -m tests.replay.tampering --runs 5000 --seed 1
    python -m tests.replay.tampering --each 6 --seed 1

A run is a seed; with ``--each`` there are so many for each column and each thing that can be done to a
table's rows, however seldom that would be drawn. All runs share one ledger, in which every table that an
audit reads has rows: a simulated fleet with decisions of every kind, taken in by file and by Kafka
offsets, with messages set aside, let in and discarded, signed ends and snapshots, in two lives of its
log; a second fleet beside it. Each makes one change, as somebody can who is superuser of the database:
any byte of any column, a row dropped, added or exchanged with another, the last rows of a table taken
away. Then everything is verified as ``ledger verify --deep`` does it, with the keys of those who sign,
and the change is undone.

What cannot be found in one database is told by ``UNSEEN``, and no more than that may go unnoticed;
docs/verify.md has the same list for people.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Final

import asyncpg
import orjson
import typer

from ledger.admission import answering, asking
from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.engine import decider
from ledger.engine.snapshots import Interval
from ledger.events.codec import accept, accept_line
from ledger.log import fleets, lines, quarantine, receipts, recovery, signing_keys
from ledger.log.admissions import AdmissionDesk, Bypass
from ledger.log.database import connect
from ledger.log.fleets import LAST_NUMBER
from ledger.log.intake import Intake
from ledger.log.messages import Claim, Coordinates, Message
from ledger.log.notes import Key
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.replay import audit
from ledger.replay.report import Divergence
from ledger.units import FleetName, Incarnation, Offset, Position
from tests.engine.deciding import UNHURRIED
from tests.engine.test_admissions_in_sql import asked
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres, session_postgres
from tests.restored_logs import by_the_signer

RESOLUTION: Final = timedelta(microseconds=1)
HISTORY: Final = 480
LATER: Final = 40
"""Events of the first life of a log, and of the second."""
DRAWN: Final = 200
"""Changes drawn for a run until the database takes one."""
FLEET: Final = FleetName("demo")
OTHER: Final = FleetName("other")
SITE: Final = "ledger.example"
SECRET: Final = bytes(range(32))
TOPIC: Final = "ledger.everything"
HEADERS: Final = (("content-type", b"application/cloudevents+json"),)
POLICY: Final = "ledger.policy.policy.changed.v1"

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "events": ("fleet", "position"),
    "event_identity": ("fleet", "identity"),
    "event_effects": ("fleet", "position"),
    "decisions": ("fleet", "number"),
    "decided": ("fleet", "through"),
    "heads": ("fleet", "tree", "size"),
    "tile_hashes": ("fleet", "tree", "level", "number"),
    "checkpoints": ("fleet", "incarnation", "tree", "size", "again"),
    "geneses": ("fleet",),
    "incarnations": ("fleet", "incarnation"),
    "divisions": ("fleet", "number", "cluster"),
    "deployments": ("fleet", "number", "node"),
    "bindings": ("fleet", "number", "instance"),
    "disk_placements": ("fleet", "number", "replica"),
    "task_moves": ("fleet", "number", "task"),
    "ended_refusals": ("fleet", "number"),
    "ended_incidents": ("fleet", "number"),
    "ended_proposals": ("fleet", "number"),
    "placements": ("fleet", "kind", "subject", "cluster", "node", "disk"),
    "placed_by": ("fleet", "kind", "subject"),
    "running_tasks": ("fleet", "namespace", "job", "task"),
    "fair_shares": ("fleet", "queue", "namespace", "resource"),
    "namespace_weights": ("fleet", "namespace"),
    "shared_totals": ("fleet", "resource"),
    "open_refusals": ("fleet", "wanted", "subject"),
    "open_incidents": ("fleet", "subject", "what", "node"),
    "node_books": ("fleet", "cluster", "node"),
    "disk_books": ("fleet", "cluster", "node", "disk"),
    "job_books": ("fleet", "namespace", "job"),
    "queue_books": ("fleet", "queue", "namespace"),
    "past_placements": (
        "fleet",
        "until_position",
        "from_position",
        "kind",
        "subject",
        "cluster",
        "node",
        "disk",
    ),
    "past_placed_by": ("fleet", "until_position", "from_position", "kind", "subject"),
    "past_running_tasks": ("fleet", "until_position", "from_position", "namespace", "job", "task"),
    "past_fair_shares": (
        "fleet",
        "until_position",
        "from_position",
        "queue",
        "namespace",
        "resource",
    ),
    "past_namespace_weights": ("fleet", "until_position", "from_position", "namespace"),
    "past_shared_totals": ("fleet", "until_position", "from_position", "resource"),
    "past_open_refusals": ("fleet", "until_position", "from_position", "wanted", "subject"),
    "past_open_incidents": (
        "fleet",
        "until_position",
        "from_position",
        "subject",
        "what",
        "node",
    ),
    "past_disk_books": ("fleet", "until_position", "from_position", "cluster", "node", "disk"),
    "past_job_books": ("fleet", "until_position", "from_position", "namespace", "job"),
    "past_queue_books": ("fleet", "until_position", "from_position", "queue", "namespace"),
    "admission_answers": ("fleet", "uid"),
    "receipts": ("topic", "partition", "number"),
    "quarantine": ("position",),
    "quarantine_outcomes": ("quarantined",),
    "snapshots": ("number",),
    "snapshot_parts": ("snapshot", "part"),
}
"""Every table that holds history or is derived from it, and what tells its rows apart."""

BESIDE: Final[dict[str, str]] = {
    "append_locks": "nothing: writers lock it",
    "archived_ranges": "which events were detached: they are read from their archive, and without it nothing is verified",
    "fleet_readers": "who sees which fleet",
    "fleet_stops": "that a fleet was stopped, by whom and why",
    "fleets": "the number and the clock of a fleet's name, and when it was opened",
    "leases": "who decides or publishes, in which turn",
    "partition_epochs": "who takes records from a partition, in which turn",
    "partition_halts": "that a partition stands still or was let go on",
    "partition_locks": "nothing: consumers lock it",
    "partition_pins": "which partition a fleet comes by",
    "published": "how far decisions were handed to Kafka",
    "schema_version": "by which migration the tables are",
    "source_bindings": "which source speaks of which fleet",
    "standbys": "who would decide next",
}
"""The tables that are neither history nor derived from it, and what a row says: what people and processes did.

No change is made to them here, because most can be seen in no other row. What can be are names, numbers and clocks
of fleets, turns that nobody had, and pins and receipts that a life began with.
"""

UNSEEN: Final[dict[str, str]] = {
    "admission_answers.answered_at": "when an admission was answered",
    "decided.epoch": "whose turn it was, between those before and after it",
    "decided.decided_at": "when a batch was written",
    "decided.through": "where a batch ended, if nothing was decided between",
    "decided dropped": "a batch was one with the next, if nothing was decided in it",
    "decided added": "a batch was two, if in one of them nothing was decided",
    "heads dropped": "an append of events was one with the next",
    "checkpoints.again": "how often a note was recorded before, with fewer witnesses",
    "checkpoints.signed_at": "when a note was written down",
    "incarnations.opened_at": "when a life began",
    "incarnations.taken": "which receipt of a partition was the newest when it did",
    "receipts.epoch": "which turn of a consumer took the records",
    "receipts.first": "where it began, if what it took first was there already",
    "receipts.next": "where it ended, if what it took last was",
    "receipts.last_timestamp": "for the consumer, who looks at the record itself",
    "receipts.last_digest": "the same, unless it was set aside",
    "receipts.written_at": "when it was written",
    "receipts.resumed_by": "who let a partition go on",
    "receipts dropped": "the last of a partition, if it took nothing that became a row",
    "receipts rewound": "the same",
    "quarantine.quarantined_at": "when a message was set aside",
    "quarantine.fleet": "of a file that does not name its fleet",
    "quarantine.detail": "what exactly was wrong, where the log and not the message tells",
    "quarantine_outcomes.by": "who settled it",
    "quarantine_outcomes.why": "why",
    "quarantine_outcomes.at": "when",
    "quarantine_outcomes dropped": "of what was discarded: nothing else says so",
    "quarantine_outcomes added": "the same",
    "quarantine_outcomes.quarantined": "the same",
    "snapshot_parts dropped": "a snapshot is a cache: then it has no bytes",
    "snapshots.engine": "for which program it is: no other reads it",
    "snapshots.layout": "the same",
    "snapshots.types": "the same",
    "snapshots.written_by": "who wrote it",
    "snapshots.written_at": "when",
}
"""What may go unnoticed: the column, or the table and what was done to its rows."""


@dataclass(frozen=True, slots=True)
class Change:
    """What was done, and to which rows."""

    table: str
    what: str
    """``TABLE.COLUMN``, or ``TABLE dropped``, ``added``, ``swapped``, ``rewound``."""
    rows: tuple[dict[str, Any], ...]
    """As they were, and as they are."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a run."""

    seed: int
    change: Change
    trouble: Divergence | None
    located: bool

    @property
    def may_pass(self) -> bool:
        """Whether nobody could have noticed."""
        return self.change.what in UNSEEN

    @property
    def good(self) -> bool:
        """Whether it was found where it is, or could not be."""
        return self.located if self.trouble is not None else self.may_pass

    def line(self) -> str:
        """For people."""
        said = "not found" if self.trouble is None else json.dumps(self.trouble.as_plain())
        keys = [{n: r[n] for n in KEYS[self.change.table]} for r in self.change.rows]
        return f"seed {self.seed}: {self.change.what} {keys}: {said}"


def history() -> list[bytes]:
    """Of every family, in which decisions of every kind are made: of both lives."""
    sizes = Sizes(clusters=4, nodes=2, workloads=24, disks=2)
    simulation = Simulation(8, fleet=FLEET, sizes=sizes)
    opened = simulation.opening
    events = [orjson.loads(line) for line in simulation.events(HISTORY - 2 + LATER)]
    told = next(event for event in events if event["type"] == POLICY)
    for place, type_, data in (
        (opened, POLICY, {"fairshare": {"preempt": True, "reclaim": True}}),
        (opened + 10, "ledger.proposal.proposal.requested.v1", {"kind": "disks", "max_moves": 5}),
    ):
        more = {"id": f"{place}", "time": events[place]["time"], "type": type_, "data": data}
        events.insert(place, told | more)
    return [orjson.dumps(event) for event in events]


def contradictions() -> list[bytes]:
    """A node that declares less than is held on it, twice: the second time it stays so."""
    node = cluster_line(
        1, fleet=OTHER, type="ledger.cluster.node.upserted.v1", subject="c1/n1", id="node"
    )
    pod = {"cluster": "c1", "namespace": "shop", "name": "proxy", "node": "n1"}
    seen = cluster_line(
        1,
        fleet=OTHER,
        type="ledger.workload.pod.observed.v1",
        subject="c1/shop/proxy",
        id="pod",
        data=pod | {"request": {"memory": 5}},
    )
    sizes = [
        orjson.loads(node)
        | {"id": f"node-{place}", "data": {"cluster": "c1", "name": "n1", "memory": memory}}
        for place, memory in enumerate((6, 4, 6, 3))
    ]
    return [orjson.dumps(sizes[0]), seen, *map(orjson.dumps, sizes[1:])]


class NotTaken(AssertionError):
    """The database refuses a change, whichever row it is made to, or there is no other value."""


class Arena:
    """A ledger to tamper with. Every change is undone."""

    def __init__(self, connection: asyncpg.Connection, url: str) -> None:
        self.connection = connection
        self.url = url
        self.keys: list[Key] = []
        self.tables: list[str] = []
        """Those that have rows: not everything that happens leaves something behind here."""
        self._columns: dict[str, dict[str, tuple[str, bool]]] = {}

    async def open(self) -> None:
        """Learn what columns there are, and that all is well."""
        for row in await self.connection.fetch(
            "SELECT table_name, column_name, data_type, is_nullable = 'YES' AS nullable"
            "  FROM information_schema.columns WHERE table_schema = 'ledger'"
            "   AND table_name = ANY($1::text[]) ORDER BY table_name, ordinal_position",
            list(KEYS),
        ):
            of = self._columns.setdefault(row["table_name"], {})
            of[row["column_name"]] = (row["data_type"], row["nullable"])
        for table in sorted(KEYS):
            if await self.connection.fetchval(f"SELECT EXISTS (SELECT FROM ledger.{table})"):
                self.tables.append(table)
            else:
                assert table.startswith("past_"), table
        seeds = [SECRET]
        for fleet, lives in ((FLEET, (1, 2)), (OTHER, (1,))):
            for tree in ("events", "decisions", "both"):
                for life in map(Incarnation, lives):
                    name = signing_keys.origin(SITE, fleet, life, tree)
                    self.keys += [signing_keys.signing(seed, name).key for seed in seeds]

    async def verified(self, first: int | None = None, *, deep: bool = True) -> Divergence | None:
        """What verifying everything finds first, beginning with the fleet of this number."""
        wanted = await audit.every(self.connection)
        wanted.sort(key=lambda fleet: fleet.number != first)
        async for report in audit.all_verified(self.connection, wanted, deep=deep, keys=self.keys):
            if report.diverged is not None:
                return report.diverged
        return None

    async def run(self, seed: int, what: str | None = None) -> Found:
        """Make one change, look, undo it."""
        luck = Random(seed)
        for _ in range(DRAWN):
            undone = self.connection.transaction(isolation="repeatable_read")
            await undone.start()
            try:
                await self.connection.execute("SET LOCAL session_replication_role = replica")
                change = await self._change(luck, what)
                if change is None:
                    continue
                trouble = await self.verified(change.rows[0].get("fleet", LAST_NUMBER))
                return Found(
                    seed, change, trouble, trouble is not None and located(change, trouble)
                )
            finally:
                await undone.rollback()
        raise NotTaken(f"seed {seed}: the database takes no change of {what or 'anything'}")

    def kinds(self) -> list[str]:
        """Every change there is, by table."""
        return [
            f"{table}{what}"
            for table in self.tables
            for what in (
                *(f".{column}" for column in self._columns[table]),
                *(f" {how}" for how in ("dropped", "added", "swapped")),
                *([" rewound"] if table in REWOUND else []),
            )
        ]

    async def _change(self, luck: Random, what: str | None) -> Change | None:
        """Something drawn; None where the database itself refuses it or nothing is changed."""
        table = luck.choice(self.tables)
        how = luck.choice(("column",) * 6 + ("dropped", "added", "swapped", "rewound"))
        column = ""
        if what is not None:
            table, _, how = what.partition(" ")
            table, _, column = table.partition(".")
            how = how or "column"
        try:
            async with self.connection.transaction():
                match how:
                    case "column":
                        return await self._column(luck, table, column)
                    case "dropped":
                        return await self._dropped(luck, table)
                    case "added":
                        return await self._added(luck, table)
                    case "swapped":
                        return await self._swapped(luck, table)
                    case "rewound":
                        return await self._rewound(luck, table)
                    case other:
                        raise AssertionError(f"nobody knows how to make it {other}")
        except (
            asyncpg.IntegrityConstraintViolationError,
            asyncpg.DataError,
            asyncpg.GeneratedAlwaysError,
        ):
            return None

    async def _some(self, luck: Random, table: str, count: int) -> list[dict[str, Any]]:
        keys = ", ".join(KEYS[table])
        there = await self.connection.fetchval(f"SELECT count(*) FROM ledger.{table}")
        places = [luck.randrange(there) for _ in range(count)]
        query = f"SELECT * FROM ledger.{table} ORDER BY {keys} OFFSET $1 LIMIT 1"
        return [dict(row) for place in places for row in await self.connection.fetch(query, place)]

    async def _column(self, luck: Random, table: str, column: str) -> Change | None:
        (row,) = await self._some(luck, table, 1)
        name = column or luck.choice(sorted(self._columns[table]))
        type_, nullable = self._columns[table][name]
        value = mutated(luck, row[name], type_, nullable=nullable)
        if value == row[name] and type(value) is type(row[name]) and type_ != "numeric":
            return None
        await self._update(table, row, {name: value})
        return Change(table, f"{table}.{name}", (row, row | {name: value}))

    async def _dropped(self, luck: Random, table: str) -> Change:
        (row,) = await self._some(luck, table, 1)
        await self._delete(table, row)
        return Change(table, f"{table} dropped", (row,))

    async def _added(self, luck: Random, table: str) -> Change | None:
        (row,) = await self._some(luck, table, 1)
        name = luck.choice([key for key in KEYS[table] if key != "fleet"] or ["fleet"])
        type_, _nullable = self._columns[table][name]
        new = row | {name: mutated(luck, row[name], type_, nullable=False)}
        if new == row:
            return None
        names = list(new)
        await self.connection.execute(
            f"INSERT INTO ledger.{table} ({', '.join(names)}) OVERRIDING SYSTEM VALUE"
            f" VALUES ({', '.join(f'${n}' for n in range(1, len(names) + 1))})",
            *new.values(),
        )
        return Change(table, f"{table} added", (new,))

    async def _swapped(self, luck: Random, table: str) -> Change | None:
        one, other = await self._some(luck, table, 2)
        names = [
            name
            for name in self._columns[table]
            if name not in KEYS[table] and f"{table}.{name}" not in UNSEEN
        ]
        if one.get("fleet") != other.get("fleet") or all(
            one[name] == other[name] for name in names
        ):
            return None
        await self._update(table, one, {name: other[name] for name in names})
        await self._update(table, other, {name: one[name] for name in names})
        return Change(table, f"{table} swapped", (one, other))

    async def _rewound(self, luck: Random, table: str) -> Change | None:
        if table not in REWOUND:
            return None
        by = REWOUND[table]
        (row,) = await self._some(luck, table, 1)
        same = {
            n: row[n]
            for n in KEYS[table]
            if n != by and n in ("fleet", "tree", "topic", "partition")
        }
        where = "".join(f" AND {name} = ${n}" for n, name in enumerate(same, 2))
        rows = await self.connection.fetch(
            f"SELECT * FROM ledger.{table} WHERE true AND $1::bigint IS NOT NULL{where}"
            f" ORDER BY {by} DESC LIMIT $1",
            luck.randint(1, 3),
            *same.values(),
        )
        for each in rows:
            await self._delete(table, dict(each))
        return Change(table, f"{table} rewound", tuple(dict(each) for each in rows))

    async def _update(self, table: str, row: dict[str, Any], values: dict[str, Any]) -> None:
        if not values:
            return
        keys = KEYS[table]
        sets = ", ".join(f"{name} = ${n}" for n, name in enumerate(values, len(keys) + 1))
        where = " AND ".join(f"{name} = ${n}" for n, name in enumerate(keys, 1))
        done = await self.connection.execute(
            f"UPDATE ledger.{table} SET {sets} WHERE {where}",
            *(row[name] for name in keys),
            *values.values(),
        )
        assert done == "UPDATE 1", done

    async def _delete(self, table: str, row: dict[str, Any]) -> None:
        keys = KEYS[table]
        where = " AND ".join(f"{name} = ${n}" for n, name in enumerate(keys, 1))
        done = await self.connection.execute(
            f"DELETE FROM ledger.{table} WHERE {where}", *(row[name] for name in keys)
        )
        assert done == "DELETE 1", done


REWOUND: Final = {
    "events": "position",
    "decisions": "number",
    "decided": "through",
    "heads": "size",
    "checkpoints": "size",
    "tile_hashes": "number",
    "event_effects": "position",
    "divisions": "number",
    "task_moves": "number",
    "receipts": "number",
    "quarantine": "position",
    "ended_refusals": "number",
    "ended_incidents": "number",
}
"""Tables that grow at one end."""


SOMETHING: Final[dict[str, Any]] = {
    "numeric": Decimal(1),
    "timestamp with time zone": datetime(2026, 1, 1, tzinfo=UTC),
}
"""What is written where nothing was, if nothing cannot be counted on from."""


def mutated(luck: Random, value: Any, type_: str, *, nullable: bool) -> Any:
    """Another value of the same type."""
    if nullable and luck.random() < 0.1 and value is not None:
        return None
    if value is None and type_ in SOMETHING:
        return SOMETHING[type_]
    match type_:
        case "bytea":
            if not value:
                return bytes([luck.randrange(256)])
            at = luck.randrange(len(value))
            return value[:at] + bytes([value[at] ^ 1 << luck.randrange(8)]) + value[at + 1 :]
        case "text":
            letters = list(value or "")
            at = luck.randrange(len(letters) + 1)
            letters[at : at + luck.randrange(2)] = [luck.choice("abcxyz019/-")]
            return "".join(letters)
        case "boolean":
            return not value
        case "numeric":
            return luck.choice((value + 1, value - 1, value * 1 + type(value)("0.0")))
        case "jsonb":
            return json.dumps(_twisted(luck, json.loads(value or "{}")))
        case "timestamp with time zone":
            return value + luck.choice((1, -1)) * RESOLUTION
        case "bigint" | "integer" | "smallint":
            return (value or 0) + luck.choice((1, -1, 7, -13, 100))
        case other:
            raise AssertionError(f"{other} is not known here")


def _twisted(luck: Random, plain: Any) -> Any:
    """JSON with one thing in it that is another."""
    if isinstance(plain, dict) and plain and luck.random() < 0.9:
        key = luck.choice(sorted(plain))
        return plain | {key: _twisted(luck, plain[key])}
    if isinstance(plain, list) and plain and luck.random() < 0.9:
        at = luck.randrange(len(plain))
        return [*plain[:at], _twisted(luck, plain[at]), *plain[at + 1 :]]
    match plain:
        case dict():
            return plain | {"new": 1}
        case list():
            return [*plain, 0]
        case bool() | None:
            return "x"
        case int():
            return plain + luck.choice((1, -1)) if luck.random() < 0.7 else float(plain)
        case _:
            return f"{plain}x"


def located(change: Change, trouble: Divergence) -> bool:
    """Whether what was found is what was changed: the table, and one of its rows."""
    allowed = TROUBLES.get(change.table)
    named = (trouble.path or "").partition(".")[0]
    of_table = named == change.table or (named, change.table) == ("snapshot_parts", "snapshots")
    if not of_table and (allowed is None or trouble.trouble not in allowed):
        return False
    if change.table in {"geneses", "incarnations", "snapshot_parts"}:
        return True
    if change.what in {"events swapped", "decisions swapped"} and trouble.trouble in _TREES:
        # A row that is whole by itself is known to be elsewhere by the first head behind it.
        first = min(row.get("number", row["position"]) for row in change.rows)
        return any(at is not None and at > first for at in (trouble.position, trouble.decision))
    words = f"{trouble.subject} {trouble.recorded} {trouble.recomputed}".replace(":", " ").split()
    told = {trouble.position, trouble.decision, *words}
    for row in change.rows:
        if row.get("tree") == "both":
            return True
        numbers = {
            row[name]
            for name in (
                "position",
                "number",
                "size",
                "through",
                "quarantined",
                "released_position",
                "decisions",
            )
            if isinstance(row.get(name), int)
        }
        if "level" in row:
            numbers.add(row["number"] << 8 * (row["level"] % 8))
        _, at, offset = (trouble.subject or "").rpartition("@")
        if change.table == "receipts" and at and offset.isdecimal():
            return any(row["first"] <= int(offset) < row["next"] for row in change.rows)
        key = " ".join(str(row[name]) for name in KEYS[change.table][1:])
        if (trouble.recorded or "").startswith("of a fleet") and str(
            row["fleet"]
        ) == trouble.subject:
            return True
        if told & (numbers | set(map(str, numbers))) or (key and key in (trouble.subject or "")):
            return True
    return False


_TREES: Final = {"event_root_mismatch", "decision_root_mismatch", "clock_mismatch"}

TROUBLES: Final[dict[str, set[str]]] = {
    "events": {"leaf_mismatch", "position_missing", "receipt_mismatch", *_TREES},
    "decisions": {"decision_leaf_mismatch", "cursor_mismatch", *_TREES},
    "decided": {"cursor_mismatch", "decision_root_mismatch", "snapshot_mismatch"},
    "heads": _TREES,
    "tile_hashes": {"tile_mismatch"},
    "checkpoints": {"checkpoint_mismatch"},
    "geneses": {"genesis_mismatch"},
    "incarnations": {"incarnation_mismatch"},
    "receipts": {"receipt_mismatch", "incarnation_mismatch"},
    "quarantine": {"receipt_mismatch"},
    "snapshots": {"snapshot_mismatch"},
    "snapshot_parts": {"snapshot_mismatch"},
}
"""What a change of a table shows as, beside rows that are named as its own."""


@asynccontextmanager
async def arena(postgres: Postgres, folder: Path) -> AsyncIterator[Arena]:
    """A ledger with something in every table."""
    async with postgres.database() as url:
        connection = await connect(url, None)
        try:
            await _told(connection, url, folder)
            made = Arena(connection, url)
            await made.open()
            yield made
        finally:
            await connection.close()


async def _told(connection: asyncpg.Connection, url: str, folder: Path) -> None:
    """By file and by offsets, in portions, each decided and sealed."""
    both = history()
    drawn, later = both[:HISTORY], both[HISTORY:]
    with memory(folder / "signed.json") as remembered:
        sealer = Sealer(Site(SITE, (SECRET,)), remembered)
        third = len(drawn) // 3
        await lines.ingest(connection, drawn[:third], clock="event")
        await _decided(url)
        await sealer.round(connection)
        await _by_offsets(connection, drawn[third : 2 * third])
        await _decided(url)
        await sealer.round(connection)
        await lines.ingest(connection, drawn[2 * third :], clock="event")
        await _aside(connection)
        await _admissions(connection)
        await _decided(url)
        await _not_given(connection, "u4", "patch_inapplicable")
        # A batch in which nothing is decided, between two others: told again, a cluster is as it was.
        await lines.ingest(
            connection, [cluster_line(1, fleet=OTHER, id="told again")], clock="wall"
        )
        await _decided(url)
        last = [workload_line(41, replicas=50, fleet=OTHER), *contradictions()]
        await lines.ingest(connection, last, clock="wall")
        await _decided(url)
        await sealer.round(connection)
    await _recovered(connection, folder)
    await _told_again(connection, drawn[third])
    with memory(folder / "signed.json") as remembered:
        await lines.ingest(connection, later, clock="event")
        await _decided(url)
        await Sealer(Site(SITE, (SECRET,)), remembered).round(connection)


async def _recovered(connection: asyncpg.Connection, folder: Path) -> None:
    """A next life for the log that comes by Kafka too, so that its row says how far that was taken."""
    fleet = await fleets.find(connection, FLEET)
    assert fleet is not None
    remembered = by_the_signer(folder)
    found = await recovery.assess(connection, fleet, remembered)
    await recovery.begin(connection, found, why="tests", by="tests")


async def _decided(url: str) -> None:
    await decider.decide(
        url,
        holder="tests",
        until_idle=True,
        stop=asyncio.Event(),
        pace=UNHURRIED,
        snapshots=Interval(events=100, seconds=0.0),
    )


async def _by_offsets(connection: asyncpg.Connection, drawn: Sequence[bytes]) -> None:
    """As a consumer takes them, with some that nobody can read and one that contradicts."""
    offset = 5
    epoch = await receipts.open_epoch(connection, TOPIC, 0, owner="tests")
    intake = Intake(connection, create_fleets=True, clock="event")
    cluster = next(e for e in map(orjson.loads, drawn) if e["type"].endswith("node.upserted.v1"))
    cluster["data"]["memory"] = 1
    conflicting = orjson.dumps(cluster)
    portions = [drawn[place : place + 40] for place in range(0, len(drawn), 40)]
    for portion in portions:
        values = [*portion, conflicting, b"{}", b'{"specversion": "1.0"']
        if portion is portions[-1]:
            # Told once more, before everything else of a batch and behind it: no row is left of them.
            values = [portions[0][0], *values, portions[0][1]]
        await intake.take(_records(values, offset), Claim(TOPIC, 0, epoch), timestamp=offset)
        offset += len(values) + 3
        epoch = await receipts.open_epoch(connection, TOPIC, 0, owner="tests")
    async with connection.transaction():
        await receipts.halt(
            connection, TOPIC, 0, reason="retention_overrun", detail="tests", by="tests"
        )
    await receipts.resume(connection, TOPIC, 0, at=Offset(offset + 50), why="tests", by="tests")
    async with connection.transaction():
        await receipts.adopt(connection, TOPIC, 0, owner="tests")


async def _told_again(connection: asyncpg.Connection, value: bytes) -> None:
    """A last receipt behind what a life began with, of a record of which no row is left."""
    (fed,) = await receipts.feeding(connection, FLEET)
    epoch = await receipts.open_epoch(connection, TOPIC, 0, owner="tests")
    intake = Intake(connection, create_fleets=True, clock="event")
    await intake.take(_records([value], fed.next), Claim(TOPIC, 0, epoch), timestamp=fed.next)


def _records(values: Sequence[bytes], first: int) -> list[Message]:
    """Records of the topic that the fleet comes by."""
    return [
        Message(
            Coordinates("kafka", TOPIC, 0, offset),
            accept(value, headers=HEADERS, families=lines.FAMILIES, fleet=FLEET),
            FLEET.encode(),
            value,
            HEADERS,
        )
        for offset, value in enumerate(values, first)
    ]


async def _aside(connection: asyncpg.Connection) -> None:
    """Messages that are set aside, let in, discarded; and a fleet on the clock of the wall."""
    await lines.ingest(
        connection,
        [cluster_line(number, fleet=OTHER) for number in (1, 2, 3)]
        + [workload_line(number, replicas=number, fleet=OTHER) for number in range(4, 40)],
        clock="wall",
    )
    asked_over = Message(
        Coordinates("http", None, None, 0),
        accept_line(b"{", families=lines.FAMILIES),
        None,
        b"{",
        named="agent-east",
    )
    await Intake(connection, create_fleets=False).take([asked_over])
    late = [cluster_line(number, fleet=OTHER, subject=f"no{number}") for number in range(50, 54)]
    await lines.ingest(connection, late, clock="wall", named="late.jsonl")
    rows = await connection.fetch("SELECT position FROM ledger.quarantine ORDER BY position")
    for place, row in enumerate(rows[-4:]):
        position = Position(row["position"])
        if place < 2:
            await quarantine.release(
                connection,
                position,
                families=lines.FAMILIES,
                by="tests",
                why="tests",
                corrected=cluster_line(60 + place, fleet=OTHER),
            )
        elif place == 2:
            await quarantine.discard(connection, position, by="tests", why="tests")


async def _admissions(connection: asyncpg.Connection) -> None:
    """Four that are decided, and one of which somebody said before that nothing was."""
    fleet = await fleets.find(connection, OTHER)
    assert fleet is not None
    for uid in ("u1", "u2", "u3", "u4", "late"):
        await asked(connection, fleet, uid)
    await _not_given(connection, "late", "deadline")


async def _not_given(connection: asyncpg.Connection, uid: str, reason: str) -> None:
    """Somebody was answered without a decision, whatever was or will be decided."""
    fleet = await fleets.find(connection, OTHER)
    assert fleet is not None
    event = asking.bypassed(uid, reason, fleet=OTHER, cluster="m1")
    answer = answering.bypassed(OTHER, uid, reason)
    await AdmissionDesk(connection).bypass(fleet, [Bypass(uid, event, answer, sent=True)])


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs: so many, or so many of each kind."""

    seed: int
    runs: int
    each: int | None

    def drawn(self, made: Arena) -> Iterator[tuple[int, str | None]]:
        """Seeds, each with what is changed, if that is not drawn too."""
        if self.each is None:
            return ((seed, None) for seed in range(self.seed, self.seed + self.runs))
        seeds = range(self.seed, self.seed + self.each)
        return ((seed, what) for what in made.kinds() for seed in seeds)


async def main(wanted: Wanted, every: int, jobs: int) -> int:
    """Many runs; 1 where something goes unnoticed that may not."""
    counted: Counter[str] = Counter()

    async def some(url: str, drawn: Iterator[tuple[int, str | None]]) -> None:
        connection = await connect(url, None)
        mine = Arena(connection, url)
        await mine.open()
        for seed, what in drawn:
            counted[await _outcome(mine, seed, what)] += 1
            if counted.total() % every == 0:
                told = f"{counted.total()} runs: {dict(counted)}"
                typer.echo(told)
        await connection.close()

    async with session_postgres() as postgres:
        with tempfile.TemporaryDirectory() as folder:
            async with arena(postgres, Path(folder)) as made:
                assert await made.verified() is None
                drawn = wanted.drawn(made)
                await asyncio.gather(*(some(made.url, drawn) for _ in range(jobs)))
    told = f"{counted.total()} runs from seed {wanted.seed}: {dict(sorted(counted.items()))}"
    typer.echo(told)
    return 1 if counted["BAD"] else 0


async def _outcome(mine: Arena, seed: int, what: str | None) -> str:
    """What came of a run, in a word; what is bad is told in full."""
    try:
        found = await mine.run(seed, what)
    except NotTaken:
        return "not taken"
    if found.good:
        return "found" if found.located else "could not be"
    typer.echo(found.line())
    return "BAD"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--each", type=int, help="so many of each kind of change instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=250, help="how often to say how far it is")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    told = parser.parse_args()
    wanted = Wanted(told.seed, told.runs, told.each)
    sys.exit(asyncio.run(main(wanted, told.every, told.jobs)))
