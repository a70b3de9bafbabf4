"""What became of proposals, written down once.

What a proposal says is read from its decision. One is over when a decision carries it out, refuses to
or proposes something else about the same, or when an event or another decision withdraws it. What is
neither is open.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.views.released import Ended
from ledger.views.table import Row, Table

ENDED_PROPOSALS: Final = Table(
    "ended_proposals", ("fleet", "number", "state", "resolved_by", "position"), key=2
)


def ended_proposals(fleet: int, decisions: Sequence[Decision], ended: Sequence[Ended]) -> list[Row]:
    """A row a proposal that is over because of these decisions and events, by number."""
    over: dict[int, tuple[str, int | None, int]] = {
        number: ("withdrawn", None, position)
        for kind, _, number, position in ended
        if kind == "proposal"
    }
    for decision in decisions:
        # Several decisions may carry one out; they share its event, and the first of them is told.
        for number, state in _closed(decision):
            over.setdefault(number, (state, decision.number, decision.position))
    return [(fleet, number, *over[number]) for number in sorted(over)]


def _closed(decision: Decision) -> Iterator[tuple[int, str]]:
    """Which proposal a decision ends, and how."""
    match decision.outcome:
        case Deployment(proposal=number) | DiskPlacement(proposal=number) if number is not None:
            yield number, "executed"
        case Repair(proposal=number):
            yield number, "executed"
        case Proposal() if decision.previous is not None:
            yield decision.previous, "replaced"
        case Refusal(wanted="proposal") if decision.previous is not None:
            yield decision.previous, "refused"
        case _:
            pass
