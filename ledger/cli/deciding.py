"""``ledger decide``: from the log to decisions."""

import asyncio
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Annotated, Final, Literal

import typer
from rich.console import Console

from ledger.cli import logs
from ledger.cli.counting import noun
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate, waited_for
from ledger.cli.decision_lines import line
from ledger.cli.logs import LogLevel
from ledger.cli.metrics.options import LOOPBACK, MetricsAddress, MetricsPort
from ledger.cli.progress import LINE_SECONDS, Lines, ProgressLines
from ledger.cli.run import interrupted, run_until_asked
from ledger.engine import decider
from ledger.engine.activity import Activity
from ledger.engine.decider import Pace, Progress
from ledger.engine.snapshots import Interval
from ledger.errors import LedgerError, SetupProblem
from ledger.facts.decision import Decision
from ledger.log.database import connected, refusals_named
from ledger.views import reading


@cache
def holder() -> str:
    """The name under which this process holds leases, and no other.

    Containers may share host names, and the first process of each has the same number.
    """
    return f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"


USUAL: Final = Interval()


def decide(
    until_idle: Annotated[
        bool,
        typer.Option(
            "--until-idle",
            help="Decide everything there is and exit. Deadlines that nothing else reaches are"
            " reached at once instead of by the clock.",
        ),
    ] = False,
    fleet: Annotated[
        list[str] | None, typer.Option(help="Only this fleet; may be given more than once.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not print decisions.")] = False,
    snapshots: Annotated[
        Literal["on", "off"],
        typer.Option(
            envvar="LEDGER_SNAPSHOTS",
            help="off: write no snapshots, and fold each log from its beginning.",
            rich_help_panel="Snapshots",
        ),
    ] = "on",
    snapshot_events: Annotated[
        int,
        typer.Option(
            envvar="LEDGER_SNAPSHOT_EVENTS",
            min=1,
            help="Write a fleet's snapshot after so many events: about as many are folded again"
            " when a decider starts.",
            rich_help_panel="Snapshots",
        ),
    ] = USUAL.events,
    snapshot_seconds: Annotated[
        float,
        typer.Option(
            envvar="LEDGER_SNAPSHOT_SECONDS",
            min=0,
            help="But no sooner than so many seconds after the last one.",
            rich_help_panel="Snapshots",
        ),
    ] = USUAL.seconds,
    batch: Annotated[
        int,
        typer.Option(
            envvar="LEDGER_DECIDE_BATCH",
            min=1,
            help="Decide at most so many events in one transaction. No decision depends on it.",
        ),
    ] = decider.USUAL_PACE.events,
    metrics_port: MetricsPort = None,
    metrics_address: MetricsAddress = LOOPBACK,
    log_level: LogLevel = "info",
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
    progress: ProgressLines = False,
) -> None:
    """Fold each fleet's log and decide what its events raise.

    One process decides for a fleet at a time; a second one stands by, writes snapshots, and takes
    over within seconds (`ledger status` shows all of it). Any number of fleets share a process. What was decided
    stands in `ledger_api.decisions`; `ledger watch` shows it as it is made, whoever decides.

    With --json the last line is an object with the events folded and the decisions made; one that runs
    on prints such a line whenever there are more, at most two a second. With --until-idle, Ctrl-C ends it after
    the batch in work, with 130, and the object says `interrupted`: what is left waits for the next one.
    """
    logs.configure_as_asked(log_level)
    console = Console(highlight=False)

    def show(made: tuple[Decision, ...]) -> None:
        if not (quiet or as_json):
            for decision in made:
                console.print(line(decision), soft_wrap=True)

    activity = Activity()
    lines = Lines(wanted=progress)

    def tell() -> None:
        lines.tell("decide", activity.events, None)
        if as_json and not until_idle:
            _print_counts(activity)

    done = Progress()

    async def main(stop: asyncio.Event) -> int | None:
        """How many events there are for it; None where nobody can tell."""
        nonlocal done
        if until_idle:
            url = await locate(database_url, data, begins=True)
        elif (found := await waited_for(database_url, data, stop, begins=True)) is not None:
            url = found
        else:
            return None
        if until_idle and fleet:
            await _require(url, fleet)
        async with (
            measured(url, activity, port=metrics_port, address=metrics_address),
            _now_and_then(activity, tell, stop),
        ):
            done = await decider.decide(
                url,
                holder=holder(),
                until_idle=until_idle,
                stop=stop,
                only=frozenset(fleet) if fleet else None,
                on_decisions=show,
                activity=activity,
                snapshots=Interval(snapshot_events, snapshot_seconds)
                if snapshots == "on"
                else None,
                pace=Pace(events=batch),
            )
            if done.idle:
                return activity.events
            left = await _undecided(url, fleet) if progress else None
        # Who decides to the end reaches deadlines behind the last event, and nobody counts them before.
        if left is None or (until_idle and not left):
            return None
        return activity.events + left

    there = run_until_asked(main)
    unfinished = until_idle and not done.idle
    # Said first: of what is told on standard error the last line is for who counts along.
    ended = interrupted("what is left waits for the next `ledger decide`") if unfinished else None
    lines.tell("decide", activity.events, there, last=True)
    if as_json:
        _print_counts(activity, **({"interrupted": True} if unfinished else {}))
    elif until_idle:
        events, made = activity.events, activity.decisions.total()
        typer.echo(
            f"{events:,} {noun(events, 'event')} folded, {made:,} {noun(made, 'decision')} made"
        )
    if ended is not None:
        raise ended


