"""An archive says what the database says, and whatever is changed in it is found."""

import asyncio
import fcntl
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_asyncio

from ledger.errors import DamagedArchive, LedgerStopped, SetupProblem
from ledger.facts import genesis as geneses
from ledger.facts.policy import Policy, merge
from ledger.log import decisions as recorded
from ledger.log import merkle, read
from ledger.log.archive import manifest as manifests
from ledger.log.archive.layout import LOCK, MANIFEST, TABLES, Column, Kind, TableName, file_name
from ledger.log.archive.manifest import (
    NOTHING_SIGNED,
    ArchivedFile,
    ArchivedRange,
    Ends,
    Manifest,
)
from ledger.log.archive.parquet import ParquetReading, ParquetWriting
from ledger.log.archive.reading import Archive
from ledger.log.archive.writing import export
from ledger.log.notes import Key
from ledger.replay import archived
from ledger.replay.replay import Wanted, replay, replay_archive
from ledger.replay.report import DIVERGED, INVALID
from ledger.replay.verify import verify
from ledger.units import FleetName, Position
from tests.postgres import Postgres
from tests.replay.archives import KEYS, POSITIONS, Kept, kept_history
from tests.replay.cut_history import FLEET

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


async def test_a_part_of_an_archive_is_replayed_as_that_part_of_the_database_is(
    kept: Kept,
) -> None:
    wanted = Wanted(first=Position(250), through=Position(300))

    found = await replay_archive(kept.archive, wanted=wanted)

    there = await replay(kept.history.connection, kept.history.fleet, wanted=wanted)
    assert found == there
    assert found.diverged is None
    assert found.shown is not None
    assert found.shown.begins_at > 0


async def test_the_rows_of_an_archive_are_those_of_the_database(kept: Kept) -> None:
    archive, connection, fleet = kept.archive, kept.history.connection, kept.history.fleet
    end = archive.manifest.next

    events = [event for page in archive.events(0, end) for event in page]
    decisions = [one for page in archive.decisions(0, 2**40) for one in page]

    there = [one async for page in read.pages(connection, fleet, first=Position(0)) for one in page]
    made = [one async for page in recorded.pages(connection, fleet) for one in page]
    assert (events, decisions) == (there, made)
    assert [one for page in archive.events(100, 300) for one in page] == there[100:300]
    for position in (0, 77, POSITIONS - 1, POSITIONS, end - 1):
        count = await recorded.made_by(connection, fleet, Position(position))
        assert archive.made_by(position) == count


async def test_what_is_exported_again_is_the_same_bytes(kept: Kept, tmp_path: Path) -> None:
    exported = await exported_to(kept, tmp_path / "again")

    one, other = kept.archive.manifest, exported
    assert one.ends == other.ends
    for table in ("events", "decisions"):
        digests = [
            {
                each.first: each.files[table].sha256
                for each in manifest.ranges
                if each.next % POSITIONS == 0 and each.first % POSITIONS == 0
            }
            for manifest in (one, other)
        ]
        same = sorted(digests[0].keys() & digests[1].keys())
        assert same == [0, 2 * POSITIONS]
        assert all(digests[0][first] == digests[1][first] for first in same), table


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from ledger.log import fleets
from ledger.log.archive.writing import export
from ledger.log.notes import Key
from ledger.log.database import connected

url, name, folder, positions, left = sys.argv[1:]
left = int(left)

def renamed(event, _):
    global left
    left -= event == "os.rename"
    if event == "os.rename" and left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with connected(url, None) as connection:
        await export(
            connection,
            await fleets.find(connection, name),
            Path(folder),
            positions=int(positions),
            on_written=lambda _reached, _end: None,
        )

