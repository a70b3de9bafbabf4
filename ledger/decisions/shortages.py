"""Why instances found no place on the nodes of a cluster: what is short by how much, and who could not take them.

Each amount that an instance takes is looked at by itself, as if it were all that was wanted: if the
nodes that take new instances then have places for fewer than are wanted, what the missing ones would
take is short. So an amount is named by which even a fleet with enough of everything else could not
have served. Where each is enough by itself, and only no node has enough of all, none is named.

``cpu``      milli-cores; of those who are not bound, where no node has so many cores
``memory``, ``storage``  bytes; what volumes hold counts as storage too
``volumes``  bytes of devices, or devices for volumes without a size
``pods``     places for pods
``limit``    instances: AUTO may put no more on the nodes there are, however much room they have
``whole_pieces``  instances: what they want of cores is whole pieces on no node, however much cpu there
             is; then that is not named
``nodes``    FILL and EACH want so many on each of so many nodes: there are fewer than that. Of the
             others each amount is short by what is missing on those nodes that miss the least

Of the nodes themselves those that are passed over say why. Of those that were asked each is named that
could not take all that was wanted, by what it runs out of first: one of the amounts, of equals by their
names; ``at_limit``, where the limit comes before all of them; or ``not_whole_pieces``. Where so many
are wanted on each node, those that have room for them are not named: they are too few.

All are looked at, and counted: whoever asks here has asked the core about all of them before, and a
refusal is recorded once and not at each retry. Nodes that have the same free are measured once.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from ledger.core.capacity.amounts import INFINITE, instances_within
from ledger.core.placement.question import Strategy
from ledger.decisions import room
from ledger.decisions.nodes import Nodes
from ledger.decisions.room import MILLI, Wanted
from ledger.facts.reason import NO_LOSERS, Losers
from ledger.reducers.book import Offer, Shared, shared_of
from ledger.units import NodeName

Short = tuple[tuple[str, int], ...]
"""Amounts by name; none is zero."""

ON_EACH: Final = frozenset({"FILL", "EACH"})
"""The strategies by which so many are wanted on each of some nodes."""

AT_LIMIT: Final = "at_limit"
NOT_WHOLE: Final = "not_whole_pieces"
WHOLE: Final = "whole_pieces"

Free = TypeVar("Free", bound=Hashable)


class Sought(NamedTuple):
    """What was looked for in vain."""

    strategy: Strategy
    wanted: int
    """In all, or on each node where the strategy says so."""
    limit: int
    among: str


class Lacking(NamedTuple):
    """What there is too little of, and who could not take what was wanted."""

    short: Short = ()
    losers: Losers = NO_LOSERS


class _Fits(NamedTuple):
    """How many instances have a place on a node."""

    each: Mapping[str, int]
    """By every amount alone."""
    first: str
    """What it runs out of first."""
    least: int
    """After so many."""


class _Asked(NamedTuple):
    """The nodes that were asked, in the order of their names, and what each has room for."""

    names: Sequence[NodeName]
    fits: Sequence[_Fits]
    alike: Sequence[tuple[_Fits, int]]
    """How many of them are the same."""


def lacking(nodes: Nodes, counts: Counter[NodeName], sought: Sought, *, most: int) -> Lacking:
    """Why nodes that hold so many of them could not take what was sought; ``most`` losers are named."""
    one = nodes.one
    assert one is not None, "nobody looks for what means nothing"
    asked = _asked(nodes, sought.among, one)
    each = _each(one)
    if one.cpu_bind and all(fits.first == NOT_WHOLE for fits, _ in asked.alike):
        del each["cpu"]
        each[WHOLE] = 1
    if sought.strategy in ON_EACH:
        short, unable = _on_each(nodes, counts, sought, asked, each)
    else:
        short, unable = _in_all(counts, sought, asked, each)
    return Lacking(
        tuple((what, short[what]) for what in sorted(short) if short[what]),
        losers(nodes, sought.among, unable, most=most),
    )


def losers(
    nodes: Nodes, among: str, unable: Sequence[tuple[NodeName, str]] = (), *, most: int
) -> Losers:
    """Who is passed over before anybody of a pool is asked, and who of the others was ``unable``."""
    not_asked = nodes.not_asked(among)
    counts = Counter(why for _, why in not_asked)
    counts.update(why for _, why in unable)
    named = islice(merge(not_asked, unable), most)
    return Losers(tuple(sorted(counts.items())), tuple(named))


def _in_all(
    counts: Counter[NodeName], sought: Sought, asked: _Asked, each: Mapping[str, int]
) -> tuple[dict[str, int], list[tuple[NodeName, str]]]:
    wanted = sought.wanted
    limit = sought.limit if sought.strategy == "AUTO" else 0
    short = {
        what: max(0, wanted - sum(fits.each[what] * many for fits, many in asked.alike))
        * each[what]
        for what in each
    }
    if not limit:
        return short, [
            (name, fits.first) for name, fits in zip(asked.names, asked.fits, strict=True)
        ]
    within = [max(0, limit - counts.get(name, 0)) for name in asked.names]
    short["limit"] = max(0, wanted - sum(within))
    return short, [
        (name, AT_LIMIT if most < fits.least else fits.first)
        for name, fits, most in zip(asked.names, asked.fits, within, strict=True)
    ]


def _on_each(
    nodes: Nodes,
    counts: Counter[NodeName],
    sought: Sought,
    asked: _Asked,
    each: Mapping[str, int],
) -> tuple[dict[str, int], list[tuple[NodeName, str]]]:
    held = Counter[NodeName]()
    places = sought.limit or len(nodes.pool(sought.among))
    if sought.strategy == "FILL":
        held = counts
        # A node that takes nothing new may hold enough already.
        cordoned = nodes.pool_of(sought.among) - nodes.schedulable
        places -= sum(count >= sought.wanted for name, count in counts.items() if name in cordoned)
    lacks = [sought.wanted - held[name] for name in asked.names]
    short = {"nodes": max(0, places - len(asked.names))}
    for what in each:
        missed = sorted(
            max(0, more - fits.each[what]) for more, fits in zip(lacks, asked.fits, strict=True)
        )
        short[what] = sum(missed[: max(0, places)]) * each[what]
    return short, [
        (name, fits.first)
        for name, fits, more in zip(asked.names, asked.fits, lacks, strict=True)
        if nodes.capacity(name) < more
    ]


def _each(one: Wanted) -> dict[str, int]:
    """What an instance takes of every amount that may be short."""
    taken = {"cpu": one.cpu_milli, "memory": one.memory, "storage": one.storage, "pods": 1}
    if one.volumes:
        taken["volumes"] = max(1, room.bytes_on_devices(one.volumes))
    return taken


def _asked(nodes: Nodes, among: str, one: Wanted) -> _Asked:
    names = [name for name in nodes.pool(among) if name in nodes.schedulable]
    if one.bound:
        return _measured(names, [*map(nodes.offer, names)], lambda node: _by_offer(node, one))
    return _measured(names, [*map(nodes.shared, names)], lambda node: _by_shared(node, one))


def _measured(
    names: Sequence[NodeName], free: Sequence[Free], fits_by: Callable[[Free], dict[str, int]]
) -> _Asked:
    many = Counter(free)
    known = {node: _runs_out(fits_by(node)) for node in many}
    return _Asked(
        names, [known[node] for node in free], [(known[node], many[node]) for node in many]
    )


def _runs_out(each: Mapping[str, int]) -> _Fits:
    least, first = min(zip(each.values(), each, strict=True))
    # Where pieces are not whole, no room of any kind helps.
    return _Fits(each, first if each.get(WHOLE, INFINITE) else NOT_WHOLE, least)


def _by_shared(node: Shared, one: Wanted) -> dict[str, int]:
    """How many instances have a place on a node by every amount alone."""
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
        fits[WHOLE] = INFINITE if room.whole(node, one) else 0
    if one.volumes:
        fits["volumes"] = room.by_volumes(node, one)
    return fits
