"""How a service names an embedded server, wherever that is by then.

An URL with a port in it is right for as long as that server lives. A service outlives it: the next server of
the directory may have another port. So a service keeps the address of the directory, ``embedded:///its/path``,
and each time it connects that is looked up (``ledger.log.embedded.reviving``).
"""

from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

SCHEME: Final = "embedded://"


def of(data: Path) -> str:
    """The address of the server of this directory."""
    return SCHEME + quote(str(data.expanduser().resolve()))


def directory(address: str) -> Path | None:
    """The directory that an address names; None where it names a server by host and port."""
    if not address.startswith(SCHEME):
        return None
    return Path(unquote(address.removeprefix(SCHEME)))
