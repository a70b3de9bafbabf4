"""Who is entitled to how much: queues and resource quotas.

Few messages, each of which can make a round of fair-share decisions due.
"""

from typing import Final

from consumers.topic import Topic

TOPIC: Final = Topic("quota", frozenset({"quota"}))
