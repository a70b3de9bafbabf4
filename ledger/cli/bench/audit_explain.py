"""How soon ``ledger explain`` has told how a decision came about.

Decisions of all kinds, from all over the history, are explained by their numbers and what they are about
by its name. What a person waits for is the command, a process that begins anew and was compiled before,
as what is installed was; what a service waits for, which has a connection, is the answer. A mean is no
figure: the slowest twentieth counts.
"""

import os
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from ledger.cli.bench.audit_history import Ground
from ledger.cli.bench.engine_finding import Bar, Finding, digits, percentile
from ledger.cli.explain.main import account
from ledger.log.database import connected

MILLISECONDS: Final = 300
ANSWERS: Final = 60
"""Asked over one connection, in each round."""
COMMANDS: Final = 10
"""Processes, in each round."""

_SLOW: Final = 95

_KEEPS_NOTHING: Final = "PYTHONDONTWRITEBYTECODE"
"""With it a process compiles all that it loads; nobody's installed program does."""


async def explained(ground: Ground, *, rounds: int) -> Finding:
    """Ask about decisions all over the history."""
    answers = ANSWERS * rounds
    async with connected(ground.url, "ledger_reader") as reader:
        rows = await reader.fetch(
            "SELECT number, kind, subject FROM"
            " (SELECT *, row_number() OVER (ORDER BY number) AS place, count(*) OVER () AS whole"
            "    FROM ledger_api.decisions WHERE fleet = $1) AS d"
            # So many, evenly, and the last; and the first three of each kind.
            " WHERE place % greatest(1, whole / $2) = 0 OR number IN"
            "   (SELECT number FROM (SELECT number, row_number() OVER (PARTITION BY kind ORDER BY number)"
            "      AS n FROM ledger_api.decisions WHERE fleet = $1) AS k WHERE n <= 3)"
            " ORDER BY number",
            ground.fleet,
            answers,
        )
        asked = [str(row["number"]) for row in rows]
        # A workload's name means the newest decision about it, and all that is in force.
        asked += sorted({row["subject"] for row in rows if row["kind"] == "division"})[:ANSWERS]
        took: list[float] = []
        for what in asked:
            began = perf_counter()
            await account(reader, ground.fleet, what, kind=None, at=None, place=None, checks=False)
            took.append(1000 * (perf_counter() - began))
    commands = asked[:: max(1, len(asked) // (COMMANDS * rounds))]
    with TemporaryDirectory(prefix="ledger-bench-compiled-") as compiled:
        # The first compiles what it loads, as whoever installs a program does.
        _command(ground, commands[0], compiled)
        whole = [1000 * _command(ground, what, compiled) for what in commands]
    return Finding(
        part="explain",
        about="how decisions came about",
        figures={
            "kinds": len({row["kind"] for row in rows}),
            "answers": len(took),
            "answer_p50_ms": digits(percentile(sorted(took), 50)),
            "answer_p95_ms": digits(percentile(sorted(took), _SLOW)),
            "answer_max_ms": digits(max(took)),
            "commands": len(whole),
            "command_p50_ms": digits(percentile(sorted(whole), 50)),
            "command_p95_ms": digits(percentile(sorted(whole), _SLOW)),
            "command_max_ms": digits(max(whole)),
        },
        bars=[
            Bar(
                "milliseconds of the command",
                digits(percentile(sorted(whole), _SLOW)),
                at_most=MILLISECONDS,
            )
        ],
        postgres=ground.postgres,
    )


def _command(ground: Ground, what: str, compiled: str) -> float:
    """Seconds that the command took, as its user would have waited."""
    keeping = {name: value for name, value in os.environ.items() if name != _KEEPS_NOTHING}
    began = perf_counter()
    subprocess.run(
        [
            *(sys.executable, "-m", "ledger.cli.main", "explain", what),
            *("--fleet", ground.fleet, "--database-url", ground.url),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        env=keeping | {"PYTHONPYCACHEPREFIX": compiled},
    )
    return perf_counter() - began
