"""A log that went on in its next life is audited as one history, from wherever in it an audit begins."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from ledger.log import detached, fleets, lines, partitions, recovery
from ledger.log.archive.reading import Archive
from ledger.log.archive.writing import export
from ledger.log.database import connect
from ledger.log.fleets import Fleet
from ledger.log.signing_keys import origin, signing
from ledger.log.snapshots import Described, newest
from ledger.replay import audit
from ledger.replay.detaching import require_archived
from ledger.replay.replay import Wanted, replay, replay_archive
from ledger.units import LEDGER_FLEET, Incarnation, Position
from tests.postgres import Postgres
from tests.replay.archives import KEYS, POSITIONS, SITE, taken_history
from tests.replay.cut_history import FLEET
from tests.replay.test_detaching import PARTITION, small_partitions
from tests.restored_logs import by_the_signer

BEFORE, ALL = 270, 420
"""Events that are taken in the first life, and in both."""

LATER_KEYS = [
    signing(SITE.seeds[0], origin(SITE.name, FLEET, Incarnation(2), tree)).key
    for tree in ("events", "decisions", "both")
]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True, slots=True)
class Lived:
    """A log of two lives with snapshots in each, and its archives."""

    url: str
    connection: asyncpg.Connection
    fleet: Fleet
    begins: int
    """Where the second life does."""
    folder: Path
    """Of the archive of all of it; it was begun in the first life."""
    later: Path
    """Of the archive of the second life alone."""

    async def snapshots(self) -> list[Described]:
        """Those in the database, in the order of the log."""
        return [one.described for one in reversed(await newest(self.connection, self.fleet))]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lived(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Lived]:
    folder = tmp_path_factory.mktemp("lived")
    async with postgres.database() as url:
        connection = await connect(url, None)
        await small_partitions(connection)
        await taken_history(url, connection, folder, events=BEFORE)
        fleet = await fleets.find(connection, FLEET)
        assert fleet is not None
        await exported(connection, fleet, folder / "archive" / FLEET)

        found = await recovery.assess(connection, fleet, by_the_signer(folder))
        await recovery.begin(connection, found, why="a disk was lost", by="anna")
        await taken_history(url, connection, folder, events=ALL, first=BEFORE)
        begins = await connection.fetchval(
            "SELECT from_size FROM ledger.incarnations WHERE incarnation = 2"
        )
        await exported(connection, fleet, folder / "archive" / FLEET)
        await exported(connection, fleet, folder / "later" / FLEET, first=begins)
        # The ledger's own events leave the partition behind, too.
        await lines.ingest(connection, [b"{}" for _ in range(PARTITION)])
        own = await fleets.find(connection, LEDGER_FLEET)
        assert own is not None
        await exported(connection, own, folder / "archive" / LEDGER_FLEET)

        made = Lived(url, connection, fleet, begins, folder / "archive", folder / "later")
        assert {one.incarnation for one in await made.snapshots()} == {1, 2}
        yield made
        await connection.close()


async def exported(
    connection: asyncpg.Connection, fleet: Fleet, folder: Path, *, first: int | None = None
) -> None:
    await export(
        connection,
        fleet,
        folder,
        first=None if first is None else Position(first),
        positions=POSITIONS,
        on_written=lambda _reached, _end: None,
    )


@pytest.mark.parametrize(
    "wanted",
    [Wanted(workers=1), Wanted(workers=2), Wanted(workers=4), Wanted(checks_snapshots=True)],
    ids=["by one", "by two", "by four", "with every snapshot"],
)
async def test_both_lives_are_recomputed_by_any_number_of_workers(
    lived: Lived, wanted: Wanted
) -> None:
    archive = Archive.open(lived.folder / FLEET)
    for report, kept in (
        (
            await replay(lived.connection, lived.fleet, url=lived.url, wanted=wanted),
            await lived.snapshots(),
        ),
        (
            await replay_archive(archive, wanted=wanted),
            [one.described for one in archive.snapshots()],
        ),
    ):
        assert report.diverged is None
        assert report.shown is not None
        assert (report.shown.left_out, report.shown.proves) == ((), True)
        if wanted.checks_snapshots:
            within = [one for one in kept if one.through < report.decided_through]
            assert report.shown.segments == len(within) + 1
        else:
            assert min(2, wanted.workers) <= report.shown.segments <= wanted.workers


async def test_a_range_begins_with_the_snapshot_before_it_in_whichever_life_that_is(
    lived: Lived,
) -> None:
    archive = Archive.open(lived.folder / FLEET)
    *before_the_end, _ = await lived.snapshots()
    of_each_life = {one.incarnation: one for one in before_the_end}
    assert set(of_each_life) == {1, 2}
    for one in of_each_life.values():
        wanted = Wanted(first=Position(one.through + 1), through=Position(one.through + 30))
        report = await replay(lived.connection, lived.fleet, wanted=wanted)
        assert report.diverged is None
        assert report.shown is not None
        assert (report.shown.begins_at, report.shown.left_out) == (one.through + 1, ())
        assert await replay_archive(archive, wanted=wanted) == report


async def test_an_archive_of_the_later_life_begins_with_the_first_snapshot_in_it(
    lived: Lived,
) -> None:
    archive = Archive.open(lived.later / FLEET)

    report = await replay_archive(archive, wanted=Wanted(workers=2))

    assert report.diverged is None
    assert report.shown is not None
    first = min(one.described.through for one in archive.snapshots())
    assert lived.begins <= first
    assert (report.shown.begins_at, report.shown.left_out) == (first + 1, ())


async def test_what_is_derived_is_whole_in_both_lives_and_signed_in_each(lived: Lived) -> None:
    for detached_to in (None, lived.folder):
        reports = [
            report
            async for report in audit.all_verified(
                lived.connection,
                await audit.every(lived.connection),
                deep=True,
                keys=[*KEYS, *LATER_KEYS],
                detached=detached_to,
            )
        ]
        assert [report.diverged for report in reports] == [None, None]


async def test_the_first_life_can_be_detached_and_is_replayed_from_the_archive(
    lived: Lived,
) -> None:
    """The last test of the module: what is detached stays away."""
    before = await replay(lived.connection, lived.fleet, url=lived.url, wanted=Wanted(workers=2))
    positions = await partitions.reach(lived.connection, 0)
    assert positions.stop == PARTITION <= lived.begins
    assert await require_archived(lived.connection, positions, lived.folder) == [
        LEDGER_FLEET,
        FLEET,
    ]
    await partitions.detach(lived.connection, 0)

    archive = await detached.archive_of(lived.connection, lived.fleet, lived.folder)
    for wanted in (Wanted(workers=2), Wanted(first=Position(10)), Wanted(checks_snapshots=True)):
        report = await replay(
            lived.connection, lived.fleet, url=lived.url, wanted=wanted, archive=archive
        )
        assert report.diverged is None
        if wanted.workers == 2:
            assert report == before


async def test_what_was_so_at_a_position_was_so_in_its_own_life(lived: Lived) -> None:
    lives = "SELECT incarnation FROM ledger_api.fleets_as_of($1, $2)"

    assert await lived.connection.fetchval(lives, FLEET, lived.begins - 1) == 1
    assert await lived.connection.fetchval(lives, FLEET, lived.begins) == 2
