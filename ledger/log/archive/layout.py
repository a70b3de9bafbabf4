"""What the files of an archive are called, and which columns each kind of them has.

A file holds rows of one table and of one range of positions. Columns are for people as well as for
programs: moments are moments, text is text. Whatever is hashed is there with its exact bytes, so that
every leaf can be made again from the file alone. What a column says beyond those bytes is compared
with them by whoever verifies.
"""

from typing import Final, Literal, NamedTuple

ARCHIVE_LAYOUT: Final = 1
"""Of manifest and files. A reader refuses any other."""

MANIFEST: Final = "manifest.json"

LOCK: Final = ".lock"
"""Held by the process that exports."""

ASIDE: Final = ".unfinished"
"""Where the files of a range lie until all of them are whole: a reader of every file sees none of them."""

RANGE: Final = 65_536
"""Positions in a range, the leaves below one hash of tile level 2: ranges end where partitions do."""

DIGITS: Final = 19
"""Of the largest position there can be, so that files sort as their positions do."""

GROUP_ROWS: Final = 8_192
GROUP_BYTES: Final = 8 * 1024 * 1024
"""A row group, the least that is read at once, ends behind the row that reaches one of these."""

Kind = Literal["int64", "int32", "int16", "text", "word", "moment", "bytes", "hash"]
"""``word`` is a text that is often the same; ``moment`` is microseconds since 1970, in UTC; ``hash`` has
32 bytes."""

TableName = Literal["events", "decisions", "checkpoints", "snapshots"]


class Column(NamedTuple):
    """One column of a file."""

    name: str
    kind: Kind
    nullable: bool = False


EVENTS: Final = (
    Column("position", "int64"),
    Column("incarnation", "int32"),
    Column("recorded_at", "moment"),
    Column("event_time", "moment", nullable=True),
    Column("revision", "int16"),
    Column("channel", "word"),
    Column("topic", "word", nullable=True),
    Column("partition", "int32", nullable=True),
    Column("coordinate", "int64", nullable=True),
    Column("source", "word"),
    Column("id", "text"),
    Column("type", "word"),
    Column("subject", "word"),
    Column("payload", "bytes"),
    Column("leaf", "hash"),
)
"""In the order of ``ledger.log.read.StoredEvent``."""

DECISIONS: Final = (
    Column("number", "int64"),
    Column("position", "int64"),
    Column("incarnation", "int32"),
    Column("kind", "word"),
    Column("subject", "word"),
    Column("algorithm", "word"),
    Column("version", "int32"),
    Column("branch", "word"),
    Column("moved", "int64"),
    Column("previous", "int64", nullable=True),
    Column("record", "bytes"),
    Column("digest", "hash"),
)
"""Everything before the record is read from it."""

CHECKPOINTS: Final = (
    Column("tree", "word"),
    Column("incarnation", "int32"),
    Column("size", "int64"),
    Column("root", "hash"),
    Column("note", "bytes"),
)

SNAPSHOTS: Final = (
    Column("incarnation", "int32"),
    Column("through", "int64"),
    Column("decisions", "int64"),
    Column("engine", "int32"),
    Column("layout", "int32"),
    Column("types", "hash"),
    Column("digest", "hash"),
    Column("event_root", "hash"),
    Column("decision_root", "hash"),
    Column("bytes", "int64"),
    Column("part", "int32"),
    Column("content", "bytes"),
)
"""A row for each part of a snapshot, and each in a row group of its own."""

TABLES: Final[dict[TableName, tuple[Column, ...]]] = {
    "events": EVENTS,
    "decisions": DECISIONS,
    "checkpoints": CHECKPOINTS,
    "snapshots": SNAPSHOTS,
}


def file_name(table: TableName, first: int) -> str:
    """Of the rows that belong to the range which begins at a position."""
    return f"{table}-{first:0{DIGITS}}.parquet"
