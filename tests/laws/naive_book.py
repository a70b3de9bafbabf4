"""What the nodes of a naive fleet have free: declared, less all that holds something there.

Nothing is carried along. Each time an amount is asked for, everybody is asked what he holds on the
node, and every pod is looked at. Amounts are signed here; what a question may count on is never
below zero. How many instances fit, and what each would be bound to, is worked out plan by plan by
``tests.laws.capacity_model``.

Where the page says little: the ledger decides a workload's nodes if it has ``deploy``, or is a Job
with a queue; pods of all others are foreign, and so are those whose owner is of another kind: they
hold their cpu whether bound or not. A pod that was given up holds nothing any more. An instance
takes storage as its request says and for the sizes of its volumes, a pod only the former.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, Protocol

from ledger.core.capacity.volume_requests import VolumeRequest, volume_requests
from ledger.facts.workload import PodObserved, Request, WorkloadUpserted
from tests.laws.capacity_model import Binding, Places, cpu_plans, volume_plans
from tests.laws.model import bytewise

INFINITE = 2**63 - 1

MOST_NAMED = 10_000
"""Of a node that tells only its cpu, instances are bound to no more cores than it could name."""


class Bound(NamedTuple):
    """What one instance got: a group of cores with their pieces, and a device for each volume."""

    group: str
    cores: Binding
    volumes: Places


UNBOUND = Bound("", {}, {})


@dataclass(slots=True)
class Holding:
    """What somebody holds on a node: an instance, a task, or a pod that nobody decided on."""

    workload: str | None
    """namespace/name of whom the ledger decided to put there; None for a pod."""
    milli: int
    memory: int
    storage: int
    bound: Bound = UNBOUND


@dataclass(slots=True)
class Free:
    """What is free on a node, below zero where it declares less than is held there."""

    base: int
    milli: int
    cores: dict[str, int]
    cores_told: int
    """How many cores the node declares; ``cores`` also names those that are only held."""
    memory: int
    groups: dict[str, str]
    group_memory: dict[str, int]
    storage: int
    devices: dict[str, int]
    used: dict[str, int]
    pods: int | None
    """None is no limit."""

    def amounts(self) -> dict[str, int]:
        """Every amount by a name of its own."""
        return {
            "cpu": self.milli,
            "memory": self.memory,
            "storage": self.storage,
            **({} if self.pods is None else {"pods": self.pods}),
            **{f"core {core}": pieces for core, pieces in self.cores.items()},
            **{f"group {group}": left for group, left in self.group_memory.items()},
            **{
                f"device {name}": self.devices.get(name, 0) - self.used.get(name, 0)
                for name in self.devices | self.used
            },
        }


def instance_holding(workload: str, request: Request, bound: Bound) -> Holding:
    """What an instance of a deployment takes: cpu only where it is bound."""
    milli = request.cpu if request.cpu_bind else 0
    return Holding(workload, milli, request.memory, in_storage(request), bound)


def in_storage(request: Request) -> int:
    return request.storage + sum(one.size for one in volumes_read(request.volumes))


@cache
def volumes_read(texts: tuple[str, ...]) -> tuple[VolumeRequest, ...]:
    """What texts ask for; a handful of them is read again and again."""
    return volume_requests(texts)


def on_devices(request: Request) -> int:
    return sum(one.size for one in volumes_read(request.volumes) if one.kind != "mount")


class Holder(Protocol):
    """Somebody who decides what comes to nodes."""

    def holdings(self, node: str) -> Iterable[Holding]:
        """What of it is in force on a node."""

    def count_of(self, workload: str, cluster: str) -> int:
        """How many of a workload's instances are on the nodes of a cluster."""

    def numbers_of(self, workload: str, node: str) -> Collection[int]:
        """The numbers that a workload's instances on a node have."""


class Fleet(Protocol):
    """As much of a naive fleet as the book reads."""

    def all(self, noun: str) -> dict[str, Any]: ...

    def fact(self, noun: str, subject: str) -> Any: ...

    def life(self, noun: str, subject: str) -> int: ...


