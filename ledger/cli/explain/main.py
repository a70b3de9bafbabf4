"""``ledger explain``: how a decision came about, and what became of it since.

It asks as a reader, over the documented views, so it tells nobody more than they may see. Everything
is found by an index, but for a name without its namespace; the history is not folded again.
"""

import json
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Final, cast, get_args

import typer

from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.explain import finding, pods, telling, undecided
from ledger.cli.explain.checking import Checked, check
from ledger.cli.explain.derivation import Derivation, Standing, derive, stands
from ledger.cli.explain.emptied import emptied
from ledger.cli.explain.finding import Kind, Meant
from ledger.cli.explain.pods import Pod
from ledger.cli.explain.redoing import Redone
from ledger.cli.explain.sections import Sections, fold, page
from ledger.cli.explain.undecided import NewerWish, Undecided
from ledger.cli.explain.why_not import WhyNot, why_not
from ledger.cli.run import run
from ledger.errors import InvalidRequest
from ledger.facts.decision import record
from ledger.log.database import Connection, connected, refusals_named
from ledger.views import derivations
from ledger.views.derivations import NEWEST, Place, Recorded

PLACED: Final = ("division", "deployment", "allocation", "disk_placement")
"""The kinds of decisions that hold places."""

DIVERGED: Final = 1
"""The exit code of the audits where something differs."""

