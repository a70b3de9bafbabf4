"""Jobs that name a queue which is not there: refused at once, whether or not a round is due.

Such a job waits for its queue and takes part in no round. Once the queue is there, a round serves it
or gives another reason; until then this one stands.
"""

from collections.abc import Sequence
from typing import Final

from ledger.decisions.answer import REFUSED, Answered
from ledger.facts.canonical import digest
from ledger.facts.refusal import Refusal
from ledger.reducers.jobs import WAITS_FOR_QUEUE
from ledger.reducers.world import Causes, Question, World

SYSTEM: Final = "fairshare"
UNKNOWN_QUEUE: Final = "unknown_queue"


def answer(_: World, world: World, question: Question, causes: Causes) -> Sequence[Answered]:
    """Refuse a job whose queue is not known, unless it has been told so."""
    tasks = world.jobs.of.get(question.subject)
    if tasks is None or not tasks.waiting or tasks.queue in world.jobs.queues:
        return ()
    open_refusal = world.refusals.get(question)
    if open_refusal is not None and open_refusal.refusal.reason == UNKNOWN_QUEUE:
        return ()
    return (
        Answered(
            subject=question.subject,
            algorithm=SYSTEM,
            version=world.policy.algorithms.fairshare,
            inputs=digest({"queue": tasks.queue, "known": False}).hex(),
            branch=REFUSED,
            outcome=Refusal(
                wanted="allocation",
                reason=UNKNOWN_QUEUE,
                waits_for=WAITS_FOR_QUEUE,
                detail=(("waiting", tasks.waiting),),
                because=tuple(sorted(causes)),
            ),
            moved=0,
        ),
    )
