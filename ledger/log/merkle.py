"""Shows that the log only ever grew, and that an entry is really in it.

An RFC 6962 Merkle tree over leaves that are appended and never changed. A leaf and an inner node
are hashed with different first bytes, so that nobody can pass one off as the other. A tree of n
leaves splits at the largest power of two below n: every left part is therefore a *complete*
subtree that no later append will touch, and the few subtrees down the right edge, the *frontier*
(one per bit set in n), are all that an append has to know about the past.

What is kept here:

- A hash is 32 bytes, always. A verifier that let lengths vary could be told that a leaf ends one
  byte later than it does.
- A complete subtree is addressed by ``(level, index)``: it holds 2**level leaves, the first of
  them at index * 2**level. Level 0 is the leaves.
- A proof is a list of leaf ranges first and of hashes second. Builder and verifier share the
  ranges; the builder asks ``node(level, index)`` for the complete subtrees of a range, which is
  all that tiles or table rows can ever hold, and folds them.
- A verifier answers yes or no. It takes a size and its root together, as a signed checkpoint
  binds them: an inclusion proof alone does not fix the size (the first leaf of three and the first
  leaf of four have proofs of one shape).

What a leaf is made of, where hashes are stored, and who signs a root are left to others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from ledger.errors import InvalidRequest

HASH_LENGTH: Final = 32

TILE_HEIGHT: Final = 8
"""Levels in a tile: C2SP tlog-tiles fixes it, so that a tile is 256 hashes and 8 KiB."""

TILE_WIDTH: Final = 2**TILE_HEIGHT

LEAF_PREFIX: Final = b"\x00"
NODE_PREFIX: Final = b"\x01"

EMPTY_ROOT: Final = sha256().digest()
"""The root of a tree without leaves, as RFC 6962 defines it."""

Nodes = Callable[[int, int], bytes]
"""``node(level, index)``: the root of a complete subtree."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """All that appending needs of a tree: its size and its maximal complete subtrees.

    ``nodes`` runs from left to right, so from the largest subtree to the smallest; there is one
    for each bit set in ``size``.
    """

    size: int
    nodes: tuple[bytes, ...]

    def __post_init__(self) -> None:
        assert self.size >= 0
        assert len(self.nodes) == self.size.bit_count(), "one subtree per bit of the size"

    def root(self) -> bytes:
        """The root of the whole tree."""
        return _fold(self.nodes)

    def to_bytes(self) -> bytes:
        """The subtrees' hashes, one after the other; the size is stored beside them."""
        return b"".join(self.nodes)

    @classmethod
    def from_bytes(cls, hashes: bytes, *, size: int) -> Self:
        """Read what ``to_bytes`` wrote for a tree of ``size`` leaves."""
        assert len(hashes) == HASH_LENGTH * size.bit_count(), "these are not that tree's subtrees"
        starts = range(0, len(hashes), HASH_LENGTH)
        return cls(size, tuple(hashes[start : start + HASH_LENGTH] for start in starts))


EMPTY: Final = Frontier(0, ())


@dataclass(frozen=True, slots=True)
class TileHash:
    """The root of the ``index``-th complete subtree of 256**level leaves: one entry of a tile.

    Level 0 would be the leaf hashes themselves; they are never listed as tile hashes.
    """

    level: int
    index: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Extension:
    """A tree after an append, and the tile hashes of level 1 and up which that append completed."""

    frontier: Frontier
    completed: tuple[TileHash, ...]


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf that holds ``data``."""
    return sha256(LEAF_PREFIX + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(NODE_PREFIX + left + right).digest()


def extend(frontier: Frontier, leaves: Sequence[bytes]) -> Extension:
    """Append the leaf hashes ``leaves``, in one pass per level rather than one per leaf.

    On each level the new nodes continue where the old ones stopped: an old node without a partner
    becomes the partner of the first new one, and a new node without one joins the frontier.
    """
    waiting = list(frontier.nodes)
    alone: list[bytes] = []
    completed: list[TileHash] = []

    level, first, nodes = 0, frontier.size, leaves
    while nodes:
        if first % 2:
            nodes = [waiting.pop(), *nodes]
            first -= 1
        if len(nodes) % 2:
            alone.append(nodes[-1])
        # node_hash, written out: the call would cost a tenth of the hash.
        nodes = [
            sha256(NODE_PREFIX + left + right).digest()
            for left, right in zip(nodes[::2], nodes[1::2], strict=False)
        ]
        level, first = level + 1, first // 2
        if level % TILE_HEIGHT == 0:
            tile_level = level // TILE_HEIGHT
            completed += [
                TileHash(tile_level, index, node) for index, node in enumerate(nodes, first)
            ]

    grown = Frontier(frontier.size + len(leaves), (*waiting, *reversed(alone)))
    return Extension(grown, tuple(completed))


def root(leaf_hashes: Sequence[bytes]) -> bytes:
    """The root of the tree with exactly these leaves."""
    return extend(EMPTY, leaf_hashes).frontier.root()


def inclusion_ranges(index: int, *, size: int) -> tuple[range, ...]:
    """The leaves under each hash of an inclusion proof, the leaf's own sibling first."""
    if not 0 <= index < size:
        raise InvalidRequest("index_out_of_range", f"leaf {index} of a tree of {size}")
    ranges: list[range] = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _left_part(stop - start)
        if index < middle:
            ranges.append(range(middle, stop))
            stop = middle
        else:
            ranges.append(range(start, middle))
            start = middle
    return tuple(reversed(ranges))


