"""Laws of the Merkle tree, against RFC 6962's own recursive definitions.

The model below is those definitions word for word (sections 2.1, 2.1.1 and 2.1.2): slow, obvious,
and sharing no line with ``ledger.log.merkle``. Leaves are distinct throughout, because two equal
leaves side by side really do have one proof.
"""

from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import InvalidRequest
from ledger.log.merkle import (
    EMPTY,
    Extension,
    Frontier,
    Nodes,
    TileHash,
    complete_subtrees,
    consistency_proof,
    consistency_ranges,
    extend,
    inclusion_proof,
    inclusion_ranges,
    leaf_hash,
    root,
    verify_consistency,
    verify_inclusion,
)

LEAVES_MAX = 300  # past one full tile, so that level-1 hashes are completed within and between


def model_root(leaves: Sequence[bytes]) -> bytes:
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"").digest()
    k = model_split(len(leaves))
    return sha256(b"\x01" + model_root(leaves[:k]) + model_root(leaves[k:])).digest()


def model_split(n: int) -> int:
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def model_path(m: int, leaves: Sequence[bytes]) -> tuple[bytes, ...]:
    if len(leaves) == 1:
        return ()
    k = model_split(len(leaves))
    if m < k:
        return (*model_path(m, leaves[:k]), model_root(leaves[k:]))
    return (*model_path(m - k, leaves[k:]), model_root(leaves[:k]))


def model_subproof(m: int, leaves: Sequence[bytes], *, known: bool) -> tuple[bytes, ...]:
    if m == len(leaves):
        return () if known else (model_root(leaves),)
    k = model_split(len(leaves))
    if m <= k:
        return (*model_subproof(m, leaves[:k], known=known), model_root(leaves[k:]))
    return (*model_subproof(m - k, leaves[k:], known=False), model_root(leaves[:k]))


LEAVES = [leaf_hash(number.to_bytes(4, "big")) for number in range(LEAVES_MAX)]

sizes = st.integers(1, LEAVES_MAX)


@st.composite
def leaves_of_trees(draw: st.DrawFn) -> tuple[int, int]:
    """A tree's size and the index of one of its leaves."""
    size = draw(sizes)
    return draw(st.integers(0, size - 1)), size


@st.composite
def growths(draw: st.DrawFn) -> tuple[int, int]:
    """The sizes of a tree before and after growing, or staying."""
    new_size = draw(sizes)
    return draw(st.integers(1, new_size)), new_size


def nodes(size: int) -> Nodes:
    """Complete subtrees of the first ``size`` leaves by the model; anything else is a mistake."""

    def node(level: int, index: int) -> bytes:
        stop = (index + 1) << level
        assert stop <= size, "this subtree is not complete"
        return model_root(LEAVES[index << level : stop])

    return node


def turned(hash_: bytes, byte: int, bits: int) -> bytes:
    """The hash with some bits of one byte turned over."""
    spoilt = bytearray(hash_)
    spoilt[byte] ^= bits
    return bytes(spoilt)


byte_flips = st.tuples(st.integers(0, 31), st.integers(1, 255))


@given(st.lists(st.integers(0, 90), max_size=8))
def test_any_batching_ends_in_the_same_tree(batches: list[int]) -> None:
    leaves = [leaf_hash(number.to_bytes(4, "big")) for number in range(sum(batches))]

    frontier, completed, done = EMPTY, list[TileHash](), 0
    for count in batches:
        step = extend(frontier, leaves[done : done + count])
        frontier, done = step.frontier, done + count
        completed += step.completed

    assert Extension(frontier, tuple(completed)) == extend(EMPTY, leaves)
    assert frontier.size == len(leaves)
    assert frontier.root() == model_root(leaves) == root(leaves)


@given(sizes)
def test_the_frontier_is_the_complete_subtrees_from_left_to_right(size: int) -> None:
    frontier = extend(EMPTY, LEAVES[:size]).frontier

    subtrees = complete_subtrees(range(size))
    assert frontier.nodes == tuple(nodes(size)(level, index) for level, index in subtrees)
    assert [level for level, _ in subtrees] == [
        level for level in reversed(range(9)) if size >> level & 1
    ]


