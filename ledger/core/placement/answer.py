"""What comes out of a placement: who gets how many, or why nothing is placed.

It is all or nothing: a strategy that cannot keep its promise to the last instance places none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ledger.units import NodeName


@dataclass(frozen=True, slots=True)
class Placement:
    """Who gets how many: ``deploy`` lists those that get any, in the order of the names.

    AUTO raises every node to ``level``, as far as it has room, and gives one more to as many of
    those at that level as the ``last_round`` says. The other strategies have no level; what decides
    there follows from the order of the nodes (``ledger.core.placement.reasons``).
    """

    deploy: Mapping[NodeName, int]
    level: int | None = None
    last_round: int = 0


Counted = Literal["instances", "instances_within_limit", "nodes", "able_nodes"]
"""Of what there is too little."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """The request makes sense and cannot be served; nothing is placed.

    ``found`` of ``wanted`` were there of what was ``counted``. Where nodes were counted one by one,
    ``unable`` names those that cannot serve, in the order of the strategy. ``already_filled`` is a
    shortage of work: all nodes that were wanted hold enough.
    """

    code: Literal["insufficient_resource", "insufficient_capacity", "already_filled"]
    counted: Counted
    wanted: int
    found: int
    unable: tuple[NodeName, ...] = ()
