"""A slow, literal division: what the page says, step by step, with nothing clever in it.

It shares no code with the core. The lot is scanned name by name, caps are filled one cluster at a
time, and every branch is written out, so that a mistake here and a mistake there are unlikely to
be the same mistake.
"""

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce
from hashlib import shake_256
from itertools import product
from math import gcd, lcm
from typing import TypeVar

from ledger.core.division.static_weight import Last, Request
from ledger.core.lot import Lot
from ledger.units import ClusterName

Allocation = dict[ClusterName, int]
Name = TypeVar("Name", bound=str)


def bytewise(names: Iterable[Name]) -> list[Name]:
    return sorted(names, key=lambda name: name.encode("utf-8"))


def point_of(lot: Lot, block: int, total: int) -> tuple[int, int]:
    """The next number below the total, from this block on, and the block after it."""
    while True:
        text = json.dumps(
            ["kdiv1", lot.salt, lot.workload, lot.epoch, block],
            separators=(",", ":"),
            ensure_ascii=True,
        )
        block += 1
        length = 8
        while 256 ** (length - 8) < total + 1:
            length += 1
        number = int.from_bytes(shake_256(text.encode("ascii")).digest(length), "big")
        if number < 256**length - 256**length % total:
            return number % total, block


def scan(lot: Lot, odds: Mapping[Name, int], count: int) -> tuple[list[Name], int]:
    """The names drawn, by walking along them for each draw, and the blocks that it took."""
    waiting = bytewise(odds)
    order: list[Name] = []
    block = 0
    while len(order) < count:
        widths = [odds[name] for name in waiting]
        if sum(widths) == 0:
            widths = [1] * len(waiting)
        point, block = point_of(lot, block, sum(widths))
        place = 0
        while point >= widths[place]:
            point -= widths[place]
            place += 1
        order.append(waiting.pop(place))
    return order, block


def sample(lot: Lot, odds: Mapping[Name, int], step: int) -> tuple[list[Name], int]:
    """Those who cover a point of a line that is written out unit by unit, and the blocks."""
    line, block = scan(lot, dict.fromkeys(odds, 1), len(odds))
    units = [name for name in line for _ in range(odds[name])]
    point, block = point_of(lot, block, step)
    return units[point::step], block


def members(weights: Mapping[ClusterName, int]) -> dict[ClusterName, int]:
    """The clusters that take part, with the weights that count."""
    positive = {name: weights[name] for name in bytewise(weights) if weights[name] > 0}
    return positive or dict.fromkeys(bytewise(weights), 1)


def open_shares(
    replicas: int, weights: Mapping[ClusterName, int], request: Request
) -> dict[ClusterName, Fraction]:
    """The exact shares of those whose caps do not fill: one filled cap is taken out at a time."""
    caps = {c: cap for c, cap in (request.caps or {}).items() if cap is not None}
    open_ones, left = dict(weights), replicas
    while True:
        unit = Fraction(left, sum(open_ones.values()))
        over = [c for c in open_ones if c in caps and open_ones[c] * unit > caps[c]]
        if not over:
            return {cluster: weight * unit for cluster, weight in open_ones.items()}
        left -= caps[over[0]]
        del open_ones[over[0]]


def box(
    replicas: int, weights: Mapping[ClusterName, int], request: Request
) -> tuple[Allocation, Allocation] | None:
    """Least and most that each member may hold; None if the caps are too small."""
    caps: Allocation = {
        c: cap for c, cap in (request.caps or {}).items() if c in weights and cap is not None
    }
    if set(caps) == set(weights) and sum(caps.values()) < replicas:
        return None
    low: Allocation = {}
    top: Allocation = {}
    shares = open_shares(replicas, weights, request)
    for cluster in weights:
        if cluster not in shares:
            low[cluster] = top[cluster] = caps[cluster]
    for cluster, share in shares.items():
        low[cluster] = share.numerator // share.denominator
        extra = 1 if request.eligibility == "all" or share.denominator > 1 else 0
        top[cluster] = min(low[cluster] + extra, caps.get(cluster, low[cluster] + extra))
    return low, top


