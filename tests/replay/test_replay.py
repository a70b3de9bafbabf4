"""A replay names the first thing that does not fit, and which kind of trouble it is."""

from collections.abc import AsyncIterator
from dataclasses import replace

import asyncpg
import pytest
import pytest_asyncio

from ledger.decisions.step import Step, advance
from ledger.facts.decision import record
from ledger.facts.event import Event
from ledger.log import fleets, lines
from ledger.log.database import connect
from ledger.reducers.tasks import QueueNamespace, Use
from ledger.reducers.world import World
from ledger.replay import comparing
from ledger.replay.replay import replay
from ledger.replay.report import DIVERGED, INVALID, SAME, Report, first_difference
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line

WEIGHTS = {"c1": 3, "c2": 2, "c3": 1}


@pytest_asyncio.fixture
async def decided(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A log of ten events with its decisions, over a connection that may do anything."""
    connection = await connect(database_url, None)
    await lines.ingest(
        connection,
        [cluster_line(number) for number in (1, 2, 3)]
        + [workload_line(number, replicas=number, weights=WEIGHTS) for number in range(4, 11)],
    )
    await decide_all(database_url)
    yield connection
    await connection.close()


async def behind_our_back(connection: asyncpg.Connection, statement: str) -> None:
    """Change history the way somebody with every right would: with the triggers off."""
    async with connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        assert await connection.execute(statement) != "UPDATE 0"


async def replayed(connection: asyncpg.Connection) -> Report:
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    return await replay(connection, fleet)


async def test_an_untouched_log_replays_the_same(decided: asyncpg.Connection) -> None:
    report = await replayed(decided)

    assert report.diverged is None
    assert report.exit_code == SAME
    assert (report.events, report.decisions, report.decided_through) == (10, 7, 9)
    heads = await decided.fetchrow("SELECT event_root, decision_root FROM ledger_api.fleets")
    assert heads is not None
    assert (report.event_root, report.decision_root) == tuple(heads)


async def test_events_behind_the_cursor_are_verified_and_not_yet_compared(
    decided: asyncpg.Connection,
) -> None:
    await lines.ingest(decided, [workload_line(11, replicas=50, weights=WEIGHTS)])

    report = await replayed(decided)

    assert report.diverged is None
    assert (report.events, report.decided_through) == (11, 9)


@pytest.mark.parametrize(
    ("statement", "trouble", "position"),
    [
        (
            "UPDATE ledger.events SET payload = set_byte(payload, 40, 33) WHERE position = 4",
            "leaf_mismatch",
            4,
        ),
        ("UPDATE ledger.events SET source = 'else' WHERE position = 2", "leaf_mismatch", 2),
        (
            "UPDATE ledger.events SET recorded_at_micros = 1 + recorded_at_micros WHERE position = 9",
            "leaf_mismatch",
            9,
        ),
        ("DELETE FROM ledger.events WHERE position = 5", "position_missing", 5),
        ("DELETE FROM ledger.events WHERE position = 9", "event_root_mismatch", 9),
        (
            "UPDATE ledger.heads SET root = sha256(root) WHERE tree = 'events'",
            "event_root_mismatch",
            10,
        ),
        (
            "UPDATE ledger.decisions SET record = set_byte(record, 30, 33) WHERE number = 3",
            "decision_leaf_mismatch",
            6,
        ),
        (
            "UPDATE ledger.heads SET root = sha256(root) WHERE tree = 'decisions'",
            "decision_root_mismatch",
            None,
        ),
    ],
)
async def test_a_touched_log_is_named_and_not_replayed(
    decided: asyncpg.Connection, statement: str, trouble: str, position: int | None
) -> None:
    await behind_our_back(decided, statement)

    report = await replayed(decided)

    assert report.diverged is not None
    assert (report.diverged.trouble, report.diverged.position) == (trouble, position)
    assert report.exit_code == INVALID


async def test_a_decision_that_does_not_follow_is_named_to_the_value(
    decided: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is whole, but the rule that made it was another one: each residual went astray."""
    honest = record
    monkeypatch.setattr(
        comparing, "record", lambda made: honest(made).replace(b'"c1":2', b'"c1":1')
    )

    report = await replayed(decided)

    assert report.diverged is not None
    assert report.diverged.trouble == "decision_differs"
    assert report.diverged.path == "/result/allocation/c1"
    assert (report.diverged.recorded, report.diverged.recomputed) == ("2", "1")
    assert report.exit_code == DIVERGED


async def test_a_book_that_does_not_add_up_is_named_though_every_decision_follows(
    decided: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a reducer had made a sum wrong that no decision has read yet."""
    honest = advance

    def careless(world: World, event: Event) -> Step:
        step = honest(world, event)
        used = step.world.jobs.used.set(QueueNamespace("q", "shop"), Use(1, 500, 0, 0))
        jobs = replace(step.world.jobs, used=used)
        return step._replace(world=replace(step.world, jobs=jobs))

    monkeypatch.setattr(comparing, "advance", careless)

    report = await replayed(decided)

    assert report.diverged is not None
    assert report.diverged.trouble == "book_differs"
    assert (report.diverged.subject, report.diverged.path) == ("q of shop", "used: cpu")
    assert (report.diverged.recorded, report.diverged.recomputed) == ("500", "0")
    assert report.exit_code == DIVERGED


def test_the_first_difference_is_a_json_pointer() -> None:
    assert first_difference({"a": [1, {"b/c": 2}]}, {"a": [1, {"b/c": 3}]}) == (
        "/a/1/b~1c",
        "2",
        "3",
    )
    assert first_difference({"a": [1]}, {"a": [1, 2]}) == ("/a/1", "(absent)", "2")
