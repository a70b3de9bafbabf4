"""``ledger watch``: decisions as they are recorded, whoever makes them, and how far behind that is.

It asks as a reader, over the documented views, and holds no more than a page of decisions at a time.
On a terminal decisions scroll by above a table of the fleets; elsewhere there is a line for each.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Annotated, Final, Protocol

import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from ledger.cli.aside import aside
from ledger.cli.database import AsJson, Data, DatabaseUrl, lasting, locate
from ledger.cli.decision_lines import line
from ledger.cli.run import run_until_asked
from ledger.cli.standing import lag
from ledger.errors import LogUnavailable, SetupProblem
from ledger.facts.decision import from_record
from ledger.log.database import Connection, connected, refusals_named
from ledger.log.read import Bell
from ledger.views import reading
from ledger.views.reading import Lag, Made

LOOK_SECONDS: Final = 0.5
"""How long a missed notification goes unnoticed, and how old the lag that is shown may be."""

RECONNECT_SECONDS: Final = 1.0

FLEETS_SHOWN: Final = 10
"""As many as leave room above them; the ones furthest behind come first."""


def watch(
    fleet: Annotated[
        list[str] | None, typer.Option(help="Only this fleet; may be given more than once.")
    ] = None,
    first: Annotated[
        int | None,
        typer.Option(
            "--from",
            min=0,
            help="Begin with this decision number of each fleet; default: what is decided from now"
            " on. To go on where you left off, give the number after the last one you saw.",
            show_default=False,
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Watch decisions as they are made, and how far behind the log they are.

    Each line is one decision: its number, the position of the event that made it due, its subject,
    its kind and the rule that applied, the answer, and how much moved. Numbers of a fleet have no
    gaps, so `--from` misses none. `--json` prints one decision a line, with its result and its
    reasons. Ctrl-C ends it. It only reads, and decides nothing: see `ledger decide`.
    """

    async def main(stop: asyncio.Event) -> None:
        await locate(database_url, data)
        console = Console(highlight=False)
        only = frozenset(fleet or ())
        shown: Shown
        if as_json:
            shown = _AsJson()
        elif console.is_terminal:
            shown = _OnTerminal(console)
        else:
            shown = _AsLines(console)
        with shown:
            await _follow(lasting(database_url, data), only, first, shown, stop)

    run_until_asked(main)


class Shown(Protocol):
    """Where decisions are shown."""

    def __enter__(self) -> object: ...

    def __exit__(self, *_: object) -> None: ...

    def decision(self, made: Made) -> None:
        """Show one more."""

    def lags(self, lags: Sequence[Lag]) -> None:
        """Show how the fleets stand now."""


class _AsJson:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def decision(self, made: Made) -> None:
        told = made._asdict()
        del told["record"]
        print(json.dumps(told), flush=True)

    def lags(self, lags: Sequence[Lag]) -> None:
        """Nothing but decisions goes out."""


class _AsLines:
    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def decision(self, made: Made) -> None:
        self._console.print(line(from_record(made.record), fleet=made.fleet), soft_wrap=True)
        self._console.file.flush()

    def lags(self, lags: Sequence[Lag]) -> None:
        """A line that says the same again and again is no news."""


class _OnTerminal:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> None:
        self._live.start()

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def decision(self, made: Made) -> None:
        self._console.print(line(from_record(made.record), fleet=made.fleet), soft_wrap=True)

    def lags(self, lags: Sequence[Lag]) -> None:
        self._live.update(fleets_table(lags), refresh=True)


def fleets_table(lags: Sequence[Lag]) -> Table:
    """The fleets furthest behind, and how many more there are."""
    table = Table(box=None, pad_edge=False, header_style="dim", title_justify="left")
    table.add_column("fleet")
    for name in ("lag", "decisions", "refused"):
        table.add_column(name, justify="right")
    behind = sorted(lags, key=lambda one: (-one.undecided, one.fleet))
    for one in behind[:FLEETS_SHOWN]:
        table.add_row(
            f"[cyan]{escape(one.fleet)}[/cyan]",
            lag(one.undecided, one.lag_seconds, one.overdue_seconds),
            f"{one.decisions:,}",
            f"{one.open_refusals:,}",
        )
    if len(behind) > FLEETS_SHOWN:
        table.add_row(f"[dim]and {len(behind) - FLEETS_SHOWN} more[/dim]")
    return table


async def _follow(
    url: str, only: frozenset[str], first: int | None, shown: Shown, stop: asyncio.Event
) -> None:
    """Show decisions until told to stop; a database that goes away is waited for."""
    following = _Following(only, first)
    away = False
    while not stop.is_set():
        try:
            async with (
                connected(url, "ledger_reader") as connection,
                connected(url, "ledger_reader") as listening,
            ):
                bell = Bell(listening, "ledger_decisions")
                await bell.listen()
                while not stop.is_set():
                    async for made in following.news(connection, shown):
                        shown.decision(made)
                        if stop.is_set():
                            return
                    away = False
                    await _ring_or(bell, stop)
        except LogUnavailable as error:
            if not away:
                aside.print(f"{error}; waiting for it", style="dim", soft_wrap=True)
            away = True
            with suppress(TimeoutError):
                async with asyncio.timeout(RECONNECT_SECONDS):
                    await stop.wait()


async def _ring_or(bell: Bell, stop: asyncio.Event) -> None:
    """Wait for a notification, but no longer than somebody watches."""
    ringing = asyncio.create_task(bell.wait(at_most=LOOK_SECONDS))
    asked = asyncio.create_task(stop.wait())
    _, pending = await asyncio.wait({ringing, asked}, return_when=asyncio.FIRST_COMPLETED)
    for one in pending:
        one.cancel()
    await asyncio.wait({ringing, asked})


class _Following:
    """Which decision of each fleet comes next."""

    def __init__(self, only: frozenset[str], first: int | None) -> None:
        self._only = only
        self._first = first
        self._next: dict[str, int] | None = None

    async def news(self, connection: Connection, shown: Shown) -> AsyncIterator[Made]:
        """What was decided since it was asked last, fleet by fleet, each in the order of numbers."""
        with refusals_named():
            every = await reading.lags(connection)
        lags = [one for one in every if not self._only or one.fleet in self._only]
        if self._next is None:
            missing = sorted(self._only - {one.fleet for one in lags})
            if missing:
                raise SetupProblem(f"fleet {', '.join(missing)}: there is none of this name")
            self._next = {
                one.fleet: one.decisions if self._first is None else self._first for one in lags
            }
        shown.lags(lags)
        for one in lags:
            # A fleet that was not there before is watched from its first decision on.
            number = self._next.setdefault(one.fleet, self._first or 0)
            while number < one.decisions:
                with refusals_named():
                    page = await reading.decisions(connection, one.fleet, first=number)
                for made in page:
                    number = made.number + 1
                    self._next[one.fleet] = number
                    yield made
