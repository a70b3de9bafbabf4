"""How large an invented fleet is, what it is made of, and how lively.

The defaults are a fleet that one can look at: six clusters of four nodes. What a benchmark needs
is the same with other numbers.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many there are of everything."""

    clusters: int = 6
    nodes: int = 4
    """In each cluster."""
    workloads: int = 40
    """Altogether, jobs among them."""
    namespaces: int = 8
    queues: int = 3
    disks: int = 1
    """In each node."""
    volumes: int | None = None
    """None: one for each stateful set."""
    replicas: int | None = None
    """Of all workloads together, exactly, before the day's wave begins; None: as many as take half of
    the nodes' memory, or fewer."""

    def __post_init__(self) -> None:
        assert min(self.clusters, self.nodes, self.workloads, self.namespaces, self.queues) > 0
        assert self.disks >= 0
        assert self.volumes is None or self.volumes >= 0
        assert self.replicas is None or self.replicas >= self.workloads, "each has one at least"


@dataclass(frozen=True, slots=True)
class Shares:
    """Which part of them is of a kind, in percent."""

    spot: int = 30
    """Of nodes."""
    pieces: int = 15
    """Of nodes: machines that tell their cores by pieces, with memory groups and devices."""
    batch: int = 20
    """Of workloads: jobs in queues."""
    stateful: int = 20
    """Of the other workloads."""
    placed: int = 50
    """Of the other workloads: those whose instances are placed on nodes by the ledger."""

    def __post_init__(self) -> None:
        told = (self.spot, self.pieces, self.batch, self.stateful, self.placed)
        assert all(0 <= share <= 100 for share in told)


@dataclass(frozen=True, slots=True)
class Mix:
    """How many of a thousand events are of each kind, once the fleet stands."""

    reports: int = 700
    """What agents see and nobody decides by: pods, replica sets, nodes as they were."""
    changes: int = 200
    """Upserts and removals of things: some of them raise a question, most do not."""
    decisions: int = 100
    """What asks for an answer: scaling, jobs, new volumes, losses."""
    late: int = 10
    """How many of a thousand arrive late: behind some that happened after them."""
    trouble: int = 0
    """How many messages beside a thousand good ones are repeated or wrong."""
