"""Rows into Parquet files and back; the one module of the log that speaks to pyarrow.

A file is written under a temporary name, brought to disk and then renamed, so that a file with its own
name is whole. How it is written is fixed: the same rows in the same groups become the same bytes, as
long as it is the same release of pyarrow that writes them. Columns are read as plain values, a row group
at a time; no more is in memory.

``pyarrow`` is large and comes with an extra of its own: ``ledger-scheduling[arrow]``.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from ledger.errors import DamagedArchive, SetupProblem
from ledger.log.archive.layout import Column, Kind

PIECE: Final = 1024 * 1024
"""Bytes of a file that are held at once while it is digested."""


class Digested(NamedTuple):
    """What a file is known by."""

    rows: int
    bytes: int
    sha256: str


def require(whoever: str = "archives are Parquet files and") -> None:
    """Say what is missing before anything is asked."""
    if find_spec("pyarrow") is None:
        raise SetupProblem(f"{whoever} need pyarrow: pip install 'ledger-scheduling[arrow]'")


class ParquetWriting:
    """A file that is being written; it gets its name when the block ends well."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        from pyarrow import parquet

        self._path = path
        self._beside = path.with_name(f".{path.name}.new")
        self._columns = columns
        self._schema = _schema(columns)
        self._rows = 0
        self._file = self._beside.open("wb")
        self._writer = parquet.ParquetWriter(
            self._file,
            self._schema,
            version="2.6",
            data_page_version="1.0",
            compression="zstd",
            compression_level=3,
            use_dictionary=[one.name for one in columns if one.kind == "word"],
            write_statistics=True,
            write_page_checksum=True,
            store_schema=False,
        )

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """One row group."""
        import pyarrow as pa

        values = zip(*rows, strict=True)
        arrays = [
            pa.array(column, _type(told.kind))
            for told, column in zip(self._columns, values, strict=True)
        ]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=len(rows))
        self._rows += len(rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._beside.replace(self._path)
            sync_folder(self._path.parent)
            return
        import pyarrow as pa

        with suppress(pa.ArrowException, OSError, ValueError):
            self._writer.close()
        self._file.close()
        self._beside.unlink(missing_ok=True)

    def digested(self) -> Digested:
        """Of the file once it has its name."""
        return Digested(self._rows, *digest(self._path))


def digest(path: Path) -> tuple[int, str]:
    """Length and SHA-256 of a file, read piece by piece; raises DamagedArchive where it cannot be read."""
    whole, length = sha256(), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                whole.update(piece)
                length += len(piece)
    except FileNotFoundError:
        raise DamagedArchive("file_missing", path.name, "there is no such file") from None
    except OSError as error:
        raise unreadable(path, error) from error
    return length, whole.hexdigest()


def unreadable(path: Path, error: OSError) -> DamagedArchive | SetupProblem:
    """What it means that a file cannot be read: what is on the disk is damaged, or it is not let read."""
    if error.errno in (None, errno.EIO):
        return DamagedArchive("file_damaged", path.name, f"{error}".partition("\n")[0])
    return SetupProblem(f"{path}: {error.strerror}")


class ParquetReading:
    """A file that is read group by group; whatever is wrong with it is a DamagedArchive."""

    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self._path = path
        self._kinds = {one.name: one.kind for one in columns}
        try:
            self._file = parquet.ParquetFile(path, page_checksum_verification=True)
            self._check(columns)
            told = self._file.metadata
            self.groups = [told.row_group(place).num_rows for place in range(told.num_row_groups)]
        except FileNotFoundError:
            raise DamagedArchive("file_missing", path.name, "there is no such file") from None
        except MemoryError:
            raise  # pyarrow's own is one of its other errors, too.
        except OSError as error:
            raise unreadable(path, error) from error
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise self._damaged(error) from error

    def rows(self, group: int, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """The rows of a group, of each the columns asked for."""
        import pyarrow as pa

        try:
            table = self._file.read_row_group(group, columns=list(names), use_threads=False)
            columns = []
            for name in names:
                values = table.column(name)
                if self._kinds[name] == "moment":
                    values = values.cast(pa.int64())
                columns.append(values.to_pylist())
        except MemoryError:
            raise
        except OSError as error:
            raise unreadable(self._path, error) from error
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise self._damaged(error) from error
        return list(zip(*columns, strict=True))

    def every(self, names: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
        """Group after group."""
        for group in range(len(self.groups)):
            yield self.rows(group, names)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _check(self, columns: Sequence[Column]) -> None:
        found = self._file.schema_arrow
        expected = _schema(columns)
        if not found.equals(expected):
            raise DamagedArchive("file_damaged", self._path.name, "it has other columns")

    def _damaged(self, error: Exception) -> DamagedArchive:
        return DamagedArchive("file_damaged", self._path.name, f"{error}".partition("\n")[0])


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, each with its name on disk; those that are there stay."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in reversed(missing):
        sync_folder(one.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _schema(columns: Sequence[Column]) -> Any:
    import pyarrow as pa

    return pa.schema([pa.field(one.name, _type(one.kind), one.nullable) for one in columns])


def _type(kind: Kind) -> Any:
    import pyarrow as pa

    match kind:
        case "int64":
            return pa.int64()
        case "int32":
            return pa.int32()
        case "int16":
            return pa.int16()
        case "text" | "word":
            return pa.string()
        case "moment":
            return pa.timestamp("us", tz="UTC")
        case "bytes":
            return pa.binary()
        case "hash":
            return pa.binary(32)
