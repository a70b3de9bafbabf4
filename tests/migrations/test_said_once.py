"""Places and the decision that placed them part: what was told of now and of any position is told the same.

What the schema before kept is made by a model of it: a row a place, with the decision that said so last in it, and
another row whenever any of that changed.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

import asyncpg
import pytest

from ledger.log import database, schema
from ledger.views.past import fork
from tests.migrations.databases import at_schema
from tests.postgres import Postgres

BEFORE: Final = "0020"
POSITIONS: Final = 60
KEPT_FROM: Final = 20
"""Of the second fleet: until then nobody kept what gave way, and nobody knows since when a row holds."""
KINDS: Final = ("division", "deployment", "disk_placement", "allocation")
SUBJECTS: Final = ("shop/a", "shop/b")
"""Each of them is one of several kinds."""
PLACES: Final = (("m1", "n1", ""), ("m1", "n2", ""), ("m2", "n1", "d1"), ("m2", "n1", "d2"))

Subject = tuple[str, str]
Where = tuple[str, str, str]


class Row(NamedTuple):
    """What was said of a place, and from which position on."""

    many: int
    number: int
    since: int
    begin: int


@dataclass(slots=True)
class Before:
    """A fleet as the schema before kept it."""

    kept_from: int
    made: list[tuple[int, Subject]] = field(default_factory=list)
    """The position of each decision, and what it was about."""
    now: dict[Subject, dict[Where, Row]] = field(default_factory=dict)
    past: list[tuple[Subject, Where, Row, int]] = field(default_factory=list)

    def decides(self, position: int, subject: Subject, counts: Mapping[Where, int]) -> None:
        """Something is decided about a subject: in each of its places the decision is another one."""
        number = len(self.made)
        self.made.append((position, subject))
        self._turns(position, subject, {where: (n, number) for where, n in counts.items() if n})

    def loses(self, position: int, subject: Subject, where: Where) -> None:
        """An event takes one from a place; by which decision it is there stays."""
        held = {place: (row.many, row.number) for place, row in self.now[subject].items()}
        count, number = held.pop(where)
        if count > 1:
            held[where] = count - 1, number
        self._turns(position, subject, held)

    def ends(self, position: int, subject: Subject) -> None:
        """Nothing of it is in force any more."""
        self._turns(position, subject, {})

    def _turns(
        self, position: int, subject: Subject, held: Mapping[Where, tuple[int, int]]
    ) -> None:
        before = self.now.pop(subject, {})
        after: dict[Where, Row] = {}
        for where, (count, number) in held.items():
            was = before.get(where)
            since = was.since if was is not None and was.many == count else position
            same = was is not None and was[:3] == (count, number, since)
            begin = was.begin if was is not None and same else position
            after[where] = Row(count, number, since, begin if position >= self.kept_from else 0)
        for where, row in before.items():
            if after.get(where) != row and row.begin < position >= self.kept_from:
                self.past.append((subject, where, row, position))
        if after:
            self.now[subject] = after


def drawn(luck: Random, kept_from: int) -> Before:
    """A history: decisions that mostly leave places as they are, and events that take from some."""
    fleet = Before(kept_from)
    for position in range(POSITIONS):
        for _ in range(luck.choice((0, 1, 1, 2))):
            subject = luck.choice(KINDS), luck.choice(SUBJECTS)
            places = fleet.now.get(subject, {})
            what = luck.random()
            if places and what < 0.2:
                fleet.loses(position, subject, luck.choice(sorted(places)))
            elif what < 0.3:
                fleet.ends(position, subject)
            else:
                counts = Counter({where: row.many for where, row in places.items()})
                for where in luck.sample(PLACES, luck.choice((0, 0, 1, 2))):
                    counts[where] = luck.randrange(4)
                fleet.decides(position, subject, counts)
    return fleet


async def kept(connection: asyncpg.Connection, fleets: Mapping[str, Before]) -> None:
    """Write fleets down as the schema before did."""
    for fleet, (name, one) in enumerate(fleets.items(), 1):
        await connection.execute(
            "INSERT INTO ledger.fleets (number, name, clock) VALUES ($1, $2, 'event')", fleet, name
        )
        if one.kept_from:
            await connection.execute(
                "INSERT INTO ledger.histories (fleet, first) VALUES ($1, $2)", fleet, one.kept_from
            )
        await connection.executemany(
            "INSERT INTO ledger.decisions (fleet, number, incarnation, position, kind, subject,"
            "  algorithm, version, branch, moved, result, reasons, record, digest)"
            " VALUES ($1, $2, 1, $3, $4, $5, 'any', 1, 'any', 0, '{}', '{}', '',"
            "  decode(repeat('00', 32), 'hex'))",
            [(fleet, number, at, *subject) for number, (at, subject) in enumerate(one.made)],
        )
        await connection.execute(
            "INSERT INTO ledger.decided (fleet, through, decisions, epoch) VALUES ($1, $2, $3, 1)",
            *(fleet, POSITIONS - 1, len(one.made)),
        )
        await connection.executemany(
            "INSERT INTO ledger.past_placements (fleet, kind, subject, cluster, node, disk, count, number,"
            "  since_position, from_position, until_position, fork)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            [
                (fleet, *subject, *where, *row, until, fork(row.begin, until))
                for subject, where, row, until in one.past
            ],
        )
        await connection.executemany(
            "INSERT INTO ledger.placements (fleet, kind, subject, cluster, node, disk, count, number,"
            "  since_position, from_position) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            [
                (fleet, *subject, *where, *row)
                for subject, places in one.now.items()
                for where, row in places.items()
            ],
        )


async def told(
    connection: asyncpg.Connection, fleets: Mapping[str, Before]
) -> list[list[tuple[object, ...]]]:
    """What is in force now, and was at each position from which on that was kept."""
    asked = [
        "placements",
        *(
            f"placements_as_of('{name}', {at})"
            for name, one in fleets.items()
            for at in range(one.kept_from, POSITIONS)
        ),
    ]
    return [
        [
            tuple(row)
            for row in await connection.fetch(
                f"SELECT * FROM ledger_api.{source} ORDER BY fleet, kind, subject, cluster, node, disk"
            )
        ]
        for source in asked
    ]


@pytest.mark.parametrize("seed", range(4))
async def test_what_was_told_is_told_the_same(postgres: Postgres, seed: int) -> None:
    luck = Random(seed)
    fleets = {"shop": drawn(luck, 0), "upgraded": drawn(luck, KEPT_FROM)}
    async with at_schema(postgres, BEFORE) as url:
        connection = await database.connect(url, None)
        try:
            await kept(connection, fleets)
            wanted = await told(connection, fleets)
        finally:
            await connection.close()

        await schema.migrate(url, to="0021")

        connection = await database.connect(url, None)
        try:
            assert await told(connection, fleets) == wanted
            pasts = [
                await connection.fetch(
                    f"SELECT from_position, until_position, fork FROM ledger.past_{table}"
                )
                for table in ("placements", "placed_by")
            ]
        finally:
            await connection.close()

    assert sum(map(bool, wanted)) > len(wanted) // 2, "mostly something is in force"
    for past in pasts:
        assert past, "something gave way"
        assert all(row["fork"] == fork(row["from_position"], row["until_position"]) for row in past)


async def test_who_writes_meanwhile_waits_and_is_refused(postgres: Postgres) -> None:
    """A decider of the schema before is not let in between: what it wrote would be lost."""
    async with at_schema(postgres, BEFORE) as url:
        fleets = {"shop": drawn(Random(9), 0)}
        decider = await database.connect(url, None)
        try:
            await kept(decider, fleets)
            migrated = decider.transaction()
            await migrated.start()
            statement = (schema.folder() / "sql/0021/placed_by.sql").read_text().split("\n;;\n")[0]
            await decider.execute(statement)
            other = await database.connect(url, None)
            try:
                await other.execute("SET lock_timeout = '100ms'")
                assert await other.fetchval("SELECT count(*) FROM ledger_api.placements")
                with pytest.raises(asyncpg.LockNotAvailableError):
                    await other.execute("UPDATE ledger.placements SET count = count + 1")
            finally:
                await other.close()
            await migrated.rollback()
        finally:
            await decider.close()
