"""How much memory a very large fleet takes: folded and decided in this process, drawn in another.

A hundred clusters, fifty thousand nodes, a hundred thousand workloads with a million replicas
together. First come the inventories under a hold, then the hold is lifted and everything is
decided in one event, then every pod is reported once. What is told is this process's memory after
each, and the most it ever had.

Whatever else was measured in the same process would count too, so this part runs alone.
"""

import os
from collections.abc import Iterator
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Final

from ledger.cli.bench.engine_finding import Bar, Finding, digits
from ledger.cli.bench.engine_history import beginning, rows, simulation
from ledger.cli.bench.processes import memory_mb
from ledger.cli.simulator.sizes import Sizes
from ledger.decisions.step import advance
from ledger.log.folding import event
from ledger.log.garbage import seldom_collected

MOST_MIB: Final = 4096
LARGEST: Final = Sizes(
    clusters=100, nodes=500, workloads=100_000, namespaces=500, queues=100, replicas=1_000_000
)
QUICK: Final = Sizes(clusters=3, nodes=4, workloads=40, replicas=400)

_AT_ONCE: Final = 5_000


def size(sizes: Sizes) -> Finding:
    """Build the fleet in memory."""
    began = perf_counter()
    before, _ = memory_mb(os.getpid())
    world = beginning()
    events = decided = 0
    after: dict[str, int] = {}
    longest = 0.0
    with seldom_collected():
        for stage, lines in (
            ("inventory", told(sizes, "opening")),
            ("pods", told(sizes, "pods")),
        ):
            for row in rows(lines, first=events):
                start = perf_counter()
                step = advance(world, event(row))
                longest = max(longest, perf_counter() - start)
                world = step.world
                decided += len(step.decisions)
                events += 1
            after[stage], _ = memory_mb(os.getpid())
    _, most = memory_mb(os.getpid())
    figures = {
        "clusters": sizes.clusters,
        "nodes": sizes.clusters * sizes.nodes,
        "workloads": sizes.workloads,
        "replicas": sizes.replicas,
        "events": events,
        "decisions": decided,
        "seconds": digits(perf_counter() - began),
        "longest_event_seconds": digits(longest),
        "mib_before": before,
        "mib_after": after,
        "mib_most": most,
    }
    return Finding(
        part="size",
        about="a very large fleet in memory",
        figures=figures,
        bars=[Bar("MiB", most, at_most=MOST_MIB)],
    )


def told(sizes: Sizes, stage: str) -> Iterator[bytes]:
    """The lines of a stage, drawn by a process that is gone afterwards."""
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    drawing = context.Process(target=_draw, args=(theirs, sizes, stage))
    drawing.start()
    theirs.close()
    while (batch := ours.recv()) is not None:
        yield from batch
    drawing.join()


def _draw(way: Connection, sizes: Sizes, stage: str) -> None:
    """Draw the lines of a stage and send them, a list at a time; None is the end."""
    history = simulation(sizes)
    opening = history.events(history.opening)
    lines = opening if stage == "opening" else _pods(opening, history.pods())
    while batch := list(islice(lines, _AT_ONCE)):
        way.send(batch)
    way.send(None)
    way.close()


def _pods(opening: Iterator[bytes], pods: Iterator[bytes]) -> Iterator[bytes]:
    """The pods of a fleet that stands."""
    for _ in opening:
        pass
    return pods
