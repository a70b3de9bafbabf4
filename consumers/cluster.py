"""What member clusters are made of: clusters, nodes, and the inventories that say what is gone.

Inventories are the largest messages there are, up to 100,000 keys; a topic that carries them needs
``max.message.bytes`` at the mebibyte which is also the most the contract reads.
"""

from typing import Final

from consumers.topic import Topic

TOPIC: Final = Topic("cluster", frozenset({"cluster"}))
