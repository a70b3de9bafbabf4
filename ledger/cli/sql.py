"""``ledger sql``: a query as a reader, with a table, JSON or CSV for an answer."""

import csv
import json
import sys
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.run import run
from ledger.log.database import connect, refusals_named
from ledger.views.query import Answer, ask

NUMERIC: Final = (int, float)


def sql(
    query: Annotated[str, typer.Argument(help="One SQL query over the views of ledger_api.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Ask the ledger with SQL, read only.

    Try `ledger sql "SELECT * FROM placements"`: the schema ledger_api is searched first. All views
    and their columns are in docs/sql.md.
    """

    async def main() -> Answer:
        connection = await connect(await locate(database_url, data), "ledger_reader")
        try:
            with refusals_named():
                return await ask(connection, query)
        finally:
            await connection.close()

    answer = run(main)
    if as_json:
        for row in answer.rows:
            typer.echo(json.dumps(dict(zip(answer.names, map(_plain, row), strict=True))))
    elif as_csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(answer.names)
        writer.writerows([_text(value) for value in row] for row in answer.rows)
    else:
        _print_table(answer)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, *NUMERIC)):
        return value
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return "" if value is None else str(value)


def _print_table(answer: Answer) -> None:
    names, rows = answer.names, answer.rows
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, name in enumerate(names):
        numeric = bool(rows) and isinstance(rows[0][place], NUMERIC)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 10_000
    console.print(table)
    console.print(f"[dim]({len(rows)} row{'' if len(rows) == 1 else 's'})[/dim]")
