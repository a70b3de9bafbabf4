"""``ledger verify``: show that nothing was touched."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ledger.cli.database import AsJson, Data, DatabaseUrl, aside, locate
from ledger.cli.run import run
from ledger.errors import SetupProblem
from ledger.log import fleets
from ledger.log.database import Connection, connect
from ledger.log.fleets import Fleet
from ledger.replay import verify as verification
from ledger.replay.report import Report
from ledger.replay.verify import OnProgress
from ledger.units import FleetName

FleetOption = Annotated[str, typer.Option("--fleet", help="The fleet to audit.")]

Audit = Callable[[Connection, Fleet, OnProgress], Awaitable[Report]]


def verify(
    fleet: FleetOption,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Recompute both trees of a fleet from their rows and compare with the recorded heads.

    Exit code 0: whole; 2: not, and the first bad position is named.
    """

    async def audit(connection: Connection, found: Fleet, told: OnProgress) -> Report:
        return await verification.report(connection, found, on_progress=told)

    _audit(fleet, database_url, data, audit, as_json=as_json, done="is whole")


def _audit(
    name: str, url: str | None, data: Path | None, audit: Audit, *, as_json: bool, done: str
) -> None:
    async def main() -> Report:
        connection = await connect(await locate(url, data), "ledger_signer")
        try:
            fleet = await fleets.find(connection, FleetName(name))
            if fleet is None:
                raise SetupProblem(f"fleet {name}: there is none of this name; see `ledger status`")
            with Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=aside,
                transient=True,
                disable=as_json or not aside.is_terminal,
            ) as shown:
                task = shown.add_task("reading")
                return await audit(
                    connection,
                    fleet,
                    lambda count: shown.update(task, description=f"{count:,} rows"),
                )
        finally:
            await connection.close()

    report = run(main)
    if as_json:
        typer.echo(json.dumps(report.as_plain()))
    else:
        _print(report, done)
    raise typer.Exit(report.exit_code)


def _print(report: Report, done: str) -> None:
    typer.echo(f"{report.events:>12,} events       root {report.event_root}")
    typer.echo(f"{report.decisions:>12,} decisions    root {report.decision_root}")
    trouble = report.diverged
    if trouble is None:
        typer.echo(f"fleet {report.fleet} {done}")
        return
    typer.echo(f"{trouble.trouble} at position {trouble.position}, decision {trouble.decision}")
    for name in ("subject", "path", "recorded", "recomputed"):
        value = getattr(trouble, name)
        if value is not None:
            typer.echo(f"  {name:<11}{value}")
