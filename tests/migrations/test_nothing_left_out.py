"""What clusters had lost is told of divisions of before, too, and of no fleet only a part of what was in force."""

import json
from typing import Final

import pytest

from ledger.errors import SetupProblem
from ledger.log import database, schema
from tests.migrations.databases import at_schema
from tests.postgres import Postgres

BEFORE: Final = "0022"
AFTER: Final = "0025"


async def test_what_clusters_had_lost_before_is_told(postgres: Postgres) -> None:
    async with at_schema(postgres, BEFORE) as url:
        connection = await database.connect(url, None)
        try:
            await connection.execute(
                "INSERT INTO ledger.fleets (number, name, clock) VALUES (1, 'shop', 'event')"
            )
            result = {"namespace": "shop", "workload": "cart", "allocation": {"eu": 4}}
            for number, kind, left in (
                (0, "division", []),
                (1, "division", [["ap", 1], ["us", 2]]),
                (2, "incident", None),
            ):
                reasons = {"strategy": "static"} if left is None else {"left": left}
                await connection.execute(
                    "INSERT INTO ledger.decisions (fleet, number, incarnation, position, kind, subject,"
                    "  algorithm, version, branch, moved, result, reasons, record, digest)"
                    " VALUES (1, $1, 1, $1, $2, 'shop/cart', 'any', 1, 'any', 0, $3, $4, '',"
                    "  decode(repeat('00', 32), 'hex'))",
                    *(number, kind, json.dumps(result), json.dumps(reasons)),
                )
            await connection.execute(
                "INSERT INTO ledger.divisions (fleet, number, cluster, namespace, workload, weight,"
                "  replicas, previous_replicas) VALUES (1, 0, 'eu', 'shop', 'cart', 1, 3, 0),"
                " (1, 1, 'eu', 'shop', 'cart', 1, 4, 3)"
            )
        finally:
            await connection.close()

        await schema.migrate(url, to=AFTER)

        connection = await database.connect(url, None)
        try:
            rows = await connection.fetch(
                "SELECT number, namespace, workload, cluster, weight, previous_replicas, replicas,"
                "       left_out FROM ledger_api.divisions ORDER BY number, cluster"
            )
            moved = await connection.fetch(
                "SELECT cluster, came, went FROM ledger_api.movements WHERE number = 1 ORDER BY 1"
            )
        finally:
            await connection.close()

    assert [tuple(row) for row in rows] == [
        (0, "shop", "cart", "eu", 1, 0, 3, False),
        (1, "shop", "cart", "ap", None, 1, 0, True),
        (1, "shop", "cart", "eu", 1, 3, 4, False),
        (1, "shop", "cart", "us", None, 2, 0, True),
    ]
    assert [tuple(row) for row in moved] == [("ap", 0, 1), ("eu", 1, 0), ("us", 0, 2)]


async def test_a_fleet_of_which_the_past_was_not_kept_is_refused(postgres: Postgres) -> None:
    async with at_schema(postgres, BEFORE) as url:
        connection = await database.connect(url, None)
        try:
            await connection.execute(
                "INSERT INTO ledger.fleets (number, name, clock) VALUES (1, 'shop', 'event')"
            )
            await connection.execute("INSERT INTO ledger.histories (fleet, first) VALUES (1, 100)")
            with pytest.raises(
                SetupProblem, match=r"fleet shop: .* before position 100 was not kept"
            ):
                await schema.migrate(url, to=AFTER)

            assert await database.schema_version(connection) == BEFORE
        finally:
            await connection.close()
