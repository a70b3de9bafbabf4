"""A refusal told: what is short and by how much, what it waits for, and what became of it."""

from collections.abc import Mapping
from typing import Any

from ledger.cli.explain import words
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.sections import LOSERS_TOLD, Sections, losers
from ledger.facts.refusal import Refusal
from ledger.views.derivations import Recorded, Told

WANTED = {
    "division": "to be divided over clusters",
    "deployment": "to be deployed on nodes",
    "allocation": "for places for its tasks",
    "disk_placement": "for disks for its replicas",
    "proposal": "to be made better",
}
"""What was asked for, by kind."""


def tell(of: Derivation, refusal: Refusal, sections: Sections) -> None:
    """What a refusal says, and what became of it."""
    sections.asked += asked(of, refusal)
    sections.last_result += _last(of)
    sections.steps += short(refusal, of.decision.subject)
    sections.losers += losers(refusal.losers, words_of=LOSERS_TOLD)
    sections.changed.append("nothing: a refusal moves nothing")
    sections.now += became(of)


def asked(of: Derivation, refusal: Refusal) -> list[str]:
    """What was wanted."""
    lines = [f"{of.decision.subject}: {WANTED.get(refusal.wanted, refusal.wanted)}"]
    if of.wish is not None:
        told = words.wish(of.wished, ("replicas", "size"))
        lines.append(f"told by event {of.wish.position}: {told}")
    if of.newer_wish is not None:
        lines.append(wished_since(of.newer_wish, of.wished))
    return lines


def wished_since(told: Told, refused: Mapping[str, Any]) -> str:
    """What is wished since something was refused."""
    return f"wished since, by event {told.position}: {words.other_wish(refused, told.data)}"


def short(refusal: Refusal, subject: str, *, numbers: str = "numbers") -> list[str]:
    """What is short, by how much, and what that waits for."""
    lines = [f"{words.refused(refusal)}."]
    if refusal.detail:
        lines.append(f"{numbers}: {words.amounts(refusal.detail)}")
    # What is 0 of both is left out of the record.
    if refusal.reason == "queue_overused" and not any(
        name.startswith("deserved ") for name, _ in refusal.detail
    ):
        lines.append(
            "that is nothing: there is nothing to share out, or nothing of it for this queue"
        )
    lines += [
        f"short by {words.amount(what, missing)} ({what})"
        for what, missing in words.short_by(refusal)
    ]
    lines.append(words.waits_for(refusal, subject))
    return lines


def not_all(of: Derivation) -> str:
    """Which refusal says what a decision could not serve."""
    told = "not all of it could be served"
    if of.short is None:
        return told
    number, position = of.short.decision.number, of.short.decision.position
    if number > of.decision.number:
        return f"{told}: the refusal after it, #{number}, says what is short"
    return f"{told}: #{number} had refused that before, at position {position}, and still stood"


def became(of: Derivation) -> list[str]:
    """Whether it still stands."""
    if of.ending is None:
        return []
    if of.ending.open:
        return ["it still stands"]
    if of.ending.resolved_by is not None:
        return [f"it ended with decision #{of.ending.resolved_by}{_which(of.ended_by)}"]
    if of.ending.position is not None:
        return [f"it ended with event {of.ending.position}: nobody wanted it any more"]
    return ["it was never open: it waited for nothing"]


def _which(by: Recorded | None) -> str:
    """What the decision did that ended a refusal."""
    if by is None:
        return ""
    outcome = by.decision.outcome
    if isinstance(outcome, Refusal):
        return f" at position {by.decision.position}: refused anew ({outcome.reason})"
    return f" at position {by.decision.position} ({by.decision.branch})"


def _last(of: Derivation) -> list[str]:
    if of.last is None:
        return ["none: it was never served"]
    last = of.last.decision
    stays = "stays in force"
    if last.kind == "allocation":
        stays = "goes on as far as its tasks still run"
    elif "lost" in of.decision.outcome.because:
        stays = "stays in force as far as it was not lost"
    return [f"#{last.number} at position {last.position} ({last.branch}) {stays}"]
