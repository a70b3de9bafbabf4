"""Where a decision puts things: how many at which place, whatever kind of thing it is.

A place is spelled as people name it: a cluster, cluster/node, cluster/node/disk. Decisions of divisions,
deployments and disks are complete, so two of them about one subject say all that has changed between.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from ledger.facts.allocation import Allocation
from ledger.facts.decision import Outcome
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement, InForce
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction

Places = Mapping[str, int]
"""How many where, in the order of the names."""


def places(outcome: Outcome | None) -> Places:
    """What an outcome left in force, or of a job's tasks what it placed or evicted."""
    match outcome:
        case Division(shares=shares):
            return {share.cluster: share.replicas for share in shares if share.replicas}
        case Deployment(cluster=cluster, instances=instances):
            return counted(f"{cluster}/{instance.node}" for instance in instances)
        case DiskPlacement(replicas=replicas):
            return counted(disk(one) for one in replicas)
        case Allocation(tasks=tasks) | Eviction(tasks=tasks):
            return counted(f"{task.cluster}/{task.node}" for task in tasks)
        case _:
            return {}


def disk(one: InForce) -> str:
    """A replica's disk by its full name."""
    return "/".join(filter(None, (one.cluster, one.node, one.disk)))


def counted(named: Iterable[str]) -> Places:
    """How often each place is named."""
    counts = Counter(named)
    return {place: counts[place] for place in sorted(counts)}


def elsewhere(before: Places, after: Places) -> int:
    """How many are in another place; what came anew or only went is not."""
    changes = [after.get(one, 0) - before.get(one, 0) for one in sorted({*before, *after})]
    return min(
        sum(change for change in changes if change > 0),
        -sum(change for change in changes if change < 0),
    )
