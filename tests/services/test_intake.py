"""What becomes of a batch: appended, duplicate, conflicting, quarantined, and nothing else."""

import asyncio
import io
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from hashlib import sha256

import asyncpg
import pytest
import pytest_asyncio

from ledger.engine import decider
from ledger.errors import InvalidEvent, LogUnavailable, SetupProblem
from ledger.events.codec import Accepted, accept_line
from ledger.events.moments import microseconds
from ledger.log import fleets, lines, merkle, quarantine, read
from ledger.log.append import append
from ledger.log.database import Role, connect, connected, refusals_named
from ledger.log.intake import open_fleet
from ledger.log.leaf import stored_leaf
from ledger.log.messages import Coordinates, Message
from ledger.log.trees import recorded_root
from ledger.units import LEDGER_FLEET, FleetName, Position
from tests.events_for_tests import cluster_line
from tests.feeding import until

TEST = FleetName("test")


@pytest_asyncio.fixture
async def writer(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, "ledger_writer")
    yield connection
    await connection.close()


async def events(writer: asyncpg.Connection, name: FleetName = TEST) -> list[read.StoredEvent]:
    fleet = await fleets.find(writer, name)
    assert fleet is not None
    return [event async for page in read.pages(writer, fleet, first=Position(0)) for event in page]


async def root_from_rows(writer: asyncpg.Connection, name: FleetName) -> tuple[int, bytes]:
    stored = await events(writer, name)
    return len(stored), merkle.root([stored_leaf(name, event) for event in stored])


async def test_a_file_read_twice_is_in_the_log_once(writer: asyncpg.Connection) -> None:
    file = [cluster_line(number) for number in range(50)]

    first = await lines.ingest(writer, file)
    again = await lines.ingest(writer, [*file, cluster_line(50)])

    assert (first.appended, first.duplicates) == (50, 0)
    assert (again.appended, again.duplicates) == (1, 50)
    assert [event.position for event in await events(writer)] == list(range(51))


async def test_a_duplicate_inside_one_batch_is_counted_and_left_out(
    writer: asyncpg.Connection,
) -> None:
    taken = await lines.ingest(writer, [cluster_line(1), cluster_line(2), cluster_line(1)])

    assert (taken.appended, taken.duplicates, taken.quarantined) == (2, 1, 0)


async def test_the_same_identity_with_other_content_is_a_conflict(
    writer: asyncpg.Connection,
) -> None:
    await lines.ingest(writer, [cluster_line(1)])
    other = cluster_line(1, data={"name": "c1", "region": "elsewhere", "zone": "z"})

    taken = await lines.ingest(writer, [other])

    assert (taken.appended, taken.conflicts, taken.quarantined) == (0, 1, 1)
    row = await writer.fetchrow("SELECT reason, detail, value FROM ledger_api.quarantine")
    assert row is not None
    assert row["reason"] == "identity_conflict"
    assert "position 0" in row["detail"]
    assert row["value"] == other


async def test_the_same_content_in_another_spelling_is_a_duplicate(
    writer: asyncpg.Connection,
) -> None:
    plain = json.loads(cluster_line(1))

    taken = await lines.ingest(
        writer,
        [json.dumps(plain).encode(), json.dumps(dict(reversed(plain.items())), indent=1).encode()],
    )

    assert (taken.appended, taken.duplicates) == (1, 1)


async def test_a_bad_line_is_kept_whole_and_stops_nothing(writer: asyncpg.Connection) -> None:
    bad = b'{"specversion": "1.0", "id": '

    taken = await lines.ingest(writer, [cluster_line(1), bad, cluster_line(2)])

    assert (taken.appended, taken.quarantined) == (2, 1)
    row = await writer.fetchrow("SELECT address, reason, value FROM ledger_api.quarantine")
    assert row is not None
    assert (row["address"], row["reason"], row["value"]) == ("file@2", "not_json", bad)


