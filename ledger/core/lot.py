"""Replayable luck: which names are drawn where only chance can decide.

A lot is not random. It is read from a stream of SHAKE-256 blocks that anybody can compute from
three recorded values: the salt of the ledger, the workload the lot is for, and its epoch, the
number of earlier decisions of that workload that drew. The same three give the same draws on
every replay, and different workloads still land on different clusters.

A draw puts the names side by side in the order of their UTF-8 bytes, each as wide as its odds,
reads one number below the total width from the stream, and takes the name at that point. The name
leaves, the others close up, and the next draw reads on. Hence each name is drawn with exactly the
chance that its odds promise, and asking for one draw more only appends to the answer.

The stream is a promise for as long as logs are kept: its label, its text and its arithmetic never
change. What the odds are and what a drawn name wins is the business of the system that asks, and
counting epochs is the business of whoever keeps the last results.

Rule, worked by hand: docs/core/lot.md
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_256
from typing import Final, Generic, TypeVar

from ledger.core.shares import require_count, require_counts
from ledger.errors import InvalidRequest

LABEL: Final = "kdiv1"
"""The first word of every block's text. Another stream would carry another word."""

SPARE_BYTES: Final = 8
"""Bytes read beyond those the total needs, so that fewer than one block in 2**64 is refused."""

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True)
class Draw(Generic[Name]):
    """What came out: the names in the order they were drawn, and how much of the stream it took.

    ``points`` are the numbers that were read, one for each name, below the width of those still in.
    """

    order: tuple[Name, ...]
    points: tuple[int, ...]
    blocks: int


@dataclass(frozen=True, slots=True)
class Sample(Generic[Name]):
    """Names drawn at one stroke: they stand in ``line``, and whoever covers a point is drawn.

    The points are ``point`` and each one ``step`` further, up to the end of the line.
    """

    line: tuple[Name, ...]
    point: int
    step: int
    order: tuple[Name, ...]
    blocks: int


@dataclass(frozen=True, slots=True)
class Lot:
    """The luck of one decision. It begins anew with each ``draw``: a decision draws at most once."""

    salt: str
    workload: str
    epoch: int

    def draw(self, odds: Mapping[Name, int], count: int) -> Draw[Name]:
        """Draw ``count`` different names, each time in proportion to the odds of those still in.

        Names without odds come only when no others are left, and are then all alike.
        """
        require_count("epoch", self.epoch)
        require_count("draws", count)
        require_counts("odds", odds)
        if count > len(odds):
            raise InvalidRequest("invalid_request", f"{count} draws from {len(odds)} names")

        # Code points sort as their UTF-8 bytes do, so this is the order of the bytes.
        names = sorted(odds)
        widths = [odds[name] for name in names]
        total = sum(widths)
        tree = _stack(widths)
        stem = _stem(self)
        drawn: dict[int, Name] = {}
        points: list[int] = []
        block = 0
        for _ in range(count):
            if total == 0:
                widths = [0 if place in drawn else 1 for place in range(len(names))]
                total = len(names) - len(drawn)
                tree = _stack(widths)
            point, block = _point(stem, block, total)
            place = _find(tree, point)
            points.append(point)
            drawn[place] = names[place]
            total -= widths[place]
            _take_out(tree, place, widths[place])
        return Draw(order=tuple(drawn.values()), points=tuple(points), blocks=block)

    def sample(self, odds: Mapping[Name, int], *, step: int) -> Sample[Name]:
        """Draw so that each name's chance is exactly its odds over ``step``.

        ``step`` divides the sum of the odds, and no odds exceed it: as many names are drawn as it
        goes into the sum. They are first drawn, all alike, to stand in line; then one point below
        ``step`` is read, and with it every further point is settled.
        """
        require_counts("odds", odds)
        require_count("step", step)
        total = sum(odds.values())
        if step == 0 or total % step or any(chance > step for chance in odds.values()):
            raise InvalidRequest("invalid_request", f"step: {step} does not suit the odds")

        lined_up = self.draw(dict.fromkeys(odds, 1), len(odds))
        point, blocks = _point(_stem(self), lined_up.blocks, step)
        drawn: list[Name] = []
        end = 0
        for name in lined_up.order:
            end += odds[name]
            if point + len(drawn) * step < end:
                drawn.append(name)
        return Sample(lined_up.order, point, step, tuple(drawn), blocks)


def block_bytes(total: int) -> int:
    """How many bytes of a block are read for a number below ``total``."""
    return (total.bit_length() + 7) // 8 + SPARE_BYTES


def fold(number: int, bits: int, total: int) -> int | None:
    """The point below ``total`` that ``number``, of so many bits, stands for; None if refused.

    The numbers above the last whole multiple of ``total`` are refused: they would make the low
    points likelier than the high ones.
    """
    fair = (1 << bits) // total * total
    return number % total if number < fair else None


def _point(stem: bytes, block: int, total: int) -> tuple[int, int]:
    """The next number below ``total``, reading from ``block`` on, and the block after it."""
    length = block_bytes(total)
    while True:
        digest = shake_256(stem + b"%d]" % block).digest(length)
        block += 1
        point = fold(int.from_bytes(digest, "big"), 8 * length, total)
        if point is not None:
            return point, block


def _stem(lot: Lot) -> bytes:
    """The text of every block of this lot, up to where the number of the block stands."""
    text = json.dumps(
        [LABEL, lot.salt, lot.workload, lot.epoch], separators=(",", ":"), ensure_ascii=True
    )
    return text.removesuffix("]").encode("ascii") + b","


def _stack(widths: Sequence[int]) -> list[int]:
    """The widths as a Fenwick tree: entry i is the sum of the last (i & -i) widths up to place i.

    Finding a point and taking a name out then cost a step for each binary digit of the number of
    names, not one for each name. Which name stands at a point is not changed by that.
    """
    tree = [0, *widths]
    for place in range(1, len(tree)):
        parent = place + (place & -place)
        if parent < len(tree):
            tree[parent] += tree[place]
    return tree


def _find(tree: Sequence[int], point: int) -> int:
    """The first place whose end, counted from the left, lies beyond ``point``."""
    place = 0
    end = len(tree)
    step = 1 << end.bit_length()
    while step:
        ahead = place + step
        if ahead < end and tree[ahead] <= point:
            place = ahead
            point -= tree[ahead]
        step >>= 1
    return place


def _take_out(tree: list[int], place: int, width: int) -> None:
    entry = place + 1
    end = len(tree)
    while entry < end:
        tree[entry] -= width
        entry += entry & -entry
