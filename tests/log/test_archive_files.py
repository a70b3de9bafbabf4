"""Rows that go into a file of an archive come out as they were, and a manifest is read as it was written."""

import resource
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import DamagedArchive, SetupProblem
from ledger.log import merkle
from ledger.log.archive import manifest as manifests
from ledger.log.archive.layout import MANIFEST, TABLES, Column, TableName
from ledger.log.archive.manifest import (
    NOTHING_SIGNED,
    ArchivedFile,
    ArchivedRange,
    Ends,
    Manifest,
    SignedRound,
    with_range,
)
from ledger.log.archive.parquet import ParquetReading, ParquetWriting, digest
from ledger.units import FleetName

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SOME = settings(max_examples=25, deadline=None)
"""Each writes files and waits for the disk."""

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "moment": st.integers(-(2**63), 2**63 - 1),
    "text": TEXTS,
    "word": TEXTS,
    "bytes": st.binary(max_size=50),
    "hash": st.binary(min_size=32, max_size=32),
}


def value(column: Column) -> st.SearchStrategy[Any]:
    told = KINDS[column.kind]
    return st.none() | told if column.nullable else told


def groups(table: TableName) -> st.SearchStrategy[list[list[tuple[Any, ...]]]]:
    """Some row groups of a table."""
    row = st.tuples(*map(value, TABLES[table]))
    return st.lists(st.lists(row, min_size=1, max_size=5), min_size=1, max_size=4)


def written(
    path: Path, table: TableName, told: Sequence[Sequence[Sequence[Any]]]
) -> ParquetWriting:
    with ParquetWriting(path, TABLES[table]) as writing:
        for rows in told:
            writing.write(rows)
    return writing


@pytest.mark.parametrize("table", sorted(TABLES))
@SOME
@given(data=st.data())
def test_rows_come_out_as_they_went_in(
    table: TableName, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    told = data.draw(groups(table))
    folder = tmp_path_factory.mktemp("rows")
    names = [column.name for column in TABLES[table]]

    writing = written(folder / "one.parquet", table, told)

    reading = ParquetReading(folder / "one.parquet", TABLES[table])
    assert list(reading.every(names)) == told
    assert reading.groups == [len(rows) for rows in told]
    reading.close()
    again = written(folder / "two.parquet", table, told)
    assert writing.digested() == again.digested(), "the same rows become the same bytes"
    assert writing.digested().rows == sum(map(len, told))


def test_what_is_no_file_of_the_table_is_damaged(tmp_path: Path) -> None:
    row = tuple(b"x" * 32 if one.kind == "hash" else None for one in TABLES["checkpoints"])
    told = [("events", 1, 2, row[3], b"note")]
    path = tmp_path / "one.parquet"
    written(path, "checkpoints", [told])
    with pytest.raises(DamagedArchive, match="other columns"):
        ParquetReading(path, TABLES["events"])
    whole = path.read_bytes()
    for content in (b"", b"PAR1", whole[:-5], bytes(len(whole))):
        path.write_bytes(content)
        with pytest.raises(DamagedArchive, match="file_damaged"):
            ParquetReading(path, TABLES["checkpoints"])
    path.unlink()
    with pytest.raises(DamagedArchive, match="file_missing"):
        ParquetReading(path, TABLES["checkpoints"])


def test_what_may_not_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    """The process has no file left to open: nothing is wrong with the archive."""
    path = tmp_path / "notes"
    written(path, "checkpoints", [[("events", 1, 2, bytes(32), b"note")]])
    manifests.write(
        tmp_path,
        Manifest(
            FleetName("shop"), "wall", b"", (), Ends(merkle.EMPTY, merkle.EMPTY), NOTHING_SIGNED
        ),
    )
    ParquetReading(path, TABLES["checkpoints"]).close()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        asked: tuple[Callable[[], object], ...] = (
            lambda: ParquetReading(path, TABLES["checkpoints"]),
            lambda: digest(path),
            lambda: manifests.read(tmp_path),
        )
        for reads in asked:
            with pytest.raises(SetupProblem, match="Too many open files"):
                reads()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_whatever_byte_of_a_file_is_changed_it_is_damaged_or_read(tmp_path: Path) -> None:
    """What a library that is written in C++ makes of it is known by name."""
    path = tmp_path / "notes"
    written(path, "checkpoints", [[("events", 1, 2, bytes(32), b"note")] * 3] * 2)
    honest = path.read_bytes()
    for place in range(0, len(honest), 3):
        path.write_bytes(honest[:place] + bytes([honest[place] ^ 0xFF]) + honest[place + 1 :])
        with suppress(DamagedArchive), closing(ParquetReading(path, TABLES["checkpoints"])) as file:
            list(file.every([column.name for column in TABLES["checkpoints"]]))


def test_a_file_that_is_not_finished_has_no_name(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="killed"),
        ParquetWriting(tmp_path / "one.parquet", TABLES["events"]),
    ):
        raise RuntimeError("killed")
    assert list(tmp_path.iterdir()) == []