async def test_a_line_without_end_is_set_aside_by_its_head_and_stops_nothing(
    writer: asyncpg.Connection,
) -> None:
    endless = b'{"id": "' + b"x" * (4 * lines.LONGEST_LINE)
    file = b"\n".join([cluster_line(1), endless, cluster_line(2)])

    taken = await lines.ingest(writer, lines.AtHand(io.BytesIO(file)), fleet=TEST)

    assert (taken.appended, taken.quarantined) == (2, 1)
    row = await writer.fetchrow(
        "SELECT address, reason, detail, fleet, value FROM ledger_api.quarantine"
    )
    assert row is not None
    assert (row["address"], row["reason"], row["fleet"]) == ("file@2", "too_large", TEST)
    assert row["value"] == endless[: lines.LONGEST_LINE]
    assert f"{len(endless)} bytes" in row["detail"]
    assert sha256(endless).hexdigest() in row["detail"]


async def test_the_head_of_a_line_without_end_cannot_be_let_in(writer: asyncpg.Connection) -> None:
    event = cluster_line(1)
    padded = event + b" " * (2 * lines.LONGEST_LINE) + b"junk"
    await lines.ingest(writer, lines.AtHand(io.BytesIO(padded)))
    position = await writer.fetchval("SELECT position FROM ledger_api.quarantine")

    with pytest.raises(InvalidEvent, match="too_large"):
        await quarantine.release(writer, position, families=lines.FAMILIES, by="tests", why="tests")


async def test_an_ingest_goes_when_asked_in_the_middle_of_a_line_without_end(
    writer: asyncpg.Connection,
) -> None:
    reading, writing = os.pipe()
    stop = asyncio.Event()

    def pour() -> None:
        with suppress(BrokenPipeError):
            os.write(writing, cluster_line(1) + b"\n")
            while True:
                os.write(writing, bytes(lines.CHUNK))

    pouring = asyncio.create_task(asyncio.to_thread(pour))
    taken = await lines.ingest(
        writer, lines.Arriving(reading), on_batch=lambda _: stop.set(), stop=stop
    )
    os.close(reading)
    await pouring
    os.close(writing)

    assert taken.appended == 1


async def test_a_bad_line_met_again_is_one_row_in_quarantine(writer: asyncpg.Connection) -> None:
    for _ in range(3):
        await lines.ingest(writer, [b"{"])

    assert await writer.fetchval("SELECT count(*) FROM ledger_api.quarantine") == 1
    assert len(await events(writer, LEDGER_FLEET)) == 1


async def test_the_head_is_the_root_over_the_rows_in_every_fleet(
    writer: asyncpg.Connection,
) -> None:
    batch = [cluster_line(n, fleet=f"fleet-{n % 3}") for n in range(700)] + [b"{"] * 2

    await lines.ingest(writer, batch, batch=64)

    for name in ("fleet-0", "fleet-1", "fleet-2", LEDGER_FLEET):
        fleet = await fleets.find(writer, FleetName(name))
        assert fleet is not None
        recorded = await recorded_root(writer, fleet.number, "events")
        assert recorded == await root_from_rows(writer, fleet.name)


async def test_tile_hashes_are_written_as_subtrees_fill(writer: asyncpg.Connection) -> None:
    await lines.ingest(writer, [cluster_line(n) for n in range(600)], batch=97)

    rows = await writer.fetch(
        "SELECT level, number, hash FROM ledger.tile_hashes ORDER BY level, number"
    )

    leaves = [event.leaf for event in await events(writer)]
    assert [(row["level"], row["number"], row["hash"]) for row in rows] == [
        (1, 0, merkle.root(leaves[:256])),
        (1, 1, merkle.root(leaves[256:512])),
    ]


async def test_recorded_time_never_runs_backwards(writer: asyncpg.Connection) -> None:
    late_first = [cluster_line(n) for n in (30, 10, 20)]

    await lines.ingest(writer, late_first, clock="event")

    recorded = [event.recorded_at_micros for event in await events(writer)]
    assert recorded == sorted(recorded)
    assert len(set(recorded)) == 1, "both later ones are held at the first one's time"


