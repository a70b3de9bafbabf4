"""``ledger what-if``: what the same log would have come to under another policy, or with other events."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ledger.cli.aside import aside
from ledger.cli.database import AsJson, Data, DatabaseUrl, complain, locate
from ledger.cli.progress import Lines, ProgressLines
from ledger.cli.run import run
from ledger.cli.what_if import pictures, telling
from ledger.errors import AlgorithmMissing, InvalidRequest, SetupProblem
from ledger.log import decisions, fleets
from ledger.log.database import Connection, connected
from ledger.log.fleets import Fleet
from ledger.replay.report import DIVERGED, INVALID, SAME, VERSION_MISSING
from ledger.replay.what_if.asking import Answer, PositionMissing, ask
from ledger.replay.what_if.question import (
    Added,
    Question,
    additions,
    leaving,
    policy_change,
    settle,
    weighing,
)
from ledger.units import FleetName, Position

OTHERWISE = "What is otherwise"
RANGE = "Where"
ANSWER = "The answer"

NOW = "now"


def what_if(
    policy: Annotated[
        Path | None,
        typer.Option(
            help="A JSON file with other settings, as a policy event carries them.",
            rich_help_panel=OTHERWISE,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="SETTING=VALUE",
            help="One other setting, such as division.inertia=seed or disk.alpha=1/2.",
            rich_help_panel=OTHERWISE,
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHOSE:NAME=WEIGHT,...",
            help="Other weights: shop/cart:eu=3,us=1, *:eu=3 for every workload that is divided by"
            " weights, queue:gold=3, quota:ml/big=2.",
            rich_help_panel=OTHERWISE,
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EVENT",
            help="An event that never happens: a position, FIRST..LAST, or SOURCE/ID.",
            rich_help_panel=OTHERWISE,
        ),
    ] = None,
    with_: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="CloudEvents as JSON lines that happen too, each where its time says.",
            rich_help_panel=OTHERWISE,
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="They happen in front of the event at this position instead.",
            rich_help_panel=OTHERWISE,
        ),
    ] = None,
    ask_again: Annotated[
        bool,
        typer.Option(
            "--ask-again",
            help="Every workload and volume is asked again at --from, from nothing.",
            rich_help_panel=OTHERWISE,
        ),
    ] = False,
    first: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="POSITION",
            help="The first event that finds it otherwise; `now` is behind the last.",
            rich_help_panel=RANGE,
        ),
    ] = "0",
    last: Annotated[
        int | None,
        typer.Option(
            "--to", min=0, help="The last event; default: the last decided.", rich_help_panel=RANGE
        ),
    ] = None,
    fleet: Annotated[
        str | None, typer.Option(help="The fleet, where there are several.", rich_help_panel=RANGE)
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the branch as a file.", rich_help_panel=ANSWER),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Compare with a kept branch, and not with what was.", rich_help_panel=ANSWER
        ),
    ] = None,
    plot: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Draw both courses into a .png or .svg; needs the extra `plots`.",
            rich_help_panel=ANSWER,
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    progress: ProgressLines = False,
    as_json: AsJson = False,
) -> None:
    """Show what the same log would have come to, had something been otherwise.

    The log is folded twice: as it was decided, and as it would have been. Nothing is written to it.
    What differs is told side by side: decisions, what moved, refusals, how even, how fair, how much on
    demand. Exit code 0: nothing would be different; 1: something would; 2: the log is not whole; 3: a
    version of a rule is not known here.

    - `ledger what-if --set division.inertia=seed --set disk.alpha=1/2`
    - `ledger what-if --without 12`
    - `ledger what-if --with gone.jsonl --at 13`
    - `ledger what-if --set disk.alpha=0 --from now --plot review.png`
    """
    drawn = plot or []

    async def main() -> Answer | AlgorithmMissing | PositionMissing:
        settings = _settings(policy, set_ or [])
        asked = {
            "settings": settings,
            "weights": weights or [],
            "without": without or [],
            "with": [str(path) for path in with_ or []],
            "at": at,
            "from": first,
            "ask_again": ask_again,
        }
        pictures.require(drawn)
        _refuse_in_vain(asked, against, keep)
        async with connected(await locate(database_url, data), "ledger_signer") as connection:
            found = await _fleet(connection, fleet)
            question = Question(
                first=await _first(connection, found, first),
                policy=policy_change(found.name, settings) if settings else (),
                weights=tuple(map(weighing, weights or [])),
                without=tuple(map(leaving, without or [])),
                added=_added(with_ or [], found.name, at),
                ask_again=ask_again,
            )
            if ask_again and question.first == 0:
                raise InvalidRequest("invalid_moment", "--ask-again: at --from 0 nobody is there")
            lines = Lines(wanted=progress)
            with _progress(quiet=as_json or progress) as shown:
                task = shown.add_task("folding", total=None)

                def tell(done: int, of: int) -> None:
                    shown.update(task, completed=done, total=of)
                    lines.tell("folding", done, of)

                try:
                    return await ask(
                        connection,
                        found,
                        question,
                        asked=asked,
                        through=None if last is None else Position(last),
                        keep=keep,
                        against=against,
                        on_progress=tell,
                    )
                except (AlgorithmMissing, PositionMissing) as missing:
                    return missing

    answer = run(main)
    if not isinstance(answer, Answer):
        complain(answer)
        raise typer.Exit(VERSION_MISSING if isinstance(answer, AlgorithmMissing) else INVALID)
    # Files first: whoever reads what is printed may have enough after a line.
    for path in drawn:
        pictures.draw(answer, path)
    if as_json:
        typer.echo(json.dumps(telling.plain(answer)))
    else:
        telling.show(answer)
    raise typer.Exit(SAME if answer.comparison.same else DIVERGED)


def _progress(*, quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=aside,
        transient=True,
        disable=quiet or not aside.is_terminal,
    )


def _settings(file: Path | None, told: Sequence[str]) -> dict[str, Any]:
    settings: Any = {}
    if file is not None:
        try:
            settings = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidRequest("invalid_setting", f"{file}: {error}") from error
        if not isinstance(settings, dict):
            raise InvalidRequest("invalid_setting", f"{file}: settings are a JSON object")
    settle(settings, told)
    return dict(settings)


def _refuse_in_vain(asked: Mapping[str, Any], against: Path | None, keep: Path | None) -> None:
    if against is None and not any(
        asked[name] for name in ("settings", "weights", "without", "with", "ask_again")
    ):
        raise InvalidRequest(
            "nothing_otherwise",
            "say what is to be otherwise: --set, --policy, --weights, --without, --with",
        )
    if asked["at"] is not None and not asked["with"]:
        raise InvalidRequest("nothing_otherwise", "--at says where the events of --with stand")
    if keep is None:
        return
    if against is not None and keep.resolve() == against.resolve():
        raise InvalidRequest("not_a_branch", f"{keep}: it is read and cannot be written too")
    if not keep.resolve().parent.is_dir():
        raise SetupProblem(f"{keep}: there is no such directory")


async def _fleet(connection: Connection, wanted: str | None) -> Fleet:
    every = await fleets.every(connection)
    if wanted is None and len(every) == 1:
        return every[0]
    for one in every:
        if one.name == wanted:
            return one
    names = ", ".join(one.name for one in every) or "none is open yet"
    if wanted is None:
        raise InvalidRequest("ambiguous", f"say --fleet: {names}")
    raise InvalidRequest("unknown_fleet", f"{wanted}: {names}")


async def _first(connection: Connection, fleet: Fleet, told: str) -> Position:
    if told == NOW:
        through, _ = await decisions.cursor(connection, fleet)
        return Position(through + 1)
    if not (told.isascii() and told.isdigit()):
        raise InvalidRequest("invalid_moment", f"--from {told}: a position, or {NOW}")
    return Position(int(told))


def _added(files: Sequence[Path], fleet: FleetName, at: int | None) -> tuple[Added, ...]:
    found: list[Added] = []
    before = None if at is None else Position(at)
    for path in files:
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            raise InvalidRequest("invalid_event", f"{path}: {error}") from error
        more = additions(lines, fleet, before=before)
        if not more:
            raise InvalidRequest("nothing_otherwise", f"{path}: no event is in it")
        found += more
    if before is None:
        found.sort(key=lambda one: one.time or 0)
    return tuple(found)
