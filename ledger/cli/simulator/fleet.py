"""Who is in an invented fleet in the beginning: drawn from a seed, in the sizes that were asked for.

Sizes follow what one meets: a handful of instance types and a few machines of one's own, most
nodes on demand and some spot, a few large workloads and many small ones, most of them spread over
a few clusters. Together they want half of the memory there is, so that the busiest hour of the day
just fits, unless the number of replicas is told.
"""

from dataclasses import dataclass
from random import Random
from typing import Final

from ledger.cli.simulator.batch import Job, Queue, Quota
from ledger.cli.simulator.luck import Choice, happens, some, template_hash, uid
from ledger.cli.simulator.members import OWNED, REGION_LABEL, RENTED, Cluster, Node
from ledger.cli.simulator.scaling import available, deploy, request
from ledger.cli.simulator.sizes import Shares, Sizes
from ledger.cli.simulator.storage import GIBIBYTE, SMALLEST_VOLUME, Disk, Volume
from ledger.cli.simulator.workloads import Wanted, Wish, Workload
from ledger.events.quantities import base_units

_REGIONS: Final = (
    ("eu-west", "abc"),
    ("us-east", "abcd"),
    ("ap-south", "ab"),
    ("eu-north", "ab"),
    ("us-west", "abc"),
    ("sa-east", "a"),
)
_NAMESPACES: Final = ("shop", "search", "billing", "media", "identity", "mail", "maps", "ads")
_APPLICATIONS: Final = (
    *("cart", "checkout", "catalog", "frontend", "gateway", "index", "intake", "login", "notices"),
    *("orders", "payments", "pricing", "profile", "ranking", "render", "sessions", "stock"),
    "video",
)
_JOBS: Final = ("training", "report", "backfill", "embedding")
_QUEUES: Final = ("interactive", "batch", "research", "nightly", "urgent", "spare")
_MOST_WEIGHED: Final = 6
"""Clusters that a person gives weights to; more are chosen by label."""
_LARGEST: Final = 400
_STRATEGIES: Final = Choice(
    (60, "static"), (12, "webster"), (14, "dynamic"), (10, "aggregated"), (4, "duplicated")
)
_TASKS: Final = (
    Wanted("500m", "1Gi"),
    Wanted("1", "2Gi"),
    Wanted("2", "4Gi"),
    Wanted("4", "16Gi"),
)
"""What a task of a job takes."""
_USED: Final = 50
"""Percent of the fleet's memory that its workloads take at an ordinary hour."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Everything there is. The lists keep their length; what is in them changes."""

    clusters: list[Cluster]
    workloads: list[Workload]
    jobs: list[Job]
    queues: list[Queue]
    quotas: list[Quota]
    volumes: list[Volume]
    shares: Shares
    disks: int
    """In each node."""

    def another_node(self, chance: Random, cluster: Cluster) -> Node:
        """A node that was not there yet, with disks of its own; it has not told anybody yet."""
        number = cluster.named
        cluster.named += 1
        shape = some(chance, OWNED if happens(chance, self.shares.pieces) else RENTED)
        name = f"node-{number:04d}"
        return Node(
            cluster,
            name,
            shape,
            capacity="spot" if happens(chance, self.shares.spot) else "on-demand",
            disks=[_disk(chance, cluster, name, disk) for disk in range(self.disks)],
        )


