"""Why somebody waits: one value each, with a public ``code`` and the numbers it rests on.

A job that waits carries its reasons in the order in which they bear on it: first what decided,
then what explains it. Words for people are made from these when somebody reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ledger.core.fairshare.resources import JobName, NamespaceName, QueueName, Resource, TaskName

TaskLabel = int | TaskName
"""A task of a job: its index where tasks are numbered, else its name."""


@dataclass(frozen=True, slots=True)
class UnknownQueue:
    """There is no such queue."""

    queue: QueueName
    code: Literal["unknown_queue"] = "unknown_queue"


@dataclass(frozen=True, slots=True)
class QueueClosed:
    """The queue is not open: nothing starts there."""

    queue: QueueName
    code: Literal["queue_closed"] = "queue_closed"


@dataclass(frozen=True, slots=True)
class TooFewTasks:
    """The job has fewer tasks than its gang needs, whatever room there is."""

    gang_min: int
    tasks: int
    code: Literal["too_few_tasks"] = "too_few_tasks"


@dataclass(frozen=True, slots=True)
class QueueOverused:
    """The queue has all it deserves, of every resource."""

    queue: QueueName
    deserved: Mapping[Resource, Fraction]
    allocated: Mapping[Resource, int]
    code: Literal["queue_overused"] = "queue_overused"


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """With this task the queue would hold more of a resource than it deserves.

    ``tasks`` counts the tasks of the job that met this in the same turn; the numbers are of the
    first of them.
    """

    task: TaskLabel
    resource: Resource
    deserved: Fraction
    allocated: int
    request: int
    tasks: int
    code: Literal["queue_limit"] = "queue_limit"


@dataclass(frozen=True, slots=True)
class NodeFit:
    """No node has room for this task: how many there are, and how many lack which resource."""

    task: TaskLabel
    nodes: int
    lacking: Mapping[Resource, int]
    code: Literal["node_fit"] = "node_fit"


@dataclass(frozen=True, slots=True)
class GangShort:
    """Fewer of its tasks found a place than the gang needs, so all gave theirs back."""

    gang_min: int
    ready: int
    code: Literal["gang_short"] = "gang_short"


@dataclass(frozen=True, slots=True)
class RoundFull:
    """The round had placed as many tasks as one may; the job is in the next one."""

    max_tasks: int
    placed: int
    code: Literal["round_full"] = "round_full"


@dataclass(frozen=True, slots=True)
class NamespaceBehind:
    """Another namespace of the queue was served last, and had less per weight before that."""

    winner: NamespaceName
    winner_share: Fraction
    share: Fraction
    code: Literal["namespace_behind"] = "namespace_behind"


@dataclass(frozen=True, slots=True)
class Standing:
    """What the order of jobs looks at, before the name."""

    priority: int
    ready: bool
    share: Fraction
    seq: int


@dataclass(frozen=True, slots=True)
class JobBehind:
    """Another job of the namespace was served last, and stood before this one."""

    winner: JobName
    winner_standing: Standing
    standing: Standing
    code: Literal["job_behind"] = "job_behind"


@dataclass(frozen=True, slots=True)
class EvictVeto:
    """Voters kept too many of those who might have gone: how many each refused, over all nodes."""

    task: TaskLabel
    candidates: int
    refused: Mapping[str, int]
    code: Literal["evict_veto"] = "evict_veto"


@dataclass(frozen=True, slots=True)
class TooFewVictims:
    """Without all who might have gone, on any node, there still would be too little room."""

    task: TaskLabel
    candidates: int
    code: Literal["too_few_victims"] = "too_few_victims"


@dataclass(frozen=True, slots=True)
class NeverPreempts:
    """The task is not to have others evicted."""

    task: TaskLabel
    code: Literal["never_preempts"] = "never_preempts"


Reason = (
    UnknownQueue
    | QueueClosed
    | TooFewTasks
    | QueueOverused
    | QueueLimit
    | NodeFit
    | GangShort
    | RoundFull
    | NamespaceBehind
    | JobBehind
    | EvictVeto
    | TooFewVictims
    | NeverPreempts
)


@dataclass(frozen=True, slots=True)
class Loser:
    """A job that still wants something: how many of its tasks wait, and why."""

    job: JobName
    waiting: int
    reasons: tuple[Reason, ...]
    last_obstacle: QueueLimit | NodeFit | None = None
    """What it met first in its last turn; None where that went well, or where it had none."""

    @property
    def code(self) -> str:
        """What decided."""
        return self.reasons[0].code
