"""What is wanted and refused now, brought up to date in the transaction that records decisions.

One row a question: what was wanted, and of which subject. A new refusal takes the place of the one
before it, an answer that leaves nothing open ends it, and so does an event after which nobody wants
it any more. What ended a refusal is written down once. A refusal that waits for nothing is not open.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import asyncpg

from ledger.facts.admission import Admission
from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.eviction import Eviction
from ledger.facts.incident import Incident
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.views.past import OPEN_REFUSALS, Span, write_now, write_past
from ledger.views.projection import Ended
from ledger.views.table import Row, Table, put

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


async def keep_open(
    connection: asyncpg.Connection,
    fleet: int,
    decisions: Sequence[Decision],
    ended: Sequence[Ended],
) -> None:
    """Close what these decisions and events ended, and open what they refused."""
    turn = questions_told(decisions, ended)
    open_ = await _taken_out(connection, fleet, turn)
    over, past = settle(fleet, open_, turn)
    await write_now(
        connection, OPEN_REFUSALS, [(fleet, *one, *open_[one]) for one in sorted(open_)]
    )
    await write_past(connection, fleet, OPEN_REFUSALS, past)
    await put(connection, ENDED_REFUSALS, over)


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


async def _taken_out(
    connection: asyncpg.Connection, fleet: int, turn: Turn
) -> dict[Question, Open]:
    """The open refusals of these questions, and those that an event ended: they are written anew."""
    if not any(turn):
        return {}
    in_order = sorted({question for question, _ in turn.told})
    rows = await connection.fetch(
        "DELETE FROM ledger.open_refusals o"
        " WHERE o.fleet = $1 AND (o.number = ANY($4::bigint[]) OR (o.wanted, o.subject) IN"
        "  (SELECT * FROM unnest($2::text[], $3::text[])))"
        " RETURNING o.wanted, o.subject, o.number, o.reason, o.waits_for, o.from_position",
        fleet,
        [wanted for wanted, _ in in_order],
        [subject for _, subject in in_order],
        sorted(turn.moot),
    )
    return {(wanted, subject): Open(*row) for wanted, subject, *row in rows}
