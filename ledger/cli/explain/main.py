"""``ledger explain``: how a decision came about, and what became of it since.

It asks as a reader, over the documented views, so it tells nobody more than they may see. Everything
is found by an index; the history is not folded again.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.explain import finding, telling
from ledger.cli.explain.derivation import Derivation, derive
from ledger.cli.explain.finding import Kind, Meant
from ledger.cli.explain.redoing import Redone
from ledger.cli.explain.sections import Sections, page
from ledger.cli.run import run
from ledger.log.database import Connection, connected, refusals_named
from ledger.views import derivations
from ledger.views.derivations import NEWEST, Place, Recorded

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode="markdown", add_completion=False)
"""The command by itself, for whoever asks nothing else of the ledger."""

PLACED: Final = ("division", "deployment", "allocation", "disk_placement")
"""The kinds of decisions that hold places."""

Fleet = Annotated[
    str | None,
    typer.Option(help="The fleet; needed only where there are several.", show_default=False),
]


@app.command()
def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="DECISION|WORKLOAD|VOLUME|JOB",
            help="A number, namespace/name, namespace/name@cluster, or a name.",
        ),
    ],
    kind: Annotated[
        Kind | None,
        typer.Option(help="What the name is, where it may be several things.", show_default=False),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="POSITION|TIME",
            help="As it was then: a position of the log, or a time (RFC 3339).",
            show_default=False,
        ),
    ] = None,
    fleet: Fleet = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Tell how a decision came about.

    What was asked, what was known, the last result, each step with its numbers, the draw and how to
    redo it, who lost and why, what changed, and which event caused it. What stands refused comes
    first, with what is short and what it waits for. docs/explain.md has examples.
    """

    async def main() -> Explained:
        url = await locate(database_url, data)
        async with connected(url, "ledger_reader") as connection:
            with refusals_named():
                return await _explained(connection, what, kind, at, fleet)

    explained = run(main)
    if as_json:
        typer.echo(json.dumps(explained.plain()))
    else:
        explained.show()


@dataclass(frozen=True, slots=True)
class Explained:
    """A decision with all that is said of it."""

    of: Derivation
    again: list[Redone]
    sections: Sections
    standing: list[Recorded]
    places: list[Place]

    def plain(self) -> dict[str, Any]:
        """For machines."""
        return telling.plain(
            self.of, self.again, self.sections, standing=self.standing, places=self.places
        )

    def show(self) -> None:
        """For people."""
        first, *rest = telling.heading(self.of)
        typer.secho(first, bold=True)
        for line in rest:
            typer.echo(line)
        for name, lines in page(self.sections):
            typer.echo()
            typer.secho(name, bold=True)
            for line in lines:
                typer.echo(line)


async def _explained(
    connection: Connection, what: str, kind: Kind | None, at: str | None, fleet: str | None
) -> Explained:
    named = await finding.fleet_of(connection, fleet, what)
    position = await finding.position_at(connection, named, at)
    until = NEWEST if position is None else position
    meant = await finding.find(connection, named, what, kind, at=until)
    of = await derive(connection, meant.recorded, at=until)
    again = telling.questions(of)
    sections = telling.tell(of, again)
    standing, places = await _now(connection, named, meant, position)
    sections.pending += telling.pending(standing)
    sections.now += telling.now(places)
    return Explained(of, again, sections, standing, places)


async def _now(
    connection: Connection, fleet: str, meant: Meant, position: int | None
) -> tuple[list[Recorded], list[Place]]:
    """What stands refused and what is in force, for whoever asked about a subject."""
    if meant.subject is None:
        return [], []
    until = NEWEST if position is None else position
    subjects = [meant.subject]
    if "/" in meant.subject and "@" not in meant.subject:
        subjects = await finding.parts(connection, fleet, meant.subject, at=until)
    standing = await derivations.open_refusals(connection, fleet, subjects, at=position)
    if position is not None:
        return standing, []  # What was in force then no view says.
    wanted = [(kind, subject) for kind in PLACED for subject in subjects]
    return standing, await derivations.places(connection, fleet, wanted)
