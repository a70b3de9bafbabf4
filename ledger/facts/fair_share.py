"""What a round of jobs says of itself, whichever of its decisions says it.

A round makes many decisions. What is true of all of them stands in the first: what is otherwise than
the last time somebody said so, and, where the policy has a history, what was counted for past use.

How large a namespace's share is follows from what it holds, what it weighs and of how much: each is told
where it turns. Of how much turns with every node, and all shares with it; the view ``fair_shares`` says
what they come to.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

from ledger.facts.canonical import Plain

USUAL_WEIGHT: Final = 1
"""What a namespace weighs of which nothing is said."""


class Total(NamedTuple):
    """What there was to share out, held or free."""

    cpu: int
    memory: int
    storage: int


class NamespaceShare(NamedTuple):
    """A namespace in a queue after a round, in one resource."""

    queue: str
    namespace: str
    resource: str
    requested: int
    """What it holds and waits for."""
    deserved: Fraction
    """Its part of what its queue deserves."""
    allocated: int


class NamespaceWeight(NamedTuple):
    """What a namespace weighs in every queue."""

    namespace: str
    weight: int


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
    total: Total | None = None
    """None where it is what was told last."""
    weights: tuple[NamespaceWeight, ...] = ()
    """Those that are not as they were told last. One that is in no queue any more weighs what is usual."""
    shares: tuple[NamespaceShare, ...] = ()
    """Those that are not as they were told last. One that nothing is asked for any more is told
    with nothing requested and nothing held."""
    past: tuple[PastCharge, ...] = ()
    """Of the namespaces in line."""

    @property
    def tells(self) -> bool:
        """Whether anything is otherwise than it was told last."""
        return self.total is not None or bool(self.weights or self.shares)


def round_plain(told: RoundTold) -> Plain:
    """As a record spells it."""
    plain: dict[str, Plain] = {"number": told.number}
    if told.total is not None:
        plain["total"] = told.total._asdict()
    if told.weights:
        plain["weights"] = [one._asdict() for one in told.weights]
    if told.shares:
        plain["shares"] = [_share_plain(share) for share in told.shares]
    if told.past:
        plain["past"] = [one._asdict() for one in told.past]
    return plain


def round_read(plain: dict[str, Any]) -> RoundTold:
    """What ``round_plain`` spelled."""
    return RoundTold(
        plain["number"],
        Total(**plain["total"]) if "total" in plain else None,
        tuple(NamespaceWeight(**one) for one in plain.get("weights", ())),
        tuple(_share(share) for share in plain.get("shares", ())),
        tuple(PastCharge(**one) for one in plain.get("past", ())),
    )


def ratio_plain(ratio: Fraction | None) -> Plain:
    """A ratio as its two whole numbers."""
    return None if ratio is None else [ratio.numerator, ratio.denominator]


def ratio_read(plain: list[int] | None) -> Fraction | None:
    """What ``ratio_plain`` spelled."""
    return None if plain is None else Fraction(*plain)


def _share_plain(share: NamespaceShare) -> Plain:
    return {**share._asdict(), "deserved": ratio_plain(share.deserved)}


def _share(plain: dict[str, Any]) -> NamespaceShare:
    return NamespaceShare(**{**plain, "deserved": Fraction(*plain["deserved"])})
