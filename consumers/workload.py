"""What wants to run and what was seen running: workloads, jobs, pods, replica sets.

By far the busiest topic, and one in which order matters within a fleet: a pod's events follow one
another within milliseconds. The key keeps a fleet's events in one partition, so that they do.
"""

from typing import Final

from consumers.topic import Topic

TOPIC: Final = Topic("workload", frozenset({"workload"}))
