"""Whether the book adds up: every sum that a World carries, made again from nothing.

A World keeps sums so that an event costs what it touches: what is held on a node, what the nodes
of a cluster have free, what is promised of a cluster, what is scheduled on a disk, what a queue uses, who
sits where.
Here they are worked out from what they are sums of - instances, tasks and replicas in force, pods that are
seen, divisions, what nodes declare - by looking at all of it, and whatever is not equal is named.
So is what is remembered of an object that is forgotten and holds nothing, or not of one that holds something.
Over-commitment is no difference: it is one if it is not known, or known and not so.

Nothing is mended. A World that does not add up was folded by a program that is wrong, and only a
correct one folds it again (``ledger.replay``).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from immutables import Map

from ledger.facts.cluster import NodeUpserted
from ledger.facts.incident import LASTING
from ledger.facts.quota import QuotaUpserted
from ledger.facts.workload import PodObserved
from ledger.reducers.book import Book, Change, changed, short
from ledger.reducers.deadlines import in_order
from ledger.reducers.instances import holding, node_of, subject_of, workload_of
from ledger.reducers.jobs import infeasible
from ledger.reducers.objects import Key
from ledger.reducers.open_proposals import grounds
from ledger.reducers.pods import decided, held_beyond
from ledger.reducers.reservations import is_active
from ledger.reducers.rooms import node_in_use, promised
from ledger.reducers.sightings import Crew, behind, crew_of
from ledger.reducers.tasks import holding as taken
from ledger.reducers.world import World
from ledger.units import ClusterName, Subject


class Difference(NamedTuple):
    """A sum that is not what it is the sum of; in the order of the names."""

    where: str
    """A node, a cluster, a workload."""
    what: str
    """Which of its sums, and which amount of it."""
    kept: int
    """As the World has it."""
    counted: int
    """As it is."""


def differences(world: World) -> tuple[Difference, ...]:
    """Everything that does not add up, by name; nothing where all is well."""
    seats = _seats(world)
    crews = _crews(world)
    held = _held(world, seats, crews)
    pairs = (
        ("held", _amounts(world.book), _amounts(held)),
        ("placed", _seats_as_kept(world), seats),
        ("used", _uses_as_kept(world), _uses(world)),
        ("seen", _sizes(world.pods.crews), _sizes(crews)),
        ("leaving", _sizes(world.pods.leaving), _sizes(_leaving(world))),
        ("missing", _missing_as_kept(world), _missing(world, seats, crews)),
        ("in use", _in_use_as_kept(world), _in_use(world)),
        ("claimed", _claims_as_kept(world), _claims(world)),
        ("contradicts", _contradictions_as_kept(world), _contradictions(world, held, seats, crews)),
        ("scheduled", _scheduled_as_kept(world), _scheduled(world)),
        ("replicas", _replicas_as_kept(world), _replicas(world)),
        ("proposed", _proposed_as_kept(world), _proposed(world)),
        ("admitted", _admitted_as_kept(world), _admitted(world)),
        ("remembered", _remembered_as_kept(world), _remembered(world)),
    )
    return tuple(sorted(one for pair in pairs for one in _unequal(*pair)))


Sums = Mapping[tuple[str, str], int]
"""By whose and of what; what is not listed is nothing. In no order."""


def _unequal(what: str, kept: Sums, counted: Sums) -> Iterator[Difference]:
    for where, amount in kept.keys() | counted.keys():
        was, is_ = kept.get((where, amount), 0), counted.get((where, amount), 0)
        if was != is_:
            yield Difference(where, f"{what}: {amount}", was, is_)


def _seats(world: World) -> Counter[tuple[Subject, Subject]]:
    """How many instances and tasks a node has of a workload in its cluster."""
    seats = Counter(
        (node_of(deployed.cluster, instance.node), subject)
        for subject, deployed in world.deployments.of.items()
        for instance in deployed.instances
    )
    for job, tasks in world.jobs.of.items():
        seats.update((task.node, _in_cluster(task.node, job)) for task in tasks.running.values())
    return seats


def _seats_as_kept(world: World) -> Sums:
    seats: Counter[tuple[str, str]] = Counter()
    for node, seated in world.deployments.on.items():
        seats.update({(node, subject): count for subject, count in seated.items()})
    for node, seated in world.jobs.on.items():
        seats.update({(node, _in_cluster(node, job)): count for job, count in seated.items()})
    return seats


def _in_cluster(node: Subject, workload: Subject) -> Subject:
    return subject_of(workload, ClusterName(node.partition("/")[0]))


def _uses(world: World) -> Sums:
    """What running tasks hold, by their queue and namespace, by their queue, and by their job."""
    sums: Counter[tuple[str, str]] = Counter()
    for job, tasks in world.jobs.of.items():
        for _, request in tasks.running.values():
            for whose in (f"{tasks.queue} of {tasks.namespace}", f"queue {tasks.queue}", job):
                sums[whose, "tasks"] += 1
                for name, amount in request._asdict().items():
                    sums[whose, name] += amount
    return sums


def _uses_as_kept(world: World) -> Sums:
    uses = {f"{queue} of {namespace}": use for (queue, namespace), use in world.jobs.used.items()}
    uses |= {f"queue {queue}": use for queue, use in world.jobs.used_in.items()}
    uses |= {str(job): tasks.held for job, tasks in world.jobs.of.items()}
    return {
        (whose, name): amount
        for whose, use in uses.items()
        for name, amount in use._asdict().items()
    }


def _crews(world: World) -> dict[Crew, list[str]]:
    given_up = world.pods.given_up
    known = world.objects.known
    return _in_crews(
        world, (name for noun, name in known if noun == "pod" and name not in given_up)
    )


def _leaving(world: World) -> dict[Crew, list[str]]:
    return _in_crews(world, world.pods.given_up)


def _in_crews(world: World, subjects: Iterable[Subject]) -> dict[Crew, list[str]]:
    crews: dict[Crew, list[str]] = {}
    for subject in subjects:
        fact = world.objects.fact("pod", subject)
        if fact is None:
            continue
        assert isinstance(fact, PodObserved), f"{subject} is no pod"
        crew = crew_of(world.objects, fact)
        if crew is not None:
            crews.setdefault(crew, []).append(fact.name)
    return crews


def _sizes(crews: Mapping[Crew, Collection[str]]) -> Sums:
    return {(crew.node, f"{crew.kind} {crew.owner}"): len(crews[crew]) for crew in crews}


def _missing(
    world: World,
    seats: Mapping[tuple[Subject, Subject], int],
    crews: Mapping[Crew, Collection[str]],
) -> Sums:
    """Of those who are said to be without a pod, as many as can be."""
    sums: dict[tuple[str, str], int] = {}
    for node, missing in world.pods.missing.items():
        fact = world.objects.fact("node", node)
        takes_work = isinstance(fact, NodeUpserted) and fact.schedulable
        for subject, count in missing.items():
            seen = sum(
                len(names)
                for crew, names in crews.items()
                if (crew.node, crew.subject) == (node, subject) and decided(world, crew) is not None
            )
            most = max(0, seats.get((node, subject), 0) - seen)
            sums[node, subject] = min(count, most) if takes_work else 0
    return sums


def _missing_as_kept(world: World) -> Sums:
    return {
        (node, subject): count
        for node, missing in world.pods.missing.items()
        for subject, count in missing.items()
    }


def _held(
    world: World,
    seats: Mapping[tuple[Subject, Subject], int],
    crews: Mapping[Crew, Collection[str]],
) -> Book:
    changes = [
        Change(node_of(deployed.cluster, instance.node), holding(instance), 1)
        for deployed in world.deployments.of.values()
        for instance in deployed.instances
    ]
    changes += [
        Change(task.node, taken(task.request), 1)
        for tasks in world.jobs.of.values()
        for task in tasks.running.values()
    ]
    for crew, names in crews.items():
        placed = seats.get((crew.node, crew.subject), 0)
        changes.append(Change(crew.node, held_beyond(world, crew, names, placed), 1))
    return changed(Map(), changes)


def _amounts(held: Book) -> Sums:
    sums: dict[tuple[str, str], int] = {}
    for node, all_ in held.items():
        amounts = {
            "cpu": all_.cpu,
            "memory": all_.memory,
            "storage": all_.storage,
            "pods": all_.pods,
            **{f"core {name}": amount for name, amount in all_.pieces.items()},
            **{f"group {name}": amount for name, amount in all_.numa.items()},
            **{f"device {name}": amount for name, amount in all_.volumes.items()},
        }
        sums |= {(node, name): amount for name, amount in amounts.items()}
    return sums


def _in_use(world: World) -> Sums:
    nodes: Counter[tuple[str, str]] = Counter()
    for noun, subject in world.objects.known:
        if noun == "node":
            node = node_in_use(world.objects, world.rooms.reclaiming, subject)
            if node is not None:
                nodes[node.cluster, "nodes"] += 1
    return nodes


def _in_use_as_kept(world: World) -> Sums:
    return {
        (cluster, "nodes"): room.nodes
        for cluster, room in world.rooms.by_cluster.items()
        if room.nodes
    }


def _claims(world: World) -> Sums:
    sums: Counter[tuple[str, str]] = Counter()
    for noun, subject in world.objects.known:
        if noun == "workload":
            for cluster, (request, replicas) in promised(world, subject).items():
                sums[cluster, "cpu"] += replicas * request.cpu if request.cpu_bind else 0
                sums[cluster, "memory"] += replicas * request.memory
                sums[cluster, "storage"] += replicas * request.storage
                sums[cluster, "pods"] += replicas
                if request.volumes:
                    sums[cluster, f"volumes {request.volumes}"] += replicas
    return sums


def _claims_as_kept(world: World) -> Sums:
    sums: dict[tuple[str, str], int] = {}
    for cluster, room in world.rooms.by_cluster.items():
        *amounts, volumes = room.claim
        names = ("cpu", "memory", "storage", "pods")
        sums |= {(cluster, name): amount for name, amount in zip(names, amounts, strict=True)}
        sums |= {(cluster, f"volumes {texts}"): count for texts, count in volumes.items()}
    return sums


def _contradictions(
    world: World,
    held: Book,
    seats: Mapping[tuple[Subject, Subject], int],
    crews: Mapping[Crew, Collection[str]],
) -> Sums:
    found: dict[tuple[str, str], int] = {}
    for node, all_ in held.items():
        fact = world.objects.fact("node", node)
        if isinstance(fact, NodeUpserted) and short(fact, all_):
            found[node, f"over_committed {node}"] = 1
    for crew, names in crews.items():
        is_beyond = len(names) > seats.get((crew.node, crew.subject), 0)
        there = world.objects.fact("node", crew.node) is not None
        if is_beyond and there and decided(world, crew) is not None:
            found[crew.subject, f"pods_beyond_instances {crew.node}"] = 1
    for noun, quota in world.objects.known:
        fact = world.objects.fact(noun, quota)
        if isinstance(fact, QuotaUpserted) and fact.invalid_weight is not None:
            found[quota, f"weight_invalid {quota}"] = 1
    if infeasible(world):
        found[world.fleet, f"guarantee_infeasible {world.fleet}"] = 1
    return found


def _contradictions_as_kept(world: World) -> Sums:
    kept = world.incidents
    return {
        (one.subject, f"{one.what} {one.node}"): 1
        for one in (*kept.told, *kept.untold)
        if one.what in LASTING
    }


def _scheduled(world: World) -> Sums:
    sums: Counter[tuple[str, str]] = Counter()
    for copies in world.disks.volumes.values():
        for replica in copies.replicas:
            sums[replica.at.host, replica.at.disk] += copies.size
    return sums


def _scheduled_as_kept(world: World) -> Sums:
    return {
        (host.name, disk.name): disk.scheduled
        for host in world.disks.hosts.values()
        for disk in host.disks
    }


def _replicas(world: World) -> Sums:
    return Counter(
        (replica.at.host, f"{volume} on {replica.at.disk}")
        for volume, copies in world.disks.volumes.items()
        for replica in copies.replicas
    )


def _replicas_as_kept(world: World) -> Sums:
    return {
        (at.host, f"{volume} on {at.disk}"): count
        for at, volumes in world.disks.on.items()
        for volume, count in volumes.items()
    }


def _admitted(world: World) -> Sums:
    """Who has a row where templates are kept, what rows are called, and when the first runs out."""
    sums: dict[tuple[str, str], int] = {}
    for (noun, subject), known in world.objects.known.items():
        pod = known.fact
        if noun == "pod" and isinstance(pod, PodObserved) and is_active(pod):
            above = behind(pod)
            if above is not None and above in world.admissions.templates:
                sums[above, f"row of {subject.rpartition('/')[2]}"] = 1
    for replicaset, template in world.admissions.templates.items():
        open_ = [row for row in template.rows.values() if row.standing == "open"]
        sums[replicaset, "open"] = len(open_)
        sums[replicaset, "within"] = 1
        sums[replicaset, "overdue"] = int(any(row.overdue for row in template.rows.values()))
        sums[replicaset, "first"] = min(
            (one.expires for one in open_ if not one.overdue), default=0
        )
        sums |= {
            (replicaset, f"called {row.name}"): 1 for row in template.rows.values() if row.name
        }
    return sums


def _admitted_as_kept(world: World) -> Sums:
    kept = world.admissions
    sums: dict[tuple[str, str], int] = {
        (reserved.replicaset, f"called {name}"): 1 for name, reserved in kept.reservations.items()
    }
    for replicaset, template in kept.templates.items():
        sums[replicaset, "open"] = len(template.open)
        for name in template.pods:
            pod = world.objects.fact("pod", Subject(f"{replicaset.rpartition('/')[0]}/{name}"))
            # A pod that is going has its row until it is gone, if it had one.
            if not isinstance(pod, PodObserved) or is_active(pod):
                sums[replicaset, f"row of {name}"] = 1
    for what, lists in (("within", kept.within), ("overdue", kept.overdue)):
        for listed in lists.values():
            sums |= {(replicaset, what): 1 for replicaset in listed}
    for deadline in in_order(world.deadlines):
        if deadline.kind == "reservation":
            sums[deadline.subject, "first"] = deadline.at
    return sums


def _proposed(world: World) -> Sums:
    return {
        (ground.name, f"{ground.noun} of #{proposal.number}"): 1
        for proposal in world.proposals.open.values()
        for ground in grounds(proposal)
    }


def _proposed_as_kept(world: World) -> Sums:
    return {
        (ground.name, f"{ground.noun} of #{number}"): 1
        for ground, numbers in world.proposals.on.items()
        for number in numbers
    }


def _remembered(world: World) -> Sums:
    """Of whom there has to be a decision, and of whom there may be one; the same of clusters."""
    known = world.objects.known
    held = [one for one, kept in world.deployments.of.items() if kept.number is not None]
    held += [one for one, kept in world.disks.volumes.items() if kept.replicas or kept.lost]
    sums: dict[tuple[str, str], int] = {(subject, "a decision"): 1 for subject in held}
    sums |= {(one.workload, f"cluster {one.cluster}"): 1 for one in world.deployments.of.values()}
    for where, what in _remembered_as_kept(world):
        if Key("workload", workload_of(Subject(where)) or Subject(where)) in known or (
            Key("volume", Subject(where)) in known
        ):
            sums[where, what] = 1
    return sums


def _remembered_as_kept(world: World) -> Sums:
    sums: dict[tuple[str, str], int] = {(subject, "a decision"): 1 for subject in world.latest}
    for workload, clusters in world.deployments.clusters.items():
        sums |= {(workload, f"cluster {cluster}"): 1 for cluster in clusters}
    return sums
