"""Draws what Hypothesis' strategies say, without what Hypothesis does to shrink a draw afterwards.

Of an example that holds nothing is needed but its values. Hypothesis however writes down every choice
with its span, keeps a tree of all that was tried, and inspects each strategy that is made inside a
draw: nine tenths of the time of a law of the core. Here a strategy becomes a function without
arguments, once, and luck comes from one stream that is seeded anew for every example, so that example
number n of a seed can be had again by itself. ``long_run`` asks for this; every other run of the laws is
Hypothesis' own.

What is drawn, and how often, follows Hypothesis:

- An integer between bounds at most 256 apart: each alike. Further apart: the ends with 2/128 each and
  their neighbours with 1/128 each; with 5 % one of Hypothesis' constants within the bounds (powers of two
  and ten, factorials, each with its neighbours; or those that stand in our own code); else small numbers
  alike and large ones less the longer they are, from Hypothesis' own distribution.
- One of several, flattened as Hypothesis does it: each alike. Collections: as long as Hypothesis makes
  them; without replacement where it does.
- Text: 5 % strings that have hurt others, else four of five characters from the first 256.

What is missing: parts of an example that repeat other parts of it (Hypothesis copies spans now and
then), examples that are small all over, and telling an example from one that was there before: of laws
with few different examples, many come several times.

It leans on what Hypothesis keeps to itself: the classes of strategies and how they remember what they
were made of. There is no public way to ask that, and a strategy that is not understood is refused by
``NotUnderstood`` rather than drawn otherwise. The version is pinned, and the tests of this module look at
every kind of strategy.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, wraps
from random import Random
from typing import Any, Final, NewType, cast

from hypothesis import strategies as st
from hypothesis.control import BuildContext
from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.internal.conjecture import providers
from hypothesis.internal.conjecture.choice import choice_permitted
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.utils import _calc_p_continue as calc_p_continue
from hypothesis.strategies._internal import collections as several
from hypothesis.strategies._internal import core, misc, numbers, strings
from hypothesis.strategies._internal.flatmapped import FlatMapStrategy
from hypothesis.strategies._internal.lazy import LazyStrategy, unwrap_strategies
from hypothesis.strategies._internal.random import RandomStrategy
from hypothesis.strategies._internal.strategies import (
    FilteredStrategy,
    MappedStrategy,
    OneOfStrategy,
    SampledFromStrategy,
)

Draw = Callable[..., Any]
Condition = Callable[[Any], object]

TRIES: Final = 3
"""How often a filter is asked before the example is given up, as in Hypothesis."""

NOTHING: Final = object()
"""A draw that was filtered out; None is a value like any other."""

MANY_KEPT: Final = 4_096
"""As many strategies are kept of those that are made inside draws."""

MADE_INSIDE_DRAWS: Final = (
    *("booleans", "builds", "dictionaries", "integers", "just", "lists", "none"),
    *("one_of", "permutations", "sampled_from", "sets", "tuples"),
)

Strategy = st.SearchStrategy[Any]

# Hypothesis says neither what a lazy strategy is made of nor what it becomes.
unwrapped: Callable[[Strategy], Strategy] = unwrap_strategies
INTEGERS: Final = cast("Any", st.integers()).function
GLOBAL_INTEGERS: Final = sorted(providers.GLOBAL_CONSTANTS.integers)
BUILDS: Final = cast("Any", st.builds(Fraction, st.just(0))).function


class NotUnderstood(Exception):
    """A strategy of a kind that is drawn by Hypothesis alone."""


class QuickDraws:
    """Values of strategies, from one stream of luck."""

    def __init__(self) -> None:
        self.random = Random(0)
        self.data = QuickData(self.draw, self.random)
        # Bounds come again and again; what they allow is looked up once.
        self._integers: dict[tuple[int | None, int | None], Draw] = {}

    def seed(self, seed: int, example: int) -> None:
        """Whatever is drawn from here on is this example's."""
        self.random.seed((seed << 64) + example)

    def draw(self, strategy: Strategy, label: object = None) -> Any:
        """One value. The label is for people who read a shrunk example."""
        return self.of(strategy)()

    def of(self, strategy: Strategy) -> Draw:
        """The function that draws from it, made once for each strategy."""
        mine: tuple[QuickDraws, Draw] | None = strategy.__dict__.get("_quick_draws")
        if mine is not None and mine[0] is self:
            return mine[1]
        draw = self._made(strategy)
        strategy.__dict__["_quick_draws"] = (self, draw)
        return draw

    def _made(self, strategy: Strategy) -> Draw:
        if isinstance(strategy, LazyStrategy):
            return self._without_unwrapping(strategy) or self.of(unwrapped(strategy))
        maker = MAKERS.get(type(strategy))
        if maker is None:
            raise NotUnderstood(f"{type(strategy).__name__}: {strategy!r}")
        draw: Draw = maker(self, strategy)
        return draw

    def _without_unwrapping(self, strategy: Any) -> Draw | None:
        """The parts of a fraction, which Hypothesis makes anew for every denominator."""
        args, named = strategy._LazyStrategy__args, strategy._LazyStrategy__kwargs
        if strategy._transformations or (strategy.function is BUILDS) != (args[:1] == (Fraction,)):
            return None
        if strategy.function is BUILDS and not named:
            numerator, denominator = self._each(args[1:])
            return lambda: Fraction(numerator(), denominator())
        if strategy.function is INTEGERS and not args and len(named) == 2:
            return self.between(named["min_value"], named["max_value"])
        return None

    def _each(self, strategies: Sequence[Strategy]) -> list[Draw]:
        return [self.of(strategy) for strategy in strategies]

    def integers(self, strategy: numbers.IntegersStrategy) -> Draw:
        return self.between(strategy.start, strategy.end)

    def between(self, least: int | None, most: int | None) -> Draw:
        draw = self._integers.get((least, most))
        if draw is None:
            if len(self._integers) >= MANY_KEPT:
                self._integers.clear()
            draw = self._integers[least, most] = self._between(least, most)
        return draw

    def _between(self, least: int | None, most: int | None) -> Draw:
        random = self.random.random
        if least is not None and most is not None and most - least <= 256:
            low, width = least, most - least + 1
            return lambda: low + int(random() * width)
        pools = [
            (pool, first, end - first)
            for pool in (GLOBAL_INTEGERS, own_integers())
            for first in [0 if least is None else bisect_left(pool, least)]
            for end in [len(pool) if most is None else bisect_right(pool, most)]
            if first < end
        ]
        spread = providers.HypothesisProvider(self.data.conjecture)
        ends = (
            [] if least is None or most is None else [least, least, least + 1, most - 1, most, most]
        )

        def integer() -> int:
            if pools and random() < 0.05:
                pool, first, size = pools[int(random() * len(pools))]
                return pool[first + int(random() * size)]
            if ends and random() * 128 < len(ends):
                return ends[int(random() * len(ends))]
            return spread._draw_integer_from_distribution(least, most)

        return integer

    def booleans(self, strategy: Strategy) -> Draw:
        random = self.random.random
        return lambda: random() < 0.5

    def sampled(self, strategy: SampledFromStrategy[Any]) -> Draw:
        random, elements = self.random.random, strategy.elements
        size = len(elements)
        steps = strategy._transformations
        if not steps:
            return lambda: elements[int(random() * size)]

        def element() -> Any:
            for _ in range(TRIES):
                found = transformed(elements[int(random() * size)], steps)
                if found is not NOTHING:
                    return found
            allowed = [
                found for one in elements if (found := transformed(one, steps)) is not NOTHING
            ]
            if not allowed:
                raise UnsatisfiedAssumption
            return allowed[int(random() * len(allowed))]

        return element

    def just(self, strategy: misc.JustStrategy[Any]) -> Draw:
        value, steps = strategy.value, strategy._transformations
        if not steps:
            return lambda: value

        def constant() -> Any:
            found = transformed(value, steps)
            if found is NOTHING:
                raise UnsatisfiedAssumption
            return found

        return constant

    def one_of(self, strategy: OneOfStrategy[Any]) -> Draw:
        random, draws = self.random.random, self._each(strategy.element_strategies)
        size = len(draws)

        def one() -> Any:
            draw = draws[int(random() * size)]
            return draw()

        return one

    def mapped(self, strategy: MappedStrategy[Any, Any]) -> Draw:
        draw, change = self.of(strategy.mapped_strategy), strategy.pack
        if isinstance(change, NewType):
            return draw

        def changed() -> Any:
            for _ in range(TRIES - 1):
                try:
                    return change(draw())
                except UnsatisfiedAssumption:
                    continue
            return change(draw())

        return changed

    def filtered(self, strategy: FilteredStrategy[Any]) -> Draw:
        attempt = self._attempt(strategy.filtered_strategy, strategy.flat_conditions)

        def found() -> Any:
            value = attempt()
            if value is NOTHING:
                raise UnsatisfiedAssumption
            return value

        return found

    def _attempt(self, strategy: Strategy, conditions: tuple[Condition, ...]) -> Draw:
        """A value that meets the conditions, or nothing."""
        draw = self.of(strategy)

        def attempt() -> Any:
            for _ in range(TRIES):
                value = draw()
                if all(condition(value) for condition in conditions):
                    return value
            return NOTHING

        return attempt

    def tuples(self, strategy: several.TupleStrategy[Any]) -> Draw:
        draws = self._each(strategy.element_strategies)
        return lambda: tuple([draw() for draw in draws])

    def lists(self, strategy: several.ListStrategy[Any]) -> Draw:
        draw, long_enough = self.of(strategy.element_strategy), self._stops(strategy)

        def values() -> list[Any]:
            drawn: list[Any] = []
            while not long_enough(len(drawn)):
                drawn.append(draw())
            return drawn

        return values

    def _stops(self, strategy: several.ListStrategy[Any]) -> Callable[[int], bool]:
        """Whether so many are enough; the lengths are Hypothesis' own."""
        least, most = strategy.min_size, strategy.max_size
        if least == most:
            return lambda size: size >= least
        random = self.random.random
        more = calc_p_continue(strategy.average_size - least, most - least)
        return lambda size: size >= least and (size >= most or random() >= more)

    def unique_lists(self, strategy: several.UniqueListStrategy[Any]) -> Draw:
        draw, long_enough = self.of(strategy.element_strategy), self._stops(strategy)
        keys, least = strategy.keys, strategy.min_size
        suffixes = None if strategy.tuple_suffixes is None else self.of(strategy.tuple_suffixes)

        def values() -> list[Any]:
            drawn: list[Any] = []
            seen: list[set[Any]] = [set() for _ in keys]
            refused = 0
            while not long_enough(len(drawn)):
                for _ in range(TRIES):
                    value = draw()
                    marks = [key(value) for key in keys]
                    if all(mark not in some for mark, some in zip(marks, seen, strict=True)):
                        break
                else:
                    refused += 1
                    if refused > max(3, 2 * len(drawn)):
                        if len(drawn) < least:
                            raise UnsatisfiedAssumption
                        return drawn
                    continue
                for mark, some in zip(marks, seen, strict=True):
                    some.add(mark)
                drawn.append(value if suffixes is None else (value, *suffixes()))
            return drawn

        return values

    def unique_samples(self, strategy: several.UniqueSampledListStrategy) -> Draw:
        sampled = strategy.element_strategy
        assert isinstance(sampled, SampledFromStrategy)
        random, elements, steps = self.random.random, sampled.elements, sampled._transformations
        long_enough, keys, least = self._stops(strategy), strategy.keys, strategy.min_size
        suffixes = None if strategy.tuple_suffixes is None else self.of(strategy.tuple_suffixes)

        def values() -> list[Any]:
            drawn: list[Any] = []
            seen: list[set[Any]] = [set() for _ in keys]
            left = list(elements)
            refused = 0
            while left and not long_enough(len(drawn)):
                value = transformed(left.pop(int(random() * len(left))), steps)
                if value is NOTHING or any(
                    key(value) in some for key, some in zip(keys, seen, strict=True)
                ):
                    refused += 1
                    if refused > max(3, 2 * len(drawn)):
                        break
                    continue
                for key, some in zip(keys, seen, strict=True):
                    some.add(key(value))
                drawn.append(value if suffixes is None else (value, *suffixes()))
            if len(drawn) < least:
                raise UnsatisfiedAssumption
            return drawn

        return values

    def fixed(self, strategy: several.FixedDictStrategy) -> Draw:
        draws = [(key, self.of(value)) for key, value in strategy.mapping.items()]
        optional = [
            (key, self.of(value))
            for key, value in (strategy.optional or {}).items()
            if not value.is_empty
        ]
        # Half of those that may be there, and each number of them about as often as in Hypothesis.
        more = calc_p_continue(len(optional) / 2, len(optional)) if optional else 0.0
        random, shuffle = self.random.random, self.random.shuffle

        def mapping() -> Mapping[Any, Any]:
            pairs = [(key, draw()) for key, draw in draws]
            left = optional[:]
            while left and random() < more:
                key, draw = left.pop(int(random() * len(left)))
                pairs.append((key, draw()))
            shuffle(pairs)
            return dict(pairs)

        return mapping

    def built(self, strategy: core.BuildsStrategy[Any]) -> Draw:
        target, args = strategy.target, self._each(strategy.args)
        named = [(name, self.of(value)) for name, value in strategy.kwargs.items()]
        if not named:
            return lambda: target(*[draw() for draw in args])
        return lambda: target(*[draw() for draw in args], **{name: draw() for name, draw in named})

    def composite(self, strategy: core.CompositeStrategy) -> Draw:
        definition, args, kwargs = strategy.definition, strategy.args, strategy.kwargs
        return lambda: definition(self.draw, *args, **kwargs)

    def flat_mapped(self, strategy: FlatMapStrategy[Any, Any]) -> Draw:
        draw, expand = self.of(strategy.base), strategy.expand
        kept: dict[object, Draw] = {}

        def expanded() -> Any:
            value = draw()
            if type(value) not in (bool, int, str):
                return self.of(expand(value))()
            key = (type(value), value)
            then = kept.get(key)
            if then is None:
                if len(kept) >= MANY_KEPT:
                    kept.clear()
                then = kept[key] = self.of(expand(value))
            return then()

        return expanded

    def drawn_inside(self, strategy: Strategy) -> Draw:
        return lambda: self.data

    def randoms(self, strategy: RandomStrategy) -> Draw:
        # The law shuffles with the stream of its example; nothing else is asked of it.
        return lambda: self.random

    def permuted(self, strategy: core.PermutationStrategy) -> Draw:
        values, shuffle = strategy.values, self.random.shuffle

        def permutation() -> list[Any]:
            order = list(values)
            shuffle(order)
            return order

        return permutation

    def characters(self, strategy: strings.OneCharStringStrategy) -> Draw:
        return self._text(strategy.intervals, lambda size: size >= 1, least=1, most=1)

    def text(self, strategy: strings.TextStrategy) -> Draw:
        letters = unwrapped(strategy.element_strategy)
        if not isinstance(letters, strings.OneCharStringStrategy):
            words = self.lists(strategy)
            return lambda: "".join(words())
        most = strategy.max_size
        return self._text(
            letters.intervals,
            self._stops(strategy),
            least=strategy.min_size,
            most=providers.COLLECTION_DEFAULT_MAX_SIZE if most == math.inf else int(most),
        )

    def _text(
        self, letters: Any, long_enough: Callable[[int], bool], *, least: int, most: int
    ) -> Draw:
        random, letter = self.random.random, letters.char_in_shrink_order
        all_letters = len(letters)
        first = min(256, all_letters)
        bounds: Any = {"intervals": letters, "min_size": least, "max_size": most}
        pools = [
            [text for text in texts if choice_permitted(text, bounds)]
            for texts in (
                providers.GLOBAL_CONSTANTS.strings,
                providers._get_local_constants().strings,
            )
        ]
        pools = [pool for pool in pools if pool]

        def text() -> str:
            if pools and random() < 0.05:
                pool = pools[int(random() * len(pools))]
                return pool[int(random() * len(pool))]
            drawn: list[str] = []
            while not long_enough(len(drawn)):
                if all_letters > first and random() < 0.2:
                    place = first + int(random() * (all_letters - first))
                else:
                    place = int(random() * first)
                drawn.append(letter(place))
            return "".join(drawn)

        return text


