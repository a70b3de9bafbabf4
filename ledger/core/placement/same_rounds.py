"""Rounds of a walk that are alike, and how many of them may be leaped over.

Whom nearest_level chooses depends on how the usages lie to one another, not on where they lie. So if
all nodes that were chosen for a while, the *movers*, have risen by the same amount, and everybody
else stands where they stood, the same happens again, until something comes into play that did not
move along: a mover becomes full, a level lies ahead, or a node that was left behind has so much
space above it that its turn comes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import lcm

from ledger.core.placement.levels import Amount, Field


@dataclass(frozen=True, slots=True)
class Round:
    """What has to happen in the next ``steps`` for those after them to be alike.

    That is: each of the ``movers`` takes what it gains here, which raises it by ``rise``.
    """

    steps: int
    rise: int
    movers: Sequence[int]
    gains: Sequence[int]
    left_before: Sequence[int]
    lowest: Amount

    @classmethod
    def expected(
        cls, field: Field, movers: Sequence[int], *, shortest: int, longest: int
    ) -> "Round | None":
        """The round of at least ``shortest`` steps if ``movers`` are chosen and nobody else.

        None if it would take more than ``longest`` steps, or if there cannot be one.
        """
        if not field.whole or not movers:
            return None
        rates = [int(field.rates[place]) for place in movers]
        rise = 1
        for rate in sorted(set(rates)):
            rise = lcm(rise, rate)
            if rise > longest * max(rates):
                return None
        steps = sum(rise // rate for rate in rates)
        times = -(-shortest // steps)
        if times * steps > longest:
            return None
        return cls(
            steps=times * steps,
            rise=times * rise,
            movers=movers,
            gains=[times * rise // rate for rate in rates],
            left_before=[field.left[place] for place in movers],
            lowest=min(field.usages[place] for place in movers),
        )

    def leap(self, field: Field, need: int) -> list[tuple[int, int]]:
        """Repeat the round, once its steps are done, as often as it is alike; who takes how many.

        Nothing is repeated, and nobody takes any, if it was not the round that was expected.
        """
        left = [field.left[place] for place in self.movers]
        if any(
            before - after != gain
            for before, after, gain in zip(self.left_before, left, self.gains, strict=True)
        ):
            return []
        times = min(
            need // self.steps,
            *(after // gain for after, gain in zip(left, self.gains, strict=True)),
        )
        times = min([times, *self._until_met(field)])
        if times <= 0:
            return []
        taken = [(place, times * gain) for place, gain in zip(self.movers, self.gains, strict=True)]
        for place, instances in taken:
            field.left[place] -= instances
            field.usages[place] += times * self.rise
        field.line_up()
        return taken

    def _until_met(self, field: Field) -> Iterator[int]:
        """How many more of these rounds there are at most before those who stand come into play."""
        moving = frozenset(self.movers)
        standing = [place for place in range(len(field.left)) if place not in moving]
        ahead = [usage for place in standing if (usage := field.usages[place]) >= self.lowest]
        behind = [usage for place in standing if (usage := field.usages[place]) < self.lowest]
        if ahead:
            # Below it the foremost mover always comes closer, so nobody is chosen for being lowest.
            foremost = max(field.usages[place] for place in self.movers)
            reach = foremost + max(field.rates[place] for place in self.movers)
            yield int(min(ahead) - reach - 1) // self.rise
        elif any(field.left[place] for place in standing):
            yield 0
        if behind:
            # The next level of those just behind the movers is that of the last mover.
            just_behind = max(behind)
            space = min(field.usages[place] for place in self.movers) - just_behind
            for place in standing:
                if field.usages[place] == just_behind and field.left[place]:
                    yield int(field.rates[place] - 2 * space) // (2 * self.rise)
