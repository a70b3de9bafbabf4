"""``ledger diff``: what it says of two positions adds up, and is what the views hold."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from itertools import islice

import pytest
import pytest_asyncio
from typer.testing import CliRunner, Result

from ledger.cli.commands import as_asked
from ledger.cli.explain.diff import show
from ledger.cli.explain.differences import Change, Difference, Tasks, difference
from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Mix, Sizes
from ledger.log import lines
from ledger.log.database import Connection, connect
from ledger.units import FleetName
from ledger.views.differences import Refused
from tests.cli.test_explain import line
from tests.cli.test_explain_place import node
from tests.cli.test_explain_the_present import cart
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.postgres import Postgres

EVENTS = 4_000
BEFORE = -1
"""Before the first event nothing is there."""

Places = dict[tuple[str, str], Mapping[str, int]]


async def decided(url: str, history: list[bytes]) -> None:
    connection = await connect(url, None)
    await lines.ingest(connection, history, clock="event")
    await connection.close()
    await decide_all(url)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader(postgres: Postgres) -> AsyncIterator[Connection]:
    """A reader of a history with every kind of decision."""
    sizes = Sizes(clusters=4, nodes=4, workloads=30)
    simulation = Simulation(5, fleet=FleetName("demo"), sizes=sizes, mix=Mix(trouble=2))
    async with postgres.database() as url:
        await decided(url, list(islice(simulation.events(EVENTS), EVENTS)))
        connection = await connect(url, "ledger_reader")
        yield connection
        await connection.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def last(reader: Connection) -> int:
    """The newest position; a history tells some of its events twice."""
    position: int = await reader.fetchval("SELECT decided_through FROM ledger_api.fleets")
    return position


def after(found: Difference) -> Places:
    return {(one.kind, one.subject): one.after for one in found.changes if one.after}


@pytest.mark.asyncio(loop_scope="module")
async def test_from_nothing_to_now_is_what_is_in_force(reader: Connection, last: int) -> None:
    found = await difference(reader, "demo", BEFORE, last)

    rows = await reader.fetch(
        "SELECT kind, subject, concat_ws('/', nullif(cluster, ''), node, disk) AS place, count"
        "  FROM ledger_api.placements WHERE kind = ANY('{division,deployment,disk_placement}')"
    )
    in_force: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        in_force.setdefault((row["kind"], row["subject"]), {})[row["place"]] = row["count"]
    assert after(found) == in_force
    assert {kind for kind, _ in in_force} == {"division", "deployment", "disk_placement"}
    assert all(one.before == {} for one in found.changes)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_events_alone_took_is_told_as_sql_tells_it(
    reader: Connection, last: int
) -> None:
    by_events = 0
    for a, b in ((200, 900), (900, 2_500), (2_500, last)):
        found = await difference(reader, "demo", a, b)
        for one in found.changes:
            told = await reader.fetch(
                "SELECT a.place, a.count FROM (SELECT subject, kind,"
                "  concat_ws('/', nullif(cluster, ''), node, disk) AS place, count"
                "  FROM ledger_api.placements_as_of('demo', $1)) a"
                " WHERE kind = $2 AND subject = $3",
                *(b, one.kind, one.subject),
            )
            assert one.after == {row["place"]: row["count"] for row in told}
        by_events += sum(not one.decisions for one in found.changes)
    assert by_events


@pytest.mark.asyncio(loop_scope="module")
async def test_two_steps_lead_where_one_does(reader: Connection, last: int) -> None:
    for a, b, c in ((BEFORE, 900, 2_500), (1_500, 1_501, 1_600), (2_000, 3_000, last)):
        first, second = (
            await difference(reader, "demo", a, b),
            await difference(reader, "demo", b, c),
        )
        whole = await difference(reader, "demo", a, c)

        steps: dict[tuple[str, str], tuple[Mapping[str, int], Mapping[str, int]]] = {}
        for one in (*first.changes, *second.changes):
            key = (one.kind, one.subject)
            began = steps[key][0] if key in steps else one.before
            assert key not in steps or steps[key][1] == one.before
            steps[key] = (began, one.after)
        assert {key: change for key, change in steps.items() if change[0] != change[1]} == {
            (one.kind, one.subject): (one.before, one.after) for one in whole.changes
        }
        assert (first.first, first.behind) == (whole.first, second.first)
        opened = {one.number for one in (*first.opened, *second.opened)}
        closed = {one.number for one in (*first.closed, *second.closed)}
        assert {one.number for one in whole.opened} == opened - closed
        assert {one.number for one in whole.closed} == closed - opened


@pytest.mark.asyncio(loop_scope="module")
async def test_the_decisions_that_did_it_lie_in_between(reader: Connection) -> None:
    found = await difference(reader, "demo", 1_000, 3_000)

    numbers = sorted(
        [number for one in found.changes for number in one.decisions]
        + [number for one in found.tasks for number in one.decisions]
    )
    assert numbers
    assert found.first <= numbers[0]
    assert numbers[-1] < found.behind
    assert any(one.moved for one in found.changes)
    positions = await reader.fetch(
        "SELECT min(position), max(position) FROM ledger_api.decisions WHERE number = ANY($1)",
        numbers,
    )
    assert all(1_000 < row[0] <= row[1] <= 3_000 for row in positions)


@pytest.mark.asyncio(loop_scope="module")
async def test_events_are_named_beside_decisions_where_they_took_what_these_had_left(
    reader: Connection, last: int
) -> None:
    for a, b in ((200, 900), (900, 2_500), (1_000, 1_400), (2_500, last)):
        for one in (await difference(reader, "demo", a, b)).changes:
            rows = await reader.fetch(
                "SELECT concat_ws('/', nullif(cluster, ''), node, disk) AS place, count"
                "  FROM ledger_api.placements_as_of('demo', coalesce((SELECT position"
                "       FROM ledger_api.decisions WHERE number = $1), $2))"
                " WHERE kind = $3 AND subject = $4",
                *(max(one.decisions, default=None), a, one.kind, one.subject),
            )
            assert one.by_events == ({row["place"]: row["count"] for row in rows} != one.after)


@pytest.mark.asyncio(loop_scope="module")
async def test_tasks_that_rounds_placed_are_told(reader: Connection, last: int) -> None:
    found = await difference(reader, "demo", BEFORE, last)

    placed = await reader.fetchval("SELECT count(*) FROM ledger_api.allocations")
    evicted = await reader.fetchval("SELECT count(*) FROM ledger_api.evictions")
    assert placed > 0
    assert sum(sum(one.placed.values()) for one in found.tasks) == placed
    assert sum(sum(one.evicted.values()) for one in found.tasks) == evicted


@pytest.mark.asyncio(loop_scope="module")
async def test_tasks_are_where_they_were_but_for_what_is_told(
    reader: Connection, last: int
) -> None:
    ended = 0
    for a, b in ((BEFORE, 900), (900, 2_500), (2_500, last)):
        found = {one.subject: one for one in (await difference(reader, "demo", a, b)).tasks}

        before, after = await tasks_at(reader, a), await tasks_at(reader, b)
        for subject in {*before, *after}:
            told = found.get(subject)
            there = Counter(before.get(subject, {}))
            if told is not None:
                there.update(told.placed)
                there.subtract(told.evicted)
                there.subtract(told.ended)
                ended += not told.decisions
            assert +there == after.get(subject, Counter())
    assert ended


async def tasks_at(reader: Connection, position: int) -> dict[str, Counter[str]]:
    rows = await reader.fetch(
        "SELECT subject, concat_ws('/', nullif(cluster, ''), node) AS place, count"
        "  FROM ledger_api.placements_as_of('demo', $1) WHERE kind = 'allocation'",
        position,
    )
    found: dict[str, Counter[str]] = {}
    for subject, place, count in rows:
        found.setdefault(subject, Counter())[place] += count
    return found


@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_differs_from_itself(reader: Connection) -> None:
    found = await difference(reader, "demo", 2_000, 2_000)

    assert found.first == found.behind
    assert (found.changes, found.tasks, found.opened, found.closed) == ((), (), (), ())


def asked(database_url: str, *said: str) -> Result:
    return CliRunner().invoke(as_asked(["diff"]), ["diff", "--database-url", database_url, *said])


REMOVED = json.dumps(
    {
        "specversion": "1.0",
        "id": "gone",
        "source": "/tests",
        "type": "ledger.workload.workload.removed.v1",
        "subject": "shop/cart",
        "time": "2026-01-05T11:00:00Z",
        "fleet": "test",
        "data": {"namespace": "shop", "name": "cart", "uid": "uid-cart"},
    }
).encode()

HISTORY = [
    cluster_line(1),
    workload_line(1, replicas=3, weights={"c1": 1}),
    workload_line(2, replicas=1, name="lost", weights={"c9": 1}),
    workload_line(3, replicas=5, weights={"c1": 1}),
    REMOVED,
    cluster_line(9),
]


def test_the_totals_say_of_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    show(
        Difference(
            fleet="test",
            a=0,
            b=9,
            first=0,
            behind=4,
            changes=(
                Change(
                    "division", "shop/cart", {"c1": 4}, {"c1": 2, "c2": 2}, 2, (1,), False, None
                ),
                Change("deployment", "shop/cart@c1", {"n1": 4}, {"n2": 2}, 2, (2,), True, None),
            ),
            unchanged=1,
            tasks=(
                Tasks("ml/one", {"c1/n1": 3, "c1/n2": 1}, {"c1/n1": 2}, {}, (3,)),
                Tasks("ml/two", {}, {}, {"c1/n2": 5}, ()),
            ),
            opened=(),
            closed=(),
            passing=7,
        )
    )

    assert capsys.readouterr().out.splitlines()[-7:] == [
        "subjects placed differently    2",
        "replicas and instances moved   4",
        "tasks placed                   4",
        "tasks evicted                  2",
        "tasks that ended               5",
        "decided about, and unchanged   1",
        "refused, and no more by then   7",
    ]


def test_a_division_ends_with_its_workload_and_a_refusal_when_it_is_served(
    database_url: str,
) -> None:
    asyncio.run(decided(database_url, HISTORY))

    said = json.loads(asked(database_url, "3", "5", "--json").stdout)
    again = asked(database_url, "0", "2")

    assert [(one["subject"], one["before"], one["after"]) for one in said["changes"]] == [
        ("shop/cart", {"c1": 5}, {}),
        ("shop/lost", {}, {"c9": 1}),
    ]
    assert said["changes"][0]["ended_by"] == 4
    assert said["changes"][0]["decisions"] == []
    assert [one["subject"] for one in said["refusals_closed"]] == ["shop/lost"]
    assert said["refusals_closed"][0]["resolved_by"] == said["decisions"][0]
    assert "REFUSED SINCE" in again.stdout
    assert "c1  0 -> 3" in again.stdout


def test_a_decision_is_not_said_to_have_done_what_an_event_did_after_it(
    database_url: str,
) -> None:
    gone = line("cluster.cluster.removed", "c1", name="c1")
    history = [cluster_line(1), node("c1", "n1"), cart(1, 2), cart(2, 4), gone]
    asyncio.run(decided(database_url, history))

    said = json.loads(asked(database_url, "2", "4", "--json").stdout)
    told = asked(database_url, "2", "4").stdout

    of_nodes = next(one for one in said["changes"] if one["kind"] == "deployment")
    assert (of_nodes["before"], of_nodes["after"]) == ({"c1/n1": 2}, {})
    assert of_nodes["by_events"]
    (number,) = of_nodes["decisions"]
    assert f"deployment of shop/cart@c1, by #{number} and by events\n    c1/n1  2 -> 0" in told


def test_a_kind_is_spelled_alike_in_all_sections(capsys: pytest.CaptureFixture[str]) -> None:
    refused = Refused(6, 3, "disk_placement", "orders", "anti_affinity", "{}", 7, 4)
    change = Change("disk_placement", "orders", {}, {"n1/d1": 1}, 0, (5,), False, None)
    show(Difference("test", 0, 9, 0, 8, (change,), 0, (), (refused,), (refused,), 0))

    told = capsys.readouterr().out

    assert told.count("disk placement of orders") == 3
    assert "disk_placement" not in told


def test_times_do_as_well_and_the_earlier_one_comes_first(database_url: str) -> None:
    asyncio.run(decided(database_url, HISTORY))

    said = json.loads(
        asked(database_url, "2026-01-05T09:00:01Z", "2026-01-05T09:00:02Z", "--json").stdout
    )
    wrong = asked(database_url, "4", "1")

    assert (said["from"], said["to"]) == (1, 2)
    assert wrong.exit_code == 64
    assert "name the earlier one first" in wrong.stderr


def test_now_is_the_last_decided_position(database_url: str) -> None:
    asyncio.run(
        decided(database_url, [cluster_line(1), workload_line(1, replicas=3, weights={"c1": 1})])
    )

    said = asked(database_url, "0", "now", "--json")
    first = asked(database_url, "now", "1")

    assert said.stdout == asked(database_url, "0", "1", "--json").stdout
    assert json.loads(said.stdout)["to"] == 1
    assert first.exit_code == 64
    assert "A now: no position and no time" in first.stderr


def test_there_is_no_now_before_something_is_decided(database_url: str) -> None:
    async def told() -> None:
        connection = await connect(database_url, None)
        await lines.ingest(connection, [cluster_line(1)])
        await connection.close()

    asyncio.run(told())

    said = asked(database_url, "0", "now")

    assert said.exit_code == 64
    assert "invalid_moment: B now: nothing of test is decided" in said.stderr
