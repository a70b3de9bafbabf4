"""What is held on a node, and what it therefore has free.

The book is the ledger's own: what decisions in force placed on a node and have not released, and
what pods hold there beyond that. What a node reports of its use changes nothing in it. A holding is
taken under the request that was recorded with it, and given back as it was taken, so the book adds
up whatever is edited meanwhile.

Free is what a node declares less what is held, amount by amount, and may be below zero: a node that
declares less than it holds is over-committed. Whoever asks what fits takes such an amount for
nothing. Cpu is counted in milli, whichever way a node declares it; a core's pieces are counted
beside that, for those who are bound to cores. What was taken from a core or a device that the node
does not declare any more is held nowhere until it is declared again.

Which holdings there are is told by the modules that know them: deployments, jobs, pods.
"""

from collections.abc import Iterable
from functools import lru_cache
from operator import itemgetter
from typing import Final, NamedTuple, TypeVar, cast

from immutables import Map

from ledger.facts.cluster import NodeUpserted
from ledger.units import Bytes, CpuMilli, Subject

MILLI: Final = 1000

MOST_CORES: Final = 10_000
"""As many cores as a node can name one by one; where only its cpu is told, no more are made of it."""

Amount = TypeVar("Amount", bound=int)
_AMOUNT: Final = itemgetter(1)

Amounts = tuple[tuple[str, int], ...]
"""By name, sorted; none is zero."""


class Holding(NamedTuple):
    """What one instance, task or pod takes of the node it is on."""

    cpu: int
    """Milli-cores in the book: what is bound to cores, and tasks."""
    memory: int
    storage: int
    pods: int
    pieces: Amounts
    """Of each core."""
    numa: Amounts
    """Bytes of each memory group."""
    volumes: Amounts
    """Bytes of each device."""


class Held(NamedTuple):
    """All holdings on a node, added up."""

    cpu: int
    memory: int
    storage: int
    pods: int
    pieces: Map[str, int]
    numa: Map[str, int]
    volumes: Map[str, int]


NO_HOLDING: Final = Holding(0, 0, 0, 0, (), (), ())
NOTHING_HELD: Final = Held(0, 0, 0, 0, Map(), Map(), Map())

Book = Map[Subject, Held]
"""By cluster/node; a node on which nothing is held is not listed."""


class Offer(NamedTuple):
    """What a node has free. Signed."""

    cores: Amounts
    """Pieces of each core, zero and less included; empty where no core is told and none was
    given away, then ``whole`` says how many there are."""
    whole: int
    cpu: CpuMilli
    share_base: int
    memory: Bytes
    numa: tuple[tuple[str, str], ...]
    numa_memory: tuple[tuple[str, Bytes], ...]
    volumes: tuple[tuple[str, Bytes], ...]
    storage: Bytes
    pods: int | None
    in_use: tuple[tuple[str, Bytes], ...]
    """What of each device is taken; those of which nothing is are not named."""


class Shared(NamedTuple):
    """What a node has free of what its instances share: nobody is bound to a part of it. Signed."""

    cores: int
    """How many there are; nobody takes any."""
    memory: Bytes
    storage: Bytes
    pods: int | None


class Loose(NamedTuple):
    """What a node has free for tasks: no core, group or device of it is told. Signed."""

    cpu: CpuMilli
    memory: Bytes
    storage: Bytes
    pods: int | None


class Change(NamedTuple):
    """One holding that comes to a node or leaves it."""

    node: Subject
    holding: Holding
    times: int
    """1 takes, -1 gives back."""


def changed(book: Book, changes: Iterable[Change]) -> Book:
    """The book with these changes made to it."""
    for node, holding, times in changes:
        held = added(book.get(node, NOTHING_HELD), holding, times)
        if held == NOTHING_HELD:
            book = book.delete(node) if node in book else book
        else:
            book = book.set(node, held)
    return book


def free(node: NodeUpserted, held: Held) -> Offer:
    """What a node has left."""
    return Offer(
        cores=_less(_cores(node, held), held.pieces),
        whole=0 if node.cpu is None else node.cpu // MILLI,
        cpu=CpuMilli(cpu_milli(node) - held.cpu),
        share_base=node.share_base,
        memory=Bytes(node.memory - held.memory),
        numa=node.numa,
        numa_memory=_less(node.numa_memory, held.numa),
        volumes=_less(node.volumes, held.volumes),
        storage=Bytes(node.storage - held.storage),
        pods=None if node.pods is None else node.pods - held.pods,
        in_use=tuple(
            (name, Bytes(held.volumes[name])) for name, _ in node.volumes if name in held.volumes
        ),
    )


def shared(node: NodeUpserted, held: Held) -> Shared:
    """What a node has left for those who are bound to nothing: the same as ``free`` says."""
    return Shared(
        cores=len(node.cores) if node.cpu is None else node.cpu // MILLI,
        memory=Bytes(node.memory - held.memory),
        storage=Bytes(node.storage - held.storage),
        pods=None if node.pods is None else node.pods - held.pods,
    )


def loose(node: NodeUpserted, held: Held) -> Loose:
    """What a node has left for tasks: the same as ``free`` says."""
    return Loose(
        cpu=CpuMilli(cpu_milli(node) - held.cpu),
        memory=Bytes(node.memory - held.memory),
        storage=Bytes(node.storage - held.storage),
        pods=None if node.pods is None else node.pods - held.pods,
    )