@given(st.integers(0, LEAVES_MAX))
def test_a_frontier_survives_storage(size: int) -> None:
    frontier = extend(EMPTY, LEAVES[:size]).frontier

    stored = frontier.to_bytes()

    assert len(stored) == 32 * size.bit_count()
    assert Frontier.from_bytes(stored, size=size) == frontier


def test_a_frontier_stored_for_another_size_is_not_read() -> None:
    stored = extend(EMPTY, LEAVES[:7]).frontier.to_bytes()

    with pytest.raises(AssertionError, match="not that tree's subtrees"):
        Frontier.from_bytes(stored, size=8)


@given(sizes, st.integers(0, LEAVES_MAX))
def test_completed_hashes_are_the_roots_of_full_tiles(old_size: int, grown_by: int) -> None:
    leaves = [leaf_hash(number.to_bytes(4, "big")) for number in range(old_size + grown_by)]
    before = extend(EMPTY, leaves[:old_size]).frontier

    completed = extend(before, leaves[old_size:]).completed

    assert completed == tuple(
        TileHash(1, index, model_root(leaves[index * 256 : (index + 1) * 256]))
        for index in range(old_size // 256, len(leaves) // 256)
    )


def test_the_second_tile_level_completes_with_the_first() -> None:
    leaves = [leaf_hash(number.to_bytes(4, "big")) for number in range(2**16 + 5)]
    before = extend(EMPTY, leaves[:-10])

    completed = extend(before.frontier, leaves[-10:]).completed

    first_level = [one.hash for one in (*before.completed, *completed) if one.level == 1]
    assert completed == (
        TileHash(1, 255, model_root(leaves[255 * 256 : 2**16])),
        TileHash(2, 0, model_root(first_level)),
    )
    assert model_root(first_level) == model_root(leaves[: 2**16])


@given(leaves_of_trees())
def test_an_inclusion_proof_is_the_path_of_rfc_6962_and_verifies(place: tuple[int, int]) -> None:
    index, size = place

    proof = inclusion_proof(index, size=size, node=nodes(size))

    assert proof == model_path(index, LEAVES[:size])
    top = model_root(LEAVES[:size])
    assert verify_inclusion(LEAVES[index], proof, index=index, size=size, root=top)


@given(leaves_of_trees(), st.data())
def test_no_byte_of_an_inclusion_proof_can_be_turned(
    place: tuple[int, int], data: st.DataObject
) -> None:
    index, size = place
    hashes = [LEAVES[index], model_root(LEAVES[:size]), *model_path(index, LEAVES[:size])]

    which, flip = data.draw(st.integers(0, len(hashes) - 1)), data.draw(byte_flips)
    hashes[which] = turned(hashes[which], *flip)

    leaf, top, *proof = hashes
    assert not verify_inclusion(leaf, proof, index=index, size=size, root=top)


@given(leaves_of_trees(), st.integers(-2, LEAVES_MAX + 2))
def test_an_inclusion_proof_holds_for_one_index_only(place: tuple[int, int], other: int) -> None:
    index, size = place
    proof, top = model_path(index, LEAVES[:size]), model_root(LEAVES[:size])

    believed = verify_inclusion(LEAVES[index], proof, index=other, size=size, root=top)

    assert believed == (other == index)


@given(leaves_of_trees(), sizes)
def test_an_inclusion_proof_holds_for_the_checkpoint_of_one_size_only(
    place: tuple[int, int], other: int
) -> None:
    index, size = place
    proof, top = model_path(index, LEAVES[:size]), model_root(LEAVES[:other])

    believed = verify_inclusion(LEAVES[index], proof, index=index, size=other, root=top)

    assert believed == (other == size)


def test_the_size_is_bound_by_the_checkpoint_and_not_by_an_inclusion_proof() -> None:
    proof, top = model_path(0, LEAVES[:3]), model_root(LEAVES[:3])

    assert verify_inclusion(LEAVES[0], proof, index=0, size=4, root=top)
    assert not verify_inclusion(LEAVES[0], proof, index=0, size=5, root=top)


@given(leaves_of_trees(), st.binary(max_size=40))
def test_a_proof_of_another_length_is_refused(place: tuple[int, int], extra: bytes) -> None:
    index, size = place
    proof, top = model_path(index, LEAVES[:size]), model_root(LEAVES[:size])

    longer = (*proof, extra)

    assert not verify_inclusion(LEAVES[index], longer, index=index, size=size, root=top)
    if proof:
        assert not verify_inclusion(LEAVES[index], proof[:-1], index=index, size=size, root=top)


def test_a_byte_cannot_move_from_the_sibling_into_the_leaf() -> None:
    left, right = LEAVES[:2]
    top = model_root([left, right])

    assert verify_inclusion(left, (right,), index=0, size=2, root=top)
    assert not verify_inclusion(left + right[:1], (right[1:],), index=0, size=2, root=top)


def test_a_byte_cannot_move_from_the_proof_into_the_old_root() -> None:
    old_root, grown_by = model_root(LEAVES[:2]), model_root(LEAVES[2:4])

    def believed(old: bytes, proof: tuple[bytes, ...]) -> bool:
        top = model_root(LEAVES[:4])
        return verify_consistency(proof, old_size=2, old_root=old, new_size=4, new_root=top)

    assert believed(old_root, (grown_by,))
    assert not believed(old_root + grown_by[:1], (grown_by[1:],))


@given(growths())
def test_a_consistency_proof_is_that_of_rfc_6962_and_verifies(sizes_: tuple[int, int]) -> None:
    old_size, new_size = sizes_

    proof = consistency_proof(old_size, new_size=new_size, node=nodes(new_size))

    assert proof == model_subproof(old_size, LEAVES[:new_size], known=True)
    assert verify_consistency(
        proof,
        old_size=old_size,
        old_root=model_root(LEAVES[:old_size]),
        new_size=new_size,
        new_root=model_root(LEAVES[:new_size]),
    )


@given(growths(), st.data())
def test_no_byte_of_a_consistency_proof_can_be_turned(
    sizes_: tuple[int, int], data: st.DataObject
) -> None:
    old_size, new_size = sizes_
    proof = model_subproof(old_size, LEAVES[:new_size], known=True)
    hashes = [model_root(LEAVES[:old_size]), model_root(LEAVES[:new_size]), *proof]

    which, flip = data.draw(st.integers(0, len(hashes) - 1)), data.draw(byte_flips)
    hashes[which] = turned(hashes[which], *flip)

    old_root, new_root, *spoilt = hashes
    assert not verify_consistency(
        spoilt, old_size=old_size, old_root=old_root, new_size=new_size, new_root=new_root
    )


@given(growths(), st.integers(0, LEAVES_MAX), st.integers(0, LEAVES_MAX))
def test_a_consistency_proof_holds_between_two_checkpoints_only(
    sizes_: tuple[int, int], other_old: int, other_new: int
) -> None:
    old_size, new_size = sizes_
    proof = model_subproof(old_size, LEAVES[:new_size], known=True)

    def believed(old: int, new: int) -> bool:
        old_root, new_root = model_root(LEAVES[:old]), model_root(LEAVES[:new])
        return verify_consistency(
            proof, old_size=old, old_root=old_root, new_size=new, new_root=new_root
        )

    # Where nothing grew there is nothing to prove: every size continues itself.
    nothing_to_show = not proof
    assert believed(other_old, new_size) == (
        other_old == old_size or (nothing_to_show and other_old == new_size)
    )
    assert believed(old_size, other_new) == (
        other_new == new_size or (nothing_to_show and other_new == old_size)
    )


@given(growths(), st.integers(0, LEAVES_MAX - 1))
def test_a_changed_past_has_no_proof(sizes_: tuple[int, int], changed: int) -> None:
    old_size, new_size = sizes_
    rewritten = list(LEAVES)
    rewritten[changed % old_size] = leaf_hash(b"something else")

    proof = model_subproof(old_size, rewritten[:new_size], known=True)

    assert not verify_consistency(
        proof,
        old_size=old_size,
        old_root=model_root(LEAVES[:old_size]),
        new_size=new_size,
        new_root=model_root(rewritten[:new_size]),
    )


def test_what_cannot_be_asked_is_refused_by_name() -> None:
    for index, size in ((0, 0), (-1, 3), (3, 3)):
        with pytest.raises(InvalidRequest, match="index_out_of_range"):
            inclusion_ranges(index, size=size)
    with pytest.raises(InvalidRequest, match="empty_tree"):
        consistency_ranges(0, new_size=3)
    with pytest.raises(InvalidRequest, match="tree_shrank"):
        consistency_ranges(4, new_size=3)