def _print_counts(activity: Activity, **more: bool) -> None:
    counts = {"events": activity.events, "decisions": activity.decisions.total()}
    typer.echo(json.dumps(counts | more))


@asynccontextmanager
async def _now_and_then(
    activity: Activity, tell: Callable[[], None], stop: asyncio.Event
) -> AsyncIterator[None]:
    """Call ``tell`` while the block runs, whenever more was folded.

    Where it fails the block is asked to stop, so that it ends its batch and lets go; then its error goes on.
    """

    async def telling() -> None:
        told = 0
        while True:
            await asyncio.sleep(LINE_SECONDS)
            if activity.events != told:
                told = activity.events
                try:
                    tell()
                except Exception:
                    stop.set()
                    raise

    task = asyncio.create_task(telling())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()


async def _undecided(url: str, names: Sequence[str] | None) -> int | None:
    """How many events of these fleets, or of all, wait to be decided; None where it cannot be asked."""
    try:
        async with connected(url, "ledger_reader") as connection:
            with refusals_named():
                lags = await reading.lags(connection)
    except LedgerError:  # Who is to stop does not fail by what he could not look up.
        return None
    return sum(one.undecided for one in lags if not names or one.fleet in names)


async def _require(url: str, names: Sequence[str]) -> None:
    """Refuse fleets that are not there: nobody who decides to the end waits for one."""
    async with connected(url, "ledger_reader") as connection:
        with refusals_named():
            there = {one.fleet for one in await reading.fleets(connection)}
    for name in names:
        if name not in there:
            known = ", ".join(sorted(there)) or "none yet"
            raise SetupProblem(f"there is no fleet {name!r} here; there is {known}")


@asynccontextmanager
async def measured(
    url: str, activity: Activity, *, port: int | None, address: str
) -> AsyncIterator[None]:
    """Serve what the decider does, and how all fleets stand, if there is a port to do it on.

    A mistake of whoever looks at the fleets does not stop the block: its error comes after the block's end.
    """
    if port is None:
        yield
        return
    from ledger.cli.metrics.collecting import Deciding, Standing
    from ledger.cli.metrics.observing import observe
    from ledger.cli.metrics.serving import serving

    standing = Standing()
    with serving(port, address, Deciding(activity), standing):
        observing = asyncio.create_task(observe(url, standing))
        try:
            yield
        finally:
            observing.cancel()
            await asyncio.wait({observing})
        # Where the block failed its own error is the one that counts.
        if not observing.cancelled():
            observing.result()
