"""A branch as a file: what it decided, how it stood on the way, and where everything was in the end.

Lines of JSON. The first says of which log it is a branch, up to where, and what was otherwise; the
last says that it is whole. Decisions are spelled as records, so whatever reads records reads these.
A kept branch is compared with another one only where both are of the same log up to the same event.

A file gets its name once the branch is whole; until then what was kept under that name stays.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from ledger.errors import InvalidRequest, SetupProblem
from ledger.facts.decision import Decision, from_record, record
from ledger.facts.places import Places
from ledger.replay.what_if.branch import Place
from ledger.replay.what_if.measures import Kept, Measures
from ledger.units import Subject

LAYOUT: Final = 1


class Heading(NamedTuple):
    """Of which log it is, and what was otherwise."""

    fleet: str
    incarnation: int
    through: int
    event_root: str
    """Of the log through there."""
    asked: Mapping[str, Any]


class Keeping:
    """A branch that is written while it is made."""

    def __init__(self, file: TextIO, heading: Heading) -> None:
        """Write the heading."""
        self._file = file
        self._write({"branch": LAYOUT, **heading._asdict()})

    def decided(self, place: Place, decisions: Sequence[Decision]) -> None:
        """What was decided at a place."""
        for one in decisions:
            spelled = record(one).decode()
            self._file.write(f'{{"at":[{place.position},{place.nth}],"record":{spelled}}}\n')

    def stood(self, place: Place, measures: Measures) -> None:
        """How it stood there."""
        told = {name: _plain(value) for name, value in asdict(measures).items()}
        self._write({"at": place, "measures": told})

    def end(self, places: Mapping[Kept, Places]) -> None:
        """Where everything is in the end, and that this is the end."""
        self._write({"end": [[kept.kind, kept.subject, places[kept]] for kept in sorted(places)]})

    def _write(self, told: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(told) + "\n")


@contextmanager
def keeping(path: Path, heading: Heading) -> Iterator[Keeping]:
    """Keep a branch under a name that it has only if the block ends well."""
    # A link stays one, and what is no file, such as /dev/stdout, cannot be replaced.
    target = path.resolve()
    replaced = target.is_file() or not target.exists()
    beside = target.with_name(f".{target.name}.new") if replaced else target
    try:
        file = beside.open("w", encoding="utf-8")
    except OSError as error:
        raise SetupProblem(f"{path}: {error.strerror}") from error
    try:
        with file:
            yield Keeping(file, heading)
        if replaced:
            beside.replace(target)
    except BaseException:
        if replaced:
            beside.unlink(missing_ok=True)
        raise


class KeptBranch:
    """A branch that was kept, read along the log."""

    def __init__(self, path: Path) -> None:
        """Open a file and read what it is of."""
        self._path = path
        self._lines = self._read()
        _, told = next(self._lines)
        if told.get("branch") != LAYOUT:
            raise InvalidRequest("not_a_branch", f"{path}: no branch that this program keeps")
        self.heading = Heading(*(told[name] for name in Heading._fields))
        self._next = next(self._lines)
        self._measures: Measures | None = None

    def taken(self, place: Place) -> list[Decision]:
        """What it decided at a place, places being asked for in order."""
        found: list[Decision] = []
        while (at := self._next[0]) is not None and at <= place:
            told = self._next[1]
            if "record" in told:
                if at < place:
                    raise AssertionError(f"{at} was not asked for")
                found.append(from_record(json.dumps(told["record"]).encode()))
            else:
                self._measures = _measures(told["measures"])
            self._next = next(self._lines)
        return found

    def between(self, place: Place) -> Iterator[tuple[Place, list[Decision]]]:
        """What it decided before a place and nobody else has a place for."""
        while (at := self._next[0]) is not None and at < place:
            yield at, self.taken(at)

    def measures(self, otherwise: Measures) -> Measures:
        """How it stood at the place asked for last, as far as it says."""
        return self._measures or otherwise

    def places(self) -> dict[Kept, Places]:
        """Where everything was in its end."""
        told = self._next[1]
        return {Kept(kind, Subject(subject)): there for kind, subject, there in told["end"]}

    def _read(self) -> Iterator[tuple[Place | None, dict[str, Any]]]:
        ended = False
        try:
            with self._path.open(encoding="utf-8") as file:
                for line in file:
                    told = json.loads(line)
                    ended = "end" in told
                    yield (Place(*told["at"]) if "at" in told else None), told
        except (OSError, ValueError) as error:
            raise InvalidRequest("not_a_branch", f"{self._path}: {error}") from error
        if not ended:
            raise InvalidRequest("not_a_branch", f"{self._path}: it breaks off")


def _plain(value: Fraction | int | None) -> Any:
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    return value


def _measures(told: Mapping[str, Any]) -> Measures:
    values: dict[str, Any] = {}
    for field in fields(Measures):
        value = told[field.name]
        values[field.name] = Fraction(*value) if isinstance(value, list) else value
    return Measures(**values)
