"""What an archive says of itself: of which fleet, which ranges, which files, and what the trees were at each end.

The manifest has one spelling, and its own digest in it, so that a changed byte of it is found as one of
any other file is. It names each file with its length and SHA-256. Whoever rewrote files and manifest together
would still have to meet the roots that were signed, or that somebody wrote down.

It is replaced as a whole after each range that was written, so an export that was interrupted goes on
where the manifest ends.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

from ledger.errors import DamagedArchive, SetupProblem
from ledger.log.archive.layout import ARCHIVE_LAYOUT, MANIFEST, TABLES, TableName
from ledger.log.archive.parquet import sync_folder, unreadable
from ledger.log.fleets import Clock
from ledger.log.merkle import Frontier
from ledger.log.trees import Tree
from ledger.units import LEDGER_FLEET, FleetName


class ArchivedFile(NamedTuple):
    """One file of an archive."""

    name: str
    rows: int
    bytes: int
    sha256: str


class SignedRound(NamedTuple):
    """The last round of the signer of which the notes are in the archive; -1 before the first."""

    incarnation: int
    steps: int
    events: int
    decisions: int

    def of(self, tree: Tree) -> int:
        """How large a tree was."""
        return self.events if tree == "events" else self.decisions


NOTHING_SIGNED = SignedRound(0, -1, -1, -1)


class Ends(NamedTuple):
    """Both trees at one moment."""

    events: Frontier
    decisions: Frontier

    def of(self, tree: Tree) -> Frontier:
        """One of them."""
        return self.events if tree == "events" else self.decisions


@dataclass(frozen=True, slots=True)
class ArchivedRange:
    """The events of some positions with what was decided on them, and the files that hold that."""

    begins: Ends
    ends: Ends
    recorded_at: int
    """When the last event was recorded."""
    signed: SignedRound
    files: Mapping[TableName, ArchivedFile]

    @property
    def first(self) -> int:
        """The first position."""
        return self.begins.events.size

    @property
    def next(self) -> int:
        """Behind the last position."""
        return self.ends.events.size


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of it."""

    fleet: FleetName
    clock: Clock
    genesis: bytes
    """As the fleet stored it."""
    incarnations: tuple[tuple[int, int], ...]
    """Each life of the log with the size at which it began, the oldest first; those that begin behind the
    last range are not in the archive yet."""
    begins: Ends
    signed_before: SignedRound
    ranges: tuple[ArchivedRange, ...] = ()

    @property
    def decides(self) -> bool:
        """Whether decisions are made about the fleet: about the ledger's own there are none."""
        return self.fleet != LEDGER_FLEET

    @property
    def ends(self) -> Ends:
        """Both trees behind the last range."""
        return self.ranges[-1].ends if self.ranges else self.begins

    @property
    def signed(self) -> SignedRound:
        """The last round whose notes are there."""
        return self.ranges[-1].signed if self.ranges else self.signed_before

    @property
    def first(self) -> int:
        """The first position."""
        return self.begins.events.size

    @property
    def next(self) -> int:
        """Behind the last position."""
        return self.ends.events.size

    def spelled(self) -> bytes:
        """The file."""
        plain: dict[str, Any] = {
            "ledger_archive": ARCHIVE_LAYOUT,
            "fleet": self.fleet,
            "clock": self.clock,
            "genesis": self.genesis.decode(),
            "incarnations": [list(one) for one in self.incarnations],
            "begins": _plain_ends(self.begins),
            "signed_before": self.signed_before._asdict(),
            "ranges": [_plain_range(one) for one in self.ranges],
        }
        plain["digest"] = sha256(_spelled(plain)).hexdigest()
        return _spelled(plain)


def read(folder: Path) -> Manifest:
    """The manifest in a folder; raises DamagedArchive, or SetupProblem for one of another layout."""
    try:
        found = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise DamagedArchive("file_missing", MANIFEST, "there is no such file") from None
    except OSError as error:
        raise unreadable(folder / MANIFEST, error) from error
    try:
        plain = json.loads(found)
        layout = plain["ledger_archive"]
        if layout != ARCHIVE_LAYOUT and _is_intact(plain):
            raise SetupProblem(f"{folder}: archive layout {layout} is not known to this release")
        manifest = _manifest(plain)
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DamagedArchive("manifest_damaged", MANIFEST, f"{error}") from error
    if manifest.spelled() != found:
        raise DamagedArchive("manifest_damaged", MANIFEST, "it is not what its digest says")
    return manifest


