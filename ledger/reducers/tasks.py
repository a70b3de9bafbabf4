"""What the World knows of jobs: which tasks run where, who waits, who holds how much.

A task is known by its index. It runs on a node with the request that was recorded when it was
placed, or it is finished, or it waits; those that wait are the others below the number of replicas
and are not listed, so that a job of a thousand tasks that wait takes the room of one.

What a round reads is kept where it is found: the jobs that wait by their queue, what a queue, a
namespace in it and a job hold as sums, and the jobs that have tasks on a node by that node.

How these change is told in ``ledger.reducers.jobs``, when a round closes in
``ledger.reducers.rounds``, what counts of the past in ``ledger.reducers.past_use``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from immutables import Map

from ledger.facts.allocation import TaskRequest
from ledger.facts.fair_share import USUAL_WEIGHT, NamespaceShare, Total
from ledger.facts.reason import Deadline
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers.book import Holding, Loose
from ledger.reducers.spelling import BESIDE
from ledger.units import ClusterName, Microseconds, Position, Subject


class RunningTask(NamedTuple):
    """Where a task runs, and what it was placed with."""

    node: Subject
    request: TaskRequest


class Use(NamedTuple):
    """What some running tasks hold together."""

    tasks: int
    cpu: int
    memory: int
    storage: int


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of one job."""

    queue: str
    namespace: str
    replicas: int
    running: Map[int, RunningTask]
    finished: Map[int, None]
    """For good, until another uid: placed or not."""
    held: Use
    lost: Map[int, Subject]
    """Those that wait again because their node was lost, and which one that was."""

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self.replicas - len(self.running) - len(self.finished)

    @property
    def waiting_indices(self) -> Iterator[int]:
        """Which ones, in order."""
        for index in range(self.replicas):
            if index not in self.running and index not in self.finished:
                yield index


class Where(NamedTuple):
    """How a job restricts the nodes its tasks may go to; what is empty does not."""

    clusters: tuple[ClusterName, ...]
    labels: tuple[tuple[str, str], ...]
    """Of the cluster."""
    cluster: ClusterName | None
    node_selector: tuple[tuple[str, str], ...]

    def takes_cluster(self, name: ClusterName, labels: tuple[tuple[str, str], ...]) -> bool:
        """Whether tasks may go to a cluster with these labels."""
        return (
            (not self.clusters or name in self.clusters)
            and self.cluster in {None, name}
            and all(label in labels for label in self.labels)
        )

    def takes_node(self, labels: tuple[tuple[str, str], ...]) -> bool:
        """Whether tasks may go to a node with these labels, of a cluster they may go to."""
        return all(label in labels for label in self.node_selector)


ANYWHERE: Final = Where((), (), None, ())


class QueueNamespace(NamedTuple):
    """A namespace in a queue."""

    queue: str
    namespace: str


Vector = tuple[int, int, int]
"""Of cpu, memory and storage."""


class PastUse(NamedTuple):
    """What a namespace used of a queue (``ledger.reducers.past_use``)."""

    at: Microseconds
    """As far as it is told."""
    spent: Vector
    """In the open bucket: amounts times microseconds."""
    means: Vector
    """Of the buckets before, in fine parts of a unit."""
    penalty: Vector
    """For the tasks that got places in the open bucket, likewise."""


@dataclass(frozen=True)
class Rounds:
    """When a round of jobs closes (``ledger.reducers.rounds``)."""

    closed: int
    """How many have."""
    changed: bool
    """Whether anything that a round reads is not as the last one left it."""
    stirred: Map[Subject, Loose | None]
    """What nodes had free before what is being folded or decided, where that is other now; None: they
    took no work. Kept while it is all that changed."""
    due: Position | None
    """The event that made the next one due; None: none is."""
    goes_on: bool
    """Whether the last one was full: then the next event closes it."""
    deadline: Deadline | None
    """When it closes for lack of events; None: not by time."""
    waits: bool
    """Whether that deadline is held back: by the policy, or because the round closes by count."""
    fired: bool
    """Whether it is the deadline that is being decided."""
    within: bool
    """Whether an event is being folded or decided, and not a deadline before one."""
    done: bool
    """Whether a round closed in what is being folded or decided."""


