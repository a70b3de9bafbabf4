"""``ledger up``, ``down``, ``status``, ``migrate`` and ``maintain``: running it."""

import asyncio
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Final

import structlog
import typer
from rich.console import Console
from rich.table import Table

from ledger.cli import logs
from ledger.cli.database import AsJson, Data, DatabaseUrl, aside, locate, start_embedded
from ledger.cli.database import migrate as bring_up_to_date
from ledger.cli.run import NEEDS_A_PERSON, run, run_until_asked
from ledger.errors import LogUnavailable
from ledger.log import partitions
from ledger.log.database import Connection, connect, parse
from ledger.log.embedded import server
from ledger.log.partitions import Standing
from ledger.views import reading
from ledger.views.reading import FleetStanding, Waiting

RESTART_SECONDS: Final = 2
"""Long enough not to spin on a process that cannot start, short enough not to be noticed."""

MAINTAIN_SECONDS: Final = 60

log = structlog.get_logger()


def up(database_url: DatabaseUrl = None, data: Data = None) -> None:
    """Run everything: the log, the decider, maintenance, and Kafka where there is one.

    Kafka in and out run where LEDGER_KAFKA_BOOTSTRAP is set; unknown fleets are opened on sight
    unless LEDGER_FLEET_CREATE says never. Each part is a process of its own and is started again
    if it ends. Ctrl-C stops them all; the data stays.
    """
    logs.configure()

    async def main(stop: asyncio.Event) -> None:
        url = await locate(database_url, data)
        parts = [["decide", "--quiet"], ["maintain", "--every", str(MAINTAIN_SECONDS)]]
        if os.environ.get("LEDGER_KAFKA_BOOTSTRAP"):
            parts += [["consume"], ["publish"]]
        aside.print(f"log: {parse(url).shown}", soft_wrap=True)
        aside.print("stream events in:  [bold]ledger ingest FILE[/bold]")
        aside.print('ask:               [bold]ledger sql "SELECT * FROM placements"[/bold]')
        async with asyncio.TaskGroup() as running:
            for part in parts:
                running.create_task(_keep_running(part, url, stop))

    run_until_asked(main)


def environment_of_parts(url: str) -> dict[str, str]:
    """Ours, with the database; whoever runs everything in one command need not open fleets."""
    return {"LEDGER_FLEET_CREATE": "auto"} | os.environ | {"LEDGER_DATABASE_URL": url}


async def _keep_running(part: list[str], url: str, stop: asyncio.Event) -> None:
    environment = environment_of_parts(url)
    while not stop.is_set():
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "ledger.cli.main", *part, env=environment, start_new_session=True
        )
        ended = asyncio.create_task(process.wait())
        asked = asyncio.create_task(stop.wait())
        await asyncio.wait({ended, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if stop.is_set():
            with suppress(ProcessLookupError):
                process.terminate()
            await ended
            return
        log.warning("part_ended", part=part[0], code=process.returncode)
        with suppress(TimeoutError):
            async with asyncio.timeout(RESTART_SECONDS):
                await stop.wait()


def down(data: Data = None) -> None:
    """Stop the embedded PostgreSQL; the data stays."""

    async def main() -> None:
        place = data or server.default_data_directory()
        before = server.status(place)
        await server.stop(place)
        if before.pid is None:
            aside.print(f"no PostgreSQL runs in {before.data}", soft_wrap=True)
        else:
            aside.print(f"PostgreSQL in {before.data} has stopped", soft_wrap=True)

    run(main)


def status(database_url: DatabaseUrl = None, data: Data = None, as_json: AsJson = False) -> None:
    """Show each fleet: how long its log is, how far it is decided, who decides, what waits."""

    async def main() -> tuple[list[FleetStanding], Waiting]:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            return await reading.fleets(connection), await reading.waiting(connection)
        finally:
            await connection.close()

    fleets, waiting = run(main)
    if as_json:
        rows = [asdict(row) for row in fleets]
        typer.echo(json.dumps({"fleets": rows, **asdict(waiting)}))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("fleet")
    for name in ("events", "undecided", "decisions"):
        table.add_column(name, justify="right")
    table.add_column("clock")
    table.add_column("decider")
    for row in fleets:
        table.add_row(
            row.fleet,
            f"{row.events:,}",
            f"{row.undecided:,}",
            f"{row.decisions:,}",
            row.clock,
            row.decider or "[dim]none[/dim]",
        )
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"{waiting.quarantined} in quarantine, {waiting.incidents} incidents,"
        f" {waiting.halted} partitions halted"
    )


def migrate(database_url: DatabaseUrl = None, data: Data = None) -> None:
    """Bring the database to the newest schema. Forward only; safe to run again."""

    async def main() -> str:
        url = database_url or (await start_embedded(data)).url
        return await bring_up_to_date(url)

    typer.echo(f"schema {run(main)}")


async def _look_after(connection: Connection) -> None:
    """One round of maintenance that must not stop the next one."""
    try:
        made = await partitions.make_ahead(connection)
        stray = await partitions.strays(connection)
    except LogUnavailable as error:
        if connection.is_closed():
            raise
        log.warning("maintenance_postponed", why=str(error))
        return
    if made:
        log.info("partitions_made", count=made)
    if stray:
        log.error("rows_without_a_partition", count=stray)


def maintain(
    every: Annotated[
        int | None, typer.Option(min=1, help="Go on for ever, with so many seconds between.")
    ] = None,
    detach: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Detach this partition of events (0 is the oldest). Refused while any fleet still"
            " needs it: appends or decides there, or has no snapshot to fold from behind it. Its"
            " table stays until you have archived and dropped it.",
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Make partitions ahead of the longest log, and check that no row is missing or astray.

    Every row is counted, unless it runs on with `--every`. Exit code 76 where something is wrong:
    rows in the default partition, or a fleet whose rows do not add up to its head.
    """
    logs.configure()

    async def main(stop: asyncio.Event) -> Standing:
        connection = await connect(await locate(database_url, data), "ledger_maintainer")
        try:
            if detach is not None:
                name = await partitions.detach(connection, detach)
                aside.print(f"{name} is detached; archive it, then drop it")
            if every is None:
                made = await partitions.make_ahead(connection)
                return await partitions.standing(connection, made=made)
            while not stop.is_set():
                await _look_after(connection)
                with suppress(TimeoutError):
                    async with asyncio.timeout(every):
                        await stop.wait()
            return Standing(0, 0, ())
        finally:
            await connection.close()

    # Only one that goes on for ever has a moment between its rounds in which it can be asked.
    standing = run_until_asked(main) if every else run(lambda: main(asyncio.Event()))
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "partitions_made": standing.made,
                    "rows_in_default": standing.in_default,
                    "incomplete_fleets": standing.incomplete,
                }
            )
        )
    else:
        typer.echo(f"{standing.made} partitions made")
    if standing.in_default or standing.incomplete:
        aside.print(
            f"[bold]ledger:[/bold] {standing.in_default} rows in the default partition;"
            f" fleets that do not add up: {', '.join(standing.incomplete) or 'none'}"
        )
        raise typer.Exit(NEEDS_A_PERSON)
