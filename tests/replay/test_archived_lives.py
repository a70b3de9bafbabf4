"""Archives of logs that have had several lives, or were signed for in rounds with nothing new in one tree."""

import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import pytest_asyncio

from ledger.errors import LedgerStopped
from ledger.log import lines, merkle
from ledger.log.archive import manifest as manifests
from ledger.log.archive.reading import Archive
from ledger.log.archive.writing import export
from ledger.log.database import Connection, connected
from ledger.log.notes import Key, parse_note
from ledger.log.signing_keys import Sealed, origin, signing
from ledger.replay import archived, verify
from ledger.replay.replay import Wanted, replay_archive
from ledger.replay.report import Report
from ledger.units import FleetName, Incarnation, Position
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line
from tests.postgres import Postgres
from tests.restored_logs import SITE, by_the_signer, grow, recovered, sealed, the_fleet
from tests.restoring import Restorable, restorable

NAME = FleetName("test")
KEYS: list[Key] = [
    signing(SITE.seeds[0], origin(SITE.name, NAME, Incarnation(life), tree)).key
    for life in (1, 2, 3)
    for tree in get_args(Sealed)
]


@pytest_asyncio.fixture
async def log(postgres: Postgres) -> AsyncIterator[Restorable]:
    """Two clusters and four workloads, decided."""
    async with restorable(postgres) as database:
        await grow(database, 1, 4)
        yield database


async def say_nothing_new(log: Restorable) -> None:
    """Events on which nothing is decided."""
    async with connected(log.url, "ledger_writer") as connection:
        told = [json.loads(cluster_line(number)) for number in (1, 2)]
        again = [json.dumps(one | {"id": f"again-{one['id']}"}) for one in told]
        await lines.ingest(connection, [one.encode() for one in again])
    await decide_all(log.url)


async def exported(connection: Connection, folder: Path, *, first: int | None = None) -> Archive:
    await export(
        connection,
        await the_fleet(connection),
        folder / NAME,
        first=None if first is None else Position(first),
        on_written=lambda _reached, _end: None,
    )
    return Archive.open(folder / NAME)


async def verified(folder: Path) -> Report:
    return await archived.report(folder, NAME, keys=KEYS)


async def test_an_archive_that_begins_late_verifies_wherever_rounds_had_nothing_new(
    log: Restorable, tmp_path: Path
) -> None:
    """The last note of the decisions is of a round before the beginning."""
    assert await sealed(log, tmp_path) is None
    await say_nothing_new(log)
    assert await sealed(log, tmp_path) is None
    async with connected(log.url, None) as connection:
        for first in range(8):
            folder = tmp_path / f"from-{first}"
            await exported(connection, folder, first=first)
            assert (await verified(folder)).diverged is None, first


async def test_an_archive_goes_through_lives_with_all_that_was_signed_in_each(
    log: Restorable, tmp_path: Path
) -> None:
    """Nothing is decided in the second life: its note of the decisions is of the same size."""
    archive = tmp_path / "archive"
    assert await sealed(log, tmp_path) is None
    async with connected(log.url, None) as connection:
        await exported(connection, archive)
    await recovered(log, by_the_signer(tmp_path))
    await decide_all(log.url)
    assert await sealed(log, tmp_path) is None
    async with connected(log.url, None) as connection:
        await exported(connection, archive)
        await recovered(log, by_the_signer(tmp_path))
        await grow(log, 5, 2)
        assert await sealed(log, tmp_path) is None
        found = await exported(connection, archive)
        report = await verify.report(connection, await the_fleet(connection), keys=KEYS)

    signed = [(one.incarnation, one.size) for notes in found.notes("decisions") for one in notes]
    assert signed == [(1, 4), (2, 4), (3, 6)]
    assert report.diverged is None
    assert await verified(archive) == report
    assert (await replay_archive(found, wanted=Wanted(workers=1))).diverged is None
    async with connected(log.url, None) as connection:
        for first in range(1, 10):
            late = tmp_path / f"from-{first}"
            await exported(connection, late, first=first)
            assert (await verified(late)).diverged is None, first

    # An end that was signed in a later life is looked for beside that of an earlier one.
    async with connected(log.url, None) as connection:
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(
            "DELETE FROM ledger.checkpoints WHERE tree = 'decisions' AND incarnation = 2"
        )
        trouble = (await verify.report(connection, await the_fleet(connection))).diverged
    assert trouble is not None
    assert (trouble.trouble, trouble.decision) == ("checkpoint_mismatch", 4)