class QuickData:
    """What a law that asks for ``st.data()`` is given."""

    def __init__(self, draw: Draw, random: Random) -> None:
        self._draw = draw
        self.heard: list[Any] | None = None
        """What was drawn while the law ran, where somebody asks for it."""
        self.conjecture = ConjectureData(random=random)

    def draw(self, strategy: Strategy, label: object = None) -> Any:
        value = self._draw(strategy)
        if self.heard is not None:
            self.heard.append(value)
        return value


MAKERS: Final[dict[type, Callable[[QuickDraws, Any], Draw]]] = {
    numbers.IntegersStrategy: QuickDraws.integers,
    misc.BooleansStrategy: QuickDraws.booleans,
    misc.JustStrategy: QuickDraws.just,
    SampledFromStrategy: QuickDraws.sampled,
    OneOfStrategy: QuickDraws.one_of,
    MappedStrategy: QuickDraws.mapped,
    FilteredStrategy: QuickDraws.filtered,
    several.TupleStrategy: QuickDraws.tuples,
    several.ListStrategy: QuickDraws.lists,
    several.UniqueListStrategy: QuickDraws.unique_lists,
    several.UniqueSampledListStrategy: QuickDraws.unique_samples,
    several.FixedDictStrategy: QuickDraws.fixed,
    core.BuildsStrategy: QuickDraws.built,
    core.CompositeStrategy: QuickDraws.composite,
    core.DataStrategy: QuickDraws.drawn_inside,
    core.PermutationStrategy: QuickDraws.permuted,
    FlatMapStrategy: QuickDraws.flat_mapped,
    RandomStrategy: QuickDraws.randoms,
    strings.OneCharStringStrategy: QuickDraws.characters,
    strings.TextStrategy: QuickDraws.text,
}


