"""What one event comes to, held against what was recorded for it.

The step is the one that decided live. What it yields must be the recorded decisions byte for byte;
the first that is not is named, with the stage at which the two part: a decision tells what it was
asked about, under which policy, after which decision, what went in, who answered, and what came out,
and these are looked at in the order in which they come about.

A step that cannot be taken at all is a divergence too: the program that decided could take it. The
room in which it failed is its stage.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from traceback import walk_tb
from typing import Any, Final

import orjson

from ledger import __version__
from ledger.decisions.step import Step, advance
from ledger.errors import AlgorithmMissing
from ledger.facts.decision import Decision, record
from ledger.facts.event import Event
from ledger.log import merkle
from ledger.reducers.evolve import ENGINE_VERSION
from ledger.reducers.world import World
from ledger.replay.report import Divergence, Stage, Trouble, first_difference
from ledger.units import Position, Subject

Told = Mapping[str, Any]
"""A record as plain data."""

_LATER: Final[Sequence[tuple[Stage, tuple[str, ...]]]] = (
    ("fold", ("fleet", "incarnation", "number", "position", "policy", "previous")),
    ("question", ("inputs", "lot")),
    ("version", ("algorithm", "version")),
    ("answer", ("kind", "branch", "moved", "result", "reasons")),
)
"""Members of a record by the stage that makes them, the earliest first."""

_ASKED: Final = ("deadline", "kind", "subject")
"""What tells questions apart; of a refusal, the kind that was wanted."""

_DRAWN: Final = "draws"
"""What of a lot is an answer; the rest says which stream is drawn from, and is asked."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The World after an event, and whether what was decided on it is what was recorded."""

    world: World | None
    """None where the step could not be taken."""
    decisions: tuple[Decision, ...]
    trouble: Divergence | None

    def decided(self, recorded: Sequence[bytes]) -> bool:
        """Whether all decisions on the event are the recorded ones, about whomever."""
        return [record(one) for one in self.decisions] == list(recorded)


def compare(
    world: World, event: Event, recorded: Sequence[bytes], *, subject: Subject | None = None
) -> Compared:
    """Take the step from a World, and compare its decisions with the recorded ones.

    With ``subject`` only the decisions about it are compared.
    """
    try:
        step = advance(world, event)
        spelled = _spelled(step, subject)
    except AlgorithmMissing as missing:
        told = Divergence("version_missing", event.position, recorded=str(missing))
        return Compared(None, (), replace(told, stage="version", versions=_in_force(world)))
    except Exception as failed:  # noqa: BLE001 - whatever a program does wrong, where is told
        return Compared(None, (), failing(world, event.position, event.subject, failed))
    if subject is not None:
        recorded = [one for one in recorded if is_about(orjson.loads(one)["subject"], subject)]
    if [record for record, _ in spelled] == list(recorded):
        return Compared(step.world, step.decisions, None)
    trouble = _difference(world, event, recorded, spelled)
    if _is_chance(world, event, subject, [record for record, _ in spelled]):
        trouble = replace(trouble, stage="chance")
    return Compared(step.world, step.decisions, trouble)


def is_about(subject: str, workload: str) -> bool:
    """Whether a decision's subject is a workload, job or volume, or a deployment of one."""
    return subject == workload or subject.startswith(f"{workload}@")


def _spelled(step: Step, subject: Subject | None) -> list[tuple[bytes, Decision]]:
    return [
        (record(one), one)
        for one in step.decisions
        if subject is None or is_about(one.subject, subject)
    ]


def _is_chance(
    world: World, event: Event, subject: Subject | None, before: Sequence[bytes]
) -> bool:
    """Whether the same step from the same World comes to something else the second time."""
    try:
        return [one for one, _ in _spelled(advance(world, event), subject)] != before
    except Exception:  # noqa: BLE001 - it did not fail the first time
        return True


