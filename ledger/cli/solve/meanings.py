"""What the codes in answers mean, for people: in ``ledger solve``, and where records hold the same codes.

They stand apart from the questions, which take longer to load than a record takes to read.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ledger.core.division.static_weight import Branch
    from ledger.core.placement.reasons import Reason

WHAT_A_BRANCH_DOES: Final[Mapping["Branch", str]] = {
    "keep": "the last result still fits, nothing moves",
    "exact": "the floors leave nothing over, there is only one fair division",
    "partial_fit": "those that stayed keep what they have, the newcomers take the rest",
    "minimal": "the fair division that moves least",
    "inertia_add": "the floors are the old ones, every holder of a residual keeps it",
    "inertia_drop": "the floors are the old ones, fewer residuals are left for their holders",
    "redraw": "a lot gives out all that the floors leave over",
}
"""Which rule made a division by static weight."""

WHY_IT_GOT_SO_MANY: Final[Mapping["Reason", str]] = {
    "raised": "raised to the level",
    "last_round": "raised to the level, and one of the last round",
    "topped_up": "topped up",
    "chosen": "among the largest capacities",
    "used_up": "used up",
    "took_rest": "took what was left",
    "least_used_after": "its usage stayed lowest",
    "came_next": "it was next",
    "no_capacity": "has no capacity",
    "at_limit": "takes no more by the limit",
    "above_level": "holds more than the level",
    "after_last_round": "holds as many as the level, and the last round did not come so far",
    "holds_enough": "chosen, and holds enough already",
    "cannot_reach": "cannot hold so many",
    "too_small": "cannot take so many",
    "more_used_after": "its usage would be higher than was needed",
    "never_next": "another was always closer or lower",
    "not_needed": "not needed: those before it were enough",
}
"""Why a node got its instances, or none."""
