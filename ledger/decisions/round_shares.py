"""How namespaces stand in their queues after a round, and what was used before counts for.

Where the policy has a ``history``, what was used before counts on top of what is held, in the order of
namespaces and nowhere else. That it fades makes no round due: it changes who is next, and nobody is
while there is no room.
"""

from collections.abc import Iterator, Sequence
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
from ledger.decisions.spare import RESOURCES
from ledger.facts.fair_share import NamespaceShare, PastCharge
from ledger.reducers.tasks import NO_USE, QueueNamespace
from ledger.reducers.world import World

_NOTHING: Final[Vector] = (0,) * len(RESOURCES)
_NONE: Final = Fraction(0)
_OF_KEY: Final = 3
"""So many of a row's values say whose it is: its queue, its namespace and the resource."""


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
    before = dict(world.jobs.shares)
    rows: list[NamespaceShare] = []
    for share in _standing(world, contest, came, rules):
        was = before.pop(share[:_OF_KEY], None)
        if was is None or not _is_the_same(was, share):
            rows.append(share)
    if not before:
        return tuple(rows)
    rows += [
        share._replace(requested=0, deserved=_NONE, allocated=0, weighted_share=_NONE)
        for share in before.values()
    ]
    return tuple(sorted(rows, key=lambda share: share[:_OF_KEY]))


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
    """Every namespace in every queue, in every resource that it holds or waits for, in order."""
    jobs = world.jobs.of
    waiting: dict[QueueNamespace, Vector] = {}
    wanting = [(subject, job.request) for subject, job in contest.jobs.items()]
    for subject in came.losses:
        if subject not in contest.jobs:
            fact = world.workload(subject)
            assert fact is not None
            wanting.append((subject, takes(fact)))
    for subject, (cpu, memory, storage) in wanting:
        tasks = jobs[subject]
        left = came.left(subject, tasks)
        key = space_of(tasks)
        has = waiting.get(key, _NOTHING)
        waiting[key] = has[0] + left * cpu, has[1] + left * memory, has[2] + left * storage
    used = used_now(world, contest, came)
    weights = read_off.weights(world, contest)
    of_total = ShareOfTotal(along(RESOURCES, contest.total), max(weights.values(), default=1))
    by_queue: dict[str, list[_Wants]] = {}
    for key in sorted({*used, *waiting}):
        use = used.get(key, NO_USE)
        held: Vector = (use.cpu, use.memory, use.storage)
        wanted = tuple(map(add, held, waiting[key])) if key in waiting else held
        weight = weights[NamespaceName(key.namespace)]
        wants = _Wants(key.namespace, weight, held, wanted, of_total.share(held, weight))
        by_queue.setdefault(key.queue, []).append(wants)
    for queue, inside in by_queue.items():
        deserved = came.played.shared.of(QueueName(queue))
        parts = [
            _parts(rules, deserved[resource], inside, place)
            for place, resource in enumerate(RESOURCES)
        ]
        for place, (namespace, weight, held, wanted, weighted) in enumerate(inside):
            for resource, asked, holds, part in zip(RESOURCES, wanted, held, parts, strict=True):
                if asked:
                    yield NamespaceShare(
                        queue, namespace, resource, weight, asked, part[place], holds, weighted
                    )


def _parts(
    rules: versions.FairshareRules, deserved: Fraction, inside: Sequence[_Wants], place: int
) -> Sequence[Fraction]:
    """What each of a queue's namespaces gets of a resource of which the queue deserves so much."""
    claims = [Claim(one.weight, 0, one.wanted[place]) for one in inside]
    if not any(claim.upper for claim in claims):
        return [_NONE] * len(claims)
    return rules.fill(deserved, claims).parts


def _is_the_same(one: NamespaceShare, other: NamespaceShare) -> bool:
    """Whether two rows tell the same."""
    # That of the weighted shares is looked at first: with the total all of them change.
    return (
        one.weighted_share.as_integer_ratio() == other.weighted_share.as_integer_ratio()
        and one == other
    )
