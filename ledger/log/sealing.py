"""Sign where a fleet's two trees end, and never two ends that do not fit.

A round looks at both heads in one snapshot: the decisions, and the events they were made from. Each
must continue, by a proof read from the rows, the tree that this signer remembers having signed
(``ledger.log.signed``), and the newest one in the database. What is signed is remembered first,
then witnesses are asked, then it is recorded and published.

Three notes a round: a checkpoint of each tree, and one that binds the two and says how far the fleet
was decided, so that nobody can pair one tree with an older state of the other.

A log behind the memory was restored to an earlier point; one that does not continue it was
rewritten. Either stops the fleet for a person: `ledger recover` goes on from a restore.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import asyncpg

from ledger.errors import LedgerStopped
from ledger.log import fleets, merkle, tree_proofs
from ledger.log.checkpoints import Checkpoint
from ledger.log.database import refusals_named
from ledger.log.decisions import cursor
from ledger.log.fleets import Fleet
from ledger.log.notes import Note, Signature
from ledger.log.signed import Memory, Signed
from ledger.log.signing_keys import Sealed, origin, signing
from ledger.log.trees import TREES, Tree, recorded_root
from ledger.units import Incarnation, Position


@dataclass(frozen=True, slots=True)
class End:
    """Where both trees of a fleet end, as one snapshot shows them."""

    incarnation: Incarnation
    heads: Mapping[Tree, Signed]
    through: Position
    """The last event that was decided."""


@dataclass(frozen=True, slots=True)
class Seal:
    """One note of a round."""

    tree: Sealed
    origin: str
    head: Signed
    note: Note


@dataclass(frozen=True, slots=True)
class Site:
    """Who signs: the name of the site, and its secrets; the first is the one in use."""

    name: str
    seeds: tuple[bytes, ...]

    def sign(self, name: str, text: str) -> Note:
        """The note of a text, with a signature of each secret."""
        return Note(text, tuple(signing(seed, name).sign(text) for seed in self.seeds))


async def end(connection: asyncpg.Connection, fleet: Fleet) -> End:
    """Where the fleet's trees end now."""
    with refusals_named():
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            through, count = await cursor(connection, fleet)
            return End(
                incarnation=await fleets.incarnation(connection, fleet),
                heads={
                    "events": Signed(*await recorded_root(connection, fleet.number, "events")),
                    "decisions": Signed(
                        *await recorded_root(connection, fleet.number, "decisions", at_most=count)
                    ),
                },
                through=through,
            )


async def seal(
    connection: asyncpg.Connection, fleet: Fleet, site: Site, memory: Memory
) -> tuple[Seal, ...]:
    """Sign where the fleet's trees end, if that is news; nothing is recorded or published yet."""
    now = await end(connection, fleet)
    _require_newest(memory, fleet, site, now.incarnation)
    names = {tree: origin(site.name, fleet.name, now.incarnation, tree) for tree in TREES}
    both = origin(site.name, fleet.name, now.incarnation, "both")
    grown: dict[str, Signed] = {}
    for tree in TREES:
        last = memory.last(names[tree])
        recorded = await newest(connection, fleet, now.incarnation, tree)
        for known in (last, recorded):
            if known is not None:
                await _require_continued(connection, fleet, tree, known, now.heads[tree])
        if last != now.heads[tree] or recorded != now.heads[tree]:
            grown[names[tree]] = now.heads[tree]
    text = bound(both, now)
    # Whatever it says that is news makes one of these larger: its number only rises.
    steps = now.heads["events"].size + now.through + 1
    binding = Signed(steps, merkle.leaf_hash(text.encode()))
    if memory.last(both) != binding or await newest(connection, fleet, now.incarnation, "both") != (
        binding
    ):
        grown[both] = binding
    if not grown:
        return ()
    memory.remember(grown)
    seals = [
        Seal(
            tree,
            names[tree],
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
        seals.append(Seal("both", both, binding, site.sign(both, text)))
    return tuple(seals)


async def record(
    connection: asyncpg.Connection, fleet: Fleet, incarnation: Incarnation, seals: Sequence[Seal]
) -> None:
    """Keep what was signed beside the log, for those who ask for proofs."""
    with refusals_named():
        await connection.executemany(
            "INSERT INTO ledger.checkpoints (fleet, incarnation, tree, size, root, note)"
            " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
            [
                (
                    fleet.number,
                    incarnation,
                    seal.tree,
                    seal.head.size,
                    seal.head.root,
                    seal.note.spelled,
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


def bound(name: str, now: End) -> str:
    """What the third note says: both trees, and how far the fleet was decided."""
    lines = [name, f"decided {now.through}"]
    for tree in TREES:
        head = now.heads[tree]
        lines.append(f"{tree} {head.size} {b64encode(head.root).decode()}")
    return "".join(f"{line}\n" for line in lines)


def with_signatures(seal: Seal, more: Sequence[Signature]) -> Seal:
    """The same, with what witnesses said of it."""
    note = Note(seal.note.text, (*seal.note.signatures, *more))
    return Seal(seal.tree, seal.origin, seal.head, note)


def _require_newest(memory: Memory, fleet: Fleet, site: Site, incarnation: Incarnation) -> None:
    """The log is not in an earlier life than one that was signed for."""
    prefix = f"{site.name}/{fleet.name}/"
    lives = [
        int(name.removeprefix(prefix).split("/")[0])
        for name in memory.origins()
        if name.startswith(prefix)
    ]
    if lives and max(lives) > incarnation:
        raise LedgerStopped(
            f"{fleet.name}: incarnation {max(lives)} was signed, the log is in {incarnation};"
            " it was restored to an earlier point"
        )


async def _require_continued(
    connection: asyncpg.Connection, fleet: Fleet, tree: Tree, known: Signed, head: Signed
) -> None:
    where = f"{fleet.name}: {tree}"
    if known.size > head.size:
        raise LedgerStopped(
            f"{where}: {known.size} were signed, there are {head.size}; the log was restored to an"
            " earlier point: `ledger recover` goes on from there"
        )
    if known.size == 0:
        return
    hashes: tuple[bytes, ...] = ()
    if known.size < head.size:
        hashes = await tree_proofs.consistency(
            connection, fleet, tree, known.size, new_size=head.size
        )
    if not merkle.verify_consistency(
        hashes,
        old_size=known.size,
        old_root=known.root,
        new_size=head.size,
        new_root=head.root,
    ):
        raise LedgerStopped(
            f"{where}: what is there does not continue the {known.size} that were signed;"
            " history was rewritten, `ledger verify` says where"
        )
