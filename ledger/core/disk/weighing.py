"""All placements of a replica within one set of disks or nodes, compared by the score they leave.

A placement on a member takes the replica's size off that member's usable bytes; its score is the
balance score of the whole set after that. Computing it from scratch for each member would cost a
pass each. One pass is enough: it keeps the sum, the two largest and the two smallest values, and
from these the range after any one change is read off.

Deciding needs even less. Of two members with the same total the one with more usable bytes never
has the worse score: the sum after the placement is the same, taking from the larger one lowers the
maximum at least as far, and the minimum at most as far. So per distinct total one *champion* is
compared, at ``alpha`` 1 a single one for all, and no score is computed at all.

Champions are compared exactly. The one expensive number is the sum of all ratios, a fraction
whose denominator grows with every distinct total; it is first enclosed between two fixed-point
numbers, and worked out in full only for champions that these cannot tell apart.

Ties are broken by more usable bytes before the placement, then by the name. Which members may be
picked at all is left to whoever asks.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import nlargest, nsmallest
from math import lcm
from typing import Final, Generic, Literal, TypeVar

Score = Fraction | Literal["infeasible", "undefined"]
"""The score of a placement, or why it has none."""

Decision = Literal["only", "score", "usable", "name"]
"""What decides a stage. The names are public."""

Value = TypeVar("Value", int, Fraction)

SPARE_BITS: Final = 4
"""Precision of the first comparison beyond what the smallest ratio needs, in bits.

Ratios of bytes need forty or more, which already leaves little to be worked out in full.
"""


ROUGH_BITS: Final = 64
"""Of a score when a stage is ranked."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a set comes to as far as its bytes go: all that a score at ``alpha`` 1 reads of it."""

    members: int
    usable: int
    largest: Sequence[int]
    """The two largest amounts, the larger first; of a single one, that one. So are the next."""
    smallest: Sequence[int]


@dataclass(frozen=True, slots=True)
class Weighing:
    """A set with the replica that is to be placed in it.

    ``usable`` is never below zero here. ``feasible`` are the places in the set that may be picked,
    ``listed`` those that are spoken of; each has at least ``size`` usable bytes. With an ``outline``
    only the first of a larger set are given, in the order of the ranking; ``alpha`` is then 1 or more.
    """

    names: Sequence[str]
    usable: Sequence[int]
    totals: Sequence[int]
    size: int
    alpha: Fraction
    feasible: Sequence[int]
    listed: Sequence[int]
    outline: Outline | None = None

    def best(self, *, undefined_wins: bool) -> int | None:
        """The place with the lowest score; undefined ones come last, or not at all."""
        if not self.feasible:
            return None
        if self.alpha >= 1:
            if not undefined_wins and self._together() <= self.size:
                return None
            return self._champion(self.feasible)
        return self._best_champion(undefined_wins=undefined_wins)

    def scores(self) -> dict[str, Score]:
        """The score of every listed member, in the order of the names."""
        exact = self._exactly(self.feasible)
        return {
            self.names[place]: exact.get(place, "infeasible")
            for place in sorted(self.listed, key=self.names.__getitem__)
        }

    def ranking(self, count: int | None = None) -> dict[int, Score]:
        """The feasible places from the best to the worst with their scores, undefined ones last.

        Asked for the first ``count`` of them, it scores no more of each distinct total.
        """
        exact = self._exactly(self.feasible if count is None else self._shortlist(count))

        def rank(place: int) -> tuple[bool, int, Fraction, int, str]:
            defined = exact[place]
            score = Fraction(0) if isinstance(defined, str) else defined
            # Exact scores may be thousands of digits long: most differ in what comes before them.
            rough = (score.numerator << ROUGH_BITS) // score.denominator
            return score is not defined, rough, score, -self.usable[place], self.names[place]

        return {place: exact[place] for place in sorted(exact, key=rank)[:count]}

    def decided_by(self) -> Decision:
        """What set the best place apart from the second best."""
        first = self.best(undefined_wins=True)
        others = [place for place in self.feasible if place != first]
        second = replace(self, feasible=others).best(undefined_wins=True)
        if first is None or second is None:
            return "only"
        exact = self._exactly([first, second])
        if exact[first] != exact[second]:
            return "score"
        return "usable" if self.usable[first] != self.usable[second] else "name"

    def _together(self) -> int:
        return sum(self.usable) if self.outline is None else self.outline.usable

    def _exactly(self, places: Iterable[int]) -> dict[int, Fraction | Literal["undefined"]]:
        scorer = _Scorer.of(self)
        ratio_sum = scorer.exact_ratio_sum()
        return {
            place: scorer.score(place, ratio_sum) if scorer.is_defined(place) else "undefined"
            for place in places
        }

    def _champion(self, places: Sequence[int]) -> int:
        """The place with the most usable bytes, the first of the names among equals."""
        usable, names = self.usable, self.names
        most = max(usable[place] for place in places)
        return min((place for place in places if usable[place] == most), key=names.__getitem__)

    def _best_champion(self, *, undefined_wins: bool) -> int | None:
        champions = [self._champion(places) for places in self._by_total().values()]
        scorer = _Scorer.of(self)
        defined = [place for place in champions if scorer.is_defined(place)]
        if not defined:
            return self._champion(champions) if undefined_wins else None
        low, high = scorer.rough_ratio_sum()
        # The larger the sum, the lower the score.
        least = min(scorer.score(place, low) for place in defined)
        close = [place for place in defined if scorer.score(place, high) <= least]
        if len(close) == 1:
            return close[0]
        ratio_sum = scorer.exact_ratio_sum()
        exact = {place: scorer.score(place, ratio_sum) for place in close}
        lowest = min(exact.values())
        return self._champion([place for place, score in exact.items() if score == lowest])

    def _shortlist(self, count: int) -> list[int]:
        """Enough places to hold the first ``count`` of the ranking."""
        usable, names = self.usable, self.names

        def order(place: int) -> tuple[int, str]:
            return -usable[place], names[place]

        alike = [self.feasible] if self.alpha >= 1 else self._by_total().values()
        return [place for places in alike for place in nsmallest(count, places, key=order)]

    def _by_total(self) -> dict[int, list[int]]:
        alike: dict[int, list[int]] = {}
        for place in self.feasible:
            alike.setdefault(self.totals[place], []).append(place)
        return alike


