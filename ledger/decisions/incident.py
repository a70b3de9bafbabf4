"""What contradicts the book, as decisions to be recorded.

Which contradictions there are, and when one begins and ends, is told in
``ledger.reducers.incidents``. Here they only become answers, in the order of their subjects, then
of what they are, then of the nodes. The version is that of the engine, which finds them.
"""

from collections.abc import Sequence
from typing import Final

from ledger.decisions.answer import Answered
from ledger.facts.canonical import digest
from ledger.facts.incident import Incident
from ledger.reducers.world import World

SYSTEM: Final = "engine"


def untold(world: World) -> Sequence[Answered]:
    """Everything that contradicts the book and was not recorded yet."""
    contradictions = world.incidents.untold
    return [
        Answered(
            subject=one.subject,
            algorithm=SYSTEM,
            version=world.policy.algorithms.engine,
            inputs=digest(
                {
                    "subject": one.subject,
                    "what": one.what,
                    "node": one.node,
                    "numbers": dict(contradictions[one]),
                }
            ).hex(),
            branch=one.what,
            outcome=Incident(one.what, one.node, contradictions[one]),
            moved=0,
        )
        for one in sorted(contradictions)
    ]
