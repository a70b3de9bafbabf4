"""How fast a decided log is verified, and how fast everything that people read is made again.

What a core does is told by processor time: a machine that others use makes the clock on the wall slow
and it not. ``verify`` is what ``ledger verify`` does, with its events and its decisions told apart,
since how many decisions there are to an event is the history's and not the program's. ``deep`` is
``ledger verify --deep``, the verification of the trees in it.
"""

from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter, process_time
from typing import Final, NamedTuple

from ledger.cli.bench.audit_history import Ground
from ledger.cli.bench.engine_finding import Bar, Finding, digits
from ledger.log import fleets
from ledger.log.database import Connection, connected
from ledger.log.fleets import Fleet
from ledger.replay import audit
from ledger.replay.report import Report
from ledger.replay.verify import events_verified

VERIFIED_PER_SECOND: Final = 150_000
DEEP_PER_SECOND: Final = 30_000


class _Taken(NamedTuple):
    events: int
    decisions: int
    seconds: float
    cpu_seconds: float


async def verified(ground: Ground, *, rounds: int) -> Finding:
    """A whole log verified, and its events alone."""
    whole = [await _measured(ground, _verify) for _ in range(rounds)]
    alone = [await _measured(ground, _events) for _ in range(rounds)]
    figures = _figures(whole) | {
        "per_second_of_a_core_events_alone": _rate(alone),
        "rounds": rounds,
    }
    return Finding(
        part="verify",
        about="every leaf and both trees of a log from their rows",
        figures=figures,
        bars=[
            Bar(
                "events a second of a core, without their decisions",
                _rate(alone),
                at_least=VERIFIED_PER_SECOND,
            )
        ],
        postgres=ground.postgres,
    )


async def deep(ground: Ground, *, rounds: int) -> Finding:
    """Everything made again that people read."""
    taken = [await _measured(ground, _deep) for _ in range(rounds)]
    return Finding(
        part="deep",
        about="every column, row and projection of a log made again and compared",
        figures=_figures(taken) | {"rounds": rounds},
        bars=[Bar("events a second of a core", _rate(taken), at_least=DEEP_PER_SECOND)],
        postgres=ground.postgres,
    )


async def _measured(
    ground: Ground, measure: Callable[[Connection, Fleet], Awaitable[tuple[int, int]]]
) -> _Taken:
    async with connected(ground.url, "ledger_signer") as connection:
        fleet = await fleets.find(connection, ground.fleet)
        assert fleet is not None, "a benchmark is of a fleet that there is"
        began, cpu = perf_counter(), process_time()
        events, decisions = await measure(connection, fleet)
        return _Taken(events, decisions, perf_counter() - began, process_time() - cpu)


async def _verify(connection: Connection, fleet: Fleet) -> tuple[int, int]:
    return _counted(await audit.verified(connection, fleet, deep=False))


async def _deep(connection: Connection, fleet: Fleet) -> tuple[int, int]:
    return _counted(await audit.verified(connection, fleet, deep=True))


async def _events(connection: Connection, fleet: Fleet) -> tuple[int, int]:
    frontier, trouble = await events_verified(connection, fleet)
    assert trouble is None, f"a benchmark of a log that is whole: {trouble}"
    return frontier.size, 0


def _counted(report: Report) -> tuple[int, int]:
    assert report.diverged is None, f"a benchmark of a log that is whole: {report.diverged}"
    return report.events, report.decisions


def _figures(taken: list[_Taken]) -> dict[str, float]:
    return {
        "events": taken[0].events,
        "decisions": taken[0].decisions,
        "seconds": digits(median(one.seconds for one in taken)),
        "cpu_seconds": digits(median(one.cpu_seconds for one in taken)),
        "per_second": round(taken[0].events / median(one.seconds for one in taken)),
        "per_second_of_a_core": _rate(taken),
    }


def _rate(taken: list[_Taken]) -> int:
    return round(taken[0].events / median(one.cpu_seconds for one in taken))
