"""Everything that is read to explain one decision, and in which order it was told.

What a decision carries suffices for most of it. Beside it are read: the event that made it due, the
decision before it, the last result of the same kind, what its subject was told to be by then, for a
round the decision that tells how the queues stood, and what became of a refusal.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ledger.facts.admission import Admission
from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision, Outcome
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.facts.fair_share import RoundTold
from ledger.facts.refusal import Refusal
from ledger.log.database import Connection
from ledger.views import derivations
from ledger.views.derivations import NEWEST, Ending, Recorded, Told

WORKLOAD_TOLD: Final = "ledger.workload.workload.upserted.v1"
WORKLOAD_GONE: Final = "ledger.workload.workload.removed.v1"
VOLUME_TOLD: Final = "ledger.disk.volume.upserted.v1"
VOLUME_GONE: Final = "ledger.disk.volume.removed.v1"


@dataclass(frozen=True, slots=True)
class Derivation:
    """A decision with what it followed from."""

    recorded: Recorded
    cause: Told | None
    """The event that made it due; None where its range was archived."""
    previous: Recorded | None
    """The decision about the same subject before it."""
    last: Recorded | None
    """The last result of what was wanted, if the subject's life had one."""
    wish: Told | None
    """What the workload or volume was told to be; None where no event is there that says so."""
    beside: tuple[Recorded, ...]
    """What the same round decided, for jobs."""
    ending: Ending | None
    """What became of it, if it is a refusal."""
    newer: Recorded | None
    """The newest decision of the same kind about the subject, if there is one after it."""
    gone: Told | None
    """What removed the workload or volume, if it is not there."""

    @property
    def decision(self) -> Decision:
        """The decision itself."""
        return self.recorded.decision

    @property
    def outcome(self) -> Outcome:
        """Its answer."""
        return self.recorded.decision.outcome

    @property
    def round(self) -> RoundTold | None:
        """How the queues stood after the round, where that was told: by the first of its decisions."""
        for one in (self.recorded, *self.beside):
            told = one.decision.outcome
            if isinstance(told, Allocation | Eviction) and told.round.tells:
                return told.round
        return None

    @property
    def wished(self) -> Mapping[str, Any]:
        """What the workload or volume was told to be, as its event spells it."""
        return {} if self.wish is None else self.wish.data


async def derive(connection: Connection, recorded: Recorded, *, at: int = NEWEST) -> Derivation:
    """Read what a decision followed from, and by a position what followed from it."""
    decision = recorded.decision
    fleet, subject = decision.fleet, decision.subject
    # A deadline fires before the event of its position is folded.
    known = decision.position - (decision.deadline is not None)
    previous = None
    if decision.previous is not None:
        previous = await derivations.decision(connection, fleet, decision.previous)
    named = named_by(decision)
    wish = last = newer = removed = None
    if named is not None:
        object_, told, gone = named
        wish = await derivations.last_said(connection, fleet, [object_], [told], at=known)
        if previous is not None:
            last = await derivations.newest(
                connection, fleet, subject, [_wanted(decision.outcome)], below=decision.number
            )
        if last is not None and await _began_anew(
            connection, decision, last, object_, gone, wish, known
        ):
            last = None
        removed = await _removed(connection, fleet, object_, told, gone, at)
    if not isinstance(decision.outcome, Refusal | Admission):
        newer = await derivations.newest(connection, fleet, subject, [decision.kind], at=at)
        if newer is not None and newer.decision.number <= decision.number:
            newer = None
    return Derivation(
        recorded=recorded,
        cause=await derivations.event(connection, fleet, decision.position),
        previous=previous,
        last=last,
        wish=wish,
        beside=await _beside(connection, decision),
        ending=await derivations.ending(connection, fleet, decision.number),
        newer=newer,
        gone=removed,
    )


def workload_of(subject: str) -> str:
    """The workload that a subject is about, namespace/name."""
    return subject.partition("@")[0]


def _wanted(outcome: Outcome) -> str:
    """The kind of decision that would be the last result."""
    match outcome:
        case Refusal():
            return outcome.wanted
        case Eviction():
            return "allocation"
        case Admission():
            return "admission"
        case _:
            return outcome.kind


def named_by(decision: Decision) -> tuple[str, str, str] | None:
    """Whose wish counts: its key, and the types of the events that tell it and end it."""
    if _wanted(decision.outcome) == "disk_placement":
        return decision.subject, VOLUME_TOLD, VOLUME_GONE
    if decision.kind == "incident":
        return None
    return workload_of(decision.subject), WORKLOAD_TOLD, WORKLOAD_GONE


async def _began_anew(
    connection: Connection,
    decision: Decision,
    last: Recorded,
    object_: str,
    gone: str,
    wish: Told | None,
    known: int,
) -> bool:
    """Whether the life of which the last result is was over by then, and another had begun.

    What gives up what a life had is the last decision of that life, however much later it comes.
    """
    before, now = last.decision.outcome, decision.outcome
    uids = [
        one.uid
        for one in (before, now)
        if isinstance(one, Allocation | Deployment | DiskPlacement | Division)
    ]
    if len(uids) == 2 and uids[0] != uids[1]:
        return True
    ended = await derivations.last_said(connection, decision.fleet, [object_], [gone], at=known)
    if ended is None or ended.position <= last.decision.position:
        return False
    return wish is not None and wish.position > ended.position


async def _removed(
    connection: Connection, fleet: str, object_: str, told: str, gone: str, at: int
) -> Told | None:
    """The decided event by which an object went by a position, if it did not come again."""
    said = await derivations.last_said(connection, fleet, [object_], [told, gone], at=at)
    if said is not None and said.effect is None:  # It is not decided yet.
        through, _ = await derivations.decided_through(connection, fleet)
        said = await derivations.last_said(connection, fleet, [object_], [told, gone], at=through)
    return said if said is not None and said.type == gone else None


async def _beside(connection: Connection, decision: Decision) -> tuple[Recorded, ...]:
    """What else the round decided that this one is of; deadlines close rounds of their own."""
    if not isinstance(decision.outcome, Allocation | Eviction):
        return ()
    kinds = ["allocation", "eviction", "refusal"]
    found = await derivations.at_position(connection, decision.fleet, decision.position, kinds)
    return tuple(
        one
        for one in found
        if one.decision.deadline == decision.deadline
        and one.decision.number != decision.number
        and _wanted(one.decision.outcome) == "allocation"
    )
