"""Asking AUTO about the nodes that come first gives what asking about all of them gives."""

from hypothesis import given
from hypothesis import strategies as st

from ledger.core.placement.answer import Placement
from ledger.core.placement.place import place
from ledger.core.placement.question import Node, Request
from ledger.decisions.shortlist import Shortlist
from ledger.units import NodeName

nodes = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=9).map(
    lambda drawn: [
        Node(NodeName(f"n{place}"), capacity, count)
        for place, (capacity, count) in enumerate(drawn)
    ]
)


def first(every: list[Node], limit: int, wanted: int) -> list[NodeName]:
    capacity = {node.name: node.capacity for node in every}.__getitem__
    held = counts(every)
    return Shortlist(*in_order(every), held, capacity, limit=limit).first(wanted, held, capacity)


def in_order(every: list[Node]) -> tuple[list[NodeName], list[NodeName]]:
    """Those with room, as if all held none; and those that hold some."""
    open_ = sorted((node for node in every if node.capacity), key=lambda node: -node.capacity)
    return [node.name for node in open_], [node.name for node in every if node.count]


def counts(every: list[Node]) -> dict[NodeName, int]:
    return {node.name: node.count for node in every}


@given(nodes, st.integers(1, 12), st.integers(0, 5))
def test_the_others_could_get_nothing(every: list[Node], need: int, limit: int) -> None:
    names = first(every, limit, need + 1)
    few = [node for node in every if node.name in names]

    of_all = place(Request("AUTO", need, every, limit))

    if isinstance(of_all, Placement):
        assert place(Request("AUTO", need, few, limit)) == of_all
    else:
        assert not few or not isinstance(place(Request("AUTO", need, few, limit)), Placement)


@given(nodes, nodes, st.integers(1, 9), st.integers(0, 5))
def test_what_changed_is_looked_at_again(
    before: list[Node], after: list[Node], wanted: int, limit: int
) -> None:
    now = {node.name: node for node in [*before, *after]}
    capacity = {node.name: node.capacity for node in before}
    held = counts(before)
    used = Shortlist(*in_order(before), held, capacity.__getitem__, limit=limit)
    used.first(wanted, held, capacity.__getitem__)

    for node in after:
        if node.name in capacity:
            capacity[node.name], held[node.name] = node.capacity, node.count
            used.changed.add(node.name)

    expected = [now[name] for name in capacity]
    found = used.first(wanted, held, capacity.__getitem__)
    assert found == first(expected, limit, wanted)
