"""``ledger verify``: show that nothing was touched."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ledger.cli.archiving import ArchiveOption, DetachedOption
from ledger.cli.aside import aside
from ledger.cli.counting import noun
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.run import run
from ledger.errors import InvalidRequest, SetupProblem
from ledger.log import fleets
from ledger.log.database import Connection, connected
from ledger.log.fleets import Fleet
from ledger.log.notes import parse_key
from ledger.replay import audit as verification
from ledger.replay.report import Report
from ledger.replay.verify import OnProgress
from ledger.units import FleetName


def verify(
    fleet: Annotated[
        str | None,
        typer.Option("--fleet", help="Only this fleet. Default: all, and what belongs to none."),
    ] = None,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Also make everything again that people read, and compare."),
    ] = False,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            help="Key of an origin (`ledger key show`), or of a witness; may be given again. Then every"
            " note must be signed with one of them, and each of them must have signed one.",
        ),
    ] = None,
    archive: ArchiveOption = None,
    detached: DetachedOption = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Recompute both trees from their rows, and hold heads, signed ends and receipts against them.

    Without --fleet everything is verified: each fleet, then the ledger's own with the receipts of
    Kafka and the quarantine. What one database cannot show is told in docs/verify.md. With --archive
    the files of archives are verified instead, every byte of them. Exit code 0: whole; 2: not, and the
    first bad position is named, or with --key not shown to be signed with these keys, and the first is
    named that was not brought or signed nothing; 78: there was nothing to verify. --json prints a line for
    each fleet.

    - `ledger verify`
    - `ledger verify --fleet shop --deep`
    - `ledger verify --archive /archives --fleet shop`
    """
    try:
        keys = [parse_key(told) for told in key or []]
    except InvalidRequest as error:
        raise typer.BadParameter(error.message, param_hint="--key") from error

    if archive is not None and (deep or detached is not None):
        raise typer.BadParameter(
            "an archive alone has no rows that people read, and nothing beside it;"
            " leave --deep and --detached out",
            param_hint="--archive",
        )

    async def main() -> list[Report]:
        if archive is not None:
            with _progress(hidden=as_json) as told:
                return [
                    report
                    async for report in verification.archives_verified(
                        archive,
                        None if fleet is None else FleetName(fleet),
                        keys=keys,
                        on_progress=told,
                    )
                ]
        async with connected(await locate(database_url, data), "ledger_signer") as connection:
            wanted = await _wanted(connection, fleet)
            if not wanted:
                raise SetupProblem("there is no fleet yet, so there is nothing to verify")
            with _progress(hidden=as_json) as told:
                return [
                    report
                    async for report in verification.all_verified(
                        connection,
                        wanted,
                        deep=deep,
                        keys=keys,
                        detached=detached,
                        on_progress=told,
                    )
                ]

    reports = run(main)
    for report in reports:
        if as_json:
            typer.echo(json.dumps(report.as_plain()))
        else:
            _print(report)
    raise typer.Exit(next((one.exit_code for one in reports if one.exit_code), 0))


async def _wanted(connection: Connection, name: str | None) -> list[Fleet]:
    if name is None:
        return await verification.every(connection)
    return [await fleets.named(connection, name)]


@contextmanager
def _progress(*, hidden: bool) -> Iterator[OnProgress]:
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=aside,
        transient=True,
        disable=hidden or not aside.is_terminal,
    ) as shown:
        task = shown.add_task("reading")
        yield lambda read: shown.update(task, description=f"{read:,} {noun(read, 'row')}")


_DEEP: Final = {
    True: ", and so is what people read",
    False: "; what people read was not looked at (--deep)",
    None: "",
}


def _print(report: Report) -> None:
    typer.echo(f"{report.events:>12,} {noun(report.events, 'event'):<12} root {report.event_root}")
    typer.echo(
        f"{report.decisions:>12,} {noun(report.decisions, 'decision'):<12} root {report.decision_root}"
    )
    if report.begins_at:
        typer.echo(f"  from position {report.begins_at} on; the tree before it is believed")
    if report.notes is not None:
        typer.echo(f"{report.notes:>12,} {noun(report.notes, 'signed note')} verified")
    if report.unchecked:
        typer.echo(
            f"{report.unchecked:>12,} {noun(report.unchecked, 'signed note')} not verified: no --key"
        )
    trouble = report.diverged
    if trouble is None:
        typer.echo(f"fleet {report.fleet} is whole{_DEEP[report.deep]}")
        return
    typer.echo(f"fleet {report.fleet}: {trouble.trouble}{trouble.place}")
    for name in ("subject", "path", "recorded", "recomputed"):
        value = getattr(trouble, name)
        if value is not None:
            typer.echo(f"  {name:<11}{value}")
