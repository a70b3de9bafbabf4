"""How many more replicas of a workload a cluster could take.

That is what its nodes still hold together, each counted by ``ledger.core.capacity`` by what it has
free and those that have the same only once; but no more than what they have of each resource still
allows once everything is taken off that was promised there and is on no node yet, to the workload
itself included. Such a replica is promised to a cluster, so claims are weighed against the sum.

Only nodes of a ready cluster count that are ready, schedulable, not about to be taken away and
that the workload's node selector matches. A cluster without such a node has no room. Cpu is only
claimed by those that want cores of their own; everybody else shares. What pods of the workload itself
hold beyond its instances is free to it.

Which clusters are candidates, and what becomes of the answer, is told elsewhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

from ledger.core.capacity.amounts import INFINITE, Core, Device, NumaGroup, instances_within
from ledger.core.capacity.cpu import NO_MAX_SHARE, CpuNode, CpuRequest, cpu_capacity
from ledger.core.capacity.memory import memory_capacity, storage_capacity
from ledger.core.capacity.request import InstanceRequest, Volumes, normalized
from ledger.core.capacity.volume_requests import VolumeRequest, volume_requests
from ledger.core.capacity.volumes import VolumeNode, volume_capacity
from ledger.errors import InvalidRequest
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers.book import MOST_CORES, NOTHING_HELD, Offer, Shared, added, free, shared_of
from ledger.reducers.pods import beyond
from ledger.reducers.rooms import node_in_use
from ledger.reducers.world import Claim, World
from ledger.units import Bytes, ClusterName, Replicas, Subject

MILLI: Final = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one replica takes, read once for all clusters."""

    cpu_milli: int
    cpu_bind: bool
    memory: int
    storage: int
    """With the sizes of its volumes."""
    volumes: tuple[VolumeRequest, ...]
    max_share: int
    max_deploy: int
    node_selector: tuple[tuple[str, str], ...]

    @property
    def cpu(self) -> Fraction:
        """In cores."""
        return _in_cores(self.cpu_milli)

    @property
    def bound(self) -> bool:
        """Whether it is bound to a part of a node: cores or devices of its own."""
        return self.cpu_bind or bool(self.volumes)


def wanted(world: World, workload: WorkloadUpserted) -> Wanted:
    """Read a workload's request; ``InvalidRequest`` where it means nothing."""
    request, deploy = workload.request, workload.deploy
    settled = normalized(
        InstanceRequest(
            cpu_request=Fraction(request.cpu, MILLI),
            cpu_bind=request.cpu_bind,
            memory_request=request.memory,
            storage_request=request.storage,
        ),
        Volumes(request=request.volumes),
    )
    return Wanted(
        cpu_milli=request.cpu,
        cpu_bind=request.cpu_bind,
        memory=settled.memory_request,
        storage=settled.storage_request,
        volumes=volume_requests(request.volumes),
        max_share=NO_MAX_SHARE if deploy is None else deploy.max_share,
        max_deploy=world.policy.placement.max_deploy,
        node_selector=() if deploy is None else deploy.node_selector,
    )


# The same few requests come again and again in a fleet.
@lru_cache(maxsize=1024)
def _in_cores(cpu_milli: int) -> Fraction:
    return Fraction(cpu_milli, MILLI)


def available(
    world: World, cluster: ClusterName, workload: WorkloadUpserted, one: Wanted
) -> Replicas:
    """How many more of a workload fit on a cluster as things are."""
    known = world.clusters.get(cluster)
    if known is None or not known.ready:
        return Replicas(0)
    offers = _offers(world, cluster, workload, one)
    if not offers:
        return Replicas(0)
    most = min(_left(offers, world.rooms.of(cluster).claim, one))
    if most == 0:
        return Replicas(0)
    together = sum(times * capacity(each, one) for each, times in offers.items())
    return Replicas(min(together, most, INFINITE))


def capacity(node: Offer, one: Wanted) -> int:
    """How many fit on a node that has this free; less than nothing is nothing."""
    most = shared_capacity(shared_of(node), one)
    if one.cpu_bind:
        most = min(most, _bound(node, one), instances_within(max(0, node.cpu), one.cpu_milli))
    if one.volumes:
        held = volume_capacity(devices(node), one.volumes, max_deploy=one.max_deploy)
        most = min(most, held.capacity)
    return most


