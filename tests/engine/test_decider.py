"""The decider: who decides, what a crash leaves, and what people see afterwards."""

import asyncio
import json
import signal
import sys
import threading
from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio

from ledger.decisions.step import Step, advance
from ledger.engine import decider
from ledger.engine.activity import Activity
from ledger.engine.decider import Decider, Pace
from ledger.errors import (
    DatabaseMissing,
    LedgerStopped,
    StaleEpoch,
    UndecidedEvent,
    WrongPosition,
)
from ledger.facts import algorithms
from ledger.facts.event import Event
from ledger.log import decisions, fleets, leases, lines
from ledger.log.database import connect, connected
from ledger.log.fleets import Clock, Fleet
from ledger.reducers.world import World
from ledger.replay.replay import replay
from ledger.units import FleetName, Position
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import until
from tests.postgres import Postgres
from tests.restoring import restorable

TEST = FleetName("test")


@pytest_asyncio.fixture
async def anybody(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, None)
    yield connection
    await connection.close()


async def the_fleet(connection: asyncpg.Connection) -> Fleet:
    fleet = await fleets.find(connection, TEST)
    assert fleet is not None
    return fleet


async def nothing_to_show(_connection: asyncpg.Connection) -> None:
    """No decisions, no rows."""


async def test_what_was_decided_is_seen_with_sql(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(
        anybody,
        [
            cluster_line(1),
            cluster_line(2),
            workload_line(1, replicas=5, weights={"c1": 2, "c2": 1}),
            workload_line(2, replicas=6, weights={"c1": 2, "c2": 1}),
            workload_line(3, replicas=6, weights={"c1": 1, "c2": 1}),
        ],
    )

    await decide_all(database_url)

    divided = await anybody.fetch(
        "SELECT number, position, cluster, weight, replicas, floor, residual, previous_replicas"
        "  FROM ledger_api.divisions ORDER BY number, cluster"
    )
    assert [tuple(row) for row in divided] == [
        (0, 2, "c1", 2, 3, 3, False, 0),
        (0, 2, "c2", 1, 2, 1, True, 0),
        (1, 3, "c1", 2, 4, 4, False, 3),
        (1, 3, "c2", 1, 2, 2, False, 2),
        (2, 4, "c1", 1, 3, 3, False, 4),
        (2, 4, "c2", 1, 3, 3, False, 2),
    ]
    placed = await anybody.fetch(
        "SELECT kind, subject, cluster, count, number, since_position FROM ledger_api.placements"
        " ORDER BY cluster"
    )
    assert [tuple(row) for row in placed] == [
        ("division", "shop/cart", "c1", 3, 2, 4),
        ("division", "shop/cart", "c2", 3, 2, 4),
    ]


async def test_a_cluster_that_was_weighed_and_got_nothing_is_a_candidate(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    clusters = [cluster_line(1), cluster_line(2)]
    await lines.ingest(
        anybody, [*clusters, workload_line(1, replicas=1, weights={"c1": 1, "c2": 1})]
    )

    await decide_all(database_url)

    weighed = await anybody.fetch(
        "SELECT c.chosen, c.why_not, v.replicas FROM ledger_api.candidates c"
        "  JOIN ledger_api.divisions v ON (v.number, v.cluster) = (c.number, c.candidate)"
        " WHERE c.number = 0 AND c.stage = 'division' ORDER BY c.chosen"
    )
    assert [tuple(row) for row in weighed] == [(False, "no_share", 0), (True, None, 1)]


async def test_a_place_that_does_not_change_keeps_its_since(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    weights = {"c1": 2, "c2": 1}
    await lines.ingest(
        anybody,
        [
            cluster_line(1),
            cluster_line(2),
            workload_line(1, replicas=5, weights=weights),
            workload_line(2, replicas=6, weights=weights),
        ],
    )

    await decide_all(database_url)

    placed = await anybody.fetch(
        "SELECT cluster, count, since_position FROM ledger_api.placements ORDER BY cluster"
    )
    assert [tuple(row) for row in placed] == [("c1", 4, 3), ("c2", 2, 2)]


async def test_removing_a_workload_ends_its_placements(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    removal = cluster_line(
        9,
        id="removal",
        type="ledger.workload.workload.removed.v1",
        subject="shop/cart",
        data={"namespace": "shop", "name": "cart"},
    )
    await lines.ingest(
        anybody, [cluster_line(1), workload_line(1, replicas=5, weights={"c1": 1}), removal]
    )

    await decide_all(database_url)

    assert await anybody.fetch("SELECT * FROM ledger_api.placements") == []
    assert await anybody.fetchval("SELECT count(*) FROM ledger_api.decisions") == 1


async def test_effects_are_shown_once_decided(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    data = {"name": "c1", "region": "r", "zone": "z"}
    await lines.ingest(
        anybody,
        [
            cluster_line(1, data=data | {"revision": 5}),
            cluster_line(1, id="late", data=data | {"revision": 4}),
            cluster_line(
                2, type="ledger.cluster.cluster.removed.v1", subject="c9", data={"name": "c9"}
            ),
        ],
    )
    before = await anybody.fetch("SELECT effect FROM ledger_api.events ORDER BY position")

    await decide_all(database_url)

    after = await anybody.fetch("SELECT effect FROM ledger_api.events ORDER BY position")
    assert [row["effect"] for row in before] == [None, None, None]
    assert [row["effect"] for row in after] == ["applied", "stale", "no_effect"]


async def test_deciding_again_decides_nothing(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, [cluster_line(1), workload_line(1, replicas=3, weights={"c1": 1})])
    first = await decide_all(database_url)

    again = await decide_all(database_url)

    assert (first.events, first.decisions) == (2, 1)
    assert (again.events, again.decisions) == (0, 0)


async def test_a_restart_goes_on_as_if_nothing_had_happened(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    """Decided in one go and decided event by event with a new process each: equal roots."""
    history = [cluster_line(number) for number in (1, 2, 3)] + [
        workload_line(number, replicas=number % 7, weights={"c1": 3, "c2": 2, "c3": 2})
        for number in range(20)
    ]
    for line in history:
        await lines.ingest(anybody, [line])
        await decide_all(database_url)

    report = await replay(anybody, await the_fleet(anybody))

    assert report.diverged is None
    assert report.decisions > 10


async def test_only_one_holds_the_lease_and_the_other_stands_by(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, [cluster_line(1)])
    fleet = await the_fleet(anybody)

    first = await leases.acquire(anybody, fleet, "decide", holder="first")
    second = await leases.acquire(anybody, fleet, "decide", holder="second")

    assert first is not None
    assert second is None
    standby = Decider(anybody, fleet, holder="second")
    assert not await standby.turn(ticks=False)
    assert not standby.leads


async def test_a_replaced_holder_writes_nothing(anybody: asyncpg.Connection) -> None:
    await lines.ingest(anybody, [cluster_line(1)])
    fleet = await the_fleet(anybody)
    old = await leases.acquire(anybody, fleet, "decide", holder="old")
    assert old is not None
    await leases.let_go(anybody, old)
    new = await leases.acquire(anybody, fleet, "decide", holder="new")
    assert new is not None

    with pytest.raises(StaleEpoch):
        await decisions.write(
            anybody,
            old,
            after=Position(-1),
            through=Position(0),
            decisions=[],
            effects={},
            due_at=None,
            project=nothing_to_show,
        )

    assert await decisions.cursor(anybody, fleet) == (-1, 0)
    with pytest.raises(StaleEpoch):
        await leases.renew(anybody, old)


async def test_a_holder_that_fell_behind_writes_nothing(anybody: asyncpg.Connection) -> None:
    await lines.ingest(anybody, [cluster_line(1), cluster_line(2)])
    fleet = await the_fleet(anybody)
    lease = await leases.acquire(anybody, fleet, "decide", holder="me")
    assert lease is not None

    async def write(after: int, through: int) -> None:
        await decisions.write(
            anybody,
            lease,
            after=Position(after),
            through=Position(through),
            decisions=[],
            effects={},
            due_at=None,
            project=nothing_to_show,
        )

    await write(-1, 0)
    with pytest.raises(WrongPosition):
        await write(-1, 1)
    await write(0, 1)

    assert await decisions.cursor(anybody, fleet) == (1, 0)


async def test_what_is_folded_ahead_of_a_batch_that_cannot_be_written_is_dropped(
    anybody: asyncpg.Connection,
) -> None:
    weights = {"c1": 2, "c2": 1}
    await lines.ingest(
        anybody,
        [cluster_line(1), cluster_line(2)]
        + [workload_line(n, replicas=n, name=f"w{n}", weights=weights) for n in range(40)],
    )
    # As if somebody had taken the lease over in between.
    await anybody.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE 'taken over' USING ERRCODE = 'LG001'; END $$;"
        " CREATE TRIGGER refused BEFORE INSERT ON ledger.decided FOR EACH ROW"
        " WHEN (NEW.through >= 20) EXECUTE FUNCTION refuse()"
    )
    fleet = await the_fleet(anybody)
    one = Decider(anybody, fleet, holder="me", pace=Pace(events=5, turn_seconds=60))

    assert not await one.turn(ticks=False)

    assert not one.leads
    assert (one.through, one.progress.events) == (19, 20)
    assert await decisions.cursor(anybody, fleet) == (19, 18)
    await anybody.execute("DROP TRIGGER refused ON ledger.decided")
    while one.through != 41:
        await one.turn(ticks=False)
    report = await replay(anybody, fleet)
    assert (report.diverged, report.decided_through, report.decisions) == (None, 41, 40)


async def test_an_event_that_takes_its_time_keeps_nothing_open(
    database_url: str, anybody: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came before it is durable meanwhile, and the lease is kept."""
    await lines.ingest(anybody, [cluster_line(1), cluster_line(2), cluster_line(3)])
    fleet = await the_fleet(anybody)
    over = threading.Event()

    def long_on_the_second(world: World, event: Event) -> Step:
        assert event.position != 1 or over.wait(timeout=30)
        return advance(world, event)

    monkeypatch.setattr(decider, "advance", long_on_the_second)
    one = Decider(anybody, fleet, holder="me", pace=Pace(events=1, turn_seconds=60))
    async with connected(database_url, None) as other:
        turning = asyncio.create_task(one.turn(ticks=False))

        async def first_is_durable() -> bool:
            return await decisions.cursor(other, fleet) == (0, 0)

        async def lease_is_renewed() -> bool:
            after: bool = await other.fetchval(
                "SELECT expires_at > $1 FROM ledger.leases", expires_at
            )
            return after

        await until(first_is_durable)
        expires_at = await other.fetchval("SELECT expires_at FROM ledger.leases")
        await until(lease_is_renewed)
        over.set()
        assert await turning

    assert await decisions.cursor(anybody, fleet) == (2, 0)


async def test_what_came_while_a_long_batch_was_folded_is_folded_while_that_one_is_written(
    database_url: str, anybody: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else waited when it began: it was not behind."""
    await lines.ingest(anybody, [cluster_line(1)])
    fleet = await the_fleet(anybody)
    begun, told, over = threading.Event(), threading.Event(), threading.Event()

    def while_others_come(world: World, event: Event) -> Step:
        if event.position == 0:
            begun.set()
            assert told.wait(timeout=30)
        else:
            assert over.wait(timeout=30)
        return advance(world, event)

    monkeypatch.setattr(decider, "advance", while_others_come)
    one = Decider(anybody, fleet, holder="me", pace=Pace(soon_turn_seconds=60))
    async with connected(database_url, None) as other:
        turning = asyncio.create_task(one.turn(ticks=False))
        assert await asyncio.to_thread(begun.wait, 30)
        await lines.ingest(other, [cluster_line(2)])
        await asyncio.sleep(2 * decider.MEANWHILE_SECONDS)
        told.set()

        async def first_is_durable() -> bool:
            return await decisions.cursor(other, fleet) == (0, 0)

        # The second one is not over yet, and was begun in the same turn.
        await until(first_is_durable)
        assert not turning.done()
        over.set()
        assert await turning

    assert await decisions.cursor(anybody, fleet) == (1, 0)


async def test_killed_deciders_lose_and_repeat_nothing(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    """Kill -9 in the middle of the work, again and again; then a replay of what they left."""
    clusters = [cluster_line(number) for number in range(1, 6)]
    weights = {f"c{number}": number for number in range(1, 6)}
    await lines.ingest(
        anybody,
        clusters
        + [
            workload_line(number, replicas=number % 23, name=f"w{number % 50}", weights=weights)
            for number in range(8000)
        ],
    )
    fleet = await the_fleet(anybody)
    for pause in (0.0, 0.01, 0.02, 0.04):
        before, _ = await decisions.cursor(anybody, fleet)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "ledger.cli.main",
            "decide",
            "--quiet",
            "--database-url",
            database_url,
        )
        while (await decisions.cursor(anybody, fleet))[0] == before:
            assert process.returncode is None, "it ended before it had decided anything"
            await asyncio.sleep(0.005)
        await asyncio.sleep(pause)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        await anybody.execute("UPDATE ledger.leases SET expires_at = '-infinity'")
    through, _ = await decisions.cursor(anybody, fleet)
    assert through < 8004, "it was killed in the middle of the work"
    await decide_all(database_url)

    report = await replay(anybody, await the_fleet(anybody))
    assert report.diverged is None
    assert report.decided_through == report.events - 1
    rows = await anybody.fetchrow("SELECT count(*), max(number) + 1 FROM ledger.decisions")
    assert rows is not None
    assert tuple(rows) == (report.decisions, report.decisions)


def with_grace(milliseconds: int) -> list[bytes]:
    """A workload over two clusters, one of which is lost and may come back for so long."""
    lost = {"name": "c1", "region": "r", "zone": "z", "ready": False}
    policy = {"grace": {"cluster_ms": milliseconds}}
    return [
        cluster_line(
            0, type="ledger.policy.policy.changed.v1", subject="test", id="policy", data=policy
        ),
        cluster_line(1),
        cluster_line(2),
        workload_line(1, replicas=4, weights={"c1": 1, "c2": 1}),
        cluster_line(3, subject="c1", id="lost", data=lost, time="2026-01-05T10:00:00Z"),
    ]


@pytest.mark.parametrize("clock", ["wall", "event"])
async def test_until_idle_reaches_a_deadline_at_once(
    database_url: str, anybody: asyncpg.Connection, clock: Clock
) -> None:
    await lines.ingest(anybody, with_grace(3_600_000), clock=clock)

    await decide_all(database_url)

    placed = await anybody.fetch("SELECT cluster, count FROM ledger_api.placements")
    assert [tuple(row) for row in placed] == [("c2", 4)]
    times = await anybody.fetch("SELECT recorded_at_micros FROM ledger.events ORDER BY position")
    lost, ticked = times[-2:]
    assert ticked[0] - lost[0] == 3_600_000_000
    report = await replay(anybody, await the_fleet(anybody))
    assert (report.events, report.diverged) == (6, None)


async def test_a_live_decider_waits_for_the_clock_and_then_ticks(
    anybody: asyncpg.Connection,
) -> None:
    await lines.ingest(anybody, with_grace(300))
    one = Decider(anybody, await the_fleet(anybody), holder="me")
    assert await one.turn(ticks=False)
    assert not await one.turn(ticks=False), "it is too early"

    async def ticked() -> bool:
        return await one.turn(ticks=False)

    await until(ticked)
    assert await one.turn(ticks=False)

    placed = await anybody.fetch("SELECT cluster, count FROM ledger_api.placements")
    assert [tuple(row) for row in placed] == [("c2", 4)]


async def test_a_live_decider_adds_no_time_to_a_fleet_on_the_clock_of_its_events(
    anybody: asyncpg.Connection,
) -> None:
    await lines.ingest(anybody, with_grace(1), clock="event")
    one = Decider(anybody, await the_fleet(anybody), holder="me")
    assert await one.turn(ticks=False)

    assert not await one.turn(ticks=False)

    assert await anybody.fetchval("SELECT count(*) FROM ledger.events") == 5


async def test_a_time_far_ahead_has_all_run_out_that_ran_and_nothing_that_begins_then(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    ahead, later = "2026-11-30T00:00:00Z", "2026-02-01T00:00:00Z"
    await lines.ingest(anybody, with_grace(3_600_000), clock="event")
    back = cluster_line(4, subject="c1", id="back", data={"name": "c1"}, time=ahead)
    again = json.loads(with_grace(0)[-1]) | {"id": "lost again", "time": later}
    one = Decider(anybody, await the_fleet(anybody), holder="me")

    async def decided(*told: bytes) -> list[dict[str, int]]:
        await lines.ingest(anybody, told)
        while await one.turn(ticks=False):
            pass
        rows = await anybody.fetch(
            "SELECT number, cluster, replicas FROM ledger_api.divisions WHERE NOT left_out"
            " ORDER BY number, cluster"
        )
        found: dict[int, dict[str, int]] = {}
        for row in rows:
            found.setdefault(row["number"], {})[row["cluster"]] = row["replicas"]
        return [*found.values()]

    both, without = {"c1": 2, "c2": 2}, {"c2": 4}
    assert await decided() == [both]
    assert await decided(back) == [both, without, both], "the hour was over before it was back"
    assert await decided(json.dumps(again).encode()) == [both, without, both]
    much_later = cluster_line(5, time=ahead)
    assert await decided(much_later) == [both, without, both], "until then no hour passes"

    await one.let_go()
    await decide_all(database_url)
    assert await decided() == [both, without, both, without]


async def test_a_fleet_that_needs_a_person_stops_nobody_else(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    # As if a program that has it had taken it in.
    algorithms.bring("engine", 7)
    newer = cluster_line(
        0,
        type="ledger.policy.policy.changed.v1",
        subject="aaa",
        fleet="aaa",
        id="policy",
        data={"algorithms": {"engine": 7}},
    )
    await lines.ingest(anybody, [newer, cluster_line(1, fleet="aaa"), cluster_line(1, fleet="zzz")])

    with pytest.raises(LedgerStopped, match="engine: version 7"):
        await decide_all(database_url)

    rows = await anybody.fetch("SELECT fleet, undecided FROM ledger_api.fleets ORDER BY fleet")
    assert [tuple(row) for row in rows] == [("aaa", 2), ("zzz", 0)]


async def test_an_event_at_which_the_program_fails_stops_its_fleet_and_nobody_else(
    database_url: str, anybody: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(world: World, event: Event) -> Step:
        assert event.subject != "c3", "a promise of ours is broken"
        return advance(world, event)

    monkeypatch.setattr(decider, "advance", failing)
    for fleet in ("aaa", "zzz"):
        told = [cluster_line(number, fleet=fleet) for number in (1, 2, 3 if fleet == "aaa" else 4)]
        await lines.ingest(anybody, told)

    with pytest.raises(UndecidedEvent, match=r"position 2 .* of c3.*a promise of ours is broken"):
        await decide_all(database_url)

    left = "SELECT fleet, undecided FROM ledger_api.fleets ORDER BY fleet"
    assert [tuple(row) for row in await anybody.fetch(left)] == [("aaa", 1), ("zzz", 0)]
    # A program that can take it goes on.
    monkeypatch.undo()
    await decide_all(database_url)
    assert [tuple(row) for row in await anybody.fetch(left)] == [("aaa", 0), ("zzz", 0)]


@pytest.mark.parametrize("milliseconds", [2**63 - 1, 260_000_000_000_000])
async def test_nobody_waits_for_what_no_calendar_holds(
    database_url: str, anybody: asyncpg.Connection, milliseconds: int
) -> None:
    await lines.ingest(anybody, with_grace(milliseconds), clock="event")

    await decide_all(database_url)

    assert await anybody.fetchval("SELECT count(*) FROM ledger.events") == 5
    due = "SELECT next_deadline FROM ledger_api.fleets"
    assert await anybody.fetchval(due) is None


async def test_until_idle_ends_beside_a_live_decider(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, [cluster_line(1)])
    live = Decider(anybody, await the_fleet(anybody), holder="live")
    assert await live.turn(ticks=False)

    async with asyncio.timeout(10):
        done = await decide_all(database_url)

    assert done.events == 0


async def test_until_idle_reaches_a_deadline_that_a_dead_decider_left(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, with_grace(3_600_000), clock="event")
    dead = Decider(anybody, await the_fleet(anybody), holder="dead")
    assert await dead.turn(ticks=False)
    await anybody.execute(
        "UPDATE ledger.leases SET expires_at = clock_timestamp() + interval '0.5 seconds'"
    )

    await decide_all(database_url)

    assert await anybody.fetchval("SELECT count(*) FROM ledger.events") == 6
    placed = await anybody.fetch("SELECT cluster, count FROM ledger_api.placements")
    assert [tuple(row) for row in placed] == [("c2", 4)]


async def test_until_idle_leaves_deadlines_to_a_live_decider(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, with_grace(3_600_000), clock="event")
    live = Decider(anybody, await the_fleet(anybody), holder="live")
    assert await live.turn(ticks=False)
    ending = asyncio.create_task(decide_all(database_url))

    async with asyncio.timeout(10):
        while not ending.done():
            await asyncio.wait({ending}, timeout=leases.RENEW_SECONDS)
            assert not await live.turn(ticks=False)

    assert (await ending).events == 0
    assert await anybody.fetchval("SELECT count(*) FROM ledger.events") == 5


async def test_a_database_that_goes_away_is_waited_for(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, [cluster_line(1)])
    stop = asyncio.Event()
    deciding = asyncio.create_task(
        decider.decide(database_url, holder="me", until_idle=False, stop=stop)
    )

    async def decided(through: int) -> bool:
        return (await decisions.cursor(anybody, await the_fleet(anybody)))[0] == through

    await until(lambda: decided(0))

    await anybody.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await lines.ingest(anybody, [cluster_line(2)])

    await until(lambda: decided(1))
    stop.set()
    await deciding


async def test_a_database_that_is_put_back_under_its_name_is_waited_for(postgres: Postgres) -> None:
    async with restorable(postgres) as database:
        stop, activity = asyncio.Event(), Activity()
        async with connected(database.url, "ledger_writer") as writer:
            await lines.ingest(writer, [cluster_line(1)])
        deciding = asyncio.create_task(
            decider.decide(
                database.url, holder="me", until_idle=False, stop=stop, activity=activity
            )
        )

        async def decided(through: int) -> bool:
            async with connected(database.url, None) as looking:
                fleet = await the_fleet(looking)
                return (await decisions.cursor(looking, fleet))[0] == through

        async def missed() -> bool:
            return activity.log_lost > 0

        await until(lambda: decided(0))
        backup = await database.back_up()
        await database.drop_only()
        activity.log_lost = 0
        await until(missed)
        await database.restore(backup)
        async with connected(database.url, "ledger_writer") as writer:
            await lines.ingest(writer, [cluster_line(2)])

        await until(lambda: decided(1))
        stop.set()
        await deciding


async def test_a_database_that_never_was_there_is_told(postgres: Postgres) -> None:
    async with restorable(postgres) as database:
        await database.drop_only()

        with pytest.raises(DatabaseMissing, match="does not exist"):
            await decider.decide(database.url, holder="me", until_idle=False, stop=asyncio.Event())