SIZES = st.integers(0, 300)


@st.composite
def manifest(draw: st.DrawFn) -> Manifest:
    """One with some ranges; what the trees are of is invented."""
    ends = Ends(tree(draw(SIZES)), tree(draw(SIZES)))
    made = Manifest(
        fleet=FleetName(draw(st.sampled_from(["shop", "_ledger"]))),
        clock=draw(st.sampled_from(["wall", "event"])),
        genesis=draw(TEXTS).encode(),
        incarnations=((1, 0), (2, draw(SIZES))),
        begins=ends,
        signed_before=SignedRound(0, -1, -1, -1),
    )
    for _ in range(draw(st.integers(0, 3))):
        grown = Ends(
            tree(ends.events.size + draw(st.integers(1, 70))),
            tree(ends.decisions.size + draw(st.integers(0, 70))),
        )
        files = {
            table: ArchivedFile(f"{table}.parquet", draw(SIZES), draw(SIZES), "0" * 64)
            for table in draw(st.sets(st.sampled_from(sorted(TABLES))))
        }
        signed = SignedRound(1, *(draw(SIZES) for _ in range(3)))
        made = with_range(made, ArchivedRange(ends, grown, draw(SIZES), signed, files))
        ends = grown
    return made


def tree(size: int) -> merkle.Frontier:
    leaves = [sha256(b"%d" % place).digest() for place in range(size)]
    return merkle.extend(merkle.EMPTY, leaves).frontier


@SOME
@given(made=manifest(), data=st.data())
def test_a_manifest_is_read_as_it_was_written_and_no_other_byte_is(
    made: Manifest, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("manifest")
    manifests.write(folder, made)
    assert manifests.read(folder) == made

    spelled = bytearray((folder / MANIFEST).read_bytes())
    place = data.draw(st.integers(0, len(spelled) - 1))
    spelled[place] ^= data.draw(st.integers(1, 255))
    (folder / MANIFEST).write_bytes(spelled)
    with pytest.raises(DamagedArchive, match="manifest_damaged"):
        manifests.read(folder)


def test_an_archive_of_another_layout_is_not_called_damaged(tmp_path: Path) -> None:
    begins = Ends(merkle.EMPTY, merkle.EMPTY)
    made = Manifest(FleetName("shop"), "wall", b"", (), begins, SignedRound(0, -1, -1, -1))
    spelled = made.spelled().decode().replace('"ledger_archive": 1', '"ledger_archive": 2')
    rest, _, _ = spelled.rpartition(',\n "digest"')
    digest = sha256(f"{rest}\n}}\n".encode()).hexdigest()
    (tmp_path / MANIFEST).write_text(f'{rest},\n "digest": "{digest}"\n}}\n')

    with pytest.raises(SetupProblem, match="layout 2"):
        manifests.read(tmp_path)
