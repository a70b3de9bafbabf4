"""The answers to admissions, held against the decisions and the events that they follow from.

Of an admission either the decision's answer stands or the one that was given because none came in time;
then an event says so (``ledger.log.admissions``). That event may come later than the decision, so a
decision's answer that is not there is owed until such an event is met. Where the decision's answer
stands, such an event says that it was not given all the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Final

from ledger.admission import answering
from ledger.facts.own import AdmissionBypassed
from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.folding import event
from ledger.log.read import StoredEvent
from ledger.replay.report import Divergence
from ledger.replay.stored_rows import StoredRows, difference, unlike
from ledger.views.table import Row, Table

ANSWERS: Final = Table(
    "admission_answers", ("fleet", "uid", "position", "bypassed", "answer"), key=2
)

BYPASSED: Final = "ledger.workload.admission.bypassed.v1"


class GivenAnswers:
    """The answers of a fleet, read along with its events."""

    def __init__(self, connection: Connection, fleet: Fleet) -> None:
        self._connection = connection
        self._fleet = fleet
        self._stored = StoredRows(connection, fleet, ANSWERS, by="position")
        self._owed: dict[str, Row] = {}

    async def compare(
        self, decided: Iterable[tuple[str, int, bytes]], events: Sequence[StoredEvent]
    ) -> Divergence | None:
        """Hold what there is up to the last of some events against what was decided and told by then."""
        there = await self._stored.through(events[-1].position)
        answered = {(row[1], row[2]) for row in there}
        wanted: list[Row] = []
        for uid, position, answer in decided:
            row = (self._fleet.number, uid, position, False, answer)
            if (uid, position) in answered:
                wanted.append(row)
            else:
                self._owed[uid] = row
        told = [self._without_decision(one) for one in events if one.type == BYPASSED]
        absent = [row[1] for row in told if (row[1], row[2]) not in answered]
        before = await self._decided(absent, before=events[-1].position) if absent else {}
        wanted += [row for row in told if before.get(row[1], row[2]) >= row[2]]
        different = difference(ANSWERS, wanted, there)
        return None if different is None else _located(*different)

    async def end(self) -> Divergence | None:
        """Whether an answer was never given, or is one to a question that nobody asked."""
        for row in sorted(self._owed.values(), key=itemgetter(2)):
            return _located(row, unlike(ANSWERS, row, None))
        for row in await self._stored.next():
            return _located(row, unlike(ANSWERS, None, row))
        return None

    async def _decided(self, uids: Sequence[str], *, before: int) -> dict[str, int]:
        """Which of these have a decision's answer, and where that was decided."""
        with refusals_named():
            rows = await self._connection.fetch(
                "SELECT uid, position FROM ledger.admission_answers"
                " WHERE fleet = $1 AND uid = ANY($2::text[]) AND NOT bypassed AND position < $3",
                self._fleet.number,
                uids,
                before,
            )
        return {row["uid"]: row["position"] for row in rows}

    def _without_decision(self, stored: StoredEvent) -> Row:
        told = event(stored).fact
        assert isinstance(told, AdmissionBypassed), "its type says so"
        self._owed.pop(told.uid, None)
        answer = answering.bypassed(self._fleet.name, told.uid, told.reason)
        return (self._fleet.number, told.uid, stored.position, True, answer)


def _located(row: Row, trouble: Divergence | None) -> Divergence:
    assert trouble is not None, "the row is missing, or should not be there"
    return replace(trouble, position=row[2])
