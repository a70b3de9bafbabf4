"""Whether what a manifest says of a fleet is so: what it began with, and which clock it runs on.

No leaf holds either, but rows tell of both. The digest of what a fleet began with is in that of its policy,
which every decision has; so an archive that begins with the log and has a decision in it says whether
its genesis is the one that decided. On the event clock each event is recorded at the latest of the times told so
far; on the other one at moments that no producer can know to the microsecond beforehand.

Nobody can tell where nothing was decided, or the archive begins later: what the policy had become by then
is in no row. A history that nobody sent an event of has no clock to be wrong about.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ledger.errors import DamagedArchive
from ledger.events.codec import decode
from ledger.facts.control import PolicyChanged
from ledger.facts.decision import Decision, from_record
from ledger.facts.genesis import policy_digest
from ledger.facts.policy import merge
from ledger.log.archive.layout import MANIFEST
from ledger.log.archive.manifest import Manifest
from ledger.log.archive.reading import Archive
from ledger.replay.leaves import (
    EVENT_TIME,
    PAYLOAD,
    POSITION,
    RECORDED_AT,
    REVISION,
    SUBJECT,
    TYPE,
    Row,
)
from ledger.replay.report import Divergence

_POLICY: Final = "ledger.policy.policy.changed.v1"


def unreadable(archive: Archive) -> Divergence | None:
    """Whether what the fleet began with can be read, and is of this fleet."""
    try:
        _ = archive.genesis
    except DamagedArchive:
        document = archive.manifest.genesis.decode()
        return Divergence(
            "genesis_mismatch", 0, recorded=document, recomputed=archive.manifest.fleet
        )
    return None


@dataclass(slots=True)
class Claims:
    """What the events of an archive say of its manifest, while they are read."""

    manifest: Manifest
    policies: list[Row] = field(default_factory=list)
    clock: int | None = None
    """When the last event was recorded."""
    by_event: bool = True
    """Whether every event so far was recorded at the latest of the times told."""

    def take(self, rows: Sequence[Row]) -> Divergence | None:
        """Look at some more events; on the event clock at when they were recorded."""
        for row in rows:
            if row[TYPE] == _POLICY:
                self.policies.append(row)
            time, recorded_at = row[EVENT_TIME], row[RECORDED_AT]
            before = self.clock
            if before is None:
                # Of an archive that begins late nobody knows how late it was before.
                before = 0 if self.manifest.first == 0 else recorded_at
            told = max(before, time or 0)
            if recorded_at != told:
                if self.manifest.clock == "event":
                    return Divergence(
                        "clock_mismatch",
                        row[POSITION],
                        subject=row[SUBJECT],
                        path=MANIFEST,
                        recorded=str(recorded_at),
                        recomputed=str(told),
                    )
                self.by_event = False
            self.clock = recorded_at
        return None

    def end(self, archive: Archive) -> Divergence | None:
        """Hold the clock against all events, and what the fleet began with against the first decision."""
        if not self.manifest.decides:
            return None
        if self.manifest.clock == "wall" and self.by_event and self.clock is not None:
            return Divergence(
                "clock_mismatch",
                self.manifest.first,
                path=MANIFEST,
                recorded="wall",
                recomputed="event",
            )
        first = None if self.manifest.first else _first_decision(archive)
        if first is None:
            return None
        genesis = archive.genesis
        policy = genesis.policy
        for row in self.policies:
            # A deadline fires before the event of its position.
            if row[POSITION] > first.position - (first.deadline is not None):
                break
            fact = decode(row[PAYLOAD], revision=row[REVISION])
            assert isinstance(fact, PolicyChanged), "its type says so"
            policy = merge(policy, fact.change, default=genesis.policy)
        digest = policy_digest(genesis, policy)
        if digest == first.policy:
            return None
        return Divergence(
            "genesis_mismatch",
            first.position,
            decision=first.number,
            subject=first.subject,
            path=MANIFEST,
            recorded=first.policy,
            recomputed=digest,
        )


def _first_decision(archive: Archive) -> Decision | None:
    begins = archive.manifest.begins.decisions.size
    for page in archive.decisions(begins, begins + 1):
        for one in page:
            return from_record(one.record)
    return None
