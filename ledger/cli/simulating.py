"""``ledger simulate``: the history of an invented fleet, to a file, to Kafka, or into the log."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import typer

from ledger.cli.aside import aside
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.fleet_names import usable
from ledger.cli.intake import ClockOption
from ledger.cli.run import interrupted, run_until_asked
from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Mix, Shares, Sizes
from ledger.cli.simulator.spelling import Sent
from ledger.errors import SetupProblem
from ledger.log import lines
from ledger.log.database import connect
from ledger.log.fleets import Clock

_AT_ONCE: Final = 1000
"""Events that are handed on together where nobody asked for a rate."""
_PARTS_A_SECOND: Final = 50
"""How finely a rate is kept."""

_SIZE = "How large the fleet is"
_MADE_OF = "What it is made of"
_LIVELY = "What happens in it"


def _percent(of: str) -> Any:
    """How many percent; an option as the parser takes it, which has no type of its own."""
    return typer.Option(min=0, max=100, help=f"Percent of {of}", rich_help_panel=_MADE_OF)


def _of_a_thousand(what: str, *, at_most: int | None = None) -> Any:
    """How many of a thousand events."""
    return typer.Option(min=0, max=at_most, help=f"Of a thousand: {what}", rich_help_panel=_LIVELY)


Hand = Callable[[list[Sent]], Awaitable[None]]
"""Hands events on to where they go."""


def simulate(
    file: Annotated[
        str, typer.Argument(help="Where the lines go; - is standard output.", show_default=True)
    ] = "-",
    kafka: Annotated[
        bool,
        typer.Option("--kafka", help="To the topics of LEDGER_KAFKA_BOOTSTRAP instead of a file."),
    ] = False,
    log: Annotated[
        bool, typer.Option("--log", help="Into the log itself instead of a file.")
    ] = False,
    events: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many events; default: those that raise the fleet, and 3000 more."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed tells the same history.")] = 1,
    fleet: Annotated[str, typer.Option(callback=usable, help="Whose history it is.")] = "demo",
    rate: Annotated[int, typer.Option(min=0, help="Events a second; 0 is as fast as it goes.")] = 0,
    clusters: Annotated[
        int, typer.Option(min=1, help="Clusters.", rich_help_panel=_SIZE)
    ] = Sizes().clusters,
    nodes: Annotated[
        int, typer.Option(min=1, help="Nodes in each cluster.", rich_help_panel=_SIZE)
    ] = Sizes().nodes,
    workloads: Annotated[
        int, typer.Option(min=1, help="Workloads, jobs among them.", rich_help_panel=_SIZE)
    ] = Sizes().workloads,
    namespaces: Annotated[
        int, typer.Option(min=1, help="Namespaces.", rich_help_panel=_SIZE)
    ] = Sizes().namespaces,
    queues: Annotated[int, typer.Option(min=1, help="Queues.", rich_help_panel=_SIZE)] = (
        Sizes().queues
    ),
    disks: Annotated[
        int, typer.Option(min=0, help="Disks in each node.", rich_help_panel=_SIZE)
    ] = Sizes().disks,
    volumes: Annotated[
        int | None,
        typer.Option(
            min=0, help="Volumes; default: one for each stateful set.", rich_help_panel=_SIZE
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Replicas of all workloads together; default: what takes half of the memory.",
            rich_help_panel=_SIZE,
        ),
    ] = None,
    spot: Annotated[int, _percent("the nodes.")] = Shares().spot,
    pieces: Annotated[
        int, _percent("the nodes: those that tell their cores by pieces.")
    ] = Shares().pieces,
    batch: Annotated[int, _percent("the workloads: jobs in queues.")] = Shares().batch,
    stateful: Annotated[int, _percent("the other workloads.")] = Shares().stateful,
    placed: Annotated[
        int, _percent("the other workloads: those that the ledger places on nodes.")
    ] = Shares().placed,
    reports: Annotated[int, _of_a_thousand("what asks for nothing.")] = Mix().reports,
    changes: Annotated[int, _of_a_thousand("upserts that may raise a question.")] = Mix().changes,
    decisions: Annotated[int, _of_a_thousand("what asks for an answer.")] = Mix().decisions,
    late: Annotated[int, _of_a_thousand("what arrives late.", at_most=1000)] = Mix().late,
    trouble: Annotated[
        int,
        typer.Option(
            min=0,
            max=1000,
            help="Beside a thousand: messages that are repeated or wrong.",
            rich_help_panel=_LIVELY,
        ),
    ] = Mix().trouble,
    clock: ClockOption = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Invent a fleet and tell what happens to it, as its agents would.

    The history begins with a cold start: a hold on decisions, everything there is, the end of the
    hold. Then the fleet lives: autoscaling by the hour of its day, rollouts, jobs, failing disks,
    nodes and clusters that come and go. The same seed and sizes tell the same history, byte for
    byte, wherever it goes:

    - `ledger simulate history.jsonl`, then `ledger ingest history.jsonl --clock event`
    - `ledger simulate --log --events 20000`, then `ledger decide --until-idle`
    - `ledger simulate --kafka --rate 200 --fleet north`, with `ledger consume` on the other side
    - `ledger simulate --clusters 20 --nodes 100 --workloads 5000 --events 200000 large.jsonl`

    What was sent is counted by type on standard error, or with `--json` on standard output, unless
    the events themselves go there. Ctrl-C ends it early, with 130, and the counts say `interrupted`.
    """
    if kafka + log + (file != "-") > 1:
        raise typer.BadParameter("a file, --kafka or --log: one of them", param_hint="FILE")
    if reports + changes + decisions == 0:
        raise typer.BadParameter("nothing would ever happen", param_hint="--reports")
    if replicas is not None and replicas < workloads:
        raise typer.BadParameter("each workload has one at least", param_hint="--replicas")
    simulation = Simulation(
        seed,
        fleet=fleet,
        sizes=Sizes(
            clusters=clusters,
            nodes=nodes,
            workloads=workloads,
            namespaces=namespaces,
            queues=queues,
            disks=disks,
            volumes=volumes,
            replicas=replicas,
        ),
        shares=Shares(spot=spot, pieces=pieces, batch=batch, stateful=stateful, placed=placed),
        mix=Mix(reports=reports, changes=changes, decisions=decisions, late=late, trouble=trouble),
    )
    count = simulation.opening + 3000 if events is None else events
    told: Counter[str] = Counter()

    async def main(stop: asyncio.Event) -> bool:
        if kafka:
            way = _to_kafka()
        elif log:
            way = _to_log(await locate(database_url, data, begins=True), clock)
        else:
            way = _to_file(file)
        async with way as hand:
            return await _handed_on(simulation, count, rate, hand, told, stop)

    whole = run_until_asked(main)
    _say(told, whole=whole, events_on_stdout=file == "-" and not (kafka or log), as_json=as_json)
    if not whole:
        raise interrupted("this is the beginning of the history")