sys.addaudithook(renamed)
asyncio.run(main())
"""
"""An export that kills itself when it is about to give a file its name for the so manieth time."""


async def test_an_export_that_was_killed_goes_on(kept: Kept, tmp_path: Path) -> None:
    """Whatever it was about to name: events, decisions, notes, snapshots or the manifest.

    Only who is killed among the last names of a range leaves files that readers would take for the archive's.
    """
    folder = tmp_path / "cut"
    reached = 0
    left_behind: list[bool] = []
    for place in (1, 3, 6, 12, 3, 8):
        words = (kept.history.url, FLEET, str(folder), str(POSITIONS), str(place))
        killed = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", KILLED, *words], check=False, timeout=60
        )
        assert killed.returncode == -signal.SIGKILL
        if not (folder / MANIFEST).exists():
            assert not reached
            continue
        cut = Archive.open(folder)
        assert reached <= cut.manifest.next < kept.archive.manifest.next
        stray = [name for name in beyond(cut.manifest) if (folder / name).exists()]
        trouble = (await archived.verify(cut, keys=KEYS)).trouble
        told = None if trouble is None else (trouble.trouble, trouble.path)
        assert told == (("file_unexpected", min(stray)) if stray else None)
        left_behind.append(bool(stray))
        reached = cut.manifest.next
    assert reached
    assert set(left_behind) == {False, True}

    again = await exported_to(kept, folder)

    assert again.ends == kept.archive.manifest.ends
    assert {path.name for path in folder.iterdir()} == {MANIFEST, LOCK, *named(again)}
    assert (await archived.verify(Archive.open(folder), keys=KEYS)).trouble is None


@pytest.mark.parametrize(
    "name", ["decisions-9.parquet", "events-0000000000000000000 (copy).parquet", ".some.parquet"]
)
async def test_a_file_that_was_put_beside_those_of_an_archive_is_found(
    kept: Kept, tmp_path: Path, name: str
) -> None:
    """Whoever reads all decisions reads it too."""
    copy = tmp_path / FLEET
    shutil.copytree(kept.folder, copy)
    planted = copy / name
    shutil.copy(copy / kept.archive.manifest.ranges[0].files["decisions"].name, planted)

    report = await archived.report(tmp_path, FLEET)

    assert report.diverged is not None
    assert (report.diverged.trouble, report.diverged.path) == ("file_unexpected", name)
    assert report.exit_code == INVALID
    planted.unlink()
    assert (await archived.report(tmp_path, FLEET)).diverged is None


async def test_what_a_running_export_will_name_in_a_moment_is_no_finding(
    kept: Kept, tmp_path: Path
) -> None:
    copy = tmp_path / FLEET
    shutil.copytree(kept.folder, copy)
    archive = Archive.open(copy)
    coming = copy / file_name("decisions", archive.manifest.next)
    coming.touch()

    with (copy / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        while_it_runs = archived.damage(archive)
        (copy / "decisions-1.parquet").touch()
        other = archived.damage(archive)
        (copy / "decisions-1.parquet").unlink()
    afterwards = archived.damage(archive)

    assert while_it_runs is None
    assert other is not None
    assert other.path == "decisions-1.parquet"
    assert afterwards is not None
    assert afterwards.path == coming.name


async def test_what_was_exported_since_an_archive_was_opened_is_no_finding(
    kept: Kept, tmp_path: Path
) -> None:
    copy = tmp_path / FLEET
    shutil.copytree(kept.folder, copy)
    manifest = kept.archive.manifest
    before = replace(manifest, ranges=manifest.ranges[:-1])

    assert archived.damage(Archive(copy, before)) is None


def named(manifest: Manifest) -> set[str]:
    """The files that a manifest names."""
    return {file.name for one in manifest.ranges for file in one.files.values()}


def beyond(manifest: Manifest) -> list[str]:
    """What the files of the next range are called."""
    return [file_name(table, manifest.next) for table in TABLES]


async def test_an_archive_can_begin_late(kept: Kept, tmp_path: Path) -> None:
    """Its first tree is believed until the first root is met; it is replayed from its first snapshot."""
    await exported_to(kept, tmp_path / "late", first=Position(150))
    late = Archive.open(tmp_path / "late")

    found = await archived.verify(late, keys=KEYS)
    replayed = await replay_archive(late, wanted=Wanted(workers=2))

    whole = await archived.verify(kept.archive)
    assert (found.trouble, found.events) == (None, whole.events)
    assert replayed.diverged is None
    assert replayed.shown is not None
    assert replayed.shown.first > 150
    assert not replayed.shown.proves
    with pytest.raises(SetupProblem, match=f"begins at {whole.events.size} and not at 150"):
        await exported_to(kept, tmp_path / "late", first=Position(150))
    with pytest.raises(SetupProblem, match=rf"cannot begin at 5000; {whole.events.size} events"):
        await exported_to(kept, tmp_path / "later", first=Position(5000))


async def test_a_log_that_is_not_whole_is_not_archived(kept: Kept, tmp_path: Path) -> None:
    connection = kept.history.connection
    change = connection.transaction(isolation="repeatable_read")
    await change.start()
    try:
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(
            "UPDATE ledger.events SET payload = set_byte(payload, 40, 33) WHERE position = 140"
        )
        with pytest.raises(LedgerStopped, match="leaf_mismatch at position 140"):
            await exported_to(kept, tmp_path / "bad")
    finally:
        await change.rollback()


async def test_whatever_byte_is_changed_is_found_and_where(kept: Kept, tmp_path: Path) -> None:
    """A byte of each file, at several places of it; the file is named, and where its rows belong."""
    copy = tmp_path / "copy"
    shutil.copytree(kept.folder, copy)
    luck = Random(1)
    files = {file.name: one for one in kept.archive.manifest.ranges for file in one.files.values()}
    for path in sorted(copy.iterdir()):
        if path.name.startswith("."):
            continue
        whole = path.read_bytes()
        for place in (0, len(whole) - 1, *(luck.randrange(len(whole)) for _ in range(6))):
            changed = bytearray(whole)
            changed[place] ^= 1 << luck.randrange(8)
            path.write_bytes(changed)
            report = await archived.report(tmp_path, FleetName("copy"))
            if path.name != MANIFEST:
                found = archived.damage(Archive.open(copy))
                assert found is not None
                assert (found.trouble, found.path) == ("file_damaged", path.name), place
                one = files[path.name]
                if found.position is not None:
                    assert one.first <= found.position < one.next
            else:
                assert report.diverged is not None
                assert report.diverged.trouble == "manifest_damaged"
        path.write_bytes(whole)
        path.unlink()
        try:
            trouble = archived.damage(Archive.open(copy))
        except DamagedArchive as damaged:
            trouble = archived.told(damaged)
        assert trouble is not None
        assert (trouble.trouble, trouble.path) == ("file_missing", path.name)
        path.write_bytes(whole)
    assert archived.damage(Archive.open(copy)) is None


@pytest.mark.parametrize(
    ("table", "column", "value", "trouble"),
    [
        ("events", "payload", b"{}", "leaf_mismatch"),
        ("events", "subject", "else", "leaf_mismatch"),
        ("events", "recorded_at", 1, "leaf_mismatch"),
        ("events", "leaf", bytes(32), "leaf_mismatch"),
        ("decisions", "record", b"{}", "decision_leaf_mismatch"),
        ("decisions", "subject", "else", "column_differs"),
        ("decisions", "moved", 77, "column_differs"),
        ("checkpoints", "root", bytes(32), "checkpoint_mismatch"),
        ("checkpoints", "note", b"", "checkpoint_mismatch"),
    ],
)
async def test_who_rewrites_file_and_manifest_together_is_found_by_the_rows(
    kept: Kept, tmp_path: Path, table: TableName, column: str, value: object, trouble: str
) -> None:
    copy = tmp_path / FLEET
    shutil.copytree(kept.folder, copy)
    place = 0 if table == "checkpoints" else 3
    where = rewritten(copy, table, place, {column: value})

    report = await archived.report(tmp_path, FLEET, keys=KEYS)

    assert report.diverged is not None
    assert report.diverged.trouble == trouble
    assert report.exit_code == INVALID
    if table == "events":
        assert report.diverged.position == where + place
    if table == "decisions":
        assert report.diverged.decision == where + place
    replayed = await replay_archive(Archive.open(copy), wanted=Wanted(workers=2))
    assert replayed.diverged is not None
    assert (replayed.shown, replayed.exit_code) == (None, INVALID)


FORGED: dict[Kind, object] = {
    "int64": 7,
    "int32": 7,
    "int16": 7,
    "text": "else",
    "word": "else",
    "moment": 7,
    "bytes": b"{}",
    "hash": bytes(32),
}
"""For each kind of column something that no history has there."""


@pytest.mark.parametrize("keys", [(), KEYS])
@pytest.mark.parametrize(
    ("table", "column"),
    [
        (table, column)
        for table, columns in TABLES.items()
        if table != "snapshots"
        for column in columns
    ],
    ids=lambda one: one.name if isinstance(one, Column) else None,
)
async def test_a_forged_value_is_found_in_whatever_column(
    kept: Kept, tmp_path: Path, table: TableName, column: Column, keys: Sequence[Key]
) -> None:
    """The manifest is made to fit. Snapshots are looked at where a replay begins with them."""
    copy = tmp_path / FLEET
    shutil.copytree(kept.folder, copy)
    rewritten(copy, table, 0 if table == "checkpoints" else 1, {column.name: FORGED[column.kind]})

    report = await archived.report(tmp_path, FLEET, keys=keys)

    assert report.diverged is not None
    assert report.exit_code == INVALID


@pytest.mark.parametrize("row", [0, 1, 60, -1])
async def test_a_forged_position_is_found_where_it_is(kept: Kept, tmp_path: Path, row: int) -> None:
    copy = tmp_path / FLEET
    shutil.copytree(kept.folder, copy)
    one = [one for one in kept.archive.manifest.ranges if "events" in one.files][1]
    rewritten(copy, "events", row, {"position": 77})

    report = await archived.report(tmp_path, FLEET)

    assert report.diverged is not None
    place = one.first + row if row >= 0 else one.next + row
    assert (report.diverged.trouble, report.diverged.position) == ("position_missing", place)


async def test_rows_that_fit_one_another_are_found_by_what_was_signed(
    kept: Kept, tmp_path: Path
) -> None:
    """The last events are taken away, files and manifest made to fit: only the signed end tells."""
    copy = tmp_path / FLEET
    shutil.copytree(kept.folder, copy)
    manifest = kept.archive.manifest
    only(copy, replace(manifest, ranges=manifest.ranges[:-1]))
    assert (await archived.report(tmp_path, FLEET, keys=KEYS)).diverged is None, "it is shorter"
    signed = manifest.ranges[-1].signed
    assert signed.events > manifest.ranges[-2].next, "the last end was signed"

    forged = replace(manifest.ranges[-2], signed=signed)
    files = {**forged.files, "checkpoints": manifest.ranges[-1].files["checkpoints"]}
    ranges = (*manifest.ranges[:-2], replace(forged, files=files))
    shutil.copy(kept.folder / files["checkpoints"].name, copy)
    only(copy, replace(manifest, ranges=ranges))

    report = await archived.report(tmp_path, FLEET)
    assert report.diverged is not None
    assert report.diverged.trouble == "checkpoint_mismatch"


async def test_a_decision_that_was_rewritten_from_end_to_end_is_found_by_replaying(
    kept: Kept, tmp_path: Path
) -> None:
    """Record, leaf, tree and manifest fit one another, and nothing was signed: only recomputing tells."""
    copy = tmp_path / FLEET
    shutil.copytree(kept.folder, copy)
    forge_decision(copy, 5)

    verified = await archived.report(tmp_path, FLEET)
    assert verified.diverged is None
    for workers in (1, 2):
        report = await replay_archive(Archive.open(copy), wanted=Wanted(workers=workers))
        assert report.diverged is not None
        assert (report.diverged.trouble, report.diverged.decision) == ("decision_differs", 5)
        assert report.exit_code == DIVERGED


async def exported_to(kept: Kept, folder: Path, *, first: Position | None = None) -> Manifest:
    """Another archive of the same log."""
    exported = await export(
        kept.history.connection,
        kept.history.fleet,
        folder,
        first=first,
        positions=POSITIONS,
        on_written=lambda _reached, _end: None,
    )
    return exported.manifest


def rewritten(folder: Path, table: TableName, row: int, values: dict[str, object]) -> int:
    """Change a row of the second file of a table and make the manifest fit; says where the file begins."""
    archive = Archive.open(folder)
    manifest = archive.manifest
    place, one = [(place, one) for place, one in enumerate(manifest.ranges) if table in one.files][
        1
    ]
    columns = TABLES[table]
    names = [column.name for column in columns]
    path = folder / one.files[table].name
    groups = [list(map(list, rows)) for rows in ParquetReading(path, columns).every(names)]
    for name, value in values.items():
        groups[0][row][names.index(name)] = value
    with ParquetWriting(path, columns) as writing:
        for group in groups:
            writing.write(group)
    files = {**one.files, table: ArchivedFile(path.name, *writing.digested())}
    ranges = list(manifest.ranges)
    ranges[place] = replace(one, files=files)
    manifests.write(folder, replace(manifest, ranges=tuple(ranges)))
    return one.first if table == "events" else one.begins.decisions.size


async def test_nothing_that_a_manifest_says_of_itself_switches_replaying_off(
    kept: Kept, tmp_path: Path
) -> None:
    """Whether a fleet is decided for is known by its name alone."""
    folder = tmp_path / FLEET
    shutil.copytree(kept.folder, folder)
    forge_decision(folder, 2)
    plain = json.loads((folder / MANIFEST).read_bytes())
    plain["decides"] = False
    del plain["digest"]
    plain["digest"] = sha256(_spelled(plain)).hexdigest()
    (folder / MANIFEST).write_bytes(_spelled(plain))

    with pytest.raises(DamagedArchive, match="manifest_damaged"):
        Archive.open(folder)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("genesis", [b"{}", b"[]", b"x"])
async def test_a_genesis_that_cannot_be_read_is_found_by_however_many_workers(
    kept: Kept, tmp_path: Path, genesis: bytes, workers: int
) -> None:
    folder = tmp_path / FLEET
    shutil.copytree(kept.folder, folder)
    manifests.write(folder, replace(Archive.open(folder).manifest, genesis=genesis))

    report = await replay_archive(Archive.open(folder), wanted=Wanted(workers=workers))

    assert report.diverged is not None
    assert report.diverged.trouble == "genesis_mismatch"


def _spelled(plain: dict[str, object]) -> bytes:
    return json.dumps(plain, indent=1, ensure_ascii=False).encode() + b"\n"


def forge_decision(folder: Path, number: int) -> None:
    """Change a record in the first range, and everything that follows from it; nothing was signed."""
    manifest = Archive.open(folder).manifest
    columns = TABLES["decisions"]
    names = [column.name for column in columns]
    ranges: list[ArchivedRange] = []
    frontier = manifest.begins.decisions
    for one in manifest.ranges:
        path = folder / one.files["decisions"].name
        groups = [list(map(list, rows)) for rows in ParquetReading(path, columns).every(names)]
        for row in (row for group in groups for row in group):
            if row[0] == number:
                row[names.index("moved")] += 1
                moved = row[names.index("moved")]
                record = row[-2].replace(b'"moved":%d' % (moved - 1), b'"moved":%d' % moved)
                row[-2:] = [record, merkle.leaf_hash(record)]
        with ParquetWriting(path, columns) as writing:
            for group in groups:
                writing.write(group)
        leaves = [row[-1] for group in groups for row in group]
        before, frontier = frontier, merkle.extend(frontier, leaves).frontier
        files: dict[TableName, ArchivedFile] = {
            table: file for table, file in one.files.items() if table in ("events", "snapshots")
        }
        files["decisions"] = ArchivedFile(path.name, *writing.digested())
        ranges.append(
            replace(
                one,
                begins=Ends(one.begins.events, before),
                ends=Ends(one.ends.events, frontier),
                signed=NOTHING_SIGNED,
                files=files,
            )
        )
    only(folder, replace(manifest, ranges=tuple(ranges)))


def only(folder: Path, manifest: Manifest) -> None:
    """Write a manifest, and take away what it does not name."""
    manifests.write(folder, manifest)
    for path in folder.glob("*.parquet"):
        if path.name not in named(manifest):
            path.unlink()


def otherwise(kept: Kept, folder: Path, **claims: Any) -> Archive:
    """The archive, with a manifest that says something else of the fleet and has a digest that fits."""
    shutil.copytree(kept.folder, folder)
    manifests.write(folder, replace(Archive.open(folder).manifest, **claims))
    return Archive.open(folder)


@pytest.mark.parametrize("change", [{"salt": "other"}, {"revision": 0}])
async def test_a_genesis_that_did_not_decide_is_found(
    kept: Kept, tmp_path: Path, change: dict[str, Any]
) -> None:
    genesis = kept.archive.genesis
    document = geneses.document(replace(genesis, **change))

    found = await archived.verify(otherwise(kept, tmp_path / FLEET, genesis=document))

    assert found.trouble is not None
    assert (found.trouble.trouble, found.trouble.decision) == ("genesis_mismatch", 0)
    assert found.trouble.path == MANIFEST
    assert found.events.size == kept.archive.manifest.next


async def test_another_default_policy_is_found(kept: Kept, tmp_path: Path) -> None:
    genesis = kept.archive.genesis
    policy = merge(genesis.policy, (("disk.alpha", Fraction(1, 3)),), default=Policy())
    document = geneses.document(replace(genesis, policy=policy))

    found = await archived.verify(otherwise(kept, tmp_path / FLEET, genesis=document))

    assert found.trouble is not None
    assert found.trouble.trouble == "genesis_mismatch"


async def test_a_clock_that_the_events_do_not_run_on_is_found(kept: Kept, tmp_path: Path) -> None:
    assert kept.archive.manifest.clock == "event"

    found = await archived.verify(otherwise(kept, tmp_path / FLEET, clock="wall"))

    assert found.trouble is not None
    assert found.trouble.trouble == "clock_mismatch"
    assert (found.trouble.recorded, found.trouble.recomputed) == ("wall", "event")
