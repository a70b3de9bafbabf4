"""``ledger diff``: what is placed differently at one position than at another."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer

from ledger.cli.counting import count
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.explain import finding, words
from ledger.cli.explain.differences import Change, Difference, Tasks, difference
from ledger.cli.explain.main import Fleet
from ledger.cli.explain.sections import ROWS_TOLD, fold
from ledger.cli.run import run
from ledger.errors import InvalidRequest
from ledger.log.database import Connection, connected, refusals_named
from ledger.views import derivations
from ledger.views.differences import Refused

NOW: Final = "now"
"""The last decided position."""

Earlier = Annotated[str, typer.Argument(help="A position of the log, or a time (RFC 3339).")]
Later = Annotated[
    str, typer.Argument(help=f"A position or a time behind it, or `{NOW}`: all that is decided.")
]

NUMBERS_TOLD = 6
"""Decisions that a line names: the first ones and the last."""


def diff(
    a: Earlier,
    b: Later,
    fleet: Fleet = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Tell what is placed differently at B than at A, and which decisions did it.

    Subject by subject: where it was and is, how much of it moved, and by which decisions; tasks that
    rounds placed and evicted, and those that ended by themselves; refusals that stand at B and did not at A, and those that ended.
    `ledger explain NUMBER` tells how each of the decisions came about. After `ledger demo`:

    - `ledger diff 1000 2000`
    - `ledger diff 2000 now --fleet demo`
    """

    async def main() -> Difference:
        url = await locate(database_url, data)
        async with connected(url, "ledger_reader") as connection:
            with refusals_named():
                until = await _now(connection, fleet) if b == NOW else b
                return await _difference(connection, fleet, a, until)

    found = run(main)
    if as_json:
        typer.echo(json.dumps(plain(found)))
    else:
        show(found)


async def _now(connection: Connection, fleet: str | None) -> str:
    """The last decided position of a fleet, as one would name it."""
    named = await finding.fleet_of(connection, fleet)
    through, _ = await derivations.decided_through(connection, named)
    if through < 0:
        raise InvalidRequest("invalid_moment", f"B {NOW}: nothing of {named} is decided")
    return str(through)


async def account(connection: Connection, fleet: str, a: str, b: str) -> dict[str, Any]:
    """What is printed for machines; docs/explain.md tells the fields."""
    return plain(await _difference(connection, fleet, a, b, called=("from", "to")))


async def _difference(
    connection: Connection,
    fleet: str | None,
    a: str,
    b: str,
    *,
    called: tuple[str, str] = ("A", "B"),
) -> Difference:
    named = await finding.fleet_of(connection, fleet)
    first = await finding.position_at(connection, named, a, called=called[0])
    last = await finding.position_at(connection, named, b, called=called[1])
    assert first is not None, "both are given"
    assert last is not None, "both are given"
    if first > last:
        raise InvalidRequest("invalid_moment", f"{b} is before {a}: name the earlier one first")
    return await difference(connection, named, first, last)


def plain(found: Difference) -> dict[str, Any]:
    """For machines; docs/explain.md tells the fields."""
    return {
        "fleet": found.fleet,
        "from": found.a,
        "to": found.b,
        "decisions": [found.first, found.behind],
        "changes": [asdict(one) for one in found.changes],
        "unchanged": found.unchanged,
        "tasks": [asdict(one) for one in found.tasks],
        "refusals_opened": [_refused_plain(one) for one in found.opened],
        "refusals_closed": [_refused_plain(one) for one in found.closed],
        "refusals_passing": found.passing,
    }


def _refused_plain(refused: Refused) -> dict[str, Any]:
    return refused._asdict() | {"detail": json.loads(refused.detail)}


