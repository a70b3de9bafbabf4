"""What namespaces used of queues in the past, as far as the policy wants it remembered.

Off, which is the default, nothing is kept. From the moment at which ``fairshare.history`` is there,
what a namespace holds in a queue is added up, amounts times microseconds; time is cut into buckets of
the policy's length, and of the mean of the buckets before a part stays when one is closed. The rule
and its exact steps are those of ``ledger.core.fairshare.decay``, which rounds ask with what is
kept here; that the two count alike is a law of the tests. Looking on the way changes nothing, so
everybody is brought up to date whenever a round closes: it is little then, and whoever is forgotten
by then is kept no longer.

A task that gets a place counts at once, if the policy says so: with what it would add by holding on for
a bucket. One that comes into a queue with its job does not: nobody let it in. What a namespace used
stays with the queue that it used.

Of a policy that changes the new parts count from there on. Another length of buckets closes the open
one early, as if nothing had been held in the rest of it. Who turns the history off, and on again,
begins anew.
"""

from typing import Final

from immutables import Map

from ledger.facts.allocation import TaskRequest
from ledger.facts.policy import History
from ledger.reducers.replacing import replace
from ledger.reducers.tasks import NO_USE, PastUse, QueueNamespace, Use, Vector
from ledger.reducers.world import World
from ledger.units import Microseconds

PARTS: Final = 2**32
"""What a factor counts the parts of."""

FINE: Final = 2**20
"""In how many parts of a unit means and penalties are kept."""

LARGEST_FACTOR: Final = 4_294_785_595
"""That of a half-life of 2**14 buckets: what would stay longer counts as this."""

_NOTHING: Final[Vector] = (0, 0, 0)
_NOBODY: Final[Map[QueueNamespace, PastUse]] = Map()


def bucket_of(history: History) -> Microseconds:
    """How long a bucket is."""
    return Microseconds(history.bucket_ms * 1000)


def factor_of(history: History) -> int:
    """How many parts of a mean stay when a bucket is closed: the policy's ratio, rounded down."""
    parts = history.decay.numerator * PARTS // history.decay.denominator
    return min(max(parts, 1), LARGEST_FACTOR)


def looked(
    world: World, past: Map[QueueNamespace, PastUse], key: QueueNamespace
) -> Map[QueueNamespace, PastUse]:
    """``past`` with a namespace in a queue up to date, for the moment at which what it holds changes."""
    history = world.policy.fairshare.history
    if history is None:
        return past
    kept = past.get(key)
    if kept is None:
        return past.set(key, _begun(world))
    return past.set(key, _until(kept, world.jobs.used.get(key, NO_USE), world.now, history))


def entered(world: World, key: QueueNamespace, request: TaskRequest, tasks: int) -> World:
    """So many tasks of a namespace got places; ``looked`` was there before they held them."""
    history = world.policy.fairshare.history
    if history is None or not history.entry_penalty or not tasks:
        return world
    left = PARTS - factor_of(history)
    kept = world.jobs.past[key]
    cpu, memory, storage = kept.penalty
    penalty = (
        cpu + tasks * (FINE * request.cpu * left // PARTS),
        memory + tasks * (FINE * request.memory * left // PARTS),
        storage + tasks * (FINE * request.storage * left // PARTS),
    )
    past = world.jobs.past.set(key, kept._replace(penalty=penalty))
    return replace(world, jobs=replace(world.jobs, past=past))


def caught_up(world: World) -> World:
    """The World with everybody up to date for whom a bucket is over, but for whom nothing is left of."""
    history = world.policy.fairshare.history
    if history is None:
        return world
    jobs, past, bucket = world.jobs, world.jobs.past, bucket_of(history)
    # In no order: each stands for itself.
    for key, kept in jobs.past.items():
        if kept.at // bucket == world.now // bucket:
            continue
        use = jobs.used.get(key, NO_USE)
        now = _until(kept, use, world.now, history)
        past = past.delete(key) if _is_faded(now) and use == NO_USE else past.set(key, now)
    return world if past is jobs.past else replace(world, jobs=replace(jobs, past=past))


def changed(world: World, before: History | None) -> World:
    """The policy may have another history than ``before``."""
    history = world.policy.fairshare.history
    if history == before:
        return world
    jobs = world.jobs
    past = _NOBODY
    if history is not None and before is None:
        past = Map((key, _begun(world)) for key in jobs.used)
    elif history is not None and before is not None:
        for key, kept in jobs.past.items():
            now = _until(kept, jobs.used.get(key, NO_USE), world.now, before)
            if history.bucket_ms != before.bucket_ms:
                now = _begun(world)._replace(means=_mixed(now, before))
            past = past.set(key, now)
    return replace(world, jobs=replace(jobs, past=past))


def _begun(world: World) -> PastUse:
    return PastUse(world.now, _NOTHING, _NOTHING, _NOTHING)


def _until(kept: PastUse, use: Use, now: Microseconds, history: History) -> PastUse:
    """What was kept of a namespace that has held this since, as far as ``now``."""
    held: Vector = (use.cpu, use.memory, use.storage)
    bucket = bucket_of(history)
    at = kept.at
    to_close = now // bucket - at // bucket
    if not to_close:
        return kept._replace(at=now, spent=_more(kept.spent, held, now - at))
    full = kept._replace(spent=_more(kept.spent, held, bucket - at % bucket))
    means = _mixed(full, history)
    # Where nothing was held for long there is little to do: what is left becomes nothing in the end, and
    # what is held all the time becomes the mean.
    whole = full._replace(means=means, spent=_more(_NOTHING, held, bucket))
    for _ in range(to_close - 1):
        means = _mixed(whole, history)
        if means == whole.means:
            break
        whole = whole._replace(means=means)
    return PastUse(now, _more(_NOTHING, held, now % bucket), means, _NOTHING)


def _is_faded(kept: PastUse) -> bool:
    return kept.spent == kept.means == kept.penalty == _NOTHING


def _more(spent: Vector, held: Vector, microseconds: int) -> Vector:
    return (
        spent[0] + held[0] * microseconds,
        spent[1] + held[1] * microseconds,
        spent[2] + held[2] * microseconds,
    )


def _mixed(kept: PastUse, history: History) -> Vector:
    """The means once the open bucket is closed with what was spent in it."""
    factor, bucket = factor_of(history), bucket_of(history)
    cpu, memory, storage = (
        (mean * factor + FINE * spent // bucket * (PARTS - factor)) // PARTS
        for mean, spent in zip(kept.means, kept.spent, strict=True)
    )
    return cpu, memory, storage
