"""Sign where a fleet's two trees end, and never two ends that do not fit.

A round looks at both heads in one snapshot: the decisions, and the events they were made from. Each
must continue, by a proof read from the rows, the tree that this signer remembers having signed
(``ledger.log.signed``), and the newest one in the database. What is signed is remembered first,
then witnesses are asked, then it is recorded and published.

Three notes a round: a checkpoint of each tree, and one that binds the two and says how far the fleet
was decided, so that nobody can pair one tree with an older state of the other.

A log behind the memory was restored to an earlier point; one that does not continue it was
rewritten, or restored and went on. Either stops the fleet, for everybody (``ledger.log.stops``).

`ledger recover` begins the next life of a restored log, with origins of its own. It is signed for if
its first event names the end that this signer remembers of the life before and what was kept of that is
what was signed: the log is held against every signed end that is known of it (``ledger.log.known_ends``),
once all that was kept is decided. That is done with the first signature of a memory in a life, whichever it
is. Where none is known that the log reaches, it is signed for only if somebody says so once. Each note that
binds repeats the end and says where the new life began: so nobody can take one life for the other, and
nothing is ever signed under an origin that does not continue what was.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import asyncpg

from ledger.errors import InvalidRequest, LedgerStopped
from ledger.log import known_ends, lives, merkle, stops, trees
from ledger.log.archive.reading import Archive
from ledger.log.checkpoints import MOST_LEAVES, Checkpoint
from ledger.log.database import refusals_named
from ledger.log.decisions import cursor
from ledger.log.fleets import Fleet
from ledger.log.known_ends import Held, KnownEnd, Signers, continues
from ledger.log.lives import Life
from ledger.log.notes import Note, Signature, parse_note
from ledger.log.publishing import Directory
from ledger.log.signed import Memory, Signed, SignsAs
from ledger.log.signing_keys import Sealed, life_of, origin, signing
from ledger.log.stops import Stop
from ledger.log.trees import TREES, Tree, recorded_root
from ledger.units import Incarnation, Position


@dataclass(frozen=True, slots=True)
class End:
    """Where both trees of a fleet end, as one snapshot shows them."""

    life: Life
    heads: Mapping[Tree, Signed]
    through: Position
    """The last event that was decided."""
    began: Signed | None
    """The events when this life began; None in the one that a log is opened in."""


@dataclass(frozen=True, slots=True)
class Seal:
    """One note of a round."""

    tree: Sealed
    origin: str
    incarnation: Incarnation
    head: Signed
    note: Note
    again: int = 0
    """How often it was recorded before, with fewer witnesses."""


@dataclass(frozen=True, slots=True)
class Site:
    """Who signs: the name of the site, and its secrets; the first is the one in use."""

    name: str
    seeds: tuple[bytes, ...]

    @property
    def signs_as(self) -> SignsAs:
        """As its memory knows it."""
        keys = (signing(seed, self.name).key.public.hex() for seed in self.seeds)
        return SignsAs(self.name, tuple(keys))

    def sign(self, name: str, text: str) -> Note:
        """The note of a text, with a signature of each secret."""
        return Note(text, tuple(signing(seed, name).sign(text) for seed in self.seeds))


async def end(connection: asyncpg.Connection, fleet: Fleet) -> End:
    """Where the fleet's trees end now."""
    with refusals_named():
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            through, count = await cursor(connection, fleet)
            life = await lives.newest(connection, fleet)
            began = None
            if life.recovered is not None:
                root = await trees.root_at(connection, fleet.number, "events", size=life.begins)
                began = Signed(life.begins, root)
            return End(
                life=life,
                heads={
                    "events": Signed(*await recorded_root(connection, fleet.number, "events")),
                    "decisions": Signed(
                        *await recorded_root(connection, fleet.number, "decisions", at_most=count)
                    ),
                },
                through=through,
                began=began,
            )