@pytest.mark.parametrize("batch", [1, 7, 1000])
async def test_batches_do_not_show_in_the_event_root(
    writer: asyncpg.Connection, batch: int
) -> None:
    file = [cluster_line(number) for number in range(100)]

    await lines.ingest(writer, file, clock="event", batch=batch)

    fleet = await fleets.find(writer, TEST)
    assert fleet is not None
    _, root = await recorded_root(writer, fleet.number, "events")
    assert root.hex() == "a3d0a49b5736083d6743bf6ec66e29acd59f36c98c89286899374c298add42b3"


async def test_an_event_without_time_cannot_enter_a_fleet_on_the_event_clock(
    writer: asyncpg.Connection,
) -> None:
    taken = await lines.ingest(writer, [cluster_line(1), cluster_line(2, time=None)], clock="event")

    assert (taken.appended, taken.quarantined) == (1, 1)
    assert await writer.fetchval("SELECT reason FROM ledger_api.quarantine") == "time_required"


def told_at(*moments: str) -> list[bytes]:
    """An event of each time."""
    return [cluster_line(number, time=time) for number, time in enumerate(moments)]


@pytest.mark.parametrize("batch", [1, 1000])
async def test_an_event_that_lies_absurdly_far_ahead_does_not_carry_time_with_it(
    writer: asyncpg.Connection, batch: int
) -> None:
    usual, sentinel, later = "2026-01-05T08:00:00Z", "9999-12-31T23:59:59Z", "2026-01-05T08:00:01Z"

    taken = await lines.ingest(writer, told_at(usual, sentinel, later), clock="event", batch=batch)

    assert (taken.appended, taken.quarantined) == (2, 1)
    assert [event.recorded_at_micros for event in await events(writer)] == [
        microseconds(usual),
        microseconds(later),
    ]
    row = await writer.fetchrow("SELECT reason, id FROM ledger_api.quarantine")
    assert row is not None
    assert tuple(row) == ("time_too_far_ahead", "cluster-1")


@pytest.mark.parametrize(
    "moments",
    [
        # From long ago, with a pause, to the present.
        ("1970-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "2026-01-05T08:00:00Z"),
        # Of the future from its first event on.
        ("2931-01-01T00:00:00Z", "2931-12-31T00:00:00Z", "2932-12-30T00:00:00Z"),
    ],
)
async def test_histories_of_the_past_and_of_the_future_are_taken_whole(
    writer: asyncpg.Connection, moments: tuple[str, ...]
) -> None:
    taken = await lines.ingest(writer, told_at(*moments), clock="event")

    assert taken.quarantined == 0
    recorded = [event.recorded_at_micros for event in await events(writer)]
    assert recorded == [microseconds(moment) for moment in moments]


async def test_the_time_of_an_event_may_be_any_where_the_server_s_clock_counts(
    writer: asyncpg.Connection,
) -> None:
    taken = await lines.ingest(writer, told_at("2026-01-05T08:00:00Z", "9999-12-31T23:59:59Z"))

    assert (taken.appended, taken.quarantined) == (2, 0)
    assert all(
        event.recorded_at_micros < microseconds("9000-01-01T00:00:00Z")
        for event in await events(writer)
    )


async def test_the_clock_of_a_fleet_cannot_be_changed(writer: asyncpg.Connection) -> None:
    await lines.ingest(writer, [cluster_line(1)])

    with pytest.raises(SetupProblem, match="wall clock"):
        await lines.ingest(writer, [cluster_line(2)], clock="event")

    assert len(await events(writer)) == 1


async def test_an_unknown_fleet_is_quarantined_where_fleets_are_not_made_on_sight(
    writer: asyncpg.Connection,
) -> None:
    await open_fleet(writer, TEST, clock="wall")

    taken = await lines.ingest(
        writer, [cluster_line(1), cluster_line(2, fleet="stranger")], create_fleets=False
    )

    assert (taken.appended, taken.quarantined) == (1, 1)
    assert await writer.fetchval("SELECT reason FROM ledger_api.quarantine") == "unknown_fleet"


async def test_a_bound_source_speaks_for_its_fleet_only(writer: asyncpg.Connection) -> None:
    await writer.execute("INSERT INTO ledger.source_bindings VALUES ('/tests', 'test')")

    taken = await lines.ingest(
        writer,
        [
            cluster_line(1),
            cluster_line(2, fleet="other"),
            cluster_line(3, fleet="other", source="/free"),
        ],
    )

    assert (taken.appended, taken.quarantined) == (2, 1)
    assert await writer.fetchval("SELECT reason FROM ledger_api.quarantine") == "source_not_bound"


def policy(number: int, **data: object) -> bytes:
    return cluster_line(
        number,
        type="ledger.policy.policy.changed.v1",
        subject="test",
        id=f"policy-{number}",
        data=data,
    )


async def test_the_salt_of_the_first_event_is_the_fleets(writer: asyncpg.Connection) -> None:
    await lines.ingest(writer, [policy(1, salt="pepper"), cluster_line(1)])

    fleet = await fleets.find(writer, TEST)
    assert fleet is not None
    genesis = await fleets.read_genesis(writer, fleet)
    assert genesis is not None
    assert genesis.salt == "pepper"


async def test_a_later_salt_is_quarantined(writer: asyncpg.Connection) -> None:
    taken = await lines.ingest(writer, [cluster_line(1), policy(1, salt="pepper")])

    assert (taken.appended, taken.quarantined) == (1, 1)
    assert await writer.fetchval("SELECT reason FROM ledger_api.quarantine") == "salt_not_first"


@pytest.mark.parametrize("batch", [1, 1000])
async def test_an_event_that_is_set_aside_carries_no_time_with_it(
    writer: asyncpg.Connection, batch: int
) -> None:
    first, aside, later = "2026-01-05T08:00:00Z", "2026-03-01T00:00:00Z", "2026-01-05T08:00:01Z"
    salted = json.loads(policy(1, salt="pepper")) | {"time": aside}
    file = [cluster_line(0, time=first), json.dumps(salted).encode(), cluster_line(2, time=later)]

    taken = await lines.ingest(writer, file, clock="event", batch=batch)

    assert (taken.appended, taken.quarantined) == (2, 1)
    assert [event.recorded_at_micros for event in await events(writer)] == [
        microseconds(first),
        microseconds(later),
    ]


async def test_a_fleets_name_is_its_salt_unless_it_says_otherwise(
    writer: asyncpg.Connection,
) -> None:
    await lines.ingest(writer, [cluster_line(1)])

    fleet = await fleets.find(writer, TEST)
    assert fleet is not None
    genesis = await fleets.read_genesis(writer, fleet)
    assert genesis is not None
    assert genesis.salt == "test"


@pytest.mark.parametrize("name", [FleetName("alpha"), LEDGER_FLEET])
async def test_all_who_open_a_fleet_at_the_same_moment_find_one(
    writer: asyncpg.Connection, database_url: str, name: FleetName
) -> None:
    async with AsyncExitStack() as closing:
        others = [
            await closing.enter_async_context(connected(database_url, "ledger_writer"))
            for _ in range(6)
        ]
        await writer.execute("SELECT pg_advisory_lock(0)")

        async def open_it(connection: asyncpg.Connection) -> fleets.Fleet:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock_shared(0)")
                return await fleets.open_(connection, name, clock="wall")

        async with asyncio.TaskGroup() as tasks:
            opening = [tasks.create_task(open_it(other)) for other in others]
            await until(lambda: _all_wait(writer, others))
            await writer.execute("SELECT pg_advisory_unlock(0)")

    assert len({task.result() for task in opening}) == 1


async def _all_wait(looking: asyncpg.Connection, others: list[asyncpg.Connection]) -> bool:
    waiting = await looking.fetchval(
        "SELECT count(*) FROM pg_locks"
        " WHERE locktype = 'advisory' AND NOT granted AND pid = ANY($1)",
        [other.get_server_pid() for other in others],
    )
    return bool(waiting == len(others))


@pytest_asyncio.fixture
async def owner(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    async with connected(database_url, None) as connection:
        yield connection


async def set_for_logins(owner: asyncpg.Connection, name: str, value: str) -> None:
    """Change what sessions of this database begin with, as whoever runs a server may."""
    await owner.execute(
        "DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I"
        f" SET {name} = %L', session_user, current_database(), '{value}'); END $$"
    )


async def append_one(connection: asyncpg.Connection, fleet: fleets.Fleet, number: int) -> None:
    line = cluster_line(number)
    verdict = accept_line(line, families=lines.FAMILIES)
    assert isinstance(verdict, Accepted)
    message = Message(Coordinates("file", None, None, number), verdict, None, line)
    await append(connection, fleet, [(message, verdict)], ask_first=True)


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
async def test_who_waited_for_a_fleet_sees_what_was_appended_whatever_the_login_is_set_to(
    database_url: str, owner: asyncpg.Connection, isolation: str
) -> None:
    await set_for_logins(owner, "default_transaction_isolation", isolation)
    async with (
        connected(database_url, "ledger_writer") as first,
        connected(database_url, "ledger_writer") as second,
    ):
        fleet = await open_fleet(first, TEST, clock="wall")

        async def follow() -> None:
            async with second.transaction():
                await append_one(second, fleet, 2)

        async def waits() -> bool:
            found: bool = await owner.fetchval(
                "SELECT wait_event_type IS NOT DISTINCT FROM 'Lock' FROM pg_stat_activity"
                " WHERE pid = $1",
                second.get_server_pid(),
            )
            return found

        async with asyncio.TaskGroup() as tasks, first.transaction():
            await append_one(first, fleet, 1)
            tasks.create_task(follow())
            await until(waits)

        assert [event.id for event in await events(first)] == ["cluster-1", "cluster-2"]


@pytest.mark.parametrize(
    ("login", "ours"),
    [
        ("off", "on"),
        ("local", "on"),
        ("on", "on"),
        ("remote_write", "remote_write"),
        ("remote_apply", "remote_apply"),
    ],
)
async def test_a_commit_of_ours_waits_for_the_disk_whatever_the_login_is_set_to(
    database_url: str, owner: asyncpg.Connection, login: str, ours: str
) -> None:
    await set_for_logins(owner, "synchronous_commit", login)

    async def set_to(role: Role | None) -> str:
        async with connected(database_url, role) as connection:
            found: str = await connection.fetchval("SHOW synchronous_commit")
            return found

    for role in ("ledger_writer", "ledger_decider", "ledger_publisher", None):
        assert await set_to(role) == ours
    assert await set_to("ledger_reader") == login


async def test_a_server_that_may_only_be_read_is_waited_for(
    database_url: str, owner: asyncpg.Connection
) -> None:
    await lines.ingest(owner, [cluster_line(1)])
    await set_for_logins(owner, "default_transaction_read_only", "on")
    async with connected(database_url, "ledger_writer") as late:
        with pytest.raises(LogUnavailable, match="read-only"):
            await lines.ingest(late, [cluster_line(2)])

    async def decided() -> bool:
        return bool(await owner.fetchval("SELECT count(*) FROM ledger.decided"))

    stop = asyncio.Event()
    deciding = asyncio.create_task(
        decider.decide(database_url, holder="tests", until_idle=False, stop=stop)
    )
    try:
        await asyncio.wait([deciding], timeout=0.5)
        assert not deciding.done()
        assert not await decided()

        await set_for_logins(owner, "default_transaction_read_only", "off")
        await until(decided)
    finally:
        stop.set()
        await deciding


async def test_a_migration_under_a_running_process_is_a_log_to_connect_to_anew(
    database_url: str, owner: asyncpg.Connection
) -> None:
    async with connected(database_url, None) as running:
        await owner.execute("CREATE TABLE ledger.thing AS SELECT 1 AS one")
        await running.fetch("SELECT * FROM ledger.thing")
        await owner.execute("ALTER TABLE ledger.thing ADD COLUMN two int")

        with pytest.raises(LogUnavailable, match="cached"), refusals_named():
            async with running.transaction():
                await running.fetch("SELECT * FROM ledger.thing")
