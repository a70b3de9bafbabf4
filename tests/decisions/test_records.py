"""The record of a decision: one spelling, read back whole, and nothing in it but the log's doing."""

import json
import subprocess
import sys
from pathlib import Path

from ledger.decisions.division import given, spelled
from ledger.facts.canonical import digest
from ledger.facts.decision import Decision, from_record, record
from ledger.facts.event import Event
from ledger.facts.reason import LOSERS_NAMED, losers
from ledger.reducers.evolve import follow
from ledger.reducers.world import World, begin
from ledger.units import Incarnation, Subject
from tests.histories import (
    DAY,
    SECOND,
    History,
    cluster_gone,
    cluster_up,
    divided,
    division_of,
    fairness_of,
    genesis,
    node_up,
    only,
    policy,
    reschedule,
    workload_gone,
    workload_up,
)

LONG_FORGOTTEN = 14
"""Where a workload comes back whose tombstone has crumbled."""


def eventful() -> History:
    """A little of everything."""
    history = History()
    history.add(policy({"grace.cluster_ms": 2000}))
    history.add_all(*(cluster_up(f"m{n}", labels={"odd": str(n % 2)}) for n in range(1, 6)))
    history.add(workload_up("ns/web", 7, divided({"m1": 3, "m2": 2, "m3": 1, "m9": 4})))
    history.add(workload_up("ns/api", 5, divided(selector={"odd": "1"}, caps={"m1": 1})))
    history.add(workload_up("ns/odd", 5, divided(strategy="webster")))
    history.add(cluster_up("m1", ready=False, labels={"odd": "1"}), after=SECOND)
    history.add(node_up("m2", "n"), after=3 * SECOND)
    history.add(reschedule("ns/web"))
    history.add(cluster_up("m1", labels={"odd": "0"}))
    history.add(workload_gone("ns/api"))
    history.add(workload_up("ns/api", 5, divided(clusters=["m8"])), after=2 * DAY)
    history.add(cluster_gone("m2"))
    history.add(workload_up("ns/web", 7, divided({"m1": 3}), uid="two"))
    return history


def made(history: History) -> list[Decision]:
    return [decision for step in history.steps for decision in step.decisions]


def test_a_record_is_read_back_whole() -> None:
    decisions = made(eventful())

    assert {decision.kind for decision in decisions} == {"division", "refusal"}
    assert any(decision.deadline is not None for decision in decisions)
    for decision in decisions:
        assert from_record(record(decision)) == decision


def test_numbers_have_no_gaps_and_each_decision_names_the_one_before_it() -> None:
    newest: dict[Subject, int] = {}

    for number, decision in enumerate(made(eventful())):
        assert decision.number == number
        if decision.position != LONG_FORGOTTEN:
            assert decision.previous == newest.get(decision.subject)
        newest[decision.subject] = number


def test_a_subject_that_was_forgotten_begins_a_new_chain() -> None:
    again = [decision for decision in made(eventful()) if decision.position == LONG_FORGOTTEN]

    assert [(decision.subject, decision.previous) for decision in again] == [("ns/api", None)]


def test_a_record_names_the_first_losers_and_counts_the_rest() -> None:
    passed_over = [(f"m{n:02}", "unknown") for n in range(LOSERS_NAMED + 4)]

    told = losers([*passed_over, ("z", "not_ready")])

    assert told.counts == (("not_ready", 1), ("unknown", LOSERS_NAMED + 4))
    assert told.named == tuple(passed_over[:LOSERS_NAMED])


def test_the_inputs_can_be_digested_again_by_whoever_has_the_world() -> None:
    history = History()
    history.add_all(cluster_up("m1"), cluster_up("m2"), cluster_up("m3"))
    history.add(workload_up("ns/web", 4, divided({"m1": 2, "m2": 1}, caps={"m1": 3})))

    step = history.add(reschedule("ns/web", fresh=False))

    world = history.steps[-2].world
    asked = given(world, Subject("ns/web"), frozenset({"rescheduled"}))
    assert only(step).inputs == digest(spelled(asked)).hex()


def test_what_the_core_is_not_given_is_not_in_the_inputs() -> None:
    def inputs(caps: dict[str, int]) -> str:
        history = History()
        history.add(cluster_up("m1"))
        return only(history.add(workload_up("ns/web", 4, divided({"m1": 1}, caps=caps)))).inputs

    assert inputs({"m2": 3}) == inputs({})
    assert inputs({"m1": 9}) != inputs({})


def test_a_draw_can_be_redone_from_its_record() -> None:
    history = History()
    history.add_all(*(cluster_up(f"m{n}") for n in range(1, 5)))

    decision = only(history.add(workload_up("ns/web", 6, divided())))

    division = division_of(decision)
    assert decision.lot is not None
    assert fairness_of(decision).drawn == "winners"
    assert {share.cluster for share in division.shares if share.residual} == set(decision.lot.draws)
    for share in division.shares:
        assert (share.weight, share.floor, share.remainder) == (1, 1, 2)
    assert fairness_of(decision).total_weight == 4


def test_history_that_was_decided_folds_to_the_same_world() -> None:
    history = eventful()

    world = followed(history.events, [list(step.decisions) for step in history.steps])

    assert world == history.world


def test_a_world_does_not_depend_on_the_seed_of_hashes() -> None:
    """Sets and maps walk in another order under another seed; no byte may show it."""
    program = (
        "from tests.decisions.test_records import eventful, made;"
        "from ledger.facts.decision import record;"
        "print([record(decision) for decision in made(eventful())])"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ".", "TZ": zone},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
        ).stdout
        for seed, zone in (("0", "UTC"), ("1", "Asia/Kathmandu"), ("77", "UTC"))
    }

    assert len(seen) == 1
    assert len(seen.pop()) > 1000


def test_a_record_is_canonical_json() -> None:
    for decision in made(eventful()):
        spelling = record(decision)

        plain = json.loads(spelling)
        assert (
            spelling
            == json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        )


def followed(events: list[Event], decided: list[list[Decision]]) -> World:
    world = begin(genesis(), incarnation=Incarnation(1))
    for event, decisions in zip(events, decided, strict=True):
        world = follow(world, event, [from_record(record(decision)) for decision in decisions])
    return world
