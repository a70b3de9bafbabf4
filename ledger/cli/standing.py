"""``ledger status`` and ``ledger fleets``: how the fleets stand, and what wants a person.

Both ask as a reader, and read the documented views only.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ledger.cli.counting import count
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.run import NEEDS_A_PERSON, run
from ledger.cli.tables import WITHOUT_AN_EDGE
from ledger.log.database import Connection, connected, refusals_named
from ledger.views import derivations, reading
from ledger.views.conservation import Unequal, unequal
from ledger.views.reading import FleetStanding, HaltedPartition, StoppedFleet, Waiting

OVERDUE_SECONDS: Final = 1.0
"""Longer than any decider that is well leaves a deadline alone."""


def status(
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Add the book up again, too: exit code 76 where a sum differs. Takes the longer the"
            " more is placed.",
        ),
    ] = False,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Show how each fleet stands, and what wants a person.

    `head` is the position of its last event, `decided` that of the last decided one, `lag` how many
    events are between them and how long the oldest has waited, or a deadline that passed and that nobody
    has reached. `decider` holds the lease, since when it says; `standby` would take over. `refused` is what is wanted now and cannot be had
    (`ledger sql "SELECT * FROM open_refusals"`). `snapshot` is the newest one and its age: a decider
    that starts folds what is behind it. Where a line has no room for all of it, who decides stands below the fleet, and
    `aside` counts its messages in quarantine. Below: messages in quarantine
    (`ledger quarantine list`), fleets whose policy holds all decisions, contradictions of the book that
    last (`ledger sql "SELECT * FROM open_incidents"`; `incidents` has those that are over, too), and Kafka
    partitions that stand still (`ledger partitions list`), and fleets that were stopped because the database was
    restored to an earlier point (`ledger recover FLEET`). With `--check`, whether the sums that are
    shown of nodes, disks, jobs and queues are those of what the decisions in force record
    (`ledger sql "SELECT * FROM conservation"`).
    """

    async def main() -> tuple[list[FleetStanding], dict[str, int], Waiting, list[Unequal]]:
        url = await locate(database_url, data)
        async with connected(url, "ledger_reader") as connection:
            with refusals_named():
                found = await reading.fleets(connection)
                return (
                    found,
                    await _held(connection, found),
                    await reading.waiting(connection),
                    await unequal(connection) if check else [],
                )

    found, held, waiting, differ = run(main)
    if as_json:
        said = {
            "fleets": [asdict(row) | {"held_since": held.get(row.fleet)} for row in found],
            **asdict(waiting),
            "stops": [asdict(stop) | {"run": _recover(stop)} for stop in waiting.stops],
        }
        if check:
            said["book"] = [row._asdict() for row in differ]
        typer.echo(json.dumps(said, default=_plain))
    else:
        _show(found, held, waiting)
        if check:
            _show_book(differ)
    if differ:
        raise typer.Exit(NEEDS_A_PERSON)


async def _held(connection: Connection, found: Sequence[FleetStanding]) -> dict[str, int]:
    """Since which policy all decisions of a fleet are held, where they are."""
    since = {row.fleet: await derivations.held_since(connection, row.fleet) for row in found}
    return {fleet: position for fleet, position in since.items() if position is not None}


def _show(found: Sequence[FleetStanding], held: Mapping[str, int], waiting: Waiting) -> None:
    console = _console()
    _show_fleets(console, found)
    for fleet, position in held.items():
        console.print(
            f"[yellow]{escape(fleet)} is held:[/yellow] the policy of event {position:,} puts all decisions off",
            soft_wrap=True,
        )
    for row in found:
        if _overdue(row.overdue_seconds) and row.overdue_seconds is not None:
            console.print(
                f"[yellow]{escape(row.fleet)}:[/yellow] a deadline is overdue by {span(row.overdue_seconds)}",
                soft_wrap=True,
            )
    console.print(
        f"{waiting.quarantined:,} in quarantine, {count(waiting.open_incidents, 'open incident')},"
        f" {count(waiting.halted, 'partition')} halted"
    )
    for partition in waiting.halted_partitions:
        console.print(_halted(partition), soft_wrap=True)
    for stop in waiting.stops:
        console.print(_stopped(stop), soft_wrap=True)


