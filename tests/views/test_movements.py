"""What divisions brought to clusters and took from them adds up to where replicas are."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.engine import decider
from ledger.log import lines
from ledger.log.database import connect
from tests.engine.deciding import UNHURRIED
from tests.engine.test_deployments_in_sql import rows
from tests.engine.test_the_book_in_sql import Story

AUDIT: Final = Path(__file__).parents[2] / "docs/audits/who-moved-my-replicas.md"

HELD: Final = """
SELECT v.number, v.position, v.namespace || '/' || v.workload AS subject, v.cluster,
       v.previous_replicas, v.replicas, v.left_out
  FROM ledger_api.divisions v ORDER BY v.number, v.cluster
"""


def losses() -> list[bytes]:
    """Clusters leave a workload's wish, are not chosen, are not ready, and are removed."""
    told = Story()
    for cluster in ("m1", "m2", "m3"):
        told.cluster(cluster)
        node = {"cluster": cluster, "name": "n1", "cpu": "9", "memory": 900}
        told.add("cluster", "node.upserted", f"{cluster}/n1", node)
    request = {"cpu": "1", "memory": 1}

    def wish(name: str, replicas: int, **division: object) -> None:
        told.workload(
            *(name, replicas), request=request, cluster=None, deploy=None, division=division
        )

    wish("static", 9, weights={"m1": 1, "m2": 1, "m3": 1})
    wish("static", 9, weights={"m1": 1, "m2": 1})
    wish("dynamic", 6, strategy="dynamic", weights={})
    wish("copied", 2, strategy="duplicated", clusters=["m1", "m2", "m3"])
    wish("copied", 0, strategy="duplicated", clusters=["m2", "m3"])
    wish("copied", 2, strategy="duplicated", clusters=["m2", "m3"])
    wish("chosen", 4, strategy="webster", spread={"cluster": [1, 2]})
    wish("chosen", 4, strategy="webster", spread={"cluster": [1, 1]})
    told.add("cluster", "cluster.upserted", "m2", {"name": "m2", "ready": False})
    told.add("cluster", "cluster.removed", "m3", {"name": "m3"})
    told.cluster("m2")
    told.add("workload", "workload.removed", "shop/static", {"namespace": "shop", "name": "static"})
    wish("static", 3, weights={"m1": 1})
    return told.lines


def simulated() -> list[bytes]:
    """An invented fleet of few clusters, which come and go."""
    sizes = Sizes(clusters=4, nodes=2, workloads=24)
    return list(Simulation(39, fleet="test", sizes=sizes).events(320))


def audited() -> list[bytes]:
    """The history of the audit that asks who moved replicas."""
    (block,) = re.findall(r"```jsonl\n(.*?)```", AUDIT.read_text(), flags=re.DOTALL)
    return str(block).encode().splitlines()


HISTORIES: Final = {"losses": losses, "simulated": simulated, "audited": audited}


@asynccontextmanager
async def decided(url: str, history: list[bytes]) -> AsyncIterator[asyncpg.Connection]:
    """A connection to a database in which a history was decided."""
    connection = await connect(url, None)
    try:
        await lines.ingest(connection, history, clock="event")
        await decider.decide(
            url, holder="tests", until_idle=True, stop=asyncio.Event(), pace=UNHURRIED
        )
        yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize("name", HISTORIES)
async def test_what_a_division_says_of_before_and_after_is_what_was_in_force(
    database_url: str, name: str
) -> None:
    async with decided(database_url, HISTORIES[name]()) as connection:
        told: dict[tuple[int, int, str], dict[str, tuple[int, int]]] = {}
        for number, position, subject, cluster, before, after, _ in await rows(connection, HELD):
            told.setdefault((number, position, subject), {})[cluster] = (before, after)
        assert told
        for (_, position, subject), clusters in told.items():
            before = {cluster: many for cluster, (many, _) in clusters.items() if many}
            after = {cluster: many for cluster, (_, many) in clusters.items() if many}
            assert after == await in_force(connection, subject, position)
            held = await in_force(connection, subject, position - 1)
            # Whoever is made anew with the same event begins with nothing.
            assert before == held or (not before and await ended(connection, subject, position))


