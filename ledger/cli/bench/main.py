"""``ledger bench``: how fast it is here, against a floor measured in the same run or a promise."""

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ledger.cli import logs
from ledger.cli.bench.servers import Postgres, kafka, postgres
from ledger.cli.run import run
from ledger.log import lines

if TYPE_CHECKING:
    from ledger.cli.bench.engine_finding import Finding

app = typer.Typer(
    help=(
        "Measure how fast it is here, each time against a floor of the same run.\n\n"
        "Each benchmark prints one line of JSON. They start what servers they need and leave"
        " nothing behind; bench/README.md tells how figures are taken. `core`, `engine`, `audit` and"
        " `admission` have limits to keep instead of a floor."
    ),
    no_args_is_help=True,
)

ROUNDS: Final = 5
QUICK_EVENTS: Final = 3_000
QUICK_BATCH: Final = 500

Url = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        envvar="LEDGER_BENCH_DATABASE_URL",
        help="A server whose user may create databases; default: an embedded one, for this run.",
        show_default=False,
    ),
]
Rounds = Annotated[int, typer.Option(min=1, help="How often floor and subject take turns.")]
Quick = Annotated[bool, typer.Option("--quick", help="Tiny: only shows that the benchmark runs.")]
Events = Annotated[int, typer.Option(min=1, help="Events in each round.")]
Batch = Annotated[int, typer.Option(min=1, help="Events a transaction, for floor and subject.")]
Fleets = Annotated[int, typer.Option(min=1, help="Fleets, each in a partition of its own.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="How long each interval lasts.")]


def _measured(url: str | None, measure: Callable[[Postgres], Awaitable[str]]) -> None:
    """Run one benchmark and print its line."""

    async def main() -> str:
        async with postgres(url) as server:
            return await measure(server)

    typer.echo(run(main))


def _told(finding: "Finding", *, as_json: bool) -> bool:
    """Print what a part found, for a record or for people; whether it keeps its bars."""
    typer.echo(json.dumps(finding.as_plain(), ensure_ascii=False) if as_json else finding.as_text())
    return finding.kept


@app.command("ingest-file")
def ingest_file(
    events: Events = 200_000,
    rounds: Rounds = ROUNDS,
    batch: Batch = lines.BATCH,
    quick: Quick = False,
    database_url: Url = None,
) -> None:
    """Take a file in. Floor: raw binary COPY of the same lines into a table with the same keys."""
    from ledger.cli.bench.ingest_file import ingest_file as measure

    if quick:
        events, rounds, batch = QUICK_EVENTS, 1, QUICK_BATCH
    _measured(
        database_url, lambda server: measure(server, events=events, rounds=rounds, batch=batch)
    )


@app.command("ingest-http")
def ingest_http(
    events: Events = 100_000,
    rounds: Rounds = ROUNDS,
    batch: Annotated[int, typer.Option(min=1, max=5000, help="Events a request.")] = 500,
    quick: Quick = False,
    database_url: Url = None,
) -> None:
    """Send batches to `ledger serve`. Floor: raw binary COPY of the same events, as for a file."""
    from ledger.cli.bench.ingest_http import ingest_http as measure

    if quick:
        events, rounds, batch = QUICK_EVENTS, 1, QUICK_BATCH
    _measured(
        database_url, lambda server: measure(server, events=events, rounds=rounds, batch=batch)
    )


@app.command("ingest-kafka")
def ingest_kafka(
    events: Events = 300_000,
    rounds: Rounds = ROUNDS,
    fleets: Fleets = 1,
    consumers: Annotated[
        int, typer.Option(min=1, help="Consumers that share the partitions, a process each.")
    ] = 1,
    batch: Annotated[
        int, typer.Option(min=1, help="The most events a transaction; the floor takes their mean.")
    ] = 5_000,
    quick: Quick = False,
    database_url: Url = None,
) -> None:
    """Drain a topic of a real broker. Floor: raw binary COPY of the same events, as for a file.

    The broker is LEDGER_KAFKA_BOOTSTRAP, or one that is started for this run. With more than half a
    million events the topic is filled while it is drained.
    """
    from ledger.cli.bench.ingest_kafka import Shape
    from ledger.cli.bench.ingest_kafka import ingest_kafka as measure

    if quick:
        events, rounds, batch = QUICK_EVENTS, 1, QUICK_BATCH
    shape = Shape(events, fleets, consumers, batch)

    async def with_kafka(server: Postgres) -> str:
        async with kafka() as bootstrap:
            return await measure(server, bootstrap, shape, rounds=rounds)

    _measured(database_url, with_kafka)


@app.command("read")
def read(
    events: Events = 200_000,
    rounds: Rounds = ROUNDS,
    quick: Quick = False,
    database_url: Url = None,
) -> None:
    """Read a log back. Floor: a raw SELECT of the same columns by the same pages."""
    from ledger.cli.bench.reading import read_back

    if quick:
        events, rounds = QUICK_EVENTS, 1
    _measured(database_url, lambda server: read_back(server, events=events, rounds=rounds))


@app.command("fold")
def fold(
    events: Events = 50_000,
    rounds: Rounds = ROUNDS,
    quick: Quick = False,
    database_url: Url = None,
) -> None:
    """Fold and decide a log in memory. Floor: only decode its rows."""
    from ledger.cli.bench.folding import fold as measure

    if quick:
        events, rounds = QUICK_EVENTS, 1
    _measured(database_url, lambda server: measure(server, events=events, rounds=rounds))


@app.command("idle-transaction")
def idle_transaction(
    seconds: Seconds = 120,
    rounds: Annotated[int, typer.Option(min=1, help="Intervals with an idle transaction.")] = 1,
    batch: Batch = 20,
    quick: Quick = False,
    database_url: Url = None,
) -> None:
    """Ingest beside an idle REPEATABLE READ transaction. Floor: the same without it."""
    from ledger.cli.bench.idle_transaction import idle_transaction as measure

    if quick:
        seconds, rounds = 0.5, 1
    _measured(
        database_url, lambda server: measure(server, seconds=seconds, rounds=rounds, batch=batch)
    )


@app.command("core")
def core(
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            metavar="NAME",
            help="Only this one, and its growth if there is one of that name; may be given again.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.001, help="How long each question is asked again and again.")
    ] = 2.0,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 if one takes longer than it may.")
    ] = False,
) -> None:
    """Ask the core large questions. No floor: each has a median that it must not exceed."""
    from ledger.cli.bench.core import measured
    from ledger.cli.bench.core_cases import CASES, GROWTHS

    known = list(dict.fromkeys(one.name for one in (*CASES, *GROWTHS)))
    if unknown := set(names or ()) - set(known):
        raise typer.BadParameter(
            f"no case {', '.join(sorted(unknown))}; there are {', '.join(known)}",
            param_hint="--case",
        )
    wanted = set(names or known)
    missed = 0
    for finding in measured(
        [case for case in CASES if case.name in wanted],
        [growth for growth in GROWTHS if growth.name in wanted],
        seconds=seconds,
    ):
        typer.echo(json.dumps(finding, ensure_ascii=False))
        missed += not finding["kept"]
    if missed and check:
        raise typer.Exit(1)


