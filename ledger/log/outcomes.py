"""What became of each message of a batch, in the order in which they came.

Kafka and files are told sums. Who sends a request wants to know of every event whether it is in the
log now, and where; and who sends it again, because no answer came, is to learn the same places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ledger.errors import InvalidReason
from ledger.events.codec import Accepted
from ledger.log.intake import Taken
from ledger.log.messages import Message
from ledger.units import FleetName, Position


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one message: its place in the log, or why it has none."""

    outcome: Literal["appended", "duplicate", "conflict", "quarantined"]
    fleet: FleetName | None
    position: Position | None = None
    reason: InvalidReason | None = None
    detail: str | None = None


def outcomes(messages: Sequence[Message], taken: Taken) -> list[Outcome]:
    """Of each of these messages, which were taken as one batch and have a coordinate each."""
    refused = {message.at: (reason, detail) for message, reason, detail in taken.refused}
    seen: set[tuple[FleetName, bytes]] = set()
    told: list[Outcome] = []
    for message in messages:
        verdict = message.verdict
        if message.at in refused:
            reason, detail = refused[message.at]
            conflict = reason == "identity_conflict"
            outcome = Outcome(
                "conflict" if conflict else "quarantined",
                verdict.fleet,
                reason=reason,
                detail=detail,
            )
        else:
            assert isinstance(verdict, Accepted), "what the contract refuses is in quarantine"
            share = taken.shares[verdict.fleet]
            position = Position(share.known[verdict.identity][1])
            new = position >= share.first and (verdict.fleet, verdict.identity) not in seen
            seen.add((verdict.fleet, verdict.identity))
            outcome = Outcome("appended" if new else "duplicate", verdict.fleet, position)
        told.append(outcome)
    return told
