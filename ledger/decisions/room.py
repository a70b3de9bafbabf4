"""How many more replicas of a workload a cluster could take.

That is what its nodes still hold together, each counted as ``ledger.core.capacity`` counts by what it
has free (``ledger.decisions.columns``); but no more than what they have of each resource still
allows once everything is taken off that was promised there and is on no node yet, to the workload
itself included. Such a replica is promised to a cluster, so claims are weighed against the sum.

Only nodes of a ready cluster count that are ready, schedulable, not about to be taken away and
that the workload's node selector matches. A cluster without such a node has no room. Cpu is only
claimed by those that want cores of their own; everybody else shares. What pods of the workload itself
hold beyond its instances is free to it.

Which clusters are candidates, and what becomes of the answer, is told elsewhere.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final

from ledger.core.capacity.amounts import INFINITE, Core, Device, NumaGroup, instances_within
from ledger.core.capacity.cpu import NO_MAX_SHARE, CpuNode, CpuRequest, cpu_capacity
from ledger.core.capacity.memory import memory_capacity, storage_capacity
from ledger.core.capacity.request import InstanceRequest, Volumes, normalized
from ledger.core.capacity.volume_requests import VolumeRequest, volume_requests
from ledger.core.capacity.volumes import VolumeNode, volume_capacity
from ledger.decisions.columns import Columns, Counted, Left, Takes, columns
from ledger.errors import InvalidRequest
from ledger.facts.cluster import Labels
from ledger.facts.workload import Request, WorkloadUpserted
from ledger.reducers.book import (
    MOST_CORES,
    NOTHING_HELD,
    Amounts,
    Holding,
    Offer,
    Shared,
    added,
    free,
    shared_of,
)
from ledger.reducers.pods import beyond
from ledger.reducers.world import Claim, World
from ledger.units import Bytes, ClusterName, NodeName, Replicas, Subject

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
    node_selector: Labels

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
    deploy = workload.deploy
    return _wanted(
        workload.request,
        NO_MAX_SHARE if deploy is None else deploy.max_share,
        world.policy.placement.max_deploy,
        () if deploy is None else deploy.node_selector,
    )


# The same few requests come again and again in a fleet.
@lru_cache(maxsize=1024)
def _wanted(request: Request, max_share: int, max_deploy: int, node_selector: Labels) -> Wanted:
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
        max_share=max_share,
        max_deploy=max_deploy,
        node_selector=node_selector,
    )


@lru_cache(maxsize=1024)
def _in_cores(cpu_milli: int) -> Fraction:
    return Fraction(cpu_milli, MILLI)


def available(
    world: World, clusters: Iterable[ClusterName], workload: WorkloadUpserted, one: Wanted
) -> dict[ClusterName, Replicas]:
    """How many more of a workload fit on each of these clusters as things are."""
    own: dict[ClusterName, list[tuple[Subject, Holding]]] = {}
    for crew, more in beyond(world, Subject(f"{workload.namespace}/{workload.name}")):
        own.setdefault(crew.cluster, []).append((crew.node, more))
    return {cluster: _available(world, cluster, one, own.get(cluster, ())) for cluster in clusters}


def _available(
    world: World, cluster: ClusterName, one: Wanted, own: Iterable[tuple[Subject, Holding]]
) -> Replicas:
    known = world.clusters.get(cluster)
    if known is None or not known.ready:
        return Replicas(0)
    nodes = columns(world, cluster, one.node_selector)
    # Who takes no new instances has nothing in the columns: where that is everybody, there is no room.
    left, together = nodes.left, counted(nodes, one).together
    for subject, more in own:
        name = NodeName(subject.partition("/")[2])
        if name in nodes.pools.open:
            held = world.book.get(subject, NOTHING_HELD)
            was = free(nodes.facts[name], held)
            is_ = free(nodes.facts[name], added(held, more, -1))
            left = _with(left, was, is_)
            together += capacity(is_, one) - capacity(was, one)
    most = min(_left(left, world.rooms.of(cluster).claim, one))
    return Replicas(min(together, most, INFINITE))


def counted(nodes: Columns, one: Wanted) -> Counted:
    """How many fit on each node that takes new instances."""
    if one.volumes:
        return nodes.bound(one, partial(capacity, one=one))
    takes = Takes(one.cpu_milli, one.memory, one.storage)
    if not one.cpu_bind:
        return nodes.unbound(takes)
    return nodes.on_cores(
        one, takes, ample=partial(_ample, one=one), capacity=partial(capacity, one=one)
    )


def capacity(node: Offer, one: Wanted) -> int:
    """How many fit on a node that has this free; less than nothing is nothing."""
    most = shared_capacity(shared_of(node), one)
    if one.cpu_bind:
        most = min(most, _bound(node, one), instances_within(max(0, node.cpu), one.cpu_milli))
    return min(most, by_volumes(node, one)) if one.volumes else most


def by_cpu(node: Offer, one: Wanted) -> int:
    """How many find cores of their own, whatever memory there is."""
    if not whole(node, one):
        return 0
    cores = (node.cores, node.whole, node.share_base, node.numa, node.numa_memory)
    most = _by_cores(*cores, INFINITE, one.cpu_milli, one.memory, one.max_share)
    return min(most, instances_within(max(0, node.cpu), one.cpu_milli))


def by_volumes(node: Offer, one: Wanted) -> int:
    """How many find devices for their volumes."""
    return volume_capacity(devices(node), one.volumes, max_deploy=one.max_deploy).capacity


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


def _with(left: Left, was: Offer, is_: Offer) -> Left:
    """What is left together if one node has something else free."""
    pods = left.pods
    if pods is not None:
        pods += max(0, is_.pods or 0) - max(0, was.pods or 0)
    devices = sum(max(0, size) for _, size in is_.volumes)
    return Left(
        cpu=left.cpu + max(0, is_.cpu) - max(0, was.cpu),
        memory=left.memory + max(0, is_.memory) - max(0, was.memory),
        storage=left.storage + max(0, is_.storage) - max(0, was.storage),
        devices=left.devices + devices - sum(max(0, size) for _, size in was.volumes),
        pods=pods,
    )


def _left(left: Left, claim: Claim, one: Wanted) -> Iterator[int]:
    """For each resource how many more the nodes together allow."""
    if one.cpu_bind:
        yield instances_within(left.cpu - claim.cpu, one.cpu_milli)
    yield instances_within(left.memory - claim.memory, one.memory)
    on_devices, in_storage = _volumes_claimed(claim)
    yield instances_within(left.storage - claim.storage - in_storage, one.storage)
    yield instances_within(left.devices - on_devices, bytes_on_devices(one.volumes))
    if left.pods is not None:
        yield max(0, left.pods - claim.pods)


def _bound(node: Offer, one: Wanted) -> int:
    """How many find cores of their own."""
    most = _ample(node, one)
    if most == 0 or most * one.memory <= node.memory:
        # With so much memory none of them is short of it, whichever group it is in.
        return most
    return _by_cores(*_cores_of(node), node.memory, one.cpu_milli, one.memory, one.max_share)


def _ample(node: Offer, one: Wanted) -> int:
    """The same where there is any amount of memory beside that of the groups."""
    if not whole(node, one):
        return 0
    return _by_cores(*_cores_of(node), INFINITE, one.cpu_milli, one.memory, one.max_share)


def _cores_of(
    node: Offer,
) -> tuple[Amounts, int, int, tuple[tuple[str, str], ...], tuple[tuple[str, Bytes], ...]]:
    return node.cores, node.whole, node.share_base, node.numa, node.numa_memory


# Most nodes have the same cores free as when the last workload that wants as much was asked about.
@lru_cache(maxsize=1 << 14)
def _by_cores(
    cores: Amounts,
    whole_cores: int,
    share_base: int,
    numa: tuple[tuple[str, str], ...],
    numa_memory: tuple[tuple[str, Bytes], ...],
    memory: int,
    cpu_milli: int,
    each: int,
    max_share: int,
) -> int:
    request = CpuRequest(
        cpu=_in_cores(cpu_milli), memory=each, share_base=share_base, max_share=max_share
    )
    node = CpuNode(
        cores=_cores(cores, whole_cores, share_base),
        memory=memory,
        numa={Core(core): NumaGroup(group) for core, group in numa},
        numa_memory={NumaGroup(group): size for group, size in numa_memory},
    )
    return cpu_capacity(node, request).capacity


def whole(node: Offer, one: Wanted) -> bool:
    """Whether what a bound instance wants is whole pieces on such a node, and any at all."""
    pieces, left = divmod(one.cpu_milli * node.share_base, MILLI)
    return left == 0 and pieces >= 1


def bound(node: Offer, one: Wanted) -> CpuRequest:
    """What a bound instance asks of the cores of such a node."""
    return CpuRequest(
        cpu=one.cpu, memory=one.memory, share_base=node.share_base, max_share=one.max_share
    )


def cpu_node(node: Offer) -> CpuNode:
    """What is free, signed; where only the cpu is told, as many whole cores as it makes."""
    return CpuNode(
        cores=_cores(node.cores, node.whole, node.share_base),
        memory=node.memory,
        numa={Core(core): NumaGroup(group) for core, group in node.numa},
        numa_memory={NumaGroup(group): size for group, size in node.numa_memory},
    )


def _cores(cores: Amounts, whole_cores: int, share_base: int) -> dict[Core, int]:
    if cores:
        return {Core(core): pieces for core, pieces in cores}
    return {Core(str(core)): share_base for core in range(min(whole_cores, MOST_CORES))}


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
        on_devices += replicas * bytes_on_devices(volumes)
        in_storage += replicas * sum(volume.size for volume in volumes)
    return on_devices, in_storage


def bytes_on_devices(volumes: tuple[VolumeRequest, ...]) -> int:
    """The bytes that are placed on devices: a mount brings its own."""
    return sum(volume.size for volume in volumes if volume.kind != "mount")
