"""A tree made anew from leaves, held at each step against what was recorded of it.

Recorded are its heads, one an append; the hashes of its complete subtrees, which proofs are made
of; and the ends that were signed. Heads are not needed to know the root at the end, but who reads
the log at an earlier size relies on them, and so does a proof on every subtree.

Reads as the leaves come, in memory that does not grow. What is recorded is read before the leaves are
added (``expect``), so that adding them needs no answer of the server.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ledger.log import merkle
from ledger.log.merkle import TILE_HEIGHT, TileHash
from ledger.log.trees import Tree
from ledger.replay.brought_keys import BroughtKeys
from ledger.replay.recorded_tree import Head, RecordedTree
from ledger.replay.report import ABSENT, Divergence, Trouble
from ledger.replay.signed_ends import SignedEnd, SignedEnds, Unlike
from ledger.units import FleetName


@dataclass(slots=True)
class GrownTree:
    """One tree of a fleet, as far as its leaves were read."""

    recorded: RecordedTree
    fleet: FleetName
    tree: Tree
    keys: BroughtKeys = field(default_factory=BroughtKeys)
    """Of those who sign, where the reader knows them."""
    frontier: merkle.Frontier = merkle.EMPTY
    """The tree so far; what it begins with is believed until its root is met."""
    life: int = 0
    """That of the last leaf, where the reader knows lives."""
    _recovered: dict[int, Sequence[tuple[str, int, str]]] = field(default_factory=dict)
    """By life: what its first event says that the life before had signed."""
    _begins: int = 0
    _heads: Mapping[int, Head] = field(default_factory=dict)
    _signed: Mapping[int, Sequence[SignedEnd]] = field(default_factory=dict)
    _completed: list[TileHash] = field(default_factory=list)
    _expected: int = -1
    _ends: SignedEnds | None = None

    def __post_init__(self) -> None:
        self._expected = self.frontier.size - 1
        self._begins = self.frontier.size

    async def expect(self, through: int) -> Divergence | None:
        """Read what is recorded of the tree up to a size; and hold the subtrees so far against it."""
        trouble = await self._against_tiles()
        if trouble is not None or through <= self._expected:
            return trouble
        if self._ends is None:
            self._ends = SignedEnds(self.recorded, self.fleet, self.tree, self.keys)
        self._heads = await self.recorded.heads(self._expected, through)
        signed = await self._ends.through(self._expected, through)
        if isinstance(signed, Unlike):
            return self._trouble(
                "checkpoint_mismatch", signed.recorded, signed.expected, at=signed.size
            )
        self._signed = signed
        self._expected = through
        return None

    def add(
        self, leaves: Sequence[bytes], recorded_at: Sequence[int] | None = None
    ) -> Divergence | None:
        """Add leaves that were expected; the first head or signed end up to there that is not so.

        ``recorded_at`` says of each leaf when it was recorded, where the heads say so too.
        """
        before, size = self.frontier.size, self.frontier.size + len(leaves)
        for stop in sorted({size, *self._heads, *self._signed}):
            if stop < before or stop > size:
                continue
            part = leaves[self.frontier.size - before : stop - before]
            extension = merkle.extend(self.frontier, part)
            self.frontier = extension.frontier
            self._completed += extension.completed
            moment = recorded_at[stop - before - 1] if recorded_at and stop > before else None
            trouble = self._at_this_size(moment)
            if trouble is not None:
                return trouble
        return None

    def recovered(self, life: int, signed: Sequence[tuple[str, int, str]]) -> None:
        """Note what the first event of a life says: origins with sizes and roots."""
        self._recovered[life] = signed

    async def grow(self, leaves: Sequence[bytes]) -> Divergence | None:
        """``expect`` and ``add`` in one, for who has no times."""
        return await self.expect(self.frontier.size + len(leaves)) or self.add(leaves)

    async def end(self, size: int, root: bytes) -> Divergence | None:
        """Whether the leaves end where the head says; and nothing is recorded of what lies beyond."""
        trouble = await self.expect(self.frontier.size) or self.add(())
        if trouble is not None:
            return trouble
        if (self.frontier.size, self.frontier.root()) != (size, root):
            return self._root_trouble(f"{size} {root.hex()}")
        trouble = self._against_lives()
        if trouble is not None:
            return trouble
        counted = await self._count_tiles(size)
        assert self._ends is not None, "expected above"
        # Read last: whatever was recorded of a larger tree meanwhile, its head was too.
        signed = await self._ends.beyond(size) or 0
        newest = await self.recorded.newest()
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

    def _at_this_size(self, moment: int | None) -> Divergence | None:
        size = self.frontier.size
        head, signed = self._heads.get(size), self._signed.get(size, ())
        if head is None and not signed:
            return None
        root = self.frontier.root()
        if head is not None:
            if (head.root, head.frontier) != (root, self.frontier.to_bytes()):
                return self._root_trouble(f"{head.size} {head.root.hex()}")
            # A tree that begins late has no leaf before its first head; decisions are not timed.
            known = moment is not None or self.tree == "decisions"
            if known and head.recorded_at != moment:
                return self._trouble("clock_mismatch", _shown(head.recorded_at), _shown(moment))
        for end in signed:
            if end.root != root:
                return self._trouble(
                    "checkpoint_mismatch", f"{end.size} {end.root.hex()}", f"{size} {root.hex()}"
                )
        return None

    def _against_lives(self) -> Divergence | None:
        """Notes of later lives say of the end of the life before what the first event of theirs says."""
        assert self._ends is not None, "something was expected"
        if self.tree != "events":
            return None
        for life, beginning in sorted(self._ends.beginnings.items()):
            told = [(origin, end.size, end.root.hex()) for origin, end in beginning.after]
            said = [*self._recovered.get(life, ())]
            at = beginning.began.size
            if told != said and self._begins <= at < self.frontier.size:
                return self._trouble("checkpoint_mismatch", f"after {told}", f"after {said}", at=at)
        return None

    async def _against_tiles(self) -> Divergence | None:
        completed, self._completed = self._completed, []
        for level in sorted({done.level for done in completed}):
            numbers = [done.index for done in completed if done.level == level]
            recorded = await self.recorded.subtrees(level, min(numbers), max(numbers))
            if recorded is None:
                return None
            for done in completed:
                if done.level == level and recorded.get(done.index) != done.hash:
                    return self._trouble(
                        "tile_mismatch",
                        f"level {level}, {done.index}: {(recorded.get(done.index) or b'').hex()}",
                        f"level {level}, {done.index}: {done.hash.hex()}",
                        at=done.index << TILE_HEIGHT * level,
                    )
        return None

    async def _count_tiles(self, size: int) -> list[tuple[int, int]]:
        """By level: how many subtrees of the tree are recorded, and the largest number of any."""
        by_level = await self.recorded.counted(size)
        if by_level is None:
            return []
        levels = max([*by_level, (size.bit_length() - 1) // TILE_HEIGHT if size else 0])
        return [by_level.get(level, (0, -1)) for level in range(1, levels + 1)]

    def _root_trouble(self, recorded: str) -> Divergence:
        return self._trouble(
            "event_root_mismatch" if self.tree == "events" else "decision_root_mismatch",
            recorded,
            f"{self.frontier.size} {self.frontier.root().hex()}",
        )

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


def _shown(moment: int | None) -> str:
    return ABSENT if moment is None else str(moment)
