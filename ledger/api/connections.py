"""A few connections that requests share, each lent to one at a time.

They are opened when they are wanted. One that broke is dropped and the next request opens another,
so that a service outlives its database; whoever finds none free waits, and not for ever.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final, Generic, Protocol, TypeVar

from ledger.api.problems import Problem, again_after
from ledger.errors import SetupProblem

PATIENCE_SECONDS: Final = 5.0
"""How long a request waits for a connection that others have."""


class Lendable(Protocol):
    """What can be lent."""

    @property
    def closed(self) -> bool:
        """Whether it is of no use any more."""

    async def close(self) -> None:
        """Be of no use any more."""


Lent = TypeVar("Lent", bound=Lendable)


class Connections(Generic[Lent]):
    """At most so many at a time."""

    def __init__(self, open_: Callable[[], Awaitable[Lent]], most: int) -> None:
        self._open = open_
        self._free = asyncio.Semaphore(most)
        self._idle: list[Lent] = []

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Lent]:
        """Lend one for as long as the block runs."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._free.acquire()
        except TimeoutError:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "busy",
                "all connections to the log are in use",
                again_after(1),
            ) from None
        try:
            lent = await self._usable()
            whole = False
            try:
                yield lent
                whole = True
            except (Problem, SetupProblem):
                whole = True
                raise
            finally:
                # One that an error or a cancelled request left in the middle of something is not
                # lent again: nobody knows what it would answer.
                if whole and not lent.closed:
                    self._idle.append(lent)
                else:
                    await lent.close()
        finally:
            self._free.release()

    async def close(self) -> None:
        """Close those that nobody has."""
        while self._idle:
            await self._idle.pop().close()

    async def _usable(self) -> Lent:
        while self._idle:
            lent = self._idle.pop()
            if not lent.closed:
                return lent
        return await self._open()
