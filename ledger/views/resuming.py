"""Where somebody goes on reading who has seen decisions of a log that may have been restored since.

A number alone does not say which decision it was: a log that was restored to an earlier point uses
numbers again, in its next life. So whoever reads on says the life as well, and goes on where the life
that they saw parted from what is there now: nothing that stands is missed. Where nobody can say any more
where that was, they begin at the first decision of a life; what they had of it already they know by
its life and number.
"""

from dataclasses import dataclass

import asyncpg

from ledger.views import pages


@dataclass(frozen=True, slots=True)
class Seen:
    """The last decision that somebody has seen; number -1 is none."""

    incarnation: int
    number: int

    @property
    def name(self) -> str:
        """Of the decision within its fleet."""
        return f"{self.incarnation}/{self.number}"


def seen(named: str) -> Seen:
    """The decision of this name, with its fleet or within it."""
    *_, incarnation, number = named.split("/")
    return Seen(int(incarnation), int(number))


async def newest(connection: asyncpg.Connection, fleet: str) -> Seen:
    """The newest decision of a fleet."""
    mark = await pages.mark(connection, fleet)
    return await at(connection, fleet, -1 if mark is None else mark.decisions - 1)


async def at(connection: asyncpg.Connection, fleet: str, number: int) -> Seen:
    """The decision of a number that is there, or -1."""
    life = await _life_of(connection, fleet, number)
    return Seen(1 if life is None else life, number)


async def going_on(connection: asyncpg.Connection, fleet: str, last: Seen) -> int:
    """The number behind which everything is new to somebody who has seen ``last``."""
    here = await _life_of(connection, fleet, last.number)
    if last.number < 0 or here == last.incarnation:
        return last.number
    end = await newest(connection, fleet)
    if here is None and end.incarnation <= last.incarnation:
        mark = await pages.mark(connection, fleet)
        if mark is not None and mark.incarnation > last.incarnation:
            return last.number  # Of the next life nothing is decided yet: it is told where it does.
        here = end.incarnation
    if here is None or here > last.incarnation:
        parted = await _first_above(connection, fleet, last.incarnation, end.number)
        here = await _life_of(connection, fleet, parted - 1)
        if here is None or here == last.incarnation:
            return parted - 1
    return await _first_above(connection, fleet, here - 1, end.number) - 1


async def _life_of(connection: asyncpg.Connection, fleet: str, number: int) -> int | None:
    """In which life a decision was made; None where there is none of that number."""
    found: str | None = await connection.fetchval(
        "SELECT decision FROM ledger_api.decisions WHERE fleet = $1 AND number = $2", fleet, number
    )
    return None if found is None else seen(found).incarnation


async def _first_above(
    connection: asyncpg.Connection, fleet: str, incarnation: int, last: int
) -> int:
    """The first decision of a later life than this; behind ``last``, the newest, where there is none."""
    low, behind = 0, last + 1
    while low < behind:
        middle = (low + behind) // 2
        life = await _life_of(connection, fleet, middle)
        assert life is not None, "numbers have no gaps"
        if life > incarnation:
            behind = middle
        else:
            low = middle + 1
    return low
