"""``ledger recover``: go on from a database that was restored to an earlier point."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from ledger.cli.aside import aside
from ledger.cli.counting import count
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.operator import operator
from ledger.cli.run import NEEDS_A_PERSON, run
from ledger.errors import InvalidRequest, SetupProblem
from ledger.log import fleets, receipts, recovery, signed
from ledger.log.checkpoints import parse_checkpoint
from ledger.log.database import Connection, connected
from ledger.log.fleets import Fleet
from ledger.log.notes import open_note, parse_key, parse_note
from ledger.log.receipts import Feeding
from ledger.log.recovery import NOT_BORN, Assessment, HandedOn, ReadAgain, Remembered, decision_id
from ledger.log.signed import Signed
from ledger.log.signing_keys import life_of, read_origin
from ledger.log.trees import TREES
from ledger.units import FleetName, Offset

if TYPE_CHECKING:
    from consumers.handed_on import Looked

KAFKA: Final = "LEDGER_KAFKA_BOOTSTRAP"


def recover(
    fleet: Annotated[str, typer.Argument(help="The fleet.")],
    memory: Annotated[
        Path | None,
        typer.Option(
            "--memory",
            exists=True,
            dir_okay=False,
            help="The signer's memory (`ledger seal --memory`), or a copy of it.",
        ),
    ] = None,
    checkpoint: Annotated[
        list[Path] | None,
        typer.Option(
            "--checkpoint",
            exists=True,
            dir_okay=False,
            help="A signed checkpoint that somebody kept, where the memory is lost; one of each tree.",
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", help="The key of a checkpoint's origin (`ledger key show`)."),
    ] = None,
    clock: Annotated[
        Literal["wall", "event"],
        typer.Option(help="Of a fleet that was opened behind the point that was restored to."),
    ] = "wall",
    why: Annotated[
        str, typer.Option("--why", help="The reason; it is recorded.")
    ] = "the database was restored",
    yes: Annotated[
        bool, typer.Option("--yes", help="Begin the next life. Without it, only say what was lost.")
    ] = False,
    restored: Annotated[
        bool,
        typer.Option(
            "--restored",
            help="You know that the database was restored, although nobody remembers more of this"
            " fleet than is there.",
        ),
    ] = False,
    without_kafka: Annotated[
        bool,
        typer.Option(
            "--without-kafka",
            help="Do not ask Kafka what was handed on. What it would have told stays unknown.",
        ),
    ] = False,
    database_url: DatabaseUrl = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Go on from a restore: say what was lost, and begin the next life of a fleet's log.

    After a restore to an earlier point the database has forgotten what the signer signed, what
    Kafka was handed and what consumers took; they have not, and each of them stops the fleet before
    a number is used twice. This holds what they remember against the log, and says which positions
    were signed and are not there, which decisions were published and are not there, and what Kafka
    will deliver again. With --yes the log goes on from where it ends in its next life (incarnation): the
    first event of it names the last signed checkpoints, every decision from there on has an id that
    nothing ever had, and the signer signs for origins of their own. Events that Kafka still has come
    again, each once; those that came by HTTP or from files after the point have to be sent again.

    Stop the consumers, deciders and publishers, restore, recover every fleet, start them: then
    nothing can slip in between. Those that still run stop by themselves, and go on by themselves.

    Exit code 0: recovered, or there is nothing to recover; 76: something was lost and --yes was not
    given, or the log went on after the restore and must be restored once more. docs/recover.md has
    it step by step.

    - `ledger recover shop --memory signed.json` says what was lost
    - `ledger recover shop --memory signed.json --why "the disk was lost" --yes` goes on
    - `ledger recover shop --without-kafka --restored --yes` where nobody remembers more
    """

    async def main() -> tuple[Assessment, tuple[ReadAgain, ...] | None, list[FleetName]]:
        signed_ends = _signed(FleetName(fleet), memory, checkpoint or [], key or [])
        url = await locate(database_url, data)
        async with connected(url, "ledger_writer") as connection:
            it = await fleets.find(connection, FleetName(fleet))
            looked = await _looked(connection) if not without_kafka else None
            heard = recovery.remembered_names(
                signed_ends or (), () if looked is None else looked.newest
            )
            missing = await recovery.not_in_the_log(connection, heard)
            remembered = await _remembered(
                connection,
                FleetName(fleet),
                it,
                signed_ends,
                looked,
                asks_kafka=not without_kafka,
            )
            found = (
                recovery.unborn(FleetName(fleet), clock, remembered)
                if it is None
                else await recovery.assess(connection, it, remembered)
            )
            if found is None:
                raise SetupProblem(
                    f"fleet {fleet}: there is none of this name, and nobody remembers one"
                )
            others = [name for name in missing if name != fleet]
            if not yes or not (found.is_rewound or restored):
                return found, None, others
            return found, await recovery.begin(connection, found, why=why, by=operator()), others

    found, going_on, others = run(main)
    if as_json:
        typer.echo(json.dumps(_plain(found, going_on, others)))
    else:
        _tell(found, going_on, restored=restored)
        if others:
            aside.print(
                f"{', '.join(others)}: somebody remembers these too, and the log has never heard of"
                " them: recover them as well, before anything comes of them"
            )
    if going_on is None and (found.is_rewound or found.forked):
        raise typer.Exit(NEEDS_A_PERSON)


