"""What one node event costs in a small fleet and in a large one: the size should not show.

Two pairs are compared. In one the large fleet is a hundred times the small one: a hundred clusters
of five hundred nodes, with twenty workloads for each. In the other all nodes are in one
cluster, and the workloads stay. The events are cordons and their ends on nodes drawn from all, so
each changes how much room there is. What is timed is folding and deciding, in processor time; the
two take turns, and what is compared are the medians of a turn.
"""

import gc
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import median
from time import thread_time_ns
from typing import Final

from ledger.cli.bench.engine_finding import Bar, Finding, digits
from ledger.cli.bench.engine_history import beginning, rows, simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.decisions.step import advance
from ledger.facts.cluster import NodeUpserted
from ledger.facts.event import Event
from ledger.log.folding import event
from ledger.log.garbage import seldom_collected
from ledger.reducers.world import World
from ledger.units import EventType, Position, Subject

MOST: Final = 1.5
SMALL: Final = Sizes(clusters=1, nodes=500, workloads=20)
LARGE: Final = Sizes(clusters=100, nodes=500, workloads=2_000)
CROWDED: Final = Sizes(clusters=1, nodes=50_000, workloads=20)
QUICK: Final = Sizes(clusters=2, nodes=10, workloads=20)

_EVENTS: Final = 1_000
_NODE_UPSERTED: Final = EventType("ledger.cluster.node.upserted.v1")
_NANOSECONDS_IN_A_MICROSECOND: Final = 1_000


def node_events(*, rounds: int, quick: bool = False) -> Finding:
    """Compare the small fleet with both large ones."""
    fleets = [_raised(sizes) for sizes in ((QUICK,) * 3 if quick else (SMALL, LARGE, CROWDED))]
    taken: list[list[float]] = [[] for _ in fleets]
    gc.collect()
    gc.freeze()  # What stands is not what an event makes.
    try:
        with seldom_collected():
            for turn in range(rounds):
                for costs, (world, nodes) in zip(taken, fleets, strict=True):
                    costs.append(_cost(world, nodes, turn))
    finally:
        gc.unfreeze()
    small, large, crowded = taken
    by_clusters = median(b / a for a, b in zip(small, large, strict=True))
    in_one = median(b / a for a, b in zip(small, crowded, strict=True))
    figures = {
        "us_of_500_nodes": digits(median(small)),
        "us_of_50000_nodes": digits(median(large)),
        "us_of_50000_nodes_in_one_cluster": digits(median(crowded)),
        "ratio": digits(by_clusters),
        "ratio_in_one_cluster": digits(in_one),
        "rounds": rounds,
    }
    return Finding(
        part="nodes",
        about="one node event at 500 nodes and at 50,000",
        figures=figures,
        bars=[
            Bar("ratio", digits(by_clusters), at_most=MOST),
            Bar("ratio in one cluster", digits(in_one), at_most=MOST),
        ],
    )


def _raised(sizes: Sizes) -> tuple[World, Sequence[NodeUpserted]]:
    """The fleet as it stands, and its nodes."""
    history = simulation(sizes)
    world = beginning()
    nodes: list[NodeUpserted] = []
    for row in rows(history.events(history.opening)):
        happened = event(row)
        world = advance(world, happened).world
        if isinstance(happened.fact, NodeUpserted):
            nodes.append(happened.fact)
    return world, nodes


def _cost(world: World, nodes: Sequence[NodeUpserted], turn: int) -> float:
    """Microseconds of an event, the median of a turn; the World is left as it was."""
    chance = Random(turn)
    taken: list[int] = []
    for _ in range(_EVENTS // 2):
        node = chance.choice(nodes)
        for schedulable in (False, True):
            happened = _changed(world, node, schedulable=schedulable)
            began = thread_time_ns()
            step = advance(world, happened)
            taken.append(thread_time_ns() - began)
            world = step.world
    return median(taken) / _NANOSECONDS_IN_A_MICROSECOND


def _changed(world: World, node: NodeUpserted, *, schedulable: bool) -> Event:
    fact = replace(node, schedulable=schedulable, revision=None)
    return Event(
        position=Position(world.position),
        recorded_at=world.now,
        source=f"/clusters/{node.cluster}/agent",
        id=str(world.position),
        type=_NODE_UPSERTED,
        subject=Subject(f"{node.cluster}/{node.name}"),
        fact=fact,
    )
