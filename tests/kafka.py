"""The Kafka that tests run against, or a plain word on why there is none.

``session_kafka`` is one broker for a whole session: a child process, or the cluster that
``LEDGER_KAFKA_BOOTSTRAP`` names, in which case nothing is started. Tests share it, so each takes
topics and groups of its own and nobody kills it. ``own_kafka`` is for the tests that do kill: its
brokers are always child processes, and theirs alone.

Whether a missing broker is a failure is said by ``LEDGER_REQUIRE_SERVICES``: with 1 it is, without
it the tests are skipped and name what is missing. Only tools and jars can be missing. A broker
that was to be had and does not come up is a failure everywhere.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn
from uuid import uuid4

import pytest

from consumers.local_kafka import brokers, jars, topics
from ledger.errors import SetupProblem


@dataclass(frozen=True, slots=True)
class Kafka:
    """A cluster that others use at the same time."""

    bootstrap: str

    async def topic(
        self,
        subject: str = "topic",
        *,
        partitions: int = 1,
        replication: int = 1,
        config: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Create a topic nobody else has, and return its name."""
        name = fresh_name(subject)
        await topics.create_topic(
            self.bootstrap, name, partitions=partitions, replication=replication, config=config
        )
        return name


def fresh_name(subject: str) -> str:
    """A name for a topic, a group or a transactional id that no other test uses."""
    return f"ledger-test.{subject}.{uuid4().hex[:12]}"


@asynccontextmanager
async def session_kafka(directory: Path) -> AsyncIterator[Kafka]:
    """The shared cluster: the one the environment names, else one broker in ``directory``."""
    given = os.environ.get("LEDGER_KAFKA_BOOTSTRAP")
    if given:
        yield Kafka(given)
        return
    async with own_kafka(directory) as cluster:
        yield Kafka(cluster.bootstrap)


@asynccontextmanager
async def own_kafka(
    directory: Path,
    *,
    count: int = 1,
    version: str = jars.DEFAULT_VERSION,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[brokers.Cluster]:
    """Brokers in ``directory`` that a test may do anything to."""
    require(version)
    cluster = await brokers.start(directory, brokers=count, version=version, settings=settings)
    try:
        yield cluster
    finally:
        # Nobody reads this data again, so nobody has to wait until it is put away in good order.
        cluster.kill_all()


def require(version: str = jars.DEFAULT_VERSION) -> None:
    """Have everything at hand that a broker needs, or end the test as the policy says."""
    missing = jars.missing_tools(version)
    if missing:
        refuse(f"{' and '.join(missing)} not installed (Java 17 or newer, Maven)")
    try:
        jars.fetch(version)
    except SetupProblem as problem:
        refuse(str(problem))


def refuse(reason: str) -> NoReturn:
    """Fail where services are required, skip where they are not."""
    said = f"no Kafka broker can be had: {reason}"
    if os.environ.get("LEDGER_REQUIRE_SERVICES") == "1":
        pytest.fail(said, pytrace=False)
    pytest.skip(said)
