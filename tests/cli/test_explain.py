"""``ledger explain``: whatever is recorded can be told, is found by its name, and comes out again."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import islice, pairwise
from typing import get_args
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import pytest
import pytest_asyncio
from typer.testing import CliRunner, Result

from ledger.cli.commands import as_asked
from ledger.cli.explain import finding, telling, words
from ledger.cli.explain.checking import check
from ledger.cli.explain.derivation import derive
from ledger.cli.explain.sections import WIDTH, page
from ledger.cli.explain.why_not import why_not
from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Mix, Sizes
from ledger.errors import InvalidRequest
from ledger.facts.decision import record
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.reason import Cause, DeadlineKind
from ledger.facts.refusal import Refusal
from ledger.log import lines
from ledger.log.database import Connection, connect
from ledger.units import FleetName, Replicas
from ledger.views import derivations
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, policy_line, workload_line
from tests.postgres import Postgres

EVENTS = 4_000

KINDS = (
    "allocation",
    "capacity_class",
    "deployment",
    "disk_placement",
    "division",
    "incident",
    "refusal",
)
"""Of which the simulated history has decisions."""


async def ingested(url: str, history: list[bytes]) -> None:
    connection = await connect(url, None)
    await lines.ingest(connection, history, clock="event")
    await connection.close()


async def decided(url: str, history: list[bytes]) -> None:
    await ingested(url, history)
    await decide_all(url)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def simulated(postgres: Postgres) -> AsyncIterator[str]:
    """A history with every kind of decision, decided."""
    sizes = Sizes(clusters=4, nodes=4, workloads=30)
    simulation = Simulation(3, fleet=FleetName("demo"), sizes=sizes, mix=Mix(trouble=2))
    async with postgres.database() as url:
        await decided(url, list(islice(simulation.events(EVENTS), EVENTS)))
        yield url


@pytest_asyncio.fixture(loop_scope="module")
async def reader(simulated: str) -> AsyncIterator[Connection]:
    connection = await connect(simulated, "ledger_reader")
    yield connection
    await connection.close()


async def every_decision(reader: Connection) -> AsyncIterator[derivations.Recorded]:
    number = 0
    while (recorded := await derivations.decision(reader, "demo", number)) is not None:
        yield recorded
        number += 1


@pytest.mark.asyncio(loop_scope="module")
async def test_every_decision_can_be_told_and_every_division_comes_out_again(
    reader: Connection,
) -> None:
    told: Counter[str] = Counter()
    again: Counter[str] = Counter()
    async for recorded in every_decision(reader):
        of = await derive(reader, recorded)
        redone = telling.questions(of)
        sections = telling.tell(of, redone)

        assert {"asked", "steps", "changed", "caused_by"} <= set(sections.told())
        assert [one.differs for one in redone if one.differs] == [], recorded.name
        checked = check(of, redone, await derivations.columns_apart(reader, recorded))
        assert checked.holds, recorded.name
        if isinstance(of.outcome, Division) and of.outcome.selection is None:
            assert checked.inputs, recorded.name
        assert page(sections)
        told[of.decision.kind] += 1
        again.update(one.question.op for one in redone)

    # So that nobody believes a history in which nothing happened.
    assert min(told[kind] for kind in KINDS) > 5
    assert min(again[op] for op in ("division.static", "division.dynamic", "lot.draw")) > 10
    assert again["division.webster"]


@pytest.mark.asyncio(loop_scope="module")
async def test_prose_is_folded(reader: Connection) -> None:
    async for recorded in every_decision(reader):
        of = await derive(reader, recorded)
        for name, folded in page(telling.tell(of, telling.questions(of))):
            for line in folded:
                assert len(line) <= WIDTH or "  " in line.strip() or "echo " in line, (name, line)


@pytest.mark.asyncio(loop_scope="module")
async def test_prose_is_no_python(reader: Connection) -> None:
    async for recorded in every_decision(reader):
        of = await derive(reader, recorded)
        sections = telling.tell(of, telling.questions(of)).told()
        for name in ("asked", "known", "last_result", "losers", "changed"):
            for told in sections.get(name, []):
                assert not re.search(r"\b(None|True|False)\b|[\[{]['\"]| '[^']*'", told), told


@pytest.mark.asyncio(loop_scope="module")
async def test_of_equal_scores_usable_bytes_decide_as_is_told(reader: Connection) -> None:
    equal = 0
    async for recorded in every_decision(reader):
        outcome = recorded.decision.outcome
        for step in outcome.steps if isinstance(outcome, DiskPlacement) else ():
            for stage in (step.nodes, step.disks):
                for one, other in pairwise(stage):
                    if one.score == other.score:
                        equal += one.room != other.room
                        assert (-one.room, one.name) < (-other.room, other.name)
    assert equal


@pytest.mark.asyncio(loop_scope="module")
async def test_at_a_position_the_newest_decision_by_then_is_meant(reader: Connection) -> None:
    of_one: dict[str, list[derivations.Recorded]] = {}
    async for recorded in every_decision(reader):
        if recorded.decision.kind == "division":
            of_one.setdefault(recorded.decision.subject, []).append(recorded)
    subject, made = max(of_one.items(), key=lambda entry: (len(entry[1]), entry[0]))
    first, second = made[:2]

    position = second.decision.position - 1
    meant = await finding.find(reader, "demo", subject, None, at=position)
    assert isinstance(meant, finding.Meant)
    of = await derive(reader, meant.recorded, at=position)

    assert meant.recorded.name == first.name
    assert of.newer is None
    assert (await derive(reader, meant.recorded)).newer == made[-1]
    moment = await derivations.recorded_at(reader, "demo", position)
    assert moment is not None
    found = await finding.position_at(reader, "demo", moment.isoformat())
    assert found is not None
    assert await derivations.recorded_at(reader, "demo", found) == moment
    assert found >= position


@pytest.mark.asyncio(loop_scope="module")
async def test_a_time_before_the_log_is_refused(reader: Connection) -> None:
    with pytest.raises(InvalidRequest, match="begins later"):
        await finding.position_at(reader, "demo", "1999-01-01T00:00:00Z")
    with pytest.raises(InvalidRequest, match="no position and no time"):
        await finding.position_at(reader, "demo", "yesterday")


@pytest.mark.asyncio(loop_scope="module")
async def test_what_an_object_was_told_to_be_is_found_by_its_index(simulated: str) -> None:
    connection = await connect(simulated, None)
    try:
        # The tables of a test are small enough to be read through, which is not what is asked here.
        await connection.execute("SET enable_seqscan = off")
        plan = await connection.fetch(
            "EXPLAIN SELECT position, effect, payload FROM ledger_api.events"
            " WHERE fleet = 'demo' AND subject = 'shop/cart' AND position <= 1000"
            "   AND type = ANY('{ledger.workload.workload.upserted.v1}'::text[])"
            " ORDER BY position DESC LIMIT 1"
        )
    finally:
        await connection.close()

    assert any("fleet_subject_position" in row[0] for row in plan)


def test_every_code_of_a_record_has_words() -> None:
    assert set(words.CAUSES) == set(get_args(Cause))
    assert set(words.DEADLINES) == set(get_args(DeadlineKind))


def test_what_is_short_is_told_as_instances_and_as_amounts() -> None:
    detail = (("lost_found", 1), ("lost_short_memory", 8), ("lost_wanted", 3))
    refusal = Refusal("deployment", "insufficient_resource", "nodes", detail)
    assert words.short_by(refusal) == (("lost memory", 8), ("lost", 2))


def test_what_an_event_says_is_spelled_as_people_do() -> None:
    said = {
        "disk_selector": ["fast", "nvme"],
        "zone_soft": True,
        "disk_soft": False,
        "labels": {"tier": "gold", "rack": None},
        "size": 20 * 2**30,
        "node": None,
    }

    assert words.wish(said, said) == (
        "disk_selector fast nvme, zone_soft, not disk_soft, labels rack=none tier=gold, size 20Gi"
    )


def asked(database_url: str, *said: str) -> Result:
    return CliRunner().invoke(
        as_asked(["explain"]), ["explain", "--database-url", database_url, *said]
    )


def as_login(database_url: str, name: str) -> str:
    """The same database for a login that may do what a reader may."""

    async def made() -> None:
        connection = await connect(database_url, None)
        await connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x' IN ROLE ledger_reader")
        await connection.close()

    asyncio.run(made())
    parts = urlsplit(database_url)
    at = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{name}:x@{at}"))


def drop_login(database_url: str, name: str) -> None:
    """Roles are the server's, and outlive the database."""

    async def dropped() -> None:
        connection = await connect(database_url, None)
        await connection.execute(f"DROP ROLE {name}")
        await connection.close()

    asyncio.run(dropped())


