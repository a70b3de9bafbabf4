"""What is archived can be detached: proofs, verification and replay go on with the archive beside it."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest
import pytest_asyncio

from ledger.errors import DamagedArchive, LedgerStopped, SetupProblem
from ledger.log import detached, fleets, partitions, proving, stops
from ledger.log.archive.reading import Archive
from ledger.log.archive.writing import export
from ledger.log.database import connect
from ledger.log.fleets import Fleet
from ledger.log.notes import COSIGNATURE
from ledger.log.proofs import verify as verify_proof
from ledger.log.sealer import Sealer
from ledger.log.signed import Signed, memory
from ledger.log.signing_keys import origin, signing
from ledger.log.trust import only
from ledger.log.witness_server import WitnessServer
from ledger.log.witnesses import Witness
from ledger.replay import audit
from ledger.replay.detaching import require_archived
from ledger.replay.replay import Wanted, replay
from ledger.replay.report import Report
from ledger.units import FleetName, Incarnation, Position
from tests.postgres import Postgres
from tests.replay.archives import KEYS, POSITIONS, SITE, taken_history
from tests.replay.cut_history import FLEET

PARTITION = 256
"""Positions of a partition here, so that a short history leaves one behind."""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A decided, signed and exported log whose first partition everybody has left behind."""

    postgres: Postgres
    """Its template is that log."""
    folder: Path
    """Of archives, and of what the signer remembers."""
    before: list[Report]
    """What verifying deeply found of it."""

    @asynccontextmanager
    async def log(self) -> AsyncIterator[tuple[str, asyncpg.Connection, Fleet]]:
        """A copy of the log that nobody else has."""
        async with self.postgres.database() as url:
            connection = await connect(url, None)
            fleet = await fleets.find(connection, FLEET)
            assert fleet is not None
            yield url, connection, fleet
            await connection.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def prepared(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Prepared]:
    folder = tmp_path_factory.mktemp("prepared")
    async with postgres.database() as url:
        connection = await connect(url, None)
        await small_partitions(connection)
        await taken_history(url, connection, folder, events=360)
        fleet = await fleets.find(connection, FLEET)
        assert fleet is not None
        await export(
            connection,
            fleet,
            folder / "archive" / FLEET,
            positions=POSITIONS,
            on_written=lambda _reached, _end: None,
        )
        before = await verified(connection, None)
        await connection.close()
        yield Prepared(Postgres(postgres.url, url.rpartition("/")[2]), folder, before)


async def small_partitions(connection: asyncpg.Connection) -> None:
    """As if a partition held so few positions."""
    await connection.execute(
        "CREATE OR REPLACE FUNCTION ledger.positions_per_partition() RETURNS bigint"
        f" LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT {PARTITION}::bigint'"
    )
    for name in ("events_000000", "events_000001"):
        await connection.execute(f"ALTER TABLE ledger.events DETACH PARTITION ledger.{name}")
        await connection.execute(f"DROP TABLE ledger.{name}")
    await connection.execute("SELECT ledger.make_partition(o) FROM generate_series(0, 3) AS o")


async def verified(connection: asyncpg.Connection, folder: Path | None) -> list[Report]:
    wanted = await audit.every(connection)
    return [
        report
        async for report in audit.all_verified(
            connection, wanted, deep=True, keys=KEYS, detached=folder
        )
    ]


async def detach(connection: asyncpg.Connection, folder: Path) -> list[FleetName]:
    names = await require_archived(connection, await partitions.reach(connection, 0), folder)
    await partitions.detach(connection, 0)
    return names


async def test_after_detaching_everything_is_found_to_be_as_before(prepared: Prepared) -> None:
    folder = prepared.folder / "archive"
    async with prepared.log() as (url, connection, fleet):
        assert all(report.diverged is None for report in prepared.before)
        assert await detach(connection, folder) == [FLEET]

        assert await connection.fetchval("SELECT min(position) FROM ledger.events") == PARTITION
        assert await verified(connection, folder) == prepared.before
        archive = await detached.archive_of(connection, fleet, folder)
        for workers in (1, 3):
            wanted = Wanted(workers=workers)
            report = await replay(connection, fleet, url=url, wanted=wanted, archive=archive)
            assert report.diverged is None
            assert report.shown is not None
            assert (report.shown.proves, report.shown.left_out) == (True, ())