@cache
def own_integers() -> list[int]:
    """Those that stand in our own modules, as far as they were imported before the first was drawn."""
    return sorted(providers._get_local_constants().integers)


def transformed(value: Any, steps: Sequence[tuple[str, Callable[[Any], Any], Any]]) -> Any:
    for name, step, _ in steps:
        if name == "map":
            value = step(value)
        elif not step(value):
            return NOTHING
    return value


@contextmanager
def drawing_quickly(draws: QuickDraws, law: Callable[..., object]) -> Iterator[None]:
    """``assume`` and the like work, and strategies that are made inside draws are made once.

    A law makes them anew for every example, mostly with the arguments of one before.
    """
    originals = {name: getattr(st, name) for name in MADE_INSIDE_DRAWS}
    for name, original in originals.items():
        setattr(st, name, remembering(original))
    try:
        with BuildContext(draws.data.conjecture, is_final=False, wrapped_test=law):
            yield
    finally:
        for name, original in originals.items():
            setattr(st, name, original)


def remembering(make: Callable[..., Strategy]) -> Callable[..., Strategy]:
    """The same strategy for the same arguments, told apart by their types as well: True is 1."""
    kept: dict[object, Strategy] = {}

    @wraps(make)
    def made(*args: Any, **kwargs: Any) -> Strategy:
        parts = [hashable(part) for part in (*args, *kwargs.values())]
        key = (len(args), *kwargs, *parts)
        try:
            found = kept.get(key)
        except TypeError:
            return make(*args, **kwargs)
        if found is None:
            if len(kept) >= MANY_KEPT:
                kept.clear()
            found = kept[key] = make(*args, **kwargs)
        return found

    return made


def hashable(part: Any) -> object:
    kind = type(part)
    if kind in (list, tuple):
        return (kind, *((type(one), one) for one in part))
    return (kind, part)
