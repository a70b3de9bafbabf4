"""How much memory a very large fleet takes: folded and decided in this process, drawn in another.

A hundred clusters, fifty thousand nodes, a hundred thousand workloads with a million replicas
together. First come the inventories under a hold, then the hold is lifted and everything is
decided in one event, then every pod is reported once. What is told is this process's memory after
each, and the most it ever had. How far it is, is said every half minute: it takes long.

Whatever else was measured in the same process would count too, so this part runs alone, or before
``engine_snapshot``, which takes the same fleet.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Event as Signal
from threading import Thread
from time import perf_counter, process_time
from typing import Final

from ledger.cli.bench.engine_finding import Bar, Finding, digits
from ledger.cli.bench.engine_history import beginning, rows, simulation
from ledger.cli.bench.processes import memory_mb
from ledger.cli.simulator.sizes import Sizes
from ledger.decisions.step import advance
from ledger.log.folding import event
from ledger.log.garbage import seldom_collected
from ledger.reducers.world import World

MOST_MIB: Final = 4096
LARGEST: Final = Sizes(
    clusters=100, nodes=500, workloads=100_000, namespaces=500, queues=100, replicas=1_000_000
)
QUICK: Final = Sizes(clusters=3, nodes=4, workloads=40, replicas=400)

_AT_ONCE: Final = 5_000
_SECONDS: Final = 30.0


@dataclass(slots=True)
class Grown:
    """A fleet that stands, and what it took to raise it."""

    sizes: Sizes
    world: World = field(default_factory=beginning)
    events: int = 0
    decisions: int = 0
    longest: float = 0.0
    """Seconds that an event took."""
    mib_before: int = 0
    mib_after: dict[str, int] = field(default_factory=dict)
    """After each stage."""
    mib_most: int = 0
    seconds: float = 0.0
    processor_seconds: dict[str, float] = field(default_factory=dict)
    """Of this process, for each stage."""


def part_of_largest(one_in: int) -> Sizes:
    """The largest fleet, or one with a part of everything but the nodes of a cluster."""
    return Sizes(
        clusters=max(1, LARGEST.clusters // one_in),
        nodes=LARGEST.nodes,
        workloads=LARGEST.workloads // one_in,
        namespaces=max(1, LARGEST.namespaces // one_in),
        queues=max(1, LARGEST.queues // one_in),
        replicas=(LARGEST.replicas or 0) // one_in,
    )


def grown(sizes: Sizes) -> Grown:
    """Build the fleet in memory."""
    began = perf_counter()
    fleet = Grown(sizes)
    fleet.mib_before, _ = memory_mb(os.getpid())
    with seldom_collected(), _said_meanwhile(fleet):
        for stage, lines in (
            ("inventory", told(sizes, "opening")),
            ("pods", told(sizes, "pods")),
        ):
            begun = process_time()
            for row in rows(lines, first=fleet.events):
                start = perf_counter()
                step = advance(fleet.world, event(row))
                fleet.longest = max(fleet.longest, perf_counter() - start)
                fleet.world = step.world
                fleet.decisions += len(step.decisions)
                fleet.events += 1
            fleet.mib_after[stage], _ = memory_mb(os.getpid())
            fleet.processor_seconds[stage] = digits(process_time() - begun)
    _, fleet.mib_most = memory_mb(os.getpid())
    fleet.seconds = perf_counter() - began
    return fleet


@contextmanager
def _said_meanwhile(fleet: Grown) -> Iterator[None]:
    """Say every half minute how far a fleet is."""
    over = Signal()

    def say() -> None:
        while not over.wait(_SECONDS):
            memory, _ = memory_mb(os.getpid())
            print(
                f"{process_time():,.0f} s of the processor: {fleet.events:,} events,"
                f" {fleet.decisions:,} decisions, {memory:,} MiB",
                file=sys.stderr,
                flush=True,
            )

    saying = Thread(target=say)
    saying.start()
    try:
        yield
    finally:
        over.set()
        saying.join()


def size(fleet: Grown) -> Finding:
    """What the fleet takes."""
    sizes = fleet.sizes
    figures = {
        "clusters": sizes.clusters,
        "nodes": sizes.clusters * sizes.nodes,
        "workloads": sizes.workloads,
        "replicas": sizes.replicas,
        "events": fleet.events,
        "decisions": fleet.decisions,
        "seconds": digits(fleet.seconds),
        "processor_seconds": fleet.processor_seconds,
        "longest_event_seconds": digits(fleet.longest),
        "mib_before": fleet.mib_before,
        "mib_after": fleet.mib_after,
        "mib_most": fleet.mib_most,
    }
    return Finding(
        part="size",
        about="a very large fleet in memory",
        figures=figures,
        bars=[Bar("MiB", fleet.mib_most, at_most=MOST_MIB)],
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