def raised(chance: Random, sizes: Sizes, shares: Shares) -> Fleet:
    """A fleet of these sizes, made of that."""
    clusters = [_cluster(number) for number in range(sizes.clusters)]
    jobs = min(sizes.workloads * shares.batch // 100, sizes.workloads - 1)
    fleet = Fleet(
        clusters=clusters, workloads=[], jobs=[], queues=[], quotas=[], volumes=[],
        shares=shares, disks=sizes.disks,
    )  # fmt: skip
    for cluster in clusters:
        for _ in range(sizes.nodes):
            cluster.nodes.append(fleet.another_node(chance, cluster))
    namespaces = [_numbered(_NAMESPACES, number) for number in range(sizes.namespaces)]
    queues = [_numbered(_QUEUES, number) for number in range(sizes.queues)]
    fleet.workloads.extend(
        _workload(chance, number, namespaces, clusters, shares)
        for number in range(sizes.workloads - jobs)
    )
    fleet.jobs.extend(_job(chance, number, namespaces, queues, clusters) for number in range(jobs))
    _settle(fleet, sizes.replicas)
    for job in fleet.jobs:
        job.begin(chance, tasks=None if sizes.replicas is None else job.usual)
    cpu = sum(node.shape.cpu for cluster in clusters for node in cluster.nodes)
    fleet.queues.extend(_queue(chance, name, cpu, len(queues)) for name in queues)
    fleet.quotas.extend(
        Quota(name, cpu=chance.choice((200, 400, 800)), weight=chance.randint(1, 5))
        for name in namespaces
    )
    fleet.volumes.extend(_volumes(chance, fleet.workloads, sizes.volumes))
    return fleet


def _cluster(number: int) -> Cluster:
    region, zones = _REGIONS[number % len(_REGIONS)]
    turn = number // len(_REGIONS)
    zone = zones[turn % len(zones)]
    return Cluster(
        name=f"{region}-{zone}{1 + turn // len(zones)}",
        region=region,
        zone=f"{region}-{zone}",
        tier="production" if number % 4 < 3 else "edge",
    )


def _disk(chance: Random, cluster: Cluster, node: str, number: int) -> Disk:
    size = some(chance, (500, 1000, 2000)) * GIBIBYTE
    return Disk(
        cluster.name,
        node,
        f"nvme{number}" if number % 3 < 2 else f"sd{number}",
        cluster.zone,
        cluster.region,
        size,
        free=size * (30 + int(chance.random() * 66)) // 100,
        tag="nvme" if number % 3 < 2 else "hdd",
    )


def _workload(
    chance: Random, number: int, namespaces: list[str], clusters: list[Cluster], shares: Shares
) -> Workload:
    turn, place = divmod(number // len(namespaces), len(_APPLICATIONS))
    wish, homes = _wish(chance, clusters)
    placed = happens(chance, shares.placed)
    return Workload(
        namespace=namespaces[number % len(namespaces)],
        name=_APPLICATIONS[place] + (f"-{turn + 1}" if turn else ""),
        kind="StatefulSet" if happens(chance, shares.stateful) else "Deployment",
        uid=uid(chance),
        usual=_usual(chance),
        replicas=0,
        request=request(chance),
        wish=wish,
        homes=homes,
        deploy=deploy(chance) if placed else None,
        min_available=available(chance) if placed else None,
        template=template_hash(chance),
        phase=some(chance, (0, 0, 0, 5, 9, 17)),
    )


def _job(
    chance: Random, number: int, namespaces: list[str], queues: list[str], clusters: list[Cluster]
) -> Job:
    turn, place = divmod(number // len(namespaces), len(_JOBS))
    return Job(
        namespace=namespaces[number % len(namespaces)],
        kind=_JOBS[place] + (f"-{turn + 1}" if turn else ""),
        queue=some(chance, queues),
        usual=min(_usual(chance), 64),
        request=some(chance, _TASKS),
        cluster=some(chance, clusters).name if happens(chance, 20) else None,
    )


def _usual(chance: Random) -> int:
    """A few are large, most are small: each doubling is half as likely as the one before."""
    usual = chance.randint(2, 6)
    while usual < _LARGEST and chance.random() < 0.5:
        usual *= 2
    return usual


def _wish(chance: Random, clusters: list[Cluster]) -> tuple[Wish | None, list[Cluster]]:
    """How a workload is divided, and where it can be then."""
    draw = chance.random()
    if draw < 0.1:
        home = some(chance, clusters)
        return None, [home]
    wish = Wish(_STRATEGIES.draw(chance))
    if wish.strategy in {"dynamic", "aggregated"} and happens(chance, 40):
        wish.spread = {"cluster": [1, 3]}
    if draw < 0.7:
        homes = chance.sample(clusters, k=min(len(clusters), chance.randint(2, _MOST_WEIGHED)))
        wish.weights = {cluster.name: chance.randint(1, 5) for cluster in homes}
        return wish, homes
    if draw < 0.85:
        selector = {"tier": "production"} if happens(chance, 30) else None
        region = some(chance, clusters).region
        wish.selector = selector or {REGION_LABEL: region}
        chosen = wish.selector.items()
        return wish, [cluster for cluster in clusters if chosen <= cluster.labels.items()]
    if draw < 0.98:
        homes = chance.sample(clusters, k=min(len(clusters), chance.randint(1, 3)))
        wish.clusters = [cluster.name for cluster in homes]
        return wish, homes
    return wish, clusters


def _queue(chance: Random, name: str, cpu: int, queues: int) -> Queue:
    limited = happens(chance, 60)
    most = cpu * chance.randint(30, 80) // 100
    return Queue(
        name,
        weight=chance.randint(1, 8),
        capability={"cpu": str(most), "memory": f"{4 * most}Gi"} if limited else {},
        guarantee={"cpu": str(cpu // (8 * queues))} if happens(chance, 50) else {},
        priority=some(chance, (0, 0, 0, 1)),
        reclaimable=happens(chance, 80),
    )


def _volumes(chance: Random, workloads: list[Workload], count: int | None) -> list[Volume]:
    users = [workload for workload in workloads if workload.kind == "StatefulSet"]
    names: list[tuple[str, str | None]] = [
        (f"{workload.namespace}-{workload.name}-data", workload.key) for workload in users
    ]
    if count is not None:
        names += [(f"scratch-{number:05d}", None) for number in range(count - len(names))]
        del names[count:]
    return [
        Volume(
            name,
            size=SMALLEST_VOLUME * some(chance, (1, 1, 2, 4)),
            replicas=some(chance, (2, 3, 3)),
            workload=workload,
            selector=["nvme"] if happens(chance, 50) else [],
            shares_nodes=happens(chance, 10),
        )
        for name, workload in names
    ]


def _settle(fleet: Fleet, replicas: int | None) -> None:
    """Make the usual numbers such that they come to what was asked for, or leave room."""
    each: list[Workload | Job] = [*fleet.workloads, *fleet.jobs]
    if replicas is None:
        memory = sum(node.shape.memory for cluster in fleet.clusters for node in cluster.nodes)
        wanted = sum(one.usual * base_units(one.request.memory) for one in each)
        part, whole = memory * _USED // 100, wanted
    else:
        part, whole = replicas - len(each), sum(one.usual for one in each)
    for one in each:
        if replicas is not None:
            one.usual = 1 + one.usual * part // whole
        elif part < whole:
            one.usual = max(1, one.usual * part // whole)
    if replicas is not None:
        left = replicas - sum(one.usual for one in each)
        for one in each[:left]:
            one.usual += 1
    for workload in fleet.workloads:
        workload.replicas = workload.usual


def _numbered(names: tuple[str, ...], number: int) -> str:
    turn, place = divmod(number, len(names))
    return names[place] + (f"-{turn + 1}" if turn else "")
