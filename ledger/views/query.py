"""Any question of a reader: one statement, read only, with a time limit, over the documented views."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from ledger.errors import InvalidRequest

STATEMENT_SECONDS: Final = 60
"""What a question may take: an answer that needs longer wants a better question or an export."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Names of the columns, and the rows."""

    names: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


async def ask(connection: asyncpg.Connection, query: str) -> Answer:
    """Put a question over a reader's connection; InvalidRequest where it is none."""
    await connection.execute("SET search_path = ledger_api")
    await connection.execute("SET default_transaction_read_only = on")
    await connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS}s'")
    try:
        prepared = await connection.prepare(query)
        rows = await prepared.fetch()
    except asyncpg.ReadOnlySQLTransactionError as error:
        raise InvalidRequest("read_only", str(error)) from error
    except asyncpg.QueryCanceledError as error:
        raise InvalidRequest("too_slow", f"no answer within {STATEMENT_SECONDS} s") from error
    except (asyncpg.SyntaxOrAccessError, asyncpg.DataError) as error:
        raise InvalidRequest("invalid_query", str(error)) from error
    names = tuple(attribute.name for attribute in prepared.get_attributes())
    return Answer(names, [tuple(row) for row in rows])
