"""Laws of tiles: one spelling a path, every proof from tiles alone, nothing asked for in vain."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import InvalidRequest
from ledger.log.merkle import (
    EMPTY,
    consistency_ranges,
    extend,
    inclusion_proof,
    inclusion_ranges,
    leaf_hash,
    root,
    verify_inclusion,
)
from ledger.log.tiles import (
    Tile,
    hashes_of_tile,
    nodes_from_tiles,
    parse_tile,
    tile_holding,
    tile_levels,
    tiles_needed,
)

# Level 0 has a partial tile beside its full ones, level 1 two full ones and a partial one, level 2
# a partial one only.
SIZE = 2 * 2**16 + 3 * 256 + 7
LEAVES = [leaf_hash(number.to_bytes(4, "big")) for number in range(SIZE)]
GROWN = extend(EMPTY, LEAVES)
STORED = {0: LEAVES} | {
    level: [one.hash for one in GROWN.completed if one.level == level] for level in (1, 2)
}


def tile(wanted: Tile) -> Sequence[bytes]:
    return STORED[wanted.level][wanted.hashes.start : wanted.hashes.stop]


@given(st.integers(0, 63), st.integers(0, 10**18 - 1), st.integers(1, 256))
def test_a_path_is_read_as_it_was_written(level: int, index: int, width: int) -> None:
    written = Tile(level, index, width)

    assert parse_tile(written.path.removeprefix("tile/")) == written


@given(st.from_regex(r"[0-9]{1,3}/(x?[0-9]{1,4}/){0,3}[0-9]{2,4}(\.p/[0-9]{1,3})?", fullmatch=True))
def test_a_tile_has_one_path_only(path: str) -> None:
    try:
        read = parse_tile(path)
    except InvalidRequest:
        return

    assert read.path == f"tile/{path}"


@pytest.mark.parametrize(
    "path", ["00/000", "0/x000/001", "0/001.p/256", "0/001.p/0", "0/001.p/01", "0/٠٠١", "0/001\n"]
)
def test_another_spelling_is_refused(path: str) -> None:
    with pytest.raises(InvalidRequest, match="invalid_tile_path"):
        parse_tile(path)


@given(st.integers(0, 2**63))
def test_the_tiles_of_a_level_hold_its_hashes_once(size: int) -> None:
    levels = tile_levels(size)

    for level in levels:
        hashes = level.full_tiles * 256 + level.partial_width
        assert hashes == size // 256**level.level
        last = tile_holding(level.level, hashes - 1, size=size)
        assert last.hashes.stop == hashes
        with pytest.raises(InvalidRequest, match="index_out_of_range"):
            tile_holding(level.level, hashes, size=size)
    assert size < 256 ** len(levels)


@given(st.integers(1, SIZE), st.data())
def test_proofs_are_built_from_the_tiles_they_asked_for(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    needed = tiles_needed(inclusion_ranges(index, size=size), size=size)
    fetched = {one: tile(one) for one in needed}
    read = set[Tile]()

    def fetch(wanted: Tile) -> Sequence[bytes]:
        read.add(wanted)
        return fetched[wanted]

    proof = inclusion_proof(index, size=size, node=nodes_from_tiles(fetch, size=size))

    assert read == set(needed)
    assert list(needed) == sorted(needed)
    top = extend(EMPTY, LEAVES[:size]).frontier.root()
    assert verify_inclusion(LEAVES[index], proof, index=index, size=size, root=top)


@given(st.integers(1, SIZE))
def test_growth_is_proven_from_few_tiles(old_size: int) -> None:
    needed = tiles_needed(consistency_ranges(old_size, new_size=SIZE), size=SIZE)

    # At most the tile at the old edge and the tile at the new one, on each of three levels.
    assert len(needed) <= 6


def test_a_served_tile_is_nothing_but_its_hashes() -> None:
    served = b"".join(LEAVES[:100])

    assert hashes_of_tile(served) == tuple(LEAVES[:100])
    for spoilt in (b"", served[:-1], b"".join(LEAVES[:257])):
        with pytest.raises(InvalidRequest, match="invalid_tile"):
            hashes_of_tile(spoilt)


def test_a_tile_hash_is_the_root_of_the_tile_below() -> None:
    below = tile(Tile(1, 0))

    assert root(below) == STORED[2][0]
