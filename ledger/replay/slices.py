"""A file with what is needed to see one divergence again, and nothing else: no database, no log.

A slice holds the event at which two programs part, the decisions that were recorded on it, and
either the few events before it that make the same happen, or the World as it was. To run it is to
fold it and to take the last step (``ledger.replay.comparing``).

Events keep their positions and the numbers of decisions that were recorded before them, so that
what is left of a history makes the same records byte for byte, and can be compared with what was
recorded in the whole one.
"""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Final

from ledger.decisions.step import advance
from ledger.errors import InvalidEvent, InvalidRequest, SetupProblem, UnusableSnapshot
from ledger.events.codec import decode
from ledger.facts.decision import record
from ledger.facts.event import Event
from ledger.facts.genesis import Genesis, document, from_document
from ledger.log.read import StoredEvent
from ledger.reducers import lives, snapshot
from ledger.reducers.snapshot import Reading
from ledger.reducers.world import World, begin
from ledger.replay.comparing import compare, is_about
from ledger.replay.concerning import Concern, Part, concern, part
from ledger.replay.report import Divergence, Stage
from ledger.units import DecisionNumber, EventType, Microseconds, Position, Subject

SLICE_LAYOUT: Final = 1


@dataclass(frozen=True, slots=True)
class Told:
    """An event of a slice."""

    position: Position
    recorded_at: Microseconds
    source: str
    id: str
    type: EventType
    subject: Subject
    revision: int
    payload: str
    decisions: DecisionNumber
    """How many decisions had been recorded before it."""

    def event(self) -> Event:
        """As the World is handed it."""
        return Event(
            position=self.position,
            recorded_at=self.recorded_at,
            source=self.source,
            id=self.id,
            type=self.type,
            subject=self.subject,
            fact=decode(self.payload.encode(), revision=self.revision),
        )


@dataclass(frozen=True, slots=True)
class Slice:
    """All of it."""

    genesis: Genesis
    world: bytes | None
    """The World before the last event, as a snapshot spells it, compressed; None: it follows from the
    events."""
    events: tuple[Told, ...]
    """The last one is that at which the two part."""
    subject: Subject | None
    """Whose decisions are compared; None: all."""
    recorded: tuple[str, ...]
    """What was recorded about it on the last event."""


def told(stored: StoredEvent, decisions: int) -> Told:
    """A row of the log, as a slice has it."""
    return Told(
        position=Position(stored.position),
        recorded_at=Microseconds(stored.recorded_at_micros),
        source=stored.source,
        id=stored.id,
        type=EventType(stored.type),
        subject=Subject(stored.subject),
        revision=stored.revision,
        payload=stored.payload.decode(),
        decisions=DecisionNumber(decisions),
    )


def run(piece: Slice) -> Divergence | None:
    """Fold a slice and compare its last step; None if nothing differs with this program."""
    *before, last = piece.events
    world = before_last(piece, [(one, one.event()) for one in before])
    recorded = [one.encode() for one in piece.recorded]
    return compare(at(world, last), last.event(), recorded, subject=piece.subject).trouble


def before_last(piece: Slice, before: Iterable[tuple[Told, Event]]) -> World:
    """The World before the last event."""
    if piece.world is not None:
        reading = Reading()
        for line in zlib.decompress(piece.world).splitlines(keepends=True):
            reading.take(line)
        return reading.world()
    world = begin(piece.genesis, incarnation=lives.FIRST)
    for one, event in before:
        world = advance(at(world, one), event).world
    return world


def at(world: World, one: Told) -> World:
    """A World that has counted the events and decisions which a slice leaves out."""
    return replace(world, position=one.position, decisions=max(world.decisions, one.decisions))


@dataclass(frozen=True, slots=True)
class Evidence:
    """A divergence as it was met: the World before it, the event, what was recorded, what was made."""

    piece: Slice
    made: "Seen"
    about: Concern
    """Who is meant: by the event, by what was recorded and by what was made."""
    part: Part | None
    """What of the World before is about them; None where the digest of what went in tells that."""


Seen = tuple[str, ...]
"""What a last step makes about somebody, or how it fails."""


def evidence(
    world: World,
    stored: StoredEvent,
    recorded: Sequence[bytes],
    trouble: Divergence,
    *,
    asked: Subject | None = None,
) -> Evidence:
    """What there is to be seen where a step from this World went wrong.

    ``asked``: whose decisions alone were compared, if only somebody's were.
    """
    one = told(stored, world.decisions)
    same_went_in = trouble.trouble != "step_failed" and trouble.stage in _ASKED_ALIKE
    # Who is asked, and after how many others, is seen in all that was decided on the event; and what
    # comes out by chance comes out as it was recorded more often for one alone.
    alone = same_went_in or trouble.stage == "question"
    subject = asked
    if alone and trouble.trouble != "step_failed":
        subject = None if trouble.subject is None else Subject(trouble.subject)
    compressing = zlib.compressobj()
    spelled = [compressing.compress(line) for line in snapshot.spell(world)]
    piece = Slice(
        genesis=world.genesis,
        world=b"".join([*spelled, compressing.flush()]),
        events=(one,),
        subject=subject,
        recorded=tuple(
            each.decode()
            for each in recorded
            if subject is None or is_about(json.loads(each)["subject"], subject)
        ),
    )
    made = seen(world, one.event, subject)
    records = [*piece.recorded, *(each for each in made if each.startswith("{"))]
    about = concern(records, one.subject)
    return Evidence(piece, made, about, None if same_went_in else part(world, about))


