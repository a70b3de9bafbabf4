"""A tree made anew from leaves, held at each step against what was recorded of it.

Recorded are its heads, one an append; the hashes of its complete subtrees, which proofs are made
of; and the ends that were signed. Heads are not needed to know the root at the end, but who reads
the log at an earlier size relies on them, and so does a proof on every subtree.

Reads as the leaves come, in memory that does not grow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ledger.errors import InvalidRequest
from ledger.log import merkle
from ledger.log.checkpoints import parse_checkpoint
from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.merkle import TILE_HEIGHT, TileHash
from ledger.log.notes import parse_note
from ledger.log.trees import Tree, recorded_root
from ledger.replay.report import Divergence, Trouble


class _Head(NamedTuple):
    size: int
    root: bytes
    frontier: bytes


@dataclass(slots=True)
class GrownTree:
    """One tree of a fleet, as far as its leaves were read."""

    connection: Connection
    fleet: Fleet
    tree: Tree
    frontier: merkle.Frontier = merkle.EMPTY

    async def grow(self, leaves: Sequence[bytes]) -> Divergence | None:
        """Add leaves; the first thing recorded of the tree up to there that is not so."""
        before, size = self.frontier.size, self.frontier.size + len(leaves)
        heads = await self._heads(before, size)
        signed = await self._signed(before, size)
        completed: list[TileHash] = []
        for stop in sorted({size, *heads, *signed}):
            part = leaves[self.frontier.size - before : stop - before]
            extension = merkle.extend(self.frontier, part)
            self.frontier = extension.frontier
            completed += extension.completed
            trouble = self._at_this_size(heads.get(stop), signed.get(stop, []))
            if trouble is not None:
                return trouble
        return await self._against_tiles(completed)

    async def end(self, size: int, root: bytes) -> Divergence | None:
        """Whether the leaves end where the head says; and nothing is recorded of what lies beyond."""
        if (self.frontier.size, self.frontier.root()) != (size, root):
            return self._trouble(
                "event_root_mismatch" if self.tree == "events" else "decision_root_mismatch",
                f"{size} {root.hex()}",
                f"{self.frontier.size} {self.frontier.root().hex()}",
            )
        counted = await self._count_tiles(size)
        signed = await self._largest_signed()
        # Read last: whatever was recorded of a larger tree meanwhile, its head was too.
        newest, _ = await recorded_root(self.connection, self.fleet.number, self.tree)
        if signed > newest:
            return self._trouble("checkpoint_mismatch", f"{signed} were signed", str(newest))
        for level, (found, largest) in enumerate(counted, start=1):
            expected = size >> TILE_HEIGHT * level
            if found != expected or largest >= newest >> TILE_HEIGHT * level:
                return self._trouble(
                    "tile_mismatch",
                    f"level {level}: {found} subtrees, the last is {largest}",
                    f"level {level}: {expected} subtrees",
                )
        return None

    def _at_this_size(self, head: _Head | None, notes: Sequence[bytes]) -> Divergence | None:
        root = self.frontier.root()
        if head is not None and (head.root, head.frontier) != (root, self.frontier.to_bytes()):
            return self._trouble(
                "event_root_mismatch" if self.tree == "events" else "decision_root_mismatch",
                f"{head.size} {head.root.hex()}",
                f"{self.frontier.size} {root.hex()}",
            )
        for note in notes:
            try:
                said = parse_checkpoint(parse_note(note).text)
            except InvalidRequest as unreadable:
                return self._trouble("checkpoint_mismatch", str(unreadable), root.hex())
            if (said.size, said.root) != (self.frontier.size, root):
                return self._trouble(
                    "checkpoint_mismatch",
                    f"{said.size} {said.root.hex()}",
                    f"{self.frontier.size} {root.hex()}",
                )
        return None

    async def _against_tiles(self, completed: list[TileHash]) -> Divergence | None:
        levels = sorted({done.level for done in completed})
        for level in levels:
            numbers = [done.index for done in completed if done.level == level]
            with refusals_named():
                rows = await self.connection.fetch(
                    "SELECT number, hash FROM ledger.tile_hashes WHERE fleet = $1 AND tree = $2"
                    " AND level = $3 AND number >= $4 AND number <= $5 ORDER BY number",
                    self.fleet.number,
                    self.tree,
                    level,
                    min(numbers),
                    max(numbers),
                )
            recorded = {row["number"]: row["hash"] for row in rows}
            for done in completed:
                if done.level == level and recorded.get(done.index) != done.hash:
                    return self._trouble(
                        "tile_mismatch",
                        f"level {level}, {done.index}: {(recorded.get(done.index) or b'').hex()}",
                        f"level {level}, {done.index}: {done.hash.hex()}",
                        at=done.index << TILE_HEIGHT * level,
                    )
        return None

    async def _heads(self, after: int, through: int) -> dict[int, _Head]:
        with refusals_named():
            rows = await self.connection.fetch(
                "SELECT size, root, frontier FROM ledger.heads WHERE fleet = $1 AND tree = $2"
                " AND size > $3 AND size <= $4",
                self.fleet.number,
                self.tree,
                after,
                through,
            )
        return {row["size"]: _Head(*row) for row in rows}

    async def _signed(self, after: int, through: int) -> dict[int, list[bytes]]:
        with refusals_named():
            rows = await self.connection.fetch(
                "SELECT size, note FROM ledger.checkpoints WHERE fleet = $1 AND tree = $2"
                " AND size > $3 AND size <= $4",
                self.fleet.number,
                self.tree,
                after,
                through,
            )
        notes: dict[int, list[bytes]] = {}
        for size, note in rows:
            notes.setdefault(size, []).append(note)
        return notes

    async def _largest_signed(self) -> int:
        with refusals_named():
            size = await self.connection.fetchval(
                "SELECT max(size) FROM ledger.checkpoints WHERE fleet = $1 AND tree = $2",
                self.fleet.number,
                self.tree,
            )
        return size or 0

    async def _count_tiles(self, size: int) -> list[tuple[int, int]]:
        """By level: how many subtrees of the tree are recorded, and the largest number of any."""
        with refusals_named():
            rows = await self.connection.fetch(
                "SELECT level, count(*) FILTER (WHERE number < $3::bigint >> (8 * level)),"
                " max(number) FROM ledger.tile_hashes WHERE fleet = $1 AND tree = $2"
                " GROUP BY level",
                self.fleet.number,
                self.tree,
                size,
            )
        by_level = {level: (count, largest) for level, count, largest in rows}
        levels = max([*by_level, (size.bit_length() - 1) // TILE_HEIGHT if size else 0])
        return [by_level.get(level, (0, -1)) for level in range(1, levels + 1)]

    def _trouble(
        self, trouble: Trouble, recorded: str, recomputed: str, *, at: int | None = None
    ) -> Divergence:
        place = self.frontier.size if at is None else at
        of_events = self.tree == "events"
        return Divergence(
            trouble,
            place if of_events else None,
            decision=None if of_events else place,
            recorded=recorded,
            recomputed=recomputed,
        )
