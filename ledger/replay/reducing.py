"""The smallest slice of a history in which the same still goes wrong.

It is looked for among events alone, from an empty World on: first with those that the decisions in
question name, then with all of the clusters, quotas and disks, then with everything. The first such
set in which the last step makes the same records as in the whole history is made smaller by leaving
out subjects, and then single events, half of them at once and ever fewer (delta debugging). A set is
smaller only if the records stay the same byte for byte, so what went in - of which each holds the
digest - stays too. Where a program asks something else than was asked, or fails, no digest says what
the other one would have taken from the World: there every event about those who are named stays, and
so must everything in the World that is about them; of a round, which looks at everybody, nothing is
left out (``ledger.replay.concerning``).

What comes later hangs on what came before and seldom the other way round, so the latest is left out
first; and since Worlds are kept on the way, a try folds only what lies behind the first event that it
leaves out.

What it may cost is bounded by how many events are folded, never by time, so that the slice of a
history is always the same one. When that is spent, the smallest set so far is the slice: it shows the
same, with more in it than is needed. Where no set of events is found, the slice is the World before
the event, and that event.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ledger.decisions.step import advance
from ledger.facts.event import Event
from ledger.log.history import Decided
from ledger.reducers import lives
from ledger.reducers.world import World, begin
from ledger.replay.concerning import part
from ledger.replay.report import Divergence
from ledger.replay.slices import Evidence, Seen, Slice, Told, at, seen, told
from ledger.replay.told_events import RECOVERED

MOST_EVENTS: Final = 10_000
"""A set of more is not looked at: a World says the same in fewer bytes."""

MOST_FOLDED: Final = 40_000
"""Events folded in all tries together: about a minute, and of fleets with many jobs a few."""

_KEPT: Final = 200
"""Worlds kept of a set of events while parts of it are left out."""

_POLICY: Final = "ledger.policy."
_GROUND: Final = ("ledger.cluster.", "ledger.quota.", "ledger.disk.")

OnFolded = Callable[[int], None]
"""Told how many events were folded so far."""


@dataclass(slots=True)
class Candidates:
    """Events before a divergence, by how likely it needs them; gathered page by page."""

    met: Evidence
    ranked: list[list[Told]] = field(default_factory=lambda: [[], [], []])

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
        # Which life it was is part of every decision's id.
        if type_ == RECOVERED or type_.startswith(_POLICY) or self.met.about.touches(subject):
            return 0
        return 1 if type_.startswith(_GROUND) else 2


def smallest(
    found: Candidates,
    trouble: Divergence,
    *,
    most: int = MOST_FOLDED,
    on_folded: OnFolded | None = None,
) -> Slice:
    """The smallest slice found in folding so many events; the one with the World if there is none."""
    if trouble.stage == "chance":
        return found.piece  # It comes out otherwise each time, however little is left of it.
    search = _Search(found, most, on_folded or (lambda _: None))
    events: list[Told] = []
    all_count = found.met.part is not None and found.met.about.everybody
    for ranked in [_together(found.ranked)] if all_count else found.ranked:
        events = _together([events, ranked])
        if len(events) > MOST_EVENTS:
            break
        if search.holds(events):
            left = events if all_count else search.reduced(events)
            return replace(found.piece, world=None, events=(*left, search.last))
    return found.piece


class _Spent(Exception):
    """As many events were folded as may be."""


@dataclass(slots=True)
class _Worlds:
    """Worlds along a set of events, each with how many of them are in it."""

    of: int
    """How many events the set has."""
    kept: list[tuple[int, World]] = field(default_factory=list)

    def keep(self, place: int, world: World) -> None:
        """One more, if it is time for one."""
        if place % (1 + self.of // _KEPT) == 0:
            self.kept.append((place, world))

    def before(self, place: int) -> tuple[int, World] | None:
        """The last one with no event from this place on in it. Later ones are not asked for again."""
        while self.kept and self.kept[-1][0] > place:
            self.kept.pop()
        return self.kept[-1] if self.kept else None


@dataclass(slots=True)
class _Search:
    """Tries sets of events, as long as there is something left to spend."""

    found: Candidates
    most: int
    on_folded: OnFolded
    folded: int = 0
    facts: dict[int, Event] = field(default_factory=dict)

    @property
    def last(self) -> Told:
        return self.found.piece.events[-1]

    def holds(self, events: Sequence[Told], known: tuple[int, World] | None = None) -> bool:
        """Whether the last step comes to the same behind these events alone.

        ``known``: the World behind so many of the first.
        """
        piece = self.found.piece
        try:
            world = at(self._folded(events, known), self.last)
        except _Spent:
            return False
        except Exception:  # noqa: BLE001 - what is left of a history need not make sense
            return False
        self.folded += 1
        self.on_folded(self.folded)
        if seen(world, lambda: self._event(self.last), piece.subject) != self.found.made:
            return False
        wanted = self.found.met.part
        return wanted is None or part(world, self.found.met.about) == wanted

    def reduced(self, events: Sequence[Told]) -> list[Told]:
        """Fewer of them, by subjects first."""
        stays: list[Told] = [] if self.found.met.part is None else self.found.ranked[0]
        positions = {one.position for one in stays}
        by_subject: dict[str, list[Told]] = {}
        for one in events:
            if one.position not in positions:
                by_subject.setdefault(one.subject, []).append(one)
        left = _together(self._fewer(list(by_subject.values()), stays))
        return _together([*self._fewer([[one] for one in left], stays), stays])

    def _fewer(self, groups: list[list[Told]], stays: list[Told]) -> list[list[Told]]:
        """Leave out groups, half of all first and one at last, as long as it holds without."""
        size = (len(groups) + 1) // 2
        while size and not self._is_spent():
            groups = self._without(groups, stays, size)
            size = 0 if size == 1 else (size + 1) // 2
        return groups

    def _without(self, groups: list[list[Told]], stays: list[Told], size: int) -> list[list[Told]]:
        """Leave out so many neighbours at once wherever it can be, from the last to the first.

        Groups are in the order of their first events: what is left out later begins earlier.
        """
        events = _together([*groups, stays])
        worlds = _Worlds(len(events))
        try:
            self._folded(events, keeping=worlds)
        except _Spent:
            return groups
        for start in reversed(range(0, len(groups), size)):
            without = groups[:start] + groups[start + size :]
            first = groups[start][0].position
            alike = sum(one.position < first for one in events)
            if self.holds(_together([*without, stays]), worlds.before(alike)):
                groups = without
            if self._is_spent():
                break
        return groups

    def _folded(
        self,
        events: Sequence[Told],
        known: tuple[int, World] | None = None,
        *,
        keeping: _Worlds | None = None,
    ) -> World:
        """The World behind some events."""
        piece = self.found.piece
        place, world = known or (0, begin(piece.genesis, incarnation=lives.FIRST))
        for behind, one in enumerate(events[place:], place + 1):
            if self._is_spent():
                raise _Spent
            self.folded += 1
            world = advance(at(world, one), self._event(one)).world
            if keeping is not None:
                keeping.keep(behind, world)
        return world

    def _is_spent(self) -> bool:
        return self.folded >= self.most

    def _event(self, one: Told) -> Event:
        if one.position not in self.facts:
            self.facts[one.position] = one.event()
        return self.facts[one.position]


def _together(groups: Iterable[Sequence[Told]]) -> list[Told]:
    return sorted((one for group in groups for one in group), key=lambda one: one.position)