def _show_book(differ: Sequence[Unequal]) -> None:
    console = _console()
    if not differ:
        console.print("the book adds up")
    for row in differ:
        amount = "" if row.amount is None else f" {row.amount}"
        console.print(
            f"[red]{row.finding}[/red] fleet {escape(row.fleet)}, {escape(row.address + amount)}:"
            f" recorded {row.recorded:,}, kept {row.kept:,}",
            soft_wrap=True,
        )


def fleets(database_url: DatabaseUrl, data: Data, *, as_json: bool) -> None:
    """List the fleets: one line each, JSON or columns as in ``status``."""

    async def main() -> list[FleetStanding]:
        url = await locate(database_url, data)
        async with connected(url, "ledger_reader") as connection:
            with refusals_named():
                return await reading.fleets(connection)

    found = run(main)
    if as_json:
        for row in found:
            typer.echo(json.dumps(asdict(row), default=_plain))
        return
    _show_fleets(_console(), found)


def _show_fleets(console: Console, found: Sequence[FleetStanding]) -> None:
    if not found:
        console.print(
            "[dim]no fleet yet: the first event of one opens it where that is allowed"
            " (`ledger demo`, `ledger ingest FILE`), else `ledger fleets open NAME`[/dim]",
            soft_wrap=True,
        )
        return
    whole = _table(found)
    unfolded = console.options.update(width=WITHOUT_AN_EDGE)
    if Measurement.get(console, unfolded, whole).maximum <= console.width:
        console.print(whole)
    else:
        _show_below(console, found)


def _show_below(console: Console, found: Sequence[FleetStanding]) -> None:
    """The same where it has no room on one line: what is words stands below each fleet."""
    columns: list[list[Text]] = [
        [Text(name, "bold"), *(Text.from_markup(one) for one in cells)]
        for name, cells in _columns(found).items()
    ]
    widths = [max(cell.cell_len for cell in column) for column in columns]
    # The last ones are the first to go.
    while len(widths) > NEEDED and sum(widths) + GAP * len(widths) - GAP > console.width:
        widths.pop()
    for place in range(len(found) + 1):
        line = Text()
        for number, width in enumerate(widths):
            cell = columns[number][place]
            blank = " " * (width - cell.cell_len)
            is_left = number == 0 or number == len(columns) - 1
            line.append_text(Text.assemble(cell, blank) if is_left else Text.assemble(blank, cell))
            line.append(" " * GAP)
        line.rstrip()
        console.print(line, soft_wrap=True)
        if place:
            row = found[place - 1]
            snapshot = [] if len(widths) > NEEDED else [f"snapshot {_snapshot(row)}"]
            below = Text.from_markup("; ".join([*_who(row), *snapshot]))
            console.print(Padding(below, (0, 0, 0, GAP)))


NEEDED: Final = 7
"""Columns that are there however narrow it is; then comes the snapshot, which else stands below, and the clock."""

GAP: Final = 2


def _columns(found: Sequence[FleetStanding]) -> dict[str, list[str]]:
    return {
        "fleet": [escape(row.fleet) for row in found],
        "head": [_number(row.head) for row in found],
        "decided": [_number(row.decided_through) for row in found],
        "lag": [lag(row.undecided, row.lag_seconds, row.overdue_seconds) for row in found],
        "decisions": [_number(row.decisions) for row in found],
        "refused": [_wants_a_look(row.open_refusals) for row in found],
        "aside": [_wants_a_look(row.quarantined) for row in found],
        "snapshot": [_snapshot(row) for row in found],
        "clock": [row.clock for row in found],
    }