async def test_events_that_are_there_are_not_believed_to_have_been_detached(
    prepared: Prepared,
) -> None:
    """Who reads them from the archive would not look at what people are shown."""
    async with prepared.log() as (_, connection, fleet):
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(
            "UPDATE ledger.events SET subject = 'another' WHERE fleet = $1 AND position = 9",
            fleet.number,
        )
        await connection.execute(
            "INSERT INTO ledger.archived_ranges (fleet, first, next, partition)"
            " VALUES ($1, 7, 20, 'events_000000')",
            fleet.number,
        )
        found = [one.diverged for one in await verified(connection, prepared.folder / "archive")]

    assert found[0] is not None
    assert (found[0].trouble, found[0].position, found[0].path) == ("row_unexpected", 7, "events")


async def test_an_event_that_was_detached_can_be_proven(prepared: Prepared) -> None:
    folder = prepared.folder / "archive"
    async with prepared.log() as (_, connection, fleet):
        before = await proving.prove(connection, fleet, "events", 3)
        await detach(connection, folder)
        archive = await detached.archive_of(connection, fleet, folder)

        for index in (0, 3, PARTITION - 1, PARTITION, 300):
            proof = await proving.prove(connection, fleet, "events", index, archive=archive)
            shown = verify_proof(proof, proof.extra, only(*KEYS))
            assert shown.index == index
            if index == 3:
                assert proof == before
        with pytest.raises(
            SetupProblem, match=r"positions 0 to 255 were detached; .* --detached DIR"
        ):
            await proving.prove(connection, fleet, "events", 3)


async def test_without_its_archive_what_was_detached_is_asked_for_by_name(
    prepared: Prepared,
) -> None:
    async with prepared.log() as (_, connection, fleet):
        await detach(connection, prepared.folder / "archive")

        with pytest.raises(SetupProblem, match="positions 0 to 255 were detached"):
            await verified(connection, None)
        with pytest.raises(SetupProblem, match="positions 0 to 255 were detached"):
            await replay(connection, fleet)


async def test_the_fleet_goes_on_behind_what_was_detached(
    prepared: Prepared, tmp_path: Path
) -> None:
    """It is decided, signed and exported on, by processes that begin anew."""
    folder = tmp_path / "archive"
    shutil.copytree(prepared.folder / "archive", folder)
    shutil.copy(prepared.folder / "signed.json", tmp_path)
    async with prepared.log() as (url, connection, fleet):
        await detach(connection, folder)
        await taken_history(url, connection, tmp_path, events=420, first=360)
        with memory(tmp_path / "signed.json") as remembered:
            sealer = Sealer(SITE, remembered)
            await sealer.round(connection)
            assert not sealer.stopped

        exported = await export(
            connection, fleet, folder / FLEET, on_written=lambda _reached, _end: None
        )

        assert exported.manifest.next > exported.before > PARTITION
        (report, *_) = await verified(connection, folder)
        assert report.diverged is None
        assert report.events == exported.manifest.next


async def test_who_is_behind_what_was_detached_is_shown_it_from_the_archive(
    prepared: Prepared, tmp_path: Path
) -> None:
    """A witness and a memory that end in it: without the archive neither keeps another fleet waiting."""
    memories = {name: tmp_path / f"{name}.json" for name in ("signed", "behind", "witness")}
    shutil.copy(prepared.folder / "signed.json", memories["signed"])
    async with prepared.log() as (_, connection, fleet):
        old = await connection.fetchrow(
            "SELECT size, root FROM ledger.checkpoints WHERE tree = 'events' AND size < $1"
            " ORDER BY size DESC LIMIT 1",
            PARTITION,
        )
        assert old is not None
        name = origin(SITE.name, FLEET, Incarnation(1), "events")
        with memory(memories["witness"]) as seen, memory(memories["behind"]) as remembered:
            seen.remember({name: Signed(*old)})
            remembered.remember({name: Signed(*old)})
        await detach(connection, prepared.folder / "archive")
        for detached_to in (None, prepared.folder / "archive"):
            await connection.execute("SET session_replication_role = replica")
            await connection.execute(
                "DELETE FROM ledger.checkpoints WHERE size ="
                " (SELECT max(size) FROM ledger.checkpoints WHERE tree = 'events')"
            )
            await connection.execute("RESET session_replication_role")
            cosigning = signing(SITE.seeds[0], "witness.example", type_=COSIGNATURE)
            with (
                memory(memories["witness"]) as seen,
                WitnessServer(
                    ("127.0.0.1", 0), signer=cosigning, logs=KEYS[:1], memory=seen
                ) as server,
                memory(memories["signed"]) as remembered,
            ):
                asked = [Witness(server.url, cosigning.key)]
                sealer = Sealer(SITE, remembered, (), asked, None, detached_to)
                seals = await sealer.round(connection)
            assert not sealer.stopped
            (signed,) = [seal for seal in seals if seal.tree == "events"]
            vouched = len(signed.note.signatures) - 1
            assert vouched == (detached_to is not None)

            with memory(memories["behind"]) as remembered:
                sealer = Sealer(SITE, remembered, detached=detached_to)
                await sealer.round(connection)
            assert (not sealer.stopped) == (detached_to is not None)
            if detached_to is None:
                assert "`prove`, `seal` and `recover` read" in str(sealer.stopped[FLEET])
        assert await stops.standing(connection, fleet) == ()


