"""Why each node got what it got.

A placement of ten thousand nodes is asked for often and looked into seldom, so the reasons are not
made with it. They follow from the question and the answer.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from ledger.core.placement.answer import Placement
from ledger.core.placement.drained import drain_order
from ledger.core.placement.each import each_order
from ledger.core.placement.fill import can_hold, fill_order
from ledger.core.placement.question import Node, Request, checked
from ledger.units import NodeName

Reason = Literal[
    "raised",
    "last_round",
    "topped_up",
    "chosen",
    "used_up",
    "took_rest",
    "least_used_after",
    "came_next",
    "no_capacity",
    "at_limit",
    "above_level",
    "after_last_round",
    "holds_enough",
    "cannot_reach",
    "too_small",
    "more_used_after",
    "never_next",
    "not_needed",
]
"""Why a node got its instances, or got none. The names are public (docs/core/placement.md)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a node: ``added`` instances, and the reason for them or for there being none."""

    node: Node
    added: int
    reason: Reason


def outcomes(request: Request, placement: Placement) -> tuple[Outcome, ...]:
    """What became of every node, in the order in which the strategy looks at them.

    ``placement`` is the answer to ``request``.
    """
    strategy = request.policy if request.strategy == "GLOBAL" else request.strategy
    return tuple(_OUTCOMES[strategy](request, placement))


def left_out(request: Request, placement: Placement) -> list[tuple[NodeName, Reason]]:
    """Who of those asked got nothing, and why: what ``outcomes`` says of them, in no order."""
    if request.strategy == "FILL":
        # Who is needed depends on who was looked at before.
        return [
            (one.node.name, one.reason) for one in outcomes(request, placement) if not one.added
        ]
    deploy = placement.deploy
    return [
        (node.name, passed_by(node.capacity, node.count, request, placement))
        for node in request.nodes
        if node.name not in deploy
    ]


def passed_by(capacity: int, count: int, request: Request, placement: Placement) -> Reason:
    """Why nothing came to a node of so much room that holds so many.

    By FILL it is none that could hold enough and comes before the last that was chosen. Of a node that
    holds none it only matters whether it has room for ``least_room``.
    """
    if request.strategy == "FILL":
        return "cannot_reach" if count + capacity < request.count else "not_needed"
    if request.strategy == "EACH":
        return "too_small" if capacity < request.count else "not_needed"
    if capacity <= 0:
        return "no_capacity"
    if request.strategy == "AUTO":
        assert placement.level is not None
        if 0 < request.nodes_limit <= count:
            return "at_limit"
        return "above_level" if count > placement.level else "after_last_round"
    return _NEEDLESS[request.policy if request.strategy == "GLOBAL" else request.strategy]


def least_room(request: Request) -> int:
    """Room for how many makes a difference to who gets nothing."""
    return request.count if request.strategy in {"FILL", "EACH"} else 1


def highest_usage(request: Request, placement: Placement) -> Fraction:
    """What the node is used that is used most of those that got any.

    By ``after_usage`` no other node would have been used less than that with one instance more.
    """
    return max(
        node.usage + placement.deploy[node.name] * node.rate
        for node in request.nodes
        if node.name in placement.deploy
    )


def _reason(node: Node, request: Request, placement: Placement) -> Reason:
    return passed_by(node.capacity, node.count, request, placement)


def _of_auto(request: Request, placement: Placement) -> Iterator[Outcome]:
    assert placement.level is not None
    nodes = checked(request)
    for node in sorted(nodes, key=lambda node: (node.count, -node.within_reach, node.name)):
        added = placement.deploy.get(node.name, 0)
        if added:
            last = node.count + added > placement.level
            yield Outcome(node, added, "last_round" if last else "raised")
        else:
            yield Outcome(node, 0, _reason(node, request, placement))


def _of_fill(request: Request, placement: Placement) -> Iterator[Outcome]:
    nodes = fill_order(checked(request))
    wanted = request.nodes_limit or len(nodes)
    for node in nodes:
        able = can_hold(node, request.count)
        if node.name in placement.deploy:
            yield Outcome(node, placement.deploy[node.name], "topped_up")
        elif not able:
            yield Outcome(node, 0, "cannot_reach")
        else:
            yield Outcome(node, 0, "holds_enough" if wanted else "not_needed")
        wanted -= able and wanted > 0


def _of_each(request: Request, placement: Placement) -> Iterator[Outcome]:
    for node in each_order(checked(request)):
        if node.name in placement.deploy:
            yield Outcome(node, placement.deploy[node.name], "chosen")
        else:
            yield Outcome(node, 0, _reason(node, request, placement))


def _of_drained(request: Request, placement: Placement) -> Iterator[Outcome]:
    for node in drain_order(checked(request)):
        added = placement.deploy.get(node.name, 0)
        if added:
            yield Outcome(node, added, "used_up" if added == node.capacity else "took_rest")
        else:
            yield Outcome(node, 0, _reason(node, request, placement))


def _of_after_usage(request: Request, placement: Placement) -> Iterator[Outcome]:
    nodes = sorted(checked(request), key=lambda node: (node.usage + node.rate, node.name))
    for node in nodes:
        if node.name in placement.deploy:
            yield Outcome(node, placement.deploy[node.name], "least_used_after")
        else:
            yield Outcome(node, 0, _reason(node, request, placement))


def _of_nearest_level(request: Request, placement: Placement) -> Iterator[Outcome]:
    nodes = sorted(checked(request), key=lambda node: (node.usage, node.name))
    for node in nodes:
        if node.name in placement.deploy:
            yield Outcome(node, placement.deploy[node.name], "came_next")
        else:
            yield Outcome(node, 0, _reason(node, request, placement))


_OUTCOMES: Final[Mapping[str, Callable[[Request, Placement], Iterator[Outcome]]]] = {
    "AUTO": _of_auto,
    "FILL": _of_fill,
    "EACH": _of_each,
    "DRAINED": _of_drained,
    "after_usage": _of_after_usage,
    "nearest_level": _of_nearest_level,
}

_NEEDLESS: Final[Mapping[str, Reason]] = {
    "DRAINED": "not_needed",
    "after_usage": "more_used_after",
    "nearest_level": "never_next",
}
"""Why a node with room gets nothing."""
