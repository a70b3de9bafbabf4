"""Something that was asked for and could not be served: what is short, by how much, what it waits for."""

from dataclasses import dataclass
from typing import Any, Literal

from ledger.facts.canonical import Plain
from ledger.facts.reason import NO_LOSERS, Cause, Kind, Losers, losers_plain, losers_read


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that could not be served; what was in force before stays in force."""

    wanted: Kind
    reason: str
    waits_for: str
    detail: tuple[tuple[str, int], ...] = ()
    """What is short, by how much."""
    losers: Losers = NO_LOSERS
    because: tuple[Cause, ...] = ()

    kind: Literal["refusal"] = "refusal"


def result(refusal: Refusal) -> Plain:
    """What was not served, and why."""
    return {
        "wanted": refusal.wanted,
        "reason": refusal.reason,
        "waits_for": refusal.waits_for,
    }


def reasons(refusal: Refusal) -> Plain:
    """The numbers behind it."""
    return {
        "because": refusal.because,
        "detail": dict(refusal.detail),
        "losers": losers_plain(refusal.losers),
    }


def read(answer: dict[str, Any], why: dict[str, Any]) -> Refusal:
    """What ``result`` and ``reasons`` spelled."""
    return Refusal(
        wanted=answer["wanted"],
        reason=answer["reason"],
        waits_for=answer["waits_for"],
        detail=tuple(sorted(why["detail"].items())),
        losers=losers_read(why["losers"]),
        because=tuple(why["because"]),
    )
