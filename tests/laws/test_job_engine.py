"""Rounds as the engine decides them, against the naive jobs: over histories that crowd them."""

from hypothesis import given

from ledger.facts.decision import from_record, record
from ledger.reducers.evolve import follow
from tests.histories import FLEET, History, subject_of
from tests.laws import job_histories
from tests.laws.job_histories import Happening
from tests.laws.naive_fleet import NaiveFleet
from tests.laws.naive_jobs import NaiveJobs
from tests.laws.test_engine import Numbers, about_jobs, anew, long_histories, told

histories = job_histories.histories(40, 70)


@long_histories
@given(histories)
def test_jobs_that_are_looked_at_one_by_one_are_decided_the_same(history: list[Happening]) -> None:
    log = History()
    numbers = Numbers()
    naive = NaiveFleet(salt=FLEET)
    NaiveJobs(naive)

    for fact, source, after in history:
        step = log.add(fact, source=source, after=after)
        expected = naive.add(
            fact, subject=subject_of(fact), source=source, at=log.events[-1].recorded_at
        )

        decisions, ended = numbers.without_incidents(step)
        assert [said for made in decisions if (said := about_jobs(made))] == naive.said
        assert [told(made) for made in decisions if about_jobs(made) is None] == expected
        assert step.effect == naive.effect
        assert sorted(ended) == sorted(naive.ended)


@long_histories
@given(histories)
def test_rounds_that_were_decided_fold_to_the_world_that_decided_them(
    history: list[Happening],
) -> None:
    log = History()
    world = anew()

    for fact, source, after in history:
        step = log.add(fact, source=source, after=after)
        made = [from_record(record(decision)) for decision in step.decisions]
        world = follow(world, log.events[-1], made)

        assert world == step.world
