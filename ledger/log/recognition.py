"""Require that whoever signs now is who signed before.

A signer that was started with another name, another key or an empty memory would begin a history of its
own beside the one that readers know, and nobody would be told: the ends fit, and only the name on them
is another. So a signer has to be who signed before, by what is kept of that:

- its own memory says as which site it signs, and with which keys (``ledger.log.signed``);
- the database, and every place where notes are published, hold notes of origins, signed by keys.

What is new on purpose is told once, by name (``New``); the memory knows it from then on, and a word that
is said where nothing is new is refused: left in a unit file it would let the next mistake pass. A key is
not new that signs beside one that is known: so keys are rotated (docs/proofs.md).

A memory that knows a fleet is not the last word: it may be a copy of before a rotation, beside the old key.
Every note of its own it has on disk before anybody sees it, so one that comes further than it knows is
somebody else's, and that one's key has to be among ours.
A life of a log may go on from where nothing that was signed says what was there before: that is told once, too.

A fleet that others sign for is left to them, where there is one that this signer signs for. A note that
cannot be read is somebody's: it is never taken for none.

Whether an end continues what was signed is another question (``ledger.log.sealing``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import asyncpg

from ledger.errors import InvalidRequest, SetupProblem
from ledger.log import sealing
from ledger.log.database import refusals_named
from ledger.log.detached import archive_of
from ledger.log.fleets import Fleet
from ledger.log.notes import parse_note
from ledger.log.publishing import Place, directories, named_in
from ledger.log.sealing import Site, last_life
from ledger.log.signed import Memory
from ledger.log.signing_keys import Origin, life_of, read_origin, signing

_ROTATE: Final = (
    "sign with the old and the new one for a while, --key NEW --key OLD, or where the old one is lost"
    " say --new-key"
)


@dataclass(frozen=True, slots=True)
class New:
    """What of a signer is new: as it is found, or on purpose, as it is said."""

    site: bool = False
    key: bool = False
    memory: bool = False
    unvouched: bool = False
    """A life of which nothing is known that was signed before it began."""

    def __or__(self, other: "New") -> "New":
        return New(
            self.site or other.site,
            self.key or other.key,
            self.memory or other.memory,
            self.unvouched or other.unvouched,
        )

    def beyond(self, other: "New") -> Sequence[str]:
        """The words for what is new here and not there."""
        words = (
            ("--new-site", self.site and not other.site),
            ("--new-key", self.key and not other.key),
            ("--new-memory", self.memory and not other.memory),
            ("--unvouched", self.unvouched and not other.unvouched),
        )
        return [word for word, only_here in words if only_here]


NOTHING_NEW: Final = New()
ALL_NEW: Final = New(site=True, key=True, memory=True)
_ALL_WORDS: Final = ALL_NEW.beyond(NOTHING_NEW)


class Trace(NamedTuple):
    """Somebody signed for a fleet: of which origin there is a note, where, by which keys, and how far."""

    where: str
    spelled: str
    origin: Origin
    key_ids: frozenset[bytes]
    """Empty where the note itself is not kept."""
    size: int | None
    """None where it does not say."""


async def begun(
    connection: asyncpg.Connection,
    fleets: Sequence[Fleet],
    site: Site,
    memory: Memory,
    places: Sequence[Place],
    said: New,
    detached: Path | None = None,
) -> Mapping[str, SetupProblem]:
    """The fleets that a signer leaves alone as it begins, and why; SetupProblem where it must not begin."""
    new = _require_known_signer(site, memory, said)
    known = await recognised(connection, fleets, site, memory, places, said, detached)
    needless = said.beyond(new | known.new)
    if known.refused and (needless or not known.ours):
        raise next(iter(known.refused.values()))
    if needless:
        raise SetupProblem(
            f"{' '.join(needless)}: nothing of this signer is new in that way; such a word is said once,"
            " so leave it out from here on"
        )
    return known.refused


class Recognised(NamedTuple):
    """What a look at fleets has found."""

    refused: Mapping[str, SetupProblem]
    """Those that are not signed for, and why."""
    ours: bool
    """Whether any was signed for before and is from now on; one that nobody signed for says nothing."""
    new: New
    """What of this signer is new to those that it signs for."""


async def recognised(
    connection: asyncpg.Connection,
    fleets: Sequence[Fleet],
    site: Site,
    memory: Memory,
    places: Sequence[Place],
    said: New,
    detached: Path | None = None,
) -> Recognised:
    """Which fleets may be signed for; ``detached`` is where the archives lie of what was."""
    published = _traces_of(places)
    refused: dict[str, SetupProblem] = {}
    ours, new = False, NOTHING_NEW
    for fleet in fleets:
        traces = published.get(fleet.name, ())
        try:
            found = await _require_known_to(connection, fleet, site, memory, traces, said)
            archive = await archive_of(connection, fleet, detached)
            if await sealing.is_unvouched(
                connection, fleet, site, memory, directories(places), archive
            ):
                found = (found or NOTHING_NEW) | _require_unvouched(fleet, said)
        except SetupProblem as problem:
            refused[fleet.name] = problem
            continue
        if found is not None:
            ours, new = True, new | found
    return Recognised(refused, ours, new)


def _require_known_signer(site: Site, memory: Memory, said: New) -> New:
    """What is new to the memory of what it says of who signs; SetupProblem where nobody said so."""
    before = memory.signs_as
    if before is None:
        return NOTHING_NEW
    new = New(
        site=before.site != site.name,
        key=set(before.keys).isdisjoint(site.signs_as.keys),
    )
    if new.site and not said.site:
        raise SetupProblem(
            f"{memory.name}: this memory signs as {before.site}, not as {site.name}; where the"
            " name is changed on purpose, say --new-site"
        )
    # No reader of the old name has a key of the new one: nothing more is new to them.
    if new.key and not new.site and not said.key:
        raise SetupProblem(f"{memory.name}: {site.name} signed with other keys; {_ROTATE}")
    return new


async def _require_known_to(
    connection: asyncpg.Connection,
    fleet: Fleet,
    site: Site,
    memory: Memory,
    published: Sequence[Trace],
    said: New,
) -> New | None:
    """What of this site is new to those who signed for a fleet; None where nobody did.

    SetupProblem where something is and was not said.
    """
    known = last_life(memory, site.name, fleet) is not None
    is_own = known and memory.signs_as is not None and memory.signs_as.site == site.name
    recorded: Sequence[Trace] = ()
    try:
        recorded = await _recorded(connection, fleet)
    except InvalidRequest as error:
        if not is_own:
            if not ALL_NEW.beyond(said):
                return ALL_NEW
            raise SetupProblem(
                f"{fleet.name}: the newest note in the database cannot be read, and so not who signed it"
                f" ({error}); name the memory that was kept, or a copy of it, or say {' '.join(_ALL_WORDS)}"
            ) from error
    traces = [*recorded, *published]
    if is_own:
        return _new_to_memory(fleet, site, memory, traces, said)
    if not traces:
        return NOTHING_NEW if known else None
    ours = [trace for trace in traces if trace.origin.site == site.name]
    signed = ours or traces
    newest = max(trace.origin.incarnation for trace in signed)
    latest = [trace for trace in signed if trace.origin.incarnation == newest and trace.key_ids]
    new = New(
        site=not ours and not known,
        key=bool(latest) and not any(_signed(site, trace) for trace in latest),
        memory=all(life_of(name, fleet.name) is None for name in memory.origins()),
    )
    if new.site and not said.site:
        raise SetupProblem(
            f"{fleet.name}: {traces[0].where} has ends signed as {traces[0].spelled}, not by"
            f" {site.name}; where the name is changed on purpose, say --new-site, and where others sign"
            " for this fleet, name yours with --fleet"
        )
    if ours and not known and not said.memory:
        raise SetupProblem(
            f"{fleet.name}: {ours[0].where} has ends signed as {ours[0].spelled}, of which"
            f" {memory.name} knows nothing; name the memory that was kept, or a copy of it, or where it"
            " is lost say --new-memory"
        )
    if ours and new.key and not said.key:
        raise SetupProblem(
            f"{fleet.name}: {latest[0].where} has ends of {latest[0].spelled} signed with other"
            f" keys; {_ROTATE}"
        )
    return new


def _new_to_memory(
    fleet: Fleet, site: Site, memory: Memory, traces: Sequence[Trace], said: New
) -> New:
    """What of this site is new where its own memory knows the fleet; SetupProblem where that was not said.

    Of the notes that it knows the memory says with which keys: of an earlier life, or of a tree that did not grow
    since, the newest may be older than a rotation.
    """
    others = _signed_since(fleet, site, memory, traces)
    strange = [trace for trace in others if not _signed(site, trace)]
    if strange and not said.key:
        raise SetupProblem(
            f"{fleet.name}: {strange[0].where} has an end of {strange[0].spelled} that {memory.name} does"
            " not know, signed with other keys; if the key was rotated since, sign with the new one, if"
            " somebody else signs, one of the two has to stop, and to go on with this key say --new-key"
        )
    return New(key=bool(strange))


def _signed_since(
    fleet: Fleet, site: Site, memory: Memory, traces: Sequence[Trace]
) -> Sequence[Trace]:
    """The newest of the notes that come further than a memory knows.

    With whatever is news comes a note that binds: where there is one of those, it is the newest.
    """
    last = last_life(memory, site.name, fleet)
    assert last is not None, "the memory knows the fleet"
    further: list[tuple[tuple[int, int], Trace]] = []
    for trace in traces:
        known = memory.last(trace.spelled)
        if trace.origin.site != site.name or trace.origin.incarnation < last or not trace.key_ids:
            continue
        if trace.size is not None and (known is None or trace.size > known.size):
            further.append(((trace.origin.incarnation, trace.size), trace))
    bound = [one for one in further if one[1].origin.tree == "both"]
    newest = max((place for place, _ in bound), default=None)
    return [trace for place, trace in bound or further if newest in (None, place)]


def _require_unvouched(fleet: Fleet, said: New) -> New:
    if not said.unvouched:
        raise SetupProblem(
            f"{fleet.name}: nothing is known that was signed of what its log goes on from in the life that"
            " it is in; where notes were published name that directory with --publish, and where there are"
            " none say --unvouched"
        )
    return New(unvouched=True)


def _traces_of(places: Sequence[Place]) -> Mapping[str, Sequence[Trace]]:
    """What was published, by fleet."""
    found: dict[str, list[Trace]] = {}
    for place in places:
        for spelled, newest in sorted(place.signed().items()):
            origin = read_origin(spelled)
            if origin is not None:
                trace = Trace(place.name, spelled, origin, *newest)
                found.setdefault(origin.fleet, []).append(trace)
    return found


async def _recorded(connection: asyncpg.Connection, fleet: Fleet) -> Sequence[Trace]:
    """Who signed last, as the database has it: whatever is news, a note that binds comes with it.

    InvalidRequest where somebody did, and the note does not say who.
    """
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT note, size FROM ledger.checkpoints WHERE fleet = $1 AND tree = 'both' AND incarnation ="
            "   (SELECT max(incarnation) FROM ledger.checkpoints WHERE fleet = $1)"
            " ORDER BY size DESC, again DESC LIMIT 1",
            fleet.number,
        )
    if row is None:
        return ()
    spelled, key_ids = named_in(parse_note(row["note"]))
    origin = read_origin(spelled)
    if origin is None or origin.fleet != fleet.name:
        raise InvalidRequest("malformed_note", f"{spelled[:80]!r} is no origin of this fleet")
    return [Trace("the database", spelled, origin, key_ids, row["size"])]


def _signed(site: Site, trace: Trace) -> bool:
    ids = {signing(seed, trace.spelled).key.id for seed in site.seeds}
    return not ids.isdisjoint(trace.key_ids)
