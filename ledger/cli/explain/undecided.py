"""Why nothing was decided about something that was told: the other half of why a thing is pending.

What was refused is a decision, and is explained as one. What has none waits for its event to be folded,
for a hold to end or for a round to close, or it asks for nothing that is decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ledger.cli.counting import count
from ledger.cli.explain import words
from ledger.cli.explain.derivation import Derivation, named_by
from ledger.log.database import Connection
from ledger.views import derivations
from ledger.views.derivations import Told

Waiting = Literal["undecided", "hold", "round", "no_wish", "no_replicas", "nothing_due"]
"""Its event is not decided yet; a policy holds all decisions; a round has to close; it asks for nothing
that is decided; it wants none; or nothing was due."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """Something that an event speaks of, and about which nothing was decided."""

    fleet: str
    subject: str
    told: Told
    waiting: Waiting
    line: str


@dataclass(frozen=True, slots=True)
class NewerWish:
    """A wish, or its end, that no decision answers yet, though there are decisions about its object."""

    told: Told
    waiting: Waiting
    line: str


async def newer(connection: Connection, fleet: str, of: Derivation, *, at: int) -> NewerWish | None:
    """What was said of a workload or volume last, where that still waits, and why."""
    named = named_by(of.decision)
    if named is None:
        return None
    object_, told, gone = named
    said = await derivations.last_said(connection, fleet, [object_], [told, gone], at=at)
    if said is None or said.position <= of.decision.position:
        return None
    what = "removes it" if said.type == gone else "tells it anew"
    if said.type != gone and (other := words.other_wish(of.wished, said.data)):
        what = f"tells it anew ({other})"
    if said.effect is None:
        _, behind = await derivations.decided_through(connection, fleet)
        line = (
            f"event {said.position} {what}, and is not decided yet: {_wait(behind)} to be"
            " decided, see `ledger status`"
        )
        return NewerWish(said, "undecided", line)
    since = await derivations.held_since(connection, fleet, at=at)
    if since is None or since > said.position:
        return None
    line = f"event {said.position} {what}, and a policy holds all decisions since event {since}"
    return NewerWish(said, "hold", line)


async def find(
    connection: Connection, fleet: str, subject: str, types: Sequence[str], *, at: int
) -> Undecided | None:
    """Why nothing was decided about a workload or a volume; None where no event speaks of it."""
    told = await derivations.last_said(connection, fleet, [subject], types, at=at)
    if told is None:
        return None
    through, behind = await derivations.decided_through(connection, fleet)
    if told.position > through:
        line = f"{_wait(behind)} to be decided, and this is one of them: see `ledger status`"
        return Undecided(fleet, subject, told, "undecided", line)
    hold = await derivations.last_setting(connection, fleet, "hold", at=at)
    if hold is not None and hold.data.get("hold"):
        line = f"a policy holds all decisions since event {hold.position}"
        return Undecided(fleet, subject, told, "hold", line)
    waiting, line = _of_wish(told.data)
    return Undecided(fleet, subject, told, waiting, line)


def _wait(events: int) -> str:
    return f"{count(events, 'event')} {'waits' if events == 1 else 'wait'}"


def _of_wish(wish: Mapping[str, Any]) -> tuple[Waiting, str]:
    if not wish.get("replicas", 1):
        return "no_replicas", "it wants no replicas"
    if wish.get("kind") == "Job" and wish.get("queue"):
        return "round", f"it waits in queue {wish['queue']} for the next round of jobs to close"
    if "size" not in wish and not (wish.get("division") or wish.get("deploy")):
        return "no_wish", "it has no division, no deploy and no queue: nothing is decided for it"
    return "nothing_due", "nothing of it was due so far"