def _signed(
    fleet: FleetName, memory: Path | None, notes: Sequence[Path], keys: Sequence[str]
) -> dict[str, Signed] | None:
    """The last signed end of each origin; None where nobody was asked."""
    if memory is None and not notes:
        return None
    known = {} if memory is None else dict(signed.recalled(memory))
    for path in notes:
        try:
            content = path.read_bytes()
            said = parse_checkpoint(parse_note(content).text)
            # Of its own origin: whoever else signed it has only seen it.
            open_note(content, [key for key in map(parse_key, keys) if key.name == said.origin])
        except (OSError, InvalidRequest) as error:
            raise SetupProblem(
                f"{path}: no checkpoint that somebody signed whose --key was given: {error}"
            ) from error
        before = known.get(said.origin)
        if before is None or before.size < said.size:
            known[said.origin] = Signed(said.size, said.root)
    _require_both_trees(fleet, known)
    return known


def _require_both_trees(fleet: FleetName, known: Mapping[str, Signed]) -> None:
    """Of the newest life: an event that names the end of one tree only is not signed for."""
    origins = [one for one in map(read_origin, known) if one is not None and one.fleet == fleet]
    newest = max((one.incarnation for one in origins), default=None)
    ends = {(one.site, one.tree) for one in origins if one.incarnation == newest}
    for site in sorted({site for site, _ in ends}):
        for tree in TREES:
            if (site, tree) not in ends:
                raise SetupProblem(
                    f"{site}/{fleet}/{newest}/{tree}: the newest --checkpoint of this tree is needed"
                    " too"
                )


async def _looked(connection: Connection) -> "Looked | None":
    """What Kafka has of the decisions that were handed on; None where no Kafka is told."""
    if not os.environ.get(KAFKA):
        return None
    from consumers.handed_on import look
    from consumers.settings import Settings

    return await look(Settings(), connection)


async def _remembered(
    connection: Connection,
    name: FleetName,
    fleet: Fleet | None,
    ends: Mapping[str, Signed] | None,
    looked: "Looked | None",
    *,
    asks_kafka: bool,
) -> Remembered:
    """What is known outside the database; SetupProblem where somebody was not asked who should be."""
    is_signed, is_handed_on = False, True
    feeding: tuple[Feeding, ...] = ()
    if fleet is not None:
        is_signed, is_handed_on = await recovery.is_remembered_elsewhere(connection, fleet)
        feeding = await receipts.feeding(connection, name)
    if ends is None and is_signed:
        raise SetupProblem(
            f"{name}: it is signed for, so the signer remembers how far: give its --memory, or"
            " the newest --checkpoint of each tree that anybody kept"
        )
    handed_on: HandedOn | None = None
    told: Mapping[tuple[str, int], Offset] = {}
    if looked is not None:
        from consumers.handed_on import told_of_group
        from consumers.settings import Settings

        handed_on = looked.of(name)
        told = await told_of_group(Settings(), [(one.topic, one.partition) for one in feeding])
    elif asks_kafka and (is_handed_on or feeding):
        raise SetupProblem(
            f"{name}: Kafka knows how far it went; set {KAFKA}, or say --without-kafka"
        )
    mine = {} if ends is None else ends
    return Remembered(
        {origin: end for origin, end in mine.items() if life_of(origin, name) is not None},
        handed_on,
        told,
    )


