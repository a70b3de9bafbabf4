"""Any question of a reader: one statement, read only, with a time limit, over the documented views."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, Final, NamedTuple, NoReturn

import asyncpg

from ledger.errors import InvalidRequest

STATEMENT_SECONDS: Final = 60
"""What a question may take: an answer that needs longer wants a better question or an export."""

BEGINNING: Final = date(2000, 1, 1)
"""From where Postgres counts."""
CYCLE_DAYS: Final = 146_097
DAY: Final = 86_400_000_000
ENDLESS_TIMES: Final = {2**63 - 1: "infinity", -(2**63): "-infinity"}
ENDLESS_DAYS: Final = {2**31 - 1: "infinity", -(2**31): "-infinity"}

NO_ANSWER: Final = {"LG016": "not_decided", "LG017": "unknown_fleet"}
"""What functions refuse to be asked: a position that is not decided, a fleet that is not there or may not be seen."""

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
    # A day begins for everybody who asks when it does for `ledger diff` and ``--at``.
    await connection.execute("SET TimeZone = 'UTC'")
    await connection.execute("SET default_transaction_read_only = on")
    await connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS}s'")
    # All places of a fleet at a position are sorted; some ten thousand of them are to find room in memory.
    await connection.execute("SET work_mem = '16MB'")


async def exactly(connection: asyncpg.Connection) -> None:
    """Have every answer over a connection say what Postgres says, of times too.

    Python's moments and days end in the year 9999 and know no infinity, its intervals no months and its
    days no 24:00. A moment or a day that is none of Python's is text here; intervals and times of a day
    are what Postgres writes.
    """
    for name, decoder in (("timestamptz", _moment), ("timestamp", _local), ("date", _day)):
        await connection.set_type_codec(
            name, schema="pg_catalog", encoder=_never, decoder=decoder, format="tuple"
        )
    for name in ("interval", "time", "timetz"):
        await connection.set_type_codec(
            name, schema="pg_catalog", encoder=str, decoder=str, format="text"
        )


def _never(value: object) -> NoReturn:
    raise AssertionError(f"{value}: no question has parameters")


def _moment(told: tuple[int]) -> datetime | str:
    return _time(*told, UTC)


def _local(told: tuple[int]) -> datetime | str:
    return _time(*told, None)


def _time(microseconds: int, zone: tzinfo | None) -> datetime | str:
    if microseconds in ENDLESS_TIMES:
        return ENDLESS_TIMES[microseconds]
    days, rest = divmod(microseconds, DAY)
    shown = _year_of(days)
    when = datetime.combine(shown.day, time(tzinfo=zone)) + timedelta(microseconds=rest)
    return when if shown.year is None else f"{shown.year}{str(when)[4:]}{shown.era}"


def _day(told: tuple[int]) -> date | str:
    (days,) = told
    if days in ENDLESS_DAYS:
        return ENDLESS_DAYS[days]
    shown = _year_of(days)
    return shown.day if shown.year is None else f"{shown.year}{str(shown.day)[4:]}{shown.era}"


class _Shown(NamedTuple):
    """A day, and how its year is written where Python has none such."""

    day: date
    year: str | None
    era: str


def _year_of(days: int) -> _Shown:
    """Of days since 2000: the calendar is the same every 400 years, and Postgres' has no year 0."""
    cycles, within = divmod(days, CYCLE_DAYS)
    day = BEGINNING + timedelta(days=within)
    year = day.year + 400 * cycles
    if 1 <= year <= 9999:
        return _Shown(day.replace(year=year), None, "")
    return _Shown(day, f"{year:04}", "") if year > 0 else _Shown(day, f"{1 - year:04}", " BC")


async def ask(connection: asyncpg.Connection, query: str, *, distinct: bool = False) -> Answer:
    """Put a question over such a connection; InvalidRequest where it is none.

    With ``distinct`` no two columns may have one name.
    """
    try:
        prepared = await connection.prepare(query)
        if prepared.get_parameters():
            raise InvalidRequest("invalid_query", "$1: nobody is there to give it a value")
        columns = prepared.get_attributes()
        if distinct:
            _refuse_twins(column.name for column in columns)
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
        code = NO_ANSWER.get(error.sqlstate or "", "invalid_query")
        raise InvalidRequest(code, str(error)) from error
    return Answer(
        tuple(column.name for column in columns),
        tuple(column.type.name for column in columns),
        [tuple(row) for row in rows],
    )


def _refuse_twins(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidRequest("duplicate_column", f"{name}: two columns have this name, say AS")
        seen.add(name)


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
