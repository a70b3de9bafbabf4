"""What a round of jobs says of itself, whichever of its decisions says it.

A round makes many decisions. What is true of all of them stands in the first: which namespaces
stand otherwise in their queues than the last time somebody said so, and, where the policy has a
history, what was counted for past use.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from ledger.facts.canonical import Plain


class NamespaceShare(NamedTuple):
    """A namespace in a queue after a round, in one resource."""

    queue: str
    namespace: str
    resource: str
    weight: int
    requested: int
    """What it holds and waits for."""
    deserved: Fraction
    """Its part of what its queue deserves."""
    allocated: int
    weighted_share: Fraction
    """The dominant share of all it holds in the queue, divided by its weight."""


class PastCharge(NamedTuple):
    """What was counted on top of what a namespace held in a queue, of one resource."""

    queue: str
    namespace: str
    resource: str
    charged: int


@dataclass(frozen=True, slots=True)
class RoundTold:
    """Which round it was, and what the first of its decisions says for all of them."""

    number: int
    """From 1 on."""
    shares: tuple[NamespaceShare, ...] = ()
    """Those that are not as they were told last. One that nothing is asked for any more is told
    with nothing requested and nothing held."""
    past: tuple[PastCharge, ...] = ()
    """Of the namespaces in line."""


def round_plain(told: RoundTold) -> Plain:
    """As a record spells it."""
    plain: dict[str, Plain] = {
        "number": told.number,
        "shares": [_share_plain(share) for share in told.shares],
    }
    if told.past:
        plain["past"] = [one._asdict() for one in told.past]
    return plain


def round_read(plain: dict[str, Any]) -> RoundTold:
    """What ``round_plain`` spelled."""
    return RoundTold(
        plain["number"],
        tuple(_share(share) for share in plain["shares"]),
        tuple(PastCharge(**one) for one in plain.get("past", ())),
    )


def ratio_plain(ratio: Fraction | None) -> Plain:
    """A ratio as its two whole numbers."""
    return None if ratio is None else [ratio.numerator, ratio.denominator]


def ratio_read(plain: list[int] | None) -> Fraction | None:
    """What ``ratio_plain`` spelled."""
    return None if plain is None else Fraction(*plain)


def _share_plain(share: NamespaceShare) -> Plain:
    return {
        **share._asdict(),
        "deserved": ratio_plain(share.deserved),
        "weighted_share": ratio_plain(share.weighted_share),
    }


def _share(plain: dict[str, Any]) -> NamespaceShare:
    return NamespaceShare(
        **{
            **plain,
            "deserved": Fraction(*plain["deserved"]),
            "weighted_share": Fraction(*plain["weighted_share"]),
        }
    )
