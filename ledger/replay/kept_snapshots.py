"""The snapshots of a fleet, held against the World that they are of and the trees at their positions.

A snapshot is a cache, and who reads one looks whether it fits. Here it is looked at whether it is true:
its row says what the trees and the count of decisions were, its digest is that of its bytes, and, for
those of this program's layout whose bytes are kept, that of the World made again from the log.
"""

from collections import deque
from hashlib import sha256

from ledger.errors import UnusableSnapshot
from ledger.log import detached
from ledger.log.archive.reading import Archive
from ledger.log.database import Connection, refusals_named
from ledger.log.fleets import Fleet
from ledger.log.snapshots import Layout, decompressed
from ledger.reducers import snapshot
from ledger.reducers.world import World
from ledger.replay.report import Divergence
from ledger.replay.segments import own_layout

_Row = tuple[int, int, int, bytes, bytes, bytes, int, int, Layout, bool, int]


class KeptSnapshots:
    """The snapshots of a fleet by the position of their last event."""

    def __init__(self, connection: Connection, fleet: Fleet, archive: Archive | None) -> None:
        self._connection = connection
        self._fleet = fleet
        self._archive = archive
        self._waiting: deque[_Row] | None = None

    async def at(self, world: World) -> Divergence | None:
        """Hold the snapshots of this position against the World there."""
        if self._waiting is None:
            self._waiting = await self._read()
        while self._waiting and self._waiting[0][1] < world.position:
            trouble = await self._compare(self._waiting.popleft(), world)
            if trouble is not None:
                return trouble
        return None

    async def end(self, world: World) -> Divergence | None:
        """Whether there are snapshots of what is not decided."""
        if not self._waiting:
            return None
        _, through, *_ = self._waiting[0]
        return Divergence(
            "snapshot_mismatch", through, recorded=str(through), recomputed=str(world.position - 1)
        )

    async def _read(self) -> deque[_Row]:
        with refusals_named():
            rows = await self._connection.fetch(
                "SELECT s.number, s.through, s.decisions, s.digest, s.event_root, s.decision_root,"
                "       s.bytes, s.stored_bytes, s.engine, s.layout, s.types,"
                "       EXISTS (SELECT FROM ledger.snapshot_parts p WHERE p.snapshot = s.number),"
                "       s.incarnation"
                "  FROM ledger.snapshots s WHERE s.fleet = $1 ORDER BY s.through, s.number",
                self._fleet.number,
            )
        return deque((*row[:8], Layout(*row[8:11]), *row[11:]) for row in rows)

    async def _compare(self, row: _Row, world: World) -> Divergence | None:
        number, through, decisions, digest, event_root, decision_root = row[:6]
        size, kept, layout, there, incarnation = row[6:]
        if through != world.position - 1:
            return self._unlike(through, "position", str(through), str(world.position - 1))
        if decisions != world.decisions:
            return self._unlike(through, "decisions", str(decisions), str(world.decisions))
        if incarnation != world.incarnation:
            return self._unlike(through, "incarnation", str(incarnation), str(world.incarnation))
        for name, tree, recorded, leaves in (
            ("event_root", "events", event_root, through + 1),
            ("decision_root", "decisions", decision_root, decisions),
        ):
            frontier = await detached.frontier_at(
                self._connection,
                self._fleet,
                self._archive,
                "events" if tree == "events" else "decisions",
                size=leaves,
            )
            if (root := frontier.root()) != recorded:
                return self._unlike(through, name, recorded.hex(), root.hex())
        if not there:
            return None
        if layout == own_layout() and digest.hex() != (made := snapshot.digest(world)):
            return self._unlike(through, "digest", digest.hex(), made)
        return await self._bytes(number, through, digest, size, kept)

    async def _bytes(
        self, number: int, through: int, digest: bytes, size: int, kept: int
    ) -> Divergence | None:
        found, length, stored, part = sha256(), 0, 0, 0
        while True:
            with refusals_named():
                content = await self._connection.fetchval(
                    "SELECT content FROM ledger.snapshot_parts WHERE snapshot = $1 AND part = $2",
                    number,
                    part,
                )
            if content is None:
                break
            stored += len(content)
            try:
                plain = decompressed(content)
            except UnusableSnapshot as damaged:
                return self._unlike(through, f"part {part}", str(damaged), "compressed lines")
            found.update(plain)
            length += len(plain)
            part += 1
        with refusals_named():
            parts = await self._connection.fetchval(
                "SELECT count(*) FROM ledger.snapshot_parts WHERE snapshot = $1", number
            )
        if parts != part:
            return self._unlike(through, "parts", str(parts), str(part))
        if found.digest() != digest:
            return self._unlike(through, "bytes", digest.hex(), found.hexdigest())
        if (length, stored) != (size, kept):
            return self._unlike(through, "bytes", f"{size} {kept}", f"{length} {stored}")
        return None

    def _unlike(self, through: int, what: str, recorded: str, recomputed: str) -> Divergence:
        return Divergence(
            "snapshot_mismatch",
            through,
            path=f"snapshots.{what}",
            recorded=recorded,
            recomputed=recomputed,
        )
