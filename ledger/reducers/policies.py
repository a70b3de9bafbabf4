"""What happens to a fleet's policy.

A change takes effect at its own position and asks nobody who was served. Whoever was refused a
division or a deployment and waits for clusters or their nodes is asked again when a setting that
those are made by, or their version, changed; and so is a volume that waits for disks. Whoever is short of
on-demand places is looked at then, too. Rounds of jobs
read how shares are made.
"""

from ledger.facts.control import PolicyChanged
from ledger.facts.genesis import policy_digest
from ledger.facts.policy import Policy, merge
from ledger.reducers import deficits, deployments, past_use, retries, rounds, volumes
from ledger.reducers.replacing import replace
from ledger.reducers.world import World


def changed(world: World, fact: PolicyChanged) -> World:
    """Some settings have new values; the salt is the business of the genesis."""
    before = world.policy
    after = merge(before, fact.change, default=world.genesis.policy)
    world = replace(world, policy=after, policy_digest=policy_digest(world.genesis, after))
    if _divides_by(before) != _divides_by(after):
        world = retries.other_policy(world, "division")
    if _deploys_by(before) != _deploys_by(after):
        world = retries.other_policy(world, "deployment")
        world = deficits.room_grew(world, sorted(world.proposals.lacking))
    if _classes_by(before) != _classes_by(after):
        world = deployments.other_targets(world)
    if _stores_by(before) != _stores_by(after):
        world = volumes.other_policy(world)
    world = past_use.changed(world, before.fairshare.history)
    return world if _shares_by(before) == _shares_by(after) else rounds.changed(world)


def _divides_by(policy: Policy) -> tuple[object, ...]:
    return policy.division, policy.algorithms.division, policy.placement.max_deploy


def _deploys_by(policy: Policy) -> tuple[object, ...]:
    return policy.placement, policy.spot, policy.algorithms.placement, policy.algorithms.spot


def _classes_by(policy: Policy) -> tuple[object, ...]:
    return policy.spot, policy.algorithms.spot


def _stores_by(policy: Policy) -> tuple[object, ...]:
    return policy.disk, policy.algorithms.disk


def _shares_by(policy: Policy) -> tuple[object, ...]:
    return policy.fairshare, policy.algorithms.fairshare
