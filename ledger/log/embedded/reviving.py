"""Where the embedded server of a directory is now, and the next one where the last has crashed.

Whoever runs on asks this each time it connects. It need not have been there when the server was started, and
nobody else may be there to start it again.

A server that was told to stop stays down: ``stop`` leaves a word for us, and of one that others told to its last
checkpoint says that it was. Starting that one is for somebody who asks for it. So it is while somebody puts other
data in its place, as long as they stopped it before.
"""

import asyncio
from pathlib import Path
from typing import Final

import structlog

from ledger.errors import LogUnavailable, SetupProblem
from ledger.log.embedded import server

START_SECONDS: Final = 10
"""How long a start is waited for at a time. It goes on by itself, and whoever waits can be asked to stop."""

log = structlog.get_logger()


async def url(data: Path) -> str:
    """How the server of this directory is reached now; one that crashed is started.

    Raises LogUnavailable while there is none, or while it cannot be started.
    """
    if server.crashed(data):
        return (await _started_again(data)).url
    found = server.status(data)
    if found.state == "ready":
        return server.url(data)
    if found.state in {"stopped", "crashed"}:
        raise LogUnavailable(f"{found.data}: PostgreSQL was stopped, and any command starts it")
    raise LogUnavailable(f"{found.data}: PostgreSQL is {found.state}")


async def _started_again(data: Path) -> server.Server:
    try:
        async with asyncio.timeout(START_SECONDS):
            running = await server.start(data)
    except TimeoutError as error:
        raise LogUnavailable(f"{data}: PostgreSQL crashed and is being started") from error
    except SetupProblem as problem:
        # It could be started before: what is in the way now may go as it came.
        raise LogUnavailable(str(problem)) from problem
    if not running.adopted:
        log.warning("postgres_started_again", data=str(running.data), port=running.port)
    return running