def settle(database_url: str, history: list[bytes]) -> None:
    """What a command is asked about, made before it has a loop of its own."""
    asyncio.run(decided(database_url, history))


def line(kind: str, subject: str, /, **data: object) -> bytes:
    """An event as a line."""
    event = {
        "specversion": "1.0",
        "id": f"{kind}-{subject}",
        "source": "/tests",
        "type": f"ledger.{kind}.v1",
        "subject": subject,
        "time": "2026-01-05T11:00:00Z",
        "fleet": "test",
        "data": data,
    }
    return json.dumps(event).encode()


def pod_line(name: str, **more: object) -> bytes:
    """A pod on node n1 of c1."""
    return line(
        "workload.pod.observed",
        f"c1/shop/{name}",
        cluster="c1",
        namespace="shop",
        name=name,
        uid=f"uid-{name}",
        node="n1",
        phase="Running",
        **more,
    )


PODS = [
    line(
        "workload.replicaset.upserted",
        "c1/shop/cart-77",
        cluster="c1",
        namespace="shop",
        name="cart-77",
        uid="uid-77",
        owner={"kind": "Deployment", "name": "cart", "uid": "uid-cart"},
        template_hash="77",
        replicas=1,
    ),
    pod_line("cart-77-abcde", owner={"kind": "ReplicaSet", "name": "cart-77", "uid": "uid-77"}),
    pod_line("stray"),
]

