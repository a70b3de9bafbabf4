"""What an audit found: counts, roots, and the first thing that is not as it should be."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ledger.facts.canonical import Plain
from ledger.log.notes import Key

SAME: Final = 0
DIVERGED: Final = 1
INVALID: Final = 2
VERSION_MISSING: Final = 3
"""Exit codes of the audit commands."""

Trouble = Literal[
    "position_missing",
    "leaf_mismatch",
    "clock_mismatch",
    "event_root_mismatch",
    "tile_mismatch",
    "checkpoint_mismatch",
    "cursor_mismatch",
    "decision_leaf_mismatch",
    "decision_root_mismatch",
    "decision_missing",
    "decision_unexpected",
    "decision_differs",
    "step_failed",
    "book_differs",
    "snapshot_differs",
    "version_missing",
    "genesis_mismatch",
    "incarnation_mismatch",
    "column_differs",
    "row_missing",
    "row_unexpected",
    "row_differs",
    "receipt_mismatch",
    "snapshot_mismatch",
    "manifest_damaged",
    "file_missing",
    "file_damaged",
    "file_unexpected",
]

DIVERGENCES: Final[frozenset[Trouble]] = frozenset(
    {
        "decision_missing",
        "decision_unexpected",
        "decision_differs",
        "step_failed",
        "book_differs",
        "snapshot_differs",
    }
)
"""Troubles of what does not follow; every other one says that the log itself is not whole."""

Stage = Literal["fold", "trigger", "order", "question", "version", "answer", "record", "chance"]
"""Where on the way from an event to the bytes of a decision the two part first.

``fold``      the World is another one
``trigger``   something is asked that was not, or not asked that was
``order``     the same is asked, in another order
``question``  the same is asked about, but other things go in: of the World, or taken from it otherwise
``version``   another rule, or another version of it, answers
``answer``    the same goes in, and something else comes out
``record``    the answer is the same, and is spelled otherwise
``chance``    the program answers otherwise each time it is asked
"""


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
    stage: Stage | None = None
    """None where the log itself is not whole."""
    kind: str | None = None
    """Of the decision."""
    recorded_digest: str | None = None
    recomputed_digest: str | None = None
    """Of what differs: the leaf of a decision, or the bytes of a World."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Which rules made what was recorded and what was recomputed, and which the policy names."""
    slice: str | None = None
    """The file that holds what is needed to see it again."""
    slice_missing: str | None = None
    """Why that file could not be written."""

    @property
    def place(self) -> str:
        """Where it is, in words, as far as it is anywhere."""
        told = (("position", self.position), ("decision", self.decision))
        where = ", ".join(f"{name} {number}" for name, number in told if number is not None)
        return f" at {where}" if where else ""

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
            "stage": self.stage,
            "kind": self.kind,
            "recorded_digest": self.recorded_digest,
            "recomputed_digest": self.recomputed_digest,
            "versions": dict(self.versions),
            "slice": self.slice,
            "slice_missing": self.slice_missing,
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
    shown: "Shown | None" = None
    """None where nothing was recomputed."""
    begins_at: int = 0
    """The first position that was read: another one than 0 in an archive of later ones."""
    notes: int | None = None
    """How many signed notes the reader's keys verified; None where no key was brought."""
    used: frozenset[Key] = frozenset()
    """The keys that verified one."""
    unchecked: int = 0
    """How many signed notes there are whose signatures nobody looked at, since no key was brought."""
    deep: bool | None = None
    """Whether what people read was made again too; None where that was not the question."""

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
        told: dict[str, Plain] = {
            "fleet": self.fleet,
            "events": self.events,
            "decisions": self.decisions,
            "event_root": self.event_root,
            "decision_root": self.decision_root,
            "decided_through": self.decided_through,
            "diverged": None if self.diverged is None else self.diverged.as_plain(),
        }
        if self.shown is not None:
            told["shown"] = self.shown.as_plain()
        if self.begins_at:
            told["begins_at"] = self.begins_at
        if self.notes is not None:
            told["notes_verified"] = self.notes
        if self.unchecked:
            told["notes_unchecked"] = self.unchecked
        if self.deep is not None:
            told["deep"] = self.deep
        return told


@dataclass(frozen=True, slots=True)
class Shown:
    """What a replay recomputed, and what it took as it was recorded."""

    first: int
    through: int
    """Positions between which every decision was recomputed and compared."""
    compared: int
    """How many decisions that were; about one subject, those about it."""
    begins_at: int
    """From which position on everything was folded. 0: no World had to be believed."""
    segments: int
    workers: int
    subject: str | None
    left_out: tuple[str, ...]
    """Snapshots that did not fit this log or this program, and why: no segment began there."""
    same: bool
    """Whether everything that was compared is as it was recorded."""

    @property
    def proves(self) -> bool:
        """Whether it shows that all decisions so far follow from the log, and from nothing else."""
        return self.same and not self.believed

    @property
    def believed(self) -> tuple[str, ...]:
        """What was taken as it was recorded, in words."""
        told: list[str] = []
        if self.begins_at:
            told.append(f"the snapshot at position {self.begins_at - 1}")
        if self.first > self.begins_at:
            told.append(f"what was decided from position {self.begins_at} to {self.first - 1}")
        if self.subject is not None:
            told.append(f"what was decided about others than {self.subject}")
        return tuple(told)

    def as_plain(self) -> Plain:
        """For ``--json``."""
        return {
            "first": self.first,
            "through": self.through,
            "compared": self.compared,
            "begins_at": self.begins_at,
            "proves": self.proves,
            "believed": self.believed,
            "segments": self.segments,
            "workers": self.workers,
            "subject": self.subject,
            "left_out": self.left_out,
        }


ABSENT: Final = "(absent)"


def first_difference(recorded: Plain, recomputed: Plain) -> tuple[str, str, str]:
    """JSON pointer of the first difference between two values, and what each has there."""
    return _difference("", recorded, recomputed)


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
    return path, _spelled(one), _spelled(other)


def _members(value: Plain) -> Mapping[Any, Plain] | None:
    """What is inside an object or a list, by key or by place; None for anything else."""
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else None


def _spelled(value: Plain) -> str:
    return json.dumps(value, sort_keys=True)
