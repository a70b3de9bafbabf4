"""Connections that only read, each page in one snapshot of the database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Self

from ledger.errors import LogUnavailable
from ledger.log.database import Connection, connect, refusals_named
from ledger.views import pages


class Reader:
    """One of them."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect as a reader."""
        connection = await connect(url, "ledger_reader")
        with refusals_named():
            await pages.prepare(connection)
        return cls(connection)

    @property
    def closed(self) -> bool:
        """Whether it can be used no more."""
        return self.connection.is_closed()

    async def close(self) -> None:
        """End the connection."""
        with suppress(LogUnavailable), refusals_named():
            await self.connection.close(timeout=5)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        """Whatever is asked in the block is asked of one moment."""
        with refusals_named():
            async with self.connection.transaction():
                yield
