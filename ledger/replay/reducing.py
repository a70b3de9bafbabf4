"""The smallest slice of a history in which the same still goes wrong.

It is looked for among events alone, from an empty World on: first with those that the decisions in
question name, then with all of the clusters, quotas and disks, then with everything. The first such
set in which the last step makes the same records as in the whole history is made smaller by leaving
out subjects, and then single events, half of them at once and ever fewer (delta debugging). A set is
smaller only if the records stay the same byte for byte, so what went in - of which each holds the
digest - stays too.

What it may cost is bounded by how many events are folded, never by time, so that the slice of a
history is always the same one. Where no set of events is found, the slice is the World before the
event, and that event.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from ledger.facts.event import Event
from ledger.log.history import Decided
from ledger.replay.report import Divergence
from ledger.replay.slices import Evidence, Seen, Slice, Told, at, before_last, mentioned, seen, told
from ledger.units import Subject

MOST_EVENTS: Final = 20_000
"""A set of more is not looked at: a World says the same in fewer bytes."""

MOST_FOLDED: Final = 300_000
"""Events folded in all tries together: about half a minute."""

_POLICY: Final = "ledger.policy."
_GROUND: Final = ("ledger.cluster.", "ledger.quota.", "ledger.disk.")

Item = TypeVar("Item")


@dataclass(slots=True)
class Candidates:
    """Events before a divergence, by how likely it needs them; gathered page by page."""

    met: Evidence
    ranked: list[list[Told]] = field(default_factory=lambda: [[], [], []])
    names: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        records = [one for one in self.met.made if one.startswith("{")]
        self.names = mentioned([*self.met.piece.recorded, *records])

    @property
    def piece(self) -> Slice:
        """The slice with the World: what was recorded, and about whom."""
        return self.met.piece

    @property
    def made(self) -> Seen:
        """What the last step makes of it."""
        return self.met.made

    async def gather(self, pages: AsyncIterator[list[Decided]], number: int = 0) -> None:
        """Take what lies before the divergence, as far as it can be needed.

        ``number`` is that of the first decision in it.
        """
        last = self.piece.events[-1].position
        async for page in pages:
            for one in page:
                if one[0].position < last:
                    self._take(one, number)
                number += len(one[1])

    def _take(self, one: Decided, number: int) -> None:
        stored, _ = one
        rank = self._rank(stored.type, stored.subject)
        if len(self.ranked[rank]) <= MOST_EVENTS:
            self.ranked[rank].append(told(stored, number))

    def _rank(self, type_: str, subject: str) -> int:
        whose = (self.piece.subject or self.piece.events[-1].subject).partition("@")[0]
        if type_.startswith(_POLICY) or subject == whose or subject in self.names:
            return 0
        if "/" in subject and self.names.issuperset(subject.split("/")):
            return 0
        return 1 if type_.startswith(_GROUND) else 2


def smallest(found: Candidates, trouble: Divergence) -> Slice:
    """The smallest slice that was found within the bounds; the one with the World if there is none."""
    if trouble.stage == "chance":
        return found.piece  # It comes out otherwise each time, however little is left of it.
    search = _Search(found)
    events: list[Told] = []
    for ranked in found.ranked:
        events = sorted([*events, *ranked], key=lambda one: one.position)
        if len(events) > MOST_EVENTS:
            break
        if search.holds(events):
            return replace(found.piece, world=None, events=(*search.reduced(events), search.last))
    return found.piece


@dataclass(slots=True)
class _Search:
    """Tries sets of events, as long as there is something left to spend."""

    found: Candidates
    left: int = MOST_FOLDED
    facts: dict[int, Event] = field(default_factory=dict)

    @property
    def last(self) -> Told:
        return self.found.piece.events[-1]

    def holds(self, events: Sequence[Told]) -> bool:
        """Whether the last step comes to the same behind these events alone."""
        if len(events) + 1 > self.left:
            return False
        self.left -= len(events) + 1
        piece = replace(self.found.piece, world=None)
        try:
            world = before_last(piece, [(one, self._event(one)) for one in events])
        except Exception:  # noqa: BLE001 - what is left of a history need not make sense
            return False
        if not self.found.made and not self._is_about_something(world.latest.get, events):
            return False
        return (
            seen(at(world, self.last), lambda: self._event(self.last), piece.subject)
            == self.found.made
        )

    def reduced(self, events: Sequence[Told]) -> list[Told]:
        """Fewer of them, by subjects first."""
        subjects = sorted({one.subject for one in events})
        kept = set(self._fewer(subjects, lambda some: self._of(events, some)))
        left = [one for one in events if one.subject in kept]
        return self._fewer(left, lambda some: some)

    def _of(self, events: Sequence[Told], subjects: Sequence[Subject]) -> list[Told]:
        wanted = set(subjects)
        return [one for one in events if one.subject in wanted]

    def _fewer(
        self, items: Sequence[Item], events: Callable[[Sequence[Item]], Sequence[Told]]
    ) -> list[Item]:
        """Leave out parts, of half of all first and of one at last, as long as it holds without."""
        left = list(items)
        size = (len(left) + 1) // 2
        while size:
            start = 0
            while start < len(left):
                without = left[:start] + left[start + size :]
                if self.holds(events(without)):
                    left = without
                else:
                    start += size
            size = 0 if size == 1 else (size + 1) // 2
        return left

    def _is_about_something(
        self, latest: Callable[[Subject], int | None], events: Sequence[Told]
    ) -> bool:
        """Whether something could be decided, where nothing is: who was asked about is still there."""
        subject = self.found.piece.subject
        if subject is None:
            return True
        before = [one for one in self.found.ranked[0] if one.subject == subject.partition("@")[0]]
        if before and before[-1] not in events:
            return False
        return all(
            f'"previous":{_json(latest(subject))},' in one for one in self.found.piece.recorded
        )

    def _event(self, one: Told) -> Event:
        if one.position not in self.facts:
            self.facts[one.position] = one.event()
        return self.facts[one.position]


def _json(number: int | None) -> str:
    return "null" if number is None else str(number)