Fleet = Annotated[
    str | None,
    typer.Option(help="The fleet; needed only where there are several.", show_default=False),
]


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="DECISION|WORKLOAD|POD|VOLUME|JOB",
            help="A number, namespace/name, namespace/name@cluster, cluster/namespace/pod, or a name.",
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
    place: Annotated[
        str | None,
        typer.Option(
            "--why-not",
            metavar="PLACE",
            help="Why it is not there: a cluster, a node or a disk.",
            show_default=False,
        ),
    ] = None,
    checks: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Also hold the record against its digest, its steps against what they come to now,"
            " and what went in against the digest of that. Exit code 1: something differs.",
        ),
    ] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Name everybody who was weighed or lost, where the record names the first 16: the"
            " decision is made again from the log, by a login that may read it as `ledger replay` does.",
        ),
    ] = False,
    fleet: Fleet = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Tell how a decision came about.

    What was asked, what was known, the last result, each step with its numbers, the draw and how to
    redo it, who lost and why, what changed, and which event caused it. What stands refused comes
    first, with what is short and what it waits for. docs/explain.md tells more. After `ledger demo`:

    - `ledger explain 42` is about a decision
    - `ledger explain shop/checkout` is about a workload, and what of it is pending
    - `ledger explain shop/checkout@eu-north-a1 --full` is about the nodes of one cluster
    - `ledger explain shop/checkout --why-not us-west-a1`
    - `ledger explain identity-frontend-data --at 2000` is about a volume as it was then
    - `ledger explain mail/training-0001 --json` is about a job, for machines
    """

    async def main() -> Explained | Undecided:
        url = await locate(database_url, data)
        async with connected(url, "ledger_reader") as connection:
            with refusals_named():
                return await _explained(
                    connection,
                    what,
                    kind,
                    at,
                    place,
                    fleet,
                    checks=checks,
                    again_from=url if full else None,
                )

    explained = run(main)
    match explained:
        case Explained() if as_json:
            typer.echo(json.dumps(explained.plain()))
        case Explained():
            explained.show()
        case Undecided() if as_json:
            typer.echo(json.dumps(telling.undecided(explained)))
        case Undecided():
            typer.secho(f"nothing was decided about {explained.subject}", bold=True)
            for line in fold(explained.line) + fold(telling.said(explained.told)):
                typer.echo(line)
    if isinstance(explained, Explained) and explained.differs:
        raise typer.Exit(DIVERGED)


async def account(
    connection: Connection,
    fleet: str,
    what: str,
    *,
    kind: str | None,
    at: str | None,
    place: str | None,
    checks: bool,
) -> dict[str, Any]:
    """What is printed for machines; docs/explain.md tells the fields."""
    if kind is not None and kind not in get_args(Kind):
        raise InvalidRequest("invalid_kind", f"{kind}: one of {', '.join(get_args(Kind))}")
    wanted = cast("Kind | None", kind)
    explained = await _explained(
        connection, what, wanted, at, place, fleet, checks=checks, called="at"
    )
    if isinstance(explained, Undecided):
        return telling.undecided(explained)
    return explained.plain()


@dataclass(frozen=True, slots=True)
class Explained:
    """A decision with all that is said of it."""

    of: Derivation
    again: list[Redone]
    sections: Sections
    standing: list[Standing]
    places: list[Place]
    newer_wish: NewerWish | None
    pod: Pod | None
    why_not: WhyNot | None
    checked: Checked | None
    full: bool
    """Whether nobody was left out of ``of``."""

    @property
    def differs(self) -> bool:
        """Whether it was checked, and something did not hold."""
        return self.checked is not None and not self.checked.holds

    def plain(self) -> dict[str, Any]:
        """For machines."""
        return telling.plain(
            self.of, self.again, self.sections, standing=self.standing, places=self.places
        ) | {
            "newer_wish": telling.newer_wish(self.newer_wish),
            "pod": None if self.pod is None else telling.event(self.pod.seen),
            "why_not": None if self.why_not is None else asdict(self.why_not),
            "checked": None if self.checked is None else asdict(self.checked),
            "full": json.loads(record(self.of.decision)) if self.full else None,
        }

    def show(self) -> None:
        """For people."""
        first, *rest = telling.heading(self.of)
        typer.secho(first, bold=True)
        for line in rest:
            for folded in fold(line, indent=""):
                typer.echo(folded)
        answers = ("PENDING", "WHY NOT", "CHECKED")
        for name, lines in page(self.sections):
            if self.why_not is not None and name not in answers:
                continue  # Who asks about a place does not ask for everything.
            typer.echo()
            typer.secho(name, bold=True)
            for line in lines:
                typer.echo(line)


async def _explained(
    connection: Connection,
    what: str,
    kind: Kind | None,
    at: str | None,
    place: str | None,
    fleet: str | None,
    *,
    checks: bool = False,
    called: str = "--at",
    again_from: str | None = None,
) -> Explained | Undecided:
    what = what.strip()
    named = await finding.fleet_of(connection, fleet, what)
    position = await finding.position_at(connection, named, at, called=called)
    until = NEWEST if position is None else position
    meant = await finding.find(connection, named, what, kind, at=until)
    if isinstance(meant, Undecided):
        return meant
    of = await derive(connection, meant.recorded, at=until)
    again = telling.questions(of)
    as_recorded = of
    if again_from is not None:
        of = replace(of, recorded=await _with_everybody(again_from, of.recorded))
    sections = telling.tell(of, again)
    parts = await _parts(connection, named, meant, at=until)
    refused = await derivations.open_refusals(connection, named, parts, at=position)
    standing = [await stands(connection, one, at=until) for one in refused]
    wanted = [(kind, subject) for kind in PLACED for subject in parts]
    places = await derivations.places(connection, named, wanted, at=position)
    pod = meant.pod
    if pod is not None:
        there = await pods.here(connection, named, pod)
        sections.pod += pods.told(pod, there, as_of_now=position is None)
    waits = None
    if meant.subject is not None:
        waits = await undecided.newer(connection, named, of, at=until)
    if waits is not None:
        sections.pending += [waits.line, *([""] if standing else [])]
    sections.pending += telling.pending(
        standing,
        places,
        as_of_now=position is None,
        waiting=None if waits is None else waits.told.position,
    )
    in_force = telling.placed(places)
    if meant.subject is not None and not places:
        in_force = await emptied(connection, named, wanted, at=until)
    if position is None:
        sections.now += in_force
    else:
        sections.then, sections.now = sections.now, []
        sections.then += in_force
    why = None
    if place is not None:
        there = await derivations.places(
            connection,
            named,
            wanted or [(kind, of.decision.subject) for kind in PLACED],
            at=position,
        )
        why = await why_not(connection, of, refused, parts, place, there, at=until)
        sections.why_not += why.lines
    checked = None
    if checks:
        apart = await derivations.columns_apart(connection, as_recorded.recorded)
        checked = check(as_recorded, again, apart)
        sections.checked += checked.lines
    return Explained(
        of,
        again,
        sections,
        standing,
        places,
        waits,
        pod,
        why,
        checked,
        full=again_from is not None,
    )


async def _with_everybody(url: str, recorded: Recorded) -> Recorded:
    """The decision made again from the log, with nobody left out."""
    # What decides takes longer to load than a decision takes to read, and only this asks for it.
    from ledger.log import fleets
    from ledger.replay.everybody import with_everybody
    from ledger.replay.histories import READER, DatabaseHistory

    async with connected(url, READER) as log:
        fleet = await fleets.find(log, recorded.decision.fleet)
        assert fleet is not None, "it has decided something"
        whole = await with_everybody(DatabaseHistory(log, fleet), recorded.decision)
    return recorded._replace(decision=whole)


async def _parts(connection: Connection, fleet: str, meant: Meant, *, at: int) -> list[str]:
    """The subjects that whoever asked means; a decision by itself is about nothing but itself."""
    if meant.subject is None:
        return []
    if "/" in meant.subject and "@" not in meant.subject:
        return await finding.parts(connection, fleet, meant.subject, at=at)
    return [meant.subject]
