"""``ledger export``: a fleet's history as files, and where archives lie for those who read them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from ledger.cli.aside import aside
from ledger.cli.counting import be, noun
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.run import run
from ledger.log import fleets
from ledger.log.archive import writing
from ledger.log.archive.parquet import require
from ledger.log.archive.writing import Exported, OnWritten
from ledger.log.database import connected
from ledger.replay.histories import READER
from ledger.units import Position

ArchiveOption = Annotated[
    Path | None,
    typer.Option(
        "--archive",
        metavar="DIR",
        help="Read the archives in this directory (`ledger export`), and no database.",
        show_default=False,
        rich_help_panel="Archive",
    ),
]

DetachedOption = Annotated[
    Path | None,
    typer.Option(
        "--detached",
        metavar="DIR",
        envvar="LEDGER_DETACHED",
        help="Where the archives lie of what was detached from the database.",
        show_default=False,
        rich_help_panel="Archive",
    ),
]


def export(
    fleet: Annotated[str, typer.Argument(help="Whose history.")],
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", file_okay=False, help="Directory of archives; the fleet gets one in it."
        ),
    ],
    first: Annotated[
        int | None,
        typer.Option(
            "--from",
            metavar="POSITION",
            min=0,
            help="Begin a new archive with this event. Default: with the first.",
        ),
    ] = None,
    through: Annotated[
        int | None,
        typer.Option(
            "--to",
            metavar="POSITION",
            min=0,
            help="End with this event. Default: the last decided.",
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Write a fleet's events, decisions, signed ends and snapshots as Parquet files.

    An archive that is there is continued where it ends, so the same command again adds what was decided
    since; one that was interrupted goes on. What is written is verified on the way. Events that are not
    decided yet stay out. `ledger verify` and `ledger replay` read an archive with --archive; docs/archive.md
    tells what is in it and how DuckDB and Polars ask it. Needs the extra `arrow`.
    """

    async def main() -> Exported:
        require()
        async with connected(await locate(database_url, data), READER) as connection:
            found = await fleets.named(connection, fleet)
            with _progress(hidden=as_json) as told:
                return await writing.export(
                    connection,
                    found,
                    folder / fleet,
                    first=None if first is None else Position(first),
                    through=None if through is None else Position(through),
                    on_written=told,
                )

    exported = run(main)
    manifest = exported.manifest
    ends = manifest.ends
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "fleet": fleet,
                    "first": manifest.first,
                    "through": manifest.next - 1,
                    "added_from": exported.before,
                    "events": ends.events.size,
                    "decisions": ends.decisions.size,
                    "event_root": ends.events.root().hex(),
                    "decision_root": ends.decisions.root().hex(),
                    "files": sum(len(one.files) for one in manifest.ranges),
                    "bytes": sum(
                        file.bytes for one in manifest.ranges for file in one.files.values()
                    ),
                    "undecided": exported.undecided,
                }
            )
        )
        return
    typer.echo(
        f"{ends.events.size:>12,} {noun(ends.events.size, 'event'):<12} root {ends.events.root().hex()}"
    )
    typer.echo(
        f"{ends.decisions.size:>12,} {noun(ends.decisions.size, 'decision'):<12} root {ends.decisions.root().hex()}"
    )
    typer.echo(f"fleet {fleet} is archived from {manifest.first} to {manifest.next - 1}")
    if exported.undecided:
        left = exported.undecided
        aside.print(f"{left:,} {noun(left, 'event')} {be(left)} not decided yet and stayed out")


@contextmanager
def _progress(*, hidden: bool) -> Iterator[OnWritten]:
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=aside,
        transient=True,
        disable=hidden or not aside.is_terminal,
    ) as shown:
        task = shown.add_task("exporting", total=None)
        yield lambda reached, end: shown.update(task, completed=reached, total=end)
