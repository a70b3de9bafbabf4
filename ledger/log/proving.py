"""Write a proof file for an event or a decision: what an outsider needs, beside the key.

The proof stands on the oldest recorded checkpoint that covers the entry, of whatever life of the log,
since more people may have seen that one, and
of its notes on the one with most witnesses. A reader's policy may ask for witnesses who were away then:
told of it, the proof stands on the oldest that is enough for that reader. The entry itself, the leaf's data, goes along as extra data: a reader recomputes the
leaf from it and believes nothing else of it.

Nothing is handed out that would show nothing: the file is read again, and its entry has to lead to the root
that its note names. Whose signature that note has is for the reader, who has the key.
"""

from typing import Final

import asyncpg

from ledger.errors import DamagedArchive, InvalidRequest, LedgerStopped, SetupProblem
from ledger.log import detached, fleets, merkle, tree_proofs
from ledger.log.archive.reading import Archive
from ledger.log.checkpoints import parse_checkpoint
from ledger.log.database import refusals_named
from ledger.log.decision_names import why_not_there
from ledger.log.fleets import Fleet
from ledger.log.leaf import stored_leaf_data
from ledger.log.notes import open_note, parse_note
from ledger.log.proofs import Proof, parse_proof
from ledger.log.trees import Tree
from ledger.log.trust import Trust
from ledger.units import Incarnation, Position

_PAGE: Final = 100
"""Checkpoints looked at together, where a policy asks for more than a signature."""


async def prove(
    connection: asyncpg.Connection,
    fleet: Fleet,
    tree: Tree,
    index: int,
    *,
    made_in: Incarnation | None = None,
    archive: Archive | None = None,
    policy: Trust | None = None,
) -> Proof:
    """The proof that a leaf is in the tree; ``SetupProblem`` where there is nothing to stand on.

    ``LedgerStopped`` where rows were changed, so that it would show nothing.

    ``made_in`` is the life of the log that a decision's id names: another decision may have the same
    number in a later one. An event that was detached is read from its archive, and is believed only if
    the proof holds.
    """
    if made_in is not None:
        await _require_made_in(connection, fleet, index, made_in)
    row = await _checkpoint(connection, fleet, tree, index, policy)
    if row is None:
        enough = "" if policy is None else " and is enough for the policy"
        raise SetupProblem(
            f"{fleet.name}: no signed checkpoint of its {tree} reaches {index}{enough};"
            " see `ledger seal`"
        )
    hashes = await tree_proofs.inclusion(
        connection, fleet, tree, index, size=row["size"], archive=archive
    )
    proof = Proof(index, hashes, row["note"], await _entry(connection, fleet, tree, index, archive))
    why_not = _shows_nothing(proof)
    if why_not is None:
        return proof
    if archive is not None:
        raise DamagedArchive(
            "file_damaged", str(archive.folder), f"{tree} {index} there shows nothing: {why_not}"
        )
    raise LedgerStopped(
        f"{fleet.name}: {tree} {index} is not what was signed: {why_not}; `ledger verify` says where rows"
        " were changed"
    )


def _shows_nothing(proof: Proof) -> str | None:
    """Why a file would show nothing, to whoever has the key; None where it shows its entry."""
    try:
        read = parse_proof(proof.spelled)
        signed = parse_checkpoint(parse_note(read.checkpoint).text)
    except InvalidRequest as error:
        return str(error)
    leads = merkle.verify_inclusion(
        merkle.leaf_hash(read.extra),
        read.hashes,
        index=read.index,
        size=signed.size,
        root=signed.root,
    )
    return None if leads else "it does not lead to the root that was signed"


async def _checkpoint(
    connection: asyncpg.Connection, fleet: Fleet, tree: Tree, index: int, policy: Trust | None
) -> asyncpg.Record | None:
    """The oldest that covers an entry, and is enough for a reader if one is told of."""
    last = (0, 0, 0)
    while True:
        with refusals_named():
            rows = await connection.fetch(
                "SELECT incarnation, size, again, root, note FROM ledger.checkpoints"
                " WHERE fleet = $1 AND tree = $2 AND size > $3"
                " AND (incarnation, size, -again) > ($4, $5, $6)"
                " ORDER BY incarnation, size, -again LIMIT $7",
                fleet.number,
                tree,
                index,
                *last,
                1 if policy is None else _PAGE,
            )
        for row in rows:
            if policy is None or _is_enough(row["note"], policy):
                return row
        if len(rows) < _PAGE:
            return None
        last = (rows[-1]["incarnation"], rows[-1]["size"], -rows[-1]["again"])


def _is_enough(note: bytes, policy: Trust) -> bool:
    try:
        opened = open_note(note, policy.keys)
    except InvalidRequest:
        return False
    held = [key for key, _ in opened.verified]
    return policy.suffices(held) and any(key in policy.logs for key in held)


async def _require_made_in(
    connection: asyncpg.Connection, fleet: Fleet, number: int, made_in: Incarnation
) -> None:
    with refusals_named():
        found = await connection.fetchval(
            "SELECT incarnation FROM ledger.decisions WHERE fleet = $1 AND number = $2",
            fleet.number,
            number,
        )
    newest = await fleets.incarnation(connection, fleet)
    why = why_not_there(fleet.name, made_in, number, made_in=found, newest=newest)
    if why is not None:
        raise SetupProblem(why)


async def _entry(
    connection: asyncpg.Connection, fleet: Fleet, tree: Tree, index: int, archive: Archive | None
) -> bytes:
    """What the leaf is the hash of."""
    if tree == "events":
        pages = detached.pages(connection, fleet, archive, first=Position(index), before=index + 1)
        ((event,),) = [page async for page in pages]
        return stored_leaf_data(fleet.name, event)
    with refusals_named():
        record: bytes = await connection.fetchval(
            "SELECT record FROM ledger.decisions WHERE fleet = $1 AND number = $2",
            fleet.number,
            index,
        )
    return record
