"""What is wanted and refused now.

One row a question: what was wanted, and of which subject. A new refusal takes the place of the one
before it, an answer that leaves nothing open ends it, and so does an event after which nobody wants
it any more. What ended a refusal is written down once. A refusal that waits for nothing is not open.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, get_args

from ledger.facts.admission import Admission
from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.eviction import Eviction
from ledger.facts.incident import Incident
from ledger.facts.proposal import Proposal
from ledger.facts.reason import Kind
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.views.past import OPEN_REFUSALS, Span, Standing, Turned, Turning
from ledger.views.released import Ended
from ledger.views.table import Row, Table

ENDED_REFUSALS: Final = Table(
    "ended_refusals", ("fleet", "number", "resolved_by", "position"), key=2
)

WAITS_FOR_NOTHING = "nothing"

Question = tuple[str, str]
"""The kind that was wanted, and the subject."""


class Open(NamedTuple):
    """A refusal that stands."""

    number: int
    reason: str
    waits_for: str
    begin: int
    """Position of the event that made it due."""

    @property
    def says(self) -> tuple[int, str, str]:
        """What its row says of it."""
        return self.number, self.reason, self.waits_for


def open_refusals(fleet: int, decisions: Sequence[Decision], ended: Sequence[Ended]) -> Turning:
    """Close what these decisions and events ended, and open what they refused."""
    told = questions_told(decisions, ended)

    def turn(found: dict[Row, Standing]) -> Turned:
        open_ = {
            (wanted, subject): Open._make((*says, begin))
            for (wanted, subject), (says, begin) in found.items()
        }
        over, past = settle(fleet, open_, told)
        standing = {question: (was.says, was.begin) for question, was in open_.items()}
        return Turned(standing, past, [ENDED_REFUSALS.gets(over)])

    asked = {question for question, _ in told.told}
    # An event names a refusal that nobody wants answered any more by its subject, not by what was wanted.
    moot = {subject for kind, subject, _, _ in ended if kind == "refusal"}
    asked.update((wanted, subject) for wanted in get_args(Kind) for subject in moot)
    return Turning(OPEN_REFUSALS, len(OPEN_REFUSALS.key), sorted(asked), turn)


class Turn(NamedTuple):
    """What decisions and events say of questions."""

    told: list[tuple[Question, Decision]]
    moot: dict[int, int]
    """Refusals that nobody wants answered any more, each with the position of the event."""


def questions_told(decisions: Sequence[Decision], ended: Sequence[Ended]) -> Turn:
    """Which questions these decisions answer or refuse, and which refusals these events ended."""
    return Turn(
        [(question, decision) for decision in decisions if (question := _about(decision))],
        {number: position for kind, _, number, position in ended if kind == "refusal"},
    )


def settle(fleet: int, open_: dict[Question, Open], turn: Turn) -> tuple[list[Row], list[Span]]:
    """Bring the refusals up to date that are open of these questions; a row each that is over."""
    moot = turn.moot
    over: list[Row] = []
    past: list[Span] = []

    def end(question: Question, by: Decision | None) -> None:
        was = open_.pop(question, None)
        if was is None:
            return
        resolved_by = None if by is None or was.number in moot else by.number
        position = moot[was.number] if by is None or was.number in moot else by.position
        over.append((fleet, was.number, resolved_by, position))
        if was.begin < position:
            past.append(Span((*question, *was.says), was.begin, position))

    for question, decision in turn.told:
        end(question, decision)
        if isinstance(decision.outcome, Refusal):
            open_[question] = Open(
                decision.number,
                decision.outcome.reason,
                decision.outcome.waits_for,
                decision.position,
            )
    for question in [one for one, was in sorted(open_.items()) if was.number in moot]:
        end(question, None)
    return over, past


def _about(decision: Decision) -> Question | None:
    """Which question a decision ends or refuses; None where it leaves what is open as it is."""
    match decision.outcome:
        case Refusal(waits_for=waits_for, wanted=wanted):
            return None if waits_for == WAITS_FOR_NOTHING else (wanted, decision.subject)
        case Deployment(complete=False) | DiskPlacement(complete=False):
            return None
        case Admission() | Eviction() | Incident() | Proposal() | Repair():
            return None
        case Allocation(waiting=waiting) if waiting:
            return None
        case _:
            return decision.kind, decision.subject
