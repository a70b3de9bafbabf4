"""Past use: who used much lately waits a little longer. A policy, and off unless asked for.

Time is cut into buckets of equal length. What a namespace held in a queue during a bucket, on
average, is mixed into the mean of the buckets before: of the old mean a fixed *factor* stays, and
of the bucket comes what is missing to one. With nothing held, half of the mean is left after each
half-life. The round counts the mean, times the weight of the policy, on top of what the namespace
holds; nothing else looks at it, least of all the votes on evictions.

Use is counted exactly, as amounts times microseconds, from the events that bind and release. The
factor is a whole number of parts of ``ONE`` and is worked out once, when the policy is written, so
that no replay ever takes a root. Each bucket rounds down once; closing a bucket is the same step
whoever asks and when, so it does not matter at which moments anybody looked.

A burst that begins and ends inside one bucket would be seen too late. So a task adds, when it is
bound, what it would add by holding on for a bucket, and loses that when the bucket is closed and
its true use is in the mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from ledger.core.fairshare.resources import (
    Amounts,
    NamespaceName,
    QueueName,
    Resource,
    added,
)
from ledger.core.shares import require_counts
from ledger.errors import InvalidRequest
from ledger.units import Microseconds

ONE: Final = 2**32
"""What a factor is a part of. Finer than a millionth after a week of five-minute buckets."""

FINE: Final = 2**20
"""In how many parts of a unit means are kept: rounding down a thousand times costs a thousandth."""

MOST_BUCKETS: Final = 2**14
"""Buckets in a half-life: a week of minutes is 10,080. More would make the root a long one."""

LARGEST_FACTOR: Final = 4_294_785_595
"""That of a half-life of ``MOST_BUCKETS``. A larger one would forget so slowly that counting a
silence of years bucket by bucket took minutes."""


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """How past use fades, and how much of it counts as if it were held now."""

    bucket: Microseconds
    factor: int
    weight: Fraction = Fraction(1)
    entry_penalty: bool = True

    def __post_init__(self) -> None:
        if self.bucket < 1:
            raise InvalidRequest("invalid_request", f"bucket: {self.bucket} is no span of time")
        if not 0 < self.factor <= LARGEST_FACTOR:
            raise InvalidRequest(
                "invalid_request",
                f"factor: {self.factor} of {ONE} is not from 1 to {LARGEST_FACTOR}",
            )
        if self.weight < 0:
            raise InvalidRequest("invalid_request", f"weight: {self.weight} would reward use")


def factor_of(half_life: Microseconds, bucket: Microseconds) -> int:
    """The largest factor that leaves no more than half after so many buckets.

    Raises ``InvalidRequest`` unless the half-life is a whole number of buckets, at least one: with
    none, nothing would ever be remembered and nobody would notice.
    """
    if bucket < 1 or half_life < bucket or half_life % bucket:
        raise InvalidRequest(
            "invalid_request", f"half-life: {half_life} is no whole number of buckets of {bucket}"
        )
    buckets = half_life // bucket
    if buckets > MOST_BUCKETS:
        raise InvalidRequest("invalid_request", f"half-life: over {MOST_BUCKETS} buckets long")
    low, high = 0, ONE
    while high - low > 1:
        middle = (low + high) // 2
        if 2 * middle**buckets <= ONE**buckets:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True, slots=True)
class PastUse:
    """What one namespace used in one queue, as far as ``at``.

    ``means`` and ``penalty`` are in ``FINE`` parts of a unit, ``spent`` is amounts times the
    microseconds of the open bucket.
    """

    at: Microseconds
    held: Amounts = field(default_factory=dict)
    spent: Amounts = field(default_factory=dict)
    means: Amounts = field(default_factory=dict)
    penalty: Amounts = field(default_factory=dict)

    def bind(self, amounts: Amounts, at: Microseconds, policy: DecayPolicy) -> "PastUse":
        """From now on this much more is held."""
        require_counts("bound", amounts)
        now = self.until(at, policy)
        penalty = now.penalty
        if policy.entry_penalty:
            part = ONE - policy.factor
            entering = {name: FINE * amount * part // ONE for name, amount in amounts.items()}
            penalty = added([penalty, entering])
        return replace(now, held=added([now.held, amounts]), penalty=penalty)

    def release(self, amounts: Amounts, at: Microseconds, policy: DecayPolicy) -> "PastUse":
        """From now on this much less is held."""
        now = self.until(at, policy)
        held = added([now.held, {name: -amount for name, amount in amounts.items()}])
        assert all(amount >= 0 for amount in held.values()), "what is released was held"
        return replace(now, held=held)

    def until(self, at: Microseconds, policy: DecayPolicy) -> "PastUse":
        """The same, as far as ``at``."""
        assert at >= self.at, "time does not run backwards"
        bucket = policy.bucket
        to_close = at // bucket - self.at // bucket
        if not to_close:
            return replace(self, at=at, spent=self._spent(at - self.at))
        first = self._spent(bucket - self.at % bucket)
        means = {
            name: _settled(
                _mixed(self.means.get(name, 0), first.get(name, 0), policy),
                self.held.get(name, 0) * bucket,
                to_close - 1,
                policy,
            )
            for name in sorted({*self.means, *first})
        }
        last = {name: amount * (at % bucket) for name, amount in self.held.items()}
        return PastUse(at=at, held=self.held, spent=last, means=means)

    def charge(self, at: Microseconds, policy: DecayPolicy) -> dict[Resource, int]:
        """What counts on top of what is held, in whole units."""
        now = self.until(at, policy)
        weight = policy.weight
        return {
            name: amount * weight.numerator // (FINE * weight.denominator)
            for name, amount in added([now.means, now.penalty]).items()
        }

    def _spent(self, microseconds: int) -> dict[Resource, int]:
        more = {name: amount * microseconds for name, amount in self.held.items()}
        return added([self.spent, more])


def charges(
    past: Mapping[tuple[QueueName, NamespaceName], PastUse],
    at: Microseconds,
    policy: DecayPolicy | None,
) -> dict[tuple[QueueName, NamespaceName], dict[Resource, int]]:
    """What a round counts on top of what is held: nothing without a policy."""
    if policy is None:
        return {}
    return {place: use.charge(at, policy) for place, use in past.items()}


def _mixed(mean: int, spent: int, policy: DecayPolicy) -> int:
    """The mean after a bucket in which so much was spent."""
    average = FINE * spent // policy.bucket
    return (mean * policy.factor + average * (ONE - policy.factor)) // ONE


def _settled(mean: int, spent: int, buckets: int, policy: DecayPolicy) -> int:
    """The mean after so many buckets alike.

    It moves in one direction and stops for good where a step changes nothing. So a silence of years
    takes no more steps than it takes to forget.
    """
    for _ in range(buckets):
        following = _mixed(mean, spent, policy)
        if following == mean:
            break
        mean = following
    return mean
