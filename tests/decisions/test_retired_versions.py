"""A version that was retired still decides what it decided, for whoever brings it; others stop."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import asyncpg
import pytest

from ledger.decisions import versions
from ledger.decisions.decide import Decided
from ledger.decisions.step import DECIDING, advance
from ledger.errors import AlgorithmMissing
from ledger.facts.decision import Decision, from_record, record
from ledger.facts.event import Event
from ledger.facts.reason import Deadline
from ledger.log import fleets, lines
from ledger.log.database import connect
from ledger.reducers.evolve import FOLDING, Folding, evolve, follow, lapse
from ledger.reducers.registry import Versions
from ledger.reducers.world import World
from ledger.replay.replay import replay
from ledger.replay.report import SAME, VERSION_MISSING, Report
from ledger.units import ClusterName, FleetName, Replicas
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, policy_line, workload_line
from tests.histories import History, allocation, cluster_up, divided, only, policy, workload_up

RETIRED = 1000
"""No version of any program: a toy that gives copies to the first cluster alone."""


def to_the_first(
    replicas: Replicas, candidates: Sequence[ClusterName]
) -> dict[ClusterName, Replicas]:
    first = min(candidates)
    return {one: replicas if one == first else Replicas(0) for one in candidates}


@contextmanager
def having_the_retired() -> Iterator[None]:
    """A program that has the toy beside its own."""
    versions.DIVISION.bring(RETIRED, replace(versions.DIVISION.of(1), duplicated=to_the_first))
    try:
        yield
    finally:
        versions.DIVISION.retire(RETIRED)


@pytest.fixture
def retired() -> Iterator[None]:
    with having_the_retired():
        yield


def of_no_effect(world: World, fact: Event | Decision) -> World:
    folded = evolve(world, fact)
    return replace(folded, last_effect="no_effect") if isinstance(fact, Event) else folded


def asking_nobody(world: World, event: Event, *, deadline: Deadline | None = None) -> Decided:
    return Decided(world, ())


@pytest.fixture
def retired_engine() -> Iterator[None]:
    """A program that has the toy of an engine: it asks nobody, and calls all it folds of no effect."""
    FOLDING.bring(RETIRED, Folding(of_no_effect, lapse))
    DECIDING.bring(RETIRED, asking_nobody)
    try:
        yield
    finally:
        FOLDING.retire(RETIRED)
        DECIDING.retire(RETIRED)


def lived() -> History:
    log = History()
    log.add_all(cluster_up("m1"), cluster_up("m2"), policy({"algorithms.division": RETIRED}))
    log.add(workload_up("ns/a", 3, divided(strategy="duplicated")))
    log.add(workload_up("ns/b", 5, divided(strategy="duplicated")))
    log.add(policy({"algorithms.division": None}))
    log.add(workload_up("ns/a", 4, divided(strategy="duplicated")))
    return log


@pytest.mark.usefixtures("retired")
def test_the_next_question_of_each_subject_uses_the_new_version() -> None:
    log = lived()

    *_, first, other, changed, after = log.steps

    assert [(only(step).version, allocation(only(step))) for step in (first, other, after)] == [
        (RETIRED, {"m1": 3}),
        (RETIRED, {"m1": 5}),
        (1, {"m1": 4, "m2": 4}),
    ]
    assert changed.decisions == (), "who was served is not asked again"
    assert only(after).previous == only(first).number


@pytest.mark.usefixtures("retired")
def test_what_a_retired_version_decided_is_decided_again_and_folds_the_same() -> None:
    log = lived()

    decided = followed = History().world
    for event, step in zip(log.events, log.steps, strict=True):
        again = advance(decided, event)
        decided = again.world
        assert [record(made) for made in again.decisions] == [
            record(made) for made in step.decisions
        ]
        followed = follow(followed, event, [from_record(record(made)) for made in step.decisions])
        assert followed == decided


@pytest.mark.usefixtures("retired_engine")
def test_the_policy_before_an_event_names_the_engine_that_folds_and_asks() -> None:
    log = History()
    log.add_all(cluster_up("m1"), workload_up("ns/a", 3, divided(strategy="duplicated")))
    log.add(policy({"algorithms.engine": RETIRED}))
    log.add(workload_up("ns/a", 4, divided(strategy="duplicated")))
    log.add(policy({"algorithms.engine": None}))
    log.add(workload_up("ns/a", 5, divided(strategy="duplicated")))

    assert [(one.effect, len(one.decisions)) for one in log.steps] == [
        ("applied", 0),
        ("applied", 1),
        ("applied", 0),
        ("no_effect", 0),
        ("no_effect", 0),
        ("applied", 1),
    ]
    assert allocation(only(log.steps[-1])) == {"m1": 5}


@pytest.mark.usefixtures("retired_engine")
def test_what_a_retired_engine_folded_is_followed_to_the_same_world() -> None:
    log = History()
    log.add_all(policy({"algorithms.engine": RETIRED}), cluster_up("m1"))
    log.add(workload_up("ns/a", 4, divided(strategy="duplicated")))

    followed = History().world
    for event, made in zip(log.events, log.steps, strict=True):
        followed = follow(followed, event, made.decisions)

    assert followed == log.world
    assert followed.last_effect == "no_effect"


def test_nobody_follows_an_engine_that_this_program_lacks() -> None:
    log = History()
    log.add(policy({"algorithms.engine": RETIRED}))
    after = replace(log.events[0], position=log.world.position)

    with pytest.raises(AlgorithmMissing, match=f"engine: version {RETIRED}"):
        follow(log.world, after, ())


def test_a_number_means_one_thing() -> None:
    some = Versions("division", {1: "this"})
    with pytest.raises(AssertionError, match="division 1 means something already"):
        some.bring(1, "that")
    some.retire(1)
    with pytest.raises(AlgorithmMissing, match="division: version 1"):
        some.of(1)


async def replayed(connection: asyncpg.Connection) -> Report:
    fleet = await fleets.find(connection, FleetName("test"))
    assert fleet is not None
    return await replay(connection, fleet)


async def test_a_log_replays_where_its_versions_are_and_stops_where_one_is_missing(
    database_url: str,
) -> None:
    told = [
        policy_line(0, algorithms={"division": RETIRED}),
        cluster_line(1),
        cluster_line(2),
        workload_line(3, replicas=2, strategy="duplicated"),
        policy_line(4, algorithms={"division": None}),
        workload_line(5, replicas=3, strategy="duplicated"),
    ]
    anybody = await connect(database_url, None)
    try:
        with having_the_retired():
            await lines.ingest(anybody, told)
            await decide_all(database_url)
            assert (await replayed(anybody)).exit_code == SAME
        report = await replayed(anybody)
        made = await anybody.fetch(
            "SELECT d.version, sum(v.replicas)::int AS copies FROM ledger_api.decisions d"
            "  JOIN ledger_api.divisions v USING (fleet, number)"
            " GROUP BY d.number, d.version ORDER BY d.number"
        )
    finally:
        await anybody.close()

    assert [tuple(row) for row in made] == [(RETIRED, 2), (1, 6)]
    assert report.exit_code == VERSION_MISSING
    assert report.diverged is not None
    assert (report.diverged.trouble, report.diverged.position) == ("version_missing", 3)
