"""What an audit found: counts, roots, and the first thing that is not as it should be."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ledger.facts.canonical import Plain

SAME: Final = 0
DIVERGED: Final = 1
INVALID: Final = 2
VERSION_MISSING: Final = 3
"""Exit codes of the audit commands."""

Trouble = Literal[
    "position_missing",
    "leaf_mismatch",
    "event_root_mismatch",
    "tile_mismatch",
    "checkpoint_mismatch",
    "cursor_mismatch",
    "decision_leaf_mismatch",
    "decision_root_mismatch",
    "decision_missing",
    "decision_unexpected",
    "decision_differs",
    "book_differs",
    "version_missing",
]

DIVERGENCES: Final[frozenset[Trouble]] = frozenset(
    {"decision_missing", "decision_unexpected", "decision_differs", "book_differs"}
)
"""Troubles of what does not follow; every other one says that the log itself is not whole."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first trouble, and where it is."""

    trouble: Trouble
    position: int | None
    decision: int | None = None
    subject: str | None = None
    path: str | None = None
    """JSON pointer of the first difference inside the record."""
    recorded: str | None = None
    recomputed: str | None = None

    def as_plain(self) -> Plain:
        """For ``--json``."""
        return {
            "trouble": self.trouble,
            "position": self.position,
            "decision": self.decision,
            "subject": self.subject,
            "path": self.path,
            "recorded": self.recorded,
            "recomputed": self.recomputed,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of an audit of one fleet."""

    fleet: str
    events: int
    decisions: int
    event_root: str
    decision_root: str
    decided_through: int
    diverged: Divergence | None

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        if self.diverged is None:
            return SAME
        if self.diverged.trouble == "version_missing":
            return VERSION_MISSING
        return DIVERGED if self.diverged.trouble in DIVERGENCES else INVALID

    def as_plain(self) -> Plain:
        """For ``--json``."""
        return {
            "fleet": self.fleet,
            "events": self.events,
            "decisions": self.decisions,
            "event_root": self.event_root,
            "decision_root": self.decision_root,
            "decided_through": self.decided_through,
            "diverged": None if self.diverged is None else self.diverged.as_plain(),
        }


ABSENT: Final = "(absent)"


def first_difference(recorded: bytes, recomputed: bytes) -> tuple[str, str, str]:
    """JSON pointer of the first difference between two records, and both values there."""
    return _difference("", json.loads(recorded), json.loads(recomputed))


def _difference(path: str, one: Plain, other: Plain) -> tuple[str, str, str]:
    left, right = _members(one), _members(other)
    if left is None or right is None or isinstance(one, dict) != isinstance(other, dict):
        return path, _spelled(one), _spelled(other)
    for key in sorted(left.keys() | right.keys()):
        below = f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"
        if key not in left:
            return below, ABSENT, _spelled(right[key])
        if key not in right:
            return below, _spelled(left[key]), ABSENT
        if left[key] != right[key]:
            return _difference(below, left[key], right[key])
    raise AssertionError("two records that differ as bytes differ somewhere as values")


def _members(value: Plain) -> Mapping[Any, Plain] | None:
    """What is inside an object or a list, by key or by place; None for anything else."""
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else None


def _spelled(value: Plain) -> str:
    return json.dumps(value, sort_keys=True)
