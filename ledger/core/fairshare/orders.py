"""Every order of this system. Each is total: the first difference wins, and the last is a name.

queues       priority, high before low; then the share of what the queue deserves, low before high;
             then the older; then the name
namespaces   the dominant share of what the namespace holds in the queue, divided by its weight;
             then the name
jobs         priority, high before low; jobs that lack tasks of their gang before those that do not;
             dominant share; the older; the name. The first three may be put in another sequence
tasks        priority, high before low; index; the older; the name
evictions    the job's priority, low before high; the task's; the younger; the name backwards

Shares are fractions, and comparing fractions is slow. So a heap compares ``exact_key``: the
fraction's whole part after shifting it so far to the left that two different fractions, with the
denominators at hand, can never end up alike. It is an abbreviation, not an approximation.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, get_args

from ledger.core.fairshare.resources import JobName, NamespaceName, QueueName, TaskName, Vector
from ledger.errors import InvalidRequest

JobRank = Literal["priority", "gang", "share"]
"""What may decide between two jobs before their age and name do."""

JOB_ORDER: Final[tuple[JobRank, ...]] = ("priority", "gang", "share")
"""The precedence that Volcano ships."""

Comparable = tuple[int | str, ...]
"""A key: compared place by place."""


def exact_bits(largest_denominator: int) -> int:
    """How far fractions with denominators up to this one have to be shifted to stay apart.

    Two different ones lie at least one over the product of their denominators apart, so after the
    shift at least one; hence their whole parts differ, in the same direction.
    """
    return 2 * largest_denominator.bit_length()


def exact_key(numerator: int, denominator: int, bits: int) -> int:
    """A whole number that compares with others of the same ``bits`` as the fractions do."""
    return (numerator << bits) // denominator


class ShareOfTotal:
    """Dominant shares of one total, as fractions for people and as whole numbers for heaps."""

    __slots__ = ("_bits", "_totals")

    def __init__(self, totals: Vector, largest_weight: int) -> None:
        # A resource of which there is nothing is passed over.
        self._totals = [(place, total) for place, total in enumerate(totals) if total]
        self._bits = exact_bits(max(totals, default=1) * largest_weight)

    def key(self, used: Sequence[int], weight: int = 1) -> int:
        """The share per weight, to be compared with other keys of this measure."""
        bits = self._bits
        largest = 0
        for place, total in self._totals:
            amount = used[place]
            if amount:
                key = (amount << bits) // (total * weight)
                largest = max(largest, key)
        return largest

    def share(self, used: Sequence[int], weight: int = 1) -> Fraction:
        """The share per weight."""
        largest, of = 0, 1
        for place, total in self._totals:
            amount = used[place]
            if amount * of > largest * total:
                largest, of = amount, total
        return Fraction(largest, of * weight)


class ShareOfDeserved:
    """How much of what it deserves a queue holds: the largest part over all resources.

    Where it deserves nothing it holds nothing of it, or all.
    """

    __slots__ = ("_bits", "_deserved")

    def __init__(self, deserved: Sequence[Fraction], bits: int) -> None:
        self._deserved = [(part.numerator, part.denominator) for part in deserved]
        self._bits = bits

    def key(self, used: Sequence[int]) -> int:
        """The share, to be compared with other keys of the same bits."""
        largest = 0
        for amount, (numerator, denominator) in zip(used, self._deserved, strict=True):
            if amount:
                if numerator:
                    key = (amount * denominator << self._bits) // numerator
                else:
                    key = 1 << self._bits
                largest = max(largest, key)
        return largest

    def share(self, used: Sequence[int]) -> Fraction:
        """The share."""
        shares = [
            Fraction(amount * denominator, numerator) if numerator else Fraction(1)
            for amount, (numerator, denominator) in zip(used, self._deserved, strict=True)
            if amount
        ]
        return max(shares, default=Fraction(0))

    def is_overused(self, used: Sequence[int]) -> bool:
        """Whether the queue has all it deserves, of every resource."""
        for amount, (numerator, denominator) in zip(used, self._deserved, strict=True):
            if amount * denominator < numerator:
                return False
        return True

    def first_beyond(self, used: Sequence[int], needs: Sequence[tuple[int, int]]) -> int | None:
        """The first of the needed resources of which the queue would then hold too much."""
        for place, amount in needs:
            numerator, denominator = self._deserved[place]
            if (used[place] + amount) * denominator > numerator:
                return place
        return None

    def most_above(self, used: Sequence[int]) -> tuple[bool, Fraction, Fraction]:
        """Whether the queue holds more than it deserves of some resource.

        With it what the queue deserves and holds of the first such resource, or else of the first
        of all.
        """
        first = (Fraction(0), Fraction(0))
        for place, amount in enumerate(used):
            numerator, denominator = self._deserved[place]
            if amount * denominator > numerator:
                return True, Fraction(numerator, denominator), Fraction(amount)
            if place == 0:
                first = (Fraction(numerator, denominator), Fraction(amount))
        return False, *first


def shares_of_deserved(
    deserved: Mapping[QueueName, Sequence[Fraction]],
) -> dict[QueueName, ShareOfDeserved]:
    """One measure for each queue, such that their keys can be compared with each other."""
    largest = max((part.numerator for parts in deserved.values() for part in parts), default=1)
    bits = exact_bits(largest)
    return {queue: ShareOfDeserved(parts, bits) for queue, parts in deserved.items()}


@dataclass(frozen=True, slots=True)
class NamespaceComparison:
    """Which of two namespaces goes first: -1 the left by share, 1 the right, 0 a tie of shares."""

    cmp: int
    left: Fraction
    right: Fraction
    first: NamespaceName


def compare_namespaces(
    left: tuple[NamespaceName, Fraction], right: tuple[NamespaceName, Fraction]
) -> NamespaceComparison:
    """Compare two namespaces by name and weighted share."""
    order = (left[1] > right[1]) - (left[1] < right[1])
    first = min((left[1], left[0]), (right[1], right[0]))[1]
    return NamespaceComparison(cmp=order, left=left[1], right=right[1], first=first)


def job_key(
    order: Sequence[JobRank], name: JobName, *, priority: int, ready: bool, share: int, seq: int
) -> Comparable:
    """Where a job stands among the others; ``share`` is a key of its dominant share."""
    if order == JOB_ORDER:
        return (-priority, int(ready), share, seq, name)
    ranks: dict[JobRank, int] = {"priority": -priority, "gang": int(ready), "share": share}
    return (*(ranks[rank] for rank in order), seq, name)


def require_job_order(order: Sequence[JobRank]) -> None:
    """Refuse an order that names something unknown, or something twice."""
    if len({*order}) < len(order) or not {*order} <= {*get_args(JobRank)}:
        raise InvalidRequest("invalid_request", f"job order: {', '.join(order)} is none")


@dataclass(frozen=True, slots=True)
class Victim:
    """A task as far as the order of evictions looks at it."""

    name: TaskName
    job_priority: int = 0
    task_priority: int = 0
    seq: int = 0


def eviction_order(victims: Iterable[Victim]) -> list[Victim]:
    """Who goes first: the least important, of these the youngest, of these the last by name."""
    backwards = sorted(victims, key=lambda victim: victim.name, reverse=True)
    return sorted(
        backwards, key=lambda victim: (victim.job_priority, victim.task_priority, -victim.seq)
    )
