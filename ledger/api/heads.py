"""HEAD: what GET would say, without what it says it of.

Whoever may be asked by GET is asked so, and of the answer only its beginning goes out. A stream has said all of that
with its first part, and is told then that nobody listens.
"""

import asyncio

from ledger.api.guard import Application, Receive, Scope, Send, Sent


class Heads:
    """In front of an application that knows GET alone."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask it, and keep back what belongs to GET alone."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        told = asyncio.Event()

        async def left() -> Sent:
            await told.wait()
            return {"type": "http.disconnect"}

        async def begun(sent: Sent) -> None:
            if sent["type"] == "http.response.start":
                await send(sent)
            elif not told.is_set():
                told.set()
                await send({"type": "http.response.body", "body": b""})

        await self._app({**scope, "method": "GET"}, left, begun)
