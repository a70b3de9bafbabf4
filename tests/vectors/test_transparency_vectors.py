"""Published facts about Merkle trees, tiles, signed notes, checkpoints, proofs and witnesses.

RFC 6962, the C2SP texts and their Go references.

Each row of transparency.jsonl asks one thing (``ask``); the function of that name below says how.
Proofs are asked about the reference tree, whose leaves are those of the row ``merkle-root-8``.
"""

import json
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import InvalidRequest
from ledger.log.checkpoints import Checkpoint, parse_checkpoint
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
from ledger.log.notes import COSIGNATURE, Key, Note, cosigned, open_note, parse_key, signer
from ledger.log.proofs import parse_proof, verify
from ledger.log.tiles import Tile, entries_path, entry_bundle, parse_tile, tile_levels
from ledger.log.trust import only
from ledger.log.witness import Asked, Seen, judge

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


def ask_key(given: Row) -> Row:
    try:
        key = parse_key(given["key"])
    except InvalidRequest as refusal:
        return {"refused": refusal.code}
    assert key.spelled == given["key"]
    return {"name": key.name, "key_id": key.id.hex()}


def ask_open_note(given: Row) -> Row:
    note = f"{given['text']}\n{given['line']}\n".encode()
    try:
        opened = open_note(note, [parse_key(given["key"])])
    except InvalidRequest as refusal:
        return {"refused": refusal.code}
    assert opened.text == given["text"]
    return {"verified": len(opened.verified)}


def ask_checkpoint(given: Row) -> Row:
    try:
        checkpoint = parse_checkpoint(given["text"])
    except InvalidRequest as refusal:
        return {"refused": refusal.code}
    assert checkpoint.text == given["text"]
    return {"origin": checkpoint.origin, "size": checkpoint.size}


def ask_signed_checkpoint(given: Row) -> Row:
    signing = signer(given["origin"], bytes.fromhex(given["seed"]))
    leaves = [leaf_hash(data) for data in in_bytes(given["leaves"])]
    text = Checkpoint(given["origin"], len(leaves), root(leaves)).text
    note = Note(text, (signing.sign(text),))
    return {"key": signing.key.spelled, "checkpoint": note.spelled.decode()}


def ask_proof(given: Row) -> Row:
    file = given["file"].encode()
    proof = parse_proof(file)
    assert proof.spelled == file
    shown = verify(proof, bytes.fromhex(given["entry"]), only(parse_key(given["key"])))
    assert proof.hashes == inclusion_proof(
        shown.index, size=shown.checkpoint.size, node=reference_nodes(shown.checkpoint.size)
    )
    return {"index": shown.index, "size": shown.checkpoint.size}


def ask_broken_proof(given: Row) -> Row:
    with pytest.raises(InvalidRequest) as refusal:
        parse_proof(given["file"].encode())
    return {"refused": refusal.value.code}


def ask_cosigned(given: Row) -> Row:
    key = Key(given["name"], COSIGNATURE, bytes.fromhex(given["public"]))
    message = cosigned(given["text"], seconds=given["seconds"])
    return {"message": message.decode(), "key_id": key.id.hex()}


def ask_witness(given: Row) -> Row:
    log, stranger = signer("log.example", bytes(32)), signer("log.example", bytes([1]) * 32)
    witness = signer("witness.example/w1", bytes([2]) * 32, type_=COSIGNATURE)
    spoil, size, old = given.get("spoil"), given["size"], given["old"]
    top = root(REFERENCE[:size])
    if spoil in {"root", "empty_root"}:
        top = bytes(32)
    text = Checkpoint("log.example" if spoil != "origin" else "other.example", size, top).text
    signature = (stranger if spoil == "stranger" else log).sign(text)
    if spoil == "signature":
        signature = signature._replace(raw=bytes(64))
    hashes: tuple[bytes, ...] = ()
    if 0 < old < size:
        hashes = consistency_proof(old, new_size=size, node=reference_nodes(size))
    if spoil in {"proof", "extra_hash"}:
        hashes = (bytes(32), *hashes[1:])
    if spoil == "many":
        hashes = (bytes(32),) * 64
    seen = Seen(given["seen"], root(REFERENCE[: given["seen"]]))
    answer = judge(
        Asked(old, hashes, Note(text, (signature,)).spelled).spelled,
        logs={"log.example": [log.key]},
        seen={"log.example": seen},
        signer=witness,
        seconds=1_700_000_000,
    )
    if answer.status == HTTPStatus.OK:
        assert answer.remember == ("log.example", Seen(size, top))
        cosigned_note = Note(text, (signature,)).spelled + answer.body.encode()
        assert len(open_note(cosigned_note, [log.key, witness.key]).verified) == 2
    else:
        assert answer.remember is None
    if answer.status == HTTPStatus.CONFLICT:
        assert (answer.body, answer.content_type) == (f"{given['seen']}\n", "text/x.tlog.size")
    return {"status": answer.status}


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
    "key": ask_key,
    "open_note": ask_open_note,
    "checkpoint": ask_checkpoint,
    "signed_checkpoint": ask_signed_checkpoint,
    "proof": ask_proof,
    "broken_proof": ask_broken_proof,
    "cosigned": ask_cosigned,
    "witness": ask_witness,
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_the_published_answer_is_ours(row: Row) -> None:
    answer = ASK[row["ask"]](row["in"])

    assert answer == row["out"], row["note"]


def test_no_row_was_lost() -> None:
    assert len(ROWS) == 166
    assert {row["ask"] for row in ROWS.values()} == ASK.keys()
