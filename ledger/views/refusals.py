"""What is wanted and refused now, brought up to date in the transaction that records decisions.

One row a question: what was wanted, and of which subject. A new refusal takes the place of the one
before it, an answer ends it, and so does an event after which nobody wants it any more.
"""

from collections.abc import Sequence

import asyncpg

from ledger.facts.decision import Decision
from ledger.facts.refusal import Refusal
from ledger.views.projection import Ended


async def keep_open(
    connection: asyncpg.Connection,
    fleet: int,
    decisions: Sequence[Decision],
    ended: Sequence[Ended],
) -> None:
    """Close what these decisions and events ended, and open what they refused."""
    asked: dict[tuple[str, str], int | None] = {}
    for decision in decisions:
        match decision.outcome:
            case Refusal(wanted=wanted):
                asked[wanted, decision.subject] = decision.number
            case _:
                asked[decision.kind, decision.subject] = None
    moot = {number for kind, _, number in ended if kind == "refusal"}
    if asked:
        await connection.execute(
            "DELETE FROM ledger.open_refusals o"
            " USING unnest($2::text[], $3::text[]) AS t(wanted, subject)"
            " WHERE o.fleet = $1 AND o.wanted = t.wanted AND o.subject = t.subject",
            fleet,
            [wanted for wanted, _ in asked],
            [subject for _, subject in asked],
        )
    if moot:
        await connection.execute(
            "DELETE FROM ledger.open_refusals WHERE fleet = $1 AND number = ANY($2::bigint[])",
            fleet,
            sorted(moot),
        )
    opened = [
        (fleet, wanted, subject, number)
        for (wanted, subject), number in sorted(asked.items(), key=lambda item: item[0])
        if number is not None and number not in moot
    ]
    if opened:
        await connection.copy_records_to_table(
            "open_refusals",
            schema_name="ledger",
            columns=("fleet", "wanted", "subject", "number"),
            records=opened,
        )
