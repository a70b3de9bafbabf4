"""The words by which nodes, pods and workloads speak of on-demand and spot capacity.

What is written here stands on Kubernetes objects of users, so it is a contract: the annotation that
a workload carries, the label and the annotations that a pod receives, and the label by which nodes
are told apart. The last one differs from cloud to cloud and is therefore a value.
"""

from dataclasses import dataclass
from typing import Final, Literal

CapacityClass = Literal["spot", "od"]
"""Where a pod belongs: ``od`` has to run on an on-demand node, ``spot`` prefers a spot node."""

DESIRED_CAPACITY: Final = "distributed-scheduling/desired-capacity"
"""The pod label that says what was decided. No selector may name it: it is for people and counts."""

MIN_AVAILABLE: Final = "distributed-scheduling/min-available"
"""The annotation of a workload that says how many of its pods belong on on-demand nodes."""

RESERVATION: Final = "distributed-scheduling/reservation"
"""The pod annotation that says which reservation the pod holds.

While a pod is being admitted it has no name and no uid yet, so this is all that ties the pod that
appears later to the decision that was made before.
"""

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
"""The pod annotation by which a ReplicaSet chooses whom to delete among ready pods."""

DESIRED_WORDS: Final[dict[CapacityClass, str]] = {"od": "on-demand", "spot": "spot"}
"""The values of ``DESIRED_CAPACITY``, the same in every cloud."""


@dataclass(frozen=True, slots=True)
class NodeLabel:
    """The label that tells on-demand nodes from spot nodes, and its two values."""

    key: str = "node.kubernetes.io/capacity"
    on_demand: str = "on-demand"
    spot: str = "spot"
