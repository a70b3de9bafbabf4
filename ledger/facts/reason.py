"""What every kind of decision has in common when it gives its reasons.

Which kinds there are, why a subject was asked, the moment of fleet time at which something runs out,
and those who lost. The kinds themselves are modules beside this one, each with the plain form of
its result and its reasons; ``ledger.facts.decision`` puts them under one spelling.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from ledger.facts.canonical import Plain
from ledger.units import DecisionNumber, Microseconds, Subject

LOSERS_NAMED: Final = 16
"""How many losers a record names; the rest is counted by reason and can be recomputed."""

EVERYBODY: Final = 2**31 - 1
"""More than there ever are."""

Kind = Literal[
    "division",
    "capacity_class",
    "deployment",
    "allocation",
    "eviction",
    "disk_placement",
    "repair",
    "proposal",
    "incident",
    "refusal",
]
"""The names are public: ``ledger_api.decisions.kind`` shows them."""

Cause = Literal[
    "edited",
    "candidates",
    "rescheduled",
    "fresh",
    "share",
    "lost",
    "reclaiming",
    "failed",
    "waited",
    "evicting",
    "gone",
    "queue",
    "round",
    "policy",
    "room",
    "target",
    "requested",
    "deficit",
    "surplus",
    "approved",
    "admission",
]
"""Why a subject was asked: its own wish changed, its candidates did, somebody asked for it to be
decided again (``fresh``: from nothing); its share of a division changed, some of what it has was lost
or is about to be, broke, was waited for in vain or has to leave, it is gone; its queue is not there, or a
round of jobs closed; or it had been refused, and since then the policy changed, there is more room, or
the part of it that belongs on on-demand nodes is another. A proposal was requested, or too few or too many are on
on-demand nodes; what was proposed was approved; or a pod is about to be created."""

RETRIED: Final[frozenset[Cause]] = frozenset({"policy", "room", "target"})
"""The causes for which a refused subject is asked again without being touched itself."""

DeadlineKind = Literal["grace", "node_grace", "replenish", "reservation", "round"]
"""A cluster, or a node, has been not ready for too long; a broken replica was waited for long enough;
admitted pods of a template were not seen for too long; a round of jobs closes."""


@dataclass(frozen=True, slots=True, order=True)
class Deadline:
    """A moment of fleet time at which something runs out; in the order in which they fire."""

    at: Microseconds
    kind: DeadlineKind
    subject: Subject


@dataclass(frozen=True, slots=True)
class Losers:
    """Who got nothing, or could not take enough: how many for each reason, and the first of them by name."""

    counts: tuple[tuple[str, int], ...] = ()
    named: tuple[tuple[str, str], ...] = ()
    """Name and reason."""


NO_LOSERS: Final = Losers()


def losers(passed_over: Sequence[tuple[str, str]], named: int = LOSERS_NAMED) -> Losers:
    """What a record says of these names and reasons, which come in order."""
    counts = Counter(why for _, why in passed_over)
    return Losers(tuple(sorted(counts.items())), tuple(passed_over[:named]))


def losers_plain(losers: Losers) -> Plain:
    """As a record spells them."""
    return {"counts": dict(losers.counts), "named": losers.named}


def losers_read(plain: dict[str, Any]) -> Losers:
    """What ``losers_plain`` spelled."""
    return Losers(tuple(sorted(plain["counts"].items())), pairs(plain["named"]))


def carried_out(proposal: DecisionNumber | None) -> dict[str, Plain]:
    """Which approved proposal a decision carries out, as records spell it: most carry out none."""
    return {} if proposal is None else {"proposal": proposal}


def pairs(plain: list[list[Any]]) -> tuple[tuple[Any, Any], ...]:
    """A list of lists of two, as tuples."""
    return tuple((name, value) for name, value in plain)
