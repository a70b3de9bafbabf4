"""``ledger sql``: a query as a reader, or a prompt for many, with an answer in the form that is wanted."""

import asyncio
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from ledger.cli import arrow_files, sql_login
from ledger.cli.aside import aside
from ledger.cli.counting import count
from ledger.cli.database import AsJson, Data, DatabaseUrl, complain, locate
from ledger.cli.decimals import in_digits
from ledger.cli.run import MISCONFIGURED, exit_code, run
from ledger.cli.statements import parted
from ledger.cli.tables import print_table
from ledger.errors import LedgerError
from ledger.log.database import Connection, closing, refusals_named
from ledger.views import readers
from ledger.views.query import Answer, ask, begin, columns_of, exactly

NUMERIC: Final = (int, float)

BYTES_SHOWN: Final = 32
"""A digest is shown whole; an event would fill the screen. --csv and --json have all of it."""

CAUTION: Final = (
    "and a query can take that up again: whoever asks what others wrote logs in as a reader"
)

HELP: Final = """\
A statement ends with ; and may have several lines.
\\d        which views there are        \\d VIEW   its columns
\\?        this                         \\q        leave (or Ctrl-D)"""


class Form(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def sql(
    query: Annotated[
        str | None,
        typer.Argument(
            help="A SQL query over the views of ledger_api, or several with ; between them; without it"
            " a prompt opens.",
            show_default=False,
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    parquet: Annotated[
        Path | None,
        typer.Option(help="Write a Parquet file.", show_default=False, dir_okay=False),
    ] = None,
    arrow: Annotated[
        Path | None,
        typer.Option(help="Write an Arrow file.", show_default=False, dir_okay=False),
    ] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Ask the ledger with SQL, read only.

    It asks as a reader. Of a login of --database-url that may do more it is said: a query could make use of it.

    Try `ledger sql "SELECT * FROM placements"`, or `ledger sql` for a prompt: the schema ledger_api is
    searched first. All views, their columns and the functions that tell how it was at an earlier
    position are in docs/sql.md. `--json` prints an object a line, exact: numeric columns are text there,
    and no two columns may have one name.
    """
    form = Form.JSON if as_json else Form.CSV if as_csv else Form.TABLE
    wanted = [one for one in (as_json, as_csv, parquet, arrow) if one]
    if len(wanted) > 1:
        raise typer.BadParameter("one of --json, --csv, --parquet and --arrow at a time")
    if query is None and (parquet or arrow):
        raise typer.BadParameter("a file is written of one query: say which", param_hint="QUERY")
    if query is None:
        _converse(database_url, data, form)
        return
    asked = _queries(query)
    file = parquet or arrow
    if file is not None and len(asked) > 1:
        raise typer.BadParameter("a file is written of one query", param_hint="QUERY")

    async def main() -> list[Answer]:
        if file is not None:
            arrow_files.require(file)
        distinct = file is not None or form is Form.JSON
        url = await locate(database_url, data)
        connection = await _reading(url, embedded=database_url is None, warns=True)
        async with closing(connection):
            if file is not None:
                return [await _answer(connection, one, distinct=distinct) for one in asked]
            for one in asked:
                show(await _answer(connection, one, distinct=distinct), form)
            return []

    answers = run(main)
    if file is None:
        return
    (answer,) = answers
    write = arrow_files.write_parquet if parquet is not None else arrow_files.write_arrow
    try:
        write(answer, file)
    except OSError as error:
        complain(f"{file}: {error.strerror or error}")
        raise typer.Exit(MISCONFIGURED) from error
    aside.print(f"{_counted(answer)} written to {file}", soft_wrap=True)


def _queries(said: str) -> list[str]:
    """What is asked in an argument: one query after the other, as from standard input."""
    statements, rest = parted(said)
    asked = [*statements, *([rest.strip()] if rest.strip() else [])]
    if not asked:
        raise typer.BadParameter("it asks nothing; leave it out for a prompt", param_hint="QUERY")
    return asked


def show(answer: Answer, form: Form) -> None:
    """Print an answer."""
    match form:
        case Form.JSON:
            names = [json.dumps(name) for name in answer.names]
            for row in answer.rows:
                values = map(_json, row, answer.types)
                pairs = [f"{name}: {value}" for name, value in zip(names, values, strict=True)]
                typer.echo(f"{{{', '.join(pairs)}}}")
        case Form.CSV:
            sys.stdout.write(_line(answer.names))
            sys.stdout.writelines(map(_line, answer.rows))
        case Form.TABLE:
            _print_table(answer)


def _json(value: Any, type_: str) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_json(one, type_.removesuffix('[]')) for one in value)}]"
    if value is not None and type_ in {"json", "jsonb"}:
        # As it is: numbers have digits there that a float has not. A line break can only be a blank.
        return str(value).replace("\n", " ").replace("\r", " ")
    if isinstance(value, float) and not isfinite(value):
        return json.dumps(_text(value))
    plain = value is None or isinstance(value, (bool, *NUMERIC))
    return json.dumps(value if plain else _text(value))


def _line(row: Iterable[Any]) -> str:
    return ",".join(map(_cell, row)) + "\n"


def _cell(value: Any) -> str:
    """As COPY does it: nothing at all is NULL, and an empty text has quotes."""
    text = _text(value)
    if value is not None and (not text or any(one in text for one in ',"\r\n')):
        return '"' + text.replace('"', '""') + '"'
    return text


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    if isinstance(value, float) and not isfinite(value):
        return str(Decimal(value))
    if isinstance(value, Decimal):
        return in_digits(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_item, value))}]"
    return "" if value is None else str(value)


def _shown(value: Any) -> str:
    """As a person reads it in a table: of bytes the beginning, and how many there are."""
    if isinstance(value, bytes) and len(value) > BYTES_SHOWN:
        return f"{_text(value[:BYTES_SHOWN])}... ({count(len(value), 'byte')})"
    return _text(value)


def _item(value: Any) -> str:
    return _text(value) if isinstance(value, Decimal | list) else repr(value)


def _counted(answer: Answer) -> str:
    return count(len(answer.rows), "row")


def _print_table(answer: Answer) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name, type_ in zip(answer.names, answer.types, strict=True):
        numeric = type_ in {"int2", "int4", "int8", "float4", "float8", "numeric"}
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in answer.rows:
        table.add_row(*(_shown(value) for value in row))
    console = print_table(table)
    console.print(f"({_counted(answer)})", style="dim")


def _converse(database_url: str | None, data: Path | None, form: Form) -> None:
    """Ask one query after the other, from a prompt or from standard input.

    A mistake is told and the next query asked; from standard input it ends the command.
    """
    with suppress(ImportError):
        import readline  # noqa: F401 - input() edits lines and remembers them where it is there

    interactive = sys.stdin.isatty()
    url = run(lambda: locate(database_url, data))
    with asyncio.Runner() as runner, ExitStack() as afterwards:
        connection: Connection | None = None
        for asked in _statements(interactive=interactive):
            try:
                if connection is None or connection.is_closed():
                    first = connection is None
                    connection = runner.run(
                        _reading(url, embedded=database_url is None, warns=first)
                    )
                    afterwards.callback(connection.terminate)
                answer = runner.run(_answer(connection, asked, distinct=form is Form.JSON))
            except LedgerError as error:
                complain(error)
                if not interactive:
                    raise typer.Exit(exit_code(error)) from error
            except KeyboardInterrupt:
                aside.print("given up")
            else:
                show(answer, form)


async def _reading(url: str, *, embedded: bool, warns: bool) -> Connection:
    connection = await sql_login.reader(url, embedded=embedded)
    with ExitStack() as unless_usable:
        unless_usable.callback(connection.terminate)
        with refusals_named():
            login = await readers.more_than_a_reader(connection) if warns else None
            await begin(connection)
            await exactly(connection)
        if login is not None:
            complain(f"the login {login} may do more than read, {CAUTION} (`ledger readers grant`)")
        unless_usable.pop_all()
    return connection


async def _answer(connection: Connection, asked: str, *, distinct: bool) -> Answer:
    with refusals_named():
        if asked.startswith("\\d"):
            return await columns_of(connection, asked.removeprefix("\\d").strip() or None)
        return await ask(connection, asked, distinct=distinct)


def _statements(*, interactive: bool) -> Iterator[str]:
    """What is asked, one after the other: a line with a backslash, or a statement up to its semicolon."""
    if interactive:
        aside.print("\\? for help, \\q to leave", style="dim")
    said = ""
    while True:
        try:
            line = input(("ledger> " if not said else "   ...> ") if interactive else "")
        except EOFError:
            if said.strip():
                yield said.strip()
            return
        except KeyboardInterrupt:
            aside.print()
            said = ""
            continue
        command = line.strip()
        if not said and command in {"\\q", "exit", "quit"}:
            return
        if not said and command == "\\?":
            aside.print(HELP, markup=False)
        elif not said and command.startswith("\\d"):
            yield command
        else:
            statements, said = parted(f"{said}{line}\n")
            yield from statements