async def seal(
    connection: asyncpg.Connection,
    fleet: Fleet,
    site: Site,
    memory: Memory,
    archive: Archive | None = None,
    *,
    published: Sequence[Directory] = (),
    unvouched: bool = False,
) -> tuple[Seal, ...]:
    """Sign where the fleet's trees end, if that is news; nothing is recorded or published yet.

    What was detached lies in ``archive``; SetupProblem where it is needed and not there. ``published`` is
    where notes are kept that a life is held against before it is signed for; ``unvouched``: it is signed for
    if none of them says anything of it.
    """
    now = await end(connection, fleet)
    incarnation = now.life.incarnation
    await _require_life(connection, fleet, site, memory, now.life)
    if _is_first(fleet, site, memory, now.life):
        if now.through < now.life.begins - 1:
            # What the life before decided has its ids: it is decided again before this one is signed for.
            return ()
        held = await _held(connection, fleet, site, memory, published, now, archive)
        await _require_held(
            connection, fleet, site, memory, published, now, held, archive, unvouched=unvouched
        )
    names = {tree: origin(site.name, fleet.name, incarnation, tree) for tree in TREES}
    both = origin(site.name, fleet.name, incarnation, "both")
    grown: dict[str, Signed] = {}
    for tree in TREES:
        last = memory.last(names[tree])
        recorded = await newest(connection, fleet, incarnation, tree)
        for known in (last, recorded):
            if known is not None:
                await _require_continued(connection, fleet, tree, known, now.heads[tree], archive)
        if last != now.heads[tree] or recorded != now.heads[tree]:
            grown[names[tree]] = now.heads[tree]
    text = bound(both, now)
    # Whatever it says that is news makes one of these larger: its number only rises.
    steps = now.heads["events"].size + now.through + 1
    binding = Signed(steps, merkle.leaf_hash(text.encode()))
    if (
        memory.last(both) != binding
        or await newest(connection, fleet, incarnation, "both") != binding
    ):
        grown[both] = binding
    if not grown:
        return ()
    for found in await stops.standing(connection, fleet):
        raise found.of(fleet)
    memory.remember(grown, with_before=[name for name in names.values() if name in grown])
    seals = [
        Seal(
            tree,
            names[tree],
            incarnation,
            now.heads[tree],
            site.sign(
                names[tree],
                Checkpoint(names[tree], now.heads[tree].size, now.heads[tree].root).text,
            ),
        )
        for tree in TREES
        if names[tree] in grown
    ]
    if both in grown:
        seals.append(Seal("both", both, incarnation, binding, site.sign(both, text)))
    return tuple(seals)


async def record(connection: asyncpg.Connection, fleet: Fleet, seals: Sequence[Seal]) -> None:
    """Keep what was signed beside the log, for those who ask for proofs.

    A note that is there with fewer witnesses is kept beside the one with more.
    """
    if not seals:
        # asyncpg leaves a new connection in a transaction that was told to do something with nothing.
        return
    with refusals_named():
        await connection.executemany(
            "INSERT INTO ledger.checkpoints (fleet, incarnation, tree, size, root, note, again)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
            [
                (
                    fleet.number,
                    seal.incarnation,
                    seal.tree,
                    seal.head.size,
                    seal.head.root,
                    seal.note.spelled,
                    seal.again,
                )
                for seal in seals
            ],
        )


async def newest(
    connection: asyncpg.Connection, fleet: Fleet, incarnation: Incarnation, tree: Sealed
) -> Signed | None:
    """The newest recorded checkpoint of a tree."""
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT size, root FROM ledger.checkpoints"
            " WHERE fleet = $1 AND incarnation = $2 AND tree = $3 ORDER BY size DESC LIMIT 1",
            fleet.number,
            incarnation,
            tree,
        )
    return None if row is None else Signed(row["size"], row["root"])


