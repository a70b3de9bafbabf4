"""What could be done about pods that are not where the target wants them; nothing is done here.

A running pod cannot be moved: it has to be evicted, and its replacement is admitted anew. So a
deficit is repaired by evicting as many spot pods as are short, youngest first, because the youngest
has the least to lose. A surplus disturbs nobody: its on-demand pods are only named, so that their
deletion cost can be lowered and the next scale-down takes them like any other.

Proposals are made for what has come to rest: all replicas are there and no reservation is open.
Before that, what looks short may be on its way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ledger.core.spot.labels import CapacityClass
from ledger.core.spot.slots import Numbers, Template, tally
from ledger.core.spot.target import Target


@dataclass(frozen=True, slots=True)
class Repair:
    """``count`` of the ``candidates``, in their order, would do.

    ``deficit``  evict: the replacements will be on-demand
    ``surplus``  lower the deletion cost to 0: nobody is evicted
    """

    code: Literal["deficit", "surplus"]
    count: int
    candidates: Numbers


def proposed_repair(template: Template, target: Target) -> Repair | None:
    """What is wrong with a template's pods at rest, if anything is."""
    if template.live != template.replicas or template.od.open or template.spot.open:
        return None
    counted = tally(template, target)
    if counted.deficit:
        return Repair("deficit", counted.deficit, template.spot.confirmed[::-1])
    if counted.surplus:
        return Repair("surplus", counted.surplus, template.od.confirmed[::-1])
    return None


def ordinals_to_recreate(
    classes: Mapping[int, CapacityClass | None], target: Target
) -> tuple[int, ...]:
    """Which existing pods of a StatefulSet are below the target and not on-demand.

    A raised target reaches a pod only when it is created again. ``classes`` are those of the pods
    that exist, by index; None is a pod whose node tells nothing.
    """
    if target.pods is None:
        return ()
    due = target.pods
    return tuple(i for i, capacity in sorted(classes.items()) if i < due and capacity != "od")
