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
from ledger.replay.what_if.branch import BEFORE_ALL, Place
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


_Said = Heading | Decision | Measures | dict[Kept, Places]


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
        _, heading = next(self._lines)
        assert isinstance(heading, Heading), "it is what is read first"
        self.heading = heading
        self._next = next(self._lines)
        self._measures: Measures | None = None

    def taken(self, place: Place) -> list[Decision]:
        """What it decided at a place, places being asked for in order."""
        found: list[Decision] = []
        while (at := self._next[0]) is not None and at <= place:
            said = self._next[1]
            if isinstance(said, Decision):
                if at < place:
                    raise AssertionError(f"{at} was not asked for")
                found.append(said)
            elif isinstance(said, Measures):
                self._measures = said
            self._next = next(self._lines)
        return found

    def between(self, place: Place) -> Iterator[tuple[Place, list[Decision]]]:
        """What it decided before a place and nobody else has a place for."""
        while (at := self._next[0]) is not None and at < place:
            yield at, self.taken(at)

    def measures(self, otherwise: Measures) -> Measures:
        """How it stood at the place asked for last, as far as it says."""
        return self._measures or otherwise

    def places(self) -> Mapping[Kept, Places]:
        """Where everything was in its end."""
        said = self._next[1]
        assert isinstance(said, dict), "what has no place is the end"
        return said

    def _read(self) -> Iterator[tuple[Place | None, _Said]]:
        """The heading, what is said at places in their order, and the end."""
        try:
            with self._path.open(encoding="utf-8") as file:
                heading = _heading(json.loads(next(file, "null")))
                yield None, heading
                last = BEFORE_ALL
                for line in file:
                    told = json.loads(line)
                    if "end" in told:
                        _insist(not file.read(), "something stands behind its end")
                        yield None, _end(told["end"])
                        return
                    at, said = _said(told)
                    _insist(last <= at, f"{at.position} stands behind {last.position}")
                    _insist(at.position <= heading.through, f"{at.position} is no place in it")
                    last = at
                    yield at, said
                raise ValueError("it breaks off")
        except (
            *(ArithmeticError, AssertionError, AttributeError, LookupError, OSError),
            *(RecursionError, TypeError, ValueError),
        ) as error:
            raise InvalidRequest("not_a_branch", f"{self._path}: {error}") from error


def _insist(so: bool, otherwise: str) -> None:  # noqa: FBT001 - it is the one thing insisted on
    if not so:
        raise ValueError(otherwise)


def _heading(told: Any) -> Heading:
    _insist(
        isinstance(told, dict) and told.get("branch") == LAYOUT, "no branch that this program keeps"
    )
    heading = Heading(*(told[name] for name in Heading._fields))
    for value, kind in zip(heading, (str, int, int, str, dict), strict=True):
        _insist(isinstance(value, kind), f"{value!r} is in its heading")
    return heading


def _said(told: Any) -> tuple[Place, Decision | Measures]:
    position, nth = told["at"]
    _insist(isinstance(position, int) and isinstance(nth, int), f"{told['at']} is no place")
    if "record" in told:
        return Place(position, nth), from_record(json.dumps(told["record"]).encode())
    return Place(position, nth), _measures(told["measures"])


def _end(told: Any) -> dict[Kept, Places]:
    found: dict[Kept, Places] = {}
    for kind, subject, there in told:
        for name, number in there.items():
            _insist(isinstance(number, int), f"{name} {number!r} is in its end")
        found[Kept(kind, Subject(subject))] = there
    return found


def _plain(value: Fraction | int | None) -> Any:
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    return value


def _measures(told: Mapping[str, Any]) -> Measures:
    values: dict[str, Any] = {}
    for field in fields(Measures):
        value = told[field.name]
        if isinstance(value, list):
            value = Fraction(*value)
        _insist(value is None or isinstance(value, int | Fraction), f"{field.name} is {value!r}")
        values[field.name] = value
    return Measures(**values)
