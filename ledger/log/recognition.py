"""Require that whoever signs now is who signed before.

A signer that was started with another name, another key or an empty memory would begin a history of its
own beside the one that readers know, and nobody would be told: the ends fit, and only the name on them
is another. So a signer has to be who signed before, by what is kept of that:

- its own memory says as which site it signs, and with which keys (``ledger.log.signed``);
- the database, and every place where notes are published, hold notes of origins, signed by keys.

What is new on purpose is told once, by name (``New``); the memory knows it from then on. A key is not new
that signs beside one that is known: so keys are rotated (docs/proofs.md).

Whether an end continues what was signed is another question (``ledger.log.sealing``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import asyncpg

from ledger.errors import InvalidRequest, SetupProblem
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.notes import parse_note
from ledger.log.publishing import Place, named_in
from ledger.log.sealing import Site, last_life
from ledger.log.signed import Memory
from ledger.log.signing_keys import Origin, read_origin, signing

_ROTATE: Final = (
    "sign with the old and the new one for a while, --key NEW --key OLD, or where the old one is lost"
    " say --new-key"
)


@dataclass(frozen=True, slots=True)
class New:
    """What of a signer is new on purpose."""

    site: bool = False
    key: bool = False
    memory: bool = False


NOTHING_NEW: Final = New()


class Trace(NamedTuple):
    """Somebody signed for a fleet: of which origin there is a note, where, and by which keys."""

    where: str
    spelled: str
    origin: Origin
    key_ids: frozenset[bytes]
    """Empty where the note itself is not kept."""


def require_known_signer(site: Site, memory: Memory, new: New) -> None:
    """The memory was written by this site, with one of these keys; SetupProblem if not."""
    before = memory.signs_as
    if before is None:
        return
    if before.site != site.name:
        if not new.site:
            raise SetupProblem(
                f"{memory.name}: this memory signs as {before.site}, not as {site.name}; where the"
                " name is changed on purpose, say --new-site"
            )
    elif not new.key and not set(before.keys) & set(site.signs_as.keys):
        raise SetupProblem(f"{memory.name}: {site.name} signed with other keys; {_ROTATE}")


async def require_known_to(
    connection: asyncpg.Connection,
    fleet: Fleet,
    site: Site,
    memory: Memory,
    published: Mapping[str, Sequence[Trace]],
    new: New,
) -> None:
    """What is kept of a fleet's signed ends was signed by this site, and is remembered."""
    traces = [*await _recorded(connection, fleet), *published.get(fleet.name, ())]
    ours = [trace for trace in traces if trace.origin.site == site.name]
    known = last_life(memory, site.name, fleet) is not None
    if traces and not ours and not known and not new.site:
        raise SetupProblem(
            f"{fleet.name}: {traces[0].where} has ends signed as {traces[0].spelled}, not by"
            f" {site.name}; where the name is changed on purpose, say --new-site"
        )
    if ours and not known and not new.memory:
        raise SetupProblem(
            f"{fleet.name}: {ours[0].where} has ends signed as {ours[0].spelled}, of which"
            f" {memory.name} knows nothing; name the memory that was kept, or a copy of it, or where it"
            " is lost say --new-memory"
        )
    if new.key or (memory.signs_as is not None and memory.signs_as.site == site.name):
        return
    # Of an earlier life, or of a tree that did not grow since, the newest note may be older than a rotation.
    newest = max((trace.origin.incarnation for trace in ours), default=None)
    latest = [trace for trace in ours if trace.origin.incarnation == newest and trace.key_ids]
    if latest and not any(_signed(site, trace) for trace in latest):
        raise SetupProblem(
            f"{fleet.name}: {latest[0].where} has ends of {latest[0].spelled} signed with other"
            f" keys; {_ROTATE}"
        )


def traces_of(places: Sequence[Place]) -> Mapping[str, Sequence[Trace]]:
    """What was published, by fleet."""
    found: dict[str, list[Trace]] = {}
    for place in places:
        for spelled, key_ids in sorted(place.signed().items()):
            origin = read_origin(spelled)
            if origin is not None:
                trace = Trace(place.name, spelled, origin, key_ids)
                found.setdefault(origin.fleet, []).append(trace)
    return found


async def _recorded(connection: asyncpg.Connection, fleet: Fleet) -> Sequence[Trace]:
    """Who signed last, as the database has it: whatever is news, a note that binds comes with it."""
    with refusals_named():
        note = await connection.fetchval(
            "SELECT note FROM ledger.checkpoints WHERE fleet = $1 AND tree = 'both' AND incarnation ="
            "   (SELECT max(incarnation) FROM ledger.checkpoints WHERE fleet = $1)"
            " ORDER BY size DESC, again DESC LIMIT 1",
            fleet.number,
        )
    if note is None:
        return ()
    try:
        spelled, key_ids = named_in(parse_note(note))
    except InvalidRequest:
        return ()  # What is wrong with it is said by whoever reads what it says.
    origin = read_origin(spelled)
    return () if origin is None else [Trace("the database", spelled, origin, key_ids)]


def _signed(site: Site, trace: Trace) -> bool:
    ids = {signing(seed, trace.spelled).key.id for seed in site.seeds}
    return not ids.isdisjoint(trace.key_ids)
