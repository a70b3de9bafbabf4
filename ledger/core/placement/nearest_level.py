"""GLOBAL by nearest_level: always to the node that comes closest to the usage of the next one.

One by one, each instance goes to the first node, by usage and then by name, that would be strictly
closer to the next higher usage of all nodes than it is now. What counts as next higher is any usage
that some node has, full nodes included. If there is no such node, the instance goes to the node
with the lowest usage after it, then by name. The rule is ours; it gives what eru's description
promises for eru's own example, which the code of eru does not.

Who is chosen depends on everybody else, so there is no way around walking from one to the next. But
where the walk goes in rounds that are alike, they are leaped over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Final

from ledger.core.placement.answer import Placement
from ledger.core.placement.levels import Amount, Field, Rule
from ledger.core.placement.question import Node
from ledger.core.placement.same_rounds import Round
from ledger.errors import InvalidRequest
from ledger.units import NodeName

LONGEST_WALK: Final = 10_000_000
"""Steps after which the question is refused: a few bytes must not cost hours."""

SHORTEST_ROUND: Final = 50
"""Steps between two looks back, at least: looking back is to cost little beside the steps."""

LONGEST_ROUND: Final = 1_000_000
"""Steps between two looks back, at most: what is expected for longer than that hardly comes true."""


@dataclass(frozen=True, slots=True)
class Step:
    """The ``node``, used as much as ``usage`` says until then, takes ``instances`` at once."""

    node: NodeName
    usage: Fraction
    instances: int
    rule: Rule
    next_level: Fraction | None


def walk_to_levels(
    nodes: Sequence[Node], need: int, *, longest_walk: int = LONGEST_WALK
) -> Placement:
    """Place ``need`` instances on ``nodes``, in the order of their names, with capacity for them.

    Raises ``InvalidRequest`` if that takes more steps than the longest walk has.
    """
    takes = [0] * len(nodes)
    steps = _walk(Field(nodes), need)
    for walked, (place, instances, _, _) in enumerate(steps):
        if walked == longest_walk:
            raise InvalidRequest(
                "invalid_request",
                f"count: nearest_level goes node by node and got no further than {longest_walk}"
                " steps; after_usage takes any number",
            )
        takes[place] += instances
    assert sum(takes) == need, "no instance is lost or made up"
    return Placement({node.name: take for node, take in zip(nodes, takes, strict=True) if take})


def stays_below(nodes: Sequence[Node], need: int) -> bool:
    """Whether the walk is the same if there are more nodes, all of which are used more than these.

    ``nodes`` are in the order of their names. It is if every step heads for a level that was there
    when it began: whoever is used more than that is looked at by none of them.
    """
    if sum(node.capacity for node in nodes) < need:
        return False
    field = Field(nodes)
    most_used = field.levels[-1]
    return all(
        rule == "closer" and next_level is not None and next_level <= most_used
        for _, _, rule, next_level in _walk(field, need)
    )


def first_steps(nodes: Sequence[Node], need: int, most: int) -> tuple[Step, ...]:
    """The first steps of that walk, at most so many."""
    field = Field(nodes)
    taken = [0] * len(nodes)
    steps = []
    for place, instances, rule, next_level in islice(_walk(field, need), most):
        node = nodes[place]
        usage = node.usage + taken[place] * node.rate
        level = None if next_level is None else Fraction(next_level, field.unit)
        steps.append(Step(node.name, usage, instances, rule, level))
        taken[place] += instances
    return tuple(steps)


def _walk(field: Field, need: int) -> Iterator[tuple[int, int, Rule, Amount | None]]:
    """Who takes how many at once, by which rule, and which level it heads for."""
    pause = max(len(field.left), SHORTEST_ROUND)
    expected: Round | None = None
    left_then = list(field.left)
    look_back = pause
    while need:
        if look_back:
            place, rule, next_level = field.choose()
            instances = 1 if field.rates[place] else min(field.left[place], need)
            field.place(place, instances)
            yield place, instances, rule, next_level
            need -= instances
            look_back -= 1
            continue
        if expected is not None:
            for place, instances in expected.leap(field, need):
                need -= instances
                yield place, instances, "same_rounds", None
        # Whoever was chosen lately is expected to be chosen again.
        movers = [
            place
            for place, (then, now) in enumerate(zip(left_then, field.left, strict=True))
            if 0 < now < then and field.rates[place]
        ]
        left_then = list(field.left)
        longest = min(need // 2, LONGEST_ROUND)
        expected = Round.expected(field, movers, shortest=pause, longest=longest)
        look_back = expected.steps if expected is not None else pause
