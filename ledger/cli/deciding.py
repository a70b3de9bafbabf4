"""``ledger decide``: from the log to decisions."""

import asyncio
import json
import os
import secrets
import socket
from functools import cache
from typing import Annotated

import typer
from rich.console import Console

from ledger.cli import logs
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.decision_lines import line
from ledger.cli.run import run_until_asked
from ledger.engine import decider
from ledger.facts.decision import Decision


@cache
def holder() -> str:
    """The name under which this process holds leases, and no other.

    Containers may share host names, and the first process of each has the same number.
    """
    return f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"


def decide(
    until_idle: Annotated[
        bool,
        typer.Option(
            "--until-idle",
            help="Decide everything there is and exit. Deadlines that nothing else reaches are"
            " reached at once instead of by the clock.",
        ),
    ] = False,
    fleet: Annotated[
        list[str] | None, typer.Option(help="Only this fleet; may be given more than once.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not print decisions.")] = False,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Fold each fleet's log and decide what its events raise.

    One process decides for a fleet at a time; a second one stands by and takes over within
    seconds. What was decided stands in `ledger_api.decisions`.
    """
    logs.configure()
    console = Console(highlight=False)

    def show(made: tuple[Decision, ...]) -> None:
        if not (quiet or as_json):
            for decision in made:
                console.print(line(decision), soft_wrap=True)

    async def main(stop: asyncio.Event) -> decider.Progress:
        return await decider.decide(
            await locate(database_url, data),
            holder=holder(),
            until_idle=until_idle,
            stop=stop,
            only=frozenset(fleet) if fleet else None,
            on_decisions=show,
        )

    done = run_until_asked(main)
    if as_json:
        typer.echo(json.dumps({"events": done.events, "decisions": done.decisions}))
    elif until_idle:
        typer.echo(f"{done.events:,} events folded, {done.decisions:,} decisions made")
