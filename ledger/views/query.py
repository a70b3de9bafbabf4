"""Any question of a reader: one statement, read only, with a time limit, over the documented views."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from ledger.errors import InvalidRequest

STATEMENT_SECONDS: Final = 60
"""What a question may take: an answer that needs longer wants a better question or an export."""

NOT_KEPT: Final = "LG014"

SURROUNDINGS: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""What Postgres says of itself and not of a question; everything else it says is a refusal by name."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Names and types of the columns, and the rows."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    """As Postgres calls them, such as int8; of a list of them int8[]."""
    rows: Sequence[tuple[Any, ...]]


async def begin(connection: asyncpg.Connection) -> None:
    """Make a reader's connection one over which questions are asked."""
    await connection.execute("SET search_path = ledger_api")
    await connection.execute("SET default_transaction_read_only = on")
    await connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS}s'")


async def ask(connection: asyncpg.Connection, query: str) -> Answer:
    """Put a question over such a connection; InvalidRequest where it is none."""
    try:
        prepared = await connection.prepare(query)
        if prepared.get_parameters():
            raise InvalidRequest("invalid_query", "$1: nobody is there to give it a value")
        rows = await prepared.fetch()
    except asyncpg.ReadOnlySQLTransactionError as error:
        raise InvalidRequest("read_only", str(error)) from error
    except asyncpg.QueryCanceledError as error:
        raise InvalidRequest("too_slow", f"no answer within {STATEMENT_SECONDS} s") from error
    except SURROUNDINGS:
        raise
    except (asyncpg.InternalServerError, asyncpg.PostgresSystemError) as error:
        raise InvalidRequest("no_answer", str(error)) from error
    except asyncpg.PostgresError as error:
        code = "not_kept" if error.sqlstate == NOT_KEPT else "invalid_query"
        raise InvalidRequest(code, str(error)) from error
    columns = prepared.get_attributes()
    return Answer(
        tuple(column.name for column in columns),
        tuple(column.type.name for column in columns),
        [tuple(row) for row in rows],
    )


async def columns_of(connection: asyncpg.Connection, view: str | None) -> Answer:
    """What there is to be asked: every view, or the columns of one."""
    if view is None:
        return await ask(
            connection,
            "SELECT c.relname AS view, obj_description(c.oid, 'pg_class') AS rows FROM pg_class c"
            " WHERE c.relnamespace = 'ledger_api'::regnamespace AND c.relkind = 'v' ORDER BY 1",
        )
    prepared = await connection.prepare(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum)"
        "  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
        " WHERE c.relnamespace = 'ledger_api'::regnamespace AND c.relname = $1 ORDER BY a.attnum"
    )
    rows = [tuple(row) for row in await prepared.fetch(view)]
    if not rows:
        raise InvalidRequest("unknown_view", f"{view}: there is no such view")
    return Answer(("column", "type", "meaning"), ("text", "text", "text"), rows)
