"""How uneven the usable bytes of a set of disks or nodes are: an exact fraction, 0 for all alike.

The *absolute* score is the range divided by the mean: (largest - smallest) x n / sum. The *ratio*
score is the same of usable/total, over the members that have a total. The *hybrid* score is
``alpha`` of the first and the rest of the second; an ``alpha`` from 1 up is the absolute score
alone, one from 0 down the ratio score alone.

A score whose sum is not above zero is undefined, and so is a hybrid with an undefined part. With
n members a score is never above n, so scores of sets of different sizes are not comparable.

Here a score is computed as it is defined. Comparing the placements of one set without computing
it anew for each is ``ledger.core.disk.weighing``.
"""

from collections.abc import Mapping
from fractions import Fraction

from ledger.core.shares import require_counts


def balance_score(
    usable: Mapping[str, int], totals: Mapping[str, int], alpha: Fraction
) -> Fraction | None:
    """The score of the members as they are, None if undefined; a total not given is 0."""
    require_counts("total", totals)
    if alpha >= 1:
        return absolute_score(usable)
    if alpha <= 0:
        return ratio_score(usable, totals)
    absolute, ratio = absolute_score(usable), ratio_score(usable, totals)
    if absolute is None or ratio is None:
        return None
    return alpha * absolute + (1 - alpha) * ratio


def absolute_score(usable: Mapping[str, int]) -> Fraction | None:
    """How uneven the bytes are."""
    return _range_over_mean([Fraction(amount) for amount in usable.values()])


def ratio_score(usable: Mapping[str, int], totals: Mapping[str, int]) -> Fraction | None:
    """How uneven the usable parts are, among members that have a total."""
    return _range_over_mean(
        [
            Fraction(amount, totals[name])
            for name, amount in usable.items()
            if totals.get(name, 0) > 0
        ]
    )


def _range_over_mean(amounts: list[Fraction]) -> Fraction | None:
    total = sum(amounts, Fraction(0))
    if total <= 0:
        return None
    return Fraction((max(amounts) - min(amounts)) * len(amounts), total)
