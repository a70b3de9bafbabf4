"""One object for what events say again and again.

Text that was read from JSON is a new object each time, and a World keeps what every object last said
of itself: a million pods would hold a million copies of some hundred names. Nobody can tell equal
values apart; only the room they take differs, and the time to compare them.
"""

from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING, Final, TypeVar

from ledger.facts import workload as facts

AnyText = TypeVar("AnyText", bound=str)

shared_owner: Final = lru_cache(maxsize=16_384)(facts.Owner)
"""The pods of an owner mostly come together."""

shared_request: Final = lru_cache(maxsize=16_384)(facts.Request)
"""Every pod of a workload wants the same, and many workloads do."""


@lru_cache(maxsize=1024)
def shared_pairs(pairs: tuple[tuple[str, object], ...]) -> tuple[tuple[str, object], ...]:
    """The one object of these pairs: nodes are of few kinds."""
    return pairs


if TYPE_CHECKING:

    def shared(text: AnyText) -> AnyText:
        """The one object of this text, as long as anybody holds it."""
        return text

else:
    # Itself, and not called by a function of ours: every event shares half a dozen texts.
    shared = intern
