"""Which reads of API servers are not tried again for some seconds, because one like them gave nothing.

A read that failed says something of others, and of how many depends on why. Who is not there, takes too long,
does not know our token or asks for less gives nobody anything. What is not allowed is not allowed for that
kind of thing in that namespace: rights are given by both. Anything else is said of the one thing that was asked for.

What is made of it, and who is asked all the same, is decided where things are read (``ledger.api.admitting``).
"""

from http import HTTPStatus
from typing import Final, NamedTuple

SECONDS: Final = 5.0
"""For how long."""

_OF_ALL: Final = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""What an API server, or whoever stands before it, says to everybody."""


class NoList(OSError):
    """An API server answered, and not with a list."""

    def __init__(self, said: str, status: int) -> None:
        super().__init__(said)
        self.status = status


class Named(NamedTuple):
    """Something that has its pods made, as it is read."""

    cluster: str
    kind: str
    namespace: str
    name: str


_Scope = tuple[str, ...]
"""The first parts of a name: all that have them are meant."""


class Brake:
    """What is not read for now, as failures said; times are seconds of one clock."""

    def __init__(self) -> None:
        self._until: dict[_Scope, float] = {}
        """In the order in which they end: each lasts as long as any other."""

    def holds(self, one: Named, now: float) -> bool:
        """Whether this one is not to be read."""
        return any(self._until.get(one[:size], now) > now for size in (1, 3, 4))

    def pull(self, one: Named, error: OSError, now: float) -> bool:
        """Have what failed, and what it says of others, not read for a while; whether that is news."""
        if self.holds(one, now):
            return False
        for scope in [scope for scope, until in self._until.items() if until <= now]:
            del self._until[scope]
        self._until[_meant(one, error)] = now + SECONDS
        return True


def _meant(one: Named, error: OSError) -> _Scope:
    if not isinstance(error, NoList) or error.status in _OF_ALL:
        return one[:1]
    return one[:3] if error.status == HTTPStatus.FORBIDDEN else one
