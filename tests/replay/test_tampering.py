"""A few of the runs of ``tests.replay.tampering``; ``tests/README.md`` has the command for many."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.postgres import Postgres
from tests.replay.tampering import KEYS, UNSEEN, Arena, arena

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.postgres, pytest.mark.long]

SEEDS = range(1, 25)

PAGE = Path(__file__).parents[2] / "docs/verify.md"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tampered(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Arena]:
    """A ledger with something in every table."""
    async with arena(postgres, tmp_path_factory.mktemp("signer")) as made:
        yield made


async def test_what_nobody_touched_is_whole(tampered: Arena) -> None:
    assert await tampered.verified() is None


async def test_who_may_only_read_can_verify_all_of_it(tampered: Arena) -> None:
    await tampered.connection.execute("SET ROLE ledger_signer")
    try:
        assert await tampered.verified() is None
    finally:
        await tampered.connection.execute("RESET ROLE")


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_change_that_matters_is_found_where_it_is(tampered: Arena, seed: int) -> None:
    found = await tampered.run(seed)
    assert found.good, found.line()


@pytest.mark.parametrize("what", [f"{table} dropped" for table in sorted(KEYS)])
async def test_a_row_that_is_gone_is_missed_unless_the_page_says_otherwise(
    tampered: Arena, what: str
) -> None:
    if what.partition(" ")[0] in tampered.tables:
        found = await tampered.run(1, what)
        assert found.good, found.line()


@pytest.mark.parametrize("what", sorted(UNSEEN))
async def test_what_is_said_to_go_unnoticed_does(tampered: Arena, what: str) -> None:
    for seed in range(40):
        found = await tampered.run(seed, what)
        if found.trouble is None:
            return
    pytest.fail(f"{what} is found each time: docs/verify.md need not list it")


def test_the_page_lists_what_may_go_unnoticed_and_no_more() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    listed: dict[str, str] = {}
    for row in rows:
        what, why = row.strip("|").split("|")
        listed[what.strip(" `")] = why.strip()
    assert listed == UNSEEN
