"""What was decided about jobs folds again: over histories that crowd them."""

from hypothesis import given

from ledger.facts.decision import from_record, record
from ledger.reducers.evolve import follow
from tests.histories import History
from tests.laws import job_histories
from tests.laws.job_histories import Happening
from tests.laws.test_engine import anew, long_histories

histories = job_histories.histories(40, 70)


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