async def newest_seal(
    connection: asyncpg.Connection, fleet: Fleet, site: Site, tree: Tree
) -> Seal | None:
    """The newest recorded end of a tree in the life that its log is in, if this site signed it.

    Recorded once more it is the next note of this end.
    """
    incarnation = (await lives.newest(connection, fleet)).incarnation
    name = origin(site.name, fleet.name, incarnation, tree)
    with refusals_named():
        row = await connection.fetchrow(
            "SELECT size, root, note, again FROM ledger.checkpoints"
            " WHERE fleet = $1 AND incarnation = $2 AND tree = $3"
            " ORDER BY size DESC, again DESC LIMIT 1",
            fleet.number,
            incarnation,
            tree,
        )
    if row is None:
        return None
    try:
        note = parse_note(row["note"])
    except InvalidRequest as error:
        raise LedgerStopped(f"fleet {fleet.name}: checkpoint_mismatch: {error}") from error
    if note.text.partition("\n")[0] != name:
        return None
    return Seal(tree, name, incarnation, Signed(row["size"], row["root"]), note, row["again"] + 1)


def bound(name: str, now: End) -> str:
    """What the third note says: both trees, how far the fleet was decided, and how its life began."""
    lines = [name, f"decided {now.through}"]
    for tree in TREES:
        head = now.heads[tree]
        lines.append(f"{tree} {_spelled(head)}")
    if now.began is not None:
        assert now.life.recovered is not None, "a later life began with an event"
        lines.append(f"began {_spelled(now.began)}")
        lines += [
            f"after {one.origin} {_spelled(Signed(one.size, bytes.fromhex(one.root)))}"
            for one in now.life.recovered.signed
        ]
    return "".join(f"{line}\n" for line in lines)


def with_signatures(seal: Seal, more: Sequence[Signature]) -> Seal:
    """The same, with what witnesses said of it."""
    note = Note(seal.note.text, (*seal.note.signatures, *more))
    return replace(seal, note=note)


def _spelled(end: Signed) -> str:
    return f"{end.size} {b64encode(end.root).decode()}"


async def _require_life(
    connection: asyncpg.Connection, fleet: Fleet, site: Site, memory: Memory, life: Life
) -> None:
    """The log is in the life that was signed for last, or in one that goes on from its end."""
    last = last_life(memory, site.name, fleet)
    if last is None or last == life.incarnation:
        return
    if last > life.incarnation:
        raise await stops.stopped(
            connection,
            fleet,
            Stop(
                "signer",
                "log_rewound",
                f"incarnation {last} was signed, the log is in {life.incarnation}; it was restored"
                " to an earlier point",
            ),
        )
    assert life.recovered is not None, "a later life began with an event"
    named = {one.origin: one for one in life.recovered.signed}
    for tree in TREES:
        name = origin(site.name, fleet.name, last, tree)
        known, told = memory.last(name), named.get(name)
        if known is None:
            continue
        if told is None or (told.size, told.root) != (known.size, known.root.hex()):
            ends = "nothing" if told is None else f"{told.size} {told.root}"
            raise await stops.stopped(
                connection,
                fleet,
                Stop(
                    "signer",
                    "log_forked",
                    f"{name}: {known.size} {known.root.hex()} were signed, incarnation"
                    f" {life.incarnation} goes on from {ends}; recover once more, with --memory",
                ),
            )


def _is_first(fleet: Fleet, site: Site, memory: Memory, life: Life) -> bool:
    """Whether this memory has signed nothing yet of the life that a log is in."""
    return memory.last(origin(site.name, fleet.name, life.incarnation, "events")) is None


async def is_unvouched(
    connection: asyncpg.Connection,
    fleet: Fleet,
    site: Site,
    memory: Memory,
    published: Sequence[Directory],
    archive: Archive | None,
) -> bool:
    """Whether a life would be signed for of which nothing is known that was signed before it began."""
    life = await lives.newest(connection, fleet)
    if not _is_first(fleet, site, memory, life):
        return False
    now = await end(connection, fleet)
    held = await _held(connection, fleet, site, memory, published, now, archive)
    return bool(await _unvouched(connection, fleet, site, memory, published, now.life, held))


