"""How fast a whole history is verified and recomputed, by one worker and by two.

It is what ``ledger replay`` does, from rows to the report, with the verification in it. What a core
does is told by processor time, as for the other benchmarks: a machine that others use makes the
clock on the wall slow and it not. Whether two workers are nearly twice as fast only that clock can
tell, so that figure needs two cores that nobody else uses.
"""

import resource
from statistics import median
from time import perf_counter, process_time
from typing import Final, NamedTuple

from ledger.cli.bench.audit_history import Ground
from ledger.cli.bench.engine_finding import Bar, Finding, digits
from ledger.log import fleets
from ledger.log.database import connected
from ledger.replay.histories import READER
from ledger.replay.replay import Wanted, replay
from ledger.replay.report import Report

PER_SECOND: Final = 10_000
SPEEDUP: Final = 1.8
MIB: Final = 1_024
_KIB_PER_MIB: Final = 1024


class _Taken(NamedTuple):
    report: Report
    seconds: float
    cpu_seconds: float
    """Of this process and of the workers that it waited for."""


async def replayed(ground: Ground, *, rounds: int) -> Finding:
    """One worker and two take turns."""
    one, two = [], []
    for _ in range(rounds):
        one.append(await _replayed(ground, workers=1))
        two.append(await _replayed(ground, workers=2))
    report = one[0].report
    seconds, seconds_of_two = (median(each.seconds for each in taken) for taken in (one, two))
    cpu = median(each.cpu_seconds for each in one)
    shown = two[0].report.shown
    assert shown is not None, "something was decided"
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // _KIB_PER_MIB
    figures = {
        "events": report.events,
        "decisions": report.decisions,
        "seconds": digits(seconds),
        "seconds_of_two": digits(seconds_of_two),
        "cpu_seconds": digits(cpu),
        "cpu_seconds_of_two": digits(median(each.cpu_seconds for each in two)),
        "per_second": round(report.events / seconds),
        "per_second_of_a_core": round(report.events / cpu),
        "segments": shown.segments,
        "speedup": digits(seconds / seconds_of_two),
        "mib_of_the_largest_worker": peak,
        "rounds": rounds,
    }
    return Finding(
        part="replay",
        about="a history verified and every decision recomputed",
        figures=figures,
        bars=[
            Bar("events a second of a core", figures["per_second_of_a_core"], at_least=PER_SECOND),
            Bar("speedup of two workers", figures["speedup"], at_least=SPEEDUP),
            Bar("MiB a worker", peak, at_most=MIB),
        ],
        postgres=ground.postgres,
    )


async def _replayed(ground: Ground, *, workers: int) -> _Taken:
    async with connected(ground.url, READER) as connection:
        fleet = await fleets.find(connection, ground.fleet)
        assert fleet is not None
        began, cpu = perf_counter(), _cpu_seconds()
        report = await replay(connection, fleet, url=ground.url, wanted=Wanted(workers=workers))
        taken = _Taken(report, perf_counter() - began, _cpu_seconds() - cpu)
    assert report.diverged is None, f"a benchmark of a history that is right: {report.diverged}"
    return taken


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime
