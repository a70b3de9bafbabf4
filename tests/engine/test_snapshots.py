"""Snapshots: who writes them, which are believed, and that they change nothing but the time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count, pairwise
from random import Random

import asyncpg
import pytest
import pytest_asyncio
import structlog
from structlog.testing import capture_logs

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.decisions.step import advance
from ledger.engine import decider, following
from ledger.engine.activity import Activity
from ledger.engine.decider import Decider, Pace
from ledger.engine.following import Following
from ledger.engine.restoring import own_layout
from ledger.engine.snapshots import Interval, Snapshots
from ledger.errors import LedgerStopped
from ledger.facts.decision import record
from ledger.log import decisions, fleets, leases, lines, merkle, snapshots, trees
from ledger.log.database import connect
from ledger.log.fleets import Fleet
from ledger.log.snapshots import KEPT, Described, Layout
from ledger.reducers import snapshot
from ledger.replay.replay import replay
from ledger.units import DecisionNumber, FleetName, Incarnation, Position
from tests import simulated
from tests.engine.deciding import UNHURRIED
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import until

OFTEN = Interval(events=50, seconds=0)
DEMO = FleetName("demo")


@pytest.fixture
def everything_logged() -> None:
    structlog.reset_defaults()


@pytest_asyncio.fixture
async def anybody(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(database_url, None)
    yield connection
    await connection.close()


def history(count: int) -> list[bytes]:
    simulation = Simulation(5, fleet=DEMO, sizes=Sizes(clusters=4, nodes=2, workloads=12))
    return list(simulation.events(count))


async def the_fleet(connection: asyncpg.Connection) -> Fleet:
    (fleet,) = await fleets.every(connection)
    return fleet


async def decided(
    url: str, *, every: Interval | None = OFTEN, activity: Activity | None = None
) -> Activity:
    """Decide everything, in a process of its own as far as memory goes."""
    activity = Activity() if activity is None else activity
    await decider.decide(
        url,
        holder="tests",
        until_idle=True,
        stop=asyncio.Event(),
        activity=activity,
        snapshots=every,
        pace=UNHURRIED,
    )
    return activity


async def taken_in_and_decided(
    url: str, connection: asyncpg.Connection, events: Sequence[bytes], *, at_once: int
) -> None:
    for first in range(0, len(events), at_once):
        await lines.ingest(connection, events[first : first + at_once], clock="event")
        await decided(url)


async def positions(connection: asyncpg.Connection, *, kept: bool = True) -> list[int]:
    rows = await connection.fetch(
        "SELECT position FROM ledger_api.snapshots WHERE kept OR NOT $1 ORDER BY position", kept
    )
    return [row["position"] for row in rows]


async def world_digest(connection: asyncpg.Connection, *, from_snapshots: bool) -> str:
    """Of the World as of the cursor, begun with a snapshot or with nothing."""

    async def nothing() -> None:
        """Nobody else to look after."""

    folding = Following(
        connection,
        await the_fleet(connection),
        from_snapshots=from_snapshots,
        meanwhile=nothing,
        activity=Activity(),
    )
    while await folding.step():
        pass
    assert folding.world is not None
    return snapshot.digest(folding.world)


async def test_snapshots_are_written_while_it_decides_and_their_rows_stay(
    database_url: str, anybody: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SPREAD", 1)
    await taken_in_and_decided(database_url, anybody, history(400), at_once=60)

    written = await positions(anybody, kept=False)
    assert len(written) >= 5
    assert await positions(anybody) == [written[0], *written[-KEPT:]]
    rows = await anybody.fetch("SELECT * FROM ledger_api.snapshots ORDER BY position")
    for row in rows:
        assert (row["fleet"], row["written_by"], row["incarnation"]) == (DEMO, "tests", 1)
        assert row["stored_bytes"] < row["bytes"]
        fleet = await the_fleet(anybody)
        size = row["position"] + 1
        root = await trees.root_at(anybody, fleet.number, "events", size=size)
        assert root.hex() == row["event_root"]


async def test_old_snapshots_are_kept_spread_over_the_log(
    anybody: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that segments of a replay begin all over it, however long it has become."""
    monkeypatch.setattr(snapshots, "SPREAD", 8)
    fleet = await fleets.open_(anybody, DEMO, clock="event")
    told = Described(
        incarnation=Incarnation(1),
        through=Position(0),
        decisions=DecisionNumber(0),
        layout=Layout(1, 1, bytes(32)),
        digest=bytes(32),
        event_root=bytes(32),
        decision_root=bytes(32),
        bytes=1,
    )
    kept: list[int] = []
    for through in range(9, 1000, 10):
        said = replace(told, through=Position(through))
        await snapshots.write(anybody, fleet, said, [b"x"], stored_bytes=1, holder="tests")
        kept = await positions(anybody)
        gaps = [later - earlier for earlier, later in pairwise([-1, *kept])]
        assert kept[-KEPT:] == list(range(9, through + 1, 10))[-KEPT:]
        assert len(kept) <= 8 + KEPT
        assert max(gaps) <= max(20, (through + 1) * 2 // 4), "no stretch has none"
    assert [at for at in kept if at < 970] == [9, 129, 259, 389, 519, 649, 769, 899]


async def test_a_restart_folds_what_is_behind_the_newest_snapshot_and_nothing_else(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await taken_in_and_decided(database_url, anybody, history(300), at_once=100)
    (*_, newest) = await positions(anybody)
    # Whoever folded from the beginning would stumble over it.
    async with anybody.transaction():
        await anybody.execute("SET LOCAL session_replication_role = replica")
        await anybody.execute("DELETE FROM ledger.events WHERE position < $1", newest)

    await lines.ingest(anybody, history(320)[300:], clock="event")
    activity = await decided(database_url)

    assert (activity.events, activity.snapshots.read, activity.snapshots.ignored) == (20, 1, 0)


async def test_whoever_folds_gets_the_same_world(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await taken_in_and_decided(database_url, anybody, history(250), at_once=70)

    from_snapshot = await world_digest(anybody, from_snapshots=True)

    assert from_snapshot == await world_digest(anybody, from_snapshots=False)
    assert (await replay(anybody, await the_fleet(anybody))).diverged is None


def decided_purely(count: int) -> bytes:
    """The root over what follows from the history, without a log, a lease or a batch."""
    world, leaves = simulated.beginning(), list[bytes]()
    for one in simulated.read(history(count)):
        step = advance(world, one)
        world = step.world
        leaves += [merkle.leaf_hash(record(made)) for made in step.decisions]
    return merkle.root(leaves)


@pytest.mark.parametrize(("batch", "every"), [(1, 40), (7, None), (7, 15), (1000, 200)])
async def test_decisions_depend_on_no_batch_restart_or_snapshot(
    database_url: str, anybody: asyncpg.Connection, batch: int, every: int | None
) -> None:
    events = history(400)
    luck = Random(batch)
    holders = count(1)
    read = 0
    for first in range(0, len(events), 130):
        await lines.ingest(anybody, events[first : first + 130], clock="event")
        busy = True
        while busy:
            activity = Activity()
            holder = f"decider {next(holders)}"
            writing = None
            if every is not None:
                writing = Snapshots(database_url, holder, Interval(every, 0), activity)
            one = Decider(
                anybody,
                await the_fleet(anybody),
                holder=holder,
                snapshots=writing,
                activity=activity,
                # One transaction a turn; or many, each folded while the one before it is written.
                pace=Pace(events=batch, turn_seconds=luck.choice((0.0, 0.02))),
            )
            left = luck.randint(1, 60)
            while left and (busy := await one.turn(ticks=False)):
                left -= 1
            if writing is not None:
                await writing.finish()
            await one.let_go()
            read += activity.snapshots.read

    fleet = await the_fleet(anybody)
    assert (await decisions.cursor(anybody, fleet))[0] == 399
    _, root = await trees.recorded_root(anybody, fleet.number, "decisions")
    assert root == decided_purely(400)
    assert (read > 1) == (every is not None)


async def damaged(connection: asyncpg.Connection, what: str) -> str:
    """Damage every snapshot in some way; what is said of it then."""
    match what:
        case "a byte":
            await connection.execute(
                "UPDATE ledger.snapshot_parts"
                " SET content = set_byte(content, 100, (get_byte(content, 100) + 1) % 256)"
            )
            return ""
        case "other bytes":
            content = snapshots.compressed(b"[]\n")
            await connection.execute("UPDATE ledger.snapshot_parts SET content = $1", content)
            return "it begins with b'[]"
        case "a part less":
            await connection.execute(
                "UPDATE ledger.snapshot_parts SET part = part + 1 WHERE part > 0"
            )
            rows = await connection.fetch("SELECT snapshot, content FROM ledger.snapshot_parts")
            for number, content in rows:
                short = b"".join(snapshots.decompressed(content).splitlines(keepends=True)[:9])
                await connection.execute(
                    "UPDATE ledger.snapshot_parts SET content = $2 WHERE snapshot = $1",
                    number,
                    snapshots.compressed(short),
                )
            return "it ends too early"
        case "digest":
            await connection.execute("UPDATE ledger.snapshots SET digest = sha256(digest)")
            return "its digest is "
        case "event root":
            await connection.execute("UPDATE ledger.snapshots SET event_root = sha256(event_root)")
            return "its roots are not those of the log"
        case "decision root":
            await connection.execute(
                "UPDATE ledger.snapshots SET decision_root = sha256(decision_root)"
            )
            return "its roots are not those of the log"
        case "engine":
            await connection.execute("UPDATE ledger.snapshots SET engine = engine + 1")
            return "its layout is 2/"
        case "layout":
            await connection.execute("UPDATE ledger.snapshots SET layout = layout - 1")
            return "its layout is 1/0/"
        case "types":
            await connection.execute("UPDATE ledger.snapshots SET types = sha256(types)")
            return "its layout is 1/1/"
        case "incarnation":
            await connection.execute("UPDATE ledger.snapshots SET incarnation = incarnation + 1")
            return "it is of incarnation 2, the log's is 1"
        case "future":
            await connection.execute("UPDATE ledger.snapshots SET through = through + 100000")
            return "decisions through 100"
        case _:
            raise AssertionError(what)


@pytest.mark.usefixtures("everything_logged")
@pytest.mark.parametrize(
    "what",
    [
        "a byte",
        "other bytes",
        "a part less",
        "digest",
        "event root",
        "decision root",
        "engine",
        "layout",
        "types",
        "incarnation",
        "future",
    ],
)
async def test_a_snapshot_that_does_not_fit_is_ignored_and_said(
    database_url: str, anybody: asyncpg.Connection, what: str
) -> None:
    await taken_in_and_decided(database_url, anybody, history(120), at_once=60)
    there = len(await positions(anybody))
    assert there >= 1
    why = await damaged(anybody, what)
    await lines.ingest(anybody, history(140)[120:], clock="event")

    with capture_logs() as said:
        activity = await decided(database_url, every=replace(OFTEN, events=10**9))

    ignored = [line for line in said if line["event"] == "snapshot_ignored"]
    assert len(ignored) == there
    for line in ignored:
        assert line["log_level"] == "warning"
        assert why in line["why"]
    assert (activity.snapshots.ignored, activity.snapshots.read) == (there, 0)
    report = await replay(anybody, await the_fleet(anybody))
    assert (report.diverged, report.decided_through) == (None, 139)


@pytest.mark.usefixtures("everything_logged")
@pytest.mark.parametrize("spoilt", ["digest = sha256(digest)", "layout = layout + 1"])
async def test_behind_one_that_is_damaged_or_of_another_layout_the_one_before_is_taken(
    database_url: str, anybody: asyncpg.Connection, spoilt: str
) -> None:
    await taken_in_and_decided(database_url, anybody, history(200), at_once=60)
    (*_, before, newest) = await positions(anybody)
    await anybody.execute(f"UPDATE ledger.snapshots SET {spoilt} WHERE through = $1", newest)

    with capture_logs() as said:
        await decided(database_url)

    told = [(line["event"], line["position"]) for line in said if "snapshot" in line["event"]]
    # One of its own layout may be written in its place.
    assert told[:2] == [("snapshot_ignored", newest), ("snapshot_read", before)]


@pytest.mark.usefixtures("everything_logged")
async def test_snapshots_of_a_world_that_never_was_mislead_nobody(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    """With a digest and roots that fit, only counting the decisions tells."""
    await taken_in_and_decided(database_url, anybody, history(120), at_once=60)
    fleet = await the_fleet(anybody)
    (newest, *_) = await snapshots.newest(anybody, fleet)
    raw = b"".join([line async for found in snapshots.lines(anybody, newest) for line in found])
    said = newest.described
    changed = raw.replace(b"\n%d\n" % said.decisions, b"\n%d\n" % (said.decisions - 1), 1)
    assert changed != raw
    root = await trees.root_at(anybody, fleet.number, "decisions", size=said.decisions - 1)
    await anybody.execute(
        "UPDATE ledger.snapshots SET decisions = $2, digest = $3, decision_root = $4"
        " WHERE number = $1",
        newest.number,
        said.decisions - 1,
        sha256(changed).digest(),
        root,
    )
    await anybody.execute(
        "UPDATE ledger.snapshot_parts SET content = $2 WHERE snapshot = $1",
        newest.number,
        snapshots.compressed(changed),
    )
    await lines.ingest(anybody, history(140)[120:], clock="event")

    with capture_logs() as logged:
        await decided(database_url)

    events = [line["event"] for line in logged]
    assert events[:3] == ["lease_taken", "snapshot_read", "lease_lost"]
    assert "folded again from its beginning" in logged[2]["why"]
    assert (await replay(anybody, fleet)).diverged is None


async def test_without_snapshots_none_is_read_or_written(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, history(120), clock="event")
    activity = await decided(database_url, every=None)
    assert (activity.snapshots.written, await positions(anybody)) == (0, [])

    await lines.ingest(anybody, history(200)[120:], clock="event")
    await decided(database_url)
    assert await positions(anybody)

    activity = await decided(database_url, every=None)
    assert activity.snapshots.read == 0


async def test_a_standby_folds_along_and_takes_over_without_folding(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, history(150), clock="event")
    fleet = await the_fleet(anybody)
    second = await connect(database_url, "ledger_decider")
    one, other = Decider(anybody, fleet, holder="one"), Decider(second, fleet, holder="other")
    assert await one.turn(ticks=False)

    assert await other.turn(ticks=False)
    assert not await other.turn(ticks=False)
    assert other.through == 149

    await lines.ingest(anybody, history(160)[150:], clock="event")
    assert await one.turn(ticks=False)
    assert await other.turn(ticks=False)
    await one.let_go()
    await lines.ingest(anybody, history(170)[160:], clock="event")
    # Nothing of what was decided has to be read again.
    async with anybody.transaction():
        await anybody.execute("SET LOCAL session_replication_role = replica")
        await anybody.execute("UPDATE ledger.events SET payload = '' WHERE position < 160")
    assert await other.turn(ticks=False)
    assert other.leads
    assert (await decisions.cursor(anybody, fleet))[0] == 169
    await second.close()


async def test_the_standby_writes_and_the_decider_only_if_it_must(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, history(120), clock="event")
    fleet = await the_fleet(anybody)
    second = await connect(database_url, "ledger_decider")
    leading = Snapshots(database_url, "one", Interval(events=100, seconds=0), Activity())
    waiting = Snapshots(database_url, "other", Interval(events=100, seconds=0), Activity())
    one = Decider(anybody, fleet, holder="one", snapshots=leading, pace=UNHURRIED)
    other = Decider(second, fleet, holder="other", snapshots=waiting)
    await leases.stand_by(anybody, [fleet], "decide", holder="other")

    assert await one.turn(ticks=False)
    await leading.finish()
    assert await positions(anybody) == []
    assert await other.turn(ticks=False)
    await waiting.finish()
    assert await positions(anybody) == [119]
    assert await anybody.fetchval("SELECT written_by FROM ledger_api.snapshots") == "other"

    # The standby does not come to it.
    await lines.ingest(anybody, history(430)[120:], clock="event")
    assert await one.turn(ticks=False)
    await leading.finish()
    assert await positions(anybody) == [119, 429]
    await second.close()


async def test_a_fenced_decider_keeps_what_it_has_and_goes_on_from_there(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, [cluster_line(1), workload_line(1, replicas=2, weights={"c1": 1})])
    fleet = await the_fleet(anybody)
    one = Decider(anybody, fleet, holder="one")
    assert await one.turn(ticks=False)
    await anybody.execute("UPDATE ledger.leases SET epoch = epoch + 1")
    await lines.ingest(anybody, [workload_line(2, replicas=3, weights={"c1": 1})])

    assert not await one.turn(ticks=False)

    assert not one.leads
    assert one.through == 1
    assert await one.turn(ticks=False)
    assert (await decisions.cursor(anybody, fleet)) == (2, 2)


async def test_decisions_that_are_missing_stop_the_fleet(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, [cluster_line(1), workload_line(1, replicas=2, weights={"c1": 1})])
    await decided(database_url, every=None)
    async with anybody.transaction():
        await anybody.execute("SET LOCAL session_replication_role = replica")
        await anybody.execute("DELETE FROM ledger.decisions")

    with pytest.raises(LedgerStopped, match="0 decisions through 1 are in memory, 1 through 1"):
        await decided(database_url, every=None)


async def test_two_snapshots_of_one_position_must_be_the_same(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, [cluster_line(1)])
    fleet = await the_fleet(anybody)
    described = Described(
        incarnation=Incarnation(1),
        through=Position(0),
        decisions=DecisionNumber(0),
        layout=own_layout(),
        digest=bytes(32),
        event_root=bytes(32),
        decision_root=bytes(32),
        bytes=3,
    )

    async def written(about: Described) -> bytes | None:
        return await snapshots.write(
            anybody, fleet, about, [b"one", b"two"], stored_bytes=6, holder="me"
        )

    assert await written(described) is None
    assert await written(replace(described, digest=b"\1" * 32)) == bytes(32)
    assert await anybody.fetchval("SELECT count(*) FROM ledger.snapshot_parts") == 2


async def test_the_bytes_of_two_layouts_are_kept_and_no_more(
    anybody: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SPREAD", 1)
    await lines.ingest(anybody, [cluster_line(1)])
    fleet = await the_fleet(anybody)
    for layout in (1, 2, 3):
        for through in range(5):
            await snapshots.write(
                anybody,
                fleet,
                Described(
                    incarnation=Incarnation(1),
                    through=Position(through),
                    decisions=DecisionNumber(0),
                    layout=Layout(1, layout, bytes(32)),
                    digest=bytes(32),
                    event_root=bytes(32),
                    decision_root=bytes(32),
                    bytes=3,
                ),
                [b"one"],
                stored_bytes=3,
                holder="me",
            )

    kept = await anybody.fetch(
        "SELECT layout, position FROM ledger_api.snapshots WHERE kept ORDER BY layout, position"
    )
    newest = [(layout, at) for layout in (2, 3) for at in (2, 3, 4)]
    assert [tuple(row) for row in kept] == sorted([*newest, (3, 0)]), (
        "one spread in the last layout"
    )
    assert len(await positions(anybody, kept=False)) == 15


@pytest.mark.usefixtures("everything_logged")
async def test_a_snapshot_that_cannot_be_written_stops_nothing(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await anybody.execute("REVOKE INSERT ON ledger.snapshot_parts FROM ledger_decider")
    await lines.ingest(anybody, history(120), clock="event")

    with capture_logs() as said:
        activity = await decided(database_url)

    assert (activity.snapshots.failed, activity.snapshots.written) == (1, 0)
    (line,) = [line for line in said if line["event"] == "snapshot_failed"]
    assert "permission denied" in line["why"]
    assert await positions(anybody, kept=False) == []
    assert (await replay(anybody, await the_fleet(anybody))).decided_through == 119


async def test_who_is_asked_to_stop_gives_up_the_snapshot(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, history(120), clock="event")
    stop = asyncio.Event()
    deciding = asyncio.create_task(
        decider.decide(database_url, holder="me", until_idle=False, stop=stop, snapshots=OFTEN)
    )

    async def all_decided() -> bool:
        return (await decisions.cursor(anybody, await the_fleet(anybody)))[0] == 119

    await until(all_decided)
    stop.set()

    async with asyncio.timeout(10):
        await deciding


async def test_who_falls_silent_is_replaced_within_seconds(
    database_url: str, anybody: asyncpg.Connection
) -> None:
    await lines.ingest(anybody, history(120), clock="event")
    fleet = await the_fleet(anybody)
    one = Decider(anybody, fleet, holder="one")
    assert await one.turn(ticks=False)
    stop = asyncio.Event()
    other = asyncio.create_task(
        decider.decide(database_url, holder="other", until_idle=False, stop=stop, snapshots=OFTEN)
    )

    async def written() -> bool:
        return await positions(anybody) == [119]

    await until(written)
    # The first one is not heard of again.
    fell_silent = asyncio.get_running_loop().time()
    await lines.ingest(anybody, history(130)[120:], clock="event")

    async def all_decided() -> bool:
        return (await decisions.cursor(anybody, fleet))[0] == 129

    await until(all_decided)
    assert asyncio.get_running_loop().time() - fell_silent < leases.LEASE_SECONDS + 5
    stop.set()
    await other


@pytest.mark.usefixtures("everything_logged")
async def test_a_long_fold_tells_how_far_it_is(
    database_url: str, anybody: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "TOLD_EVERY_SECONDS", 0.0)
    await lines.ingest(anybody, [cluster_line(number) for number in range(1500)])
    await decided(database_url, every=None)
    activity = Activity()
    one = Decider(anybody, await the_fleet(anybody), holder="tests", activity=activity)

    with capture_logs() as said:
        assert await one.turn(ticks=False)
        assert activity.unfolded == {"test": 500}
        assert await one.turn(ticks=False)
        assert activity.unfolded == {}

    (told,) = [line for line in said if line["event"] == "folding"]
    assert (told["fleet"], told["position"], told["through"]) == ("test", 999, 1499)
    assert told["events_per_second"] > 0
    assert told["seconds_left"] >= 0
