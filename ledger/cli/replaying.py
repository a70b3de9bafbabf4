"""``ledger replay``: recompute every decision, or some, and show where the first one parts."""

import json
import os
from pathlib import Path
from typing import Annotated, Final, Self

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ledger.cli.archiving import ArchiveOption, DetachedOption
from ledger.cli.aside import aside
from ledger.cli.counting import count, noun
from ledger.cli.database import AsJson, Data, DatabaseUrl, complain, locate
from ledger.cli.progress import Lines, ProgressLines
from ledger.cli.run import exit_code, run
from ledger.errors import DamagedArchive, InvalidRequest, SetupProblem
from ledger.log import fleets
from ledger.log.archive.reading import fleets_in
from ledger.log.database import connected
from ledger.log.detached import archive_of
from ledger.replay import archived, slices
from ledger.replay.histories import READER
from ledger.replay.replay import OnProgress, Phase, Wanted, replay_archive
from ledger.replay.replay import replay as recompute
from ledger.replay.report import DIVERGED, SAME, VERSION_MISSING, Divergence, Report
from ledger.replay.segments import START
from ledger.units import FleetName, Position, Subject

_MEANT: Final = {
    "fold": "the World is another one",
    "trigger": "something is asked that was not, or not asked that was",
    "order": "the same is asked, in another order",
    "question": "other things go into the question",
    "version": "another rule answers",
    "answer": "the same goes in, something else comes out",
    "record": "the same answer is spelled otherwise",
    "chance": "the program answers otherwise each time",
}


def replay(
    context: typer.Context,
    fleet: Annotated[
        str | None, typer.Option("--fleet", help="The fleet to audit.", show_default=False)
    ] = None,
    first: Annotated[
        int | None,
        typer.Option("--from", metavar="POSITION", min=0, help="Compare from this event on."),
    ] = None,
    through: Annotated[
        int | None,
        typer.Option("--to", metavar="POSITION", min=0, help="Compare up to this event."),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="NAMESPACE/NAME",
            help="Compare only what was decided about this workload, job or volume.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes that recompute at once. Default: as many as there are cores."
        ),
    ] = None,
    check_snapshots: Annotated[
        bool,
        typer.Option(
            "--check-snapshots",
            help="Compare every snapshot that is kept, not only those that workers begin with.",
        ),
    ] = False,
    piece: Annotated[
        Path | None,
        typer.Option(
            "--slice",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Replay what an earlier replay cut out of a history. No database is asked.",
        ),
    ] = None,
    slice_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write the slice of a divergence."
            " Default: FLEET-POSITION.slice.json, in this directory.",
            show_default=False,
        ),
    ] = None,
    archive: ArchiveOption = None,
    detached: DetachedOption = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    progress: ProgressLines = False,
    as_json: AsJson = False,
) -> None:
    """Recompute the decisions of a fleet and compare them with what was recorded.

    The log is verified too, and the book that comes out of the whole of it is added up again. Exit
    code 0: the same, byte for byte; 1: something differs, and the first of it is named; 2: the log
    itself is not whole; 3: a version of a rule is not known here. docs/replay.md tells what that
    shows.

    - `ledger replay --fleet shop`
    - `ledger replay --fleet shop --from 1000 --to 2000 --subject shop/cart`
    - `ledger replay --slice shop-1204.slice.json` with the file that a divergence left
    """
    if piece is not None:
        _require_alone(context)
        _replay_slice(piece, as_json=as_json)
    if fleet is None:
        raise typer.BadParameter("which fleet is to be replayed?", param_hint="--fleet")
    if slice_to is not None and not slice_to.parent.is_dir():
        raise typer.BadParameter(
            f"there is no directory {slice_to.parent}", param_hint="--slice-to"
        )

    def file_of(trouble: Divergence) -> Path:
        return slice_to or Path(f"{fleet}-{trouble.position}.slice.json")

    wanted = Wanted(
        first=START if first is None else Position(first),
        through=None if through is None else Position(through),
        subject=None if subject is None else Subject(subject),
        workers=len(os.sched_getaffinity(0)) if workers is None else workers,
        checks_snapshots=check_snapshots,
        slice_to=file_of,
    )

    name = FleetName(fleet)

    async def main() -> Report:
        lines = Lines(wanted=progress)
        with _Shown(hidden=as_json or progress or not aside.is_terminal) as shown:

            def tell(phase: Phase, count: int, total: int | None) -> None:
                shown.tell(phase, count, total)
                lines.tell(phase, count, total)

            if archive is not None:
                return await _from_archive(archive, name, wanted, tell)
            return await _from_database(
                await locate(database_url, data), name, wanted, detached, tell
            )

    report = run(main)
    if as_json:
        typer.echo(json.dumps(report.as_plain()))
    else:
        _print(report)
    raise typer.Exit(report.exit_code)


