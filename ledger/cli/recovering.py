"""``ledger recover``: go on from a database that was restored to an earlier point."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import typer

from ledger.cli.archiving import DetachedOption
from ledger.cli.aside import aside
from ledger.cli.counting import count
from ledger.cli.database import AsJson, Data, DatabaseUrl, locate
from ledger.cli.operator import operator
from ledger.cli.run import NEEDS_A_PERSON, run
from ledger.errors import InvalidRequest, SetupProblem
from ledger.log import fleets, receipts, recovery, signed, trees
from ledger.log.checkpoints import MOST_LEAVES
from ledger.log.database import Connection, connected
from ledger.log.detached import archive_of
from ledger.log.fleets import Fleet
from ledger.log.known_ends import KnownEnd, Signers, remembered, tree_of
from ledger.log.notes import parse_key
from ledger.log.publishing import Directory
from ledger.log.receipts import Feeding
from ledger.log.recovery import NOT_BORN, Assessment, HandedOn, ReadAgain, Remembered, decision_id
from ledger.log.signed import Signed
from ledger.log.signing_keys import life_of, read_origin
from ledger.log.trees import TREES, Tree
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
    notes: Annotated[
        Path | None,
        typer.Option(
            "--notes",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="The directory that `ledger seal --publish` wrote, or a copy: what was kept is held against"
            " the notes in it, beside the memory.",
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            help="The key of a note's origin (`ledger key show`); those that the memory signs with it knows.",
        ),
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
    unvouched: Annotated[
        bool,
        typer.Option(
            "--unvouched",
            help="Nothing that was signed is known of what was kept; it is believed as the database has it.",
        ),
    ] = False,
    without_kafka: Annotated[
        bool,
        typer.Option(
            "--without-kafka",
            help="Do not ask Kafka what was handed on. What it would have told stays unknown.",
        ),
    ] = False,
    detached: DetachedOption = None,
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
    nothing ever had, and the signer signs for origins of their own. What was kept has to be what was signed:
    it is held against every signed end that is known of it, and where none is, that is said once. Events that Kafka still has come
    again, each once; those that came by HTTP or from files after the point have to be sent again.

    Stop the consumers, deciders and publishers, restore, recover every fleet, start them: then
    nothing can slip in between. Those that still run stop by themselves, and go on by themselves.

    Exit code 0: recovered, or there is nothing to recover; 76: something was lost and --yes was not
    given, or the log went on after the restore, or is not what was signed, and must be restored once more.
    docs/recover.md has it step by step.

    - `ledger recover shop --memory signed.json` says what was lost
    - `ledger recover shop --memory signed.json --why "the disk was lost" --yes` goes on
    - `ledger recover shop --without-kafka --restored --yes` where nobody remembers more
    """

    async def main() -> tuple[Assessment, tuple[ReadAgain, ...] | None, list[FleetName]]:
        url = await locate(database_url, data)
        async with connected(url, "ledger_writer") as connection:
            it = await fleets.find(connection, FleetName(fleet))
            sizes = (
                dict.fromkeys(TREES, 0) if it is None else await trees.sizes(connection, it.number)
            )
            known = _known(FleetName(fleet), memory, checkpoint or [], notes, key or [], sizes)
            looked = await _looked(connection) if not without_kafka else None
            heard = recovery.remembered_names(
                known.last if known is not None else (),
                () if looked is None else looked.newest,
            )
            missing = await recovery.not_in_the_log(connection, heard)
            outside = await _remembered(
                connection,
                FleetName(fleet),
                it,
                known,
                looked,
                asks_kafka=not without_kafka,
            )
            found = (
                recovery.unborn(FleetName(fleet), clock, outside)
                if it is None
                else await recovery.assess(
                    connection, it, outside, await archive_of(connection, it, detached)
                )
            )
            if found is None:
                raise SetupProblem(
                    f"fleet {fleet}: there is none of this name, and nobody remembers one"
                )
            others = [name for name in missing if name != fleet]
            if not yes or not (found.is_rewound or restored):
                return found, None, others
            begun = await recovery.begin(
                connection, found, why=why, by=operator(), unvouched=unvouched
            )
            return found, begun, others

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


