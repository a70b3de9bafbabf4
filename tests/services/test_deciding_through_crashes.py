"""A few of the randomised runs; ``tests/README.md`` has the command for many."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import structlog

from tests.services.deciding_through_crashes import Arena, Run, arena

pytestmark = [pytest.mark.postgres]

SEEDS = (1, 2, 3, 4)
"""Among them every kind of fault but one."""

SEEDS_OF_THE_LONG_RUN = range(1000, 1200)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Arena]:
    """A Postgres that the runs may do anything to."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    async with arena(tmp_path_factory.mktemp("chaos")) as made:
        yield made


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "seed",
    [*SEEDS, *(pytest.param(seed, marks=pytest.mark.long) for seed in SEEDS_OF_THE_LONG_RUN)],
)
async def test_the_same_is_decided_whatever_dies(shared: Arena, seed: int) -> None:
    report = await Run(shared, seed).play()

    assert not report.trouble, report.line() + _logs(shared.logs, seed)


def _logs(logs: Path, seed: int) -> str:
    told = (f"\n--- {log.name}\n{log.read_text()[-3000:]}" for log in logs.glob(f"{seed}-*.log"))
    return "".join(sorted(told))
