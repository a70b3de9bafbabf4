"""What was signed of a fleet's trees, in the order of its sizes, as ``ledger.log.sealing`` wrote it down.

A round signs a note for each tree that grew, and one that binds both: so whatever one of the first
says is named by one of the second, and the other way round. A row that is missing shows by that.
Whether the roots are those of the leaves is for ``ledger.replay.grown_tree``; who signed is looked at
where the reader brought keys (``ledger.replay.brought_keys``), since keys that the database holds would
show nothing.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger.errors import InvalidRequest
from ledger.log import merkle
from ledger.log.archive.reading import SignedNote
from ledger.log.bound_notes import read_bound
from ledger.log.checkpoints import parse_checkpoint
from ledger.log.notes import parse_note
from ledger.log.signed import Signed
from ledger.log.trees import Tree
from ledger.replay.brought_keys import BroughtKeys
from ledger.replay.recorded_tree import RecordedTree
from ledger.units import FleetName


class SignedEnd(NamedTuple):
    """That a tree had so many leaves and this root."""

    size: int
    root: bytes
    incarnation: int
    bound: bool
    """Whether it is the note of both trees that says so."""


class Beginning(NamedTuple):
    """How a later life began, as its notes say."""

    began: Signed
    """The events then."""
    after: tuple[tuple[str, Signed], ...]
    """What the life before had signed at its end."""


class Unlike(NamedTuple):
    """A row that does not say what it should."""

    size: int
    recorded: str
    expected: str


@dataclass(slots=True)
class SignedEnds:
    """The signed ends of one tree, read as far as its leaves are."""

    recorded: RecordedTree
    fleet: FleetName
    tree: Tree
    keys: BroughtKeys = field(default_factory=BroughtKeys)
    _waiting: list[SignedEnd] = field(default_factory=list)
    """Of notes that bind, beyond what was asked for so far."""
    _bound: AsyncIterator[Sequence[SignedNote]] | None = None
    """The notes that bind and were not read yet."""
    _more: bool = True
    _steps: dict[int, int] = field(default_factory=dict)
    """By life: how far its last note that binds has come."""
    _late: int | None = None
    """Where the tree begins that is looked at, if that is later than the log."""
    beginnings: dict[int, Beginning] = field(default_factory=dict)
    """Of the lives whose notes were read."""

    def __post_init__(self) -> None:
        self._late = self.recorded.begins_late

    async def through(self, before: int, size: int) -> dict[int, list[SignedEnd]] | Unlike:
        """What was signed of a tree of more than ``before`` leaves and at most ``size``."""
        found: dict[int, list[SignedEnd]] = {}
        told: dict[tuple[int, int], bytes] = {}
        for incarnation, at, root, note in await self.recorded.signed(before, size):
            said = self._own(incarnation, at, root, note)
            if not isinstance(said, Unlike) and (incarnation, at) in told:
                said = _with_more(told[incarnation, at], note, said)
            if isinstance(said, Unlike):
                return said
            told[incarnation, at] = note
            found.setdefault(at, []).append(said)
        while self._more and (not self._waiting or self._waiting[-1].size <= size):
            unlike = await self._read_bound()
            if unlike is not None:
                return unlike
        passed = [end for end in self._waiting if end.size <= size]
        self._waiting = self._waiting[len(passed) :]
        for end in passed:
            if end.size <= before:
                continue  # Of a tree that was smaller than what is looked at.
            found.setdefault(end.size, []).append(end)
        for at in sorted(found):
            for incarnation in sorted({end.incarnation for end in found[at]}):
                kinds = {end.bound for end in found[at] if end.incarnation == incarnation}
                # Of the size it begins with what was signed may lie before the beginning.
                if kinds != {False, True} and not (kinds == {True} and at == self._late):
                    which = "the note of this tree" if True in kinds else "the note that binds both"
                    return Unlike(at, f"{which} is missing", "both were signed in one round")
        if self.tree == "events":
            for incarnation, (began, _) in self.beginnings.items():
                if before < began.size <= size:
                    end = SignedEnd(began.size, began.root, incarnation, bound=True)
                    found.setdefault(began.size, []).append(end)
        return found

    async def beyond(self, size: int) -> int | None:
        """A size of which something was signed although the tree has only ``size`` leaves."""
        return await self.recorded.largest_signed(size)

    def _own(self, incarnation: int, size: int, root: bytes, note: bytes) -> SignedEnd | Unlike:
        origin = f"/{self.fleet}/{incarnation}/{self.tree}"
        try:
            parsed = parse_note(note)
            said = parse_checkpoint(parsed.text)
            unlike = None if said.origin.endswith(origin) else f"the origin is {said.origin}"
            unlike = unlike or self.keys.refusal(said.origin, parsed, counted=True)
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
        return SignedEnd(size, root, incarnation, bound=False)

    async def _read_bound(self) -> Unlike | None:
        if self._bound is None:
            self._bound = self.recorded.bound()
        found = await anext(self._bound, None)
        self._more = found is not None
        for incarnation, steps, root, note in found or ():
            last = self._waiting[-1].size if self._waiting else 0
            said = self._binding(incarnation, steps, root, note, last)
            if isinstance(said, Unlike):
                return said
            self._waiting.append(said)
        return None

    def _binding(
        self, incarnation: int, steps: int, root: bytes, note: bytes, last: int
    ) -> SignedEnd | Unlike:
        origin = f"/{self.fleet}/{incarnation}/both"
        try:
            parsed = parse_note(note)
            text = parsed.text
            told = read_bound(text, incarnation)
            # Both trees meet this note.
            unlike = self.keys.refusal(told.origin, parsed, counted=self.tree == "events")
        except InvalidRequest as unreadable:
            return Unlike(last, str(unreadable), f"a note of ...{origin}")
        counted = told.steps
        size, its_root = told.events if self.tree == "events" else told.decisions
        if not told.origin.endswith(origin):
            unlike = f"the origin is {told.origin}"
        elif (steps, root) != (counted, merkle.leaf_hash(text.encode())):
            unlike = f"{steps} {root.hex()}"
        elif size < last:
            unlike = f"{size} after {last}"
        elif counted <= self._steps.get(incarnation, -1):
            unlike = "it is recorded twice"
        elif told.began is not None:
            beginning = Beginning(told.began, told.after)
            if self.beginnings.setdefault(incarnation, beginning) != beginning:
                unlike = "it began otherwise than an earlier one of this life says"
        if unlike is not None:
            return Unlike(size, unlike, f"{counted} steps, as the note of ...{origin} says")
        self._steps[incarnation] = counted
        return SignedEnd(size, its_root, incarnation, bound=True)


def _with_more(before: bytes, note: bytes, end: SignedEnd) -> SignedEnd | Unlike:
    """The same end, whose note was recorded before: then with all of its signatures, and more."""
    fewer, more = (set(parse_note(one).signatures) for one in (before, note))
    if fewer < more:
        return end
    return Unlike(end.size, "the note is recorded twice", "once, or with more witnesses")