HISTORY = [
    cluster_line(1),
    cluster_line(2),
    *(
        workload_line(number, replicas=number, name=name, weights={"c1": 1, "c2": 1})
        for number, name in ((1, "cart"), (2, "card"), (3, "web"))
    ),
    workload_line(4, replicas=4, name="lost", weights={"c9": 1}),
]


def test_a_name_that_means_nothing_is_answered_with_those_nearby(database_url: str) -> None:
    settle(database_url, HISTORY)

    wrong = asked(database_url, "shop/carr")
    nonsense = asked(database_url, "42")

    assert wrong.exit_code == nonsense.exit_code == 64
    assert "perhaps shop/cart, shop/card" in wrong.stderr
    assert "has no decision 42" in nonsense.stderr


def test_a_bare_name_is_that_of_the_only_workload_with_it(database_url: str) -> None:
    settle(database_url, [*HISTORY, workload_line(5, replicas=1, name="x", weights={"c1": 1})])

    said = asked(database_url, "web")

    assert said.exit_code == 0
    assert "division of shop/web" in said.stdout


@pytest.mark.asyncio(loop_scope="module")
async def test_another_record_is_found_out(reader: Connection) -> None:
    recorded = next_division = None
    async for recorded in every_decision(reader):
        if isinstance(recorded.decision.outcome, Division) and recorded.decision.lot is not None:
            next_division = recorded
            break
    assert next_division is not None
    made = next_division.decision
    division = made.outcome
    assert isinstance(division, Division)
    more = replace(division, replicas=Replicas(division.replicas + 1))
    other = replace(made, outcome=more)
    forged = next_division._replace(decision=other, spelled=record(other))

    of = await derive(reader, forged)
    checked = check(of, telling.questions(of), [])

    assert (checked.digest, checked.redone, checked.inputs) == (False, False, None)
    assert not checked.holds


def test_a_login_that_is_a_reader_and_nothing_else_is_enough(database_url: str) -> None:
    settle(database_url, HISTORY)
    name = f"reader_{uuid4().hex[:12]}"
    reader = as_login(database_url, name)
    try:
        said = asked(reader, "shop/lost", "--why-not", "c1")
    finally:
        drop_login(database_url, name)

    assert said.exit_code == 0, said.stderr
    assert "the workload has weights for c9 only" in said.stdout


def test_several_fleets_are_to_be_told_apart(database_url: str) -> None:
    settle(database_url, [*HISTORY, cluster_line(1, fleet="other")])

    unsaid, said = (
        asked(database_url, "shop/web"),
        asked(database_url, "shop/web", "--fleet", "test"),
    )
    by_name = asked(database_url, "test/1/0")
    wrong = asked(database_url, "shop/web", "--fleet", "tes")
    of_another = asked(database_url, "test/1/0", "--fleet", "other")

    assert "ambiguous" in unsaid.stderr
    assert "other, test" in unsaid.stderr
    assert said.exit_code == by_name.exit_code == 0
    assert "perhaps test" in wrong.stderr
    assert "test/1/0 names a decision of fleet test, not of other" in of_another.stderr


