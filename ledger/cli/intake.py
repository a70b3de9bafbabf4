"""``ledger ingest`` and ``ledger fleets``: events from files, and who may send them."""

import asyncio
import json
import os
import stat
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal, Self

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ledger.cli import standing
from ledger.cli.aside import aside
from ledger.cli.database import AsJson, CreateFleets, Data, DatabaseUrl, locate, opens_fleets
from ledger.cli.fleet_names import usable
from ledger.cli.run import interrupted, run, run_until_asked
from ledger.errors import SetupProblem
from ledger.log import lines
from ledger.log.database import connect
from ledger.log.fleets import Fleet
from ledger.log.intake import Taken, bind_source, open_fleet
from ledger.log.lines import Arriving, AtHand
from ledger.units import FleetName

ClockOption = Annotated[
    Literal["wall", "event"] | None,
    typer.Option(
        "--clock",
        help="Where recorded_at comes from in a fleet that is opened now: the server's clock, or the"
        " time each event carries (imports, tests). Fixed when the fleet is opened.",
    ),
]


def ingest(
    file: Annotated[str, typer.Argument(help="CloudEvents as JSON lines; - is standard input.")],
    fleet: Annotated[
        str | None,
        typer.Option(
            callback=usable,
            help="The fleet of events that name none; events that name another are refused.",
        ),
    ] = None,
    clock: ClockOption = None,
    batch: Annotated[
        int, typer.Option(min=1, max=100_000, help="Events a transaction; shows in no decision.")
    ] = lines.BATCH,
    create_fleets: CreateFleets = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Take CloudEvents from a file into the log, each exactly once.

    Reading a file again, or the rest of one after a crash, appends only what was not there yet.
    A line that cannot be accepted goes to quarantine with a named reason and stops nothing; see
    `ledger quarantine list`. Ctrl-C ends it after the batch in work, with 130, and what --json prints says
    `interrupted`. From a pipe, lines are taken as they arrive for as long as somebody writes: there Ctrl-C is the end
    of it, with 0, and what nobody has read from the pipe by then is for its writer to send again.
    """
    unread = False

    async def main(stop: asyncio.Event) -> Taken:
        nonlocal unread
        connection = await connect(await locate(database_url, data, begins=True), "ledger_writer")
        try:
            with ExitStack() as open_:
                source, size = _opened(file, open_)
                told = open_.enter_context(_Told(source, size, silent=as_json))
                taken = await lines.ingest(
                    connection,
                    source,
                    fleet=None if fleet is None else FleetName(fleet),
                    clock=clock,
                    create_fleets=opens_fleets(create_fleets, database_url),
                    batch=batch,
                    named="stdin" if file == "-" else Path(file).name,
                    on_batch=told.show,
                    stop=stop,
                )
                unread = isinstance(source, AtHand) and not source.ended
                return taken
        finally:
            await connection.close()

    taken = run_until_asked(main)
    counts = _counts(taken)
    if as_json:
        typer.echo(json.dumps(counts | ({"interrupted": True} if unread else {})))
    else:
        for name in ("appended", "duplicate", "conflicting", "quarantined"):
            typer.echo(f"{counts[name]:>12,} {name}")
        if taken.quarantined:
            aside.print("`ledger quarantine list` says why.", style="dim")
    if unread:
        raise interrupted("read the file again, and what is not in the log yet is appended")


def _counts(taken: Taken) -> dict[str, int]:
    return {
        "appended": taken.appended,
        "duplicate": taken.duplicates,
        "conflicting": taken.conflicts,
        "quarantined": taken.quarantined,
    }


def _opened(file: str, open_: ExitStack) -> tuple[AtHand | Arriving, int | None]:
    source = sys.stdin.buffer
    if file != "-":
        path = Path(file)
        try:
            source = open_.enter_context(path.open("rb"))
        except OSError as error:
            raise SetupProblem(f"{path}: {error.strerror}") from error
    try:
        found = os.fstat(source.fileno())
    except OSError:
        # A caller put something of its own in the place of standard input.
        return AtHand(source), None
    kind = found.st_mode
    if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or source.isatty():
        return Arriving(source.fileno()), None
    return AtHand(source), found.st_size


class _Told:
    """Progress on the terminal, by bytes where the size is known; nothing where nobody watches."""

    def __init__(self, source: AtHand | Arriving, size: int | None, *, silent: bool) -> None:
        self._source = source
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=aside,
            transient=True,
            disable=silent or not aside.is_terminal,
        )
        self._task = self._bar.add_task("reading", total=size)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show(self, taken: Taken) -> None:
        self._bar.update(
            self._task,
            completed=self._source.bytes_read,
            description=f"{taken.appended:,} appended",
        )


fleets_app = typer.Typer(invoke_without_command=True)


@fleets_app.callback()
def list_fleets(
    context: typer.Context,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """List the fleets, or open one: a fleet is what one log decides for.

    `ledger fleets` shows how each stands, in the columns of `ledger status`; with `--json` one
    fleet a line.
    """
    if context.invoked_subcommand is None:
        standing.fleets(database_url, data, as_json=as_json)
        return
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"say what belongs to it behind {context.invoked_subcommand}")


@fleets_app.command("open")
def open_command(
    name: Annotated[str, typer.Argument(callback=usable, help="Name of the fleet: a DNS label.")],
    clock: Annotated[
        Literal["wall", "event"],
        typer.Option(help="Where recorded_at comes from; fixed when the fleet is opened."),
    ] = "wall",
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Open a fleet, for logs where an unknown one is not opened on sight."""

    async def main() -> Fleet:
        connection = await connect(await locate(database_url, data, begins=True), "ledger_writer")
        try:
            return await open_fleet(connection, FleetName(name), clock=clock)
        finally:
            await connection.close()

    opened = run(main)
    if as_json:
        typer.echo(json.dumps({"fleet": opened.name, "clock": opened.clock}))
        return
    aside.print(f"fleet {opened.name} is open, on the {opened.clock} clock")


@fleets_app.command("bind")
def bind_command(
    source: Annotated[str, typer.Argument(help="The CloudEvents source.")],
    fleet: Annotated[
        str,
        typer.Argument(
            callback=usable,
            help="A fleet it may speak for; one that it is not bound to it may not.",
        ),
    ],
    ahead: Annotated[
        bool,
        typer.Option("--ahead", help="Bind although the fleet is not open yet: it may be, later."),
    ] = False,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Bind a source to a fleet: events of it that name another fleet are quarantined.

    A fleet that is not open is refused, since a slip of the hand would set aside all that the source
    sends.
    """

    async def main() -> bool:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            return await bind_source(connection, source, FleetName(fleet), ahead=ahead)
        finally:
            await connection.close()

    is_open = run(main)
    if as_json:
        typer.echo(json.dumps({"source": source, "fleet": fleet, "open": is_open}))
        return
    later = "" if is_open else ", which is not open yet"
    aside.print(f"{source} speaks for {fleet} from now on{later}")