def write(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest in a folder, as a whole and on disk."""
    beside = folder / f".{MANIFEST}.new"
    with beside.open("wb") as file:
        file.write(manifest.spelled())
        file.flush()
        os.fsync(file.fileno())
    beside.replace(folder / MANIFEST)
    sync_folder(folder)


def with_range(manifest: Manifest, one: ArchivedRange) -> Manifest:
    """The same with another range behind the last."""
    assert one.begins == manifest.ends, "ranges continue one another"
    return replace(manifest, ranges=(*manifest.ranges, one))


def _spelled(plain: Mapping[str, Any]) -> bytes:
    return json.dumps(plain, indent=1, ensure_ascii=False).encode() + b"\n"


def _is_intact(plain: Mapping[str, Any]) -> bool:
    """Whether a manifest of whatever layout is what its digest says."""
    rest = {name: value for name, value in plain.items() if name != "digest"}
    return sha256(_spelled(rest)).hexdigest() == plain.get("digest")


def _manifest(plain: Mapping[str, Any]) -> Manifest:
    begins = _ends(plain["begins"])
    ranges: list[ArchivedRange] = []
    for one in plain["ranges"]:
        ranges.append(_range(one, ranges[-1].ends if ranges else begins))
    clock = plain["clock"]
    if clock not in ("wall", "event"):
        raise ValueError(f"clock {clock!r}")
    return Manifest(
        fleet=FleetName(_text(plain["fleet"])),
        clock=cast("Clock", clock),
        genesis=_text(plain["genesis"]).encode(),
        incarnations=tuple((_whole(life), _whole(size)) for life, size in plain["incarnations"]),
        begins=begins,
        signed_before=_signed(plain["signed_before"]),
        ranges=tuple(ranges),
    )


def _plain_range(one: ArchivedRange) -> dict[str, Any]:
    return {
        "first": one.first,
        "next": one.next,
        "recorded_at_micros": one.recorded_at,
        "ends": _plain_ends(one.ends),
        "signed": one.signed._asdict(),
        "files": {table: one.files[table]._asdict() for table in TABLES if table in one.files},
    }


def _range(plain: Mapping[str, Any], begins: Ends) -> ArchivedRange:
    files: dict[TableName, ArchivedFile] = {}
    for table in TABLES:
        told = plain["files"].get(table)
        if told is not None:
            name = _text(told["name"])
            if "/" in name:
                raise ValueError(f"{name!r} is no name of a file")
            counts = (_whole(told["rows"]), _whole(told["bytes"]))
            files[table] = ArchivedFile(name, *counts, _text(told["sha256"]))
    ends = _ends(plain["ends"])
    if ends.events.size <= begins.events.size or ends.decisions.size < begins.decisions.size:
        raise ValueError("its ranges do not continue one another")
    return ArchivedRange(
        begins, ends, _whole(plain["recorded_at_micros"]), _signed(plain["signed"]), files
    )


def _plain_ends(ends: Ends) -> dict[str, Any]:
    return {tree: _plain_end(frontier) for tree, frontier in ends._asdict().items()}


def _plain_end(frontier: Frontier) -> dict[str, Any]:
    return {
        "size": frontier.size,
        "root": frontier.root().hex(),
        "subtrees": [node.hex() for node in frontier.nodes],
    }


def _ends(plain: Mapping[str, Any]) -> Ends:
    return Ends(_end(plain["events"]), _end(plain["decisions"]))


def _end(plain: Mapping[str, Any]) -> Frontier:
    return Frontier(_whole(plain["size"]), tuple(map(bytes.fromhex, plain["subtrees"])))


def _signed(plain: Mapping[str, Any]) -> SignedRound:
    return SignedRound(*(_whole(plain[name]) for name in SignedRound._fields))


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
