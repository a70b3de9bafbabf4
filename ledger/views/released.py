"""What ended or was taken away without a decision that says so, as the projections are told of it."""

from typing import NamedTuple

Ended = tuple[str, str, int, int]
"""Kind, subject and number of a decision that an event by itself put out of force, and the
position of the event."""


class Released(NamedTuple):
    """Places that an event by itself took from what was in force for a subject."""

    kind: str
    subject: str
    number: int
    """After which decision about the subject."""
    cluster: str
    node: str
    places: int
    disk: str
    tasks: tuple[int, ...]
    """Which ones, where they are tasks."""
    position: int
    """Of the event."""


class Righted(NamedTuple):
    """An incident that was recorded, and is over."""

    subject: str
    what: str
    node: str
    before: int
    """The next decision when it ended: it was recorded by the last one of the kind before this number."""
    position: int
    """Of the event that ended it, or that a decision was made about which did."""