async def _unvouched(
    connection: asyncpg.Connection,
    fleet: Fleet,
    site: Site,
    memory: Memory,
    published: Sequence[Directory],
    life: Life,
    held: Held,
) -> Sequence[Tree]:
    """The trees of which something was kept from the life before, and nothing that was signed tells of it.

    None where nobody is known to have signed for that life.
    """
    if life.recovered is None or held.beyond or held.broken:
        return ()
    earlier = [
        origin(site.name, fleet.name, Incarnation(number), "events")
        for number in range(1, life.incarnation)
    ]
    if not (
        life.recovered.signed
        or last_life(memory, site.name, fleet) is not None
        or any(place.reached(name) is not None for place in published for name in earlier)
    ):
        return ()
    kept = await lives.kept_of(connection, fleet, Incarnation(life.incarnation - 1))
    assert kept is not None, "the life before is over"
    return known_ends.unvouched(kept, held.through)


async def _held(
    connection: asyncpg.Connection,
    fleet: Fleet,
    site: Site,
    memory: Memory,
    published: Sequence[Directory],
    now: End,
    archive: Archive | None,
) -> Held:
    """What is known of this log from the memory, from where notes are published and from the database."""
    signers = Signers(site=site.signs_as)
    known = [KnownEnd(name, ended) for name in memory.origins() for ended in memory.ends(name)]
    for number in range(1, now.life.incarnation + 1):
        life = Incarnation(number)
        kept = await lives.kept_of(connection, fleet, life)
        for tree in TREES:
            name = origin(site.name, fleet.name, life, tree)
            at_most = MOST_LEAVES if kept is None else kept[tree]
            for place in published:
                read = map(signers.believe, place.kept(name, at_most=at_most))
                known += [ended for ended in read if ended is not None and ended.origin == name]
    known += await known_ends.recorded(connection, fleet, signers)
    return await known_ends.held(connection, fleet, known, now.heads, archive)


async def _require_held(
    connection: asyncpg.Connection,
    fleet: Fleet,
    site: Site,
    memory: Memory,
    published: Sequence[Directory],
    now: End,
    held: Held,
    archive: Archive | None,
    *,
    unvouched: bool,
) -> None:
    """The log is the one that was signed, as far as anybody knows."""
    for tree, known in held.beyond.items():
        raise await stops.stopped(connection, fleet, _rewound(tree, known, now.heads[tree]))
    for name, known in held.broken:
        raise await _not_continued(connection, fleet, name, known, archive)
    missing = await _unvouched(connection, fleet, site, memory, published, now.life, held)
    if missing and not unvouched:
        raise LedgerStopped(
            f"{fleet.name}: life {now.life.incarnation} goes on from {now.life.begins} events, and nothing is"
            f" known that was signed of their {' and '.join(missing)}; where notes were published name that"
            " directory with --publish, and where there are none say --unvouched once"
        )


def last_life(memory: Memory, site: str, fleet: Fleet) -> Incarnation | None:
    """The newest life of a fleet's log that was signed for; None where none was."""
    told = [life_of(name, fleet.name, site=site) for name in memory.origins()]
    return max((life for life in told if life is not None), default=None)


async def _require_continued(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    known: Signed,
    head: Signed,
    archive: Archive | None,
) -> None:
    if known.size > head.size:
        raise await stops.stopped(connection, fleet, _rewound(tree, known, head))
    if known.size and not await continues(connection, fleet, tree, known, head, archive):
        raise await _not_continued(connection, fleet, tree, known, archive)


def _rewound(what: str, known: Signed, head: Signed) -> Stop:
    return Stop(
        "signer",
        "log_rewound",
        f"{what}: {known.size} were signed, there are {head.size}; the log was restored to"
        " an earlier point",
    )


async def _not_continued(
    connection: asyncpg.Connection,
    fleet: Fleet,
    what: str,
    known: Signed,
    archive: Archive | None,
) -> LedgerStopped:
    """The error to raise where a log does not continue what was signed; it is stopped."""
    if archive is not None:
        # What is not in the log's own rows says nothing against the log.
        return LedgerStopped(
            f"{fleet.name}: {what}: with what was detached to {archive.folder} it does not"
            f" continue the {known.size} that were signed; `ledger verify --detached` says why"
        )
    return await stops.stopped(
        connection,
        fleet,
        Stop(
            "signer",
            "log_rewritten",
            f"{what}: what is there does not continue the {known.size} that were signed; history"
            " was rewritten, and `ledger verify` says where, or it was restored to an earlier"
            " point and went on",
        ),
    )
