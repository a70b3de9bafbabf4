"""Who decides and who stands by: seen with SQL, told in the log, taken over after a kill -9."""

import asyncio
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio
import structlog
from structlog.testing import capture_logs

from ledger.engine import decider
from ledger.engine.activity import Activity
from ledger.engine.decider import Decider, Deciders
from ledger.errors import LogUnavailable
from ledger.log import fleets, leases, lines
from ledger.log.database import connect, refusals_named
from ledger.replay.replay import replay
from ledger.units import FleetName
from tests.engine.deciding import UNHURRIED, decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import until

TAKEN_OVER_SECONDS = leases.LEASE_SECONDS + 5
"""The lease has to run out; the rest is for a machine that is busy."""


@pytest_asyncio.fixture
async def anybody(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, None)
    yield connection
    await connection.close()


@pytest.fixture
def everything_logged() -> None:
    """Logs down to debug, whatever a command of another test has configured."""
    structlog.reset_defaults()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG))


async def started(database_url: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", "decide", "--quiet"),
        *("--database-url", database_url),
        stderr=asyncio.subprocess.DEVNULL,
    )


async def standing(connection: asyncpg.Connection, *, standby: bool) -> dict[str, str]:
    """Fleets and the process that stands so to them."""
    rows = await connection.fetch(
        "SELECT fleet, holder FROM ledger_api.leases WHERE duty = 'decide' AND standby = $1",
        standby,
    )
    return {row["fleet"]: row["holder"] for row in rows}


