"""``ledger watch``, ``status`` and ``fleets``: what people look at while it runs."""

import asyncio
import json
import os
import pty
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from ledger.cli.commands import as_asked
from ledger.cli.standing import span
from ledger.cli.watching import FLEETS_SHOWN, fleets_table
from ledger.log import lines
from ledger.log.database import connect
from ledger.views.reading import PAGE, Lag
from tests.engine.deciding import decide_all
from tests.engine.test_the_book_in_sql import Story
from tests.events_for_tests import cluster_line, workload_line

Process = asyncio.subprocess.Process


async def ingested(database_url: str, history: list[bytes], *, clock: str = "wall") -> None:
    connection = await connect(database_url, None)
    await lines.ingest(connection, history, clock="event" if clock == "event" else "wall")
    await connection.close()


def scaled(first: int, last: int, *, fleet: str = "test") -> list[bytes]:
    """One workload over one cluster, scaled from event to event: a decision each."""
    return [cluster_line(1, fleet=fleet)] + [
        workload_line(number, replicas=number + 1, fleet=fleet, weights={"c1": 1})
        for number in range(first, last)
    ]


@asynccontextmanager
async def watching(database_url: str, *words: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", "watch", "--database-url", database_url, *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def left(process: Process) -> tuple[bytes, bytes]:
    """Press Ctrl-C; what it had still to say."""
    process.send_signal(signal.SIGINT)
    said = await process.communicate()
    assert process.returncode == 0
    return said


async def rows(process: Process, count: int) -> list[dict[str, object]]:
    assert process.stdout is not None
    return [json.loads(await process.stdout.readline()) for _ in range(count)]


async def test_every_decision_is_seen_once_in_order_and_then_as_it_is_made(
    database_url: str,
) -> None:
    count = PAGE * 2 + 3
    await ingested(database_url, scaled(0, count))
    await decide_all(database_url)

    async with watching(database_url, "--json", "--from", "0") as process:
        seen = await rows(process, count)
        await ingested(database_url, scaled(count, count + 2) + scaled(0, 1, fleet="another"))
        await decide_all(database_url)
        live = await rows(process, 3)
        assert await left(process) == (b"", b"")

    assert [row["number"] for row in seen] == list(range(count))
    assert sorted((row["fleet"], row["number"]) for row in live) == [
        ("another", 0),
        ("test", count),
        ("test", count + 1),
    ]
    assert seen[1]["result"] == {
        "namespace": "shop",
        "workload": "cart",
        "uid": "uid-cart",
        "replicas": 2,
        "allocation": {"c1": 2},
    }


async def test_it_goes_on_where_it_was_left(database_url: str) -> None:
    await ingested(database_url, scaled(0, 6) + scaled(0, 6, fleet="other"))
    await decide_all(database_url)

    async with watching(database_url, "--json", "--from", "4", "--fleet", "other") as process:
        seen = await rows(process, 2)
        await left(process)

    assert [(row["fleet"], row["number"]) for row in seen] == [("other", 4), ("other", 5)]


async def test_elsewhere_than_on_a_terminal_a_decision_is_a_plain_line(database_url: str) -> None:
    await ingested(
        database_url, [*scaled(0, 2), workload_line(9, replicas=1, name="x", weights={"c9": 1})]
    )
    await decide_all(database_url)

    async with watching(database_url, "--from", "0") as process:
        assert process.stdout is not None
        said = [(await process.stdout.readline()).decode() for _ in range(3)]
        assert await left(process) == (b"", b"")

    assert said[0].split()[:6] == ["test", "#0", "@1", "shop/cart", "division", "exact"]
    assert "c1 0→1" in said[0]
    assert "c1 1→2" in said[1]
    assert "shop/x refusal" in said[2]
    assert "waits for" in said[2]
    assert not any("\x1b" in line for line in said)


async def test_on_a_terminal_the_fleets_stand_below_and_ctrl_c_leaves_quietly(
    database_url: str,
) -> None:
    await ingested(database_url, scaled(0, 2))
    await decide_all(database_url)
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", "watch", "--database-url", database_url),
        *("--from", "0"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    said = b""
    try:
        async with asyncio.timeout(30):
            while b"decisions" not in said or "1→2".encode() not in b"".join(_plain(said)):
                said += await asyncio.to_thread(os.read, ours, 65536)
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)
    assert b"Traceback" not in said


def _plain(said: bytes) -> list[bytes]:
    """Without what colours and moves: everything between an escape and its letter."""
    first, *rest = said.split(b"\x1b[")
    return [first, *(part.lstrip(b"0123456789;?")[1:] for part in rest)]


async def test_an_unknown_fleet_is_said_so(database_url: str) -> None:
    async with watching(database_url, "--fleet", "nobody") as process:
        _, said = await process.communicate()

    assert process.returncode == 78
    assert said == b"ledger: fleet nobody: there is none of this name\n"


def test_of_many_fleets_those_furthest_behind_are_shown() -> None:
    lags = [
        Lag(f"f{number:02d}", 1, number, 1.5, 0.0, 0, 0, 0) for number in range(FLEETS_SHOWN + 5)
    ]
    console = Console(width=100, record=True, file=StringIO())

    console.print(fleets_table(lags))
    said = console.export_text().splitlines()

    assert said[1].split() == ["f14", "14", "(1.5", "s)", "1", "0"]
    assert len(said) == FLEETS_SHOWN + 2
    assert said[-1].strip() == "and 5 more"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.25, "0.2 s"),
        (59.9, "59 s"),
        (61, "1 min 1 s"),
        (3_720, "1 h 2 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_time_is_told_in_the_two_units_that_matter(seconds: float, said: str) -> None:
    assert span(seconds) == said


class Command:
    """``ledger`` on one database."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url

    def __call__(self, *words: str, code: int = 0) -> Result:
        answer = CliRunner().invoke(
            as_asked(words), list(words), env={"LEDGER_DATABASE_URL": self._url}
        )
        assert answer.exit_code == code, (words, answer.output, answer.exception)
        return answer


@pytest.fixture
def ledger(database_url: str) -> Command:
    return Command(database_url)


async def prepared(database_url: str) -> None:
    """Two fleets that wait, one refusal, one halted partition, a decider and one beside it."""
    refused = workload_line(1, replicas=2, fleet="aaa", weights={"c9": 1})
    await ingested(database_url, [refused])
    await decide_all(database_url)
    await ingested(database_url, [cluster_line(1, fleet="aaa"), b"{"])
    await ingested(database_url, [cluster_line(1, fleet="bbb")], clock="event")
    connection = await connect(database_url, None)
    await connection.execute(
        "UPDATE ledger.leases SET expires_at = clock_timestamp() + interval '1 hour'"
    )
    await connection.execute(
        "INSERT INTO ledger.standbys (fleet, duty, holder, expires_at)"
        " SELECT number, 'decide', 'heir', clock_timestamp() + interval '1 hour'"
        "   FROM ledger.fleets WHERE name = 'aaa'"
    )
    await connection.execute("INSERT INTO ledger.partition_locks VALUES ('ledger.cluster', 3)")
    await connection.execute(
        "INSERT INTO ledger.partition_halts (topic, partition, halted, reason, detail, by)"
        " VALUES ('ledger.cluster', 3, true, 'topic_recreated', 'it was made anew', 'tests')"
    )
    await connection.close()


def test_status_says_how_everything_stands(database_url: str, ledger: Command) -> None:
    asyncio.run(prepared(database_url))

    said = json.loads(ledger("status", "--json").stdout)
    shown = ledger("status").stdout

    first, second = said["fleets"]
    assert (first["fleet"], first["head"], first["decided_through"]) == ("aaa", 1, 0)
    assert (first["undecided"], first["open_refusals"]) == (1, 1)
    assert first["lag_seconds"] > 0
    assert (first["decider"], first["standby"]) == ("tests", ["heir"])
    assert first["decider_since"].endswith("+00:00")
    assert (second["fleet"], second["head"], second["decided_through"]) == ("bbb", 0, None)
    assert (second["decider"], second["standby"], second["lag_seconds"]) == (None, [], None)
    assert (said["quarantined"], said["halted"]) == (1, 1)
    assert said["halted_partitions"][0]["reason"] == "topic_recreated"
    assert "tests since" in shown
    assert "heir" in shown
    assert "1 in quarantine, 0 open incidents, 1 partition halted" in shown
    assert "ledger.cluster/3 stands still since" in shown


async def contradicted(database_url: str) -> None:
    """Two nodes that declare less than is held on them; one of them grows back."""
    story = Story()
    story.cluster("m1")
    for name in ("n1", "n2"):
        story.node(name, memory=6)
        story.pod(f"proxy-{name}", name, None, request={"memory": 5})
        story.node(name, memory=4)
    story.node("n1", memory=6)
    await ingested(database_url, story.lines)
    await decide_all(database_url)


async def overdue(database_url: str) -> None:
    """A fleet whose decider went away while it waited for something."""
    await ingested(database_url, [cluster_line(1)])
    connection = await connect(database_url, None)
    await connection.execute(
        "INSERT INTO ledger.decided (fleet, through, decisions, epoch, due_at_micros)"
        " SELECT number, 0, 0, 1, extract(epoch FROM timestamptz '2026-01-05 10:00Z') * 1000000"
        "   FROM ledger.fleets WHERE name = 'test'"
    )
    await connection.close()


def test_status_counts_incidents_that_last(database_url: str, ledger: Command) -> None:
    asyncio.run(contradicted(database_url))

    said = json.loads(ledger("status", "--json").stdout)

    assert (said["open_incidents"], said["incidents"]) == (1, 2)
    assert said["fleets"][0]["open_incidents"] == 1
    assert "0 in quarantine, 1 open incident, 0 partitions halted" in ledger("status").stdout


def test_status_says_that_a_deadline_is_overdue(database_url: str, ledger: Command) -> None:
    asyncio.run(overdue(database_url))

    (fleet,) = json.loads(ledger("status", "--json").stdout)["fleets"]
    shown = ledger("status").stdout

    assert fleet["next_deadline"] == "2026-01-05T10:00:00+00:00"
    assert fleet["overdue_seconds"] > 86400
    assert (fleet["lag_seconds"], fleet["undecided"]) == (0, 0)
    assert re.search(r"^test: a deadline is overdue by \d+ d \d+ h$", shown, re.MULTILINE)
    assert re.search(r"^test +0 +0 +0 \(\d+ d \d+ h\)", shown, re.MULTILINE)


def test_fleets_lists_one_a_line(database_url: str, ledger: Command) -> None:
    asyncio.run(prepared(database_url))

    said = [json.loads(line) for line in ledger("fleets", "--json").stdout.splitlines()]

    assert [row["fleet"] for row in said] == ["aaa", "bbb"]
    assert said[0]["open_refusals"] == 1
    assert [line.split()[0] for line in ledger("fleets").stdout.splitlines()] == [
        "fleet",
        "aaa",
        "bbb",
    ]


@pytest.mark.parametrize("word", ["fleets", "status"])
def test_without_a_fleet_there_is_a_word_on_how_one_opens(ledger: Command, word: str) -> None:
    said = ledger(word).stdout

    assert "ledger ingest FILE" in said
    assert "ledger fleets open NAME" in said


def test_what_belongs_to_a_command_of_fleets_is_not_lost_before_it(ledger: Command) -> None:
    answer = ledger("fleets", "--data", "elsewhere", "open", "test", code=64)

    assert "behind open" in answer.output