NEEDED = {
    "DELETE FROM ledger.snapshot_parts": "no snapshot behind position 255",
    "UPDATE ledger.snapshot_parts SET content = set_byte(content, 99, 1 # get_byte(content, 99))": (
        "no snapshot behind position 255"
    ),
    "UPDATE ledger.snapshots SET layout = 99": "no snapshot behind position 255",
    "DELETE FROM ledger.checkpoints WHERE size > 250": "the last end that was signed is",
    "UPDATE ledger.heads SET frontier = set_byte(frontier, 1, 1 # get_byte(frontier, 1))"
    " WHERE size = (SELECT max(size) FROM ledger.heads WHERE tree = 'events')": (
        "not the archive of this log"
    ),
}
"""What is done to a log of which the partition could go, and why it cannot go then."""


async def test_what_somebody_still_needs_is_not_detached(prepared: Prepared) -> None:
    async with prepared.log() as (_, connection, _fleet):
        await connection.execute("SET session_replication_role = replica")
        for statement, why in NEEDED.items():
            undone = connection.transaction(isolation="repeatable_read")
            await undone.start()
            await connection.execute(statement)
            with pytest.raises(LedgerStopped, match=why):
                await detach(connection, prepared.folder / "archive")
            await undone.rollback()


async def test_what_is_not_archived_is_not_detached(prepared: Prepared, tmp_path: Path) -> None:
    async with prepared.log() as (_, connection, fleet):
        with pytest.raises(LedgerStopped, match=r"demo: .*file_missing.*ledger export"):
            await detach(connection, tmp_path)
        for first, through, why in (
            (None, Position(200), "positions 0 to 255 are needed, there are 0 to 200"),
            (Position(10), None, "positions 0 to 255 are needed, there are 10 to"),
        ):
            folder = tmp_path / f"{first}"
            await export(
                connection,
                fleet,
                folder / FLEET,
                first=first,
                through=through,
                positions=POSITIONS,
                on_written=lambda _reached, _end: None,
            )
            with pytest.raises(LedgerStopped, match=why):
                await detach(connection, folder)


async def test_an_archive_that_was_tampered_with_is_none(
    prepared: Prepared, tmp_path: Path
) -> None:
    folder = tmp_path / "archive"
    shutil.copytree(prepared.folder / "archive", folder)
    file = sorted((folder / FLEET).glob("events-*"))[1]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    async with prepared.log() as (_, connection, fleet):
        honest = file.read_bytes()
        file.write_bytes(content)
        with pytest.raises(LedgerStopped, match=f"file_damaged at position .* {file.name}"):
            await detach(connection, folder)
        file.write_bytes(honest)
        await detach(connection, folder)

        file.write_bytes(content)
        archive = Archive.open(folder / FLEET)
        reports = [
            (await verified(connection, folder))[0],
            await replay(connection, fleet, archive=archive),
        ]
        for report in reports:
            assert report.diverged is not None
            assert (report.diverged.trouble, report.diverged.path) == ("file_damaged", file.name)
        with pytest.raises(DamagedArchive, match="file_damaged"):
            await proving.prove(connection, fleet, "events", POSITIONS, archive=archive)


async def test_the_archive_of_another_log_is_not_taken_for_this_one(
    prepared: Prepared, postgres: Postgres, tmp_path: Path
) -> None:
    """The same fleet by name, with another history that is whole."""
    async with postgres.database() as url:
        other = await connect(url, None)
        await taken_history(url, other, tmp_path, events=360, seed=6)
        fleet = await fleets.find(other, FLEET)
        assert fleet is not None
        await export(other, fleet, tmp_path / FLEET, on_written=lambda _reached, _end: None)
        await other.close()
    async with prepared.log() as (_, connection, _fleet):
        with pytest.raises(LedgerStopped, match=r"not the archive of this log|of a longer log"):
            await detach(connection, tmp_path)
        with pytest.raises(LedgerStopped, match="not of this log"):
            await export(connection, _fleet, tmp_path / FLEET, on_written=lambda _r, _e: None)
