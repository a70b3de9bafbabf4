"""Which replicas would go to other disks, so that the disks are more evenly full.

The core plans it (``ledger.core.disk.rebalance``) by the measure that sees every disk, ``spread``: by
the one that placements go by, no single move helps where two disks are equally full. A subject is a
volume, a node with disks, a cluster, or everything (``ledger.decisions.stock``).
"""

from typing import Final

from ledger.core.disk.rebalance import Address, Measure
from ledger.decisions import versions
from ledger.decisions.hosts import hosts_of
from ledger.decisions.planned import Limits, Planned
from ledger.decisions.stock import reach, stock
from ledger.facts.proposal import Proposed
from ledger.reducers.world import World
from ledger.units import Bytes, Subject

MEASURE: Final[Measure] = "spread"


def plan(world: World, subject: Subject, limits: Limits) -> Planned | None:
    """The moves that a subject allows; None where nobody knows of it."""
    within = reach(world, subject)
    if within is None:
        return None
    lying = stock(world, within)
    found = versions.disk(world.policy.algorithms.disk).plan(
        lying, max_moves=limits.moves, max_bytes=limits.size, measure=MEASURE
    )
    alpha = lying.rules.alpha
    bounds = lying.rules.limits
    hosts = hosts_of(world)
    full = [node.name for node in lying.nodes if node.busy]
    return Planned(
        measure=MEASURE,
        before=found.before,
        after=found.after,
        moves=tuple(
            Proposed(
                subject=Subject(move.volume),
                thing=move.replica,
                out=_named(move.source),
                into=_named(move.target),
                size=Bytes(move.size),
                score=move.score,
            )
            for move in found.moves
        ),
        ended=found.ended,
        inputs=lambda: {
            "hosts": hosts.fingerprints().hex(),
            "inside": sorted(within.hosts),
            "stored": [
                [
                    one.volume,
                    one.replica.name,
                    one.replica.node,
                    one.replica.disk,
                    one.replica.failed,
                ]
                for one in lying.stored
            ],
            "volumes": {
                name: [volume.size, volume.node_selector, volume.demands.disk_selector]
                for name, volume in sorted(lying.volumes.items())
            },
            "alpha": [alpha.numerator, alpha.denominator],
            "limits": [bounds.over_provisioning_pct, bounds.min_available_pct],
            "allow_empty": [
                lying.rules.allow_empty_node_selector,
                lying.rules.allow_empty_disk_selector,
            ],
            "most": limits,
            **({"rebuilding": full} if full else {}),
        },
    )


def _named(address: Address) -> str:
    return "/".join(address)
