"""Whoever is refused and would be again is not asked in vain, and nobody is passed over who could be served."""

from hypothesis import given

from ledger.decisions.answer import Answered
from ledger.decisions.deployment import answer
from ledger.decisions.deployment_record import answers
from ledger.decisions.deployment_turn import Turn
from ledger.facts.event import Fact
from ledger.facts.reason import Cause
from ledger.reducers.world import Causes, Question, World
from tests.histories import History
from tests.laws.test_deployments import histories, long_histories

RETRIED: tuple[Cause, ...] = ("room", "policy")


@long_histories
@given(histories)
def test_a_retry_comes_to_what_taking_the_turn_comes_to(history: list[tuple[Fact, int]]) -> None:
    log = History()
    worlds = [log.world]

    for place, (fact, after) in enumerate(history):
        worlds.append(log.add(fact, after=after).world)
        # What is kept from question to question serves older Worlds as well.
        for world in (worlds[-1], worlds[place // 2], worlds[-1]):
            for question in sorted(world.refusals):
                if question.kind == "deployment":
                    for cause in RETRIED:
                        causes: Causes = frozenset({cause})
                        assert answer(world, world, question, causes) == taken(
                            world, question, causes
                        )


def taken(world: World, question: Question, causes: Causes) -> tuple[Answered, ...]:
    """What comes of the turn."""
    here = world.deployments.of.get(question.subject)
    if here is None:
        return ()
    turn = Turn(world, world, question.subject, causes, here, here)
    turn.take()
    return answers(turn)
