"""Give every candidate all the replicas: the strategy for what has to run everywhere.

Nothing is divided, nothing is left over and nothing depends on a last result or on what is
available. Which clusters are candidates is left to whoever asks.

Rule: docs/core/dynamic.md
"""

from collections.abc import Sequence

from ledger.core.shares import require_count, require_distinct
from ledger.units import ClusterName, Replicas


def duplicate(replicas: Replicas, candidates: Sequence[ClusterName]) -> dict[ClusterName, Replicas]:
    """The whole number for each candidate, in the order of the names."""
    require_count("replicas", replicas)
    require_distinct("candidates", candidates)
    return dict.fromkeys(sorted(candidates), replicas)
