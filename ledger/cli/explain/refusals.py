"""A refusal told: what is short and by how much, what it waits for, and what became of it."""

from ledger.cli.explain import words
from ledger.cli.explain.deployments import LOSERS_TOLD
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.sections import Sections, losers
from ledger.facts.refusal import Refusal

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
    sections.changed.append("nothing: what was in force stayed in force")
    sections.now += became(of)


def asked(of: Derivation, refusal: Refusal) -> list[str]:
    """What was wanted."""
    lines = [f"{of.decision.subject}: {WANTED.get(refusal.wanted, refusal.wanted)}"]
    if of.wish is not None:
        told = words.wish(of.wished, ("replicas", "size"))
        lines.append(f"told by event {of.wish.position}: {told}")
    return lines


def short(refusal: Refusal, subject: str) -> list[str]:
    """What is short, by how much, and what that waits for."""
    lines = [f"{words.reason(refusal.reason)}."]
    if refusal.detail:
        lines.append(f"numbers: {words.amounts(refusal.detail)}")
    lines += [f"short by {missing} ({what})" for what, missing in words.short_by(refusal)]
    lines.append(words.waits_for(refusal, subject))
    return lines


def became(of: Derivation) -> list[str]:
    """Whether it still stands."""
    if of.ending is None:
        return []
    if of.ending.open:
        return ["it still stands"]
    if of.ending.resolved_by is not None:
        return [f"it ended with decision #{of.ending.resolved_by}: served, or refused anew"]
    if of.ending.position is not None:
        return [f"it ended with event {of.ending.position}: nobody wanted it any more"]
    return ["it was never open: it waited for nothing"]


def _last(of: Derivation) -> list[str]:
    if of.last is None:
        return ["none: it was never served"]
    last = of.last.decision
    return [f"#{last.number} at position {last.position} ({last.branch}) stays in force"]
