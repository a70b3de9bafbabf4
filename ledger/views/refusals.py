"""What is wanted and refused now, brought up to date in the transaction that records decisions.

One row a question: what was wanted, and of which subject. A new refusal takes the place of the one
before it, an answer that leaves nothing open ends it, and so does an event after which nobody wants
it any more. What ended a refusal is written down once. A refusal that waits for nothing is not open.
"""

from collections.abc import Sequence

import asyncpg

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.eviction import Eviction
from ledger.facts.incident import Incident
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.views.projection import Ended

WAITS_FOR_NOTHING = "nothing"

Question = tuple[str, str]
"""The kind that was wanted, and the subject."""


async def keep_open(
    connection: asyncpg.Connection,
    fleet: int,
    decisions: Sequence[Decision],
    ended: Sequence[Ended],
) -> None:
    """Close what these decisions and events ended, and open what they refused."""
    moot = {number: position for kind, _, number, position in ended if kind == "refusal"}
    told = [(question, decision) for decision in decisions if (question := _about(decision))]
    open_ = await _taken_out(connection, fleet, {question for question, _ in told}, sorted(moot))
    over: list[tuple[int, int, int | None, int]] = []
    for question, decision in told:
        number = open_.pop(question, None)
        if number in moot:
            over.append((fleet, number, None, moot[number]))
        elif number is not None:
            over.append((fleet, number, decision.number, decision.position))
        if isinstance(decision.outcome, Refusal):
            open_[question] = decision.number
    for question, number in sorted(open_.items()):
        if number in moot:
            over.append((fleet, number, None, moot[number]))
            del open_[question]
    if open_:
        await connection.copy_records_to_table(
            "open_refusals",
            schema_name="ledger",
            columns=("fleet", "wanted", "subject", "number"),
            records=[(fleet, *question, open_[question]) for question in sorted(open_)],
        )
    if over:
        await connection.copy_records_to_table(
            "ended_refusals",
            schema_name="ledger",
            columns=("fleet", "number", "resolved_by", "position"),
            records=over,
        )


def _about(decision: Decision) -> Question | None:
    """Which question a decision ends or refuses; None where it leaves what is open as it is."""
    match decision.outcome:
        case Refusal(waits_for=waits_for, wanted=wanted):
            return None if waits_for == WAITS_FOR_NOTHING else (wanted, decision.subject)
        case Deployment(complete=False) | DiskPlacement(complete=False):
            return None
        case Eviction() | Incident() | Proposal() | Repair():
            return None
        case Allocation(waiting=waiting) if waiting:
            return None
        case _:
            return decision.kind, decision.subject


async def _taken_out(
    connection: asyncpg.Connection, fleet: int, touched: set[Question], moot: Sequence[int]
) -> dict[Question, int]:
    """The open refusals of these questions, and those that an event ended: they are written anew."""
    if not (touched or moot):
        return {}
    in_order = sorted(touched)
    rows = await connection.fetch(
        "DELETE FROM ledger.open_refusals o"
        " WHERE o.fleet = $1 AND (o.number = ANY($4::bigint[]) OR (o.wanted, o.subject) IN"
        "  (SELECT * FROM unnest($2::text[], $3::text[])))"
        " RETURNING o.wanted, o.subject, o.number",
        fleet,
        [wanted for wanted, _ in in_order],
        [subject for _, subject in in_order],
        moot,
    )
    return {(wanted, subject): number for wanted, subject, number in rows}
