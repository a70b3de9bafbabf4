"""What happens to a fleet's policy.

A change takes effect at its own position and asks nobody who was served. Whoever was refused for
want of another policy is asked again when a setting of that system, or its version, changed.
"""

from dataclasses import replace
from typing import Final

from immutables import Map

from ledger.facts.control import PolicyChanged
from ledger.facts.genesis import policy_digest
from ledger.facts.policy import merge
from ledger.reducers.world import Causes, World

WAITS_FOR_POLICY: Final = "policy"
"""What a refusal waits for that only another policy can end."""

_CHANGED: Final[Causes] = frozenset({"policy"})


def changed(world: World, fact: PolicyChanged) -> World:
    """Some settings have new values; the salt is the business of the genesis."""
    before = world.policy
    after = merge(before, fact.change, default=world.genesis.policy)
    moved = (before.division, before.algorithms.division) != (
        after.division,
        after.algorithms.division,
    )
    asked_again = {
        question: _CHANGED
        for question in sorted(world.refusals)
        if moved
        and question.kind == "division"
        and world.refusals[question].refusal.waits_for == WAITS_FOR_POLICY
    }
    return replace(
        world,
        policy=after,
        policy_digest=policy_digest(world.genesis, after),
        due=Map(asked_again),
    )
