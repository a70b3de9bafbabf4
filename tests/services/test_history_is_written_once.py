"""History is refused to everybody who would change it: by grant, and by trigger where a grant would do."""

import asyncpg
import pytest

from ledger.log import lines
from ledger.log.database import Role, connect
from tests.events_for_tests import cluster_line

CHANGEABLE = {
    "disk_books",
    "fair_shares",
    "fleet_readers",
    "job_books",
    "leases",
    "namespace_weights",
    "node_books",
    "open_incidents",
    "open_refusals",
    "placed_by",
    "placements",
    "queue_books",
    "running_tasks",
    "schema_version",
    "shared_totals",
    "snapshot_parts",
    "snapshots",
    "source_bindings",
    "standbys",
}
"""Not history: leases, who stands by and projections are kept up to date, snapshots are a cache,
bindings and who may read are configuration."""

ROLES: tuple[Role, ...] = (
    "ledger_maintainer",
    "ledger_writer",
    "ledger_decider",
    "ledger_publisher",
    "ledger_signer",
    "ledger_reader",
)


async def tables(connection: asyncpg.Connection) -> list[str]:
    rows = await connection.fetch(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'ledger' AND c.relkind IN ('r', 'p') ORDER BY c.relname"
    )
    return [row["relname"] for row in rows]


async def test_no_role_may_change_or_remove_history(database_url: str) -> None:
    connection = await connect(database_url, None)
    try:
        granted = [
            (table, role, right)
            for table in await tables(connection)
            if table not in CHANGEABLE
            for role in ROLES
            for right in ("UPDATE", "DELETE", "TRUNCATE")
            if await connection.fetchval(
                "SELECT has_table_privilege($1, $2, $3)", role, f"ledger.{table}", right
            )
        ]
    finally:
        await connection.close()

    assert granted == []


async def test_every_history_table_refuses_even_a_superuser(database_url: str) -> None:
    connection = await connect(database_url, None)
    try:
        names = [name for name in await tables(connection) if name not in CHANGEABLE]
        for name in names:
            with pytest.raises(asyncpg.PostgresError) as refused:
                await connection.execute(f"TRUNCATE ledger.{name} CASCADE")
            assert refused.value.sqlstate == "LG010", name
    finally:
        await connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger.events SET source = 'somebody else'",
        "DELETE FROM ledger.events",
        "UPDATE ledger.events_000000 SET payload = ''",
        "DELETE FROM ledger.event_identity",
        "UPDATE ledger.heads SET root = root",
        "DELETE FROM ledger.geneses",
        "UPDATE ledger.fleets SET clock = 'event'",
    ],
)
async def test_rows_of_history_refuse_even_a_superuser(database_url: str, statement: str) -> None:
    connection = await connect(database_url, None)
    try:
        await lines.ingest(connection, [cluster_line(1)])

        with pytest.raises(asyncpg.PostgresError) as refused:
            await connection.execute(statement)

        assert refused.value.sqlstate == "LG010"
    finally:
        await connection.close()


async def test_a_detached_partition_is_still_history(database_url: str) -> None:
    connection = await connect(database_url, None)
    try:
        await connection.execute("SELECT ledger.make_partition(7)")
        name = await connection.fetchval("SELECT ledger.detach_partition(7)")
        await connection.execute(
            f"INSERT INTO ledger.{name} SELECT 1, 7 * ledger.positions_per_partition(), 1, 1, 1, 1,"
            " 'file', NULL, NULL, 1, 's', 'i', 't', 's', '', ''"
        )

        with pytest.raises(asyncpg.PostgresError) as refused:
            await connection.execute(f"DELETE FROM ledger.{name}")

        assert refused.value.sqlstate == "LG010"
    finally:
        await connection.close()
