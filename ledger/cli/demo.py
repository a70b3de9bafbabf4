"""``ledger demo``: the whole way of an event, watched.

An invented fleet streams what happens to it into the log; the decider folds and decides beside
it; decisions appear as they are recorded; at the end the log is replayed and the roots compared.
It is the real thing in one process: the same intake, the same decider, the same replay.
"""

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from ledger.cli import logs
from ledger.cli.counting import count as counted
from ledger.cli.counting import noun
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.deciding import holder
from ledger.cli.decision_lines import line
from ledger.cli.fleet_names import usable
from ledger.cli.run import interrupted, run_until_asked
from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Mix
from ledger.engine import decider
from ledger.engine.decider import Progress
from ledger.facts.decision import Decision
from ledger.log import fleets, lines, read
from ledger.log.database import connect
from ledger.log.intake import Taken
from ledger.replay.replay import replay
from ledger.replay.report import SAME, Report
from ledger.units import FleetName
from ledger.views.reading import undecided

STREAM_BATCH: Final = 20
"""Events a transaction while somebody watches: what a producer would send at once."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the demo did, for its last words."""

    fleet: FleetName
    taken: Taken
    whole: bool
    """Whether everything was sent that was to be."""
    decided: Progress
    report: Report
    subject: str | None
    """Of the last division, if there was one."""


def demo(
    events: Annotated[int, typer.Option(min=1, help="How many events the fleet sends.")] = 3000,
    rate: Annotated[
        int, typer.Option(min=0, help="Events a second; 0 is as fast as it goes.")
    ] = 400,
    seed: Annotated[int, typer.Option(help="The same seed tells the same history.")] = 1,
    fleet: Annotated[
        str | None,
        typer.Option(
            callback=usable, help="Name of the fleet; default: demo, demo-2, ... whichever is new."
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Watch a simulated fleet stream events in and decisions come out, then replay them.

    Without a database URL an embedded PostgreSQL is started and left running, so that you can ask
    it about what you saw.
    """
    logs.configure(level=logging.WARNING)
    console = Console(highlight=False, quiet=as_json)

    async def main(stop: asyncio.Event) -> Outcome:
        url = await locate(database_url, data, begins=True)
        name = await _name(url, fleet)
        console.print(f"[bold]fleet {name}[/bold] streams {events:,} {noun(events, 'event')}")
        seen: list[str] = []

        def show(made: tuple[Decision, ...]) -> None:
            for decision in made:
                console.print(line(decision), soft_wrap=True)
                if decision.kind == "division":
                    seen.append(decision.subject)

        streamed = asyncio.Event()
        deciding = asyncio.create_task(
            decider.decide(
                url,
                holder=holder(),
                until_idle=False,
                stop=streamed,
                only=frozenset({name}),
                on_decisions=show,
            )
        )
        try:
            taken, whole = await _stream(url, name, seed, events, rate, stop)
            await _until_decided(url, name, deciding)
        finally:
            streamed.set()
            decided = await deciding
        return Outcome(
            name, taken, whole, decided, await _replayed(url, name), seen[-1] if seen else None
        )

    outcome = run_until_asked(main)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "appended": outcome.taken.appended,
                    "duplicate": outcome.taken.duplicates,
                    "quarantined": outcome.taken.quarantined,
                    "replay": outcome.report.as_plain(),
                }
                | ({} if outcome.whole else {"interrupted": True})
            )
        )
    else:
        _last_words(console, outcome)
    if outcome.report.exit_code == SAME and not outcome.whole:
        raise interrupted("the fleet sent only a part of its events")
    raise typer.Exit(outcome.report.exit_code)


async def _name(url: str, wanted: str | None) -> FleetName:
    if wanted is not None:
        return FleetName(wanted)
    connection = await connect(url, "ledger_writer")
    try:
        names = ("demo" if number == 1 else f"demo-{number}" for number in count(1))
        for name in names:
            if await fleets.find(connection, FleetName(name)) is None:
                return FleetName(name)
    finally:
        await connection.close()
    raise AssertionError("there is always another number")


async def _stream(
    url: str, name: FleetName, seed: int, events: int, rate: int, stop: asyncio.Event
) -> tuple[Taken, bool]:
    """What was sent, and whether that is all; something is in any case, so that there is a fleet to look at."""
    history = Simulation(seed, fleet=name, mix=Mix(trouble=2)).events(events)
    connection = await connect(url, "ledger_writer")
    total = Taken()
    try:
        began = asyncio.get_running_loop().time()
        batch_size = STREAM_BATCH if rate else lines.BATCH
        sent = 0
        while batch := list(islice(history, batch_size)):
            if sent and stop.is_set():
                return total, False
            total.add(await lines.ingest(connection, batch, first_line=sent + 1))
            sent += len(batch)
            if rate:
                due = began + sent / rate
                await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
    finally:
        await connection.close()
    return total, True


async def _until_decided(url: str, name: FleetName, deciding: asyncio.Task[Progress]) -> None:
    connection = await connect(url, "ledger_writer")
    try:
        bell = read.Bell(connection, "ledger_decisions")
        await bell.listen()
        while await undecided(connection, name) and not deciding.done():
            await bell.wait(at_most=0.1)
    finally:
        await connection.close()


async def _replayed(url: str, name: FleetName) -> Report:
    connection = await connect(url, "ledger_signer")
    try:
        fleet = await fleets.find(connection, name)
        assert fleet is not None, "it was just streamed into"
        return await replay(connection, fleet)
    finally:
        await connection.close()


def _last_words(console: Console, outcome: Outcome) -> None:
    report, taken = outcome.report, outcome.taken
    console.print(
        f"\n{taken.appended:,} {noun(taken.appended, 'event')} in the log,"
        f" {counted(taken.duplicates, 'duplicate')}, {taken.quarantined} in quarantine,"
        f" {report.decisions:,} {noun(report.decisions, 'decision')}"
    )
    console.print(f"event root     {report.event_root}")
    console.print(f"decision root  {report.decision_root}")
    if report.exit_code == SAME:
        console.print("[green]replayed from the first event: every decision the same[/green]")
    else:
        console.print(f"[red]the replay found: {report.diverged}[/red]")
    console.print("\nWhat to type next:")
    for command in _next(outcome):
        console.print(f"  [bold]./try ledger {escape(command)}[/bold]", soft_wrap=True)


OF_A_SUBJECT: Final = (
    "explain {subject} --fleet {fleet}",
    (
        'sql "SELECT cluster, count, number, since_position FROM placements'
        " WHERE fleet = '{fleet}' AND subject = '{subject}'\""
    ),
)
OF_A_FLEET: Final = (
    'sql "SELECT number, kind, subject, branch, moved FROM decisions ORDER BY number DESC LIMIT 10"',
    'sql "SELECT address, reason, detail FROM quarantine ORDER BY position DESC LIMIT 10"',
    "replay --fleet {fleet}",
    "--help",
)


def _next(outcome: Outcome) -> Iterator[str]:
    """What can be asked of what was just seen."""
    for command in (*(OF_A_SUBJECT if outcome.subject is not None else ()), *OF_A_FLEET):
        yield command.format(subject=outcome.subject, fleet=outcome.fleet)
