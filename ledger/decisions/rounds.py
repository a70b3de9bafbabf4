"""A round of jobs: waiting tasks get places, others may have to go for them, who waits is told why.

How it is played is in ``ledger.decisions.round_steps``. A round that places or evicts makes one decision
for each job and kind: evictions first, then allocations, each by subject; the first of them tells how
namespaces stand (``ledger.decisions.round_shares``). Then come the jobs that wait for another reason than
they were told last, as refusals (``ledger.decisions.round_refusals``).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ledger.decisions import contest as read_off
from ledger.decisions.answer import REFUSED, Answered
from ledger.decisions.contest import Contest
from ledger.decisions.round_refusals import refusals
from ledger.decisions.round_shares import told
from ledger.decisions.round_steps import Came, cluster_and_node, known_jobs, play
from ledger.facts.allocation import Allocation, Placed, Way
from ledger.facts.canonical import Plain, canonical, digest_of, together
from ledger.facts.eviction import Evicted, Eviction
from ledger.facts.fair_share import RoundTold
from ledger.reducers.world import World
from ledger.units import Subject

SYSTEM: Final = "fairshare"

_WAYS: Final[tuple[Way, ...]] = ("allocate", "preempt", "reclaim", "backfill")


def answer(world: World) -> Sequence[Answered]:
    """Play the round that closes now; its decisions in their order, none if nothing is new."""
    contest = read_off.read(world)
    came = play(world, contest)
    number = world.jobs.rounds.closed + 1
    outcomes = [*_evictions(world, came, number), *_allocations(contest, came, number)]
    refused = list(refusals(world, contest, came))
    if not (outcomes or refused):
        return ()
    inputs = digest_of(spelled(world, contest)).hex()
    version = world.policy.algorithms.fairshare
    if outcomes:
        subject, branch, outcome = outcomes[0]
        of_all = told(world, contest, came, number)
        outcomes[0] = subject, branch, replace(outcome, round=of_all)
    return [
        *(
            Answered(subject, SYSTEM, version, inputs, branch, outcome, _moved(world, outcome))
            for subject, branch, outcome in outcomes
        ),
        *(
            Answered(subject, SYSTEM, version, inputs, REFUSED, refusal, 0)
            for subject, refusal in refused
        ),
    ]


def spelled(world: World, contest: Contest) -> bytes:
    """What a round is decided from, as its decisions' ``inputs`` digests it."""
    policy = world.policy.fairshare
    told: dict[str, Plain] = {
        "job_order": policy.job_order,
        "max_tasks": world.policy.round.max_tasks,
        "scope": policy.scope,
        "preempt": policy.voters.preempt if policy.preempt else None,
        "reclaim": policy.voters.reclaim if policy.reclaim else None,
        "running": _running_spelled(world) if policy.preempt or policy.reclaim else None,
    }
    members = {name: canonical(value) for name, value in told.items()}
    return together({**members, "contest": read_off.spelled(world, contest)})


def _running_spelled(world: World) -> Plain:
    """Who might have to go: all that runs in known queues."""
    return [
        [subject, [[index, *tasks.running[index]] for index in sorted(tasks.running)]]
        for subject, tasks in known_jobs(world)
    ]


def _evictions(
    world: World, came: Came, number: int
) -> Iterator[tuple[Subject, str, Allocation | Eviction]]:
    for subject, gone in sorted(came.losses.items()):
        fact = world.workload(subject)
        assert fact is not None
        losses = sorted(gone.items())
        yield (
            subject,
            "+".join(sorted({loss.way for _, loss in losses})),
            Eviction(
                namespace=fact.namespace,
                job=fact.name,
                uid=fact.uid,
                queue=world.jobs.of[subject].queue,
                tasks=tuple(
                    Evicted(
                        index,
                        *cluster_and_node(loss.node),
                        loss.way,
                        loss.taker.subject,
                        loss.taker.task,
                        loss.ballots,
                    )
                    for index, loss in losses
                ),
                round=RoundTold(number),
            ),
        )


def _allocations(
    contest: Contest, came: Came, number: int
) -> Iterator[tuple[Subject, str, Allocation | Eviction]]:
    for subject, came_to in sorted(came.places.items()):
        job = contest.jobs[subject]
        places = sorted(came_to.items())
        ways = {place.way for place in came_to.values()}
        yield (
            subject,
            "+".join(way for way in _WAYS if way in ways),
            Allocation(
                namespace=job.fact.namespace,
                job=job.fact.name,
                uid=job.fact.uid,
                queue=job.tasks.queue,
                request=job.request,
                tasks=tuple(
                    Placed(index, *cluster_and_node(place.node), place.way, place.share)
                    for index, place in places
                ),
                waiting=came.left(subject, job.tasks),
                full=came.full,
                round=RoundTold(number),
            ),
        )


def _moved(world: World, outcome: Allocation | Eviction) -> int:
    """How many of the tasks that were lost with a node are placed, on another one.

    Whoever is evicted has not moved: it waits like others, and what it had went to somebody else.
    """
    if isinstance(outcome, Eviction):
        return 0
    lost = world.jobs.of[Subject(f"{outcome.namespace}/{outcome.job}")].lost
    there = Counter(Subject(f"{placed.cluster}/{placed.node}") for placed in outcome.tasks)
    left = Counter(lost[placed.task] for placed in outcome.tasks if placed.task in lost)
    return min((there - left).total(), (left - there).total())
