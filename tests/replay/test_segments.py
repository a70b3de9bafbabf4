"""History is cut at snapshots, recomputed by any number of workers, and nothing is believed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise

import asyncpg
import pytest
import pytest_asyncio

from ledger.errors import InvalidRequest
from ledger.log import snapshots
from ledger.log.database import connect
from ledger.log.snapshots import Described, Layout, Stored
from ledger.replay.replay import Wanted, replay
from ledger.replay.report import DIVERGED, INVALID, SAME, Report
from ledger.replay.segments import Range, Segment, cut
from ledger.units import DecisionNumber, Incarnation, Position, Subject
from tests.postgres import Postgres
from tests.replay.cut_history import Cut, cut_history, snapshots_at

EVENTS = 400

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def history(postgres: Postgres) -> AsyncIterator[Cut]:
    async with postgres.database() as url:
        connection = await connect(url, None)
        yield await cut_history(url, connection, EVENTS)
        await connection.close()


async def replayed(history: Cut, wanted: Wanted) -> Report:
    return await replay(history.connection, history.fleet, url=history.url, wanted=wanted)


async def update(connection: asyncpg.Connection, statement: str) -> None:
    assert await connection.execute(statement) != "UPDATE 0"


@pytest_asyncio.fixture(loop_scope="module")
async def snapshots_restored(history: Cut) -> AsyncIterator[None]:
    """What a test does to the snapshots is undone; workers have connections of their own."""
    connection = history.connection
    for table in ("snapshots", "snapshot_parts"):
        await connection.execute(f"CREATE TABLE kept_{table} AS TABLE ledger.{table}")
    yield
    for table in ("snapshot_parts", "snapshots"):
        await connection.execute(f"DELETE FROM ledger.{table}")
    for table in ("snapshots", "snapshot_parts"):
        await connection.execute(
            f"INSERT INTO ledger.{table} OVERRIDING SYSTEM VALUE TABLE kept_{table}"
        )
        await connection.execute(f"DROP TABLE kept_{table}")


async def test_any_number_of_workers_comes_to_the_same(history: Cut) -> None:
    one = await replayed(history, Wanted(workers=1))
    assert one.diverged is None
    assert one.exit_code == SAME
    assert one.shown is not None
    assert (one.shown.segments, one.shown.workers, one.shown.proves) == (1, 1, True)

    for workers in (2, 3):
        report = await replayed(history, Wanted(workers=workers))
        assert report.shown is not None
        assert (report.shown.segments, report.shown.workers) == (workers, workers)
        assert report.shown.proves
        assert replace(report, shown=None) == replace(one, shown=None)


async def test_there_are_no_more_segments_than_snapshots_allow(history: Cut) -> None:
    places = await snapshots_at(history.connection)

    report = await replayed(history, Wanted(workers=50))

    assert report.shown is not None
    within = [place for place in places if place < history.last]
    assert 1 < report.shown.segments <= len(within) + 1
    assert report.diverged is None


async def test_every_snapshot_can_be_compared_by_one_worker(history: Cut) -> None:
    places = await snapshots_at(history.connection)

    report = await replayed(history, Wanted(checks_snapshots=True))

    assert report.shown is not None
    within = [place for place in places if place < history.last]
    assert (report.shown.segments, report.shown.workers) == (len(within) + 1, 1)
    assert report.diverged is None


async def test_a_range_begins_with_the_snapshot_before_it_and_says_that_it_proves_less(
    history: Cut,
) -> None:
    (_, second, *_) = await snapshots_at(history.connection)
    report = await replayed(
        history, Wanted(first=Position(second + 7), through=Position(second + 20))
    )
    assert report.diverged is None
    shown = report.shown
    assert shown is not None
    assert (shown.first, shown.through) == (second + 7, second + 20)
    assert (shown.begins_at, shown.proves) == (second + 1, False)
    assert shown.left_out == (), "what lies behind the range is as good as what lies before it"


async def test_a_range_from_the_beginning_is_a_proof_of_that_much(history: Cut) -> None:
    report = await replayed(history, Wanted(through=Position(50)))
    assert report.shown is not None
    assert (report.shown.through, report.shown.proves) == (50, True)


async def test_what_is_taken_as_it_was_recorded_is_said_and_is_no_proof(history: Cut) -> None:
    """There is no snapshot before position 5, so what lies before it is folded from the beginning."""
    about = "SELECT subject FROM ledger.decisions WHERE kind = 'division' LIMIT 1"
    mine = Subject(await history.connection.fetchval(about))
    (first, *_) = await snapshots_at(history.connection)
    assert first > 5
    before = "what was decided from position 0 to 4"
    others = f"what was decided about others than {mine}"
    behind = (
        f"the snapshot at position {first}",
        f"what was decided from position {first + 1} to {first + 2}",
    )
    for workers in (1, 2):
        for wanted, believed in (
            (Wanted(), ()),
            (Wanted(through=Position(50)), ()),
            (Wanted(first=Position(5)), (before,)),
            (Wanted(first=Position(5), through=Position(50)), (before,)),
            (Wanted(subject=mine), (others,)),
            (Wanted(first=Position(5), subject=mine), (before, others)),
            (Wanted(first=Position(first + 1)), behind[:1]),
            (Wanted(first=Position(first + 3)), behind),
        ):
            report = await replayed(history, replace(wanted, workers=workers))

            assert report.diverged is None
            assert report.shown is not None
            assert (report.shown.believed, report.shown.proves) == (believed, not believed)


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_replay_of_nothing_is_refused(history: Cut, workers: int) -> None:
    last = Position(history.last)
    for wanted, code in (
        (Wanted(first=Position(last + 1)), "not_decided"),
        (Wanted(through=Position(last + 1)), "not_decided"),
        (Wanted(first=Position(50), through=Position(49)), "empty_range"),
        (Wanted(subject=Subject("no/body")), "unknown_subject"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            await replayed(history, replace(wanted, workers=workers))
        assert refused.value.code == code


async def test_what_was_compared_is_counted(history: Cut) -> None:
    count = "SELECT count(*) FROM ledger.decisions WHERE position BETWEEN $1 AND $2"
    subject = "SELECT subject FROM ledger.decisions WHERE kind = 'division' LIMIT 1"
    mine = Subject(await history.connection.fetchval(subject))
    about = f"{count} AND (subject = $3 OR subject LIKE $3 || '@%')"

    some = await replayed(history, Wanted(first=Position(50), through=Position(100)))
    whole = await replayed(history, Wanted(subject=mine))

    assert some.shown is not None
    assert whole.shown is not None
    assert some.shown.compared == await history.connection.fetchval(count, 50, 100) > 0
    assert (
        whole.shown.compared == await history.connection.fetchval(about, 0, history.last, mine) > 0
    )


async def test_the_decisions_about_one_workload_are_compared_alone(history: Cut) -> None:
    """Others may have been changed: what was recorded of them is what the rest follows from."""
    connection = history.connection
    mine, theirs = [
        row["subject"]
        for row in await connection.fetch(
            "SELECT subject, max(number) FROM ledger.decisions WHERE kind = 'division'"
            " GROUP BY subject ORDER BY 2 DESC LIMIT 2"
        )
    ]
    for workers in (1, 2):
        report = await replayed(history, Wanted(subject=Subject(mine), workers=workers))
        assert report.diverged is None
        assert report.shown is not None
        assert report.shown.subject == mine
    assert mine != theirs


@pytest.mark.usefixtures("snapshots_restored")
async def test_a_damaged_snapshot_is_left_out_and_named(history: Cut) -> None:
    places = await snapshots_at(history.connection)
    await update(
        history.connection,
        "UPDATE ledger.snapshot_parts"
        " SET content = set_byte(content, 100, (get_byte(content, 100) + 1) % 256)"
        f" WHERE snapshot = (SELECT number FROM ledger.snapshots WHERE through = {places[0]})",
    )
    await update(
        history.connection,
        f"UPDATE ledger.snapshots SET event_root = sha256('') WHERE through = {places[1]}",
    )
    await update(
        history.connection, f"UPDATE ledger.snapshots SET layout = 99 WHERE through = {places[2]}"
    )

    report = await replayed(history, Wanted(checks_snapshots=True))

    assert report.diverged is None
    assert report.shown is not None
    left_out = dict(one.split(": ", 1) for one in report.shown.left_out)
    assert left_out.keys() == {str(place) for place in places[:3]}
    assert "roots" in left_out[str(places[1])]
    assert "layout" in left_out[str(places[2])]


@pytest.mark.usefixtures("snapshots_restored")
@pytest.mark.parametrize("workers", [1, 2, 4])
async def test_a_snapshot_of_a_world_that_never_was_is_found_where_it_is_used(
    history: Cut, workers: int
) -> None:
    """Its digest fits its bytes and its roots fit the log: only folding up to it tells."""
    connection = history.connection
    (poisoned, *_) = [
        one
        for one in reversed(await snapshots.newest(connection, history.fleet))
        if one.described.through >= EVENTS // 3
    ]
    raw = b"".join(
        [line async for found in snapshots.lines(connection, poisoned) for line in found]
    )
    changed = raw.replace(b'"cpu"', b'"cpv"').replace(b'"ready"', b'"ready"')
    if changed == raw:
        changed = raw.replace(b"true", b"false", 1)
    assert changed != raw
    await connection.execute(
        "UPDATE ledger.snapshots SET digest = $2 WHERE number = $1",
        poisoned.number,
        sha256(changed).digest(),
    )
    await connection.execute(
        "DELETE FROM ledger.snapshot_parts WHERE snapshot = $1 AND part > 0", poisoned.number
    )
    await connection.execute(
        "UPDATE ledger.snapshot_parts SET content = $2 WHERE snapshot = $1",
        poisoned.number,
        snapshots.compressed(changed),
    )
    # No other place to cut than this one.
    await connection.execute(
        "DELETE FROM ledger.snapshot_parts WHERE snapshot <> $1", poisoned.number
    )

    report = await replayed(history, Wanted(workers=workers, checks_snapshots=workers == 1))

    assert report.diverged is not None
    assert report.diverged.trouble == "snapshot_differs"
    assert report.diverged.stage == "fold"
    assert report.diverged.position == poisoned.described.through
    assert report.diverged.recorded_digest == sha256(changed).hexdigest()
    assert report.exit_code == DIVERGED
    assert report.shown is not None
    assert (report.shown.believed, report.shown.proves) == ((), False), "it shows that they do not"
    believed = await replayed(history, Wanted(workers=1))
    assert believed.diverged is None, "from position 0 no snapshot is needed"


async def test_a_log_that_is_not_whole_is_not_replayed_by_any_number(history: Cut) -> None:
    connection = history.connection
    await connection.execute("SET session_replication_role = replica")
    was = await connection.fetchval("SELECT payload FROM ledger.events WHERE position = 40")
    try:
        await update(
            connection,
            "UPDATE ledger.events SET payload = set_byte(payload, 40, 33) WHERE position = 40",
        )
        for workers in (1, 3):
            report = await replayed(history, Wanted(workers=workers))
            assert report.diverged is not None
            assert (report.diverged.trouble, report.diverged.position) == ("leaf_mismatch", 40)
            assert (report.exit_code, report.shown) == (INVALID, None)
    finally:
        await connection.execute("UPDATE ledger.events SET payload = $1 WHERE position = 40", was)
        await connection.execute("SET session_replication_role = DEFAULT")


def stored(through: int, *, decisions: int, size: int) -> Stored:
    return Stored(
        through,
        Described(
            incarnation=Incarnation(1),
            through=Position(through),
            decisions=DecisionNumber(decisions),
            layout=Layout(1, 1, bytes(32)),
            digest=bytes(32),
            event_root=bytes(32),
            decision_root=bytes(32),
            bytes=size,
        ),
    )


def lengths(segments: list[Segment]) -> list[int]:
    return [segment.events for segment in segments]


async def test_segments_are_as_even_as_the_places_allow() -> None:
    places = [stored(at * 10 - 1, decisions=at, size=100) for at in range(1, 20)]
    whole = Range(Position(0), Position(199))
    for workers in range(1, 12):
        segments = cut(whole, 20, places, workers=workers, every=False)
        assert len(segments) <= workers
        assert sum(lengths(segments)) == 200
        assert max(lengths(segments)) <= -(-20 // workers) * 10
        assert all(one.through + 1 == other.first for one, other in pairwise(segments))
        assert all(one.ends == other.begins for one, other in pairwise(segments))
    assert lengths(cut(whole, 20, places, workers=1, every=True)) == [10] * 20


async def test_decisions_weigh_more_than_events_and_a_world_that_is_large_is_not_read() -> None:
    places = [stored(at * 1000 - 1, decisions=min(at, 5) * 1000, size=100) for at in range(1, 10)]
    segments = cut(Range(Position(0), Position(9_999)), 5000, places, workers=2, every=False)
    assert lengths(segments) == [3000, 7000], "all decisions were made in the first half"
    huge = [stored(4_999, decisions=2500, size=10**11)]
    segments = cut(Range(Position(0), Position(9_999)), 5000, huge, workers=2, every=False)
    assert lengths(segments) == [10_000]