async def _from_archive(folder: Path, fleet: FleetName, wanted: Wanted, tell: OnProgress) -> Report:
    if fleet not in fleets_in(folder):
        raise SetupProblem(f"{folder}: there is no archive of fleet {fleet} in it")
    try:
        archive = archived.opened(folder, fleet)
    except DamagedArchive as damaged:
        return archived.unread(fleet, damaged)
    return await replay_archive(archive, wanted=wanted, on_progress=tell)


async def _from_database(
    url: str, fleet: FleetName, wanted: Wanted, detached: Path | None, tell: OnProgress
) -> Report:
    async with connected(url, READER) as connection:
        found = await fleets.named(connection, fleet)
        try:
            archive = await archive_of(connection, found, detached)
        except DamagedArchive as damaged:
            return archived.unread(fleet, damaged)
        return await recompute(
            connection, found, url=url, wanted=wanted, on_progress=tell, archive=archive
        )


class _Shown:
    """A bar for each thing that is done, with its rate and the time left."""

    def __init__(self, *, hidden: bool) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=aside,
            transient=True,
            disable=hidden,
        )
        self._tasks = {
            "verify": self._progress.add_task("verify", total=None, visible=False, rate=""),
            "replay": self._progress.add_task("replay", total=None, visible=False, rate=""),
            "slice": self._progress.add_task("slice", total=None, visible=False, rate=""),
        }

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def tell(self, phase: Phase, count: int, total: int | None) -> None:
        """How far it is."""
        task = self._tasks[phase]
        self._progress.update(task, completed=count, total=total, visible=True)
        speed = self._progress.tasks[task].speed
        if speed is not None:
            self._progress.update(task, rate=f"{speed:,.0f}/s")


def _require_alone(context: typer.Context) -> None:
    """A slice is replayed as it is: what else was typed would have no effect."""
    for option in context.command.params:
        name = option.name
        if name is None or name in ("piece", "as_json"):
            continue
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(
                f"a slice is replayed as it is; leave {option.opts[0]} out", param_hint="--slice"
            )


def _replay_slice(file: Path, *, as_json: bool) -> None:
    try:
        piece, found = slices.read(file)
        trouble = slices.runnable(piece)
    except (InvalidRequest, SetupProblem) as error:
        complain(error)
        raise typer.Exit(exit_code(error)) from error
    if as_json:
        told = None if trouble is None else trouble.as_plain()
        typer.echo(json.dumps({"events": len(piece.events), "diverged": told, "found": found}))
    else:
        typer.echo(
            f"{len(piece.events):>12,} {noun(len(piece.events), 'event')}, the last at {piece.events[-1].position}"
        )
        if trouble is None:
            typer.echo("this program makes what was recorded")
        else:
            _print_trouble(trouble)
    if trouble is None:
        raise typer.Exit(SAME)
    raise typer.Exit(VERSION_MISSING if trouble.trouble == "version_missing" else DIVERGED)


def _print(report: Report) -> None:
    typer.echo(f"{report.events:>12,} {noun(report.events, 'event'):<12} root {report.event_root}")
    typer.echo(
        f"{report.decisions:>12,} {noun(report.decisions, 'decision'):<12} root {report.decision_root}"
    )
    shown = report.shown
    if shown is not None:
        for left_out in shown.left_out:
            typer.echo(f"  snapshot left out at {left_out}")
        believed = " and ".join(shown.believed) or "nothing"
        verb = "are" if len(shown.believed) > 1 else "is"
        typer.echo(
            f"  {count(shown.segments, 'segment')}, {shown.workers} at once; they begin at position {shown.begins_at}:"
            f" {believed} {verb} believed"
        )
    if report.diverged is not None:
        _print_trouble(report.diverged)
        return
    if shown is None:
        typer.echo(f"fleet {report.fleet} is whole; nothing was decided there")
        return
    whom = "" if shown.subject is None else f" about {shown.subject}"
    typer.echo(
        f"fleet {report.fleet} replays the same{whom}, from {shown.first} to {shown.through}:"
        f" {shown.compared:,} {noun(shown.compared, 'decision')} compared"
    )


def _print_trouble(trouble: Divergence) -> None:
    typer.echo(f"{trouble.trouble}{trouble.place}")
    if trouble.stage is not None:
        typer.echo(f"  {'stage':<18}{trouble.stage}: {_MEANT[trouble.stage]}")
    for name in (
        *("kind", "subject", "path", "recorded", "recomputed"),
        *("recorded_digest", "recomputed_digest", "slice", "slice_missing"),
    ):
        value = getattr(trouble, name)
        if value is not None:
            typer.echo(f"  {name.replace('_', ' '):<18}{value}")
    if trouble.versions:
        told = ", ".join(f"{name} {version}" for name, version in trouble.versions.items())
        typer.echo(f"  {'versions':<18}{told}")
