"""Games of the emulator at the real door: reviews in, patches applied, over a log that somebody decides.

    python -m tests.emulator.webhook --games 20 [--first 0]

Beside ``doors.Engine``, which is asked in one process without a log, here everything is asked as an API server
asks: by an AdmissionReview that the service answers, whose patch is applied to the pod as Kubernetes would.
What is told comes as events. Lists are read from the emulated cluster. The service and its decider run in
a thread, because a game does not wait for anybody.

A pod that waits for its workload to be told of holds up nobody: the watch goes on meanwhile. A call that
nobody waits for is given a millisecond here, so its answer is whatever stands by then.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final, TypeVar

import structlog

from ledger.core.spot.labels import DESIRED_CAPACITY, RESERVATION
from ledger.facts.event import Fact
from ledger.facts.workload import (
    Owner,
    PodDeleted,
    PodObserved,
    ReplicaSetUpserted,
    WorkloadUpserted,
)
from tests.api.admitting import Answer, Json, Webhook, hooked, pod, review, told
from tests.emulator.games import (
    Game,
    drawn,
    error,
    founded,
    grown,
    misplaced,
    of_several,
    resized,
    rolled,
)
from tests.emulator.kube import (
    CLUSTER,
    NAMESPACE,
    CapacityClass,
    Cluster,
    Creation,
    Patched,
    Pod,
    Weather,
)
from tests.postgres import Postgres, session_postgres

LATE: Final = Weather(rejects=30, duplicates=10, reinvocations=10, dry_runs=5, lag=50)
ALL_LATE: Final = Weather(rejects=30, duplicates=10, lag=50, owners_lag=True)
UNHEARD: Final = Weather(rejects=30, duplicates=10, lag=50, owners_lag=True, bypasses=15)

CLASSES: Final[dict[str, CapacityClass | None]] = {"on-demand": "od", "spot": "spot", "": None}

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Lists:
    """The emulated cluster, as far as it can be listed."""

    cluster: Cluster | None = None

    async def pods(self, namespace: str, template_hash: str) -> Sequence[Json]:
        """The pods of a template."""
        assert self.cluster is not None
        return [
            _listed(namespace, one)
            for one in self.cluster.pods.values()
            if one.template == template_hash
        ]

    async def replicaset(self, namespace: str, name: str) -> Json | None:
        """A ReplicaSet."""
        assert self.cluster is not None
        assert namespace == NAMESPACE
        return self.cluster.replicaset(name)

    async def statefulset(self, namespace: str, name: str) -> Json | None:
        """A StatefulSet."""
        assert self.cluster is not None
        assert namespace == NAMESPACE
        return self.cluster.statefulset(name)

    def close(self) -> None:
        """There is nothing to be let go."""


class Running:
    """The service in its thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, webhook: Webhook, lists: Lists) -> None:
        self._loop = loop
        self.webhook = webhook
        self.lists = lists

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have something done there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The same, and wait for it."""
        return self.begin(work).result()


@contextmanager
def running(postgres: Postgres) -> Iterator[Running]:
    """A service over a log of its own, and somebody who decides."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    lists = Lists()
    ends = AsyncExitStack()

    async def begin() -> Webhook:
        url = await ends.enter_async_context(postgres.database())
        return await ends.enter_async_context(hooked(url, lists={CLUSTER: lists}))

    try:
        yield Running(loop, asyncio.run_coroutine_threadsafe(begin(), loop).result(), lists)
    finally:
        asyncio.run_coroutine_threadsafe(ends.aclose(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass(slots=True, eq=False)
class AtTheDoor:
    """Asks for one game; its fleet is its own."""

    service: Running
    fleet: str
    is_heard_of: bool = False
    """Whether somebody told of the workload."""

    def __post_init__(self) -> None:
        label = "node.kubernetes.io/capacity"
        self._tell(told("cluster.cluster.upserted", CLUSTER, {"name": CLUSTER}, fleet=self.fleet))
        for name, word in (("od", "on-demand"), ("s1", "spot")):
            data = {"cluster": CLUSTER, "name": name, "labels": {label: word}}
            subject = f"{CLUSTER}/{name}"
            self._tell(told("cluster.node.upserted", subject, data, fleet=self.fleet))

    def told(self, fact: Fact) -> None:
        """Tell it as its cluster would."""
        self._tell(told(*_event(fact), fleet=self.fleet))
        self.is_heard_of |= isinstance(fact, WorkloadUpserted)

    def admit(self, asked: Creation, cluster: Cluster) -> Patched:
        """Ask, and apply what is answered."""
        self.service.lists.cluster = cluster
        notes = None if asked.carried is None else {RESERVATION: asked.carried}
        about = pod(asked.owner, asked.template, name=asked.name, annotations=notes)
        question = review(about, asked=asked.uid, dry_run=asked.dry_run)
        hurried = asked.uid in cluster.bypassed
        asking = self._ask(question, "timeout=1ms" if hurried else "timeout=30s")
        answering = self.service.begin(asking)
        while not self.is_heard_of:
            cluster.advance()
        answer = answering.result()
        patched = _given(answer, about, dry_run=asked.dry_run)
        if hurried and patched != Patched(None, None):
            # It came in time after all.
            cluster.bypassed.remove(asked.uid)
        elif not hurried:
            assert "number" in answer.audit, "there is time enough to decide"
        return patched

    def _tell(self, event: bytes) -> None:
        self.service.wait(self.service.webhook.tell(event))

    async def _ask(self, question: Json, query: str) -> Answer:
        return await self.service.webhook.mutate(
            question, token="every", query=query, path=f"/{self.fleet}/{CLUSTER}"
        )


def _given(answer: Answer, about: Json, *, dry_run: bool) -> Patched:
    """What a pod has once the patch is applied; that is what its answer says it has."""
    metadata = answer.applied(about)["metadata"]
    notes, labels = metadata.get("annotations", {}), metadata.get("labels", {})
    capacity = CLASSES[labels.get(DESIRED_CAPACITY, "")]
    assert answer.audit.get("class") == capacity
    reservation = notes.get(RESERVATION)
    assert dry_run or answer.audit.get("reservation") == reservation
    return Patched(capacity, None if dry_run else reservation)


def _listed(namespace: str, one: Pod) -> Json:
    notes = {} if one.patched.reservation is None else {RESERVATION: one.patched.reservation}
    return {
        "metadata": {"namespace": namespace, "name": one.name, "annotations": notes},
        "status": {"phase": one.phase},
    }


def _event(fact: Fact) -> tuple[str, str, Json]:
    """Of what type and subject it is, and what it says."""
    data: Json
    match fact:
        case WorkloadUpserted():
            data = {"kind": fact.kind, "replicas": fact.replicas, "cluster": fact.cluster}
            return "workload.workload.upserted", *_named(fact, data, fact.min_available)
        case ReplicaSetUpserted():
            data = {
                "cluster": fact.cluster,
                "uid": fact.uid,
                "owner": _owner(fact.owner),
                "template_hash": fact.template_hash,
                "replicas": fact.replicas,
            }
            return "workload.replicaset.upserted", *_named(fact, data)
        case PodObserved():
            data = {
                "cluster": fact.cluster,
                "uid": fact.uid,
                "owner": _owner(fact.owner),
                "template_hash": fact.template_hash,
                "reservation": fact.reservation,
                "node": fact.node,
                "phase": fact.phase,
                "terminating": fact.terminating,
                "capacity_class": fact.capacity_class,
            }
            return "workload.pod.observed", *_named(fact, data)
        case PodDeleted():
            return "workload.pod.deleted", *_named(fact, {"cluster": fact.cluster})
        case _:
            raise AssertionError(f"no game tells {fact}")


def _named(
    fact: WorkloadUpserted | ReplicaSetUpserted | PodObserved | PodDeleted,
    data: Json,
    min_available: str | None = None,
) -> tuple[str, Json]:
    subject = f"{fact.namespace}/{fact.name}"
    if not isinstance(fact, WorkloadUpserted):
        subject = f"{fact.cluster}/{subject}"
    data |= {"namespace": fact.namespace, "name": fact.name, "min_available": min_available}
    return subject, {name: value for name, value in data.items() if value is not None}


def _owner(owner: Owner | None) -> Json | None:
    return None if owner is None else {"kind": owner.kind, "name": owner.name}


def off(service: Running, game: Game, weather: Weather, fleet: str) -> tuple[int, int]:
    """How far off a game's split is in the end, and how many of its pods were left as they are."""
    cluster = grown(game, AtTheDoor(service, fleet), weather)
    left = sum(one.patched.capacity is None for one in cluster.pods.values())
    return error(game, cluster), left


def off_late(service: Running, seed: int) -> dict[str, int]:
    """The same where workloads and ReplicaSets are told late too, by game; what is exact is left out."""
    game = drawn(seed, most=12)
    several = of_several(game)

    def door(what: str) -> AtTheDoor:
        return AtTheDoor(service, f"{what}-{seed}")

    rolled_out, short = rolled(game, door("rolled"), ALL_LATE)
    found = {
        "grown": error(game, grown(game, door("grown"), ALL_LATE)),
        "resized": error(several, resized(several, door("resized"), ALL_LATE, calmly=True)),
        "rolled": error(game, rolled_out) or -short,
        "founded": misplaced(game, founded(game, door("founded"), ALL_LATE)),
    }
    return {what: by for what, by in found.items() if by}


def main() -> int:
    """Play so many games, and say how they went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    return asyncio.run(_play(range(given.first, given.first + given.games)))


async def _play(seeds: range) -> int:
    wrong = 0
    async with session_postgres() as postgres:
        wrong = await asyncio.to_thread(_played, postgres, seeds)
    sys.stdout.write(f"{len(seeds)} games of each kind, {wrong} wrong\n")
    return int(wrong > 0)


def _played(postgres: Postgres, seeds: range) -> int:
    wrong = 0
    with running(postgres) as service:
        for seed in seeds:
            game = drawn(seed, most=20)
            found, _ = off(service, game, LATE, f"late-{seed}")
            hurried, left = off(service, game, UNHEARD, f"hurried-{seed}")
            late = off_late(service, seed)
            wrong += found != 0 or bool(late) or not -left <= hurried <= 0
            sys.stdout.write(f"seed {seed}: off by {found}; hurried {hurried}, {left} left")
            sys.stdout.write(f"; with owners late {late or 'exact'}\n")
            sys.stdout.flush()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
