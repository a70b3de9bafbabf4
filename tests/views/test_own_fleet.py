"""The ledger's own fleet is behind with nothing: nobody decides it."""

from collections.abc import AsyncIterator
from typing import Final

import asyncpg
import pytest

from ledger.log import lines
from ledger.log.database import connect
from tests.engine.deciding import decide_all
from tests.engine.test_deployments_in_sql import rows
from tests.events_for_tests import cluster_line, workload_line

SAYS: Final = "events, decided_through, undecided, undecided_since, lag_seconds, decisions"


@pytest.fixture
async def aside(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A fleet that is decided to its end, and three messages that were set aside."""
    connection = await connect(database_url, None)
    try:
        await lines.ingest(
            connection,
            [cluster_line(1), b"{", workload_line(1, replicas=2), b"[]", b"{}"],
            clock="wall",
        )
        await decide_all(database_url)
        yield connection
    finally:
        await connection.close()


async def test_nothing_waits_where_all_that_can_be_decided_is(aside: asyncpg.Connection) -> None:
    assert await rows(aside, f"SELECT fleet, {SAYS} FROM ledger_api.fleets ORDER BY fleet") == [
        ("_ledger", 3, None, 0, None, 0.0, 0),
        ("test", 2, 1, 0, None, 0.0, 1),
    ]


@pytest.mark.parametrize(("position", "events"), [(-1, 0), (0, 1), (2, 3)])
async def test_as_of_a_position_nothing_of_it_is_decided_either(
    aside: asyncpg.Connection, position: int, events: int
) -> None:
    asked = f"SELECT {SAYS} FROM ledger_api.fleets_as_of('_ledger', {position})"
    assert await rows(aside, asked) == [(events, None, 0, None, None, 0)]
    for state in ("placements", "open_refusals", "refusals", "queue_books"):
        assert (
            await rows(aside, f"SELECT * FROM ledger_api.{state}_as_of('_ledger', {position})")
            == []
        )


async def test_as_of_a_time_it_has_the_events_by_then(aside: asyncpg.Connection) -> None:
    for moment, events in (("2000-01-01", 0), ("2999-01-01", 3)):
        asked = f"SELECT {SAYS} FROM ledger_api.fleets_at('_ledger', '{moment}')"
        assert await rows(aside, asked) == [(events, None, 0, None, None, 0)]


async def test_a_position_that_it_does_not_have_yet_is_refused(aside: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.PostgresError) as error:
        await aside.fetch("SELECT * FROM ledger_api.fleets_as_of('_ledger', 3)")
    assert error.value.sqlstate == "LG016"
    assert str(error.value) == "fleet _ledger: it has no event at position 3 yet"
