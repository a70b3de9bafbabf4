"""Verify and replay a log of millions: what that takes, in memory that does not grow.

    python -m tests.replay.long_log --events 5000000

A small fleet tells the same few things over and over under new identities, since how long a log is is all
that matters here; now and then a workload grows, and something is decided. Then the commands that people
use audit it, each a process of its own, whose memory is looked at every second: ``ledger verify``, and
``ledger replay`` by several workers. A line is printed of each. It ends with 1 where a process took a GiB
or more, or where the second half of its run took markedly more than the first.
"""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

import structlog
import typer

from ledger.cli.bench.processes import cpu_seconds, memory_mb
from ledger.engine import decider
from ledger.engine.snapshots import Interval
from ledger.log import lines
from ledger.log.database import connected
from ledger.units import FleetName
from tests.engine.deciding import UNHURRIED
from tests.postgres import session_postgres

FLEET: Final = FleetName("long")
MOST_MIB: Final = 1024
MOST_MORE_MIB: Final = 48
"""In the second half: what a program needs that begins is not there in its first seconds."""
SNAPSHOTS: Final = 20
DECIDED: Final = 1_000
"""One event in so many makes a decision."""
PODS: Final = 500
CLUSTERS: Final = 4
SECONDS_A_DAY: Final = 86_400

_ENVELOPE: Final = (
    '{"specversion":"1.0","id":"e%d","source":"/long","type":"ledger.%s","subject":"%s",'
    '"time":"2026-01-%02dT%02d:%02d:%02d.%03dZ","fleet":"long","data":%s}'
)


def told(events: int) -> Iterator[bytes]:
    """So many events, a thousand a second of the fleet's time."""
    for number in range(events):
        type_, subject, data = _said(number)
        second, thousandth = divmod(number, 1000)
        day, second = divmod(second, SECONDS_A_DAY)
        at = (1 + day, second // 3600, second // 60 % 60, second % 60, thousandth)
        yield (_ENVELOPE % (number, type_, subject, *at, data)).encode()


def _said(number: int) -> tuple[str, str, str]:
    if number < CLUSTERS:
        name = f"c{number}"
        data = f'{{"name":"{name}","region":"r","zone":"z"}}'
        return "cluster.cluster.upserted.v1", name, data
    if number % DECIDED == CLUSTERS:
        replicas = 1 + number // DECIDED % 90
        weights = ",".join(f'"c{cluster}":{cluster + 1}' for cluster in range(CLUSTERS))
        data = (
            '{"namespace":"shop","name":"cart","uid":"u","kind":"Deployment",'
            f'"replicas":{replicas},"division":{{"strategy":"static","weights":{{{weights}}}}}}}'
        )
        return "workload.workload.upserted.v1", "shop/cart", data
    pod = f"p{number % PODS}"
    data = f'{{"cluster":"c1","namespace":"shop","name":"{pod}","uid":"u{number}"}}'
    return "workload.pod.deleted.v1", f"c1/shop/{pod}", data


@dataclass(frozen=True, slots=True)
class Taken:
    """What a command took."""

    what: str
    seconds: float
    cpu_seconds: float
    processes: int
    first_half_mib: int
    second_half_mib: int
    """The most that any one process had in memory."""
    code: int

    @property
    def kept(self) -> bool:
        """Whether all was well and its memory did not grow."""
        flat = self.second_half_mib <= self.first_half_mib + MOST_MORE_MIB
        return self.code == 0 and flat and self.most < MOST_MIB

    @property
    def most(self) -> int:
        """MiB of the largest process at any time."""
        return max(self.first_half_mib, self.second_half_mib)

    def line(self) -> str:
        """For people."""
        return (
            f"{self.what}: exit code {self.code}, {self.seconds:.0f} s, {self.cpu_seconds:.0f} s of"
            f" processor time, {self.processes} processes, the largest {self.first_half_mib} MiB in the"
            f" first half and {self.second_half_mib} MiB in the second: {'kept' if self.kept else 'MISSED'}"
        )


async def watched(what: str, arguments: Sequence[str]) -> Taken:
    """Run a command of the ledger, and look at it and its workers every second."""
    began = monotonic()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ledger.cli.main", *arguments)
    )
    ended = asyncio.create_task(process.wait())
    looks: list[int] = []
    cost: dict[int, float] = {}
    while not ended.done():
        most = 0
        for pid in (process.pid, *_children(process.pid)):
            with suppress(FileNotFoundError, ProcessLookupError, KeyError):
                most = max(most, memory_mb(pid)[0])
                cost[pid] = cpu_seconds(pid)
        looks.append(most)
        await asyncio.wait({ended}, timeout=1.0)
    middle = max(1, len(looks) // 2)
    return Taken(
        what,
        monotonic() - began,
        sum(cost.values()),
        len(cost),
        max(looks[:middle]),
        max(looks[middle:], default=0),
        ended.result(),
    )


def _children(pid: int) -> list[int]:
    with suppress(FileNotFoundError, ProcessLookupError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


async def main(events: int, workers: int) -> int:
    """Make the log, and audit it; 1 where a bar is missed."""
    async with session_postgres() as postgres, postgres.database() as url:
        began = monotonic()
        async with connected(url, "ledger_writer") as connection:
            taken = await lines.ingest(connection, told(events), clock="event")
        assert taken.appended == events, taken
        _say(f"taken in: {events} events, {monotonic() - began:.0f} s")
        began = monotonic()
        await decider.decide(
            url,
            holder="tests",
            until_idle=True,
            stop=asyncio.Event(),
            pace=UNHURRIED,
            snapshots=Interval(max(1, events // SNAPSHOTS), 0.0),
        )
        _say(f"decided: {monotonic() - began:.0f} s, {memory_mb(os.getpid())[1]} MiB at most")
        of = ("--fleet", FLEET, "--database-url", url)
        missed = 0
        for what, arguments in (
            ("verify", ("verify", *of)),
            (f"replay by {workers}", ("replay", *of, "--workers", f"{workers}")),
        ):
            found = await watched(what, arguments)
            _say(found.line())
            missed += not found.kept
    return 1 if missed else 0


def _say(line: str) -> None:
    typer.echo(line)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    sys.exit(asyncio.run(main(asked.events, asked.workers)))
