"""When a reservation is given up although nothing was heard of its pod.

Most reservations are confirmed by their pod or pushed out by the next admission. What is left are
pods that were refused after they had been admitted and that nobody tried to create again. Such a
reservation runs out at a moment of fleet time. But silence proves something only where we have
listened: as long as what the cluster has told does not reach that moment, the pod may exist.
"""

from ledger.units import Microseconds, Milliseconds


def expires_at(opened_at: Microseconds, *, patience: Milliseconds) -> Microseconds:
    """The deadline of a reservation that was opened at a moment of fleet time."""
    return Microseconds(opened_at + 1000 * patience)


def has_expired(
    deadline: Microseconds, *, now: Microseconds, heard_through: Microseconds | None
) -> bool:
    """Whether a reservation that is still open has run out.

    ``heard_through`` is the moment up to which everything about the cluster's pods has been told.
    """
    return heard_through is not None and min(now, heard_through) >= deadline
