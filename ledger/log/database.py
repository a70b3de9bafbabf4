"""Connections to the ledger's Postgres, and what its refusals mean.

Hot paths speak asyncpg directly: COPY in, pages out. Everything else goes through SQLAlchemy on
the same driver. Each process takes the role of its duty as soon as it is connected, so that what
a consumer may not do is refused by the database even where the login could.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import asyncpg
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

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

OLDEST_SERVER: Final = 15
"""The oldest PostgreSQL whose SQL the migrations use."""

STALE_EPOCH: Final = "LG001"
OFFSETS_TAKEN: Final = "LG002"

CONNECT_SECONDS: Final = 10
"""Longer than any healthy server needs to answer, shorter than a person's patience."""


def parse(url: str) -> URL:
    """The database an URL names; ``postgresql://`` and ``postgresql+asyncpg://`` mean the same."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise SetupProblem(f"{url!r} is not a database URL") from error
    if parsed.get_backend_name() != "postgresql":
        raise SetupProblem(f"{parsed.get_backend_name()} is not PostgreSQL")
    return parsed.set(drivername="postgresql+asyncpg")


async def connect(url: str, role: Role | None) -> asyncpg.Connection:
    """One raw connection that acts as ``role``."""
    parsed = parse(url)
    settings = {"application_name": "ledger" if role is None else role.replace("_", " ")}
    if role is not None:
        settings["role"] = role
    with refusals_named():
        connection = await asyncpg.connect(
            parsed.set(drivername="postgresql").render_as_string(hide_password=False),
            server_settings=settings,
            timeout=CONNECT_SECONDS,
        )
    if connection.get_server_version().major < OLDEST_SERVER:
        found = connection.get_server_version().major
        await connection.close()
        raise SetupProblem(f"{parsed}: PostgreSQL {found} is too old, {OLDEST_SERVER} is needed")
    return connection


def engine(url: str, role: Role | None) -> AsyncEngine:
    """A SQLAlchemy engine whose connections act as ``role``."""
    settings = {} if role is None else {"role": role}
    return create_async_engine(
        parse(url),
        connect_args={"server_settings": settings, "timeout": CONNECT_SECONDS},
        pool_pre_ping=True,
    )


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
    except (asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise LogUnavailable(f"the database: {str(error) or type(error).__name__}") from error


PASSING: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
)
"""Refusals that say nothing about what was asked: the same again may well succeed."""
