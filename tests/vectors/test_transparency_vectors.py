"""Published facts about Merkle trees and tiles: RFC 6962, C2SP tlog-tiles and their Go references.

Each row of transparency.jsonl asks one thing (``ask``); the function of that name below says how.
Proofs are asked about the reference tree, whose leaves are those of the row ``merkle-root-8``.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import InvalidRequest
from ledger.log.merkle import (
    EMPTY,
    TILE_WIDTH,
    Nodes,
    consistency_proof,
    extend,
    inclusion_proof,
    leaf_hash,
    root,
    verify_consistency,
    verify_inclusion,
)
from ledger.log.tiles import Tile, entries_path, entry_bundle, parse_tile, tile_levels

Row = dict[str, Any]

ROWS: dict[str, Row] = {
    row["id"]: row
    for row in map(
        json.loads,
        Path(__file__).with_name("transparency.jsonl").read_text(encoding="utf-8").splitlines(),
    )
}
REFERENCE = [leaf_hash(bytes.fromhex(leaf)) for leaf in ROWS["merkle-root-8"]["in"]["leaves"]]


def reference_nodes(size: int) -> Nodes:
    """The complete subtrees of the first ``size`` reference leaves, and not one more."""

    def node(level: int, index: int) -> bytes:
        stop = (index + 1) << level
        assert stop <= size, "a proof looked beyond its tree"
        return root(REFERENCE[index << level : stop])

    return node


def in_bytes(hashes: list[str]) -> tuple[bytes, ...]:
    return tuple(map(bytes.fromhex, hashes))


def ask_root(given: Row) -> Row:
    leaves = [leaf_hash(data) for data in in_bytes(given["leaves"])]
    frontier = extend(EMPTY, leaves).frontier
    assert frontier.root() == root(leaves)
    return {"root": frontier.root().hex(), "frontier": [node.hex() for node in frontier.nodes]}


def ask_inclusion(given: Row) -> Row:
    index, size, leaf = given["index"], given["size"], bytes.fromhex(given["leaf"])
    assert leaf == REFERENCE[index]
    proof = inclusion_proof(index, size=size, node=reference_nodes(size))
    top = root(REFERENCE[:size])
    return {
        "proof": [step.hex() for step in proof],
        "root": top.hex(),
        "valid": verify_inclusion(leaf, proof, index=index, size=size, root=top),
    }


def ask_absent_leaf(given: Row) -> Row:
    index, size = given["index"], given["size"]
    top = root(REFERENCE[:size])
    assert not verify_inclusion(REFERENCE[0], (), index=index, size=size, root=top)
    with pytest.raises(InvalidRequest) as refusal:
        inclusion_proof(index, size=size, node=reference_nodes(size))
    return {"refused": refusal.value.code}


def ask_spoilt_inclusion(given: Row) -> Row:
    leaf, top = bytes.fromhex(given["leaf"]), bytes.fromhex(given["root"])
    proof = in_bytes(given["proof"])
    size = given["size"]
    return {"valid": verify_inclusion(leaf, proof, index=given["index"], size=size, root=top)}


def ask_consistency(given: Row) -> Row:
    old_size, new_size = given["old_size"], given["new_size"]
    proof = consistency_proof(old_size, new_size=new_size, node=reference_nodes(new_size))
    valid = verify_consistency(
        proof,
        old_size=old_size,
        old_root=bytes.fromhex(given["old_root"]),
        new_size=new_size,
        new_root=bytes.fromhex(given["new_root"]),
    )
    return {"proof": [step.hex() for step in proof], "valid": valid}


def ask_refused_consistency(given: Row) -> Row:
    old_size, new_size = given["old_size"], given["new_size"]
    valid = verify_consistency(
        REFERENCE[: given["proof_length"]],
        old_size=old_size,
        old_root=root(REFERENCE[:old_size]),
        new_size=new_size,
        new_root=root(REFERENCE[:new_size]),
    )
    try:
        proof = consistency_proof(old_size, new_size=new_size, node=reference_nodes(new_size))
    except InvalidRequest as refusal:
        return {"valid": valid, "refused": refusal.code}
    assert len(proof) != given["proof_length"]
    return {"valid": valid}


def ask_tile_path(given: Row) -> Row:
    tile = Tile(given["level"], given["index"], given["partial_width"] or TILE_WIDTH)
    assert parse_tile(tile.path.removeprefix("tile/")) == tile
    return {"path": tile.path}


def ask_entries_path(given: Row) -> Row:
    return {"path": entries_path(given["index"], size=given["size"])}


def ask_parse(given: Row) -> Row:
    try:
        tile = parse_tile(given["path"])
    except InvalidRequest as refusal:
        return {"refused": refusal.code}
    return {"level": tile.level, "index": tile.index, "partial_width": tile.width % TILE_WIDTH}


def ask_levels(given: Row) -> Row:
    found = tile_levels(given["size"])
    return {"levels": [[one.level, one.full_tiles, one.partial_width] for one in found]}


def ask_entry(given: Row) -> Row:
    fitting = given["length"] - 1
    assert len(entry_bundle([bytes(fitting)])) == 2 + fitting
    with pytest.raises(InvalidRequest) as refusal:
        entry_bundle([bytes(given["length"])])
    return {"refused": refusal.value.code}


ASK: dict[str, Callable[[Row], Row]] = {
    "root": ask_root,
    "inclusion": ask_inclusion,
    "absent_leaf": ask_absent_leaf,
    "spoilt_inclusion": ask_spoilt_inclusion,
    "consistency": ask_consistency,
    "refused_consistency": ask_refused_consistency,
    "tile_path": ask_tile_path,
    "entries_path": ask_entries_path,
    "parse": ask_parse,
    "levels": ask_levels,
    "entry": ask_entry,
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_the_published_answer_is_ours(row: Row) -> None:
    answer = ASK[row["ask"]](row["in"])

    assert answer == row["out"], row["note"]


def test_no_row_was_lost() -> None:
    assert len(ROWS) == 125
    assert {row["ask"] for row in ROWS.values()} == ASK.keys()