class Known(NamedTuple):
    """What the signer and notes that were kept say."""

    last: Mapping[str, Signed]
    """The last signed end of each origin."""
    before: tuple[KnownEnd, ...]
    """All that is known beside those."""
    signers: Signers


def _known(
    fleet: FleetName,
    memory: Path | None,
    checkpoints: Sequence[Path],
    notes: Path | None,
    keys: Sequence[str],
    sizes: Mapping[Tree, int],
) -> Known | None:
    """What was signed of a log whose trees are so large now; None where nobody was asked."""
    if memory is None and notes is None and not checkpoints:
        return None
    recalled = signed.NOTHING_RECALLED if memory is None else signed.recalled(memory)
    try:
        signers = Signers(tuple(map(parse_key, keys)), recalled.signs_as)
    except InvalidRequest as error:
        raise SetupProblem(f"--key: {error.message}") from error
    ends = [*remembered(recalled)]
    ends += [_checkpoint(path, signers) for path in checkpoints]
    if notes is not None:
        ends += _published(fleet, notes, signers, sizes)
    last = dict(recalled.last)
    for origin, one in ends:
        if origin not in last or last[origin].size < one.size:
            last[origin] = one
    _require_both_trees(fleet, last)
    return Known(last, tuple(ends), signers)


def _checkpoint(path: Path, signers: Signers) -> KnownEnd:
    """What somebody says who kept a note. Of its own origin: whoever else signed it has only seen it."""
    try:
        said = signers.believe(path.read_bytes())
    except OSError as error:
        raise SetupProblem(f"{path}: {error.strerror}") from error
    if said is None:
        raise SetupProblem(
            f"{path}: no checkpoint that its origin signed, with a --key that was given"
        )
    return said


def _published(
    fleet: FleetName, notes: Path, signers: Signers, sizes: Mapping[Tree, int]
) -> list[KnownEnd]:
    """What the notes of a fleet say that the log reaches, and the newest, as far as their keys are known."""
    place = Directory(notes)
    ends: list[KnownEnd] = []
    passed_over = 0
    for origin in sorted(place.signed()):
        tree = tree_of(origin)
        if tree is None or life_of(origin, fleet) is None:
            continue
        found = [
            *place.kept(origin, at_most=sizes[tree]),
            *place.kept(origin, at_most=MOST_LEAVES)[-1:],
        ]
        for note in dict.fromkeys(found):
            said = signers.believe(note)
            if said is None or said.origin != origin:
                passed_over += 1
            else:
                ends.append(said)
    if passed_over:
        aside.print(
            f"{notes}: passed over {count(passed_over, 'note')}: signed by no --key that was given",
            soft_wrap=True,
        )
    return ends


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
    known: Known | None,
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
    if known is None and is_signed:
        raise SetupProblem(
            f"{name}: it is signed for, so the signer remembers how far: give its --memory, or"
            " the --notes that were published, or the newest --checkpoint of each tree that anybody kept"
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
    if known is None:
        return Remembered({}, handed_on, told)
    mine = {origin: end for origin, end in known.last.items() if life_of(origin, name) is not None}
    return Remembered(mine, handed_on, told, known.before, known.signers)


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
        "as_signed": dict(found.as_signed),
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
    if found.ends and found.incarnation != NOT_BORN:
        typer.echo(f"  as they were signed: {_as_signed(found)}")
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
            "the log went on after it was restored, or is not the one that was signed: restore it once more,"
            " and recover it before anything writes to it"
        )
    elif found.is_rewound:
        after = f" after position {found.events - 1}" if found.events else ""
        aside.print(f"nothing was changed; --yes begins {name}/{found.next}{after}")
    elif restored:
        aside.print(f"nothing was changed; --yes begins {name}/{found.next}")
    else:
        aside.print("nobody remembers more than there is: there is nothing to recover")


def _as_signed(found: Assessment) -> str:
    """How much of what is there is known to be what was signed."""
    there = {"events": found.events, "decisions": found.decisions}
    told = []
    for tree in TREES:
        count, all_of_them = found.as_signed[tree], there[tree]
        if count == all_of_them:
            told.append(f"all {count} {tree}")
        elif count:
            told.append(f"the first {count} of {all_of_them} {tree}")
        else:
            told.append(f"of the {all_of_them} {tree} nothing is known")
    return ", ".join(told)


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
