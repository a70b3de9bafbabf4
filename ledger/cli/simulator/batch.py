"""Queues, quotas and jobs of an invented fleet.

A job is submitted, its tasks end one by one, and when all have ended it is removed; after a while
another one is submitted in its place. Whether the tasks ever ran is the ledger's business, and a
simulation does not know it: it takes what was submitted some time ago for running.
"""

from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final

from ledger.cli.simulator.later import Later
from ledger.cli.simulator.luck import happens, some, uid
from ledger.cli.simulator.spelling import Data, Happening
from ledger.cli.simulator.workloads import CONTROL_PLANE, Wanted, removed

NAMESPACE_WEIGHT: Final = "volcano.sh/namespace.weight"
_LARGEST_GANG: Final = 32


@dataclass(slots=True, eq=False)
class Queue:
    """A queue that jobs wait in."""

    name: str
    weight: int
    capability: Data
    guarantee: Data
    priority: int
    reclaimable: bool
    open: bool = True
    present: bool = False
    revision: int = 0

    def upserted(self) -> Happening:
        """It was made, or changed."""
        self.present = True
        self.revision += 1
        data: Data = {
            "name": self.name,
            "revision": self.revision,
            "weight": self.weight,
            "capability": self.capability,
            "guarantee": self.guarantee,
            "open": self.open,
            "reclaimable": self.reclaimable,
            "priority": self.priority,
        }
        return Happening("ledger.quota.queue.upserted.v1", CONTROL_PLANE, self.name, data)

    def removed(self) -> Happening:
        """It is gone; jobs that name it wait for one of that name."""
        self.present = False
        self.revision += 1
        data: Data = {"name": self.name, "revision": self.revision}
        return Happening("ledger.quota.queue.removed.v1", CONTROL_PLANE, self.name, data)


@dataclass(slots=True, eq=False)
class Quota:
    """What a namespace may use, and its weight in a queue."""

    namespace: str
    cpu: int
    weight: int
    present: bool = False
    revision: int = 0

    def upserted(self) -> Happening:
        """It was made, or changed."""
        self.present = True
        self.revision += 1
        data: Data = {
            "namespace": self.namespace,
            "name": "fair",
            "revision": self.revision,
            "hard": {
                "requests.cpu": str(self.cpu),
                "requests.memory": f"{4 * self.cpu}Gi",
                NAMESPACE_WEIGHT: str(self.weight),
            },
        }
        subject = f"{self.namespace}/fair"
        return Happening("ledger.quota.quota.upserted.v1", CONTROL_PLANE, subject, data)

    def removed(self) -> Happening:
        """It is gone."""
        self.present = False
        self.revision += 1
        data: Data = {"namespace": self.namespace, "name": "fair", "revision": self.revision}
        subject = f"{self.namespace}/fair"
        return Happening("ledger.quota.quota.removed.v1", CONTROL_PLANE, subject, data)


@dataclass(slots=True, eq=False)
class Job:
    """A place for jobs of one kind: one after the other, each with a number in its name."""

    namespace: str
    kind: str
    queue: str
    usual: int
    """Tasks that a job here has, more or less."""
    request: Wanted
    tasks: int = 0
    gang: int = 1
    uid: str = ""
    priority: int = 0
    preemptable: bool = False
    cluster: str | None = None
    """The only one it may run in; None is any."""
    number: int = 0
    present: bool = False
    revision: int = 0
    running: list[int] = field(default_factory=list)
    """Tasks that have not ended."""

    @property
    def name(self) -> str:
        """Of the job that is there now, or was last."""
        return f"{self.kind}-{self.number:04d}"

    @property
    def key(self) -> str:
        """Its subject."""
        return f"{self.namespace}/{self.name}"

    def begin(self, chance: Random, *, tasks: int | None = None) -> None:
        """Be the next job."""
        self.number += 1
        self.uid = uid(chance)
        self.revision = 0
        drawn = max(1, self.usual * (50 + int(chance.random() * 101)) // 100)
        self.tasks = drawn if tasks is None else tasks
        self.running = list(range(self.tasks))
        gang = some(chance, (1, 1 + self.tasks // 2, self.tasks))
        self.gang = min(gang, _LARGEST_GANG)
        self.priority = some(chance, (0, 0, 0, 10, 100))
        self.preemptable = happens(chance, 60)

    def upserted(self) -> Happening:
        """It was submitted, or its owner wants it otherwise."""
        self.present = True
        self.revision += 1
        data: Data = {
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "revision": self.revision,
            "kind": "Job",
            "replicas": self.tasks,
            "request": self.request.told(),
            "queue": self.queue,
            "gang_min": self.gang,
            "priority": self.priority,
            "preemptable": self.preemptable,
        }
        if self.cluster is not None:
            data["cluster"] = self.cluster
        return Happening("ledger.workload.workload.upserted.v1", CONTROL_PLANE, self.key, data)

    def finished(self, task: int | None) -> Happening:
        """A task has ended, or all of them have."""
        data: Data = {"namespace": self.namespace, "name": self.name, "uid": self.uid}
        if task is not None:
            data["task"] = task
        return Happening("ledger.workload.job.finished.v1", CONTROL_PLANE, self.key, data)

    def removed(self) -> Happening:
        """Somebody cleaned up."""
        self.present = False
        self.revision += 1
        return removed(self.namespace, self.name, uid=self.uid, revision=self.revision)


class Batch:
    """Queues, quotas and jobs in motion."""

    def __init__(
        self,
        chance: Random,
        later: Later,
        *,
        jobs: list[Job],
        queues: list[Queue],
        quotas: list[Quota],
    ) -> None:
        self._chance = chance
        self._later = later
        self._jobs = jobs
        self._queues = queues
        self._quotas = quotas

    def job(self) -> Happening:
        """The next thing in the life of a job: submitted, a task ended, cleaned up."""
        if not self._jobs:
            return self.weight()
        job = some(self._chance, self._jobs)
        if not job.present:
            job.begin(self._chance)
            return job.upserted()
        if not job.running:
            return job.removed()
        if happens(self._chance, 3):
            return self._more_tasks(job)
        if happens(self._chance, 10):
            job.running.clear()
            return job.finished(None)
        return job.finished(job.running.pop(0))

    def queue(self) -> Happening:
        """A queue gets another weight, is closed for a while, or is lost."""
        queue = some(self._chance, self._queues)
        if not queue.present or not queue.open:
            return self.weight()
        draw = self._chance.random()
        if draw < 0.05:
            return self._lost(queue)
        if draw < 0.2:
            queue.open = False
            self._later.after(60, partial(self._opened, queue))
        else:
            queue.weight = 1 + int(self._chance.random() * 8)
        return queue.upserted()

    def lose_queue(self) -> Happening:
        """A queue is removed by mistake, and made again."""
        queue = some(self._chance, self._queues)
        return self._lost(queue) if queue.present else queue.upserted()

    def weight(self) -> Happening:
        """A namespace gets another weight, or its quota is taken away for a while."""
        quota = some(self._chance, self._quotas)
        if quota.present and happens(self._chance, 10):
            self._later.after(50, quota.upserted)
            return quota.removed()
        quota.weight = 1 + int(self._chance.random() * 5)
        return quota.upserted()

    def _lost(self, queue: Queue) -> Happening:
        self._later.after(40, queue.upserted)
        return queue.removed()

    def _more_tasks(self, job: Job) -> Happening:
        job.running.append(job.tasks)
        job.tasks += 1
        return job.upserted()

    def _opened(self, queue: Queue) -> Happening:
        queue.open = True
        return queue.upserted()