def weigh(
    usable: Mapping[str, int],
    totals: Mapping[str, int],
    *,
    size: int,
    alpha: Fraction,
    restrict_to: Iterable[str] | None = None,
) -> Weighing:
    """One stage by itself: the set stays whole, ``restrict_to`` limits what is scored and picked.

    Usable bytes below zero count as none.
    """
    names = sorted(usable)
    clamped = [max(0, usable[name]) for name in names]
    wanted = None if restrict_to is None else frozenset(restrict_to)
    listed = [place for place, name in enumerate(names) if wanted is None or name in wanted]
    return Weighing(
        names=names,
        usable=clamped,
        totals=[totals.get(name, 0) for name in names],
        size=size,
        alpha=alpha,
        feasible=[place for place in listed if clamped[place] >= size],
        listed=listed,
    )


@dataclass(frozen=True, slots=True)
class _Extremes(Generic[Value]):
    """The two largest and the two smallest values of a set; of a single one, that one."""

    largest: Sequence[Value]
    smallest: Sequence[Value]

    @staticmethod
    def of(values: Sequence[Value]) -> "_Extremes[Value]":
        return _Extremes(nlargest(2, values), nsmallest(2, values))

    def range_after(self, before: Value, after: Value) -> Value:
        """The range once the member that had ``before`` has ``after``, which is not more."""
        if len(self.largest) == 1:
            return after - after
        top = self.largest[1] if before == self.largest[0] else self.largest[0]
        bottom = self.smallest[1] if before == self.smallest[0] else self.smallest[0]
        return max(after, top) - min(after, bottom)