def shared_capacity(node: Shared, one: Wanted) -> int:
    """How many fit by what is shared: all there is to it for those who are bound to nothing."""
    most = storage_capacity(
        free=Bytes(max(0, node.storage)), request=Bytes(one.storage), volumes=Bytes(0)
    )
    if node.pods is not None:
        most = min(most, max(0, node.pods))
    if one.cpu_bind:
        return most
    memory = Bytes(max(0, node.memory))
    return min(
        most,
        memory_capacity(cores=node.cores, cpu=one.cpu, free=memory, request=Bytes(one.memory)),
    )


def _offers(
    world: World, cluster: ClusterName, workload: WorkloadUpserted, one: Wanted
) -> Mapping[Offer, int]:
    """What the nodes that may be used offer it; in no order, for sums and minima only."""
    own = dict(beyond(world, Subject(f"{workload.namespace}/{workload.name}"), cluster))
    if not (own or one.node_selector):
        return world.rooms.of(cluster).offers
    selected: dict[Offer, int] = {}
    for subject in world.objects.inside("node", cluster):
        node = node_in_use(world.objects, world.rooms.reclaiming, subject)
        if node is not None and all(label in node.labels for label in one.node_selector):
            held = world.book.get(subject, NOTHING_HELD)
            each = free(node, added(held, own[subject], -1) if subject in own else held)
            selected[each] = selected.get(each, 0) + 1
    return selected


def _left(offers: Mapping[Offer, int], claim: Claim, one: Wanted) -> Iterator[int]:
    """For each resource how many more the nodes together allow."""
    if one.cpu_bind:
        free = sum(times * max(0, node.cpu) for node, times in offers.items())
        yield instances_within(free - claim.cpu, one.cpu_milli)
    free = sum(times * max(0, node.memory) for node, times in offers.items())
    yield instances_within(free - claim.memory, one.memory)
    on_devices, in_storage = _volumes_claimed(claim)
    free = sum(times * max(0, node.storage) for node, times in offers.items())
    yield instances_within(free - claim.storage - in_storage, one.storage)
    sizes = [times * max(0, size) for node, times in offers.items() for _, size in node.volumes]
    yield instances_within(sum(sizes) - on_devices, _on_devices(one.volumes))
    pods = [(times, node.pods) for node, times in offers.items()]
    if all(most is not None for _, most in pods):
        yield max(0, sum(times * max(0, most or 0) for times, most in pods) - claim.pods)


# Most nodes have the same free as when the last workload that wants as much was asked about.
@lru_cache(maxsize=1 << 14)
def _bound(node: Offer, one: Wanted) -> int:
    return cpu_capacity(cpu_node(node), bound(node, one)).capacity if whole(node, one) else 0


def whole(node: Offer, one: Wanted) -> bool:
    """Whether what a bound instance wants is whole pieces on such a node, and any at all."""
    pieces = one.cpu * node.share_base
    return pieces.denominator == 1 and pieces >= 1


def bound(node: Offer, one: Wanted) -> CpuRequest:
    """What a bound instance asks of the cores of such a node."""
    return CpuRequest(
        cpu=one.cpu, memory=one.memory, share_base=node.share_base, max_share=one.max_share
    )


def cpu_node(node: Offer) -> CpuNode:
    """What is free, signed; where only the cpu is told, as many whole cores as it makes."""
    if node.cores:
        cores = {Core(core): pieces for core, pieces in node.cores}
    else:
        cores = {Core(str(core)): node.share_base for core in range(min(node.whole, MOST_CORES))}
    return CpuNode(
        cores=cores,
        memory=node.memory,
        numa={Core(core): NumaGroup(group) for core, group in node.numa},
        numa_memory={NumaGroup(group): size for group, size in node.numa_memory},
    )


def devices(node: Offer) -> VolumeNode:
    """The devices, how large they are, and what of them is taken."""
    taken = dict(node.in_use)
    return VolumeNode(
        {Device(name): free + taken.get(name, 0) for name, free in node.volumes},
        {Device(name): size for name, size in taken.items()},
    )


def _volumes_claimed(claim: Claim) -> tuple[int, int]:
    """How many bytes the volumes of all that was promised take of devices, and of storage."""
    on_devices = in_storage = 0
    for texts, replicas in claim.volumes.items():
        try:
            volumes = volume_requests(texts)
        except InvalidRequest:
            # Whoever divides without a look at room may carry volumes that mean nothing.
            continue
        on_devices += replicas * _on_devices(volumes)
        in_storage += replicas * sum(volume.size for volume in volumes)
    return on_devices, in_storage


def _on_devices(volumes: tuple[VolumeRequest, ...]) -> int:
    """The bytes that are placed on devices: a mount brings its own."""
    return sum(volume.size for volume in volumes if volume.kind != "mount")
