"""Reads that many want at once: whoever comes while one is under way shares the next.

What is read counts for everybody who asked before it was begun, and for nobody who asked later: for him
it may be old. So a burst of questions about one thing costs two or three reads, and none of the answers is older than
its question.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Shared(Generic[K, V]):
    """Reads things by their keys, each of them once at a time."""

    def __init__(self, read: Callable[[K], Awaitable[V]]) -> None:
        self._read = read
        self._wanted: dict[K, list[asyncio.Future[V]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(self, key: K) -> V:
        """A thing as it is after this was asked; whatever reading raises comes to all who share it."""
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        if key in self._wanted:
            self._wanted[key].append(future)
        else:
            self._wanted[key] = [future]
            task = asyncio.create_task(self._read_all(key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def close(self) -> None:
        """End what is under way; who waits for it is told that nobody reads any more."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        # What was to be read, and was not even begun, has nobody else to say so.
        for waiting in self._wanted.values():
            for one in waiting:
                one.cancel()
        self._wanted.clear()

    async def _read_all(self, key: K) -> None:
        try:
            # Those who ask in one go want the same.
            await asyncio.sleep(0)
            while True:
                waiting = [one for one in self._wanted[key] if not one.done()]
                self._wanted[key] = []
                if not waiting:
                    return
                await self._read_for(key, waiting)
        finally:
            for one in self._wanted.pop(key):
                one.cancel()

    async def _read_for(self, key: K, waiting: list[asyncio.Future[V]]) -> None:
        reading = asyncio.ensure_future(self._read(key))
        try:
            await asyncio.wait({reading})
        finally:
            # Of a read that is not over nobody hears any more.
            if reading.cancel():
                for one in waiting:
                    one.cancel()
        # It is asked also where everybody has gone: an error that nobody asks for is complained of.
        error = None if reading.cancelled() else reading.exception()
        for one in waiting:
            if one.done():
                continue
            if reading.cancelled():
                one.cancel()
            elif error is not None:
                one.set_exception(error)
            else:
                one.set_result(reading.result())
