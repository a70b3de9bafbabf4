"""``ledger consume``, ``ledger publish`` and ``ledger partitions``: Kafka in and out."""

import asyncio
import json
from dataclasses import asdict, astuple
from typing import Annotated

import typer
from rich.table import Table

from ledger.cli import logs
from ledger.cli.aside import aside
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate, waited_for
from ledger.cli.deciding import holder
from ledger.cli.logs import LogLevel
from ledger.cli.metrics.options import LOOPBACK, MetricsAddress, MetricsPort
from ledger.cli.operator import operator
from ledger.cli.run import run, run_until_asked
from ledger.cli.tables import print_table
from ledger.errors import SetupProblem
from ledger.log import receipts
from ledger.log.database import connect
from ledger.log.receipts import PartitionStanding
from ledger.units import FleetName, Offset


def consume(
    topic: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this topic; may be given more than once. Default: all of Ledger's."
        ),
    ] = None,
    metrics_port: MetricsPort = None,
    metrics_address: MetricsAddress = LOOPBACK,
    log_level: LogLevel = "info",
    database_url: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Take events from Kafka into the log, each exactly once.

    Configured by LEDGER_KAFKA_* (docs/operating-kafka.md). Run as many as there are partitions;
    each can be killed at any moment.
    """
    from consumers import feed, subscription
    from consumers.settings import Settings
    from consumers.totals import Totals
    from ledger.cli.metrics.collecting import Consuming
    from ledger.cli.metrics.serving import serving

    logs.configure_as_asked(log_level)
    totals = Totals()

    async def main(stop: asyncio.Event) -> None:
        settings = Settings()
        topics = subscription.topics(settings.kafka_topic_prefix)
        if topic:
            unknown = sorted(set(topic) - {one.name for one in topics})
            if unknown:
                known = ", ".join(one.name for one in topics)
                raise SetupProblem(
                    f"{', '.join(unknown)}: not a topic of Ledger's; those are {known}"
                )
            topics = tuple(one for one in topics if one.name in topic)
        url = await waited_for(database_url, data, stop, begins=True)
        if url is None:
            return
        with serving(metrics_port, metrics_address, Consuming(totals)):
            await feed.run(settings, url, topics=topics, stop=stop, totals=totals)

    run_until_asked(main)


def publish(
    metrics_port: MetricsPort = None,
    metrics_address: MetricsAddress = LOOPBACK,
    log_level: LogLevel = "info",
    database_url: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Hand on to Kafka, in order and at least once.

    Decisions go to the topic ledger.decisions, quarantined messages to ledger.deadletter.
    """
    from consumers import publisher
    from consumers.settings import Settings
    from consumers.totals import Sent
    from ledger.cli.metrics.collecting import Publishing
    from ledger.cli.metrics.serving import serving

    logs.configure_as_asked(log_level)
    sent = Sent()

    async def main(stop: asyncio.Event) -> None:
        settings = Settings()
        url = await waited_for(database_url, data, stop)
        if url is None:
            return
        with serving(metrics_port, metrics_address, Publishing(sent)):
            await publisher.run(settings, url, holder=holder(), stop=stop, sent=sent)

    run_until_asked(main)


partitions_app = typer.Typer(
    help="Kafka partitions: how far each was taken, and those that stand still until you look.",
    no_args_is_help=True,
)


@partitions_app.command("list")
def list_command(
    database_url: DatabaseUrl = None, data: Data = None, as_json: AsJson = False
) -> None:
    """List every partition the ledger has seen, with its next offset and why it stands still."""

    async def main() -> list[PartitionStanding]:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            return await receipts.partitions(connection)
        finally:
            await connection.close()

    rows = run(main)
    if as_json:
        for row in rows:
            typer.echo(json.dumps(asdict(row)))
        return
    table = Table("topic", "partition", "next", "halted", "detail", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in astuple(row)))
    print_table(table)


@partitions_app.command("resume")
def resume_command(
    topic: str,
    partition: int,
    why: Annotated[str, typer.Option("--why", help="The reason; it is recorded.")],
    at: Annotated[
        int | None,
        typer.Option(min=0, help="The offset to go on from; default: where it stood."),
    ] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Let a halted partition go on. Where it goes on is your decision and is recorded as one."""

    async def main() -> None:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            await receipts.resume(
                connection,
                topic,
                partition,
                at=None if at is None else Offset(at),
                why=why,
                by=operator(),
            )
        finally:
            await connection.close()

    run(main)
    aside.print(f"{topic}/{partition} goes on")


@partitions_app.command("confirm")
def confirm_command(
    fleet: str,
    topic: str,
    partition: int,
    database_url: DatabaseUrl = None,
    data: Data = None,
) -> None:
    """Confirm that a fleet's events of a topic come by another partition from now on."""

    async def main() -> None:
        connection = await connect(await locate(database_url, data), "ledger_writer")
        try:
            await receipts.confirm(connection, FleetName(fleet), topic, partition, by=operator())
        finally:
            await connection.close()

    run(main)
    aside.print(f"fleet {fleet}: {topic} comes by partition {partition}")