class Part(StrEnum):
    """What ``engine`` measures, one after the other."""

    MEMORY = "memory"
    DURABLE = "durable"
    LATENCY = "latency"
    NODES = "nodes"
    SIZE = "size"
    SNAPSHOT = "snapshot"


ALONE: Final = (Part.SIZE, Part.SNAPSHOT)
"""They fill this process's memory."""


@app.command("engine")
def engine(
    part: Annotated[
        list[Part] | None,
        typer.Option(
            help="Only this; may be given again. Default: all but size and snapshot, which are long and run alone."
        ),
    ] = None,
    events: Events = 200_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is measured.")] = 3,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="How long events stream in for the latency.")
    ] = 30.0,
    rate: Annotated[
        int, typer.Option(min=1, help="Events a second that stream in for the latency.")
    ] = 1_000,
    quick: Quick = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a bar is missed.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One line of JSON for each part, to be recorded.")
    ] = False,
    database_url: Url = None,
) -> None:
    """Fold and decide a mixed history: how fast, how soon, at what cost, in how much memory.

    The fleet has 20 clusters, 2,000 nodes, 5,000 workloads, 30 queues and 4,000 disks; of its
    events 70 % are reports, 20 % upserts and 10 % ask for an answer. Each part has bars to reach:

    - memory: rows to decisions without a server, with the cost of each type of event
    - durable: a log to durable decisions, end to end
    - latency: from an append to its decisions in SQL, while events stream in
    - nodes: one node event at 500 nodes and at 50,000
    - size: 100 clusters, 50,000 nodes, 100,000 workloads, a million replicas in memory
    - snapshot: the same fleet written down beside deciding, and read again
    """
    from ledger.cli.bench import engine_history as history
    from ledger.cli.bench import engine_nodes, engine_size, engine_snapshot

    logs.configure(level=logging.WARNING)

    wanted = list(dict.fromkeys(part or [one for one in Part if one not in ALONE]))
    if len(wanted) > 1 and any(one in ALONE for one in wanted):
        raise typer.BadParameter("size and snapshot are measured alone", param_hint="--part")
    sizes = history.MIXED
    if quick:
        sizes, events, rounds, seconds = history.QUICK, QUICK_EVENTS, 1, 0.5

    def on_a_server(measure: Callable[[Postgres], Awaitable["Finding"]]) -> "Finding":
        async def main() -> "Finding":
            async with postgres(database_url) as server:
                return await measure(server)

        return run(main)

    def measured(one: Part) -> "Finding":
        from ledger.cli.bench.engine_durable import durable
        from ledger.cli.bench.engine_latency import latency
        from ledger.cli.bench.engine_memory import in_memory

        match one:
            case Part.MEMORY:
                return in_memory(sizes, events=events, rounds=rounds)
            case Part.DURABLE:
                return on_a_server(lambda at: durable(at, sizes, events=events, rounds=rounds))
            case Part.LATENCY:
                return on_a_server(lambda at: latency(at, sizes, rate=rate, seconds=seconds))
            case Part.NODES:
                return engine_nodes.node_events(rounds=rounds, quick=quick)
            case Part.SIZE:
                return engine_size.size(engine_size.QUICK if quick else engine_size.LARGEST)
            case Part.SNAPSHOT:
                sizes_ = engine_size.QUICK if quick else engine_size.LARGEST
                return engine_snapshot.snapshot(sizes_)

    missed = 0
    for one in wanted:
        missed += not _told(measured(one), as_json=as_json)
    if missed and check:
        raise typer.Exit(1)


