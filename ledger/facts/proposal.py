"""What would make a fleet more even, or repair it: moves that nobody makes before they are approved.

A proposal is known by the number of its decision. It says what would be moved, from where to where,
in which order and at what cost, and the score of what it is about: before, after each move, and at
the end. Every move lowers it. One without moves says that there is nothing to be moved; it is never
open.

``deployments``  instances of workloads on other nodes of their cluster
``disks``        replicas of volumes on other disks
``repair``       instances that belong on on-demand nodes and are on spot nodes; and pods of which too
                 few are on on-demand nodes: those are evicted, and what comes instead is admitted anew
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from ledger.facts.canonical import Plain
from ledger.facts.reason import Cause
from ledger.units import Bytes, Subject

What = Literal["deployments", "disks", "repair", "surplus"]
"""The names are public: ``ledger_api.proposals.kind`` shows them."""

WhyNoMore = Literal["undefined", "no_better_move", "max_moves", "max_bytes"]
"""Why there are no more moves: nothing has a score, none lowers it, or the bounds are reached."""


class Proposed(NamedTuple):
    """One move."""

    subject: Subject
    """Whose: a volume, or a workload in a cluster."""
    thing: str
    """What: the name of a replica, the number of an instance, the name of a pod."""
    out: str
    """The disk or node that it leaves, with its cluster."""
    into: str
    """The disk or node that it goes to; empty where it is evicted, or stays and is lowered."""
    size: Bytes
    """The bytes that go with it."""
    score: Fraction
    """Once it is made, and those before it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Moves, and what they are good for."""

    what: What
    measure: str
    """What the score is: how uneven something is, or how many lack something."""
    before: Fraction | None
    """The score as things are; None if there is nothing to have one."""
    after: Fraction | None
    moves: tuple[Proposed, ...]
    """In the order in which they are to be made."""
    max_moves: int
    max_bytes: int | None
    ended: WhyNoMore
    because: tuple[Cause, ...]

    kind: Literal["proposal"] = "proposal"

    @property
    def size(self) -> int:
        """The bytes that all moves move."""
        return sum(move.size for move in self.moves)


def result(proposal: Proposal) -> Plain:
    """The answer."""
    return {
        "what": proposal.what,
        "moves": [_move_plain(move) for move in proposal.moves],
        "bytes": proposal.size,
        "before": _told(proposal.before),
        "after": _told(proposal.after),
    }


def reasons(proposal: Proposal) -> Plain:
    """The numbers behind it."""
    return {
        "because": proposal.because,
        "measure": proposal.measure,
        "max_moves": proposal.max_moves,
        "max_bytes": proposal.max_bytes,
        "ended": proposal.ended,
    }


def read(answer: dict[str, Any], why: dict[str, Any]) -> Proposal:
    """What ``result`` and ``reasons`` spelled."""
    return Proposal(
        what=answer["what"],
        measure=why["measure"],
        before=_heard(answer["before"]),
        after=_heard(answer["after"]),
        moves=tuple(_move(plain) for plain in answer["moves"]),
        max_moves=why["max_moves"],
        max_bytes=why["max_bytes"],
        ended=why["ended"],
        because=tuple(why["because"]),
    )


def _move_plain(move: Proposed) -> Plain:
    return {
        "subject": move.subject,
        "thing": move.thing,
        "from": move.out,
        "to": move.into,
        "bytes": move.size,
        "score": _told(move.score),
    }


def _move(plain: dict[str, Any]) -> Proposed:
    return Proposed(
        subject=plain["subject"],
        thing=plain["thing"],
        out=plain["from"],
        into=plain["to"],
        size=Bytes(plain["bytes"]),
        score=Fraction(plain["score"]),
    )


def _told(score: Fraction | None) -> str | None:
    return None if score is None else f"{score.numerator}/{score.denominator}"


def _heard(score: str | None) -> Fraction | None:
    return None if score is None else Fraction(score)
