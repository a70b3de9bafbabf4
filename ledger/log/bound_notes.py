"""The third note of a fleet, read: how large both trees were, and how far was decided, at one moment.

``ledger.log.sealing`` writes it. It is no checkpoint, because it speaks of two trees. In a later life
of a log it also says where that began, and what the life before had signed at its end.
"""

from dataclasses import dataclass

from ledger.errors import InvalidRequest
from ledger.log.checkpoints import whole_number
from ledger.log.notes import strict_base64
from ledger.log.signed import Signed
from ledger.log.trees import TREES
from ledger.units import Position


@dataclass(frozen=True, slots=True)
class Bound:
    """What a note says that binds both trees."""

    origin: str
    through: Position
    events: Signed
    decisions: Signed
    began: Signed | None
    """The events when this life began; None in the one that a log is opened in."""
    after: tuple[tuple[str, Signed], ...]
    """What the life before had signed at its end, origin by origin."""

    @property
    def steps(self) -> int:
        """By which notes of one origin are numbered."""
        return self.events.size + self.through + 1


def read_bound(text: str, incarnation: int) -> Bound:
    """What a third note of a life says; raises InvalidRequest."""
    lines = text.removesuffix("\n").split("\n")
    named = (*TREES, "began") if incarnation > 1 else TREES
    found: dict[str, Signed] = {}
    for line in lines[2 : 2 + len(named)]:
        name, _, rest = line.partition(" ")
        found[name] = _end(rest)
    if tuple(found) != named:
        raise InvalidRequest("malformed_note", "it does not name both trees")
    after: list[tuple[str, Signed]] = []
    for line in lines[2 + len(named) :]:
        word, _, rest = line.partition(" ")
        if word != "after" or incarnation == 1:
            raise InvalidRequest(
                "malformed_note", f"{line[:40]!r} is not what the life before signed"
            )
        origin, _, told = rest.partition(" ")
        after.append((origin, _end(told)))
    word, _, through = lines[1].partition(" ")
    if word != "decided":
        raise InvalidRequest("malformed_note", "it does not say how far the fleet was decided")
    decided = Position(-1 if through == "-1" else _number(through))
    return Bound(
        origin=lines[0],
        through=decided,
        events=found["events"],
        decisions=found["decisions"],
        began=found.get("began"),
        after=tuple(after),
    )


def _end(told: str) -> Signed:
    size, _, encoded = told.partition(" ")
    return Signed(_number(size), strict_base64(encoded, "malformed_note"))


def _number(told: str) -> int:
    number = whole_number(told)
    if number is None:
        raise InvalidRequest("malformed_note", f"{told[:40]!r} is no number of leaves")
    return number
