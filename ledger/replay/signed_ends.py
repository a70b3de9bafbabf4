"""What was signed of a fleet's trees, in the order of its sizes, as ``ledger.log.sealing`` wrote it down.

A round signs a note for each tree that grew, and one that binds both: so whatever one of the first
says is named by one of the second, and the other way round. A row that is missing shows by that.
Whether the roots are those of the leaves is for ``ledger.replay.grown_tree``; who signed is looked at
where the reader brought keys, since keys that the database holds would show nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ledger.errors import InvalidRequest
from ledger.log import merkle
from ledger.log.checkpoints import parse_checkpoint, whole_number
from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.notes import Key, open_note, parse_note, strict_base64
from ledger.log.sealing import TREES
from ledger.log.trees import Tree

_PAGE: Final = 500


class SignedEnd(NamedTuple):
    """That a tree had so many leaves and this root."""

    size: int
    root: bytes
    bound: bool
    """Whether it is the note of both trees that says so."""


class Unlike(NamedTuple):
    """A row that does not say what it should."""

    size: int
    recorded: str
    expected: str


@dataclass(slots=True)
class SignedEnds:
    """The signed ends of one tree, read as far as its leaves are."""

    connection: Connection
    fleet: Fleet
    tree: Tree
    keys: Sequence[Key] = ()
    _waiting: list[SignedEnd] = field(default_factory=list)
    """Of notes that bind, beyond what was asked for so far."""
    _after: tuple[int, int] = (0, -1)
    """Incarnation and size of the last note that binds which was read."""
    _more: bool = True

    async def through(self, before: int, size: int) -> dict[int, list[SignedEnd]] | Unlike:
        """What was signed of a tree of more than ``before`` leaves and at most ``size``."""
        found: dict[int, list[SignedEnd]] = {}
        with refusals_named():
            rows = await self.connection.fetch(
                "SELECT incarnation, size, root, note FROM ledger.checkpoints"
                " WHERE fleet = $1 AND tree = $2 AND size > $3 AND size <= $4 ORDER BY size",
                self.fleet.number,
                self.tree,
                before,
                size,
            )
        for incarnation, at, root, note in rows:
            said = self._own(incarnation, at, root, note)
            if isinstance(said, Unlike):
                return said
            found.setdefault(at, []).append(said)
        while self._more and (not self._waiting or self._waiting[-1].size <= size):
            unlike = await self._read_bound()
            if unlike is not None:
                return unlike
        passed = [end for end in self._waiting if end.size <= size]
        self._waiting = self._waiting[len(passed) :]
        for end in passed:
            found.setdefault(end.size, []).append(end)
        for at in sorted(found):
            told = {end.bound for end in found[at]}
            if told != {False, True}:
                which = "the note of this tree" if True in told else "the note that binds both"
                return Unlike(at, f"{which} is missing", "both were signed in one round")
        return found

    async def beyond(self, size: int) -> int | None:
        """A size of which something was signed although the tree has only ``size`` leaves."""
        with refusals_named():
            largest: int | None = await self.connection.fetchval(
                "SELECT max(size) FROM ledger.checkpoints"
                " WHERE fleet = $1 AND tree = $2 AND size > $3",
                self.fleet.number,
                self.tree,
                size,
            )
        return largest

    def _own(self, incarnation: int, size: int, root: bytes, note: bytes) -> SignedEnd | Unlike:
        origin = f"/{self.fleet.name}/{incarnation}/{self.tree}"
        try:
            said = parse_checkpoint(parse_note(note).text)
            unlike = None if said.origin.endswith(origin) else f"the origin is {said.origin}"
            unlike = unlike or self._unsigned(said.origin, note)
        except InvalidRequest as unreadable:
            return Unlike(size, str(unreadable), f"a checkpoint of ...{origin}")
        if unlike is not None:
            return Unlike(size, unlike, f"a checkpoint of ...{origin}")
        if (said.size, said.root, said.extensions) != (size, root, ()):
            return Unlike(
                size,
                f"the note says {said.size} {said.root.hex()}",
                f"the row says {size} {root.hex()}",
            )
        return SignedEnd(size, root, bound=False)

    async def _read_bound(self) -> Unlike | None:
        with refusals_named():
            rows = await self.connection.fetch(
                "SELECT incarnation, size, root, note FROM ledger.checkpoints"
                " WHERE fleet = $1 AND tree = 'both' AND (incarnation, size) > ($2, $3)"
                " ORDER BY incarnation, size LIMIT $4",
                self.fleet.number,
                *self._after,
                _PAGE,
            )
        self._more = len(rows) == _PAGE
        for incarnation, steps, root, note in rows:
            last = self._waiting[-1].size if self._waiting else 0
            said = self._bound(incarnation, steps, root, note, last)
            if isinstance(said, Unlike):
                return said
            self._waiting.append(said)
            self._after = (incarnation, steps)
        return None

    def _bound(
        self, incarnation: int, steps: int, root: bytes, note: bytes, last: int
    ) -> SignedEnd | Unlike:
        origin = f"/{self.fleet.name}/{incarnation}/both"
        try:
            text = parse_note(note).text
            ends = _read_bound(text, incarnation)
            unlike = self._unsigned(text.partition("\n")[0], note)
        except InvalidRequest as unreadable:
            return Unlike(last, str(unreadable), f"a note of ...{origin}")
        counted = ends["events"][0] + ends["decided"][0] + 1
        size, its_root = ends[self.tree]
        if not text.partition("\n")[0].endswith(origin):
            unlike = f"the origin is {text.partition(chr(10))[0]}"
        elif (steps, root) != (counted, merkle.leaf_hash(text.encode())):
            unlike = f"{steps} {root.hex()}"
        elif size < last:
            unlike = f"{size} after {last}"
        if unlike is not None:
            return Unlike(size, unlike, f"{counted} steps, as the note of ...{origin} says")
        return SignedEnd(size, its_root, bound=True)

    def _unsigned(self, origin: str, note: bytes) -> str | None:
        """Why those whose keys the reader brought did not sign a note of theirs; None if they did."""
        if not any(key.name == origin for key in self.keys):
            return None
        try:
            open_note(note, self.keys)
        except InvalidRequest as refusal:
            return refusal.message
        return None


def _read_bound(text: str, incarnation: int) -> dict[str, tuple[int, bytes]]:
    """Size and root of each tree, and under ``decided`` the last event that was decided.

    In a later life also where it began, under ``began``.
    """
    lines = text.removesuffix("\n").split("\n")
    told = 3 if incarnation > 1 else 2
    found: dict[str, tuple[int, bytes]] = {}
    for line in lines[2 : 2 + told]:
        name, _, rest = line.partition(" ")
        found[name] = _end(rest)
    if tuple(found) != (*TREES, "began")[:told]:
        raise InvalidRequest("malformed_note", "it does not name both trees")
    for line in lines[2 + told :]:
        word, _, rest = line.partition(" ")
        if word != "after" or incarnation == 1:
            raise InvalidRequest(
                "malformed_note", f"{line[:40]!r} is not what the life before signed"
            )
        _end(rest.partition(" ")[2])
    word, _, through = lines[1].partition(" ")
    if word != "decided":
        raise InvalidRequest("malformed_note", "it does not say how far the fleet was decided")
    found["decided"] = (-1 if through == "-1" else _number(through), b"")
    return found


def _end(told: str) -> tuple[int, bytes]:
    size, _, encoded = told.partition(" ")
    return _number(size), strict_base64(encoded, "malformed_note")


def _number(told: str) -> int:
    number = whole_number(told)
    if number is None:
        raise InvalidRequest("malformed_note", f"{told[:40]!r} is no number of leaves")
    return number
