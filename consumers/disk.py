"""What storage there is and what it should hold: disks, volumes, replicas failed and recovered."""

from typing import Final

from consumers.topic import Topic

TOPIC: Final = Topic("disk", frozenset({"disk"}))
