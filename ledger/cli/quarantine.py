"""``ledger quarantine``: look at what could not be accepted, let it in, or close it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ledger.cli.aside import aside
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.operator import operator
from ledger.cli.run import run
from ledger.cli.tables import print_table
from ledger.errors import SetupProblem
from ledger.log import lines, quarantine
from ledger.log.database import connect
from ledger.log.quarantine import Released
from ledger.units import FleetName, Position
from ledger.views.reading import Quarantined, quarantined, quarantined_value

app = typer.Typer(
    help="Messages that could not be accepted: none is lost, each can be let in later.",
    no_args_is_help=True,
)

PositionArgument = Annotated[
    int, typer.Argument(help="The number that `ledger quarantine list` shows.")
]
Why = Annotated[str, typer.Option("--why", help="The reason; it is recorded.")]


@app.command("list")
def list_command(
    everything: Annotated[
        bool, typer.Option("--all", help="Also what was released or discarded.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 50,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """List quarantined messages, newest first."""

    async def main() -> list[Quarantined]:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            return await quarantined(connection, everything=everything, limit=limit)
        finally:
            await connection.close()

    rows = run(main)
    if as_json:
        for row in rows:
            typer.echo(json.dumps(asdict(row), default=str))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("number", "address", "reason", "detail", "outcome"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(str(row.position), row.address, row.reason, row.detail, _told(row))
    print_table(table)


def _told(row: Quarantined) -> str:
    """What became of it, by whom and why."""
    if row.outcome is None:
        return ""
    assert row.settled_at is not None, "it was settled at some time"
    at = f"{row.settled_at:%Y-%m-%d %H:%M}"
    return f"{row.outcome} by {row.settled_by} on {at}: {row.settled_why}"


@app.command("show")
def show_command(
    position: PositionArgument, database_url: DatabaseUrl = None, data: Data = None
) -> None:
    """Print a quarantined message as it was received, byte for byte."""

    async def main() -> bytes:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            value = await quarantined_value(connection, position)
        finally:
            await connection.close()
        if value is None:
            raise SetupProblem(f"quarantine {position}: there is no such message")
        return value

    typer.echo(run(main))


@app.command("release")
def release_command(
    position: PositionArgument,
    why: Why,
    corrected: Annotated[
        Path | None,
        typer.Option(
            help="A file with the corrected CloudEvent to let in instead.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    fleet: Annotated[str | None, typer.Option(help="Its fleet, where it names none.")] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Let a quarantined message in: as a new event with an identity of its own.

    It is judged by today's contract; what is still wrong is refused again and stays where it is.
    """

    async def main() -> Released:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            return await quarantine.release(
                connection,
                Position(position),
                families=lines.FAMILIES,
                by=operator(),
                why=why,
                fleet=None if fleet is None else FleetName(fleet),
                corrected=None if corrected is None else corrected.read_bytes().strip(),
            )
        finally:
            await connection.close()

    released = run(main)
    aside.print(f"{released.address} is position {released.position} of fleet {released.fleet}")


@app.command("discard")
def discard_command(
    position: PositionArgument, why: Why, database_url: DatabaseUrl = None, data: Data = None
) -> None:
    """Close a quarantined message without letting it in; its bytes stay in the record."""

    async def main() -> None:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            await quarantine.discard(connection, Position(position), by=operator(), why=why)
        finally:
            await connection.close()

    run(main)
    aside.print(f"quarantine {position} is closed")
