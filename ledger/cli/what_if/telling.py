"""What would have been, for people and for machines."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from itertools import islice
from typing import Any, Final, NamedTuple

import typer

from ledger.cli.counting import count as counted
from ledger.cli.explain import words
from ledger.cli.explain.sections import fold
from ledger.cli.solve.telling import table
from ledger.facts.places import Places
from ledger.replay.what_if.asking import Answer
from ledger.replay.what_if.comparison import Brief, Elsewhere, Other, Sample, Standing

Number = Fraction | float
"""A ratio or a count; a picture has floats."""
Value = Fraction | int | None

TOLD: Final = 12
"""Of what differs: as many as somebody reads in a review; `--json` has the others."""

PLACES_TOLD: Final = 6
"""Of a subject: the same."""


class Row(NamedTuple):
    """One line of the table, and one curve of the picture."""

    name: str
    value: Callable[[Standing], Value]
    told: Callable[[Number], str]
    always: bool = False
    """Whether it is told even where it is nothing on both sides."""


def percent(value: Number) -> str:
    """A part of the whole."""
    return f"{float(value):.1%}"


def ratio(value: Number) -> str:
    """A spread."""
    return f"{float(value):.2f}"


def count(value: Number) -> str:
    """Whole things."""
    return f"{int(value):,}"


def size(value: Number) -> str:
    """Bytes, in the largest unit of which there is one; `--json` has them exactly."""
    for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi"), 1):
        if value < 1024 ** (power + 1) or unit == "Pi":
            return f"{float(value) / 1024**power:.1f}{unit}" if value >= 1024 else str(int(value))
    raise AssertionError("the largest unit takes the rest")


ROWS: Final = (
    Row("decisions", lambda one: one.tally.decisions, count, always=True),
    Row("moved between clusters", lambda one: one.tally.moved["division"], count, always=True),
    Row("moved between nodes", lambda one: one.tally.moved["deployment"], count, always=True),
    Row("moved between disks", lambda one: one.tally.moved["disk_placement"], count, always=True),
    Row("bytes moved", lambda one: one.tally.bytes_moved, size),
    Row("tasks placed", lambda one: one.tally.tasks_placed, count),
    Row("tasks evicted", lambda one: one.tally.tasks_evicted, count),
    Row("tasks waiting in the end", lambda one: one.measures.tasks_waiting, count),
    Row("refusals", lambda one: one.tally.by_kind["refusal"], count, always=True),
    Row("refusals open in the end", lambda one: one.measures.open_refusals, count, always=True),
    Row("on demand", lambda one: one.measures.on_demand, percent),
    Row("off demand, belong there", lambda one: one.measures.off_demand, count),
    Row("least served namespace", lambda one: one.measures.least_served, percent),
    Row("spread over clusters", lambda one: one.measures.cluster_spread, ratio),
    Row("spread of nodes' cpu", lambda one: one.measures.cpu_spread, percent),
    Row("spread of nodes' memory", lambda one: one.measures.memory_spread, percent),
    Row("spread of bytes, nodes", lambda one: one.measures.host_spread, ratio),
    Row("spread of bytes, disks", lambda one: one.measures.disk_spread, ratio),
    Row("spread of disks' use", lambda one: one.measures.disk_use_spread, percent),
)
"""In the order in which they are read."""

IGNORED: Final[Mapping[str, str]] = {
    "pods": "pods of instances that are elsewhere in the branch",
    "replicas": "replicas of volumes that are elsewhere in the branch",
    "approvals": "approvals of what was proposed otherwise in the branch",
}


def title(answer: Answer) -> str:
    """What was asked, in a line."""
    asked = answer.asked
    told = [f"{path} = {value}" for path, value in _flat("", asked["settings"])]
    told += [f"weights {one}" for one in asked["weights"]]
    told += [f"without {one}" for one in asked["without"]]
    where = "" if asked["at"] is None else f" in front of {asked['at']}"
    told += [f"with {one}{where}" for one in asked["with"]]
    if asked["ask_again"]:
        told.append("everything asked again")
    if asked["from"] != "0":
        told.append(f"from {asked['from']} on")
    return "; ".join(told) or "nothing otherwise"


def sides(answer: Answer) -> tuple[str, str]:
    """What the two are called."""
    return ("as it was" if answer.against is None else "kept branch"), "what if"


def plain(answer: Answer) -> dict[str, Any]:
    """For machines; docs/what-if.md tells the fields."""
    comparison = answer.comparison
    last = comparison.samples[-1]
    return {
        "fleet": answer.fleet,
        "from": answer.first,
        "through": answer.through,
        "asked": answer.asked,
        "against": None if answer.against is None else answer.against.asked,
        "same": comparison.same,
        "was": _standing(last.was),
        "would_be": _standing(last.would_be),
        "other": {
            "decisions": comparison.other.total(),
            "by_kind": dict(sorted(comparison.other.items())),
            "unmade": comparison.unmade,
            "anew": comparison.anew,
        },
        "decisions": [_other(one) for one in comparison.others],
        "elsewhere": [{**one._asdict(), "moves": one.moves} for one in comparison.elsewhere],
        "left_out": answer.left_out,
        "put_in": answer.put_in,
        "ignored": answer.ignored,
        "course": [_sample(one) for one in comparison.samples],
    }


def _standing(one: Standing) -> dict[str, Any]:
    tally = one.tally
    measures = {
        name: [value.numerator, value.denominator] if isinstance(value, Fraction) else value
        for name, value in asdict(one.measures).items()
    }
    return {
        "decisions": tally.decisions,
        "by_kind": dict(sorted(tally.by_kind.items())),
        "moved": {kind: number for kind, number in sorted(tally.moved.items()) if number},
        "bytes_moved": tally.bytes_moved,
        "tasks_placed": tally.tasks_placed,
        "tasks_evicted": tally.tasks_evicted,
        **measures,
    }


def _other(one: Other) -> dict[str, Any]:
    return one._asdict() | {
        "place": {"position": one.place.position, "nth": one.place.nth},
        "was": [brief._asdict() for brief in one.was],
        "would_be": [brief._asdict() for brief in one.would_be],
    }


def _sample(one: Sample) -> dict[str, Any]:
    return {
        "position": one.place.position,
        "was": _standing(one.was),
        "would_be": _standing(one.would_be),
    }


def show(answer: Answer) -> None:
    """For people."""
    comparison = answer.comparison
    typer.secho(f"fleet {answer.fleet}, events 0 to {answer.through}", bold=True)
    for line in fold(f"what if: {title(answer)}"):
        typer.secho(line.strip(), bold=True)
    if answer.against is not None:
        typer.echo("against a kept branch")
    typer.echo()
    for line in table([*_table(answer)], numbers=range(1, 4)):
        typer.echo(line)
    typer.echo()
    typer.echo(_otherwise(answer))
    # That what is asked again is answered again says nothing; where it then is stands below.
    others = [one for one in comparison.others if not (answer.asked["ask_again"] and one.place.nth)]
    told = min(TOLD, len(others))
    _section(
        "ANSWERED OTHERWISE",
        [line for one in others[:told] for line in _answered(one)],
        comparison.other.total() - told,
    )
    _section(
        "ELSEWHERE IN THE END",
        [line for one in islice(comparison.elsewhere, TOLD) for line in _elsewhere(one)],
        len(comparison.elsewhere) - TOLD,
    )
    _section(
        "REPORTS THAT SAY NOTHING HERE",
        [f"{number} of {IGNORED[name]}" for name, number in answer.ignored.items()],
        0,
    )


def _table(answer: Answer) -> Iterator[list[str]]:
    last = answer.comparison.samples[-1]
    yield ["", *sides(answer), "change"]
    for row in ROWS:
        was, would_be = row.value(last.was), row.value(last.would_be)
        if was or would_be or row.always:
            yield [row.name, _cell(row, was), _cell(row, would_be), _change(row, was, would_be)]


def _cell(row: Row, value: Value) -> str:
    return "-" if value is None else row.told(value)


def _change(row: Row, was: Value, would_be: Value) -> str:
    if was is None or would_be is None or was == would_be:
        return ""
    more, less = max(was, would_be), min(was, would_be)
    return f"{'+' if would_be > was else '-'}{row.told(more - less)}"


def _otherwise(answer: Answer) -> str:
    comparison = answer.comparison
    if comparison.same:
        return "nothing would be different"
    other = comparison.other.total()
    moves = sum(one.moves for one in comparison.elsewhere)
    return (
        f"answered otherwise  {other}, of them {comparison.unmade} not at all and"
        f" {comparison.anew} anew\n"
        f"elsewhere in the end  {counted(len(comparison.elsewhere), 'subject')}, {counted(moves, 'move')} away"
    )


def _section(name: str, lines: list[str], more: int) -> None:
    if not lines:
        return
    typer.echo()
    typer.secho(name, bold=True)
    for line in lines:
        typer.echo(f"  {line}")
    if more > 0:
        typer.echo(f"  and {more} more: `--json` has them")


def _answered(one: Other) -> Iterator[str]:
    at = f"event {one.place.position}"
    if one.place.nth:
        at = f"behind event {one.place.position}" if one.place.position >= 0 else "at the beginning"
    yield f"{at}: {one.kind.replace('_', ' ')} of {one.subject}"
    yield f"  {_briefs(one.was)} -> {_briefs(one.would_be)}"
    if one.was and one.would_be:
        there, here = one.was[-1].places, one.would_be[-1].places
        yield from _other_places(there, here)
    else:
        told = _named(one.was[-1].places if one.was else one.would_be[-1].places)
        if told:
            yield f"  {told}"


def _briefs(briefs: Sequence[Brief]) -> str:
    return " and ".join(map(_brief, briefs)) or "not decided"


def _brief(brief: Brief) -> str:
    if brief.kind == "refusal":
        return f"#{brief.number} refused: {words.reason(brief.reason)}"
    return f"#{brief.number} {brief.branch}{f', moved {brief.moved}' if brief.moved else ''}"


def _named(places: Places) -> str:
    told = [f"{place} {places[place]}" for place in islice(places, PLACES_TOLD)]
    if len(places) > PLACES_TOLD:
        told.append(f"and {counted(len(places) - PLACES_TOLD, 'place')} more")
    return ", ".join(told)


def _elsewhere(one: Elsewhere) -> Iterator[str]:
    moves = f", {one.moves} of it elsewhere" if one.moves else ""
    yield f"{one.kind.replace('_', ' ')} of {one.subject}{moves}"
    yield from _other_places(one.was, one.would_be)


def _other_places(was: Places, would_be: Places) -> Iterator[str]:
    other = [
        place for place in sorted({*was, *would_be}) if was.get(place, 0) != would_be.get(place, 0)
    ]
    for place in other[:PLACES_TOLD]:
        yield f"  {place}  {was.get(place, 0)} -> {would_be.get(place, 0)}"
    if len(other) > PLACES_TOLD:
        yield f"  and {counted(len(other) - PLACES_TOLD, 'place')} more"


def _flat(prefix: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            # As --set takes it.
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)