_ASKED_ALIKE: Final[frozenset[Stage]] = frozenset({"version", "answer", "record"})
"""Stages in which both programs were asked the same: what a decision names as gone in is all that
its World is needed for."""


def seen(world: World, event: Callable[[], Event], subject: Subject | None) -> Seen:
    """Take a step, and look."""
    try:
        return tuple(
            record(one).decode()
            for one in advance(world, event()).decisions
            if subject is None or is_about(one.subject, subject)
        )
    except Exception as failed:  # noqa: BLE001 - how it fails is what is looked for
        return (f"{type(failed).__name__}: {failed}",)


def write(file: Path, piece: Slice, found: Divergence) -> Path:
    """Write a slice, with what was found in the whole history beside it for people; says where.

    What is there already stays: unless it is the same, the slice gets another name.
    """
    plain = {
        "ledger_slice": SLICE_LAYOUT,
        "found": found.as_plain(),
        "genesis": json.loads(document(piece.genesis)),
        "world": None if piece.world is None else b64encode(piece.world).decode("ascii"),
        "events": [{name: getattr(one, name) for name in Told.__slots__} for one in piece.events],
        "subject": piece.subject,
        "recorded": list(piece.recorded),
    }
    content = (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode()
    for name in _names(file):
        try:
            with name.open("xb") as opened:
                opened.write(content)
        except FileExistsError:
            if not name.is_file() or name.read_bytes() != content:
                continue
        return name
    raise AssertionError("there is always another name")


_ENDING: Final = ".slice.json"


def _names(file: Path) -> Iterator[Path]:
    """A name, and then others like it."""
    yield file
    stem, ending = file.name.removesuffix(_ENDING), _ENDING
    if stem == file.name:
        stem, ending = file.stem, file.suffix
    for number in count(2):
        yield file.with_name(f"{stem}.{number}{ending}")


def read(file: Path) -> tuple[Slice, dict[str, Any]]:
    """A slice from its file, and what was found when it was cut; raises InvalidRequest, SetupProblem."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SetupProblem(f"{file}: {error.strerror}") from error
    try:
        plain = json.loads(content)
    except (RecursionError, ValueError) as error:
        raise InvalidRequest("not_a_slice", f"{file}: it is no JSON document: {error}") from error
    layout = plain.get("ledger_slice") if isinstance(plain, dict) else None
    if layout is None:
        raise InvalidRequest("not_a_slice", f"{file}: it has no ledger_slice, as every slice does")
    if layout != SLICE_LAYOUT:
        raise InvalidRequest(
            "unknown_slice", f"{file}: its layout is {layout}, and {SLICE_LAYOUT} is known here"
        )
    try:
        return _slice(plain), _member(plain, "found", dict)
    except (TypeError, ValueError) as error:
        raise InvalidRequest("not_a_slice", f"{file}: {error}") from error


def _slice(plain: Mapping[str, Any]) -> Slice:
    """What a document says; raises TypeError and ValueError, in words."""
    events = tuple(
        Told(**{name: _member(one, name, kind, f"events/{place}") for name, kind in _TOLD.items()})
        for place, one in enumerate(_member(plain, "events", list))
    )
    if not events:
        raise ValueError("it has no events")
    if any(one.position >= other.position for one, other in pairwise(events)):
        raise ValueError("its events are not in order")
    recorded = _member(plain, "recorded", list)
    if not all(isinstance(one, str) for one in recorded):
        raise ValueError("recorded: a record is no text")
    subject = _member(plain, "subject", str, optional=True)
    return Slice(
        genesis=_genesis(_member(plain, "genesis", dict)),
        world=_world(_member(plain, "world", str, optional=True)),
        events=events,
        subject=None if subject is None else Subject(subject),
        recorded=tuple(recorded),
    )


_TOLD: Final[Mapping[str, type]] = {
    name: int if name in ("position", "recorded_at", "revision", "decisions") else str
    for name in Told.__slots__
}
"""What the members of an event are."""

_KINDS: Final[Mapping[type, str]] = {int: "whole number", str: "text", list: "list", dict: "object"}


def _member(
    plain: object, name: str, kind: type, where: str = "", *, optional: bool = False
) -> Any:
    path = f"{where}/{name}".removeprefix("/")
    if not isinstance(plain, dict):
        raise TypeError(f"{where}: it is no object")
    if name not in plain:
        raise ValueError(f"{path} is missing")
    found = plain[name]
    if optional and found is None:
        return None
    if not isinstance(found, kind) or isinstance(found, bool):
        raise TypeError(f"{path}: it is no {_KINDS[kind]}")
    return found


def _genesis(plain: Mapping[str, Any]) -> Genesis:
    try:
        return from_document(json.dumps(plain).encode())
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"genesis: it is none that this program knows: {error}") from error


def _world(spelled: str | None) -> bytes | None:
    if spelled is None:
        return None
    try:
        return b64decode(spelled, validate=True)
    except ValueError as error:
        raise ValueError(f"world: it is no base64: {error}") from error


def runnable(piece: Slice) -> Divergence | None:
    """``run`` for a file that anybody can have written; raises InvalidRequest."""
    try:
        return run(piece)
    except (UnusableSnapshot, zlib.error) as error:
        raise InvalidRequest(
            "unknown_world", f"the World in it is damaged, or of another layout: {error}"
        ) from error
    except (
        *(InvalidEvent, AssertionError, ArithmeticError),
        *(AttributeError, LookupError, TypeError, ValueError),
    ) as error:
        raise InvalidRequest(
            "not_a_slice", f"this program cannot take the steps in it: {error}"
        ) from error
