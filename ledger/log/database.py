"""Connections to the ledger's Postgres, and what its refusals mean.

What is said over them is asyncpg's own: COPY in, pages out. Migrations go through SQLAlchemy on
the same driver (``ledger.log.schema``). Each process takes the role of its duty as soon as it is
connected, so that what a consumer may not do is refused by the database even where the login could.

A server, a database or a login may have settings of its own under which a ledger would not be one.
Two of them are not left to chance: every transaction is read committed unless it asks for more,
because whoever has waited for a lock must see what was written under it; and no commit of ours is
acknowledged before it is on disk. What asks for more than that is left as it was set.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

import asyncpg

from ledger.errors import (
    DatabaseMissing,
    FleetStopped,
    LogUnavailable,
    SetupProblem,
    StaleEpoch,
    WrongPosition,
)

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

NEWEST_SCHEMA: Final = "0026"
"""The schema this release speaks to: the last of ``migrations/versions``."""

OLDEST_SCHEMA: Final = "0026"
"""The first of ``migrations/versions``. No log was supported before it, and nothing leads from there to here."""

EVENTS_AS_LINES: Final = (
    "SELECT replace(convert_from(payload, 'UTF8'), E'\\n', ' ') FROM ledger_api.events"
    " WHERE fleet = 'NAME' AND channel <> 'ledger' ORDER BY position"
)
"""What producers told of a fleet, as a file has it, in whatever schema. A line break in an event stands between
its parts; what the ledger told itself it will tell itself again, or has no place in another log."""

OLDEST_SERVER: Final = 15
"""The oldest PostgreSQL whose SQL the migrations use."""

SESSION: Final = {
    # A process that is frozen or cut off in the middle of a batch holds the locks of its fleets.
    # Its transaction is ended for it, so that whoever took over need not wait for a person.
    "idle_in_transaction_session_timeout": "15s",
    # Who has waited for a fleet's lock reads its head next, and must not read it as it was before.
    "default_transaction_isolation": "read committed",
    # A row that a policy of somebody's hides would be verified by nobody and shown to everybody else.
    "row_security": "off",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25s",
}

READER: Final = {
    "default_transaction_read_only": "on",
    # An answer that needs longer wants a better question or an export.
    "statement_timeout": "60s",
}
"""What a reader's session has beyond that."""

DECIDER: Final = {
    # All that a decider asks it asks by key. How that is done is settled once for each statement, often
    # while tables are empty; reading all of one must not seem cheap for ever because it was then.
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
}
"""What a decider's session has beyond that."""

WRITERS: Final[frozenset[Role]] = frozenset({"ledger_writer", "ledger_decider", "ledger_publisher"})

_RAISE_COMMITS: Final = """
SELECT set_config('synchronous_commit', 'on', false)
 WHERE current_setting('synchronous_commit') IN ('off', 'local')
"""
"""``off`` acknowledges what a crash may still lose, and ``local`` what a synchronous standby may lack
when it takes over. Where there is no such standby, ``local`` and ``on`` are the same."""

COMMAND_SECONDS: Final = 120
"""How long a writer waits for an answer before it takes the connection for dead."""

STALE_EPOCH: Final = "LG001"
OFFSETS_TAKEN: Final = "LG002"
FLEET_STOPPED: Final = "LG015"

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
    """The schema version a database has; None where there is no ledger yet.

    A login that is a reader and nothing else may not look. It is taken to be the newest: if a view
    that it asks for is missing, the database says so.
    """
    with refusals_named():
        try:
            if await connection.fetchval("SELECT to_regclass('ledger.schema_version')") is None:
                return None
            found: str | None = await connection.fetchval(
                "SELECT version_num FROM ledger.schema_version"
            )
        except asyncpg.InsufficientPrivilegeError:
            return NEWEST_SCHEMA
        return found


def another_schema(shown: str, found: str, remedy: str) -> SetupProblem:
    """What to say of a database that has another schema than this release speaks to."""
    if found < OLDEST_SCHEMA:
        return SetupProblem(
            f"{shown}: schema {found} was made by a release before schema {OLDEST_SCHEMA}, and no migration leads from"
            " there to here; take the events of each fleet into a new database, by giving the lines that"
            f" `{EVENTS_AS_LINES}` tells to `ledger ingest - --fleet NAME`"
        )
    if found > NEWEST_SCHEMA:
        return SetupProblem(
            f"{shown}: schema {found} was made by a later release; this one speaks to {NEWEST_SCHEMA}"
        )
    return SetupProblem(f"{shown}: schema {found} is not {NEWEST_SCHEMA}; run `{remedy}`")


async def connect(url: str, role: Role | None) -> asyncpg.Connection:
    """One raw connection that acts as ``role``.

    Its transactions are read committed. Unless it is a reader's, its commits wait for the disk:
    ``synchronous_commit`` is raised to ``on`` where it is ``off`` or ``local``, and any other
    setting is kept.
    """
    parsed = parse(url)
    settings = SESSION | {"application_name": "ledger" if role is None else role.replace("_", " ")}
    if role is not None:
        settings["role"] = role
    if role == "ledger_reader":
        settings |= READER
    if role == "ledger_decider":
        settings |= DECIDER
    try:
        with refusals_named():
            connection = await asyncpg.connect(
                parsed.dsn,
                server_settings=settings,
                timeout=CONNECT_SECONDS,
                command_timeout=COMMAND_SECONDS if role in WRITERS else None,
            )
    except SetupProblem as problem:
        if role is None or not isinstance(problem.__cause__, asyncpg.InsufficientPrivilegeError):
            raise
        raise SetupProblem(
            f"{problem}; this command needs a login that is a member of {role}"
        ) from problem.__cause__
    with ExitStack() as unless_usable:
        unless_usable.callback(connection.terminate)
        found = connection.get_server_version().major
        if found < OLDEST_SERVER:
            raise SetupProblem(
                f"{parsed.shown}: PostgreSQL {found} is too old, {OLDEST_SERVER} is needed"
            )
        if role != "ledger_reader":
            with refusals_named():
                await connection.execute(_RAISE_COMMITS)
        unless_usable.pop_all()
    return connection


@asynccontextmanager
async def connected(url: str, role: Role | None) -> AsyncIterator[asyncpg.Connection]:
    """One raw connection for as long as the block runs, whatever became of it meanwhile."""
    connection = await connect(url, role)
    async with closing(connection):
        yield connection


@asynccontextmanager
async def closing(connection: asyncpg.Connection) -> AsyncIterator[None]:
    """End a connection after the block, whatever became of it meanwhile."""
    try:
        yield
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
    except asyncpg.InvalidCatalogNameError as error:
        raise DatabaseMissing(f"{error}: run `ledger migrate`") from error
    except (
        asyncpg.UndefinedTableError,
        asyncpg.InvalidSchemaNameError,
        asyncpg.UndefinedObjectError,
    ) as error:
        raise SetupProblem(f"{error}: run `ledger migrate`") from error
    except asyncpg.PostgresError as error:
        if error.sqlstate == STALE_EPOCH:
            raise StaleEpoch(str(error)) from error
        if error.sqlstate == OFFSETS_TAKEN:
            raise WrongPosition(str(error)) from error
        if error.sqlstate == FLEET_STOPPED:
            raise FleetStopped(f"{error}; see `ledger recover`") from error
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
    # After a failover the address may lead to a server that is not the primary yet.
    asyncpg.ReadOnlySQLTransactionError,
    # A migration ran under a statement that was prepared before it: asyncpg repeats it by itself,
    # but not inside a transaction.
    asyncpg.InvalidCachedStatementError,
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