def _plain(
    found: Assessment, going_on: tuple[ReadAgain, ...] | None, others: Sequence[FleetName]
) -> dict[str, Any]:
    handed_on = found.handed_on
    return {
        "fleet": found.fleet.name,
        "incarnation": found.incarnation,
        "next": found.next,
        "recovered": going_on is not None,
        "rewound": found.is_rewound,
        "forked": list(found.forked),
        "events": found.events,
        "decisions": found.decisions,
        "decided_through": found.decided_through,
        "signed": [
            {
                "origin": end.origin,
                "size": end.signed.size,
                "root": end.signed.root.hex(),
                "lost": None if end.is_told else end.lost,
            }
            for end in found.ends
        ],
        "published": None
        if handed_on is None
        else {
            "newest": found.published,
            "first_lost": None
            if handed_on.first_lost is None
            else decision_id(found.fleet, handed_on.first_lost),
            "lost": handed_on.lost,
        },
        "partitions": [
            {
                "topic": one.topic,
                "partition": one.partition,
                "next": one.next,
                "told": one.told,
                "fleets": list(one.fleets),
                "goes_on": going_on is not None and one in going_on,
            }
            for one in found.partitions
        ],
        "stops": [
            {"component": stop.component, "reason": stop.reason, "detail": stop.detail}
            for stop in found.stopped
        ],
        "not_in_the_log": list(others),
    }


def _tell(found: Assessment, going_on: tuple[ReadAgain, ...] | None, *, restored: bool) -> None:
    name = found.fleet.name
    if found.incarnation == NOT_BORN:
        typer.echo(f"{name}: the log has never heard of it")
    else:
        typer.echo(
            f"{name}: {count(found.events, 'event')}, decided through {found.decided_through},"
            f" {count(found.decisions, 'decision')}, incarnation {found.incarnation}"
        )
    for stop in found.stopped:
        typer.echo(f"  stopped by the {stop.component}: {stop.reason}: {stop.detail}")
    for end in found.ends:
        lost = "all of them are in the log"
        if end.is_told:
            lost = f"what that life lost is told by the first event of life {found.incarnation}"
        elif end.lost:
            first, last = end.signed.size - end.lost, end.signed.size - 1
            which = f"positions {first} to {last}"
            if end.tree == "decisions":
                life = life_of(end.origin, name)
                which = f"decisions {name}/{life}/{first} to {name}/{life}/{last}"
            lost = f"{which} were signed and are not in the log"
        typer.echo(f"  {end.origin}: {end.signed.size} signed; {lost}")
    handed_on = found.handed_on
    if handed_on is not None:
        lost = "nothing of that is missing"
        if handed_on.first_lost is not None:
            lost = f"{handed_on.lost} are not in the log, from {decision_id(found.fleet, handed_on.first_lost)} on"
        typer.echo(f"  handed on to Kafka up to {found.published}: {lost}")
    for one in found.partitions:
        told = "" if one.told is None else f"; Kafka was told {one.told}"
        typer.echo(f"  {one.topic}/{one.partition}: taken up to {one.next}{told}")
    for sentence in found.forked:
        typer.echo(f"  forked: {sentence}")
    if going_on is not None:
        _tell_recovered(found, going_on)
    elif found.forked:
        aside.print(
            "the log went on after it was restored: restore it once more, and recover it before"
            " anything writes to it"
        )
    elif found.is_rewound:
        after = f" after position {found.events - 1}" if found.events else ""
        aside.print(f"nothing was changed; --yes begins {name}/{found.next}{after}")
    elif restored:
        aside.print(f"nothing was changed; --yes begins {name}/{found.next}")
    else:
        aside.print("nobody remembers more than there is: there is nothing to recover")


def _tell_recovered(found: Assessment, going_on: Sequence[ReadAgain]) -> None:
    name = found.fleet.name
    typer.echo(
        f"{name} goes on as {name}/{found.next} from position {found.events}; the next decisions are"
        f" {name}/{found.next}/..."
    )
    for one in going_on:
        typer.echo(f"  {one.topic}/{one.partition} goes on at {one.next}")
    waiting = sorted({other for one in found.partitions for other in one.fleets} - {name})
    if waiting:
        aside.print(
            f"{', '.join(waiting)}: these come by the same partitions and were restored too;"
            " recover them as well"
        )
    if found.ends:
        aside.print(
            f"its origins are new, and so are their keys: hand out what `ledger key show --fleet {name}"
            f" --incarnation {found.next}` prints",
            soft_wrap=True,
        )