async def test_the_second_takes_every_fleet_over_within_seconds_of_a_kill(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    names = ("one", "two", "three")

    async def ingest(number: int) -> None:
        await lines.ingest(
            anybody,
            [cluster_line(1, fleet=name) for name in names]
            + [
                workload_line(number, replicas=number, fleet=name, weights={"c1": 1})
                for name in names
            ],
        )

    async def decided(count: int) -> bool:
        found: int = await anybody.fetchval("SELECT count(*) FROM ledger.decisions")
        return found == count

    async def both_stand() -> bool:
        held = await standing(anybody, standby=False)
        waits = await standing(anybody, standby=True)
        return held.keys() == waits.keys() == set(names)

    await ingest(1)
    first = await started(database_url)
    second = None
    try:
        await until(lambda: decided(3))
        second = await started(database_url)
        await until(both_stand)
        before = await standing(anybody, standby=False)
        heirs = await standing(anybody, standby=True)

        first.send_signal(signal.SIGKILL)
        killed_at = time.monotonic()
        await first.wait()
        await ingest(2)
        await until(lambda: decided(6))

        assert time.monotonic() - killed_at < TAKEN_OVER_SECONDS
        after = await standing(anybody, standby=False)
        assert after == heirs
        assert set(after.values()).isdisjoint(before.values())
        second.send_signal(signal.SIGTERM)
        assert await second.wait() == 0
        assert await standing(anybody, standby=False) == {}
        for name in names:
            fleet = await fleets.find(anybody, FleetName(name))
            assert fleet is not None
            assert (await replay(anybody, fleet)).diverged is None
    finally:
        for process in (first, second):
            if process is not None and process.returncode is None:
                process.kill()
                await process.wait()


async def test_who_is_frozen_in_the_midst_of_a_command_keeps_its_heir_waiting_for_seconds(
    database_url: str, anybody: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LOCK_SECONDS", 1)
    monkeypatch.setattr(leases, "FROZEN_SECONDS", 3)
    await lines.ingest(anybody, [cluster_line(1)])
    fleet = await fleets.find(anybody, FleetName("test"))
    assert fleet is not None
    frozen = await connect(database_url, "ledger_decider")
    heir = await connect(database_url, "ledger_decider")
    try:
        held = await leases.acquire(frozen, fleet, "decide", holder="frozen")
        assert held is not None
        await leases.let_go(frozen, held)
        await frozen.execute("BEGIN")
        await leases.check(frozen, held)
        # Parsed and not executed: to the server that is a command at work, and nothing idle.
        await frozen.prepare("SELECT 1")
        doing = await anybody.fetchval(
            "SELECT state || ', ' || wait_event FROM pg_stat_activity WHERE pid = $1",
            frozen.get_server_pid(),
        )
        assert doing == "active, ClientRead"

        assert await leases.acquire(heir, fleet, "decide", holder="heir") is None

        async def is_taken_over() -> bool:
            return await leases.acquire(heir, fleet, "decide", holder="heir") is not None

        await until(is_taken_over)
        with pytest.raises(LogUnavailable), refusals_named():
            await frozen.execute("COMMIT")
        assert await heir.fetchval("SELECT current_user") == "ledger_decider"
    finally:
        frozen.terminate()
        await heir.close()


@pytest.mark.parametrize("goes_on", [False, True])
async def test_who_is_frozen_while_it_copies_is_replaced_and_who_copies_slowly_is_not(
    database_url: str,
    anybody: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    *,
    goes_on: bool,
) -> None:
    monkeypatch.setattr(leases, "LOCK_SECONDS", 0.2)
    monkeypatch.setattr(leases, "FROZEN_SECONDS", 1)
    monkeypatch.setattr(leases, "STILL_SECONDS", 1)
    await lines.ingest(anybody, [cluster_line(1)])
    fleet = await fleets.find(anybody, FleetName("test"))
    assert fleet is not None
    copying = await connect(database_url, "ledger_decider")
    heir = await connect(database_url, "ledger_decider")

    async def rows() -> AsyncIterator[bytes]:
        while True:
            yield b"1\t"
            await asyncio.sleep(0.1 if goes_on else 60.0)

    async def is_taken_over() -> bool:
        return await leases.acquire(heir, fleet, "decide", holder="heir") is not None

    held = await leases.acquire(copying, fleet, "decide", holder="copying")
    assert held is not None
    await leases.let_go(copying, held)
    await copying.execute("BEGIN")
    await leases.check(copying, held)
    work = asyncio.create_task(
        copying.copy_to_table("divisions", schema_name="ledger", source=rows())
    )
    try:
        if goes_on:
            assert not any([await is_taken_over() for _ in range(4)])
            assert not work.done()
        else:
            await until(is_taken_over)
    finally:
        copying.terminate()
        work.cancel()
        await asyncio.wait({work})
        await heir.close()


@pytest_asyncio.fixture
async def decided(database_url: str, anybody: asyncpg.Connection) -> fleets.Fleet:
    """A fleet of which all is decided, and that nobody decides for."""
    await lines.ingest(anybody, [cluster_line(1), workload_line(1, replicas=2, weights={"c1": 1})])
    await decide_all(database_url)
    fleet = await fleets.find(anybody, FleetName("test"))
    assert fleet is not None
    return fleet


async def test_who_has_nothing_folded_leaves_a_free_lease_to_whoever_has(
    anybody: asyncpg.Connection, decided: fleets.Fleet
) -> None:
    first = await leases.acquire(anybody, decided, "decide", holder="first")
    assert first is not None
    warm = Decider(anybody, decided, holder="warm", pace=UNHURRIED)
    while await warm.turn(ticks=False):
        pass
    await leases.stand_by(anybody, [decided], "decide", holder="warm")
    await leases.let_go(anybody, first)

    cold = Decider(anybody, decided, holder="cold", pace=UNHURRIED)
    assert await cold.turn(ticks=False), "it folds"
    assert not cold.leads

    await lines.ingest(anybody, [workload_line(2, replicas=3, weights={"c1": 1})])
    assert await warm.turn(ticks=False)
    assert warm.leads
    assert warm.progress.decisions == 1


async def test_who_has_folded_everything_takes_the_lease_whoever_else_stands_by(
    anybody: asyncpg.Connection, decided: fleets.Fleet
) -> None:
    # It lives, and asks for nothing.
    await leases.stand_by(anybody, [decided], "decide", holder="idle")

    one = Decider(anybody, decided, holder="one", pace=UNHURRIED)
    assert await one.turn(ticks=False), "it folds"
    assert not await one.turn(ticks=False), "nothing is left to decide"

    assert one.leads


@pytest.mark.parametrize("dead", [False, True])
async def test_who_has_nothing_folded_takes_the_lease_at_once_where_nobody_else_lives(
    anybody: asyncpg.Connection, decided: fleets.Fleet, *, dead: bool
) -> None:
    await leases.stand_by(anybody, [decided], "decide", holder="other" if dead else "one")
    if dead:
        await anybody.execute("UPDATE ledger.standbys SET expires_at = now()")

    one = Decider(anybody, decided, holder="one", pace=UNHURRIED)
    assert await one.turn(ticks=False), "it folds"

    assert one.leads


async def test_since_when_survives_a_renewal_and_not_a_change_of_hands(
    anybody: asyncpg.Connection,
) -> None:
    await lines.ingest(anybody, [cluster_line(1)])
    fleet = await fleets.find(anybody, FleetName("test"))
    assert fleet is not None

    async def since() -> object:
        return await anybody.fetchval("SELECT since FROM ledger_api.leases WHERE NOT standby")

    lease = await leases.acquire(anybody, fleet, "decide", holder="me")
    assert lease is not None
    began = await since()
    await leases.renew(anybody, lease)
    assert await since() == began
    again = await leases.acquire(anybody, fleet, "decide", holder="me")
    assert again is not None
    assert await since() == began
    await leases.let_go(anybody, again)
    assert await since() is None
    assert await leases.acquire(anybody, fleet, "decide", holder="you") is not None
    assert await since() != began


@pytest.mark.usefixtures("everything_logged")
async def test_each_change_of_state_is_one_line_and_each_batch_another(
    anybody: asyncpg.Connection,
) -> None:
    await lines.ingest(anybody, [cluster_line(1), workload_line(1, replicas=2, weights={"c1": 1})])
    fleet = await fleets.find(anybody, FleetName("test"))
    assert fleet is not None
    other = await leases.acquire(anybody, fleet, "decide", holder="other")
    assert other is not None
    activity = Activity()
    one = Decider(anybody, fleet, holder="me", activity=activity, pace=UNHURRIED)

    with capture_logs() as said:
        assert not await one.turn(ticks=False)
        assert not await one.turn(ticks=False)
        assert activity.standing("stands_by") == 1
        await leases.let_go(anybody, other)
        assert await one.turn(ticks=False)
        assert activity.standing("leads") == 1
        await anybody.execute("UPDATE ledger.leases SET epoch = epoch + 1")
        await lines.ingest(anybody, [cluster_line(2)])
        assert not await one.turn(ticks=False)

    told = [(line["event"], line["log_level"], line["fleet"], line["position"]) for line in said]
    assert told == [
        ("standby", "info", "test", -1),
        ("lease_taken", "info", "test", -1),
        ("batch", "debug", "test", 1),
        ("fenced", "info", "test", 1),
    ]
    assert (activity.leases_taken, activity.leases_lost) == (1, 1)
    assert (activity.events, activity.batches, activity.decisions["division"]) == (2, 1, 1)


@pytest.mark.usefixtures("everything_logged")
async def test_who_is_asked_to_stop_says_where(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, [cluster_line(1)])

    with capture_logs() as said:
        await decide_all(database_url)

    assert [line["event"] for line in said] == ["lease_taken", "batch", "stopped"]
    assert (said[-1]["fleet"], said[-1]["position"]) == ("test", 0)


async def test_who_stands_by_for_many_fleets_leaves_no_word_behind(
    anybody: asyncpg.Connection,
) -> None:
    names = [f"f{number}" for number in range(5)]
    await lines.ingest(anybody, [cluster_line(1, fleet=name) for name in names])
    for fleet in await fleets.every(anybody):
        assert await leases.acquire(anybody, fleet, "decide", holder="other") is not None
    deciders = Deciders(anybody, holder="me", only=None, on_decisions=None, activity=Activity())

    assert not await deciders.turn(ticks=False)
    assert await standing(anybody, standby=True) == dict.fromkeys(names, "me")

    await deciders.let_go()
    assert await standing(anybody, standby=True) == {}


async def test_a_refusal_is_open_until_it_is_served_or_wanted_no_more(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    async def open_() -> list[tuple[str, int]]:
        await decider.decide(database_url, holder="tests", until_idle=True, stop=asyncio.Event())
        rows = await anybody.fetch(
            "SELECT subject, number FROM ledger_api.open_refusals ORDER BY subject"
        )
        marked = await anybody.fetch(
            "SELECT subject, number FROM ledger_api.refusals WHERE open ORDER BY subject"
        )
        assert rows == marked
        counted = await anybody.fetchval("SELECT open_refusals FROM ledger_api.fleets")
        assert counted == len(rows)
        return [tuple(row) for row in rows]

    await lines.ingest(
        anybody,
        [
            workload_line(1, replicas=2, name="cart", weights={"c1": 1}),
            workload_line(2, replicas=2, name="till", weights={"c9": 1}),
        ],
    )
    assert await open_() == [("shop/cart", 0), ("shop/till", 1)]

    await lines.ingest(anybody, [cluster_line(1)])
    assert await open_() == [("shop/till", 1)]

    removal = cluster_line(
        9,
        id="removal",
        type="ledger.workload.workload.removed.v1",
        subject="shop/till",
        data={"namespace": "shop", "name": "till"},
    )
    await lines.ingest(anybody, [removal])
    assert await open_() == []
