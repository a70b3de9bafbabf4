"""Metrics: every one is on the page, is told by whom the page says, and can be fetched."""

import asyncio
import os
import re
import signal
import socket
import sys
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from typing import Protocol

import pytest
from asyncpg import UndefinedColumnError
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from consumers.totals import Sent, Totals
from ledger.cli.deciding import measured
from ledger.cli.metrics import catalogue, collecting
from ledger.cli.metrics.catalogue import FLEETS_NAMED, GROUPS, OTHERS, REASONS_NAMED, Metric
from ledger.engine.activity import Activity
from ledger.errors import LogUnavailable
from ledger.log import lines
from ledger.log.database import connect
from ledger.views.reading import Lag
from tests.engine.test_the_book_in_sql import Story
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import until

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


class Collector(Protocol):
    def collect(self) -> Iterator[Family]: ...


def names(collector: Collector) -> list[str]:
    """As they are served: the client takes the end off a counter's name and puts it on again."""
    return [
        f"{one.name}_total" if one.type == "counter" else one.name for one in collector.collect()
    ]


def wanted(group: tuple[Metric, ...]) -> list[str]:
    return [metric.name for metric in group]


def test_the_page_lists_every_metric_as_the_code_has_it() -> None:
    listed = [line for line in PAGE.splitlines() if line.startswith("| `ledger_")]

    assert listed == [
        f"| `{one.name}` | {one.type} | {f'`{one.label}`' if one.label else ''}"
        f" | {one.means} | {one.high} |"
        for _, _, group in GROUPS
        for one in group
    ]


def test_the_page_says_who_tells_them() -> None:
    for heading, command, _ in GROUPS:
        assert f"\n### {heading}\n\nTold by `ledger {command}`" in PAGE
    assert f"({REASONS_NAMED} reasons at most)" in PAGE
    assert f"for the first {FLEETS_NAMED} by name" in PAGE


def test_no_alert_asks_for_a_metric_that_there_is_not() -> None:
    told = {one.name for _, _, group in GROUPS for one in group}

    assert set(re.findall(r"\bledger_[a-z_]+\b(?!\.)", PAGE)) <= told | {"ledger_api"}


def test_names_are_spelled_as_monitoring_expects() -> None:
    every = [one for _, _, group in GROUPS for one in group]

    assert len({one.name for one in every}) == len(every)
    for one in every:
        assert re.fullmatch(r"ledger_[a-z_]+", one.name)
        assert one.name.endswith("_total") == (one.type == "counter"), one.name


def test_only_what_is_said_of_a_fleet_is_told_by_fleet() -> None:
    by_fleet = {one.name for _, _, group in GROUPS for one in group if one.label == "fleet"}

    assert by_fleet == {
        "ledger_lag_events",
        "ledger_lag_seconds",
        "ledger_open_incidents",
        "ledger_open_refusals",
        "ledger_snapshot_behind_events",
    }


def test_each_collector_tells_its_group() -> None:
    assert names(collecting.Standing()) == wanted(catalogue.STANDING)
    assert names(collecting.Deciding(Activity())) == wanted(catalogue.DECIDING)
    assert names(collecting.Consuming(Totals())) == wanted(catalogue.CONSUMING)
    assert names(collecting.Publishing(Sent())) == wanted(catalogue.PUBLISHING)
    assert names(collecting.Parts({})) == wanted(catalogue.PARTS)


def test_every_count_is_told_once() -> None:
    totals = Totals(**{one.name: place for place, one in enumerate(fields(Totals))})
    sent = Sent(**{one.name: place for place, one in enumerate(fields(Sent))})

    for collector in (collecting.Consuming(totals), collecting.Publishing(sent)):
        told = [one.samples[0].value for one in collector.collect()]
        assert sorted(told) == list(range(len(told)))
    assert len(catalogue.CONSUMING) == len(fields(Totals))
    assert len(catalogue.PUBLISHING) == len(fields(Sent))


def test_labels_are_bounded() -> None:
    standing = collecting.Standing()
    many = tuple(
        Lag(f"f{number:05d}", 0, number, None, None, 1, 0, 0) for number in range(FLEETS_NAMED + 7)
    )
    standing.observed = collecting.Observed(many)
    lag = next(standing.collect())

    by_fleet = {sample.labels["fleet"]: sample.value for sample in lag.samples}
    assert len(by_fleet) == FLEETS_NAMED + 1
    assert by_fleet[OTHERS] == FLEETS_NAMED + 6

    reasons = collecting.bounded({f"r{number:05d}": 1 for number in range(REASONS_NAMED + 7)})
    assert len(reasons) == REASONS_NAMED + 1
    assert reasons[OTHERS] == 7