def inclusion_proof(index: int, *, size: int, node: Nodes) -> tuple[bytes, ...]:
    """The hashes that lead from leaf ``index`` up to the root of the first ``size`` leaves."""
    return tuple(_range_root(leaves, node) for leaves in inclusion_ranges(index, size=size))


def verify_inclusion(
    leaf: bytes, proof: Sequence[bytes], *, index: int, size: int, root: bytes
) -> bool:
    """Whether ``proof`` shows the leaf hash ``leaf`` at ``index`` of the tree (size, root)."""
    if not 0 <= index < size:
        return False
    ranges = inclusion_ranges(index, size=size)
    if len(ranges) != len(proof) or not _are_hashes(leaf, root, *proof):
        return False

    found = leaf
    for leaves, sibling in zip(ranges, proof, strict=True):
        is_left = leaves.start < index
        found = node_hash(sibling, found) if is_left else node_hash(found, sibling)
    return found == root


def consistency_ranges(old_size: int, *, new_size: int) -> tuple[range, ...]:
    """The leaves under each hash of a consistency proof, the deepest first."""
    if old_size < 1:
        raise InvalidRequest("empty_tree", "every tree continues the empty one: nothing to prove")
    if new_size < old_size:
        raise InvalidRequest("tree_shrank", f"from {old_size} leaves to {new_size}")
    ranges: list[range] = []
    start, stop = 0, new_size
    while stop != old_size:
        middle = start + _left_part(stop - start)
        if old_size <= middle:
            ranges.append(range(middle, stop))
            stop = middle
        else:
            ranges.append(range(start, middle))
            start = middle
    # An old tree that is one complete subtree of the new one is known by its root already.
    if start > 0:
        ranges.append(range(start, stop))
    return tuple(reversed(ranges))


def consistency_proof(old_size: int, *, new_size: int, node: Nodes) -> tuple[bytes, ...]:
    """The hashes that show the first ``old_size`` leaves of a tree unchanged in ``new_size``."""
    ranges = consistency_ranges(old_size, new_size=new_size)
    return tuple(_range_root(leaves, node) for leaves in ranges)


def verify_consistency(
    proof: Sequence[bytes], *, old_size: int, old_root: bytes, new_size: int, new_root: bytes
) -> bool:
    """Whether ``proof`` shows that the new tree begins with all of the old one.

    Nothing is shown about an empty old tree: who has seen no leaf yet needs no proof.
    """
    if not 1 <= old_size <= new_size:
        return False
    ranges = consistency_ranges(old_size, new_size=new_size)
    if len(ranges) != len(proof) or not _are_hashes(old_root, new_root, *proof):
        return False

    steps = list(zip(ranges, proof, strict=True))
    old = new = old_root
    edge = 0
    if steps and steps[0][0].stop == old_size:
        leaves, old = steps.pop(0)
        new, edge = old, leaves.start
    for leaves, sibling in steps:
        if leaves.start < edge:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
        else:
            new = node_hash(new, sibling)
    return old == old_root and new == new_root


def complete_subtrees(leaves: range) -> tuple[tuple[int, int], ...]:
    """The ``(level, index)`` of the complete subtrees that make up ``leaves``, left to right.

    Only ranges that occur in a proof can be asked for: they begin at a multiple of the largest
    power of two they hold.
    """
    subtrees: list[tuple[int, int]] = []
    start = leaves.start
    while start < leaves.stop:
        level = (leaves.stop - start).bit_length() - 1
        index, misaligned = divmod(start, 2**level)
        assert not misaligned, "no subtree of any RFC 6962 tree begins here"
        subtrees.append((level, index))
        start += 2**level
    return tuple(subtrees)


def _range_root(leaves: range, node: Nodes) -> bytes:
    return _fold([node(level, index) for level, index in complete_subtrees(leaves)])


def _fold(subtrees: Sequence[bytes]) -> bytes:
    """The root above complete subtrees of falling size: the smallest two are joined first."""
    if not subtrees:
        return EMPTY_ROOT
    folded = subtrees[-1]
    for left in reversed(subtrees[:-1]):
        folded = node_hash(left, folded)
    return folded


def _left_part(size: int) -> int:
    """The largest power of two below ``size``: where RFC 6962 splits a tree."""
    return 1 << (size - 1).bit_length() - 1


def _are_hashes(*values: bytes) -> bool:
    return all(len(value) == HASH_LENGTH for value in values)