async def test_an_archive_that_goes_beyond_the_point_stays_good_and_is_never_continued(
    log: Restorable, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    await restored(log, tmp_path, archived=archive)
    await recovered(log, by_the_signer(tmp_path))
    await grow(log, 5, 4)

    async with connected(log.url, None) as connection:
        with pytest.raises(LedgerStopped, match="not of this log"):
            await exported(connection, archive)
    assert (await verified(archive)).diverged is None


async def restored(log: Restorable, folder: Path, *, archived: Path) -> None:
    """To where six events were signed for; nine were, and archived."""
    assert await sealed(log, folder) is None
    backup = await log.back_up()
    await grow(log, 5, 3)
    assert await sealed(log, folder) is None
    async with connected(log.url, None) as connection:
        await exported(connection, archived)
    await log.restore(backup)


async def test_lives_that_the_manifest_makes_up_are_found(log: Restorable, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    await recovered(log, by_the_signer(tmp_path))
    await decide_all(log.url)
    async with connected(log.url, None) as connection:
        found = await exported(connection, archive)
    assert found.manifest.incarnations == ((1, 0), (2, 6))

    for told, position in [
        (((1, 0), (2, 3)), 3),
        (((1, 0),), 6),
        (((1, 0), (2, 6), (3, 6)), 6),
    ]:
        manifests.write(archive / NAME, replace(found.manifest, incarnations=told))
        trouble = (await verified(archive)).diverged
        assert trouble is not None
        assert (trouble.trouble, trouble.position) == ("incarnation_mismatch", position)
    manifests.write(archive / NAME, replace(found.manifest, incarnations=()))
    trouble = (await verified(archive)).diverged
    assert trouble is not None
    assert trouble.trouble == "manifest_damaged"


@pytest.mark.parametrize(
    ("word", "instead", "position"),
    [
        ("began 6 ", "began 5 ", 5),
        ("began 6 .*", f"began 6 {b64encode(bytes(32)).decode()}", 6),
        ("/events 6 ", "/events 7 ", 6),
        ("after .*\n", "", 6),
    ],
)
async def test_a_note_that_says_otherwise_how_a_life_began_is_found(
    log: Restorable, tmp_path: Path, word: str, instead: str, position: int
) -> None:
    """Whoever signed it: the tree and the first event of the life say how it was."""
    assert await sealed(log, tmp_path) is None
    await recovered(log, by_the_signer(tmp_path))
    await decide_all(log.url)
    assert await sealed(log, tmp_path) is None
    async with connected(log.url, None) as connection:
        fleet = await the_fleet(connection)
        note = await connection.fetchval(
            "SELECT note FROM ledger.checkpoints WHERE tree = 'both' AND incarnation = 2"
        )
        text = re.sub(word, instead, parse_note(note).text)
        assert text != parse_note(note).text
        name = origin(SITE.name, NAME, Incarnation(2), "both")
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(
            "UPDATE ledger.checkpoints SET note = $1, root = $2"
            " WHERE tree = 'both' AND incarnation = 2",
            SITE.sign(name, text).spelled,
            merkle.leaf_hash(text.encode()),
        )
        await exported(connection, tmp_path / "archive")
        reports = [
            await verify.report(connection, fleet, keys=KEYS),
            await verified(tmp_path / "archive"),
        ]

    for report in reports:
        assert report.diverged is not None
        assert (report.diverged.trouble, report.diverged.position) == (
            "checkpoint_mismatch",
            position,
        )