@dataclass(slots=True)
class NaiveBook:
    """Who holds what where. Of its own it only remembers which pods were given up."""

    fleet: Fleet
    holders: list[Holder] = field(default_factory=list)
    undecided: list[Callable[[str, str], int | None]] = field(default_factory=list)
    """Asked in the middle of a turn: how many of a workload's instances were on a node before it.
    Which pods are beyond them is not counted again before something is decided."""
    restating: list[Callable[[], None]] = field(default_factory=list)
    """Told before anything happens: a node that gave its last piece back has others from then on."""
    asking: tuple[str, str] | None = None
    """The workload and the cluster that are asked about now: what pods of it hold beyond its
    instances is free to it."""
    given_up: set[tuple[str, int]] = field(default_factory=set)
    """Pods by subject and life."""

    def free(self, key: str, holdings: Iterable[Holding] | None = None) -> Free:
        """What is free on a node, which exists; ``holdings`` is what is held there, if that was asked."""
        node = self.fleet.fact("node", key)
        base = node.share_base
        whole = (node.cpu or 0) // 1000
        cores = dict(node.cores) or {str(core): base for core in range(min(whole, MOST_NAMED))}
        free = Free(
            base=base,
            milli=node.cpu if node.cpu is not None else 1000 * sum(cores.values()) // base,
            cores=cores,
            cores_told=len(node.cores) or whole,
            memory=node.memory,
            groups=dict(node.numa),
            group_memory=dict(node.numa_memory),
            storage=node.storage,
            devices=dict(node.volumes),
            used={},
            pods=node.pods,
        )
        for one in self.all_holdings(key) if holdings is None else holdings:
            free.milli -= one.milli
            free.memory -= one.memory
            free.storage -= one.storage
            if free.pods is not None:
                free.pods -= 1
            for core, pieces in one.bound.cores.items():
                free.cores[core] = free.cores.get(core, 0) - pieces
            if one.bound.group:
                left = free.group_memory.get(one.bound.group, 0)
                free.group_memory[one.bound.group] = left - one.memory
            for device, size in one.bound.volumes.values():
                free.used[device] = free.used.get(device, 0) + size
        return free

    def all_holdings(self, key: str) -> list[Holding]:
        """What instances and tasks hold on a node, and what pods hold beyond that."""
        decided = [one for holder in self.holders for one in holder.holdings(key)]
        held = list(decided)
        for (workload, kind), pods in self.crews(key).items():
            fact = self.fleet.fact("workload", workload)
            if fact is None or fact.kind != kind or not decides(fact):
                for pod in pods:
                    each = self.fleet.fact("pod", pod).request
                    held.append(Holding(None, each.cpu, each.memory, each.storage))
            elif self.asking != (workload, key.split("/", maxsplit=1)[0]):
                there = self._before_turn(workload, key)
                if there is None:
                    there = sum(one.workload == workload for one in decided)
                each = fact.request
                milli = each.cpu if each.cpu_bind or fact.deploy is None else 0
                more = Holding(None, milli, each.memory, each.storage)
                held += [more] * (len(pods) - there)
        return held

    def _before_turn(self, workload: str, key: str) -> int | None:
        told = [ask(workload, key) for ask in self.undecided]
        return next((count for count in told if count is not None), None)

    def crews(self, key: str) -> dict[tuple[str, str], list[str]]:
        """The pods that run on a node and were not given up, in order, by owner and its kind."""
        crews: dict[tuple[str, str], list[str]] = {}
        cluster, _, node = key.partition("/")
        for subject, pod in self.fleet.all("pod").items():
            if (
                pod.node == node
                and pod.cluster == cluster
                and is_active(pod)
                and (subject, self.fleet.life("pod", subject)) not in self.given_up
            ):
                crews.setdefault(self.owner_of(pod), []).append(subject)
        return {owner: bytewise(pods) for owner, pods in sorted(crews.items())}

    def pods_of(self, workload: str, key: str) -> list[str]:
        """The pods on a node that are, or were, of a workload."""
        fact = self.fleet.fact("workload", workload)
        return bytewise(
            pod
            for (owner, kind), pods in self.crews(key).items()
            for pod in pods
            if owner == workload and kind and (fact is None or fact.kind == kind)
        )

    def count_of(self, workload: str, cluster: str) -> int:
        """How many of a workload's instances and tasks are on the nodes of a cluster."""
        return sum(holder.count_of(workload, cluster) for holder in self.holders)

    def is_held(self, workload: str, cluster: str) -> bool:
        """Whether anything of a workload is on the nodes of a cluster, of whichever life."""
        return any(
            one.workload == workload
            for key in self.fleet.all("node")
            if key.startswith(f"{cluster}/")
            for holder in self.holders
            for one in holder.holdings(key)
        )

    def owner_of(self, pod: PodObserved) -> tuple[str, str]:
        """To whom a pod belongs, known or not, and of which kind that is; no kind: to nobody."""
        owner = pod.owner
        if owner is not None and owner.kind == "ReplicaSet":
            known = self.fleet.fact("replicaset", f"{pod.cluster}/{pod.namespace}/{owner.name}")
            if known is not None:
                owner = known.owner
            elif pod.template_hash and owner.name.endswith(f"-{pod.template_hash}"):
                name = owner.name.removesuffix(f"-{pod.template_hash}")
                return f"{pod.namespace}/{name}", "Deployment"
        if owner is None or owner.kind not in {"Deployment", "StatefulSet", "Job"}:
            return f"{pod.namespace}/{pod.name}", ""
        return f"{pod.namespace}/{owner.name}", owner.kind

    def give_up(self, workload: str, key: str, numbers: Collection[int]) -> None:
        """Mark the pods of these instances on a node: of a set those that say so, else the last."""
        pods = self.pods_of(workload, key)
        fact = self.fleet.fact("workload", workload)
        if fact is not None and fact.kind == "StatefulSet":
            named = {pod_of_set(fact, number) for number in numbers}
            marked = [pod for pod in pods if pod.split("/")[-1] in named]
        else:
            marked = pods[len(pods) - min(len(numbers), len(pods)) :]
        self.given_up |= {(pod, self.fleet.life("pod", pod)) for pod in marked}

    def count_again(self, only: str | None = None) -> None:
        """Take marks back where fewer pods than were marked are beyond what is placed."""
        leaving: dict[tuple[str, str], list[str]] = {}
        for pod, life in sorted(self.given_up):
            fact = self.fleet.fact("pod", pod)
            if fact is None or life != self.fleet.life("pod", pod) or not is_active(fact):
                continue
            owner, kind = self.owner_of(fact)
            above = self.fleet.fact("workload", owner)
            if above is not None and above.kind == kind and only in {None, owner}:
                leaving.setdefault((owner, f"{fact.cluster}/{fact.node}"), []).append(pod)
        for (owner, key), pods in leaving.items():
            numbers = [n for holder in self.holders for n in holder.numbers_of(owner, key)]
            above = self.fleet.fact("workload", owner)
            if above.kind == "StatefulSet":
                named = {pod_of_set(above, number) for number in numbers}
                again = [pod for pod in pods if pod.split("/")[-1] in named]
            else:
                free = max(0, len(numbers) - len(self.pods_of(owner, key)))
                again = bytewise(pods)[:free]
            self.given_up -= {(pod, self.fleet.life("pod", pod)) for pod in again}