def _who(row: FleetStanding) -> list[str]:
    """Who decides, and who would."""
    if row.decider is None or row.decider_since is None:
        colour = "red" if row.undecided or _overdue(row.overdue_seconds) else "dim"
        told = [f"[{colour}]nobody decides[/{colour}]"]
    else:
        since = max((datetime.now(UTC) - row.decider_since).total_seconds(), 0.0)
        told = [f"[dim]decided by[/dim] {escape(row.decider)} [dim]for {span(since)}[/dim]"]
    if row.standby:
        stand = "stands" if len(row.standby) == 1 else "stand"
        told.append(f"{escape(', '.join(row.standby))} [dim]{stand} by[/dim]")
    return told


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WITHOUT_AN_EDGE
    return console


def _plain(value: Any) -> str:
    assert isinstance(value, datetime), value
    return value.astimezone(UTC).isoformat()


def _table(found: Sequence[FleetStanding]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("fleet")
    for name in ("head", "decided", "lag", "decisions", "refused", "quarantined"):
        table.add_column(name, justify="right")
    table.add_column("snapshot", justify="right")
    table.add_column("clock")
    table.add_column("decider", overflow="fold")
    table.add_column("standby", overflow="fold")
    for row in found:
        table.add_row(
            row.fleet,
            _number(row.head),
            _number(row.decided_through),
            lag(row.undecided, row.lag_seconds, row.overdue_seconds),
            _number(row.decisions),
            _wants_a_look(row.open_refusals),
            _wants_a_look(row.quarantined),
            _snapshot(row),
            row.clock,
            _decider(row),
            "\n".join(map(escape, row.standby)) or "[dim]none[/dim]",
        )
    return table


def _number(value: int | None) -> str:
    return "[dim]-[/dim]" if value is None else f"{value:,}"


def _snapshot(row: FleetStanding) -> str:
    if row.snapshot is None or row.snapshot_at is None:
        return "[dim]none[/dim]"
    age = (datetime.now(UTC) - row.snapshot_at).total_seconds()
    return f"{row.snapshot:,} [dim]({span(max(age, 0.0))})[/dim]"


def _wants_a_look(count: int) -> str:
    return f"[yellow]{count:,}[/yellow]" if count else "0"


def lag(events: int, seconds: float | None, overdue: float | None) -> str:
    """How many events wait, and how long the oldest has, or a deadline; in rich's markup."""
    longest = max(seconds or 0.0, _overdue(overdue))
    if not events and not longest:
        return "0"
    waited = "" if seconds is None else f" ({span(longest)})"
    return f"[yellow]{events:,}{waited}[/yellow]"


def _overdue(seconds: float | None) -> float:
    """How long nobody has reached a deadline; 0 where somebody may be about to."""
    return seconds if seconds is not None and seconds >= OVERDUE_SECONDS else 0.0


def span(seconds: float) -> str:
    """A time that passed, in the two units that matter."""
    whole = int(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {whole % 60} s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"


def _decider(row: FleetStanding) -> str:
    if row.decider is None or row.decider_since is None:
        return (
            "[red]none[/red]"
            if row.undecided or _overdue(row.overdue_seconds)
            else "[dim]none[/dim]"
        )
    since = row.decider_since.astimezone().isoformat(sep=" ", timespec="seconds")
    return f"{escape(row.decider)} [dim]since {since}[/dim]"


def _halted(partition: HaltedPartition) -> str:
    since = partition.halted_at.astimezone().isoformat(sep=" ", timespec="seconds")
    return (
        f"[red]{escape(partition.topic)}/{partition.partition}[/red] stands still since {since}:"
        f" {escape(partition.reason)} ({escape(partition.detail)})"
    )


def _stopped(stop: StoppedFleet) -> str:
    since = stop.stopped_at.astimezone().isoformat(sep=" ", timespec="seconds")
    return (
        f"[red]fleet {escape(stop.fleet)}[/red] was stopped by the {stop.component} at {since}:"
        f" {escape(stop.reason)} ({escape(stop.detail)}); run `{escape(_recover(stop))}`"
    )


def _recover(stop: StoppedFleet) -> str:
    return f"ledger recover {stop.fleet}"
