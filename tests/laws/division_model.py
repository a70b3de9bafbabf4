"""Slow, literal versions of the other divisions: a step for every replica, a look at every set.

They share no code with the core, and none with ``tests.laws.model`` but the order of names.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations

from ledger.units import ClusterName
from tests.laws.model import bytewise

Counts = dict[ClusterName, int]
Cluster = tuple[int, int, int, ClusterName]
"""Tier, score, available, name."""


def descends(uid: str) -> bool:
    digest = 2166136261
    for byte in uid.encode("utf-8"):
        digest ^= byte
        digest = (digest * 16777619) & 0xFFFFFFFF
    return uid != "" and digest & 1 == 1


def webster(
    replicas: int, weights: Mapping[ClusterName, int], initial: Mapping[ClusterName, int], uid: str
) -> Counts:
    """Seat by seat."""
    names = bytewise({*weights, *initial})
    in_turn = names[::-1] if descends(uid) else names
    seats = {name: initial.get(name, 0) for name in names}
    for _ in range(replicas if names else 0):
        claims = {n: Fraction(weights.get(n, 0), 2 * seats[n] + 1) for n in in_turn}
        best = [n for n in in_turn if claims[n] == max(claims.values())]
        seats[min(best, key=seats.__getitem__)] += 1
    return seats


def dynamic(
    replicas: int,
    available: Mapping[ClusterName, int],
    last: Mapping[ClusterName, int],
    uid: str,
    *,
    aggregated: bool,
    fresh: bool,
) -> Counts | None:
    """Who gets how many; None if there is too little room."""
    held = {name: last.get(name, 0) for name in bytewise(available)}
    here = sum(held.values())
    if fresh:
        target, base = replicas, dict.fromkeys(held, 0)
        weights = {name: available[name] + held[name] for name in held}
        preferred: set[ClusterName] = set()
    elif here == replicas:
        return held
    elif here < replicas:
        target, base, weights = replicas - here, held, dict(available)
        preferred = {name for name in held if held[name] > 0}
    else:
        target, base, weights, preferred = replicas, dict.fromkeys(held, 0), held, set()
    if sum(weights.values()) < target:
        return None
    if aggregated:
        row = [name for name in held if name in preferred]
        row.sort(key=lambda name: weights[name], reverse=True)
        others = [name for name in held if name not in preferred]
        others.sort(key=lambda name: weights[name], reverse=True)
        row += others
        count = 0
        while sum(weights[name] for name in row[:count]) < target:
            count += 1
        weights = {name: weights[name] for name in row[:count]}
    new = webster(target, weights, {}, uid)
    return {name: base[name] + new.get(name, 0) for name in held}


def best_first(clusters: Sequence[Cluster]) -> list[Cluster]:
    """Tier up, score down, available down, name up: sorted by the least important first."""
    row = sorted(clusters, key=lambda one: one[3].encode("utf-8"))
    row.sort(key=lambda one: one[2], reverse=True)
    row.sort(key=lambda one: one[1], reverse=True)
    row.sort(key=lambda one: one[0])
    return row


def by_cluster(
    clusters: Sequence[Cluster], least: int, most: int | None, need: int | None
) -> list[ClusterName] | str:
    row = best_first(clusters)
    if len(row) < least:
        return "too_few_clusters"
    places = row[:most]
    rest = row[len(places) :]
    for place in range(len(places) - 1, -1, -1):
        if need is None or sum(one[2] for one in places) >= need:
            break
        most_room = max((one[2] for one in rest), default=0)
        if most_room > places[place][2]:
            into = next(one for one in row if one in rest and one[2] == most_room)
            rest.remove(into)
            rest.append(places[place])
            places[place] = into
    if need is not None and sum(one[2] for one in places) < need:
        return "insufficient_capacity"
    return [one[3] for one in places]


def by_region(
    regions: Mapping[str, tuple[int, Sequence[Cluster]]],
    spread: tuple[int, int | None],
    bound: tuple[int, int | None],
) -> list[ClusterName] | str:
    filled = [name for name in bytewise(regions) if regions[name][1]]
    filled.sort(key=lambda name: regions[name][0], reverse=True)

    def clusters_of(names: Sequence[str]) -> list[Cluster]:
        return [one for name in names for one in regions[name][1]]

    if len(filled) < spread[0]:
        return "too_few_regions"
    sizes = range(max(1, spread[0]), min(len(filled), spread[1] or 0) + 1)
    if spread[1] is None:
        sizes = range(max(1, spread[0]), len(filled) + 1)
    every = chain.from_iterable(combinations(range(len(filled)), size) for size in sizes)
    # Depth first is the order of tuples: a beginning comes before what it begins.
    sets = [[filled[place] for place in places] for places in sorted(every)]
    sets = [names for names in sets if len(clusters_of(names)) >= bound[0]]
    if not sets:
        return "too_few_clusters"
    best = max(sets, key=lambda names: (sum(regions[n][0] for n in names), len(clusters_of(names))))
    used = next(
        best[:size]
        for size in range(max(1, spread[0]), len(best) + 1)
        if len(clusters_of(best[:size])) >= bound[0]
    )
    leaders = [best_first(regions[name][1])[0] for name in used]
    others = [one for one in best_first(clusters_of(used)) if one not in leaders]
    if bound[1] is not None:
        others = others[: max(0, bound[1] - len(leaders))]
    return [one[3] for one in (*leaders, *others)]