def pod_of_set(fact: WorkloadUpserted, number: int) -> str:
    """What the pod of a StatefulSet is called."""
    return f"{fact.name}-{number + (fact.ordinals_start or 0)}"


def decides(fact: WorkloadUpserted) -> bool:
    """Whether the ledger decides on which nodes a workload is."""
    return fact.deploy is not None or (fact.kind == "Job" and fact.queue is not None)


def is_active(pod: PodObserved) -> bool:
    return pod.phase not in {"Succeeded", "Failed"} and not pod.terminating


def plans(
    free: Free, request: Request, *, max_share: int, max_deploy: int
) -> tuple[int, list[Bound]]:
    """How many instances fit, and what each of them gets; an empty list: none gets anything."""
    fits = [INFINITE if free.pods is None else max(0, free.pods)]
    if in_storage(request):
        fits.append(max(0, free.storage) // in_storage(request))
    on_cores: list[tuple[str, Binding]] | None = None
    on_disks: list[Places] | None = None
    if request.cpu_bind:
        on_cores = bound_plans(free, request, max_share, {})
        fits += [len(on_cores), max(0, free.milli) // request.cpu]
    else:
        if request.cpu > 1000 * free.cores_told:
            return 0, []
        if request.memory:
            fits.append(max(0, free.memory) // request.memory)
    wanted = volumes_read(request.volumes)
    if any(one.kind != "mount" for one in wanted):
        on_disks = disk_plans(free, wanted, max_deploy)
        fits.append(len(on_disks))
    most = min(fits)
    if on_cores is None and on_disks is None:
        return most, []
    bound = []
    for place in range(most):
        group, cores = ("", Binding()) if on_cores is None else on_cores[place]
        bound.append(Bound(group, cores, {} if on_disks is None else on_disks[place]))
    return most, bound


def bound_plans(
    free: Free, request: Request, max_share: int, origin: Mapping[str, int]
) -> list[tuple[str, Binding]]:
    cpu = Fraction(request.cpu, 1000)
    if (cpu * free.base).denominator != 1:
        return []
    return cpu_plans(
        free.cores,
        free.memory,
        (free.groups, free.group_memory),
        cpu=cpu,
        memory_each=request.memory,
        base=free.base,
        max_share=max_share,
        origin=origin,
    )


def disk_plans(free: Free, wanted: Iterable[VolumeRequest], max_deploy: int) -> list[Places]:
    sizes: dict[str, dict[str, int]] = {"normal": {}, "monopoly": {}, "unlimited": {}, "mount": {}}
    for one in wanted:
        sizes[one.kind][one.text] = one.size
    return volume_plans(
        free.devices,
        free.used,
        sizes["normal"],
        sizes["monopoly"],
        list(sizes["unlimited"]),
        max_deploy,
    )