async def _handed_on(
    simulation: Simulation,
    count: int,
    rate: int,
    hand: Hand,
    told: Counter[str],
    stop: asyncio.Event,
) -> bool:
    """Hand on so many events, at the rate that was asked for, and count them by topic; False if asked to stop before."""
    history = simulation.messages(count)
    at_once = max(1, rate // _PARTS_A_SECOND) if rate else _AT_ONCE
    clock = asyncio.get_running_loop().time
    began = clock()
    sent = 0
    while batch := list(islice(history, at_once)):
        if stop.is_set():
            return False
        await hand(batch)
        told.update(message.topic for message in batch)
        sent += len(batch)
        await asyncio.sleep(max(0.0, began + sent / rate - clock()) if rate else 0)
    return True


@asynccontextmanager
async def _to_file(name: str) -> AsyncIterator[Hand]:
    def write(out: BinaryIO) -> Hand:
        async def hand(batch: list[Sent]) -> None:
            out.writelines(message.value + b"\n" for message in batch)
            out.flush()

        return hand

    if name == "-":
        yield write(sys.stdout.buffer)
        return
    with _created(Path(name)) as file:
        yield write(file)


@contextmanager
def _created(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("wb") as file:
            yield file
    except OSError as error:
        raise SetupProblem(f"{path}: {error.strerror}") from error


@asynccontextmanager
async def _to_log(url: str, clock: Clock | None) -> AsyncIterator[Hand]:
    connection = await connect(url, "ledger_writer")
    taken = 0

    async def hand(batch: list[Sent]) -> None:
        nonlocal taken
        values = [message.value for message in batch]
        await lines.ingest(connection, values, clock=clock, first_line=taken + 1)
        taken += len(batch)

    try:
        yield hand
    finally:
        await connection.close()


@asynccontextmanager
async def _to_kafka() -> AsyncIterator[Hand]:
    from consumers.settings import Settings
    from consumers.telling import telling

    async with telling(Settings()) as tell:

        async def hand(batch: list[Sent]) -> None:
            await tell([(message.topic, message.key, message.value) for message in batch])

        yield hand


def _say(told: Counter[str], *, whole: bool, events_on_stdout: bool, as_json: bool) -> None:
    counts = {"events": told.total(), "by_topic": dict(sorted(told.items()))}
    if not whole:
        counts["interrupted"] = True
    if as_json:
        typer.echo(json.dumps(counts), err=events_on_stdout)
        return
    for topic, count in sorted(told.items()):
        aside.print(f"{count:>12,} {topic}")