@pytest.mark.parametrize("name", HISTORIES)
async def test_what_came_and_went_adds_up_to_what_is_there(database_url: str, name: str) -> None:
    async with decided(database_url, HISTORIES[name]()) as connection:
        gone = dict(
            await rows(
                connection,
                "SELECT subject, max(position) FROM ledger_api.events"
                " WHERE type = 'ledger.workload.workload.removed.v1' GROUP BY subject",
            )
        )
        moved: Counter[tuple[str, str]] = Counter()
        for subject, position, cluster, came, went in await rows(
            connection,
            "SELECT subject, position, cluster, came, went FROM ledger_api.movements"
            " WHERE kind = 'division' ORDER BY number",
        ):
            assert came or went
            if position > gone.get(subject, -1):
                moved[subject, cluster] += came - went
        there = await rows(
            connection,
            "SELECT subject, cluster, count FROM ledger_api.placements WHERE kind = 'division'",
        )
        assert {place: many for place, many in moved.items() if many} == {
            (subject, cluster): many for subject, cluster, many in there
        }


async def in_force(connection: asyncpg.Connection, subject: str, position: int) -> dict[str, int]:
    """The replicas of a workload in each cluster, as of a position."""
    fleet = await connection.fetchval("SELECT fleet FROM ledger_api.fleets WHERE events > 0")
    found = await connection.fetch(
        "SELECT cluster, count FROM ledger_api.placements_as_of($1, $2)"
        " WHERE kind = 'division' AND subject = $3",
        *(fleet, position, subject),
    )
    return {row["cluster"]: row["count"] for row in found}


async def ended(connection: asyncpg.Connection, subject: str, position: int) -> bool:
    """Whether the event at a position is of the workload itself."""
    asked = "SELECT subject = $1 FROM ledger_api.events WHERE position = $2"
    return bool(await connection.fetchval(asked, subject, position))


async def test_a_cluster_that_is_not_ready_is_told_as_one_that_lost_its_replicas(
    database_url: str,
) -> None:
    async with decided(database_url, audited()) as connection:
        assert await rows(
            connection,
            "SELECT cluster, came, went FROM ledger_api.movements WHERE number = 3 ORDER BY cluster",
        ) == [("eu", 2, 0), ("us", 0, 2)]
        assert await rows(
            connection,
            "SELECT cluster, weight, replicas, previous_replicas, available, left_out"
            "  FROM ledger_api.divisions WHERE number = 3 ORDER BY cluster",
        ) == [
            ("ap", 1, 2, 2, None, False),
            ("eu", 2, 6, 4, None, False),
            ("us", None, 0, 2, None, True),
        ]


async def test_whoever_loses_all_that_it_had_is_told_however_it_came_to_that(
    database_url: str,
) -> None:
    async with decided(database_url, losses()) as connection:
        assert await rows(
            connection,
            "SELECT workload, number, cluster, previous_replicas FROM ledger_api.divisions"
            " WHERE left_out ORDER BY number, cluster",
        ) == [
            ("static", 1, "m3", 3),
            ("copied", 4, "m1", 2),
            ("chosen", 7, "m1", 2),
            ("copied", 9, "m2", 2),
            ("dynamic", 10, "m2", 2),
            ("static", 11, "m2", 4),
            ("chosen", 12, "m3", 4),
            ("dynamic", 14, "m3", 3),
            ("copied", 16, "m3", 2),
        ]


@pytest.mark.parametrize("name", HISTORIES)
async def test_a_cluster_that_was_left_out_is_a_candidate_only_as_its_record_says(
    database_url: str, name: str
) -> None:
    async with decided(database_url, HISTORIES[name]()) as connection:
        assert not await rows(
            connection,
            "SELECT number, candidate FROM ledger_api.candidates WHERE stage = 'division'"
            " GROUP BY number, candidate HAVING count(*) > 1",
        )
        assert (
            await rows(
                connection,
                "SELECT v.number, v.cluster FROM ledger_api.divisions v JOIN ledger_api.candidates c"
                "    ON (c.number, c.stage, c.candidate) = (v.number, 'division', v.cluster)"
                " WHERE v.left_out AND c.why_not IS NOT DISTINCT FROM 'no_share'",
            )
            == []
        )