def _difference(
    world: World,
    event: Event,
    recorded: Sequence[bytes],
    made: Sequence[tuple[bytes, Decision]],
) -> Divergence:
    was = [json.loads(one) for one in recorded]
    is_ = [json.loads(one) for one, _ in made]
    pairs = zip_longest(recorded, [one for one, _ in made])
    place = next(place for place, (old, new) in enumerate(pairs) if old != new)
    before = was[place] if place < len(was) else None
    now = is_[place] if place < len(is_) else None
    stage = _stage(before, now, was, is_)
    versions = _in_force(world) | _answered("recorded", before) | _answered("recomputed", now)
    if stage == "trigger" and before is not None and now is not None:
        # One of the two is asked on one side only; that one is the trouble.
        if _asked(now) in map(_asked, was):
            now = None
        else:
            before = None
    old = None if before is None else recorded[place]
    new = None if now is None else made[place][0]
    whose = before or now
    assert whose is not None, "one of the two is there"
    path, left, right = None, None, None
    if old is not None and new is not None:
        path, left, right = _first_of_stage(old, new, stage)
    trouble: Trouble = "decision_differs"
    if old is None or new is None:
        trouble = "decision_missing" if old is None else "decision_unexpected"
    return Divergence(
        trouble,
        event.position,
        decision=whose["number"],
        subject=whose["subject"],
        path=path,
        recorded=left,
        recomputed=right,
        stage=stage,
        kind=whose["kind"],
        recorded_digest=None if old is None else merkle.leaf_hash(old).hex(),
        recomputed_digest=None if new is None else merkle.leaf_hash(new).hex(),
        versions=versions,
    )


def _stage(
    before: Told | None, now: Told | None, was: Sequence[Told], is_: Sequence[Told]
) -> Stage:
    if before is None or now is None or _asked(before) != _asked(now):
        return "order" if sorted(map(_asked, was)) == sorted(map(_asked, is_)) else "trigger"
    for stage, members in _LATER:
        for member in members:
            if before[member] != now[member]:
                if member == "lot" and _stream(before) == _stream(now):
                    return "answer"
                return stage
    return "record"


def _first_of_stage(old: bytes, new: bytes, stage: Stage) -> tuple[str, str, str]:
    """The first difference that the stage is about, not one that only follows from it."""
    left, right = json.loads(old), json.loads(new)
    if left == right:
        return "", old.decode(errors="replace"), new.decode(errors="replace")
    members = {"order": _ASKED, "answer": ("lot",)}.get(stage, ()) + dict(_LATER).get(stage, ())
    for member in members:
        if left[member] != right[member]:
            return first_difference({member: left[member]}, {member: right[member]})
    return first_difference(left, right)


def _asked(told: Told) -> tuple[str, str, str]:
    kind = told["result"]["wanted"] if told["kind"] == "refusal" else told["kind"]
    return json.dumps(told["deadline"]), kind, told["subject"]


def _stream(told: Told) -> Told | None:
    lot = told["lot"]
    return None if lot is None else {name: lot[name] for name in lot if name != _DRAWN}


def _in_force(world: World) -> dict[str, str]:
    """What decides here, and what the policy of the fleet asks for."""
    named = asdict(world.policy.algorithms)
    return {"program": __version__, "engine": str(ENGINE_VERSION)} | {
        f"policy {system}": str(named[system]) for system in sorted(named)
    }


def _answered(by: str, told: Told | None) -> dict[str, str]:
    return {} if told is None else {by: f"{told['algorithm']} {told['version']}"}


_ROOMS: Final[Mapping[str, Stage]] = {
    "ledger.reducers": "fold",
    "ledger.decisions": "question",
    "ledger.core": "answer",
    "ledger.facts": "record",
}


def failing(world: World, position: Position, subject: str, failed: Exception) -> Divergence:
    """That a step could not be taken, and in which room."""
    stage: Stage = "fold"
    where = ""
    for frame, _ in walk_tb(failed.__traceback__):
        module = frame.f_globals.get("__name__", "")
        room = ".".join(module.split(".")[:2])
        if room in _ROOMS:
            stage, where = _ROOMS[room], f"{module}.{frame.f_code.co_name}: "
    return Divergence(
        "step_failed",
        position,
        subject=subject,
        recomputed=f"{where}{type(failed).__name__}: {failed}",
        stage=stage,
        versions=_in_force(world),
    )