@dataclass(frozen=True, slots=True)
class _Scorer:
    """What one pass over a set leaves, enough to score any placement in it.

    The sum of the ratios is handed to ``score`` and not kept: a rough one is enough to tell most
    placements apart.
    """

    weighing: Weighing
    by_bytes: bool
    """Whether bytes have a part in the score; the next: whether ratios have."""
    by_ratios: bool
    byte_members: int
    bytes_left: int
    bytes_extremes: _Extremes[int]
    # Of the members that have a total: how many, the sum of their usable bytes, their ratios'
    # extremes, and the sum of usable bytes per distinct total.
    members: int
    usable: int
    ratio_extremes: _Extremes[Fraction]
    usable_by_total: Mapping[int, int]

    @staticmethod
    def of(weighing: Weighing) -> "_Scorer":
        by_total: dict[int, list[int]] = {}
        by_ratios = weighing.alpha < 1
        if by_ratios:
            for amount, total in zip(weighing.usable, weighing.totals, strict=True):
                if total > 0:
                    by_total.setdefault(total, []).append(amount)
        # Among equal totals only the two largest and smallest amounts can be extreme ratios.
        largest = [
            Fraction(one, t) for t, amounts in by_total.items() for one in nlargest(2, amounts)
        ]
        smallest = [
            Fraction(one, t) for t, amounts in by_total.items() for one in nsmallest(2, amounts)
        ]
        usable_by_total = {total: sum(amounts) for total, amounts in by_total.items()}
        outline = weighing.outline
        if outline is None:
            members = len(weighing.usable)
            extremes = _Extremes.of(weighing.usable)
        else:
            assert not by_ratios, "an outline says nothing of ratios"
            members = outline.members
            extremes = _Extremes(outline.largest, outline.smallest)
        return _Scorer(
            weighing=weighing,
            by_bytes=weighing.alpha > 0,
            by_ratios=by_ratios,
            byte_members=members,
            bytes_left=weighing._together() - weighing.size,  # noqa: SLF001 - both are of one module
            bytes_extremes=extremes,
            members=sum(map(len, by_total.values())),
            usable=sum(usable_by_total.values()),
            ratio_extremes=_Extremes(nlargest(2, largest), nsmallest(2, smallest)),
            usable_by_total=usable_by_total,
        )

    def is_defined(self, place: int) -> bool:
        """Whether a placement leaves a sum above zero in each half that counts."""
        in_ratios = self.weighing.size if self.weighing.totals[place] > 0 else 0
        return not (
            (self.by_bytes and self.bytes_left <= 0)
            or (self.by_ratios and self.usable <= in_ratios)
        )

    def score(self, place: int, ratio_sum: Fraction) -> Fraction:
        """The score of a placement, given the sum of all ratios before it."""
        weighing = self.weighing
        before, size, total = weighing.usable[place], weighing.size, weighing.totals[place]
        score = Fraction(0)
        if self.by_bytes:
            spread = self.bytes_extremes.range_after(before, before - size)
            score = Fraction(spread * self.byte_members, self.bytes_left)
        if self.by_ratios:
            alpha = max(weighing.alpha, Fraction(0))
            score *= alpha
            taken = Fraction(size, total) if total > 0 else Fraction(0)
            if total > 0:
                ratio = Fraction(before, total)
                spread_of_ratios = self.ratio_extremes.range_after(ratio, ratio - taken)
            else:
                extremes = self.ratio_extremes
                spread_of_ratios = extremes.largest[0] - extremes.smallest[0]
            # The power makes no number anew, so that all that is left to cancel is small.
            score += (1 - alpha) * self.members * spread_of_ratios * (ratio_sum - taken) ** -1
        return score

    def exact_ratio_sum(self) -> Fraction:
        """The sum of all ratios, over the least common multiple of the totals."""
        common = lcm(*self.usable_by_total)
        return Fraction(
            sum(usable * (common // total) for total, usable in self.usable_by_total.items()),
            common,
        )

    def rough_ratio_sum(self) -> tuple[Fraction, Fraction]:
        """Two numbers that the sum of all ratios lies between.

        They are nearer to each other than the smallest ratio there can be, so that what is left of
        the sum after a placement stays above zero if it is.
        """
        parts = self.usable_by_total
        bits = max(parts, default=0).bit_length() + len(parts).bit_length() + SPARE_BITS
        low = sum((usable << bits) // total for total, usable in parts.items())
        return Fraction(low, 1 << bits), Fraction(low + len(parts), 1 << bits)
