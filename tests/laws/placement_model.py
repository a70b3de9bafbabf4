"""Placement one instance at a time: what the page says, step by step, with nothing clever in it.

It shares no code with the core. Each function takes nodes as the core does and answers who gets how
many, zeros left out, or the code of the refusal.
"""

from collections.abc import Callable, Iterable

from ledger.core.placement.question import Node, Request

LARGEST = 2**63 - 1

Answer = dict[str, int] | str


class Standing:
    """A node while instances are placed on it."""

    def __init__(self, node: Node) -> None:
        self.name = node.name.encode()
        self.count = node.count
        self.room = sorted([0, node.capacity, LARGEST])[1]
        self.usage = node.usage
        self.rate = node.rate
        self.got = 0

    def take(self, instances: int) -> None:
        self.count += instances
        self.room -= instances
        self.got += instances
        self.usage += instances * self.rate


def answer(request: Request) -> Answer:
    """The answer to a request in which nothing is malformed."""
    nodes = [Standing(node) for node in request.nodes]
    need, limit = request.count, request.nodes_limit
    if request.strategy == "FILL":
        return fill(nodes, need, limit)
    if request.strategy == "EACH":
        return each(nodes, need, limit)
    if min(sum(node.room for node in nodes), LARGEST) < need:
        return "insufficient_resource"
    if request.strategy == "AUTO":
        return one_by_one(nodes, need, lambda now: emptiest(now, limit))
    if request.strategy == "DRAINED":
        return one_by_one(nodes, need, smallest_of(nodes))
    if request.policy == "after_usage":
        return one_by_one(nodes, need, least_used_after)
    return one_by_one(nodes, need, nearest_level)


def one_by_one(
    nodes: list[Standing], need: int, choose: Callable[[list[Standing]], Standing | None]
) -> Answer:
    for _ in range(need):
        chosen = choose(nodes)
        if chosen is None:
            return "insufficient_resource"
        chosen.take(1)
    return given(nodes)


def emptiest(nodes: list[Standing], limit: int) -> Standing | None:
    able = [node for node in nodes if node.room > 0 and (limit == 0 or node.count < limit)]
    return min(able, key=lambda node: (node.count, -node.room, node.name), default=None)


def smallest_of(nodes: list[Standing]) -> Callable[[list[Standing]], Standing | None]:
    in_order = sorted(nodes, key=lambda node: (node.room, -node.usage, node.name))
    return lambda _: next((node for node in in_order if node.room > 0), None)


def least_used_after(nodes: list[Standing]) -> Standing | None:
    able = [node for node in nodes if node.room > 0]
    return min(able, key=lambda node: (node.usage + node.rate, node.name), default=None)


def nearest_level(nodes: list[Standing]) -> Standing | None:
    for node in sorted(nodes, key=lambda node: (node.usage, node.name)):
        above = [other.usage for other in nodes if other.usage > node.usage]
        if node.room > 0 and above:
            away = min(above) - node.usage
            if node.usage + node.rate - min(above) < away:
                return node
    return least_used_after(nodes)


def fill(nodes: list[Standing], level: int, limit: int) -> Answer:
    if len(nodes) < limit or len(nodes) == 0:
        return "insufficient_resource"
    wanted = limit if limit > 0 else len(nodes)
    selected: list[Standing] = []
    for node in sorted(nodes, key=lambda node: (-node.count, -node.room, node.name)):
        if len(selected) < wanted and node.count + node.room >= level:
            selected.append(node)
    if len(selected) < wanted:
        return "insufficient_resource"
    for node in selected:
        node.take(max(level - node.count, 0))
    return given(nodes) or "already_filled"


def each(nodes: list[Standing], number: int, limit: int) -> Answer:
    if len(nodes) < limit:
        return "insufficient_resource"
    in_order = sorted(nodes, key=lambda node: (-node.room, node.name))
    able = [node for node in in_order if node.room >= number]
    if len(able) == 0:
        return "insufficient_capacity"
    wanted = limit if limit > 0 else len(nodes)
    if len(able) < wanted:
        return "insufficient_resource"
    for node in able[:wanted]:
        node.take(number)
    return given(nodes)


def given(nodes: Iterable[Standing]) -> dict[str, int]:
    return {node.name.decode(): node.got for node in nodes if node.got}
