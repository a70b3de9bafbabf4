"""What is short, and by how much, where instances found no place on the nodes of a cluster.

Each amount that an instance takes is looked at by itself, as if it were all that was wanted: if the
nodes that take new instances then have places for fewer than are wanted, what the missing ones would
take is short. So an amount is named by which even a fleet with enough of everything else could not
have served. Where each is enough by itself, and only no node has enough of all, none is named.

``cpu``      milli-cores; of those who are not bound, where no node has so many cores
``memory``, ``storage``  bytes; what volumes hold counts as storage too
``volumes``  bytes of devices, or devices for volumes without a size
``pods``     places for pods
``nodes``    FILL and EACH want so many on each of so many nodes: there are fewer than that. Of the
             others each amount is short by what is missing on those nodes that miss the least
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from ledger.core.capacity.amounts import INFINITE, instances_within
from ledger.core.placement.question import Strategy
from ledger.decisions import room
from ledger.decisions.nodes import Nodes
from ledger.decisions.room import MILLI, Wanted
from ledger.reducers.book import Offer, Shared, shared_of
from ledger.units import NodeName

Short = tuple[tuple[str, int], ...]
"""Amounts by name; none is zero."""

_NOTHING: Final[Short] = ()


class Sought(NamedTuple):
    """What was looked for in vain."""

    strategy: Strategy
    wanted: int
    """In all, or on each node where the strategy says so."""
    limit: int
    among: str


def short(nodes: Nodes, counts: Counter[NodeName], sought: Sought) -> Short:
    """By how much of each amount the nodes are short."""
    one = nodes.one
    if one is None:
        return _NOTHING
    names = [name for name in nodes.pool(sought.among) if name in nodes.schedulable]
    each = _each(one)
    if sought.strategy not in {"FILL", "EACH"}:
        fits = _fits(nodes, names, one)
        missing = {
            what: sought.wanted - min(sought.wanted, sum(there[what] for there in fits))
            for what in each
        }
        return _told({what: missing[what] * each[what] for what in each})
    places = sought.limit or len(nodes.pool(sought.among))
    lacking: dict[str, int] = {"nodes": max(0, places - len(names))}
    fits = _fits(nodes, names, one)
    for what in each:
        missed = sorted(
            max(0, sought.wanted - (counts[name] if sought.strategy == "FILL" else 0) - there[what])
            for name, there in zip(names, fits, strict=True)
        )
        lacking[what] = sum(missed[:places]) * each[what]
    return _told(lacking)


def _told(amounts: Mapping[str, int]) -> Short:
    return tuple((what, amounts[what]) for what in sorted(amounts) if amounts[what])


def _each(one: Wanted) -> dict[str, int]:
    """What an instance takes of every amount that may be short."""
    taken = {"cpu": one.cpu_milli, "memory": one.memory, "storage": one.storage, "pods": 1}
    if one.volumes:
        taken["volumes"] = max(1, room.bytes_on_devices(one.volumes))
    return taken


def _fits(nodes: Nodes, names: list[NodeName], one: Wanted) -> list[dict[str, int]]:
    """How many instances have a place on each node by every amount alone."""
    if one.bound:
        offers = [nodes.offer(name) for name in names]
        by_offer = {offer: _by_offer(offer, one) for offer in dict.fromkeys(offers)}
        return [by_offer[offer] for offer in offers]
    shared = [nodes.shared(name) for name in names]
    by_shared = {offer: _by_shared(offer, one) for offer in dict.fromkeys(shared)}
    return [by_shared[offer] for offer in shared]


def _by_shared(node: Shared, one: Wanted) -> dict[str, int]:
    return {
        "cpu": INFINITE if one.cpu_bind or one.cpu_milli <= MILLI * node.cores else 0,
        "memory": instances_within(node.memory, one.memory),
        "storage": instances_within(node.storage, one.storage),
        "pods": INFINITE if node.pods is None else max(0, node.pods),
    }


def _by_offer(node: Offer, one: Wanted) -> dict[str, int]:
    fits = _by_shared(shared_of(node), one)
    if one.cpu_bind:
        fits["cpu"] = room.by_cpu(node, one)
    if one.volumes:
        fits["volumes"] = room.by_volumes(node, one)
    return fits
