"""Of which capacity class a pod is that runs, as far as anybody says.

First the reservation that it holds: it was admitted to that class. Then its own label, which says the
same of pods whose admission is forgotten. Then the node that it is on.
"""

from ledger.core.spot.labels import DESIRED_WORDS, CapacityClass
from ledger.facts.cluster import NodeUpserted
from ledger.facts.workload import PodObserved
from ledger.reducers.world import World
from ledger.units import Subject


def class_of(world: World, pod: PodObserved) -> CapacityClass | None:
    """The class of a pod; None where nobody says."""
    row = world.admissions.row_of(pod)
    if row is not None and row.capacity is not None:
        return row.capacity
    for capacity, word in sorted(DESIRED_WORDS.items()):
        if pod.capacity_class == word:
            return capacity
    node = world.objects.fact("node", Subject(f"{pod.cluster}/{pod.node}"))
    spot = world.policy.spot
    value = dict(node.labels).get(spot.label) if isinstance(node, NodeUpserted) else None
    if value == spot.on_demand:
        return "od"
    return "spot" if value == spot.spot else None
