"""As whom ``ledger sql`` asks: on the embedded server as a login that is a reader and nothing else.

Whoever logs in with more rights and gives them up by SET ROLE takes them back with the next query, so what
a query may do is what its login may. The login of the embedded server may do anything. A second one is made
there as soon as somebody asks, and made again where it does not work any more. It sees every fleet, as
whoever has the data directory does. Its password follows from the server's: there is nothing else to be
kept, and whoever can read that one needs no other.

What the login of an URL may do was decided by whoever wrote it; ``ledger.views.readers`` can tell.
"""

import hmac
from typing import Final

from ledger.errors import SetupProblem
from ledger.log.database import Connection, connect, connected, parse, refusals_named
from ledger.views import readers

LOGIN: Final = "ledger_sql"
"""One of the ledger's own roles by its name, so that it is not listed among those that people granted."""


async def reader(url: str, *, embedded: bool) -> Connection:
    """A connection that reads; on the embedded server not by the login of its URL."""
    if not embedded:
        return await connect(url, "ledger_reader")
    own = _as_reader(url)
    try:
        return await connect(own, "ledger_reader")
    except SetupProblem:
        # It is not there yet, or is not what it was; what else is wrong is said to the other login too.
        async with connected(url, None) as connection:
            with refusals_named():
                await readers.let_in(connection, LOGIN, _password(url))
    return await connect(own, "ledger_reader")


def _password(url: str) -> str:
    of_the_server = parse(url).parts.password
    assert of_the_server is not None, "the embedded server lets nobody in without"
    return hmac.digest(of_the_server.encode(), LOGIN.encode(), "sha256").hex()


def _as_reader(url: str) -> str:
    parts = parse(url).parts
    at = f"{parts.hostname}:{parts.port}"
    return parts._replace(netloc=f"{LOGIN}:{_password(url)}@{at}").geturl()
