"""Whatever is changed in what the trees are recorded by is found, and where it is."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import asyncpg
import pytest
import pytest_asyncio

from ledger.errors import SetupProblem
from ledger.log import fleets, lines
from ledger.log.database import connect, connected
from ledger.log.sealer import Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.replay import audit, verify
from ledger.replay.report import INVALID, Report
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres

WEIGHTS = {"c1": 3, "c2": 2, "c3": 1}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sealed(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[asyncpg.Connection]:
    """A thousand events in several appends, with decisions and signed ends; changes are undone."""
    async with postgres.database() as url:
        connection = await connect(url, None)
        await lines.ingest(connection, [cluster_line(number) for number in (1, 2, 3)])
        with memory(Path(tmp_path_factory.mktemp("signer")) / "signed.json") as remembered:
            sealer = Sealer(Site("ledger.example", (bytes(32),)), remembered)
            for first in (4, 150, 400, 800):
                await lines.ingest(
                    connection,
                    [
                        workload_line(number, replicas=number, weights=WEIGHTS)
                        for number in range(first, first + 250)
                    ],
                )
                await decide_all(url)
                await sealer.round(connection)
        yield connection
        await connection.close()


async def verified(connection: asyncpg.Connection) -> Report:
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    return await verify.report(connection, fleet)


async def after(connection: asyncpg.Connection, statement: str) -> Report:
    """What verifying finds after a change, which is then undone."""
    change = connection.transaction()
    await change.start()
    try:
        await connection.execute("SET LOCAL session_replication_role = replica")
        assert await connection.execute(statement) != "UPDATE 0"
        return await verified(connection)
    finally:
        await change.rollback()


async def test_an_untouched_log_is_whole(sealed: asyncpg.Connection) -> None:
    report = await verified(sealed)
    assert report.diverged is None
    assert report.events == 899
    assert report.decisions == 896


@pytest.mark.parametrize(
    ("statement", "trouble"),
    [
        ("UPDATE ledger.heads SET root = sha256(root) WHERE size = 253", "event_root_mismatch"),
        (
            "UPDATE ledger.heads SET frontier = frontier || sha256('') WHERE size = 253",
            "event_root_mismatch",
        ),
        (
            "UPDATE ledger.tile_hashes SET hash = sha256(hash) WHERE tree = 'events' AND number = 1",
            "tile_mismatch",
        ),
        ("DELETE FROM ledger.tile_hashes WHERE tree = 'events' AND number = 0", "tile_mismatch"),
        (
            (
                "INSERT INTO ledger.tile_hashes SELECT fleet, tree, level, 9, hash"
                " FROM ledger.tile_hashes WHERE tree = 'events' AND number = 0"
            ),
            "tile_mismatch",
        ),
        ("UPDATE ledger.tile_hashes SET level = 2 WHERE tree = 'events'", "tile_mismatch"),
        (
            "UPDATE ledger.checkpoints SET size = size - 1 WHERE tree = 'events'",
            "checkpoint_mismatch",
        ),
        (
            "UPDATE ledger.checkpoints SET note = set_byte(note, 40, 33) WHERE tree = 'decisions'",
            "checkpoint_mismatch",
        ),
        (
            "UPDATE ledger.checkpoints SET size = 9 * size WHERE tree = 'events'",
            "checkpoint_mismatch",
        ),
        (
            (
                "UPDATE ledger.decided SET decisions = decisions - 1"
                " WHERE through = (SELECT min(through) FROM ledger.decided WHERE decisions > 0)"
            ),
            "cursor_mismatch",
        ),
    ],
)
async def test_what_is_recorded_of_the_trees_is_held_against_the_leaves(
    sealed: asyncpg.Connection, statement: str, trouble: str
) -> None:
    report = await after(sealed, statement)
    assert report.diverged is not None
    assert report.diverged.trouble == trouble
    assert report.exit_code == INVALID


BYTES = {
    "events": ("payload", "leaf"),
    "decisions": ("record", "digest"),
    "heads": ("root", "frontier"),
    "tile_hashes": ("hash",),
}
"""Every stored byte that a tree is made of, or is recorded by."""


@pytest.mark.parametrize("table", BYTES)
async def test_no_flipped_bit_goes_unnoticed(sealed: asyncpg.Connection, table: str) -> None:
    luck = Random(table)
    for _ in range(12):
        column = luck.choice(BYTES[table])
        at, bit = luck.random(), luck.randrange(8)
        report = await after(
            sealed,
            f"UPDATE ledger.{table} SET {column} = set_bit({column}, bit, 1 - get_bit({column}, bit))"
            f" FROM (SELECT ctid AS at, 8 * floor({at} * octet_length({column}))::bigint + {bit} AS bit"
            f"         FROM ledger.{table} ORDER BY md5(ctid::text || '{at}') LIMIT 1) AS one"
            f" WHERE {table}.ctid = one.at",
        )
        assert report.diverged is not None, (column, at, bit)


async def test_no_policy_hides_a_row_from_whoever_verifies(postgres: Postgres) -> None:
    async with postgres.database() as url:
        anybody = await connect(url, None)
        await lines.ingest(
            anybody, [cluster_line(1), workload_line(1, replicas=3, weights=WEIGHTS)]
        )
        await decide_all(url)
        await anybody.execute(
            """
            ALTER TABLE ledger.placements ENABLE ROW LEVEL SECURITY;
            CREATE POLICY hidden ON ledger.placements FOR SELECT USING (subject <> 'shop/cart');
            """
        )
        await anybody.close()

        with pytest.raises(SetupProblem, match=r"row-level security policy for table .placements"):
            await verified_deeply(url)


async def verified_deeply(url: str) -> list[Report]:
    """As the command does."""
    async with connected(url, "ledger_signer") as signer:
        wanted = await audit.every(signer)
        return [report async for report in audit.all_verified(signer, wanted, deep=True)]
