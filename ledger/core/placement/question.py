"""What a placement is asked, and what makes the question malformed.

Each node comes with its *capacity*, how many more instances it could take; where that number comes
from is the business of whoever measures cpu, memory and volumes. The *count* of a node is how many
instances of the same application it holds already, those that are just being created included: if
they were left out, two questions in a row would pile up on one node. *Usage* is the part of the
node that is taken, and *rate* the part that one more instance would take.

The checks come in a fixed order, because a question that is wrong in two ways must be refused with
the same code by everybody: strategy, count, limit, nodes, policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from operator import attrgetter
from typing import Final, Literal, get_args

from ledger.core.shares import require_count
from ledger.errors import InvalidRequest
from ledger.units import LARGEST_WHOLE_NUMBER, NodeName

Strategy = Literal["AUTO", "FILL", "EACH", "GLOBAL", "DRAINED"]
"""How the instances are spread; the names are eru's. AUTO is Communism and EACH is Average."""

Policy = Literal["nearest_level", "after_usage"]
"""What GLOBAL calls an even usage. The other strategies do not look at it."""

INFINITE: Final = LARGEST_WHOLE_NUMBER
"""The capacity of a node that nothing limits: a number like any other, and the largest there is.

A sum of capacities stays at it, so nobody is ever asked to hold more than this.
"""

UNUSED: Final = Fraction(0)


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the strategies see it. A negative capacity is none, anything too large is infinite."""

    name: NodeName
    capacity: int
    count: int = 0
    usage: Fraction = UNUSED
    rate: Fraction = UNUSED

    @property
    def within_reach(self) -> int:
        """How many instances it could hold at most, those that it holds already included."""
        return self.count + self.capacity


@dataclass(frozen=True, slots=True)
class Request:
    """``count`` instances by ``strategy`` on ``nodes``.

    What ``nodes_limit`` limits depends on the strategy: for AUTO how many instances a node may
    hold, for FILL and EACH how many nodes are chosen; GLOBAL and DRAINED do not look at it. 0 is
    no limit.
    """

    strategy: Strategy
    count: int
    nodes: Sequence[Node]
    nodes_limit: int = 0
    policy: Policy = "nearest_level"


def checked(request: Request) -> tuple[Node, ...]:
    """The nodes in the order of their names, with capacities from 0 to infinite.

    Raises ``InvalidRequest`` for a question that means nothing.
    """
    if request.strategy not in get_args(Strategy):
        raise InvalidRequest("invalid_strategy", f"strategy: there is no {request.strategy!r}")
    _require_whole("count", request.count)
    if request.count <= 0:
        raise InvalidRequest("invalid_count", f"count: {request.count} is nothing to place")
    _require_whole("nodes_limit", request.nodes_limit)
    if request.nodes_limit < 0:
        raise InvalidRequest(
            "invalid_nodes_limit",
            f"nodes_limit: {request.nodes_limit} is below 0, which is no limit",
        )
    for node in request.nodes:
        _require_valid(node)
    # Code points sort as their UTF-8 bytes do, so this is the order of the bytes.
    nodes = sorted(request.nodes, key=attrgetter("name"))
    _require_different(nodes)
    if request.strategy == "GLOBAL" and request.policy not in get_args(Policy):
        raise InvalidRequest("invalid_request", f"policy: there is no {request.policy!r}")
    return tuple(
        node
        if 0 <= node.capacity <= INFINITE
        else replace(node, capacity=min(max(node.capacity, 0), INFINITE))
        for node in nodes
    )


def _require_valid(node: Node) -> None:
    # Ten thousand nodes come through here: the parts of the rule are told apart once one has failed.
    if (
        type(node.count) is int
        and type(node.capacity) is int
        and type(node.usage) is type(node.rate) is Fraction
        and node.count >= 0
        and node.usage.numerator >= 0
        and node.rate.numerator >= 0
    ):
        return
    require_count(f"count of {node.name}", node.count)
    _require_whole(f"capacity of {node.name}", node.capacity)
    raise InvalidRequest(
        "invalid_request",
        f"{node.name}: usage {node.usage} and rate {node.rate} are not both fractions from 0 up",
    )


def _require_whole(what: str, number: int) -> None:
    if type(number) is not int:
        raise InvalidRequest("invalid_request", f"{what}: {number!r} is not a whole number")


def _require_different(nodes: Sequence[Node]) -> None:
    """Refuse two nodes of one name; they stand next to each other."""
    if len({node.name for node in nodes}) < len(nodes):
        twice = next(one.name for one, other in pairwise(nodes) if one.name == other.name)
        raise InvalidRequest("invalid_request", f"nodes: {twice} is there twice")
