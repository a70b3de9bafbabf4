"""Every topic the ledger reads."""

from typing import Final

from consumers import cluster, control, disk, quota, workload
from consumers.topic import Topic

FAMILIES: Final = (cluster.TOPIC, workload.TOPIC, quota.TOPIC, disk.TOPIC, control.TOPIC)


def topics(prefix: str) -> tuple[Topic, ...]:
    """All of them, where names begin with ``prefix``."""
    return tuple(topic.under(prefix) for topic in FAMILIES)
