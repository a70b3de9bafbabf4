"""What tests of real services ask for by name; how it is had is told in ``tests.kafka``."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from consumers.local_kafka.brokers import Cluster
from tests.kafka import Kafka, fresh_name, own_kafka, session_kafka


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kafka(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kafka]:
    """One real broker for the whole session, shared and never killed."""
    async with session_kafka(tmp_path_factory.mktemp("kafka")) as shared:
        yield shared


@pytest_asyncio.fixture
async def start_kafka(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Cluster]]]:
    """Start brokers of one's own (count, version, settings); they end with the test."""
    async with AsyncExitStack() as running:

        async def start(**wishes: Any) -> Cluster:
            directory = tmp_path / fresh_name("kafka")
            return await running.enter_async_context(own_kafka(directory, **wishes))

        yield start
