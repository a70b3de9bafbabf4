"""Where signed notes go beside the database, so that its administrators alone cannot take them back.

A *place* keeps the notes of each origin in their order, and can say which one it got last. What is
recorded and not there is published once more, whatever was in the way before: a full disk, brokers that
were away, a process that was killed in between, a place that was named only now. So each note arrives at
least once.

A directory is such a place. Its files are replaced by the same note with more witnesses, and never
otherwise:

    <origin>/checkpoint              the newest
    <origin>/checkpoints/<size>      every one that was signed

``checkpoint`` is written last, and so is what says how far the directory has come.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple, Protocol, get_args

import asyncpg

from ledger.errors import InvalidRequest, SetupProblem
from ledger.log import fleets, whole_files
from ledger.log.bound_notes import read_bound
from ledger.log.checkpoints import parse_checkpoint
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.ladder import thinned
from ledger.log.notes import Note, parse_note
from ledger.log.signing_keys import Sealed, origin, read_origin
from ledger.units import Incarnation

SIZE_DIGITS: Final = 19
"""Of the largest size there can be, so that files sort as their sizes do."""

PAGE: Final = 500
"""Notes read at once: of some hundred bytes each."""


class Published(NamedTuple):
    """A note as it is handed out."""

    origin: str
    size: int
    note: bytes

    @property
    def digest(self) -> bytes:
        """By which a place knows it again; other witnesses make it another one."""
        return sha256(self.note).digest()


class Reached(NamedTuple):
    """The note of an origin that a place got last."""

    size: int
    digest: bytes


class Newest(NamedTuple):
    """Of the newest note of an origin that a place has: who signed it, and how far it comes."""

    key_ids: frozenset[bytes]
    """Empty where the note itself is not kept, or not to be read."""
    size: int | None
    """None where nobody can say."""


class Place(Protocol):
    """Somewhere notes are published."""

    @property
    def name(self) -> str:
        """For messages."""

    def reached(self, origin: str) -> Reached | None:
        """What it has of an origin; None where that is nothing, or cannot be read."""

    def signed(self) -> Mapping[str, Newest]:
        """Of which origins it has notes, and what it knows of the newest."""

    async def publish(self, notes: Sequence[Published]) -> None:
        """Take notes, those of one origin in their order; a LedgerError where it cannot take them."""


@dataclass(frozen=True, slots=True)
class Directory:
    """Files below a directory."""

    folder: Path

    @property
    def name(self) -> str:
        """Where it is."""
        return str(self.folder)

    def reached(self, origin: str) -> Reached | None:
        """By the newest note; one that somebody spoiled is none."""
        try:
            note = (self.folder / origin / "checkpoint").read_bytes()
            size = _size_of(parse_note(note), origin)
        except (OSError, InvalidRequest):
            return None
        return None if size is None else Reached(size, sha256(note).digest())

    def signed(self) -> Mapping[str, Newest]:
        """By the newest note of each origin; of one that somebody spoiled, by where it lies."""
        found: dict[str, Newest] = {}
        for folder, below, files in os.walk(self.folder):
            if "checkpoint" in files:
                below.clear()  # Beside it lie all that were ever signed.
                try:
                    note = parse_note(Path(folder, "checkpoint").read_bytes())
                    name, key_ids = named_in(note)
                    found[name] = Newest(key_ids, _size_of(note, name))
                except (OSError, InvalidRequest):
                    name = Path(folder).relative_to(self.folder).as_posix()
                    found[name] = Newest(frozenset(), None)
        return found

    def kept(self, origin: str, *, at_most: int) -> Sequence[bytes]:
        """Notes of an origin that speak of no larger tree: the largest, and some below it.

        Each lies under the size that it speaks of, so the others are not read.
        """
        folder = self.folder / origin / "checkpoints"
        try:
            named = {int(path.name): path for path in folder.iterdir() if path.name.isdecimal()}
            sizes = sorted(size for size in named if size <= at_most)
            return [named[size].read_bytes() for size in thinned(sizes)]
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise SetupProblem(f"{folder}: {error.strerror}") from error

    async def publish(self, notes: Sequence[Published]) -> None:
        """Write each under its size, and then as the newest."""
        for one in notes:
            below = self.folder / one.origin
            try:
                whole_files.write(below / "checkpoints" / f"{one.size:0{SIZE_DIGITS}}", one.note)
                whole_files.write(below / "checkpoint", one.note)
            except OSError as error:
                raise SetupProblem(f"{below}: {error.strerror}") from error


def _size_of(note: Note, origin: str) -> int | None:
    """By which notes of an origin are numbered; None where it does not say."""
    said = read_origin(origin)
    try:
        if said is not None and said.tree == "both":
            return read_bound(note.text, said.incarnation).steps
        return parse_checkpoint(note.text).size
    except InvalidRequest:
        return None


def directories(places: Sequence[Place]) -> list[Directory]:
    """Those that can be read again."""
    return [place for place in places if isinstance(place, Directory)]


def named_in(note: Note) -> tuple[str, frozenset[bytes]]:
    """Whom its first line names, and the ids of the keys of that name that are said to have signed it."""
    name = note.text.partition("\n")[0]
    return name, frozenset(made.key_id for made in note.signatures if made.name == name)


async def catch_up(connection: asyncpg.Connection, fleet: Fleet, site: str, place: Place) -> int:
    """Publish what is recorded of a fleet, and was not published; how many notes that is."""
    published = 0
    newest = await fleets.incarnation(connection, fleet)
    for life in range(1, newest + 1):
        for tree in get_args(Sealed):
            name = origin(site, fleet.name, Incarnation(life), tree)
            reached = place.reached(name)
            async for page in _recorded(connection, fleet, Incarnation(life), tree, name, reached):
                await place.publish(page)
                published += len(page)
    return published


async def _recorded(
    connection: asyncpg.Connection,
    fleet: Fleet,
    incarnation: Incarnation,
    tree: Sealed,
    name: str,
    reached: Reached | None,
) -> AsyncIterator[Sequence[Published]]:
    """The notes of an origin behind the one that was reached, page after page."""
    size, again = (-1 if reached is None else reached.size - 1), -1
    while True:
        with refusals_named():
            rows = await connection.fetch(
                "SELECT size, again, note FROM ledger.checkpoints WHERE fleet = $1"
                " AND incarnation = $2 AND tree = $3 AND (size, again) > ($4, $5)"
                " ORDER BY size, again LIMIT $6",
                fleet.number,
                incarnation,
                tree,
                size,
                again,
                PAGE,
            )
        # A site that has another name now signed under other origins.
        notes = [
            Published(name, row["size"], row["note"])
            for row in rows
            if row["note"].partition(b"\n")[0] == name.encode()
        ]
        there = [Reached(one.size, one.digest) for one in notes]
        if reached in there:
            notes = notes[there.index(reached) + 1 :]
        if notes:
            yield notes
        if len(rows) < PAGE:
            return
        size, again = rows[-1]["size"], rows[-1]["again"]
