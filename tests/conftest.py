"""What any test may ask for by name; how it is had is told in ``tests.postgres``."""

import gc
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.postgres import Postgres, session_postgres

# A session holds some 300,000 objects that stay. To search them for garbage as often as Python would took 44 of
# 98 s of processor time of the core's, the decisions', the reducers' and the rooms' tests; it takes 13 of 73.
gc.set_threshold(100_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a server, so that nobody has to remember to."""
    for item in items:
        wanted = set(getattr(item, "fixturenames", ()))
        if "postgres" in wanted:
            item.add_marker(pytest.mark.postgres)
        if wanted & {"kafka", "start_kafka"}:
            item.add_marker(pytest.mark.kafka)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def postgres() -> AsyncIterator[Postgres]:
    """One server for the whole session, shared; it is never stopped before the end."""
    async with session_postgres() as shared:
        yield shared


@pytest_asyncio.fixture
async def database_url(postgres: Postgres) -> AsyncIterator[str]:
    """An empty, migrated database of the test's own."""
    async with postgres.database() as url:
        yield url