def odds(request: Request) -> dict[ClusterName, int]:
    """The draw weights of all members in lowest terms, from the formula in fractions."""
    weights = members(request.weights)
    room = {c: (request.capacities or {}).get(c, 0) or 0 for c in weights}
    if request.kappa is not None:
        kappa = request.kappa
    else:
        kappa = Fraction(1) if request.capacities is None else Fraction(1, 2)
    if sum(room.values()) == 0:
        kappa = Fraction(1)
    chance = {
        c: kappa * Fraction(weights[c], sum(weights.values()))
        + (1 - kappa) * Fraction(room[c], max(1, sum(room.values())))
        for c in weights
    }
    common = reduce(lambda a, b: a * b // gcd(a, b), (p.denominator for p in chance.values()))
    whole = {c: p.numerator * (common // p.denominator) for c, p in chance.items()}
    divisor = gcd(*whole.values())
    return {c: w // divisor for c, w in whole.items()}


def fair_divisions(low: Allocation, top: Allocation, replicas: int) -> list[Allocation]:
    """Every point of the box, one by one."""
    sides = [range(low[c], top[c] + 1) for c in low]
    points = (dict(zip(low, point, strict=True)) for point in product(*sides))
    return [point for point in points if sum(point.values()) == replicas]


def division(request: Request, last: Last | None, lot: Lot) -> tuple[str, Allocation] | None:
    """Branch and allocation, zeros left out; None if the caps are too small."""
    weights = members(request.weights)
    bounds = box(request.replicas, weights, request)
    if bounds is None:
        return None
    low, top = bounds
    need = request.replicas
    chances = odds(request)

    def drawn(start: Allocation, pool: Iterable[ClusterName], count: int) -> Allocation:
        order, _ = scan(lot, {c: chances[c] for c in pool}, count)
        return {c: start[c] + (c in order) for c in start}

    def everything_anew() -> tuple[str, Allocation]:
        if request.chances == "remainders":
            missed = {c: s - low[c] for c, s in open_shares(need, weights, request).items()}
            step = lcm(*(part.denominator for part in missed.values()))
            widths = {c: int(part * step) for c, part in missed.items() if part}
            winners, _ = sample(lot, widths, step)
            return "redraw", {c: low[c] + (c in winners) for c in low}
        return "redraw", drawn(low, [c for c in low if low[c] < top[c]], need - sum(low.values()))

    def answer(branch: str, allocation: Allocation) -> tuple[str, Allocation]:
        return branch, {c: n for c, n in allocation.items() if n}

    exact = sum(low.values()) == need
    if last is None or request.fresh:
        return answer("exact", low) if exact else answer(*everything_anew())

    held = {c: int(last.allocation.get(c, 0)) for c in request.weights}  # leavers take theirs along
    outside = any(held[c] for c in held if c not in weights)
    inside = not outside and all(low[c] <= held[c] <= top[c] for c in weights)
    if inside and sum(held.values()) == need:
        return answer("keep", {c: held[c] for c in weights})
    if exact:
        return answer("exact", low)

    weights_then = members(last.weights) if last.weights else {}
    if set(weights) != set(weights_then):
        stayed = [c for c in weights if c in weights_then]
        came = [c for c in weights if c not in weights_then]
        start = {**{c: held[c] for c in stayed}, **{c: low[c] for c in came}}
        room = [c for c in came if low[c] < top[c]]
        missing = need - sum(start.values())
        if all(low[c] <= held[c] <= top[c] for c in stayed) and 0 <= missing <= len(room):
            return answer("partial_fit", drawn(start, room, missing))
    if request.inertia == "minimal":
        near = {c: sorted([low[c], held[c], top[c]])[1] for c in weights}
        missing = need - sum(near.values())
        if missing >= 0:
            up = [c for c in near if near[c] == low[c] < top[c]]
            return answer("minimal", drawn(near, up, missing))
        down = [c for c in near if near[c] == top[c] > low[c]]
        settled = {c: low[c] if c in down else near[c] for c in near}
        return answer("minimal", drawn(settled, down, len(down) + missing))
    then = box(last.replicas, weights_then, request) if set(weights) == set(weights_then) else None
    if then is not None and then[0] == low and inside:
        holders = [c for c in weights if held[c] > low[c]]
        residual = need - sum(low.values())
        if residual <= len(holders):
            return answer("inertia_drop", drawn(low, holders, residual))
        others = [c for c in weights if held[c] == low[c] < top[c]]
        start = {c: held[c] for c in weights}
        return answer("inertia_add", drawn(start, others, residual - len(holders)))
    return answer(*everything_anew())
