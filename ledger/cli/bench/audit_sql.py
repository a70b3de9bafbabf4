"""How soon SQL answers: what was in force at earlier positions, and where one workload or node is now.

What was in force is asked at positions all over the mixed history; what is in force of one workload and
on one node is asked with as many workloads beside them as a large fleet has. Each question is asked as a
reader, its rows are fetched, and a mean is no figure: the slowest twentieth counts. How much of it is
finding what was in force, and not carrying some ten thousand rows, is told by counting them only.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter
from typing import Final

from ledger.cli.bench.audit_history import Ground
from ledger.cli.bench.engine_finding import Bar, Finding, digits
from ledger.log import fleets
from ledger.log.database import connected
from ledger.log.intake import open_fleet
from ledger.units import FleetName
from ledger.views.query import begin

AS_OF_MILLISECONDS: Final = 100
CURRENT_MILLISECONDS: Final = 5

WORKLOADS: Final = 100_000
"""Those that are in force beside the one that is asked for, three places each."""

LARGE: Final = FleetName("large")
"""The fleet of them. Nothing was decided for it: its rows are only there."""

_FILL: Final = (
    "INSERT INTO ledger.placements (fleet, kind, subject, cluster, node, count, from_position)"
    " SELECT f.number, 'deployment', 'of-' || w % 97 || '/work-' || w || '@m' || w % 20,"
    "        'm' || w % 20, 'n' || (w * 7 + copy * 613) % 2500, 1 + w % 5, w"
    "   FROM ledger.fleets f, generate_series(1, $2::bigint) w, generate_series(0, 2) copy"
    "  WHERE f.name = $1"
)
_FILL_BY: Final = (
    "INSERT INTO ledger.placed_by (fleet, kind, subject, number, from_position)"
    " SELECT DISTINCT p.fleet, p.kind, p.subject, p.from_position, p.from_position"
    "   FROM ledger.placements p JOIN ledger.fleets f ON f.number = p.fleet WHERE f.name = $1"
)


async def answers(ground: Ground, *, rounds: int) -> Finding:
    """Ask the mixed history, and a fleet of many workloads beside it.

    The reader is a process of its own. What this one gathered when it decided the history is in the way
    of rows that come in, and is searched for garbage as they do: that took three times as long as the rest.
    """
    await _filled(ground.url, WORKLOADS if ground.events > 50_000 else ground.events)
    with ProcessPoolExecutor(1, get_context("spawn")) as reader:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(reader, _answered, ground, rounds)


def _answered(ground: Ground, rounds: int) -> Finding:
    return asyncio.run(_asked(ground, rounds))


async def _asked(ground: Ground, rounds: int) -> Finding:
    async with connected(ground.url, "ledger_reader") as reader:
        await begin(reader)
        through = await reader.fetchval(
            "SELECT decided_through FROM fleets WHERE fleet = $1", ground.fleet
        )
        assert through is not None, "a benchmark is of a fleet that was decided"
        steps = max(rounds * 7, 20)
        positions = [through * step // steps for step in range(1, steps + 1)]
        rows = 0

        async def as_of(position: int) -> None:
            nonlocal rows
            found = await reader.fetch(
                "SELECT * FROM placements_as_of($1, $2)", ground.fleet, position
            )
            rows = max(rows, len(found))

        async def as_of_counted(position: int) -> None:
            await reader.fetchval(
                "SELECT count(*) FROM placements_as_of($1, $2)", ground.fleet, position
            )

        async def of_a_workload(number: int) -> None:
            subject = f"of-{number % 97}/work-{number}@m{number % 20}"
            found = await reader.fetch(
                "SELECT * FROM placements WHERE fleet = $1 AND subject = $2", LARGE, subject
            )
            assert len(found) == 3

        async def on_a_node(number: int) -> None:
            found = await reader.fetch(
                "SELECT * FROM placements WHERE fleet = $1 AND cluster = $2 AND node = $3",
                *(LARGE, f"m{number % 20}", f"n{number * 7 % 2500}"),
            )
            assert found

        numbers = range(1, 1 + steps)
        then = await _slow(as_of, positions)
        counted = await _slow(as_of_counted, positions)
        workload = await _slow(of_a_workload, numbers)
        node = await _slow(on_a_node, numbers)
        kept = await reader.fetchval("SELECT sum(decisions) FROM fleets")
    return Finding(
        part="sql",
        about="what was in force then, and what is in force now",
        figures={
            "events": through + 1,
            "decisions": int(kept),
            "places_at_most": rows,
            "as_of_ms": digits(then),
            "as_of_counted_ms": digits(counted),
            "workload_ms": digits(workload),
            "node_ms": digits(node),
            "asked": steps,
        },
        bars=[
            Bar("milliseconds as of a position", digits(then), at_most=AS_OF_MILLISECONDS),
            Bar("milliseconds of one workload", digits(workload), at_most=CURRENT_MILLISECONDS),
            Bar("milliseconds of one node", digits(node), at_most=CURRENT_MILLISECONDS),
        ],
        postgres=ground.postgres,
    )


async def _filled(url: str, workloads: int) -> None:
    async with connected(url, None) as connection:
        if await fleets.find(connection, LARGE) is not None:
            return
        await open_fleet(connection, LARGE, clock="event")
        await connection.execute(_FILL, LARGE, workloads)
        await connection.execute(_FILL_BY, LARGE)
        # As autovacuum would have done by the time that anybody asks.
        await connection.execute("VACUUM ANALYZE")


async def _slow(ask: Callable[[int], Awaitable[None]], of: Sequence[int]) -> float:
    """Milliseconds that one in twenty of these questions exceeds."""
    await ask(of[0])
    took: list[float] = []
    for one in of:
        began = perf_counter()
        await ask(one)
        took.append(perf_counter() - began)
    return sorted(took)[len(took) * 19 // 20 - 1] * 1000
