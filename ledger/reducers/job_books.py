"""What the book says of jobs, and of namespaces in queues, for whoever shows it."""

from collections.abc import Iterable
from typing import NamedTuple

from ledger.reducers.tasks import NO_USE, QueueNamespace, Use
from ledger.reducers.world import World
from ledger.units import Subject


class JobBook(NamedTuple):
    """What the running tasks of a job hold, and in which queue they count."""

    namespace: str
    job: str
    queue: str
    used: Use


class QueueBook(NamedTuple):
    """What the running tasks of a namespace hold in a queue."""

    queue: str
    namespace: str
    used: Use


def job_books(world: World, jobs: Iterable[Subject]) -> list[JobBook]:
    """The pages of these jobs, in order."""
    return [_of_job(world, job) for job in sorted(set(jobs))]


def queue_books(world: World, queues: Iterable[Subject]) -> list[QueueBook]:
    """The pages of these queue/namespaces, in order."""
    return [_of_queue(world, queue) for queue in sorted(set(queues))]


def _of_job(world: World, subject: Subject) -> JobBook:
    namespace, _, job = subject.partition("/")
    tasks = world.jobs.of.get(subject)
    if tasks is None:
        return JobBook(namespace, job, "", NO_USE)
    return JobBook(namespace, job, tasks.queue, tasks.held)


def _of_queue(world: World, subject: Subject) -> QueueBook:
    queue, _, namespace = subject.rpartition("/")
    used = world.jobs.used.get(QueueNamespace(queue, namespace), NO_USE)
    return QueueBook(queue, namespace, used)
