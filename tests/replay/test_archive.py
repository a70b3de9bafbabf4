"""An archive says what the database says, and whatever is changed in it is found."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from ledger.replay import archived
from ledger.replay.replay import Wanted, replay, replay_archive
from ledger.replay.verify import verify
from tests.postgres import Postgres
from tests.replay.archives import KEYS, Kept, kept_history

EVENTS = 400

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kept(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kept]:
    async with kept_history(postgres, tmp_path_factory.mktemp("kept"), EVENTS) as made:
        yield made


async def test_verifying_an_archive_comes_to_the_roots_of_the_database(kept: Kept) -> None:
    found = await archived.verify(kept.archive, keys=KEYS)

    there = await verify(kept.history.connection, kept.history.fleet, keys=KEYS)
    assert found == there
    assert found.trouble is None


async def test_replaying_an_archive_reports_what_replaying_the_database_reports(
    kept: Kept,
) -> None:
    for workers in (1, 3):
        wanted = Wanted(workers=workers)
        found = await replay_archive(kept.archive, wanted=wanted)
        there = await replay(
            kept.history.connection, kept.history.fleet, url=kept.history.url, wanted=wanted
        )
        assert found == there
        assert found.diverged is None
        assert found.shown is not None
        assert (found.shown.segments, found.shown.proves) == (workers, True)