def test_what_was_never_served_is_told_as_pending(database_url: str) -> None:
    settle(database_url, HISTORY)

    said = asked(database_url, "shop/lost")

    assert said.exit_code == 0
    assert "PENDING" in said.stdout
    assert "no cluster it may go to is there and ready" in said.stdout
    assert "It waits for a cluster that it may go to." in said.stdout
    assert "c9: is not there (unknown)" in said.stdout


@pytest.mark.asyncio(loop_scope="module")
async def test_who_lost_is_told_with_the_recorded_reason(reader: Connection) -> None:
    asked_of = 0
    async for recorded in every_decision(reader):
        outcome = recorded.decision.outcome
        if not isinstance(outcome, Deployment | Division | Refusal):
            continue
        held = set()
        if isinstance(outcome, Deployment):
            held = {instance.node for instance in outcome.instances}
        for name, code in outcome.losers.named:
            of = await derive(reader, recorded)
            said = await why_not(reader, of, [], [], name, [])

            assert said.verdict == ("it_was" if name in held else "lost")
            assert said.reason == (None if name in held else code)
            asked_of += 1
    assert asked_of > 50


def test_a_node_that_came_later_and_one_that_nobody_knows(database_url: str) -> None:
    settle(database_url, [*HISTORY, cluster_line(3)])

    later = asked(database_url, "shop/cart", "--why-not", "c3", "--json")
    nobody = asked(database_url, "shop/cart", "--why-not", "c4", "--json")
    it_is = asked(database_url, "shop/card", "--why-not", "c2", "--json")

    assert json.loads(later.stdout)["why_not"]["verdict"] == "not_asked"
    assert "came after" in json.loads(later.stdout)["why_not"]["lines"][0]
    assert json.loads(nobody.stdout)["why_not"]["verdict"] == "unknown"
    assert json.loads(it_is.stdout)["why_not"]["verdict"] == "it_is"


def test_a_pod_of_a_replicaset_that_nobody_told_of_says_so(database_url: str) -> None:
    settle(database_url, [*HISTORY, PODS[1]])

    said = asked(database_url, "c1/shop/cart-77-abcde")

    assert said.exit_code == 64
    assert (
        "it is of ReplicaSet cart-77, and nobody told whose that is, so it counts for no workload"
        in said.stderr
    )


def test_a_pod_that_is_spelled_as_a_decision_is_found(database_url: str) -> None:
    told = {"cluster": "c1", "namespace": "1", "name": "0", "uid": "uid-0", "phase": "Pending"}
    settle(database_url, [*HISTORY, line("workload.pod.observed", "c1/1/0", **told)])

    said = asked(database_url, "c1/1/0")

    assert said.exit_code == 64
    assert "it counts for no workload" in said.stderr


def test_what_is_held_or_not_decided_yet_says_so(database_url: str) -> None:
    settle(database_url, [policy_line(1, hold=True), *HISTORY])
    held = asked(database_url, "shop/cart", "--json")
    asyncio.run(ingested(database_url, [workload_line(7, replicas=1, name="new")]))

    behind = asked(database_url, "shop/new", "--json")
    said = asked(database_url, "shop/new")

    assert json.loads(held.stdout)["waiting"] == "hold"
    assert json.loads(behind.stdout)["waiting"] == "undecided"
    assert "1 event waits to be decided" in said.stdout


def test_a_pod_counts_for_whoever_owns_its_replicaset(database_url: str) -> None:
    settle(database_url, [*HISTORY, *PODS])

    said = json.loads(asked(database_url, "c1/shop/cart-77-abcde", "--json").stdout)
    by_name = json.loads(asked(database_url, "cart-77-abcde", "--json").stdout)
    by_kind = json.loads(asked(database_url, "cart-77-abcde", "--kind", "pod", "--json").stdout)
    without_cluster = json.loads(asked(database_url, "shop/cart-77-abcde", "--json").stdout)
    stranger = asked(database_url, "c1/shop/stray")

    assert said == without_cluster
    assert said["subject"] == "shop/cart"
    assert said == by_name == by_kind
    assert said["pod"]["data"]["node"] == "n1"
    assert stranger.exit_code == 64
    assert "it counts for no workload" in stranger.stderr
