"""A slow, literal capacity: what the page says, instance by instance, with nothing clever in it.

It shares no code with the core. Every plan is made, whole cores are picked one instance at a time,
every number of divided cores is tried, and every volume looks at every device.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

Binding = dict[str, int]
Amounts = Mapping[Any, int]
Numa = tuple[Mapping[Any, Any], Amounts]


def whole_plans(cores: Sequence[tuple[int, str]], each: int, base: int) -> list[Binding]:
    """Instances of whole cores, the cores with most free first, sorted by where their cores stand."""
    free = [pieces for pieces, _ in cores]
    names = [name for _, name in cores]
    plans: list[tuple[int, Binding]] = []
    while sum(pieces > 0 for pieces in free) >= each:
        left = [place for place in range(len(free)) if free[place] > 0]
        left.sort(key=lambda place: (free[place], names[place]))
        chosen = left[len(left) - each :]
        for place in chosen:
            free[place] -= base
        plans.append((sum(chosen), {names[place]: base for place in chosen}))
    plans.sort(key=lambda plan: plan[0])
    return [plan for _, plan in plans]


def whole_plans_in_turn(cores: Sequence[tuple[int, str]], each: int, base: int) -> list[Binding]:
    """Instances of whole cores from the front of the list; what has some left goes back there."""
    queue = list(cores)
    plans = []
    while len(queue) >= each:
        front, queue = queue[:each], queue[each:]
        plans.append({name: base for _, name in front})
        queue = [(pieces - base, name) for pieces, name in front if pieces > base] + queue
    return plans


def fragment_plans(cores: Sequence[tuple[int, str]], pieces: int) -> list[Binding]:
    return [{name: pieces} for free, name in cores for _ in range(free // pieces)]


def sorted_out(
    cores: Amounts, base: int, origin: Amounts
) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Full and fragment cores; those that were the same in the old binding come first."""
    kinds = []
    for full in (True, False):

        def of_kind(amounts: Amounts, *, full: bool = full) -> list[tuple[int, str]]:
            return sorted(
                (free, name)
                for name, free in amounts.items()
                if free > 0 and (free % base == 0) == full
            )

        held = [name for _, name in of_kind(origin)]
        here = of_kind(cores)
        first = [one for name in held for one in here if one[1] == name]
        kinds.append(first + [one for one in here if one not in first])
    return kinds[0], kinds[1]


