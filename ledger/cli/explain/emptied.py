"""Since when nothing of what was asked about is in force, and what took the last of it.

After the newest decision about a subject only events change its places, and they only take. So the event that
took the last of them lies between two positions that are halved until they meet; each is asked by an index.
"""

from collections.abc import Sequence
from typing import Final

from ledger.log.database import Connection
from ledger.views import derivations
from ledger.views.derivations import NEWEST, Recorded

DECIDE_PLACES: Final = ("division", "deployment", "allocation", "eviction", "disk_placement")
"""The kinds of decisions by which a subject has the places that it has."""


async def emptied(
    connection: Connection,
    fleet: str,
    wanted: Sequence[tuple[str, str]],
    *,
    at: int = NEWEST,
) -> list[str]:
    """That these kinds and subjects have no places by a position, and why; nothing of those that never had any."""
    last = await _last(connection, fleet, [subject for _, subject in wanted], at=at)
    if last is None:
        return []
    position: int = last.decision.position
    through, _ = await derivations.decided_through(connection, fleet)

    async def some(behind: int) -> bool:
        return bool(await derivations.places(connection, fleet, wanted, at=behind))

    if not await some(position):
        return [f"nothing: #{last.decision.number} left nothing in force"]
    there, gone = position, min(at, through)
    while there + 1 < gone:
        middle = (there + gone) // 2
        if await some(middle):
            there = middle
        else:
            gone = middle
    event = await derivations.event(connection, fleet, gone)
    told = "which was archived" if event is None else f"{event.type} {event.subject}"
    return [f"nothing: event {gone} took the last of it, {told}"]


async def _last(
    connection: Connection, fleet: str, subjects: Sequence[str], *, at: int
) -> Recorded | None:
    """The newest decision by which one of the subjects has places."""
    found = [
        await derivations.newest(connection, fleet, subject, DECIDE_PLACES, at=at)
        for subject in dict.fromkeys(subjects)
    ]
    return max(
        (one for one in found if one is not None),
        key=lambda one: one.decision.number,
        default=None,
    )