def test_a_deadline_that_nobody_reaches_is_lag() -> None:
    standing = collecting.Standing()
    standing.observed = collecting.Observed(
        (
            Lag("behind", 1, 2, 9.0, 3.0, 0, 0, 0),
            Lag("event", 1, 0, None, None, 0, 0, 0),
            Lag("idle", 1, 0, 0.0, 0.0, 0, 0, 0),
            Lag("overdue", 1, 0, 0.0, 40.0, 0, 0, 0),
        )
    )
    (told,) = (one for one in standing.collect() if one.name == "ledger_lag_seconds")

    by_fleet = {sample.labels["fleet"]: sample.value for sample in told.samples}
    assert by_fleet.keys() == {"behind", "idle", "overdue"}
    assert (by_fleet["idle"], round(by_fleet["behind"])) == (0, 9)
    assert round(by_fleet["overdue"]) == 40


def fetched(address: str) -> dict[str, float]:
    """Every sample at an address, by name and labels."""
    with urllib.request.urlopen(address, timeout=10) as said:
        text = said.read().decode()
    return {
        " ".join([sample.name, *(f"{name}={value}" for name, value in sample.labels.items())]): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@asynccontextmanager
async def serving(*words: str) -> AsyncIterator[str]:
    """``ledger`` with a metrics port of its own, and the address it printed."""
    environment = os.environ | {"LEDGER_METRICS_PORT": "0"}
    environment.pop("LEDGER_KAFKA_BOOTSTRAP", None)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", *words),
        env=environment,
        stderr=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(30):
            said = b""
            while not said.startswith(b"metrics: "):
                said = await process.stderr.readline()
                assert said, "it ended without an address"
        draining = asyncio.create_task(process.stderr.read())
        yield said.decode().split()[1]
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            assert await process.wait() == 0
        await draining
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize("command", [("decide", "--quiet"), ("up",)], ids=["decide", "up"])
async def test_what_a_decider_does_can_be_fetched(
    database_url: str, command: tuple[str, ...]
) -> None:
    story = Story()
    story.cluster("m1")
    story.node("n1", memory=6)
    story.pod("proxy", "n1", None, request={"memory": 5})
    story.node("n1", memory=4)
    connection = await connect(database_url, None)
    await lines.ingest(
        connection,
        [
            cluster_line(1),
            workload_line(1, replicas=4, weights={"c1": 1}),
            workload_line(2, replicas=2, name="till", weights={"c9": 1}),
            b"{",
            *story.lines,
        ],
    )
    await connection.close()

    async with serving(*command, "--database-url", database_url) as address:

        async def seen() -> bool:
            said = await asyncio.to_thread(fetched, address)
            return said.get("ledger_open_incidents fleet=test") == 1

        await until(seen)
        said = await asyncio.to_thread(fetched, address)

    assert address.startswith("http://127.0.0.1:")
    assert said["ledger_decide_events_total"] == 7
    assert said["ledger_decide_decisions_total kind=division"] == 1
    assert said["ledger_decide_decisions_total kind=refusal"] == 1
    assert said["ledger_decide_batches_total"] >= 1
    assert said["ledger_decide_leases_held"] == 1
    assert said["ledger_decide_leases_standby"] == 0
    assert said["ledger_open_incidents fleet=test"] == 1
    assert said["ledger_lag_events fleet=test"] == 0
    assert said["ledger_lag_seconds fleet=test"] == 0
    assert said["ledger_quarantine_waiting"] == 1
    assert [name for name in said if name.startswith("ledger_decide_refusals_total ")]
    if command == ("up",):
        assert said["ledger_part_running part=decide"] == 1
        assert said["ledger_part_started_total part=maintain"] == 1


async def test_a_port_that_is_taken_is_said_so(database_url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ledger.cli.main", "decide", "--database-url", database_url),
            *("--metrics-port", str(taken.getsockname()[1])),
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(30):
            _, said = await process.communicate()

    assert process.returncode == 78
    assert said.startswith(b"ledger: metrics on 127.0.0.1:")


async def ended_unobserved(database_url: str, *, by: Exception | None = None) -> list[str]:
    """What is said and raised where the look at the fleets fails, and the block ends after that."""
    connection = await connect(database_url, None)
    await connection.execute("ALTER VIEW ledger_api.quarantine RENAME COLUMN outcome TO fate")
    await connection.close()
    with capture_logs() as said:

        async def told() -> bool:
            return bool(said)

        raised = ""
        try:
            async with measured(database_url, Activity(), port=0, address="127.0.0.1"):
                await until(told)
                if by is not None:
                    raise by
        except (LogUnavailable, UndefinedColumnError) as error:
            raised = type(error).__name__
    return [*(f"{one['log_level']}: {one['event']}" for one in said), raised]


async def test_whoever_cannot_observe_by_a_mistake_says_so_and_ends_nothing(
    database_url: str,
) -> None:
    assert await ended_unobserved(database_url) == ["error: not_observed", "UndefinedColumnError"]


async def test_what_ends_a_decider_counts_more_than_who_observed_it(database_url: str) -> None:
    by = LogUnavailable("the database: gone")

    assert await ended_unobserved(database_url, by=by) == ["error: not_observed", "LogUnavailable"]
