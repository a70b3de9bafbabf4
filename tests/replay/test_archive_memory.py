"""Reading an archive takes as much memory however long it is: each size in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from ledger.facts import genesis
from ledger.log import merkle
from ledger.log.archive import manifest as manifests
from ledger.log.archive.layout import RANGE, TABLES, TableName, file_name
from ledger.log.archive.manifest import (
    NOTHING_SIGNED,
    ArchivedFile,
    ArchivedRange,
    Ends,
    Manifest,
)
from ledger.log.archive.parquet import ParquetWriting
from ledger.log.leaf import stored_leaf
from ledger.log.read import StoredEvent
from ledger.units import FleetName

SMALL, LARGE = 2, 10
"""Ranges: 131,072 and 655,360 events."""

MOST_MORE = 48 * 1024
"""Kibibytes: less than a tenth of the 512 MiB of payloads that the larger one has more."""

MEASURE = """
import asyncio, resource, sys
from pathlib import Path
from ledger.log.archive.reading import Archive
from ledger.replay import archived
found = asyncio.run(archived.verify(Archive.open(Path(sys.argv[1]))))
assert found.trouble is None, found.trouble
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def invented(folder: Path, ranges: int) -> None:
    """An archive of a fleet that decides nothing, with a kilobyte of payload an event."""
    fleet = FleetName("_ledger")
    folder.mkdir()
    document = genesis.document(genesis.born(fleet, salt=None, revision=1))
    empty = Ends(merkle.EMPTY, merkle.EMPTY)
    made = Manifest(fleet, "wall", document, ((1, 0),), empty, NOTHING_SIGNED)
    for place in range(ranges):
        first, frontier = place * RANGE, made.ends.events
        name = file_name("events", first)
        with ParquetWriting(folder / name, TABLES["events"]) as writing:
            for begins in range(first, first + RANGE, 4096):
                rows = [event(fleet, position) for position in range(begins, begins + 4096)]
                frontier = merkle.extend(frontier, [row.leaf for row in rows]).frontier
                writing.write(rows)
        files: dict[TableName, ArchivedFile] = {"events": ArchivedFile(name, *writing.digested())}
        ends = Ends(frontier, merkle.EMPTY)
        made = manifests.with_range(
            made, ArchivedRange(made.ends, ends, first + RANGE - 1, NOTHING_SIGNED, files)
        )
    manifests.write(folder, made)


def event(fleet: FleetName, position: int) -> StoredEvent:
    payload = b'{"n":%d,"x":"%s"}' % (position, b"%08d" % position * 120)
    at = ("file", None, None, position)
    said = ("source", str(position), "type", "subject")
    without = StoredEvent(position, 1, position, None, 1, *at, *said, payload, b"")
    return without._replace(leaf=stored_leaf(fleet, without))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_an_archive_five_times_as_long_takes_no_more_memory(tmp_path: Path) -> None:
    taken: list[int] = []
    for ranges in (SMALL, LARGE):
        folder = tmp_path / str(ranges)
        invented(folder, ranges)
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(folder)], capture_output=True, text=True, check=True
        )
        taken.append(int(done.stdout))

    assert taken[1] - taken[0] < MOST_MORE, taken
