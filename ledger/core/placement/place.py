"""Place instances on nodes: check the question, ask the strategy.

Three strategies promise a number of instances and nothing else; they are refused at once if the
capacities do not add up to it. FILL and EACH promise something of each node and look for themselves.

Which nodes are asked about, and what their capacities are, is left to whoever asks; which of a
node's plans the instances get, too: a node that is to take three takes its first three plans.

Rule, worked examples and the differences from eru: docs/core/placement.md
"""

from typing import assert_never

from ledger.core.placement.after_usage import least_used_after
from ledger.core.placement.answer import Placement, Shortage
from ledger.core.placement.auto import even_out
from ledger.core.placement.drained import drain
from ledger.core.placement.each import give_each
from ledger.core.placement.fill import fill_up
from ledger.core.placement.nearest_level import walk_to_levels
from ledger.core.placement.question import INFINITE, Request, checked


def place(request: Request) -> Placement | Shortage:
    """Say who gets how many of the instances.

    Raises ``InvalidRequest`` for a question that means nothing; nodes that cannot serve it are an
    answer and not an error.
    """
    nodes = checked(request)
    need = request.count
    if request.strategy == "FILL":
        return fill_up(nodes, need, request.nodes_limit)
    if request.strategy == "EACH":
        return give_each(nodes, need, request.nodes_limit)

    total = min(sum(node.capacity for node in nodes), INFINITE)
    if total < need:
        return Shortage("insufficient_resource", "instances", need, total)
    match request.strategy:
        case "AUTO":
            return even_out(nodes, need, request.nodes_limit)
        case "DRAINED":
            return drain(nodes, need)
        case "GLOBAL":
            if request.policy == "after_usage":
                return least_used_after(nodes, need)
            return walk_to_levels(nodes, need)
        case _:
            assert_never(request.strategy)
