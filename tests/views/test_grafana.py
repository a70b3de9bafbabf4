"""Every query of the Grafana dashboard answers, as a reader, over a small ledger."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import pytest_asyncio
import yaml

from ledger.log import lines
from ledger.log.database import connect
from tests.engine.deciding import decide_all
from tests.engine.test_the_book_in_sql import story
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres

FOLDER = Path(__file__).parents[2] / "docs" / "grafana"
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "ledger.json").read_text())
FROM, TO = "'2000-01-01T00:00:00Z'", "'2100-01-01T00:00:00Z'"

QUERIES = {panel["title"]: panel["targets"][0]["rawSql"] for panel in DASHBOARD["panels"]}

pytestmark = pytest.mark.asyncio(loop_scope="module")


def filled_in(query: str) -> str:
    """What Grafana makes of a query before it asks."""
    query = query.replace("$__timeFrom()", FROM).replace("$__timeTo()", TO)
    query = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 BETWEEN {FROM} AND {TO}", query)
    query = query.replace("$fleet", "'test','other'")
    assert "$" not in query
    return query


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(postgres: Postgres) -> AsyncIterator[asyncpg.Connection]:
    async with postgres.database() as url:
        writer = await connect(url, None)
        await lines.ingest(writer, story().lines)
        await writer.close()
        await decide_all(url)
        connection = await connect(url, "ledger_reader")
        await connection.execute("SET search_path = ledger_api")
        try:
            yield connection
        finally:
            await connection.close()


@pytest.mark.parametrize("title", QUERIES)
async def test_a_panel_has_an_answer(reader: asyncpg.Connection, title: str) -> None:
    rows = await reader.fetch(filled_in(QUERIES[title]))

    assert rows or title == "Refused, and why"
    panel = next(one for one in DASHBOARD["panels"] if one["title"] == title)
    if panel["targets"][0]["format"] == "time_series":
        assert "time" in rows[0].keys()  # noqa: SIM118 - a record is no mapping


async def test_a_cluster_that_lost_everything_is_shown_and_an_unchosen_fleet_is_not(
    postgres: Postgres,
) -> None:
    async with postgres.database() as url:
        connection = await connect(url, None)
        try:
            elsewhere = [cluster_line(1, fleet="unchosen"), b'{"fleet": "unchosen"}']
            told = [*elsewhere, cluster_line(1), cluster_line(2), b'{"fleet": "test"}', b"whose?"]
            first = workload_line(1, replicas=5, weights={"c1": 1})
            await lines.ingest(connection, [*told, first])
            await decide_all(url)
            then = await connection.fetchval(
                "SELECT max(recorded_at)::text FROM ledger_api.events WHERE fleet = 'test'"
            )
            await lines.ingest(connection, [workload_line(2, replicas=5, weights={"c2": 1})])
            await decide_all(url)
            await connection.execute("SET search_path = ledger_api")

            compared = QUERIES["Then and now"].replace("$__timeFrom()", f"'{then}'")
            rows = await connection.fetch(filled_in(compared))
            assert [tuple(row) for row in rows] == [("c1", 5, 0, -5), ("c2", 0, 5, 5)]
            waiting = await connection.fetchval(filled_in(QUERIES["In quarantine"]))
            assert waiting == 2, "of the fleet chosen, and of none"
        finally:
            await connection.close()


async def test_incidents_of_other_fleets_are_not_shown(reader: asyncpg.Connection) -> None:
    query = filled_in(QUERIES["Incidents"])

    assert await reader.fetch(query)
    assert await reader.fetch(query.replace("'test'", "'another'")) == []


async def test_the_fleets_to_choose_from_are_there(reader: asyncpg.Connection) -> None:
    (variable,) = [one for one in DASHBOARD["templating"]["list"] if one["type"] == "query"]

    assert [row[0] for row in await reader.fetch(variable["query"])] == ["test"]


async def test_the_provisioning_example_fits_the_dashboard() -> None:
    source = yaml.safe_load((FOLDER / "datasource.yaml").read_text())["datasources"][0]
    (variable,) = [one for one in DASHBOARD["templating"]["list"] if one["type"] == "datasource"]
    (provider,) = yaml.safe_load((FOLDER / "dashboards.yaml").read_text())["providers"]

    assert source["type"] == variable["query"]
    assert provider["type"] == "file"
    assert all(panel["datasource"]["uid"] == "${datasource}" for panel in DASHBOARD["panels"])
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(QUERIES)
