"""``ledger up``, ``down``, ``migrate`` and ``maintain``: running it."""

import asyncio
import json
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import structlog
import typer

from ledger.cli import logs
from ledger.cli.aside import aside
from ledger.cli.counting import count
from ledger.cli.database import (
    RECONNECT_SECONDS,
    AsJson,
    Data,
    DatabaseUrl,
    complain,
    lasting,
    locate,
    pause,
    start_embedded,
    waited_for,
)
from ledger.cli.database import migrate as bring_up_to_date
from ledger.cli.logs import LogLevel
from ledger.cli.metrics.options import LOOPBACK, MetricsAddress, MetricsPort
from ledger.cli.run import NEEDS_A_PERSON, run, run_until_asked
from ledger.errors import LogUnavailable
from ledger.log import partitions
from ledger.log.database import Connection, connected, parse
from ledger.log.embedded import server
from ledger.log.partitions import Standing

if TYPE_CHECKING:
    from ledger.cli.metrics.collecting import Part

RESTART_SECONDS: Final = 2
"""Long enough not to spin on a process that cannot start, short enough not to be noticed."""

MAINTAIN_SECONDS: Final = 60

log = structlog.get_logger()


def up(
    metrics_port: MetricsPort = None,
    metrics_address: MetricsAddress = LOOPBACK,
    log_level: LogLevel = "info",
    database_url: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Run everything: the log, the decider, maintenance, Kafka and HTTP where they are wanted.

    Kafka in and out run where LEDGER_KAFKA_BOOTSTRAP is set, HTTP where LEDGER_ACCESS names a file that
    says who may come in (LEDGER_HTTP_PORT, LEDGER_TLS_CERTIFICATE and the others of `serve` count); unknown fleets are opened on sight
    unless LEDGER_FLEET_CREATE says never. Each part is a process of its own and is started again
    if it ends, and so is the embedded PostgreSQL, unless it was told to (`ledger down`): then they wait
    for it. Ctrl-C stops them all; the data stays. With `--metrics-port`, the metrics of all parts are
    served in one place.
    """
    logs.configure_as_asked(log_level)

    async def main(stop: asyncio.Event) -> None:
        url = await locate(database_url, data, begins=True)
        # The parts outlive the server: each starts the next one where it finds that the last has crashed.
        found_again = lasting(database_url, data)
        parts = [["decide", "--quiet"], ["maintain", "--every", str(MAINTAIN_SECONDS)]]
        if os.environ.get("LEDGER_KAFKA_BOOTSTRAP"):
            parts += [["consume"], ["publish"]]
        if os.environ.get("LEDGER_ACCESS"):
            parts.append(["serve"])
        aside.print(f"log: {parse(url).shown}", soft_wrap=True)
        aside.print("stream events in:  [bold]ledger ingest FILE[/bold]", markup=True)
        aside.print("watch decisions:   [bold]ledger watch[/bold]", markup=True)
        aside.print(
            'ask:               [bold]ledger sql "SELECT * FROM placements"[/bold]', markup=True
        )
        told: dict[str, Part] = {}
        with ExitStack() as open_:
            if metrics_port is not None:
                from ledger.cli.metrics import collecting
                from ledger.cli.metrics.serving import serving

                told = {part[0]: collecting.Part() for part in parts}
                open_.enter_context(serving(metrics_port, metrics_address, collecting.Parts(told)))
            async with asyncio.TaskGroup() as running:
                for part in parts:
                    measured = told.get(part[0])
                    running.create_task(
                        _keep_running(
                            part, found_again, stop, measured=measured, log_level=log_level
                        )
                    )

    run_until_asked(main)


MEASURED: Final = frozenset({"decide", "consume", "publish", "serve"})
"""The parts that have something to tell."""


def environment_of_parts(address: str) -> dict[str, str]:
    """Ours, with the database at this address; whoever runs everything in one command need not open fleets."""
    return {"LEDGER_FLEET_CREATE": "auto"} | os.environ | {"LEDGER_DATABASE_URL": address}


async def _keep_running(
    part: list[str],
    address: str,
    stop: asyncio.Event,
    *,
    measured: "Part | None",
    log_level: LogLevel,
) -> None:
    environment = environment_of_parts(address) | {"LEDGER_LOG_LEVEL": log_level}
    while not stop.is_set():
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ledger.cli.main", *part, *_telling(part[0], measured)),
            env=environment,
            start_new_session=True,
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
        await pause(stop, RESTART_SECONDS)


def _telling(name: str, measured: "Part | None") -> list[str]:
    """Where a part that is started now tells its metrics: to us alone, whoever asks us."""
    if measured is None:
        return []
    measured.started += 1
    if name not in MEASURED:
        return []
    from ledger.cli.metrics.serving import free_port

    # Should somebody else take the port first, the part ends, and is started with another one.
    measured.port = free_port()
    return ["--metrics-port", str(measured.port), "--metrics-address", LOOPBACK]


def down(data: Data = None) -> None:
    """Stop the embedded PostgreSQL; the data stays.

    What runs on it waits, until a command that asks, or `ledger up`, starts it.
    """

    async def main() -> None:
        place = data or server.default_data_directory()
        before = server.status(place)
        await server.stop(place)
        if before.pid is None:
            aside.print(f"no PostgreSQL runs in {before.data}", soft_wrap=True)
        else:
            aside.print(f"PostgreSQL in {before.data} has stopped", soft_wrap=True)

    run(main)


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


async def _go_on_maintaining(url: str, every: int, stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            async with connected(url, "ledger_maintainer") as connection:
                while not stop.is_set():
                    await _look_after(connection)
                    await pause(stop, every)
        except LogUnavailable as error:
            log.warning("log_unavailable", why=str(error))
            await pause(stop, RECONNECT_SECONDS)


async def _require_archived(url: str, positions: range, folder: Path) -> None:
    from ledger.replay.detaching import require_archived
    from ledger.replay.histories import READER

    async with connected(url, READER) as connection:
        names = await require_archived(connection, positions, folder)
    told = ", ".join(names) or "nobody"
    aside.print(f"the archives are whole and this log's; in the partition are events of {told}")


def maintain(
    every: Annotated[
        int | None, typer.Option(min=1, help="Go on for ever, with so many seconds between.")
    ] = None,
    detach: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Detach this partition of events (0 is the oldest). Refused unless --archive has"
            " it, and while any fleet still needs it: appends or decides there, or has no snapshot"
            " to fold from behind it. Its table stays until you drop it.",
        ),
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The archives (`ledger export`) of every fleet that has events in what is detached."
            " They are verified first, and read with --detached from then on.",
            show_default=False,
        ),
    ] = None,
    log_level: LogLevel = "info",
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Make partitions ahead of the longest log, and check that no row is missing or astray.

    Every row is counted, unless it runs on with `--every`. Exit code 76 where something is wrong:
    rows in the default partition, or a fleet whose rows do not add up to its head.
    """
    logs.configure_as_asked(log_level)
    if detach is not None and archive is None:
        raise typer.BadParameter(
            "where is what is detached archived? see `ledger export`", param_hint="--archive"
        )

    async def main(stop: asyncio.Event) -> Standing:
        if detach is not None or every is None:
            url = await locate(database_url, data)
            async with connected(url, "ledger_maintainer") as connection:
                if detach is not None and archive is not None:
                    await _require_archived(
                        url, await partitions.reach(connection, detach), archive
                    )
                    name = await partitions.detach(connection, detach)
                    aside.print(f"{name} is detached; drop it when the archive is safe elsewhere")
                if every is None:
                    made = await partitions.make_ahead(connection)
                    return await partitions.standing(connection, made=made)
        found = await waited_for(database_url, data, stop)
        if found is not None:
            await _go_on_maintaining(found, every, stop)
        return Standing(0, 0, ())

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
        typer.echo(f"{count(standing.made, 'partition')} made")
    if standing.in_default or standing.incomplete:
        complain(
            f"{count(standing.in_default, 'row')} in the default partition;"
            f" fleets that do not add up: {', '.join(standing.incomplete) or 'none'}"
        )
        raise typer.Exit(NEEDS_A_PERSON)