def show(found: Difference) -> None:
    """For people."""
    typer.secho(
        f"fleet {found.fleet}: position {found.a} to {found.b}, {_decided(found)}", bold=True
    )
    _section("PLACED DIFFERENTLY", [line for one in found.changes for line in _change(one)])
    _section("TASKS", [line for one in found.tasks for line in _tasks(one)])
    _section("REFUSED SINCE", [_opened(one) for one in found.opened])
    _section("REFUSED NO MORE", [_closed(one) for one in found.closed])
    typer.echo()
    for what, number in _totals(found).items():
        typer.echo(f"{what:<29}  {number}")


def _totals(found: Difference) -> dict[str, int]:
    """Subjects, what of them moved, and tasks are counted apart: a subject has many of the others."""
    tasks = found.tasks
    return {
        "subjects placed differently": len(found.changes),
        "replicas and instances moved": sum(one.moved for one in found.changes),
        "tasks placed": sum(sum(one.placed.values()) for one in tasks),
        "tasks evicted": sum(sum(one.evicted.values()) for one in tasks),
        "tasks that ended": sum(sum(one.ended.values()) for one in tasks),
        "decided about, and unchanged": found.unchanged,
        "refused, and no more by then": found.passing,
    }


def _decided(found: Difference) -> str:
    made = found.behind - found.first
    if not made:
        return "no decisions"
    if made == 1:
        return f"decision #{found.first}"
    return f"decisions #{found.first} to #{found.behind - 1}"


def _section(name: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    typer.echo()
    typer.secho(name, bold=True)
    for line in lines:
        for folded in fold(line):
            typer.echo(folded)


def _change(change: Change) -> list[str]:
    told = f"{_spelled(change.kind)} of {change.subject}, {_by(change.decisions)}"
    if change.decisions and change.by_events:
        told += " and by events"
    if change.ended_by is not None:
        told = f"{_spelled(change.kind)} of {change.subject} ended with event {change.ended_by}"
    if change.moved:
        told += f", moved {change.moved}"
    places = sorted({*change.before, *change.after})
    other = [one for one in places if change.before.get(one, 0) != change.after.get(one, 0)]
    lines = [
        f"  {place}  {change.before.get(place, 0)} -> {change.after.get(place, 0)}"
        for place in other[:ROWS_TOLD]
    ]
    if len(other) > ROWS_TOLD:
        lines.append(f"  and {count(len(other) - ROWS_TOLD, 'place')} more")
    return [told, *lines]


def _tasks(tasks: Tasks) -> list[str]:
    told = [f"{tasks.subject}, {_by(tasks.decisions)}"]
    if tasks.placed:
        told.append(f"  placed   {_counts(tasks.placed, '+')}")
    if tasks.evicted:
        told.append(f"  evicted  {_counts(tasks.evicted, '-')}")
    if tasks.ended:
        told.append(f"  ended    {_counts(tasks.ended, '-')}")
    return told


def _counts(counts: Mapping[str, int], sign: str) -> str:
    return ", ".join(f"{place} {sign}{counts[place]}" for place in counts)


def _by(numbers: Sequence[int]) -> str:
    if not numbers:
        return "by events alone"
    if len(numbers) > NUMBERS_TOLD:
        first = ", ".join(f"#{number}" for number in numbers[: NUMBERS_TOLD - 1])
        return f"by {first} ... #{numbers[-1]} ({count(len(numbers), 'decision')})"
    return f"by {', '.join(f'#{number}' for number in numbers)}"


def _spelled(kind: str) -> str:
    """A kind of decision as people read it."""
    return kind.replace("_", " ")


def _opened(refused: Refused) -> str:
    return f"#{refused.number} {_spelled(refused.wanted)} of {refused.subject}: {words.reason(refused.reason)}"


def _closed(refused: Refused) -> str:
    end = (
        f"by #{refused.resolved_by}"
        if refused.resolved_by is not None
        else f"with event {refused.ended_position}"
    )
    wanted = _spelled(refused.wanted)
    return f"#{refused.number} {wanted} of {refused.subject} ({refused.reason}) ended {end}"
