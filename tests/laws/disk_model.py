"""What a choice of disks should come to, computed from scratch, the slow and obvious way."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

Sized = Mapping[str, tuple[int, int]]
"""Usable bytes and total of each member."""


def uneven(values: Sequence[Fraction]) -> Fraction | None:
    """Range over mean."""
    if not values or sum(values) <= 0:
        return None
    return (max(values) - min(values)) / (sum(values) / Fraction(len(values)))


def scattered(values: Sequence[Fraction]) -> Fraction | None:
    """Mean square deviation over the square of the mean."""
    if not values or sum(values) <= 0:
        return None
    mean = sum(values) / Fraction(len(values))
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / len(values) / mean**2


def score(members: Sized, alpha: Fraction, *, spread: bool = False) -> Fraction | None:
    measure = scattered if spread else uneven
    absolute = measure([Fraction(usable) for usable, _ in members.values()])
    ratio = measure([Fraction(usable, total) for usable, total in members.values() if total > 0])
    if alpha >= 1:
        return absolute
    if alpha <= 0:
        return ratio
    if absolute is None or ratio is None:
        return None
    return alpha * absolute + (1 - alpha) * ratio


def after(members: Sized, name: str, size: int) -> dict[str, tuple[int, int]]:
    usable, total = members[name]
    return {**members, name: (usable - size, total)}


def best(
    members: Sized, feasible: Iterable[str], size: int, alpha: Fraction, *, undefined_wins: bool
) -> str | None:
    ranked = []
    for name in feasible:
        scored = score(after(members, name, size), alpha)
        if scored is not None:
            ranked.append((0, scored, -members[name][0], name))
        elif undefined_wins:
            ranked.append((1, Fraction(0), -members[name][0], name))
    return min(ranked)[3] if ranked else None


Given = tuple[str, str, int, int]
"""A disk: node, name, signed usable bytes, total."""


def choose(disks: Sequence[Given], size: int, alpha: Fraction, scope: str) -> Given | None:
    """The disk; None if there is none."""
    if len(disks) <= 1:
        return disks[0] if disks else None
    clamped = [(node, name, max(0, usable), total) for node, name, usable, total in disks]
    nodes = {
        node: (
            sum(usable for n, _, usable, _ in clamped if n == node),
            sum(total for n, _, _, total in clamped if n == node),
        )
        for node, *_ in clamped
    }
    largest = {n: max(u for m, _, u, _ in clamped if m == n) for n in nodes}
    room = largest if scope == "node" else {node: usable for node, (usable, _) in nodes.items()}
    feasible = [node for node in nodes if room[node] >= size]
    if not feasible and scope == "node":
        return min(disks, key=lambda disk: (-disk[2], disk[0], disk[1]))
    ours = scope == "node"
    node = best(nodes, feasible, size, alpha, undefined_wins=ours)
    inside = {name: (u, t) for n, name, u, t in clamped if n == node or not ours}
    here = [name for n, name, usable, _ in clamped if n == node and usable >= size]
    pick = best(inside, here, size, alpha, undefined_wins=ours)
    return next((disk for disk in disks if disk[1] == pick), None)