def shared_of(offer: Offer) -> Shared:
    """The part of an offer that is shared."""
    return Shared(offer.whole or len(offer.cores), offer.memory, offer.storage, offer.pods)


def cpu_milli(node: NodeUpserted) -> CpuMilli:
    """What a node has in the one book of cpu, whichever way it declares it."""
    if node.cpu is not None:
        return node.cpu
    return CpuMilli(MILLI * sum(map(_AMOUNT, node.cores)) // node.share_base)


def short(node: NodeUpserted, held: Held) -> Amounts:
    """Of what a node declares less than is held there, and by how much; what it does not name is 0."""
    if (
        (held.cpu <= 0 or held.cpu <= cpu_milli(node))
        and held.memory <= node.memory
        and held.storage <= node.storage
        and (node.pods is None or held.pods <= node.pods)
        and _are_within(_cores(node, held), held.pieces)
        and _are_within(node.numa_memory, held.numa)
        and _are_within(node.volumes, held.volumes)
    ):
        return ()
    offer = free(node, held)
    left: dict[str, int] = {"cpu": offer.cpu, "memory": offer.memory, "storage": offer.storage}
    if offer.pods is not None:
        left["pods"] = offer.pods
    for told, taken, name in (
        (offer.cores, held.pieces, "core"),
        (offer.volumes, held.volumes, "device"),
        (offer.numa_memory, held.numa, "group"),
    ):
        left |= {f"{name} {one}": -amount for one, amount in taken.items()}
        left |= {f"{name} {one}": amount for one, amount in told}
    return tuple(sorted((name, -amount) for name, amount in left.items() if amount < 0))


def grew(before: Offer | None, after: Offer | None) -> bool:
    """Whether any amount is above what it was; a node that takes no new work offers nothing."""
    if after is None:
        return False
    if before is None:
        return True
    if after is before or after == before:
        return False
    return (
        after.cpu > before.cpu
        or after.memory > before.memory
        or after.storage > before.storage
        or _more(before.pods, after.pods)
        or _more_pieces(before, after)
        or _any_more(before.volumes, after.volumes)
        or _any_more(before.numa_memory, after.numa_memory)
    )


def added(held: Held, holding: Holding, times: int) -> Held:
    """What is held with so many holdings more, or fewer."""
    return Held(
        cpu=held.cpu + times * holding.cpu,
        memory=held.memory + times * holding.memory,
        storage=held.storage + times * holding.storage,
        pods=held.pods + times * holding.pods,
        pieces=_counted(held.pieces, holding.pieces, times),
        numa=_counted(held.numa, holding.numa, times),
        volumes=_counted(held.volumes, holding.volumes, times),
    )


def _cores(node: NodeUpserted, held: Held) -> Amounts:
    """The cores that are named: where only the cpu is told, once somebody has pieces of some."""
    if node.cpu is None or not held.pieces:
        return node.cores
    return _whole_cores(min(node.cpu // MILLI, MOST_CORES), node.share_base)


def _are_within(declared: tuple[tuple[str, int], ...], held: Map[str, int]) -> bool:
    if not held:
        return True
    told = dict(declared)
    return all(amount <= told.get(name, 0) for name, amount in held.items())


def _counted(amounts: Map[str, int], more: Amounts, times: int) -> Map[str, int]:
    for name, amount in more:
        left = amounts.get(name, 0) + times * amount
        if left:
            amounts = amounts.set(name, left)
        elif name in amounts:
            amounts = amounts.delete(name)
    return amounts


def _less(
    declared: tuple[tuple[str, Amount], ...], held: Map[str, int]
) -> tuple[tuple[str, Amount], ...]:
    if not held:
        return declared
    left: dict[str, int] = dict(declared)
    # In no order, into a map that keeps the order it was declared in.
    for name, amount in held.items():
        if name in left:
            left[name] -= amount
    return cast("tuple[tuple[str, Amount], ...]", tuple(left.items()))


# A fleet has a handful of kinds of nodes.
@lru_cache(maxsize=1024)
def _whole_cores(whole: int, share_base: int) -> Amounts:
    """As many cores as a node has that tells only its cpu, by name."""
    return tuple(sorted((str(core), share_base) for core in range(whole)))


def _more_pieces(before: Offer, after: Offer) -> bool:
    was = (before.cores, before.whole, before.share_base)
    if was == (after.cores, after.whole, after.share_base):
        return False
    return _any_more(_pieces(before), _pieces(after))


def _pieces(offer: Offer) -> Amounts:
    """Of each core that counts; where none is told, of as many whole ones."""
    if offer.cores:
        return offer.cores
    return tuple((str(core), offer.share_base) for core in range(min(offer.whole, MOST_CORES)))


def _more(before: int | None, after: int | None) -> bool:
    """None is no limit."""
    return before is not None and (after is None or after > before)


def _any_more(before: tuple[tuple[str, int], ...], after: tuple[tuple[str, int], ...]) -> bool:
    if before == after:
        return False
    was = dict(before)
    return any(amount > was.get(name, 0) for name, amount in after)
