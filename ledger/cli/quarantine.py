"""``ledger quarantine``: look at what could not be accepted, let it in, or close it."""

import asyncio
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, Literal, cast, get_args

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from ledger.cli.aside import aside
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.fleet_names import usable
from ledger.cli.operator import operator
from ledger.cli.run import REFUSED, run, run_until_asked
from ledger.cli.tables import print_table
from ledger.errors import InvalidReason, SetupProblem
from ledger.log import lines, quarantine
from ledger.log.database import Connection, connect
from ledger.log.quarantine import Chosen, Released, Settled
from ledger.units import FleetName, Position
from ledger.views.reading import Quarantined, quarantined, quarantined_value

app = typer.Typer(
    help="Messages that could not be accepted: none is lost, each can be let in later.",
    no_args_is_help=True,
)

PositionArgument = Annotated[
    int, typer.Argument(help="The number that `ledger quarantine list` shows.")
]
PositionOrAll = Annotated[
    int | None,
    typer.Argument(help="The number that `ledger quarantine list` shows.", show_default=False),
]
Why = Annotated[str, typer.Option("--why", help="The reason; it is recorded.")]
All = Annotated[
    bool, typer.Option("--all", help="Not one, but every message that waits for --reason.")
]
Reason = Annotated[
    str | None, typer.Option("--reason", help="With --all: why they were set aside.")
]
Source = Annotated[str | None, typer.Option("--source", help="With --all: only those of this one.")]
Before = Annotated[
    int | None, typer.Option("--before", help="With --all: only those with a lower number.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="With --all: only count them; nothing is settled.")
]

_SAID: Final = {
    "duplicate": "in the log by another way already; `ledger quarantine discard` closes them",
    "unknown_fleet": "unknown_fleet; `ledger fleets open` opens one",
}


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
    why: Why,
    position: PositionOrAll = None,
    corrected: Annotated[
        Path | None,
        typer.Option(
            help="A file with the corrected CloudEvent to let in instead.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    everything: All = False,
    reason: Reason = None,
    fleet: Annotated[
        str | None,
        typer.Option(
            callback=usable,
            help="Its fleet, where it names none. With --all: only messages that name this one.",
        ),
    ] = None,
    source: Source = None,
    before: Before = None,
    dry_run: DryRun = False,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Let a quarantined message in: as a new event with an identity of its own.

    It is judged by today's contract; what is still wrong is refused again and stays where it is.

    With `--all --reason` it is every message that waits for that reason, in the order in which they came:

    - `ledger quarantine release --all --reason unknown_fleet --fleet shop --why "it is open now"`
    """
    if everything and corrected is not None:
        raise typer.BadParameter("it stands for one message", param_hint="--corrected")
    chosen = _chosen(position, everything, reason, fleet, source, before, dry_run=dry_run)
    if chosen is not None:
        _settle(chosen, "released", why, database_url, data, dry_run=dry_run, as_json=as_json)
        return
    assert position is not None, "it is that or all"

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
    if as_json:
        typer.echo(json.dumps(asdict(released)))
        return
    aside.print(f"{released.address} is position {released.position} of fleet {released.fleet}")


@app.command("discard")
def discard_command(
    why: Why,
    position: PositionOrAll = None,
    everything: All = False,
    reason: Reason = None,
    fleet: Annotated[
        str | None, typer.Option(help="With --all: only messages that name this one.")
    ] = None,
    source: Source = None,
    before: Before = None,
    dry_run: DryRun = False,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Close a quarantined message without letting it in; its bytes stay in the record.

    With `--all --reason` it is every message that waits for that reason.
    """
    if not everything and fleet is not None:
        raise typer.BadParameter("it belongs to --all", param_hint="--fleet")
    chosen = _chosen(position, everything, reason, fleet, source, before, dry_run=dry_run)
    if chosen is not None:
        _settle(chosen, "discarded", why, database_url, data, dry_run=dry_run, as_json=as_json)
        return
    assert position is not None, "it is that or all"

    async def main() -> None:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            await quarantine.discard(connection, Position(position), by=operator(), why=why)
        finally:
            await connection.close()

    run(main)
    if as_json:
        typer.echo(json.dumps({"discarded": 1, "refused": {}}))
        return
    aside.print(f"quarantine {position} is closed")


def _chosen(
    position: int | None,
    everything: bool,
    reason: str | None,
    fleet: str | None,
    source: str | None,
    before: int | None,
    *,
    dry_run: bool,
) -> Chosen | None:
    """Which messages are meant; None where it is one, by its number."""
    if everything == (position is not None):
        raise typer.BadParameter("a number, or --all: one of them", param_hint="POSITION")
    if not everything:
        filters = {"--reason": reason, "--source": source, "--before": before}
        named = [name for name, said in filters.items() if said is not None]
        for name in (*named, *(["--dry-run"] if dry_run else [])):
            raise typer.BadParameter("it belongs to --all", param_hint=name)
        return None
    if reason is None:
        # One cause is known to be gone, and one word says why; of others nobody has looked.
        raise typer.BadParameter("--all is of one reason: say which", param_hint="--reason")
    if reason not in get_args(InvalidReason):
        raise typer.BadParameter(
            f"{reason} is none; docs/errors.md and `ledger quarantine list` have them",
            param_hint="--reason",
        )
    return Chosen(cast("InvalidReason", reason), fleet, source, before)


def _settle(
    chosen: Chosen,
    outcome: Literal["released", "discarded"],
    why: str,
    database_url: str | None,
    data: Path | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Settle messages page by page until there are no more, and say what became of them."""
    by = operator()

    async def page(connection: Connection, after: int) -> Settled | None:
        if outcome == "discarded":
            return await quarantine.discard_page(connection, chosen, after, by=by, why=why)
        return await quarantine.release_page(
            connection, chosen, after, families=lines.FAMILIES, by=by, why=why
        )

    async def main(stop: asyncio.Event) -> tuple[int, int, Counter[str]]:
        settled, refused, last = 0, Counter[str](), -1
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            waiting = await quarantine.waiting(connection, chosen)
            with _bar(silent=as_json or dry_run) as bar:
                task = bar.add_task(outcome, total=waiting)
                while not (dry_run or stop.is_set()):
                    told = await page(connection, last)
                    if told is None:
                        break
                    settled, last = settled + told.settled, told.last
                    refused.update(told.refused)
                    bar.update(task, completed=settled + refused.total())
            return waiting, settled, refused
        finally:
            await connection.close()

    waiting, settled, refused = run_until_asked(main)
    if as_json:
        said = (
            {"waiting": waiting}
            if dry_run
            else {outcome: settled, "refused": dict(sorted(refused.items()))}
        )
        typer.echo(json.dumps(said))
    elif dry_run:
        typer.echo(f"{waiting:>12,} would be {outcome}, as far as they are not refused again")
    else:
        typer.echo(f"{settled:>12,} {outcome}")
        for reason in sorted(refused):
            typer.echo(f"{refused[reason]:>12,} refused again: {_SAID.get(reason, reason)}")
    if refused:
        raise typer.Exit(REFUSED)


def _bar(*, silent: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=aside,
        transient=True,
        disable=silent or not aside.is_terminal,
    )
