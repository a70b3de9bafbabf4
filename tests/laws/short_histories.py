"""All short histories over small alphabets, lived by the engine and a naive model, event by event.

A long random history seldom says the same few things of the same few nodes again in another order, and that is
where rules meet: a node is cordoned, reclaimed and gone while a share falls and a pod ends. An alphabet is a
beginning and some happenings of that sort; its histories are all words of a length over it. Whatever two
histories have in common is lived once: the World is never changed, the models are copied.

    python -m tests.laws.short_histories --length 4 --words 500 --drawn 100

Fleets are lived as in ``tests.laws.two_fleets``, disks as in ``tests.laws.two_stores``. After every event the two
agree, everything adds up, nobody waits who could be served, and no more could be mended than is proposed.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final, NamedTuple, Protocol, Self

from ledger.decisions import deployment, disk_placement, division, proposed_repairs
from ledger.decisions.planned import Limits
from ledger.decisions.proposal import MOVES
from ledger.facts.event import Fact
from ledger.facts.refusal import Refusal
from ledger.facts.workload import DeploySpec, PodObserved, WorkloadUpserted
from ledger.reducers.conservation import differences
from ledger.reducers.open_proposals import Matter
from ledger.reducers.world import Question, World
from ledger.units import Bytes, ClusterName, Replicas, Subject, Uid
from tests.histories import (
    SECOND,
    History,
    approved,
    cluster_gone,
    cluster_up,
    deployed,
    disk_gone,
    disk_up,
    divided,
    each_takes,
    finished,
    job_up,
    node_gone,
    node_reclaimed,
    node_up,
    pod_gone,
    pod_seen,
    policy,
    queue_gone,
    queue_up,
    replica_failed,
    replica_recovered,
    requested,
    reschedule,
    volume_gone,
    volume_up,
    workload_gone,
    workload_up,
)
from tests.laws import worn_histories
from tests.laws.crowded_histories import CAPACITY, Happening, smallest, with_jobs
from tests.laws.two_fleets import Fleets
from tests.laws.two_stores import Stores

HOLD, GO = policy({"hold": True}), policy({"hold": None})
MEMORY: Final = each_takes(memory=2)


class Lives(Protocol):
    """The engine and a model beside it."""

    @property
    def log(self) -> History:
        """Of the engine."""
        ...

    def copied(self) -> Self:
        """Both once more."""
        ...

    def live(self, drawn: Fact, after: int) -> str | None:
        """Let something happen to both; what they then disagree about."""
        ...


class Alphabet(NamedTuple):
    """How histories begin, and what may happen then."""

    begins: Sequence[Happening]
    letters: Sequence[Happening]
    born: Callable[[], Lives]
    """The two before anything has happened."""

    def begun(self) -> Lives:
        """The two after the beginning."""
        lives = self.born()
        for happening in self.begins:
            found = wrong(lives, happening)
            assert found is None, f"it begins with {happening}: {found}"
        return lives


def fleets(begins: Sequence[Fact], letters: Sequence[Fact]) -> Alphabet:
    """What happens after the beginning is a second after what was before it."""
    told = [Happening(fact, 0) for fact in begins], [Happening(fact, SECOND) for fact in letters]
    return Alphabet(*told, Fleets.begin)


def stores(begins: Sequence[Fact], letters: Sequence[Fact]) -> Alphabet:
    """The same of disks and volumes."""
    return fleets(begins, letters)._replace(born=Stores.begin)


def drawn(seed: int) -> Alphabet:
    """The end of a crowded history, to be told again in other orders; with disks for every third seed."""
    if seed % 3 == 0:
        worn = [Happening(fact, after) for fact, _, after in worn_histories.history(seed, 12)]
        return Alphabet(worn[:-10], worn[-10:], Stores.begin)
    told = with_jobs(seed, 12)
    return Alphabet(told[:-10], told[-10:], Fleets.begin)


def first_difference(alphabet: Alphabet, length: int) -> str | None:
    """The first word of at most this length after which something is wrong; None if nothing ever is."""
    for word in _words(alphabet.begun(), alphabet.letters, length):
        return _told(alphabet, word)
    return None


def sampled_difference(alphabet: Alphabet, length: int, words: int, seed: int) -> str | None:
    """The same among so many words that are drawn."""
    random, beginning = Random(seed), alphabet.begun()
    for _ in range(words):
        lives, word = beginning.copied(), random.choices(alphabet.letters, k=length)
        for place, happening in enumerate(word):
            if wrong(lives, happening) is not None:
                return _told(alphabet, word[: place + 1])
    return None


def _words(lives: Lives, letters: Sequence[Happening], length: int) -> Iterator[list[Happening]]:
    """The words after which something is wrong."""
    for happening in letters:
        after = lives.copied()
        if wrong(after, happening) is not None:
            yield [happening]
        elif length > 1 and after.log.steps[-1].effect == "applied":
            # After what had no effect only such words follow as without it.
            for word in _words(after, letters, length - 1):
                yield [happening, *word]


def _told(alphabet: Alphabet, word: Sequence[Happening]) -> str:
    def fails(part: Sequence[Happening]) -> bool:
        return _found(alphabet, part) is not None

    least = smallest([*alphabet.begins, *word], fails)
    lines = [f"  +{after} {fact}" for fact, after in least]
    return "\n".join(["the least of it:", *lines, str(_found(alphabet, least))])


def _found(alphabet: Alphabet, happenings: Sequence[Happening]) -> str | None:
    lives = alphabet.born()
    return next((found for one in happenings if (found := wrong(lives, one)) is not None), None)


def wrong(lives: Lives, happening: Happening) -> str | None:
    """Let something happen; what the two disagree about, or what is wrong with both."""
    found = lives.live(happening.fact, happening.after)
    if found is not None:
        return found
    world = lives.log.world
    wrongly = differences(world)
    if wrongly:
        return f"does not add up: {wrongly}"
    waits = next(could_be_served(world), None)
    if waits is not None:
        return f"waits and could be served: {waits}"
    short = next(could_be_mended(world), None)
    return None if short is None else f"short, and more could be mended: {short}"


def could_be_mended(world: World) -> Iterator[Subject]:
    """Who is short of on-demand places, of which there are more than are proposed."""
    if world.policy.hold:
        return
    for subject in sorted(world.deployments.of):
        found = proposed_repairs.plan(world, subject, Limits(MOVES, None))
        open_ = world.proposals.open.get(Matter("repair", subject))
        if found is not None and len(found.moves) > (0 if open_ is None else len(open_.moves)):
            yield subject


def could_be_served(world: World) -> Iterator[Question]:
    """Who was refused, is not to be asked again by itself, and could be served.

    What is short is only asked for again once something grew, so nobody may be forgotten then.
    """
    if world.policy.hold or world.retries.served >= world.policy.retry.max_subjects:
        return
    for question in sorted(world.refusals):
        waits_for = world.refusals[question].refusal.waits_for
        if question in world.retries.marked or waits_for not in {"nodes", "cluster", "disks"}:
            continue
        match question.kind:
            case "deployment":
                answers = deployment.answer(world, world, question, frozenset({"share"}))
            case "division":
                answers = division.answer(world, world, question, frozenset({"room"}))
            case "disk_placement":
                answers = disk_placement.answer(world, world, question, frozenset({"room"}))
            case _:
                continue
        if any(not isinstance(one.outcome, Refusal) for one in answers):
            yield question


def replicas(fact: WorkloadUpserted, count: int) -> WorkloadUpserted:
    return replace(fact, replicas=Replicas(count))


def another(fact: WorkloadUpserted) -> WorkloadUpserted:
    """The same of another life."""
    return replace(fact, uid=Uid("other"))


def _spot() -> Alphabet:
    web = workload_up(
        "ns/web", 3, cluster="m1", deploy=deployed(), request=MEMORY, min_available="2"
    )
    one, two, three = (
        node_up("m1", name, memory=memory, labels={CAPACITY: says})
        for name, memory, says in (("n1", 4, "on-demand"), ("n2", 6, "spot"), ("n3", 4, "spot"))
    )
    return fleets(
        [cluster_up("m1"), one, two, web],
        [
            three,
            node_reclaimed("m1", "n2"),
            replace(two, schedulable=False),
            replace(one, schedulable=False),
            node_gone("m1", "n2"),
            replicas(web, 2),
            web,
            replace(web, min_available="3"),
            two,
            replace(web, deploy=deployed("GLOBAL")),
        ],
    )


def _hold(*happened: Fact) -> Alphabet:
    one, two = (
        workload_up(f"ns/{name}", 2, cluster="m1", deploy=deployed(), request=MEMORY)
        for name in "ab"
    )
    node = node_up("m1", "n1", memory=6)
    return fleets(
        [cluster_up("m1"), node, one, two, *happened],
        [
            HOLD,
            GO,
            workload_gone("ns/a"),
            one,
            another(one),
            replicas(one, 3),
            node_gone("m1", "n1"),
            node,
            node_up("m1", "n2", memory=4),
            replace(node, uid=Uid("two")),
            reschedule("ns/b"),
        ],
    )


def _stateful() -> Alphabet:
    name = "ns/s"
    of = workload_up(name, 4, cluster="m1", kind="StatefulSet", deploy=deployed(), request=MEMORY)

    def pod(number: int, node: str) -> PodObserved:
        owner = ("StatefulSet", "s")
        return pod_seen("m1", "ns", f"s-{number}", owner=owner, node=node, request=MEMORY)

    one, two = node_up("m1", "n1", memory=6), node_up("m1", "n2", memory=4)
    return fleets(
        [cluster_up("m1"), one, two, replicas(of, 3), pod(0, "n1"), pod(1, "n1"), pod(2, "n2")],
        [
            replicas(of, 1),
            of,
            replace(one, schedulable=False),
            replace(one, ready=False),
            one,
            replace(pod(1, "n1"), terminating=True),
            pod_gone("m1", "ns", "s-0"),
            pod(2, "n1"),
            node_gone("m1", "n2"),
            node_reclaimed("m1", "n1"),
            another(of),
            reschedule("ns/s"),
        ],
    )


def _split_set() -> Alphabet:
    """Its lowest numbers find no on-demand node at first."""
    of = workload_up(
        "ns/s",
        4,
        cluster="m1",
        kind="StatefulSet",
        deploy=deployed(),
        request=MEMORY,
        min_available="1",
    )
    one, two, three = (
        node_up("m1", name, memory=memory, labels={CAPACITY: says})
        for name, memory, says in (
            ("n1", 1, "on-demand"),
            ("n2", 6, "spot"),
            ("n3", 4, "on-demand"),
        )
    )
    return fleets(
        [cluster_up("m1"), one, two, of],
        [
            three,
            replace(three, memory=Bytes(9)),
            replicas(of, 2),
            replicas(of, 3),
            of,
            replace(of, deploy=deployed("GLOBAL")),
            replace(of, deploy=deployed("FILL", count=3)),
            replace(of, kind="Deployment"),
            node_gone("m1", "n2"),
            node_gone("m1", "n3"),
            two,
            node_reclaimed("m1", "n2"),
            another(of),
            reschedule("ns/s"),
            HOLD,
            GO,
        ],
    )


def _mended() -> Alphabet:
    """Too few are on on-demand nodes, where there is room at times."""
    web = workload_up(
        "ns/web", 3, cluster="m1", deploy=deployed(), request=MEMORY, min_available="1"
    )
    one, two, three = (
        node_up("m1", name, memory=memory, labels={CAPACITY: says})
        for name, memory, says in (
            ("n1", 2, "on-demand"),
            ("n2", 6, "spot"),
            ("n3", 4, "on-demand"),
        )
    )
    beside = workload_up("ns/x", 1, cluster="m1", deploy=deployed(), request=MEMORY)
    return fleets(
        [cluster_up("m1"), one, two, web, replace(web, min_available="3")],
        [
            three,
            replace(three, memory=Bytes(2)),
            replace(three, schedulable=False),
            replace(three, labels=two.labels),
            node_gone("m1", "n3"),
            replace(two, labels=()),
            two,
            beside,
            workload_gone("ns/x"),
            pod_seen("m1", "ns", "y", node="n3", request=MEMORY),
            pod_gone("m1", "ns", "y"),
            replace(web, min_available="2"),
            replace(web, min_available=None),
            replicas(web, 4),
            replace(web, min_available="3", request=each_takes(memory=1)),
            cluster_up("m1", ready=False),
            cluster_up("m1"),
            HOLD,
            GO,
        ],
    )


def _orders() -> Alphabet:
    spec = deployed("EACH", count=2, nodes_limit=2)
    each = workload_up("ns/e", 1, cluster="m1", deploy=spec, request=each_takes(memory=1))
    one, two, three = (node_up("m1", f"n{place}", memory=4) for place in (1, 2, 3))

    def instead(other: DeploySpec) -> WorkloadUpserted:
        return replace(each, deploy=other)

    return fleets(
        [cluster_up("m1"), one, two, each],
        [
            three,
            instead(replace(spec, nodes_limit=3)),
            instead(replace(spec, count=3)),
            instead(deployed("FILL", count=2, nodes_limit=1)),
            replicas(instead(deployed("AUTO")), 3),
            each,
            replicas(each, 0),
            node_gone("m1", "n1"),
            one,
            replace(two, schedulable=False),
            replace(each, request=MEMORY),
            reschedule("ns/e"),
        ],
    )


def _divided() -> Alphabet:
    of = workload_up("ns/d", 4, divided(strategy="dynamic"), deploy=deployed(), request=MEMORY)
    other = workload_up("ns/o", 2, cluster="m1", deploy=deployed(), request=MEMORY)
    there = node_up("m2", "n1", memory=4)
    return fleets(
        [cluster_up("m1"), cluster_up("m2"), node_up("m1", "n1", memory=6), there, of],
        [
            replicas(of, 5),
            replicas(of, 3),
            cluster_up("m1", ready=False),
            cluster_up("m1"),
            cluster_gone("m2"),
            cluster_up("m2"),
            there,
            reschedule("ns/d"),
            reschedule("ns/d", fresh=False),
            replace(of, division=divided(strategy="aggregated")),
            other,
            replace(other, cluster=ClusterName("m2")),
        ],
    )


def _rounds(**more: Any) -> Fact:
    settings: dict[str, Any] = {
        "round.max_events": 1,
        "round.max_milliseconds": 0,
        "fairshare.preempt": True,
    }
    return policy({**settings, "fairshare.reclaim": True, **more})


def _gangs() -> Alphabet:
    gang = job_up("ns/j", 3, "q", gang=2)
    high = job_up("ns/h", 2, "q", gang=2, priority=5)
    node, more = node_up("m1", "n1", cpu=2000), node_up("m1", "n2", cpu=2000)
    return fleets(
        [_rounds(), cluster_up("m1"), node, queue_up("q"), gang],
        [
            high,
            job_up("ns/k", 2, "r", gang=2),
            queue_up("r", weight=2),
            queue_up("q", capability={"cpu": 1000}),
            queue_gone("q"),
            another(gang),
            finished("ns/j", 0),
            node_gone("m1", "n1"),
            node,
            more,
            replicas(gang, 1),
            replace(high, queue="r"),
        ],
    )


def _slots() -> Alphabet:
    """Gangs of tasks that ask for nothing, of which some are evicted."""
    easy = job_up("ns/easy", 3, "q", cpu=0)
    gang = replace(easy, gang_min=3)
    voters = {"fairshare.voters.preempt": ("priority",), "round.max_events": 2}
    node = node_up("m1", "n1", cpu=2000, pods=2, labels={"tier": "gold"})
    return fleets(
        [_rounds(**voters), cluster_up("m1"), node, queue_up("q"), easy, gang],
        [
            easy,
            gang,
            job_up("ns/high", 1, "q", priority=5, selector={"tier": "gold"}),
            job_up("ns/none", 1, "q", cpu=0, priority=5, selector={"tier": "gold"}),
            node_up("m1", "n2", pods=1),
            replace(node, pods=3),
            finished("ns/easy", 0),
            policy({"round.max_tasks": 1}),
        ],
    )


def _evictions() -> Alphabet:
    """What they set free is for deployments that were refused, once."""
    low = job_up("ns/low", 3, "q", cpu=0, memory=2)
    high = job_up("ns/high", 1, "q", cpu=0, memory=1, priority=5)
    web, one = (
        workload_up(
            f"ns/{name}", count, cluster="m1", deploy=deployed(), request=each_takes(memory=1)
        )
        for name, count in (("web", 2), ("one", 1))
    )
    return fleets(
        [_rounds(), cluster_up("m1"), node_up("m1", "n1", memory=6), queue_up("q"), low],
        [
            high,
            replicas(high, 2),
            workload_gone("ns/high"),
            web,
            replicas(web, 1),
            replace(web, request=MEMORY),
            one,
            node_up("m1", "n2", memory=3),
            finished("ns/low", 0),
            node_reclaimed("m1", "n1"),
            policy({"retry.max_subjects": 1}),
            HOLD,
            GO,
        ],
    )


def _replicas() -> Alphabet:
    volume = volume_up("v", 2, size=30)
    one, two = disk_up("c1", "n1", "d1"), disk_up("c1", "n2", "d1")
    return stores(
        [policy({"disk.replenish_wait": 1500}), one, two, volume],
        [
            disk_up("c1", "n3", "d1", maximum=40),
            replica_failed("v-r1", reusable=True),
            replica_failed("v-r2"),
            replica_recovered("v-r1"),
            replace(one, evicting=True),
            one,
            disk_gone("c1", "n2", "d1"),
            two,
            replace(volume, replicas=1),
            replace(volume, replicas=3),
            volume_up("v", 2, size=60),
            volume_up("v", 2, size=20),
        ],
    )


def _volumes() -> Alphabet:
    volume = volume_up("v", 2, size=30)
    one, two = disk_up("c1", "n1", "d1"), disk_up("c1", "n2", "d1")
    return stores(
        [
            policy({"disk.replenish_wait": 1500, "disk.rebuild_limit": 1}),
            cluster_up("c1"),
            node_up("c1", "n1"),
            one,
            two,
            volume,
        ],
        [
            HOLD,
            GO,
            volume_gone("v"),
            volume,
            replace(volume, uid=Uid("other")),
            replace(volume, replicas=3),
            disk_up("c1", "n3", "d1", maximum=40),
            node_reclaimed("c1", "n1"),
            node_up("c1", "n1", schedulable=False),
            replace(one, uid=Uid("two")),
            replica_failed("v-r1", reusable=True),
            volume_up("w", 1, size=50),
        ],
    )


def _evened() -> Alphabet:
    two = disk_up("c1", "n2", "d1")
    return stores(
        [disk_up("c1", "n1", "d1"), volume_up("v", 1, size=30), volume_up("w", 1, size=20), two],
        [
            requested("disks"),
            requested("disks", "v"),
            requested("disks", max_moves=1),
            approved(0),
            approved(9),
            disk_gone("c1", "n2", "d1"),
            two,
            replace(two, schedulable=False),
            volume_gone("w"),
            volume_up("w", 1, size=40),
            replica_failed("v-r1", reusable=True),
            disk_up("c1", "n3", "d1"),
        ],
    )


ALPHABETS: Final[Mapping[str, Alphabet]] = {
    "spot": _spot(),
    "hold": _hold(),
    "held": _hold(node_up("m1", "n1", memory=6, uid="another"), HOLD),
    "stateful": _stateful(),
    "split set": _split_set(),
    "mended": _mended(),
    "orders": _orders(),
    "divided": _divided(),
    "gangs": _gangs(),
    "slots": _slots(),
    "evictions": _evictions(),
    "replicas": _replicas(),
    "volumes": _volumes(),
    "evened": _evened(),
}


def main() -> int:
    """Live many short histories; 1 if anything is wrong after any."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="of alphabets; else all, and those that are drawn")
    parser.add_argument("--length", type=int, default=4)
    parser.add_argument("--words", type=int, default=500, help="twice as long, drawn from each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drawn", type=int, default=100, help="alphabets, of ten words each")
    asked = parser.parse_args()
    wrongs = 0

    def say(name: str, *found: str | None) -> None:
        nonlocal wrongs
        wrongs += any(found)
        spent = round(time.monotonic() - began)
        sys.stdout.write("\n".join(filter(None, [f"{name}, {spent} s", *found])) + "\n")
        sys.stdout.flush()

    for name in asked.names or ALPHABETS:
        began, alphabet = time.monotonic(), ALPHABETS[name]
        found = first_difference(alphabet, asked.length)
        say(name, found, sampled_difference(alphabet, 2 * asked.length, asked.words, asked.seed))
    began = time.monotonic()
    if not asked.names:
        for seed in range(asked.seed, asked.seed + asked.drawn):
            wrong_word = sampled_difference(drawn(seed), 2 * asked.length, 10, seed)
            if wrong_word is not None:
                say(f"drawn {seed}", wrong_word)
        say(f"{asked.drawn} drawn")
    return 1 if wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