def cpu_pass(
    cores: Amounts,
    memory: int,
    pieces: int,
    memory_each: int,
    base: int,
    max_share: int,
    origin: Amounts,
) -> list[Binding]:
    whole, fragment = divmod(pieces, base)
    full, fragments = sorted_out(cores, base, origin)
    wholes = whole_plans_in_turn if origin else whole_plans
    most = len(full) + len(fragments) - whole
    if max_share != -1:
        most = min(most, max_share)
    if fragment == 0:
        plans = wholes(full, whole, base)
    elif whole == 0:
        plans = fragment_plans(fragments + full[: max(0, most - len(fragments))], fragment)
    else:
        plans = []
        for divided in range(len(full) + 1):
            if divided and len(fragments) + divided > most:
                break
            tried = [
                one | other
                for one, other in zip(
                    wholes(full[divided:], whole, base),
                    fragment_plans(fragments + full[:divided], fragment),
                    strict=False,
                )
            ]
            if len(tried) > len(plans):
                plans = tried
    return plans[: max(0, memory) // memory_each] if memory_each else plans


def cpu_plans(
    cores: Amounts,
    memory: int,
    numa: Numa,
    *,
    cpu: Fraction,
    memory_each: int,
    base: int,
    max_share: int,
    origin: Amounts,
) -> list[tuple[str, Binding]]:
    groups, group_memory = numa
    pieces = int(cpu * base)
    free, left = dict(cores), memory
    plans: list[tuple[str, Binding]] = []
    for group in [*sorted({groups[core] for core in cores if core in groups}), None]:
        near = {core: free[core] for core in free if group in {None, groups.get(core)}}
        room = left if group is None else min(group_memory.get(group, 0), left)
        for plan in cpu_pass(near, room, pieces, memory_each, base, max_share, origin):
            plans.append((group or "", plan))
            left -= memory_each
            for core, taken in plan.items():
                free[core] -= taken
    return plans


Places = dict[str, tuple[str, int]]


def normal_plans(room: dict[str, int], sizes: Sequence[tuple[int, str]]) -> list[Places]:
    """Instances of normal volumes by best fit until one finds no place; what fails takes nothing."""
    plans: list[Places] = []
    while True:
        tried, plan = dict(room), Places()
        for size, volume in sizes:
            fitting = sorted((free, device) for device, free in tried.items() if free >= size)
            if not fitting:
                return plans
            plan[volume] = fitting[0][1], size
            tried[fitting[0][1]] -= size
        room.update(tried)
        plans.append(plan)


def monopoly_plans(unused: Amounts, sizes: Sequence[tuple[int, str]]) -> list[Places]:
    total = sum(size for size, _ in sizes)
    plans = []
    for size, device in sorted((size, device) for device, size in unused.items()):
        if size >= total:
            parts = {volume: int(Fraction(each, total) * size) for each, volume in sizes}
            parts[sizes[0][1]] += size - sum(parts.values())
            plans.append({volume: (device, part) for volume, part in parts.items()})
    return plans


def volume_plans(
    capacity: Amounts,
    used: Amounts,
    normal: Amounts,
    monopoly: Amounts,
    unlimited: Sequence[str],
    max_deploy: int,
) -> list[Places]:
    """Volumes by name with their sizes, in the order in which they are asked for."""
    normals = sorted(((s, v) for v, s in normal.items()), key=lambda one: one[0])
    monopolies = sorted(((s, v) for v, s in monopoly.items()), key=lambda one: one[0])
    in_use = {d: size - used[d] for d, size in capacity.items() if used.get(d)}
    unused = {d: size for d, size in capacity.items() if not used.get(d)}
    while True:
        room = dict(in_use)
        empty: list[Places] = [{} for _ in range(max_deploy)]
        by_normal = normal_plans(room, normals) if normals else empty
        by_monopoly = monopoly_plans(unused, monopolies) if monopolies else empty
        large = sorted((size, d) for d, size in unused.items() if normals and size >= normals[0][0])
        if len(by_monopoly) <= len(by_normal) or not large:
            break
        in_use[large[0][1]] = unused.pop(large[0][1])
    room |= unused
    for plan in by_monopoly:
        room |= {device: 0 for device, _ in plan.values()}
    on = [(d, 0) for _, d in sorted((-max(0, free), d) for d, free in room.items())]
    if unlimited and not on:
        return []
    return [
        one | other | {volume: place for volume in unlimited for place in on[:1]}
        for one, other in zip(by_normal, by_monopoly, strict=False)
    ]


def normal_plans_with_quotas(
    room: dict[str, int],
    disk_of: Mapping[str, str],
    free: dict[str, list[int]],
    volumes: Sequence[tuple[int, str, Sequence[int]]],
    mounts: Sequence[tuple[str, Sequence[int]]],
) -> list[Places]:
    """The same where each volume also takes four quotas of the disk under its device."""
    plans: list[Places] = []
    while True:
        tried, left = dict(room), {disk: list(quota) for disk, quota in free.items()}
        plan = Places()

        def grants(
            disk: str | None, quota: Sequence[int], left: dict[str, list[int]] = left
        ) -> bool:
            if not any(quota):
                return True
            if disk is None or any(
                have < want for have, want in zip(left[disk], quota, strict=True) if want
            ):
                return False
            left[disk] = [have - want for have, want in zip(left[disk], quota, strict=True)]
            return True

        for size, volume, quota in volumes:
            for have, device in sorted((have, device) for device, have in tried.items()):
                if have >= size and grants(disk_of.get(device), quota):
                    plan[volume] = device, size
                    tried[device] -= size
                    break
            else:
                return plans
        if not all(grants(disk, quota) for disk, quota in mounts):
            return plans
        room.update(tried)
        free.update(left)
        plans.append(plan)
