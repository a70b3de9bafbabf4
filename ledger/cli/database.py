"""Which database a command works on, found the same way by every command.

An URL by ``--database-url`` or LEDGER_DATABASE_URL; without one, the embedded PostgreSQL of
``--data`` or LEDGER_DATA, started on demand and left running for the next command
(``ledger down`` stops it).

A directory that has no database is somebody's mistake where a command asks: an audit of a new, empty
one would say that all is well. So only a command that a ledger may begin with makes one, and brings an
older one to the newest schema.

A command that asks gives up where the database is away. A service waits for it, at its start as
later on, and says so: whoever starts a machine need not know what comes up first. An embedded one that
crashed it starts again, and waits for one that was told to stop.
"""

import asyncio
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from ledger.errors import LogUnavailable, SetupProblem
from ledger.log import partitions
from ledger.log.database import (
    NEWEST_SCHEMA,
    another_schema,
    as_it_is_now,
    connect,
    parse,
    schema_version,
)
from ledger.log.embedded import address

if TYPE_CHECKING:
    from ledger.log.embedded.server import Server

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        envvar="LEDGER_DATABASE_URL",
        help="PostgreSQL 15 or newer, such as postgresql://user@host/ledger.",
        show_default=False,
        rich_help_panel="Database",
    ),
]

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        envvar="LEDGER_DATA",
        help="Data directory of the embedded PostgreSQL, used where no URL is given. Without it the data"
        " are in ~/.local/share/ledger; of root, whatever HOME is, in /var/lib/ledger.",
        show_default=False,
        rich_help_panel="Database",
    ),
]

CreateFleets = Annotated[
    Literal["auto", "never"] | None,
    typer.Option(
        "--create-fleets",
        envvar="LEDGER_FLEET_CREATE",
        help="Whether an unknown fleet is opened; auto on an embedded database, else never.",
        show_default=False,
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]

RECONNECT_SECONDS: Final = 1.0


def complain(trouble: object) -> None:
    """Say what a command cannot do, or what somebody has to look at."""
    # Most commands complain of nothing, and would wait for what prints it.
    from rich.text import Text

    from ledger.cli.aside import aside

    aside.print(Text.assemble(("ledger:", "bold"), f" {trouble}"), soft_wrap=True)


def opens_fleets(asked: Literal["auto", "never"] | None, url: str | None) -> bool:
    """Whether fleets are opened on sight: only who tries things out need not open them on purpose."""
    return (asked or ("auto" if url is None else "never")) == "auto"


async def locate(url: str | None, data: Path | None, *, begins: bool = False) -> str:
    """The URL of a database that has the newest schema.

    With ``begins`` an embedded one that is missing is made, and one of an older schema is migrated.
    """
    if url is not None:
        url = await as_it_is_now(url)
        await _require_newest_schema(url, parse(url).shown, "ledger migrate")
        return url
    if not begins:
        _require_database(data)
    running = await start_embedded(data)
    if not begins:
        await _require_newest_schema(running.url, str(running.data), _migrate_there(data))
    elif await _schema(running.url) != NEWEST_SCHEMA:
        await migrate(running.url)
    return running.url


async def waited_for(
    url: str | None, data: Path | None, stop: asyncio.Event, *, begins: bool = False
) -> str | None:
    """The same once it can be reached, for a service: an address that outlives the server that is there now.

    None if the service is asked to stop before.
    """
    # A tenth of a second to load, and whoever only asks says nothing in a log.
    import structlog

    log = structlog.get_logger()
    while not stop.is_set():
        try:
            await locate(url, data, begins=begins)
            return lasting(url, data)
        except LogUnavailable as error:
            log.warning("log_unavailable", why=str(error))
            await pause(stop, RECONNECT_SECONDS)
    return None


def lasting(url: str | None, data: Path | None) -> str:
    """The address of a database for whoever outlives its server: the URL, or the directory."""
    if url is not None:
        return url
    # Whoever has a database of their own needs none of it.
    from ledger.log.embedded import server

    return address.of(data or server.default_data_directory())


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until asked to stop."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


async def start_embedded(data: Path | None) -> "Server":
    """The embedded server, running."""
    # Whoever has a database of their own needs neither.
    from ledger.cli.aside import aside
    from ledger.log.embedded import server

    running = await server.start(
        data or server.default_data_directory(), say=lambda line: aside.print(line, style="dim")
    )
    if not running.adopted:
        aside.print(
            f"PostgreSQL runs in {running.data}; `ledger down` stops it",
            style="dim",
            soft_wrap=True,
        )
    return running


async def migrate(url: str) -> str:
    """Bring the database to the newest schema and make partitions ahead."""
    # Alembic takes half a second to load, and nearly every command finds its schema there already.
    from ledger.log import schema

    version = await schema.migrate(url)
    connection = await connect(url, "ledger_maintainer")
    try:
        await partitions.make_ahead(connection)
    finally:
        await connection.close()
    return version


def _require_database(data: Path | None) -> None:
    # Whoever has a database of their own needs neither.
    from ledger.log.embedded import data_directory, server

    directory = data_directory.at(data or server.default_data_directory())
    with data_directory.surroundings(directory):
        marker = directory.marker()
    # Of a database that was made and is lost, the start knows better what to say.
    if marker is None or not marker.initialised:
        raise SetupProblem(
            f"{directory.root}: there is no ledger here. Name the right directory with --data, or run"
            f" `{_migrate_there(data)}` to begin an empty one"
        )


async def _require_newest_schema(url: str, shown: str, remedy: str) -> None:
    found = await _schema(url)
    if found is None:
        raise SetupProblem(f"{shown}: there is no ledger yet; run `{remedy}`")
    if found != NEWEST_SCHEMA:
        raise another_schema(shown, found, remedy)


def _migrate_there(data: Path | None) -> str:
    """The command that makes or migrates the database of a directory, as it is typed."""
    return "ledger migrate" if data is None else f"ledger migrate --data {quote(str(data))}"


async def _schema(url: str) -> str | None:
    connection = await connect(url, None)
    try:
        return await schema_version(connection)
    finally:
        await connection.close()
