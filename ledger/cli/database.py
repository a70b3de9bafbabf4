"""Which database a command works on, found the same way by every command.

An URL by ``--database-url`` or LEDGER_DATABASE_URL; without one, the embedded PostgreSQL of
``--data`` or LEDGER_DATA, started on demand and left running for the next command
(``ledger down`` stops it).
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ledger.errors import SetupProblem
from ledger.log import partitions, schema
from ledger.log.database import connect, engine, parse
from ledger.log.embedded import server

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
        help="Data directory of the embedded PostgreSQL, used where no URL is given.",
        show_default=False,
        rich_help_panel="Database",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]

aside = Console(stderr=True, highlight=False)
"""What a command says besides its answer goes here, so that its answer can be piped."""


async def locate(url: str | None, data: Path | None) -> str:
    """The URL of a database that has the newest schema."""
    if url is not None:
        await _require_schema(url)
        return url
    running = await start_embedded(data)
    await migrate(running.url)
    return running.url


async def start_embedded(data: Path | None) -> server.Server:
    """The embedded server, running."""
    running = await server.start(
        data or server.default_data_directory(), say=lambda line: aside.print(f"[dim]{line}[/dim]")
    )
    if not running.adopted:
        aside.print(
            f"[dim]PostgreSQL runs in {running.data}; `ledger down` stops it[/dim]", soft_wrap=True
        )
    return running


async def migrate(url: str) -> str:
    """Bring the database to the newest schema and make partitions ahead."""
    owner = engine(url, None)
    try:
        version = await schema.migrate(owner)
    finally:
        await owner.dispose()
    connection = await connect(url, "ledger_maintainer")
    try:
        await partitions.make_ahead(connection)
    finally:
        await connection.close()
    return version


async def _require_schema(url: str) -> None:
    reader = engine(url, None)
    try:
        found = await schema.version(reader)
    finally:
        await reader.dispose()
    if found is None:
        raise SetupProblem(f"{parse(url)}: there is no ledger yet; run `ledger migrate`")
    if found != schema.newest():
        raise SetupProblem(
            f"{parse(url)}: schema {found} is not {schema.newest()}; run `ledger migrate`"
        )
