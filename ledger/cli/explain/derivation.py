"""Everything that is read to explain one decision, and in which order it was told.

What a decision carries suffices for most of it. Beside it are read: the event that made it due, the
decision before it, the last result of the same kind, what its subject was told to be by then, for a
round the decision that tells how the queues stood, the refusal that it ended and the one that says what
is still short, what became of a refusal, and what was wished since one that stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ledger.cli.explain import words
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
    ended: Recorded | None
    """The refusal that it ended, if it ended one."""
    short: Recorded | None
    """Where not all of it could be served: the refusal that says what is short. It is made after it, or
    stands since before: a refusal is not recorded again while its reason stays."""
    ending: Ending | None
    """What became of it, if it is a refusal."""
    ended_by: Recorded | None
    """The decision that ended it, if it is a refusal that one ended."""
    newer_wish: Told | None
    """What is wished since, if it is a refusal that stands and another wish came."""
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


class Standing(NamedTuple):
    """A refusal that stands, what was wished when it was made, and what is wished since if that differs."""

    recorded: Recorded
    wish: Told | None
    newer_wish: Told | None


async def derive(connection: Connection, recorded: Recorded, *, at: int = NEWEST) -> Derivation:
    """Read what a decision followed from, and by a position what followed from it."""
    decision = recorded.decision
    fleet, subject = decision.fleet, decision.subject
    known = known_to(decision)
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
    ending = await _ending(connection, decision, at)
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
        ended=await _ended(connection, decision),
        short=await _short(connection, decision),
        ending=ending,
        ended_by=None
        if ending is None or ending.resolved_by is None
        else await derivations.decision(connection, fleet, ending.resolved_by),
        newer_wish=None
        if ending is None or not ending.open
        else (await stands(connection, recorded, at=at)).newer_wish,
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


async def stands(connection: Connection, recorded: Recorded, *, at: int) -> Standing:
    """A refusal that stands with what is wished since.

    The newer wish may be refused as well: a refusal is not recorded again while its reason stays.
    """
    refused = recorded.decision
    named = named_by(refused)
    if named is None:
        return Standing(recorded, None, None)
    object_, told, gone = named
    wish = await derivations.last_said(
        connection, refused.fleet, [object_], [told], at=known_to(refused)
    )
    newest = await derivations.last_said(connection, refused.fleet, [object_], [told, gone], at=at)
    if wish is None or newest is None or newest.type == gone:
        return Standing(recorded, wish, None)
    if not words.other_wish(wish.data, newest.data):  # Told again, perhaps with another revision.
        return Standing(recorded, wish, None)
    return Standing(recorded, wish, newest)


def known_to(decision: Decision) -> int:
    """The last position that a decision knew of: a deadline fires before the event of its position."""
    return decision.position - (decision.deadline is not None)


async def _ending(connection: Connection, decision: Decision, at: int) -> Ending | None:
    """What had become of a refusal by a position."""
    ending = await derivations.ending(connection, decision.fleet, decision.number)
    if ending is not None and ending.position is not None and ending.position > at:
        return Ending(open=True, resolved_by=None, position=None)
    return ending


async def _ended(connection: Connection, decision: Decision) -> Recorded | None:
    """The refusal that a decision ended."""
    before = await _refusal(connection, decision, below=decision.number)
    if before is None:
        return None
    ending = await derivations.ending(connection, decision.fleet, before.decision.number)
    assert ending is not None, "it is a refusal"
    return before if ending.resolved_by == decision.number else None


async def _short(connection: Connection, decision: Decision) -> Recorded | None:
    """The refusal that says what a decision could not serve: the next about its subject, or the one that stood."""
    outcome = decision.outcome
    if not isinstance(outcome, Deployment | DiskPlacement) or outcome.complete:
        return None
    after = await _refusal(connection, decision, below=NEWEST)
    if after is not None and after.decision.number > decision.number:
        last = await derivations.newest(
            connection,
            decision.fleet,
            decision.subject,
            [outcome.kind],
            below=after.decision.number,
        )
        if last is not None and last.decision.number == decision.number:
            return after
    before = await _refusal(connection, decision, below=decision.number)
    if before is None:
        return None
    ending = await derivations.ending(connection, decision.fleet, before.decision.number)
    assert ending is not None, "it is a refusal"
    if ending.resolved_by is not None:
        return before if ending.resolved_by > decision.number else None
    ended = ending.position is not None and ending.position <= known_to(decision)
    return None if ended else before


async def _refusal(connection: Connection, decision: Decision, *, below: int) -> Recorded | None:
    """The newest refusal of what a decision was asked for, by its position and below a number."""
    return await derivations.newest(
        connection,
        decision.fleet,
        decision.subject,
        [f"refusal/{_wanted(decision.outcome)}"],
        at=decision.position,
        below=below,
    )


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