@app.command("audit")
def audit(
    part: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="Only this; may be given again. Default: all."),
    ] = None,
    events: Events = 200_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is measured.")] = 3,
    quick: Quick = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a bar is missed.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One line of JSON for each part, to be recorded.")
    ] = False,
    database_url: Url = None,
) -> None:
    """Audit a decided history: the mixed one of `engine`.

    It is taken in and decided first, which is not measured and takes longer than the rest. Each part
    has bars to reach:

    - verify: every leaf and both trees from their rows; the events alone, too
    - deep: all of that, and everything that people read made again and compared
    - replay: verified and every decision recomputed, by one worker and by two
    - explain: how decisions all over it came about, as a command and over a connection that is there
    - sql: what was in force at positions all over it, and where one workload or node is now
    """
    from ledger.cli.bench import engine_history as history
    from ledger.cli.bench.audit_history import decided
    from ledger.cli.bench.audit_parts import PARTS

    logs.configure(level=logging.WARNING)
    wanted = list(dict.fromkeys(part or PARTS))
    if unknown := [one for one in wanted if one not in PARTS]:
        raise typer.BadParameter(
            f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}", param_hint="--part"
        )
    sizes = history.MIXED
    if quick:
        sizes, events, rounds = history.QUICK, QUICK_EVENTS, 1

    async def main() -> int:
        missed = 0
        async with (
            postgres(database_url) as server,
            decided(server, sizes, events=events) as ground,
        ):
            for one in wanted:
                found = await PARTS[one](ground, rounds=rounds)
                missed += not _told(replace(found, bench="audit"), as_json=as_json)
        return missed

    if run(main) and check:
        raise typer.Exit(1)


class Asked(StrEnum):
    """What ``admission`` measures, one after the other."""

    STEADY = "steady"
    BESIDE = "beside"
    BATCHES = "batches"
    BURST = "burst"
    READING = "reading"
    BURST_READING = "burst-reading"


@app.command("admission")
def admission(
    part: Annotated[
        list[Asked] | None, typer.Option(help="Only this; may be given again. Default: all.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="How long reviews come at the rate.")
    ] = 60.0,
    rate: Annotated[int, typer.Option(min=1, help="Reviews a second.")] = 200,
    reports: Annotated[
        int, typer.Option(min=1, help="Reports of pods a second that come in beside them.")
    ] = 1_000,
    pods: Annotated[int, typer.Option(min=1, help="Pods of one Deployment in the burst.")] = 250,
    quick: Quick = False,
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if a bar is missed.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One line of JSON for each part, to be recorded.")
    ] = False,
    database_url: Url = None,
) -> None:
    """Ask the webhook as an API server does: how long it takes, part by part, and whether it is right.

    A service and a decider run as processes of their own. Each part has bars to reach:

    - steady: reviews at a rate, and nothing else
    - beside: the same, while reports of pods come into the same fleet over HTTP, ten a batch
    - batches: the same with 500 a batch: each review behind one waits until that is decided
    - burst: all pods of one Deployment at once
    - reading, burst-reading: steady and burst with an API server whose ReplicaSets are read
    """
    from ledger.cli.bench import admission as measure

    logs.configure(level=logging.WARNING)
    if quick:
        seconds, rate, reports, pods = 1.0, 20, 100, 20

    async def measured(server: Postgres, one: Asked) -> "Finding":
        match one:
            case Asked.STEADY | Asked.READING:
                return await measure.steady(server, one, rate=rate, seconds=seconds)
            case Asked.BURST | Asked.BURST_READING:
                return await measure.burst(server, one, pods=pods)
            case Asked.BESIDE | Asked.BATCHES:
                at_once = measure.FEW if one is Asked.BESIDE else measure.MANY
                return await measure.beside(
                    server, one, rate=rate, seconds=seconds, reports=reports, at_once=at_once
                )

    async def main() -> int:
        missed = 0
        async with postgres(database_url) as server:
            for one in dict.fromkeys(part or Asked):
                missed += not _told(await measured(server, one), as_json=as_json)
        return missed

    if run(main) and check:
        raise typer.Exit(1)