class Kept:
    """What rounds found out about jobs that wait, from one to the next.

    As with what is found along a walk (``ledger.reducers.trails``), nobody can see whether it was kept.
    """

    __slots__ = ("contenders",)

    def __init__(self) -> None:
        self.contenders: Mapping[Subject, Any] = {}


@dataclass(frozen=True)
class Jobs:
    """All jobs that have a queue, and what rounds read beside nodes."""

    of: Map[Subject, Tasks]
    done: Map[Subject, Map[int, None]]
    """Which tasks are finished of workloads that have no queue now, but may have one again."""
    created: Map[Subject, Position]
    """The first upsert of every workload in its present life."""
    waiting: Map[str, Map[Subject, None]]
    """Jobs with tasks that wait, by queue, known or not."""
    contenders: int
    """How many of them are in a queue that is known."""
    choosy: Map[Subject, Where]
    """Jobs that restrict their nodes."""
    on: Map[Subject, Map[Subject, int]]
    """How many tasks of which jobs run on a node."""
    used: Map[QueueNamespace, Use]
    used_in: Map[str, Use]
    """The same of all namespaces of a queue together."""
    past: Map[QueueNamespace, PastUse]
    """Where the policy has a history; else nothing."""
    queues: Map[str, Position]
    """The queues that are known, each with its first upsert in its present life."""
    weights: Map[str, Map[Subject, int]]
    """What quotas say of their namespace's weight; those that say 1 or nothing are not listed."""
    rounds: Rounds
    told_total: Total | None
    """What there was to share out, as a round told it last; None before the first one."""
    told_weights: Map[str, int]
    """As rounds told them last, of namespaces that weigh something else than is usual."""
    shares: Map[tuple[str, str, str], NamespaceShare]
    """As rounds told them last: by queue, namespace and resource."""
    kept: Kept = field(default_factory=Kept, compare=False, repr=False, metadata={BESIDE: True})

    def weight(self, namespace: str) -> int:
        """What a namespace weighs: the most that one of its quotas says."""
        said = self.weights.get(namespace)
        # The largest of them is the same in every order.
        return USUAL_WEIGHT if said is None else max(said.values())


NO_USE: Final = Use(0, 0, 0, 0)


def no_jobs() -> Jobs:
    """Of a fleet that has none."""
    return Jobs(
        of=Map(),
        done=Map(),
        created=Map(),
        waiting=Map(),
        contenders=0,
        choosy=Map(),
        on=Map(),
        used=Map(),
        used_in=Map(),
        past=Map(),
        queues=Map(),
        weights=Map(),
        rounds=Rounds(
            closed=0,
            changed=False,
            stirred=Map(),
            due=None,
            goes_on=False,
            deadline=None,
            waits=False,
            fired=False,
            within=False,
            done=False,
        ),
        told_total=None,
        told_weights=Map(),
        shares=Map(),
    )


def queue_of(workload: WorkloadUpserted | None) -> str | None:
    """The queue in which a workload's tasks wait; None if it is no job, or one without a queue."""
    if workload is None or workload.kind != "Job":
        return None
    return workload.queue


def where(fact: WorkloadUpserted) -> Where:
    """Where the tasks of a job may go; as for a division, names come before a selector."""
    division = fact.division
    clusters = () if division is None else division.clusters
    return Where(
        clusters=clusters,
        labels=() if division is None or clusters else division.cluster_selector,
        cluster=fact.cluster,
        node_selector=() if fact.deploy is None else fact.deploy.node_selector,
    )


def holding(request: TaskRequest) -> Holding:
    """The same in the book of a node."""
    return Holding(request.cpu, request.memory, request.storage, 1, (), (), ())


def used_with(use: Use, request: TaskRequest, times: int) -> Use:
    """What is held with so many tasks more, or fewer."""
    return Use(
        use.tasks + times,
        use.cpu + times * request.cpu,
        use.memory + times * request.memory,
        use.storage + times * request.storage,
    )
