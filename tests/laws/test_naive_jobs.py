"""The engine decides about jobs as the naive model does, and what holds after every event.

What holds is told of the naive model; since the engine agrees with it, it holds of both.
"""

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings

from ledger.facts import workload
from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.facts.incident import Incident
from ledger.facts.refusal import Refusal
from ledger.reducers.book import NOTHING_HELD
from ledger.units import Subject
from tests.histories import FLEET, History, subject_of
from tests.laws import job_histories
from tests.laws.job_histories import Happening, long_histories
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_incidents import NaiveIncidents
from tests.laws.naive_jobs import NaiveJobs, Seat, TaskKey
from tests.laws.naive_part import Said, heading

histories = job_histories.histories(30, 60)


def told(made: Decision) -> Said:
    """A decision as the naive model says it."""
    said = heading(made)
    match made.outcome:
        case Allocation() | Eviction() as outcome:
            said.rows = {str(one.task): f"{one.cluster}/{one.node}" for one in outcome.tasks}
        case Refusal() as refusal:
            said.reason, said.waits_for = refusal.reason, refusal.waits_for
        case Incident() as incident:
            numbers = " ".join(f"{name}:{number}" for name, number in incident.numbers)
            said.rows, said.reason = {incident.node: numbers}, incident.what
        case _:
            raise AssertionError(f"nobody asked for a {made.kind}")
    return said


def agrees(history: list[Happening]) -> None:
    """Event by event: the decisions, what ended, and what is held on each node."""
    log = History()
    naive = NaiveFleet(salt=FLEET)
    NaiveJobs(naive)
    NaiveIncidents(naive)
    for fact, source, after in history:
        step = log.add(fact, source=source, after=after)
        naive.add(fact, subject=subject_of(fact), source=source, at=log.events[-1].recorded_at)

        # Workloads that are no jobs are divided meanwhile, which is compared elsewhere.
        made = [one for one in step.decisions if not _divides(one)]
        assert [told(one) for one in made] == naive.said
        assert step.effect == naive.effect
        assert sorted(step.ended) == sorted(naive.ended)
        for node in naive.all("node"):
            kept = step.world.book.get(Subject(node), NOTHING_HELD)
            held = naive.book.all_holdings(node)
            assert kept[:4] == (
                sum(one.milli for one in held),
                sum(one.memory for one in held),
                sum(one.storage for one in held),
                len(held),
            )


def _divides(made: Decision) -> bool:
    outcome = made.outcome
    refused = isinstance(outcome, Refusal) and outcome.wanted == "division"
    return refused or isinstance(outcome, Division)


@long_histories
@given(histories)
def test_the_engine_decides_as_somebody_who_looks_at_everything(history: list[Happening]) -> None:
    agrees(history)


@pytest.mark.long
@settings(long_histories, max_examples=2_000, phases=[Phase.generate])
@given(job_histories.histories(200, 220))
def test_the_engine_decides_so_over_long_histories(history: list[Happening]) -> None:
    agrees(history)


def lived(history: list[Happening]) -> Iterator[tuple[Happening, NaiveFleet, NaiveJobs]]:
    """The fleet after each event of a history."""
    fleet = NaiveFleet(salt="shop")
    jobs = NaiveJobs(fleet)
    at = 0
    for happening in history:
        at += happening.after
        fleet.add(
            happening.fact, subject=subject_of(happening.fact), source=happening.source, at=at
        )
        yield happening, fleet, jobs


@long_histories
@given(histories)
def test_a_round_takes_no_more_than_there_is(history: list[Happening]) -> None:
    for _, fleet, jobs in lived(history):
        for said in fleet.said:
            for index, node in said.rows.items():
                if said.kind == "allocation" and fleet.fact("node", node) is not None:
                    free, slots = jobs.free(node)
                    seat = jobs.seats.get((said.subject, int(index)))
                    if seat is not None and not _shrunk(fleet):
                        took = {"cpu": seat.request.cpu, "memory": seat.request.memory}
                        assert all(free[name] >= 0 for name, amount in took.items() if amount)
                        assert slots is None or slots >= 0


def _shrunk(fleet: NaiveFleet) -> bool:
    """Whether the node was told of in this very event, after a round of its deadline."""
    return any(said.moment is not None for said in fleet.said)


@long_histories
@given(histories)
def test_a_task_keeps_its_place_until_it_ends_its_node_goes_or_somebody_takes_it(
    history: list[Happening],
) -> None:
    before: dict[TaskKey, Seat] = {}
    for happening, fleet, jobs in lived(history):
        evicted = {
            (said.subject, int(index))
            for said in fleet.said
            if said.kind == "eviction"
            for index in said.rows
        }
        for key, seat in before.items():
            kept = jobs.seats.get(key) is seat
            node = fleet.fact("node", seat.node)
            fact = fleet.fact("workload", key[0])
            same = fact is not None and fleet.life("workload", key[0]) == seat.job_life
            ended = (
                not same
                or fact.queue is None
                or fact.kind != "Job"
                or key[1] >= fact.replicas
                or (
                    isinstance(happening.fact, workload.JobFinished)
                    and subject_of(happening.fact) == key[0]
                )
            )
            # A node can go for a moment, when its grace ends right before it is ready again.
            lost = node is None or not node.ready or fleet.life("node", seat.node) != seat.node_life
            assert kept or key in evicted or ended or lost or fleet.settings.get("grace.node_ms")
            assert not (kept and key in evicted)
        before = dict(jobs.seats)


@long_histories
@given(histories)
def test_nobody_has_two_places_and_no_decision_is_about_nobody(history: list[Happening]) -> None:
    for _, fleet, jobs in lived(history):
        for said in fleet.said:
            assert said.rows or said.kind == "refusal"
        held = Counter(key for key in jobs.seats if not jobs.is_task(key))
        assert not held


def test_the_histories_reach_what_the_laws_speak_of() -> None:
    """A law about evictions says nothing if nobody is ever evicted."""
    seen: set[str] = set()

    @long_histories
    @given(histories)
    def look(history: list[Happening]) -> None:
        for _, fleet, _ in lived(history):
            seen.update(said.reason or said.kind for said in fleet.said)

    look()

    assert seen >= {"eviction", "allocation", "evicted", "unknown_queue", "queue_closed"}
    assert seen >= {"gang_short", "node_fit", "queue_limit", "queue_overused"}
