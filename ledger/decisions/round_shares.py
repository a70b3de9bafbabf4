"""How namespaces stand in their queues after a round, and what was used before counts for.

Where the policy has a ``history``, what was used before counts on top of what is held, in the order of
namespaces and nowhere else. That it fades makes no round due: it changes who is next, and nobody is
while there is no room.
"""

from collections.abc import Iterator
from fractions import Fraction
from operator import add
from typing import Final, NamedTuple

from ledger.core.fairshare.deserved import Claim
from ledger.core.fairshare.orders import ShareOfTotal
from ledger.core.fairshare.resources import (
    NamespaceName,
    QueueName,
    Vector,
    along,
)
from ledger.decisions import contest as read_off
from ledger.decisions import versions
from ledger.decisions.contest import Contest, takes
from ledger.decisions.round_steps import Came, space_of, used_now
from ledger.facts.fair_share import NamespaceShare, PastCharge
from ledger.reducers.tasks import NO_USE, QueueNamespace
from ledger.reducers.world import World

_NOTHING: Final[Vector] = (0,) * len(read_off.RESOURCES)


class _Wants(NamedTuple):
    """What a namespace holds in a queue, and what with all that waits there."""

    namespace: str
    weight: int
    held: Vector
    wanted: Vector
    weighted: Fraction
    """The dominant share of what it holds, per weight."""


def shares(world: World, contest: Contest, came: Came) -> tuple[NamespaceShare, ...]:
    """How namespaces stand in their queues, where that is not what was told last."""
    rules = versions.fairshare(world.policy.algorithms.fairshare)
    before = world.jobs.shares
    rows: list[NamespaceShare] = []
    now: set[tuple[str, str, str]] = set()
    for share in _standing(world, contest, came, rules):
        key = _key(share)
        now.add(key)
        if before.get(key) != share:
            rows.append(share)
    rows += [
        share._replace(requested=0, deserved=Fraction(0), allocated=0, weighted_share=Fraction(0))
        for key, share in before.items()
        if key not in now
    ]
    return tuple(sorted(rows, key=_key))


def past_uses(contest: Contest) -> tuple[PastCharge, ...]:
    """What past use counted for, of everybody and everything for which it was anything."""
    return tuple(
        PastCharge(queue, namespace, resource, charged[resource])
        for (queue, namespace), charged in sorted(contest.charges.items())
        for resource in sorted(charged)
    )


def _standing(
    world: World, contest: Contest, came: Came, rules: versions.FairshareRules
) -> Iterator[NamespaceShare]:
    """Every namespace in every queue, in every resource that it holds or waits for."""
    jobs = world.jobs.of
    waiting: dict[QueueNamespace, Vector] = {}
    for subject in sorted({*contest.jobs, *came.losses}):
        fact = world.workload(subject)
        assert fact is not None
        tasks = jobs[subject]
        more = [came.left(subject, tasks) * amount for amount in takes(fact)]
        key = space_of(tasks)
        waiting[key] = tuple(map(add, waiting.get(key, _NOTHING), more))
    used = used_now(world, contest, came)
    of_total = ShareOfTotal(
        along(read_off.RESOURCES, contest.total), max(contest.weights.values(), default=1)
    )
    by_queue: dict[str, list[_Wants]] = {}
    for key in sorted({*used, *waiting}):
        use = used.get(key, NO_USE)
        held = (use.cpu, use.memory, use.storage)
        wanted = tuple(map(add, held, waiting.get(key, _NOTHING)))
        weight = contest.weights[NamespaceName(key.namespace)]
        wants = _Wants(key.namespace, weight, held, wanted, of_total.share(held, weight))
        by_queue.setdefault(key.queue, []).append(wants)
    for queue, inside in by_queue.items():
        parts = came.played.shared.of(QueueName(queue))
        for place, resource in enumerate(read_off.RESOURCES):
            asking = [one for one in inside if one.wanted[place]]
            if not asking:
                continue
            claims = [Claim(one.weight, 0, one.wanted[place]) for one in asking]
            for one, part in zip(asking, rules.fill(parts[resource], claims).parts, strict=True):
                yield NamespaceShare(
                    queue,
                    one.namespace,
                    resource,
                    one.weight,
                    one.wanted[place],
                    part,
                    one.held[place],
                    one.weighted,
                )


def _key(share: NamespaceShare) -> tuple[str, str, str]:
    return share.queue, share.namespace, share.resource
