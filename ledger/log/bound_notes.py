"""The third note of a fleet, read: how large both trees were, and how far was decided, at one moment.

``ledger.log.sealing`` writes it. It is no checkpoint, because it speaks of two trees.
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

    @property
    def steps(self) -> int:
        """By which notes of one origin are numbered."""
        return self.events.size + self.through + 1


def read_bound(text: str) -> Bound:
    """What a third note says; raises InvalidRequest."""
    lines = text.removesuffix("\n").split("\n")
    found: dict[str, Signed] = {}
    for line in lines[2:]:
        tree, _, rest = line.partition(" ")
        told, _, encoded = rest.partition(" ")
        found[tree] = Signed(_number(told), strict_base64(encoded, "malformed_note"))
    if tuple(found) != TREES or len(lines) != 2 + len(TREES):
        raise InvalidRequest("malformed_note", "it does not name both trees")
    word, _, through = lines[1].partition(" ")
    if word != "decided":
        raise InvalidRequest("malformed_note", "it does not say how far the fleet was decided")
    decided = Position(-1 if through == "-1" else _number(through))
    return Bound(lines[0], decided, found["events"], found["decisions"])


def _number(told: str) -> int:
    number = whole_number(told)
    if number is None:
        raise InvalidRequest("malformed_note", f"{told[:40]!r} is no number of leaves")
    return number
