"""Connections to the ledger's Postgres, and what its refusals mean.

What is said over them is asyncpg's own: COPY in, pages out. Migrations go through SQLAlchemy on
the same driver (``ledger.log.schema``). Each process takes the role of its duty as soon as it is
connected, so that what a consumer may not do is refused by the database even where the login could.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

import asyncpg

from ledger.errors import LogUnavailable, SetupProblem, StaleEpoch, WrongPosition

Role = Literal[
    "ledger_owner",
    "ledger_maintainer",
    "ledger_writer",
    "ledger_decider",
    "ledger_publisher",
    "ledger_signer",
    "ledger_reader",
]

Connection = asyncpg.Connection
"""What rooms above pass along; what is said over it is said in ``ledger.log`` and ``ledger.views``."""

NEWEST_SCHEMA: Final = "0001"
"""The schema this release speaks to: the last of ``migrations/versions``."""

OLDEST_SERVER: Final = 15
"""The oldest PostgreSQL whose SQL the migrations use."""

SESSION: Final = {
    # A process that is frozen or cut off in the middle of a batch holds the locks of its fleets.
    # Its transaction is ended for it, so that whoever took over need not wait for a person.
    "idle_in_transaction_session_timeout": "15s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25s",
}

WRITERS: Final[frozenset[Role]] = frozenset({"ledger_writer", "ledger_decider", "ledger_publisher"})

COMMAND_SECONDS: Final = 120
"""How long a writer waits for an answer before it takes the connection for dead."""

STALE_EPOCH: Final = "LG001"
OFFSETS_TAKEN: Final = "LG002"

CONNECT_SECONDS: Final = 10
"""Longer than any healthy server needs to answer, shorter than a person's patience."""


@dataclass(frozen=True, slots=True)
class Place:
    """The database that an URL names: ``shown`` for people, ``dsn`` for drivers."""

    parts: SplitResult = field(repr=False)

    @property
    def dsn(self) -> str:
        """How a driver reaches it."""
        return self.parts.geturl()

    def named(self, database: str) -> "Place":
        """Another database of the same server."""
        return Place(self.parts._replace(path=f"/{database}"))

    @property
    def shown(self) -> str:
        """For people: without the password."""
        user = f"{self.parts.username}@" if self.parts.username else ""
        port = f":{self.parts.port}" if self.parts.port else ""
        query = f"?{self.parts.query}" if self.parts.query else ""
        return f"postgresql://{user}{self.parts.hostname or ''}{port}{self.parts.path}{query}"


def parse(url: str) -> Place:
    """The database an URL names; ``postgresql://`` and ``postgresql+asyncpg://`` mean the same."""
    scheme, colon, rest = url.partition("://")
    if not colon or scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise SetupProblem("the database URL does not begin with postgresql://")
    try:
        parts = urlsplit(f"postgresql://{rest}")
        parts.port  # noqa: B018 - it is only looked at when asked for
    except ValueError as error:
        raise SetupProblem(f"the database URL cannot be read: {error}") from error
    return Place(parts)


async def schema_version(connection: asyncpg.Connection) -> str | None:
    """The schema version a database has; None where there is no ledger yet."""
    with refusals_named():
        if await connection.fetchval("SELECT to_regclass('ledger.schema_version')") is None:
            return None
        found: str | None = await connection.fetchval(
            "SELECT version_num FROM ledger.schema_version"
        )
        return found


async def connect(url: str, role: Role | None) -> asyncpg.Connection:
    """One raw connection that acts as ``role``."""
    parsed = parse(url)
    settings = SESSION | {"application_name": "ledger" if role is None else role.replace("_", " ")}
    if role is not None:
        settings["role"] = role
    with refusals_named():
        connection = await asyncpg.connect(
            parsed.dsn,
            server_settings=settings,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS if role in WRITERS else None,
        )
    if connection.get_server_version().major < OLDEST_SERVER:
        found = connection.get_server_version().major
        await connection.close()
        raise SetupProblem(
            f"{parsed.shown}: PostgreSQL {found} is too old, {OLDEST_SERVER} is needed"
        )
    return connection


@asynccontextmanager
async def connected(url: str, role: Role | None) -> AsyncIterator[asyncpg.Connection]:
    """One raw connection for as long as the block runs, whatever became of it meanwhile."""
    connection = await connect(url, role)
    try:
        yield connection
    finally:
        with suppress(*BROKEN, asyncpg.PostgresError):
            await connection.close(timeout=CONNECT_SECONDS)


@contextmanager
def refusals_named() -> Iterator[None]:
    """Turn what Postgres and the network say into errors that tell what to do next."""
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as error:
        raise SetupProblem(f"the database refuses: {error}") from error
    except (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError) as error:
        raise SetupProblem(f"the database does not let us in: {error}") from error
    except (asyncpg.InvalidCatalogNameError, asyncpg.UndefinedTableError) as error:
        raise SetupProblem(f"{error}: run `ledger migrate`") from error
    except (asyncpg.InvalidSchemaNameError, asyncpg.UndefinedObjectError) as error:
        raise SetupProblem(f"{error}: run `ledger migrate`") from error
    except asyncpg.PostgresError as error:
        if error.sqlstate == STALE_EPOCH:
            raise StaleEpoch(str(error)) from error
        if error.sqlstate == OFFSETS_TAKEN:
            raise WrongPosition(str(error)) from error
        if isinstance(error, PASSING):
            raise LogUnavailable(f"the database: {error}") from error
        raise
    except BROKEN as error:
        raise LogUnavailable(f"the database: {str(error) or type(error).__name__}") from error


PASSING: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""Refusals that say nothing about what was asked: the same again may well succeed."""

BROKEN: Final = (
    asyncpg.InterfaceError,
    # A backend that is ended between two of our commands says so while nobody listens, and asyncpg
    # takes the next command for a mistake of its own.
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""What a connection raises that is none any more."""
