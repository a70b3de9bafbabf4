"""How namespaces stand in their queues after a round, and what was used before counts for.

Told is what is not as it was told last, as ``ledger.facts.fair_share`` lays it out.

Where the policy has a ``history``, what was used before counts on top of what is held, in the order of
namespaces and nowhere else. That it fades makes no round due: it changes who is next, and nobody is
while there is no room.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import add
from typing import Final, NamedTuple

from ledger.core.fairshare.deserved import Claim
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
from ledger.facts.fair_share import (
    USUAL_WEIGHT,
    NamespaceShare,
    NamespaceWeight,
    PastCharge,
    RoundTold,
    Total,
)
from ledger.reducers.tasks import NO_USE, QueueNamespace
from ledger.reducers.world import World

_NOTHING: Final[Vector] = (0,) * len(RESOURCES)
_NONE: Final = Fraction(0)


class _Wants(NamedTuple):
    """What a namespace holds in a queue, and what with all that waits there."""

    namespace: str
    weight: int
    held: Vector
    wanted: Vector


def told(world: World, contest: Contest, came: Came, number: int) -> RoundTold:
    """What the first decision of a round says for all of them."""
    rules = versions.fairshare(world.policy.algorithms.fairshare)
    by_queue = _wants(world, contest, came)
    total = Total(*along(RESOURCES, contest.total))
    return RoundTold(
        number,
        None if total == world.jobs.told_total else total,
        _weights(world, by_queue),
        _shares(world, came, rules, by_queue),
        _past_uses(contest),
    )


def _weights(world: World, by_queue: Mapping[str, Sequence[_Wants]]) -> tuple[NamespaceWeight, ...]:
    """What namespaces weigh, where that is not what was told last."""
    before = world.jobs.told_weights
    now = dict.fromkeys(before, USUAL_WEIGHT)
    now.update((one.namespace, one.weight) for inside in by_queue.values() for one in inside)
    return tuple(
        NamespaceWeight(name, weight)
        for name, weight in sorted(now.items())
        if weight != before.get(name, USUAL_WEIGHT)
    )


def _shares(
    world: World,
    came: Came,
    rules: versions.FairshareRules,
    by_queue: Mapping[str, Sequence[_Wants]],
) -> tuple[NamespaceShare, ...]:
    """How namespaces stand in their queues, where that is not what was told last."""
    before = dict(world.jobs.shares)
    rows: list[NamespaceShare] = []
    for queue, inside in by_queue.items():
        deserved = came.played.shared.of(QueueName(queue))
        for place, resource in enumerate(RESOURCES):
            parts = _parts(rules, deserved[resource], inside, place)
            for wants, part in zip(inside, parts, strict=True):
                asked, holds = wants.wanted[place], wants.held[place]
                if not asked:
                    continue
                was = before.pop((queue, wants.namespace, resource), None)
                if was is None or not _is_so(was, asked, part, holds):
                    rows.append(
                        NamespaceShare(queue, wants.namespace, resource, asked, part, holds)
                    )
    rows += [share._replace(requested=0, deserved=_NONE, allocated=0) for share in before.values()]
    return tuple(sorted(rows, key=lambda share: (share.queue, share.namespace, share.resource)))


def _past_uses(contest: Contest) -> tuple[PastCharge, ...]:
    """What past use counted for, of everybody and everything for which it was anything."""
    return tuple(
        PastCharge(queue, namespace, resource, charged[resource])
        for (queue, namespace), charged in sorted(contest.charges.items())
        for resource in sorted(charged)
    )


def _wants(world: World, contest: Contest, came: Came) -> dict[str, list[_Wants]]:
    """Every namespace in every queue, in order of both."""
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
    by_queue: dict[str, list[_Wants]] = {}
    for key in sorted({*used, *waiting}):
        use = used.get(key, NO_USE)
        held: Vector = (use.cpu, use.memory, use.storage)
        wanted = tuple(map(add, held, waiting[key])) if key in waiting else held
        weight = weights[NamespaceName(key.namespace)]
        by_queue.setdefault(key.queue, []).append(_Wants(key.namespace, weight, held, wanted))
    return by_queue


def _parts(
    rules: versions.FairshareRules, deserved: Fraction, inside: Sequence[_Wants], place: int
) -> Sequence[Fraction]:
    """What each of a queue's namespaces gets of a resource of which the queue deserves so much."""
    claims = [Claim(one.weight, 0, one.wanted[place]) for one in inside]
    if not any(claim.upper for claim in claims):
        return [_NONE] * len(claims)
    return rules.fill(deserved, claims).parts


def _is_so(told: NamespaceShare, asked: int, part: Fraction, holds: int) -> bool:
    """Whether it was told so."""
    return (
        told.requested == asked
        and told.allocated == holds
        and told.deserved.as_integer_ratio() == part.as_integer_ratio()
    )
