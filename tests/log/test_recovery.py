"""A log that was restored to an earlier point: who refuses it, and how it goes on."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import FleetStopped, LedgerStopped, SetupProblem, WrongPosition
from ledger.log import fleets, lines, lives, receipts, recovery, stops
from ledger.log.archive.reading import Archive
from ledger.log.archive.writing import export
from ledger.log.database import connected
from ledger.log.messages import Claim
from ledger.log.receipts import HaltReason
from ledger.log.recovery import HandedOn, Remembered
from ledger.log.signed import memory, recalled
from ledger.log.signing_keys import Sealed, life_of, origin
from ledger.log.stops import Stop
from ledger.replay.deep import deep
from ledger.replay.replay import replay, replay_archive
from ledger.units import DecisionNumber, FleetName, Incarnation, Offset
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres
from tests.restored_logs import (
    NOTHING,
    assessed,
    by_the_signer,
    grow,
    recovered,
    restored,
    sealed,
    the_fleet,
)
from tests.restoring import Restorable, restorable


@pytest_asyncio.fixture
async def log(postgres: Postgres) -> AsyncIterator[Restorable]:
    """Two clusters and four workloads, decided."""
    async with restorable(postgres) as database:
        await grow(database, 1, 4)
        yield database


async def test_a_restored_log_is_signed_on_in_its_next_life_only(
    log: Restorable, tmp_path: Path
) -> None:
    await restored(log, tmp_path)
    assert isinstance(await sealed(log, tmp_path), FleetStopped)
    with pytest.raises(FleetStopped, match="stopped by the signer: log_rewound"):
        await grow(log, 5, 1)

    found = await recovered(log, by_the_signer(tmp_path))

    assert [(end.origin.rpartition("/")[2], end.lost) for end in found.ends] == [
        ("events", 3),
        ("decisions", 3),
    ]
    await grow(log, 5, 2)
    assert await sealed(log, tmp_path) is None
    async with connected(log.url, None) as connection:
        fleet = await the_fleet(connection)
        life = await lives.newest(connection, fleet)
        assert (life.incarnation, life.begins) == (2, 6)
        assert (await deep(connection, fleet)).diverged is None
        ids = await connection.fetch("SELECT decision FROM ledger_api.decisions ORDER BY number")
    assert [row[0] for row in ids] == [f"test/{1 if n < 4 else 2}/{n}" for n in range(6)]


async def test_a_life_that_names_less_than_was_signed_is_not_signed_for_until_it_is_recovered_again(
    log: Restorable, tmp_path: Path
) -> None:
    await restored(log, tmp_path)
    await recovered(log, NOTHING)

    stopped = await sealed(log, tmp_path)
    assert isinstance(stopped, FleetStopped)
    assert "log_forked" in str(stopped)

    found = await recovered(log, by_the_signer(tmp_path))
    assert (found.incarnation, found.next) == (2, 3)
    assert await sealed(log, tmp_path) is None


async def test_the_next_life_is_above_every_one_that_anybody_has_heard_of(
    log: Restorable, tmp_path: Path
) -> None:
    assert await sealed(log, tmp_path) is None
    backup = await log.back_up()
    for life in (2, 3):
        await recovered(log, by_the_signer(tmp_path))
        await grow(log, 5 + life, 1)
        assert await sealed(log, tmp_path) is None
    await log.restore(backup)

    stopped = await sealed(log, tmp_path)
    assert "incarnation 3 was signed, the log is in 1" in str(stopped)
    found = await assessed(log, by_the_signer(tmp_path))
    assert (found.incarnation, found.next, found.is_rewound, found.forked) == (1, 4, True, ())
    handed_on = HandedOn((Incarnation(6), DecisionNumber(9)), None, 0, None)
    assert (await assessed(log, Remembered({}, handed_on, {}))).next == 7


async def test_a_log_that_went_on_after_it_was_restored_is_not_recovered(
    log: Restorable, tmp_path: Path
) -> None:
    """Its decisions have ids that other decisions had."""
    await restored(log, tmp_path)
    await grow(log, 50, 4)

    found = await assessed(log, by_the_signer(tmp_path))
    assert [sentence.partition(":")[0] for sentence in found.forked] == [
        "ledger.example/test/1/events",
        "ledger.example/test/1/decisions",
    ]
    with pytest.raises(LedgerStopped, match="restore it once more"):
        await recovered(log, by_the_signer(tmp_path))
    other = HandedOn(
        (Incarnation(1), DecisionNumber(6)), None, 0, (Incarnation(1), DecisionNumber(5))
    )
    with pytest.raises(LedgerStopped, match="test/1/5: Kafka has a decision of this id"):
        await recovered(log, Remembered({}, other, {}))
    async with connected(log.url, None) as connection:
        assert await fleets.incarnation(connection, await the_fleet(connection)) == 1


async def test_a_log_that_nobody_remembers_more_of_has_nothing_to_recover(
    log: Restorable, tmp_path: Path
) -> None:
    assert await sealed(log, tmp_path) is None
    await grow(log, 5, 1)

    found = await assessed(log, by_the_signer(tmp_path))

    assert (found.is_rewound, found.forked) == (False, ())


@pytest.mark.parametrize("count", [4, 2])
async def test_a_next_life_makes_nothing_of_a_history_that_was_rewritten(
    log: Restorable, tmp_path: Path, count: int
) -> None:
    """Somebody begins it by hand, naming the very end that the signer remembers."""
    await restored(log, tmp_path)
    await grow(log, 50, count)
    found = await assessed(log, by_the_signer(tmp_path))
    async with connected(log.url, "ledger_writer") as connection:
        await recovery.begin(connection, replace(found, forked=()), why="because", by="mallory")
    before = recalled(tmp_path / "signed.json")

    stopped = await sealed(log, tmp_path)

    # Of a log that ends before what was signed nobody can say what would have followed.
    assert ("log_rewritten" in str(stopped)) == (count == 4)
    if count == 4:
        assert recalled(tmp_path / "signed.json") == before
        assert (await assessed(log, by_the_signer(tmp_path))).forked


async def test_a_life_that_names_more_than_the_signer_remembers_is_not_signed_for(
    log: Restorable, tmp_path: Path
) -> None:
    """The memory is an old copy: a newer one has signed what this one does not know."""
    assert await sealed(log, tmp_path) is None
    old = (tmp_path / "signed.json").read_text()
    await grow(log, 5, 3)
    assert await sealed(log, tmp_path) is None
    await recovered(log, by_the_signer(tmp_path))
    (tmp_path / "signed.json").write_text(old)

    assert "log_forked" in str(await sealed(log, tmp_path))
    await recovered(log, by_the_signer(tmp_path))
    assert await sealed(log, tmp_path) is None


async def test_a_log_that_went_on_since_it_was_looked_at_is_not_recovered(log: Restorable) -> None:
    found = await assessed(log, NOTHING)
    await grow(log, 5, 1)

    async with connected(log.url, "ledger_writer") as connection:
        with pytest.raises(WrongPosition, match="it went on meanwhile"):
            await recovery.begin(connection, found, why="it was restored", by="anna")


async def test_a_stop_ends_with_the_life_that_it_is_of_and_no_other_fleet_stands(
    log: Restorable,
) -> None:
    async with connected(log.url, "ledger_writer") as connection:
        fleet = await the_fleet(connection)
        why = Stop("publisher", "log_rewound", "because")
        await stops.stop(connection, fleet, why)
        await stops.stop(connection, fleet, why)
        assert await stops.standing(connection, fleet) == (why,)
        await lines.ingest(connection, [cluster_line(1, fleet="other")])
    found = await recovered(log, NOTHING)
    assert found.stopped == (why,)
    assert not (await assessed(log, NOTHING)).is_rewound
    await grow(log, 5, 1)
    async with connected(log.url, "ledger_writer") as connection:
        assert await stops.standing(connection, fleet) == ()
        assert await connection.fetchval("SELECT stands FROM ledger_api.stops") is False


async def test_a_fleet_that_was_born_behind_the_point_is_opened_in_a_life_of_its_own(
    log: Restorable, tmp_path: Path
) -> None:
    born = FleetName("born")
    lost = [
        cluster_line(1, fleet=born),
        workload_line(1, replicas=2, weights={"c1": 1}, fleet=born),
    ]
    backup = await log.back_up()
    await take(log, lost)
    assert await sealed(log, tmp_path) is None
    await log.restore(backup)
    remembered = by_the_signer(tmp_path)

    async with connected(log.url, "ledger_writer") as connection:
        names = recovery.remembered_names(remembered.signed, [FleetName("kafka")])
        assert names == ["born", "kafka", "test"]
        assert await recovery.not_in_the_log(connection, names) == ["born", "kafka"]
        found = recovery.unborn(born, "wall", remembered)
        assert found is not None
        assert (found.next, found.is_rewound) == (2, True)
        assert [(end.tree, end.lost) for end in found.ends] == [("events", 2), ("decisions", 1)]
        await recovery.begin(connection, found, why="it was restored", by="anna")
        with pytest.raises(WrongPosition, match="it went on meanwhile"):
            await recovery.begin(connection, found, why="it was restored", by="anna")
    assert recovery.unborn(FleetName("nobody"), "wall", remembered) is None
    await take(log, lost)

    assert await sealed(log, tmp_path, "born") is None
    async with connected(log.url, None) as connection:
        fleet = await fleets.named(connection, born)
        assert (await deep(connection, fleet)).diverged is None
        assert (await replay(connection, fleet)).diverged is None
        assert await connection.fetchval(
            "SELECT array_agg(decision) FROM ledger_api.decisions WHERE fleet = $1", born
        ) == ["born/2/0"]
        await export(connection, fleet, tmp_path / born, on_written=lambda _reached, _end: None)
    archive = Archive.open(tmp_path / born)
    assert (await replay_archive(archive)).diverged is None
    with pytest.raises(SetupProblem, match="none of this name"):
        async with connected(log.url, None) as connection:
            await fleets.named(connection, "nobody")


async def take(log: Restorable, told: list[bytes]) -> None:
    async with connected(log.url, "ledger_writer") as connection:
        await lines.ingest(connection, told)
    await decide_all(log.url)


async def test_what_kafka_was_told_is_no_reason_to_recover_a_second_time(log: Restorable) -> None:
    """The log goes on behind its newest receipt, whatever the clock of another host says."""
    at = ("ledger.workload", 0)
    told = Remembered({}, None, {at: Offset(9)})
    await taken(log, 4, fleets=("test",))
    assert (await assessed(log, told)).is_rewound

    await recovered(log, told)
    assert not (await assessed(log, told)).is_rewound
    async with connected(log.url, "ledger_writer") as connection:
        assert await connection.fetchval("SELECT ledger.is_recovered($1, $2)", *at)

    await taken(log, 2, fleets=("test",))
    assert (await assessed(log, told)).is_rewound
    async with connected(log.url, "ledger_writer") as connection:
        assert not await connection.fetchval("SELECT ledger.is_recovered($1, $2)", *at)


@pytest.mark.parametrize("halted", ["fleet_stopped", "log_rewound"])
async def test_a_partition_that_waits_for_a_fleet_that_stood_needs_no_next_life_of_its_neighbours(
    log: Restorable, halted: HaltReason
) -> None:
    async with connected(log.url, "ledger_writer") as connection:
        await lines.ingest(connection, [cluster_line(1, fleet="neighbour")])
        await taken(log, 4, fleets=("test", "neighbour"))
        await stops.stop(
            connection, await the_fleet(connection), Stop("signer", "log_rewound", "because")
        )
        async with connection.transaction():
            await receipts.halt(
                connection, "ledger.workload", 0, reason=halted, detail="because", by="tests"
            )
        found = await recovery.assess(connection, await the_fleet(connection), NOTHING)
        going_on = await recovery.begin(connection, found, why="it was restored", by="anna")
        now = await receipts.standing(connection, "ledger.workload", 0)

    assert now is not None
    assert (len(going_on), now.halted) == ((1, False) if halted == "fleet_stopped" else (0, True))


async def taken(log: Restorable, count: int, *, fleets: tuple[str, ...]) -> None:
    """As a consumer notes it that took so many records, by a clock that is ahead."""
    topic = "ledger.workload"
    async with connected(log.url, "ledger_writer") as connection, connection.transaction():
        epoch = await receipts.open_epoch(connection, topic, 0, owner="tests")
        claim = Claim(topic, 0, epoch)
        await receipts.check_pins(connection, claim, [FleetName(name) for name in fleets])
        number, before = await receipts.claim(connection, claim)
        next_ = (before or 0) + count
        await receipts.write(
            connection,
            claim,
            number=number + 1,
            first=before or 0,
            next_=next_,
            appended=count,
            duplicates=0,
            quarantined=0,
            last_timestamp=0,
            last_digest=bytes(32),
        )
    async with connected(log.url, None) as connection, connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(
            "UPDATE ledger.receipts SET written_at = written_at + interval '1 hour'"
        )


async def test_an_event_that_does_not_say_which_life_begins_is_found(log: Restorable) -> None:
    await recovered(log, NOTHING)
    async with connected(log.url, None) as connection:
        fleet = await the_fleet(connection)
        async with connection.transaction():
            await connection.execute("SET LOCAL session_replication_role = replica")
            await connection.execute(
                "UPDATE ledger.incarnations SET from_size = 5 WHERE incarnation = 2"
            )
        found = (await deep(connection, fleet)).diverged
        assert found is not None
        assert (found.trouble, found.position) == ("incarnation_mismatch", 5)


@pytest.mark.parametrize("what", ["said = NULL", "said = set_byte(said, 20, 33)", "taken = NULL"])
async def test_a_row_that_says_otherwise_than_the_event_how_a_life_began_is_found(
    log: Restorable, what: str
) -> None:
    await recovered(log, NOTHING)
    async with connected(log.url, None) as connection:
        fleet = await the_fleet(connection)
        async with connection.transaction():
            await connection.execute("SET LOCAL session_replication_role = replica")
            await connection.execute(f"UPDATE ledger.incarnations SET {what} WHERE incarnation = 2")
        found = (await deep(connection, fleet)).diverged
        assert found is not None
        assert (found.trouble, found.position) == ("incarnation_mismatch", 6)
        if what == "said = NULL":
            with pytest.raises(LedgerStopped, match="nothing says with what"):
                await lives.newest(connection, fleet)


async def test_a_life_goes_on_when_the_event_with_which_it_began_was_detached(
    log: Restorable, tmp_path: Path
) -> None:
    assert await sealed(log, tmp_path) is None
    await recovered(log, by_the_signer(tmp_path))
    await grow(log, 5, 3)
    assert await sealed(log, tmp_path) is None
    async with connected(log.url, None) as connection:
        await connection.execute("ALTER TABLE ledger.events DETACH PARTITION ledger.events_000000")
        await connection.execute(
            "INSERT INTO ledger.archived_ranges (fleet, first, next, partition)"
            " SELECT fleet, 0, max(size), 'events_000000' FROM ledger.heads"
            " WHERE tree = 'events' GROUP BY fleet"
        )

    assert await sealed(log, tmp_path) is None
    found = await assessed(log, by_the_signer(tmp_path))
    assert (found.forked, found.as_signed["events"]) == ((), found.events)
    await recovered(log, by_the_signer(tmp_path))
    assert await sealed(log, tmp_path) is None


@pytest.mark.parametrize(
    ("name", "life"),
    [
        ("ledger.example/test/2/events", 2),
        ("a/test/7/test/12/both", 12),
        ("ledger.example/other/2/events", None),
        ("ledger.example/test/x/events", None),
        ("ledger.example/test/²/events", None),
        ("ledger.example/test/2/leaves", None),
        ("test/2/events", None),
    ],
)
def test_an_origin_says_of_which_life_it_is(name: str, life: int | None) -> None:
    assert life_of(name, FleetName("test")) == life


@given(
    st.sampled_from(["1", "a/1", "1/1/1", "ledger.example"]),
    st.sampled_from(["1", "12", "test", "events", "both"]),
    st.integers(min_value=1, max_value=2**31 - 1),
    st.sampled_from(get_args(Sealed)),
)
def test_what_an_origin_is_made_of_is_read_from_it(
    site: str, fleet: str, life: int, tree: Sealed
) -> None:
    """Names of fleets may be numbers, and sites may have slashes in them."""
    name = origin(site, FleetName(fleet), Incarnation(life), tree)

    assert life_of(name, FleetName(fleet)) == life
    assert life_of(name, FleetName(fleet), site=site) == life
    assert life_of(name, FleetName(fleet), site=f"{site}/x") is None
    assert life_of(name, FleetName(f"{fleet}x")) is None


async def test_a_fleet_whose_name_is_a_number_is_signed_for(
    log: Restorable, tmp_path: Path
) -> None:
    async with connected(log.url, "ledger_writer") as connection:
        await lines.ingest(connection, [cluster_line(1, fleet="1")])
    await decide_all(log.url)

    assert await sealed(log, tmp_path) is None
    async with connected(log.url, None) as connection:
        rows = await connection.fetch(
            "SELECT DISTINCT f.name, c.incarnation FROM ledger.checkpoints c"
            " JOIN ledger.fleets f ON f.number = c.fleet ORDER BY f.name"
        )
    assert [tuple(row) for row in rows] == [("1", 1), ("test", 1)]


def test_a_memory_is_read_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "signed.json"
    signed = {"o": {"size": 3, "root": bytes(32).hex()}}
    path.write_text(json.dumps({"layout": 1, "signed": signed}))
    with memory(path):
        assert recalled(path).last["o"].size == 3
