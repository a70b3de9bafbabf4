"""Hold a log against every signed end that is known of it, from wherever.

A signed end says that a tree had so many leaves and this root. A log that reaches it is the one that was
signed, up to there, if what it has now begins with that tree: shown by a proof, so it does not count what a
row says that the root was. What lies behind the largest end that is known may be anything.

Known are the ends in the signer's memory, and those of notes that somebody kept: published, in the database,
in a file. A note is believed if its own origin signed it, by a key that the reader has.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

import asyncpg

from ledger.errors import InvalidRequest, SetupProblem, WrongPosition
from ledger.log import lives, merkle, tree_proofs, trees
from ledger.log.archive.reading import Archive
from ledger.log.checkpoints import parse_checkpoint
from ledger.log.database import refusals_named
from ledger.log.fleets import Fleet
from ledger.log.notes import ED25519, Key, open_note
from ledger.log.signed import Recalled, Signed, SignsAs
from ledger.log.signing_keys import read_origin
from ledger.log.trees import TREES, Tree
from ledger.units import Incarnation

_NEWEST: Final = 100
"""So many notes of an origin are looked at in the database, the newest first: one that is believed is enough."""


class KnownEnd(NamedTuple):
    """That an origin signed a tree of so many leaves, with this root."""

    origin: str
    signed: Signed


@dataclass(frozen=True, slots=True)
class Signers:
    """By whose notes ends are known."""

    keys: tuple[Key, ...] = ()
    site: SignsAs | None = None
    """Who signs for all origins of its site with the same keys."""

    def of(self, origin: str) -> Sequence[Key]:
        """The keys that may have signed for an origin."""
        found = [key for key in self.keys if key.name == origin]
        said = read_origin(origin)
        if self.site is not None and said is not None and said.site == self.site.site:
            found += [Key(origin, ED25519, bytes.fromhex(key)) for key in self.site.keys]
        return list(dict.fromkeys(found))

    def believe(self, note: bytes) -> KnownEnd | None:
        """What a note says, if its origin signed it; None where it did not, or it says nothing."""
        try:
            origin = note.partition(b"\n")[0].decode()
            said = parse_checkpoint(open_note(note, self.of(origin)).text)
        except (InvalidRequest, UnicodeDecodeError):
            return None
        return KnownEnd(origin, Signed(said.size, said.root))


NOBODY: Final = Signers()


@dataclass(frozen=True, slots=True)
class Held:
    """How a log stands to what is known of it."""

    beyond: Mapping[Tree, Signed]
    """The largest end of each tree that was signed in the life that it is in, and that it does not reach."""
    broken: tuple[KnownEnd, ...]
    """What it does not continue, though it reaches it; of each origin the smallest."""
    through: Mapping[Tree, int]
    """So many leaves of each tree are what was signed."""


def unvouched(kept: Mapping[Tree, int], through: Mapping[Tree, int]) -> tuple[Tree, ...]:
    """The trees of which something was kept, and nothing that was signed reaches so far back."""
    return tuple(tree for tree in TREES if kept[tree] and not through[tree])


def tree_of(origin: str) -> Tree | None:
    """Which tree an origin signs for; None where it binds both, or is no origin."""
    said = read_origin(origin)
    return next((tree for tree in TREES if said is not None and tree == said.tree), None)


def in_order(origin: str) -> tuple[str, int]:
    """By site and life, events before decisions."""
    tree = tree_of(origin)
    return origin.rpartition("/")[0], len(TREES) if tree is None else TREES.index(tree)


def remembered(recalled: Recalled) -> Sequence[KnownEnd]:
    """What a memory knows of ends that are the last ones no more."""
    return [KnownEnd(origin, end) for origin, ends in recalled.before.items() for end in ends]


async def held(
    connection: asyncpg.Connection,
    fleet: Fleet,
    ends: Iterable[KnownEnd],
    heads: Mapping[Tree, Signed],
    archive: Archive | None = None,
) -> Held:
    """Hold the trees with these heads against every end of which they have all leaves.

    SetupProblem where the leaves behind the largest end were detached, and their archive is not there.
    """
    beyond, reached = await _sorted_out(connection, fleet, ends, heads)
    broken: dict[str, KnownEnd] = {}
    through = dict.fromkeys(TREES, 0)
    for tree, end in reached:
        try:
            fits = await _begins_with(connection, fleet, tree, end.signed, heads[tree], archive)
        except SetupProblem:
            if not through[tree]:
                raise
            # It is below one that the tree begins with, and so are the leaves that were detached.
            continue
        if fits:
            through[tree] = max(through[tree], end.signed.size)
        else:
            broken[end.origin] = end
    return Held(beyond, tuple(broken[origin] for origin in sorted(broken, key=in_order)), through)


async def _sorted_out(
    connection: asyncpg.Connection,
    fleet: Fleet,
    ends: Iterable[KnownEnd],
    heads: Mapping[Tree, Signed],
) -> tuple[Mapping[Tree, Signed], list[tuple[Tree, KnownEnd]]]:
    """The largest that are beyond a head, and those that are not beyond what was kept, the largest first."""
    sizes = {tree: heads[tree].size for tree in TREES}
    newest = (await lives.newest(connection, fleet)).incarnation
    kept: dict[Incarnation, Mapping[Tree, int]] = {newest: sizes}
    beyond: dict[Tree, Signed] = {}
    reached: list[tuple[Tree, KnownEnd]] = []
    for end in sorted(set(ends), key=lambda end: (end.signed.size, end.origin), reverse=True):
        said, tree = read_origin(end.origin), tree_of(end.origin)
        if said is None or tree is None or said.fleet != fleet.name or said.incarnation > newest:
            continue
        if said.incarnation not in kept:
            kept[said.incarnation] = (
                await lives.kept_of(connection, fleet, said.incarnation) or sizes
            )
        if 0 < end.signed.size <= min(kept[said.incarnation][tree], sizes[tree]):
            reached.append((tree, end))
        elif end.signed.size and said.incarnation == newest:
            beyond.setdefault(tree, end.signed)
    return beyond, reached


async def _begins_with(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    known: Signed,
    head: Signed,
    archive: Archive | None,
) -> bool:
    if head.size - known.size < merkle.TILE_WIDTH:
        # The leaves behind it are enough: those below may have been detached.
        below = await trees.newest_frontier(connection, fleet.number, tree, at_most=known.size)
        if (below.size, below.root()) == known:
            with suppress(WrongPosition):
                grown = await trees.grown(connection, fleet.number, tree, below, size=head.size)
                if grown.root() == head.root:
                    return True
    return await continues(connection, fleet, tree, known, head, archive)


async def continues(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    known: Signed,
    head: Signed,
    archive: Archive | None,
) -> bool:
    """Whether a tree of at least as many leaves as one that was signed begins with all of that."""
    hashes: tuple[bytes, ...] = ()
    if known.size < head.size:
        hashes = await tree_proofs.consistency(
            connection, fleet, tree, known.size, new_size=head.size, archive=archive
        )
    return merkle.verify_consistency(
        hashes,
        old_size=known.size,
        old_root=known.root,
        new_size=head.size,
        new_root=head.root,
    )


async def recorded(
    connection: asyncpg.Connection, fleet: Fleet, signers: Signers
) -> Sequence[KnownEnd]:
    """The newest end of each origin that the database has a note of which is believed."""
    found: dict[str, KnownEnd] = {}
    with refusals_named():
        notes = await connection.fetch(
            "SELECT c.note FROM (SELECT DISTINCT incarnation, tree FROM ledger.checkpoints"
            "   WHERE fleet = $1 AND tree = ANY($2::text[])) o,"
            " LATERAL (SELECT note FROM ledger.checkpoints n"
            "   WHERE n.fleet = $1 AND n.incarnation = o.incarnation AND n.tree = o.tree"
            "   ORDER BY n.size DESC, n.again DESC LIMIT $3) c",
            fleet.number,
            list(TREES),
            _NEWEST,
        )
    for (note,) in notes:
        end = signers.believe(note)
        if end is not None and (
            end.origin not in found or found[end.origin].signed.size < end.signed.size
        ):
            found[end.origin] = end
    return list(found.values())
