"""What pods that are seen on nodes mean for the book.

Pods of a workload whose nodes the ledger decides hold nothing of their own while there are as many
instances or tasks of it on the node; for each one more they hold what the workload requests. That is
an incident as long as it lasts. Every other pod is foreign: it holds what it requests itself, which is
no incident. Every pod that holds something holds one pod slot.

When the ledger gives up places on a node, as many pods, the last by name, hold nothing any more; but
never more than there are beyond the places that are left. Which of them go is their cluster's affair:
where another one goes, or a place is taken again, one that was given up and is still there counts again.
The pods of a StatefulSet say with their names which numbers they are, so of them it is those whose
numbers were given up, and they count again with these.

A report moves nothing, and ends nothing that was decided but on a node that takes no new work: there
an instance is lost whose pod was seen to be deleted, terminating or failed, whether the node took new
work then or not. Of a StatefulSet it is the one whose number no pod that is left there has in its name; which
one it is of others no pod says, so there, and where that does not tell, it is the one with the highest
number. While there are as many pods as instances none of them is without; one whose pod was never seen
stays. Pods may be
seen on a node before the node is: then they hold their room already, and only the incident waits for
the node.

Of storage, a pod holds what it requests as such. What its volumes take is not counted: on which
devices they are, no report says.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Final

from immutables import Map

from ledger.facts.cluster import NodeUpserted
from ledger.facts.workload import (
    PodDeleted,
    PodObserved,
    ReplicaSetUpserted,
    WorkloadUpserted,
)
from ledger.reducers import admissions, deployments, incidents, objects, proposals, sightings
from ledger.reducers.book import NO_HOLDING, Change, Holding
from ledger.reducers.incidents import Contradiction
from ledger.reducers.instances import Deployed, node_of, subject_of, there, workload_of
from ledger.reducers.objects import Key, Objects
from ledger.reducers.replacing import replace
from ledger.reducers.rooms import with_holdings
from ledger.reducers.sightings import (
    Crew,
    Pods,
    behind,
    crew_of,
    joined,
    left,
    listed_behind,
    with_held,
    with_leaving,
    with_missing,
)
from ledger.reducers.world import Released, World
from ledger.units import ClusterName, Subject

_SAID: Final = attrgetter(*(part.name for part in fields(PodObserved) if part.name != "revision"))
_NO_INSTANCES: Final[Map[Subject, int]] = Map()
_NOBODY: Final[Map[str, None]] = Map()
_NOWHERE: Final[Map[Crew, None]] = Map()
_SPLIT: Final = frozenset({"Deployment", "StatefulSet"})
"""The kinds of workloads whose pods are told apart by capacity class."""
_NONE: Final[Map[Subject, None]] = Map()


def observed(world: World, subject: Subject, fact: PodObserved, *, source: str) -> World:
    """A pod was seen, somewhere or as something else than before."""
    told = objects.upsert(world.objects, Key("pod", subject), fact, source=source, now=world.now)
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    after = replace(world, objects=told.objects)
    if told.before is not None and _SAID(told.before) == _SAID(fact):
        # What follows from it was found out when it was said for the first time, but that it is there.
        return admissions.pod_changed(after, told.before, fact)
    return _seen(after, world, subject, same_life=told.before is not None)


def deleted(world: World, subject: Subject, fact: PodDeleted, *, source: str) -> World:
    """A pod is gone."""
    told = objects.remove(world.objects, Key("pod", subject), fact, source=source, now=world.now)
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    return _seen(replace(world, objects=told.objects), world, subject)


def replicaset_upserted(
    world: World, subject: Subject, fact: ReplicaSetUpserted, *, source: str
) -> World:
    """A ReplicaSet says whose it is: pods that name it may belong to somebody else."""
    told = objects.upsert(
        world.objects, Key("replicaset", subject), fact, source=source, now=world.now
    )
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    return _owned(replace(world, objects=told.objects), world, [subject])


def gone(world: World, before: World, subjects: Sequence[Subject]) -> World:
    """Pods that were there ``before`` are gone."""
    for subject in subjects:
        world = _seen(world, before, subject)
    return world


def gone_with_cluster(world: World, before: World, subjects: Sequence[Subject]) -> World:
    """Pods that were there ``before`` are gone with their cluster; its nodes and admissions went first.

    So nothing is left there that one of them could lose, and each crew is counted once.
    """
    pods = world.pods
    crews: dict[Crew, None] = {}
    names: dict[Subject, list[str]] = {}
    for subject in subjects:
        was = before.objects.fact("pod", subject)
        old = _counted(before.objects, pods, subject, was)
        if subject in pods.given_up and isinstance(was, PodObserved):
            pods = _moved(pods, subject, crew_of(before.objects, was), None)
            pods = replace(pods, given_up=pods.given_up.delete(subject))
        pods = _exchanged(_listed(pods, subject, was, None), subject, old, None)
        if old is not None:
            crews[old] = None
            names.setdefault(old.subject, []).append(subject.rpartition("/")[2])
        world = proposals.pod_gone(world, subject)
    world = may_be_short(recounted(replace(world, pods=pods), crews), crews)
    for whose in sorted(names):
        world = proposals.released(world, whose, frozenset(names[whose]))
    return world


def replicasets_gone(world: World, before: World, subjects: Sequence[Subject]) -> World:
    """ReplicaSets that were there ``before`` are gone."""
    return _owned(world, before, subjects)


def life_over(world: World, workload: Subject) -> World:
    """A workload is gone, or another takes its name: none of its pods are to be evicted any more."""
    clusters = {crew.cluster for crew in world.pods.of.get(workload, _NOWHERE)}
    for cluster in sorted(clusters):
        world = proposals.all_released(world, subject_of(workload, cluster))
    return world


def workload_changed(world: World, workload: Subject) -> World:
    """The ledger may decide the nodes of a workload now, or no more, or it requests something else."""
    crews = world.pods.of.get(workload, _NOWHERE)
    return may_be_short(recounted(world, crews), crews)


def node_changed(world: World, node: Subject) -> World:
    """A node came or went."""
    crews = world.pods.on.get(node, _NOWHERE)
    return may_be_short(recounted(world, crews), crews)


def node_cordoned(world: World, node: Subject) -> World:
    """A node takes no new work: instances there that are without their pod get no other."""
    for subject, count in sorted(world.pods.missing.get(node, _NO_INSTANCES).items()):
        world = replace(world, pods=with_missing(world.pods, node, subject, 0))
        alive = _numbers_alive(world, subject, node)
        world = deployments.pods_lost(world, subject, node, count, alive=alive)
    return world


def _numbers_alive(world: World, subject: Subject, node: Subject) -> frozenset[int]:
    """The numbers of those instances of a StatefulSet on a node whose pods are seen there."""
    owner = workload_of(subject)
    workload = world.workload(owner)
    if workload is None or workload.kind != "StatefulSet":
        return frozenset()
    names = world.pods.crews.get(Crew(node, "StatefulSet", owner), _NOBODY)
    return frozenset(
        one.number
        for one in there(world.deployments, subject, node)
        if _pod_of_set(workload, one.number) in names
    )


def _pod_of_set(workload: WorkloadUpserted, number: int) -> str:
    """The name that the pod of an instance of a StatefulSet has."""
    return f"{workload.name}-{(workload.ordinals_start or 0) + number}"


def may_be_short(world: World, crews: Iterable[Crew]) -> World:
    """Where the ledger decides no nodes, too few of these pods may be on on-demand nodes now.

    Nor are those to be evicted or lowered any more of whom that was to be said, and is not now.
    """
    subjects = {
        crew.subject
        for crew in crews
        if crew.kind in _SPLIT
        and (
            _is_split(world.workload(crew.owner), crew) or proposals.names_pods(world, crew.subject)
        )
    }
    return proposals.may_be_short(world, sorted(subjects)) if subjects else world


def _is_split(workload: WorkloadUpserted | None, crew: Crew) -> bool:
    """Whether a crew is of a workload that is there and of which the ledger decides no nodes."""
    return workload is not None and workload.kind == crew.kind and workload.deploy is None


def recounted(world: World, crews: Iterable[Crew]) -> World:
    """The World in which these crews hold what they are to hold, and contradict what they contradict."""
    return with_holdings(*_recounting(world, crews))


def _recounting(world: World, crews: Iterable[Crew]) -> tuple[World, list[Change]]:
    """The same but for the book, and what changes there."""
    changes: list[Change] = []
    in_order = sorted(crews)
    world = _with_marks_settled(world, in_order)
    pods, found = world.pods, world.incidents
    for crew in in_order:
        names = pods.crews.get(crew, _NOBODY)
        placed = _placed(world, crew)
        workload = decided(world, crew)
        after = _held_beyond(world, crew, names, placed, workload)
        one = Contradiction(crew.subject, "pods_beyond_instances", crew.node)
        if (
            workload is not None
            and len(names) > placed
            and world.objects.fact("node", crew.node) is not None
        ):
            found = incidents.found(found, one, (("instances", placed), ("pods", len(names))))
        elif crew.kind and not _judged_by_another(world, crew):
            found = incidents.over(found, one)
        before = pods.held.get(crew, NO_HOLDING)
        if after != before:
            pods = with_held(pods, crew, after)
            changes += [Change(crew.node, before, -1), Change(crew.node, after, 1)]
    if pods is not world.pods or found is not world.incidents:
        world = replace(world, pods=pods, incidents=found)
    for crew in in_order:
        world = _missing(world, crew.node, crew.owner)
    return world, [change for change in changes if change.holding != NO_HOLDING]


def held_beyond(world: World, crew: Crew, names: Collection[str], placed: int) -> Holding:
    """What the pods of a crew hold, where so many instances of their workload are placed."""
    return _held_beyond(world, crew, names, placed, decided(world, crew))


def _held_beyond(
    world: World,
    crew: Crew,
    names: Collection[str],
    placed: int,
    workload: WorkloadUpserted | None,
) -> Holding:
    if workload is None:
        return _foreign(world, crew, names)
    beyond = max(0, len(names) - placed)
    return _times(workload, beyond) if beyond else NO_HOLDING


def decided(world: World, crew: Crew) -> WorkloadUpserted | None:
    """The workload of a crew, if the ledger decides on which nodes that is."""
    workload = world.workload(crew.owner) if crew.kind else None
    if workload is None or workload.kind != crew.kind:
        return None
    is_task = workload.kind == "Job" and workload.queue is not None
    return workload if is_task or workload.deploy is not None else None


def beyond(world: World, workload: Subject) -> Iterator[tuple[Crew, Holding]]:
    """What a workload's own pods hold on nodes beyond its places, where those are decided.

    To the workload itself that room is not taken: a place where a pod of it is already takes no more.
    """
    held = world.pods.held
    crews = [crew for crew in world.pods.of.get(workload, _NOWHERE) if crew in held]
    for crew in sorted(crews):
        if decided(world, crew) is not None:
            yield crew, held[crew]


def lost(world: World) -> World:
    """What the event or deadline just folded took away: pods that are left are beyond what is placed."""
    if not world.released:
        return world
    touched: list[Crew] = []
    for one in world.released:
        node = node_of(one.cluster, one.node)
        if one.kind == "allocation":
            ended = {node: one.places} if _ended_by_themselves(world, one) else {}
            world = tasks_given_up(world, one.subject, ended)
            touched += _crews(world, node, one.subject)
        elif one.kind == "deployment":
            touched += _crews(world, node, workload_of(one.subject))
            world = _missing(world, node, workload_of(one.subject))
    return recounted(world, touched)


def tasks_placed(world: World, job: Subject, nodes: Iterable[Subject]) -> World:
    """A decision placed tasks of a job on these nodes."""
    return recounted(world, [crew for node in sorted(nodes) for crew in _crews(world, node, job)])


def tasks_given_up(world: World, job: Subject, counts: Mapping[Subject, int]) -> World:
    """So many tasks of a job are over on these nodes: as many pods, the last ones, count no more."""
    touched: list[Crew] = []
    for node in sorted(counts):
        crews = _crews(world, node, job)
        # What is no job any more has pods of another kind now: those were never its tasks'.
        ours = [crew for crew in crews if crew.kind == "Job"]
        world = replace(world, pods=_given_up(world.pods, ours, counts[node]))
        touched += crews
    return recounted(world, touched)


def placed_anew(
    world: World, cluster: ClusterName, before: Deployed, after: Deployed
) -> tuple[World, list[Change]]:
    """A decision says where instances are: where some were given up, the last pods count no more.

    What changes in the book is for whoever takes the instances in, to be made in one.
    """
    ours = _crews_in(world, cluster, after.workload)
    if not (ours or world.pods.missing):
        return world, []
    was = Counter(one.node for one in before.instances)
    is_ = Counter(one.node for one in after.instances)
    workload = world.workload(after.workload)
    pods = world.pods
    touched: list[Crew] = []
    for name in sorted(was.keys() | is_.keys()):
        crews = ours.get(node_of(cluster, name), ())
        touched += crews
        if crews and workload is not None and workload.kind == "StatefulSet":
            kept = {one.number for one in after.instances if one.node == name}
            gone = {one.number for one in before.instances if one.node == name} - kept
            pods = _given_up_by_number(pods, crews, workload, gone)
        elif crews and was[name] > is_[name]:
            pods = _given_up(pods, crews, was[name] - is_[name])
    world = replace(world, pods=pods)
    if pods.missing:
        for name in sorted(was.keys() | is_.keys()):
            world = _missing(world, node_of(cluster, name), after.workload)
    return _recounting(world, touched)


def _seen(world: World, before: World, subject: Subject, *, same_life: bool = False) -> World:
    """The World with a pod in the crew that it belongs to now."""
    was, is_ = before.objects.fact("pod", subject), world.objects.fact("pod", subject)
    world = admissions.pod_changed(world, was, is_)
    pods = world.pods
    marked = subject in pods.given_up
    old = _counted(before.objects, pods, subject, was)
    crews: set[Crew] = set()
    if marked:
        pods, crews = _still_leaving(world, before, subject, same_life=same_life)
        if not same_life:
            pods = replace(pods, given_up=pods.given_up.delete(subject))
    new = _counted(world.objects, pods, subject, is_)
    pods = _exchanged(_listed(pods, subject, was, is_), subject, old, new)
    if pods is not world.pods:
        world = replace(world, pods=pods)
    # Also of one that stays: it may request something else.
    crews |= {crew for crew in (old, new) if crew is not None}
    if crews:
        world = may_be_short(recounted(world, crews), crews)
    if not same_life:
        world = proposals.pod_gone(world, subject)
    if old is not None and (new is None or not same_life):
        world = proposals.released(world, old.subject, [subject.rpartition("/")[2]])
    was_dying = isinstance(was, PodObserved) and _is_dying(was)
    if isinstance(was, PodObserved) and not (same_life or was_dying or marked):
        world = _ended(world, before.objects, was)
    begins_to_die = (
        isinstance(is_, PodObserved) and _is_dying(is_) and not (same_life and was_dying)
    )
    if isinstance(is_, PodObserved) and begins_to_die and subject not in world.pods.given_up:
        world = _ended(world, world.objects, is_)
    return world


def _ended(world: World, kept: Objects, fact: PodObserved) -> World:
    """A pod is about to be gone. A node that takes no new work loses the instance with it."""
    where = crew_of(kept, replace(fact, phase="Running", terminating=False))
    if where is None or decided(world, where) is None:
        return world
    world = _missing(world, where.node, where.owner, more=1)
    node = world.objects.fact("node", where.node)
    if not isinstance(node, NodeUpserted) or node.schedulable:
        return world
    return node_cordoned(world, where.node)


def _missing(world: World, node: Subject, owner: Subject, *, more: int = 0) -> World:
    """So many more pods of a workload ended on a node: as many instances are without, if there are."""
    if not more and node not in world.pods.missing:
        return world
    subject = subject_of(owner, ClusterName(node.partition("/")[0]))
    missing = world.pods.missing.get(node, _NO_INSTANCES).get(subject, 0) + more
    instances = world.deployments.on.get(node, _NO_INSTANCES).get(subject, 0)
    placed = instances + world.jobs.on.get(node, _NO_INSTANCES).get(owner, 0)
    seen = sum(len(world.pods.crews.get(crew, _NOBODY)) for crew in _crews(world, node, owner))
    missing = min(missing, instances, max(0, placed - seen))
    return replace(world, pods=with_missing(world.pods, node, subject, missing))


def _ended_by_themselves(world: World, released: Released) -> bool:
    """Whether tasks of a job that is there are over, and did not go with their node."""
    node = world.objects.fact("node", node_of(released.cluster, released.node))
    return (
        isinstance(node, NodeUpserted)
        and node.ready
        and world.workload(released.subject) is not None
    )


def _given_up(pods: Pods, crews: Iterable[Crew], count: int) -> Pods:
    """Without the last so many of these together, by name."""
    names = sorted((pod, crew) for crew in crews for pod in pods.crews.get(crew, _NOBODY))
    for pod, crew in names[::-1][:count]:
        pods = sightings.marked(pods, crew, pod)
    return pods


def _given_up_by_number(
    pods: Pods, crews: Iterable[Crew], workload: WorkloadUpserted, numbers: Collection[int]
) -> Pods:
    """Without those pods of a StatefulSet that are these instances, where they are seen."""
    for crew in crews:
        there_now = pods.crews.get(crew, _NOBODY)
        for name in sorted(_pod_of_set(workload, number) for number in numbers):
            if name in there_now:
                pods = sightings.marked(pods, crew, name)
    return pods


def _with_marks_settled(world: World, crews: Iterable[Crew]) -> World:
    """No more pods given up than there are pods beyond the places: the first by name count again."""
    pods = world.pods
    for crew in crews:
        leaving = pods.leaving.get(crew)
        workload = world.workload(crew.owner)
        if leaving is None or workload is None or workload.kind != crew.kind:
            continue
        if workload.kind == "StatefulSet":
            numbers = (one.number for one in there(world.deployments, crew.subject, crew.node))
            again = [
                name for number in numbers if (name := _pod_of_set(workload, number)) in leaving
            ]
        else:
            beyond_staying = _placed(world, crew) - len(pods.crews.get(crew, _NOBODY))
            again = sorted(leaving)[: max(0, beyond_staying)]
        for name in again:
            pods = sightings.unmarked(pods, crew, name)
    return world if pods is world.pods else replace(world, pods=pods)


def _still_leaving(
    world: World, before: World, subject: Subject, *, same_life: bool
) -> tuple[Pods, set[Crew]]:
    """A pod that was given up among those of its crew that are there, while it is; whose that is."""
    was, is_ = before.objects.fact("pod", subject), world.objects.fact("pod", subject)
    old = crew_of(before.objects, was) if isinstance(was, PodObserved) else None
    new = crew_of(world.objects, is_) if same_life and isinstance(is_, PodObserved) else None
    return _moved(world.pods, subject, old, new), {one for one in (old, new) if one is not None}


def _moved(pods: Pods, subject: Subject, old: Crew | None, new: Crew | None) -> Pods:
    """A pod that was given up among those of the other crew."""
    if old == new:
        return pods
    name = subject.rpartition("/")[2]
    pods = pods if old is None else with_leaving(pods, old, name, is_=False)
    return pods if new is None else with_leaving(pods, new, name, is_=True)


def _is_dying(fact: PodObserved) -> bool:
    return fact.terminating or fact.phase == "Failed"


def _owned(world: World, before: World, replicasets: Sequence[Subject]) -> World:
    """The World with the pods of these ReplicaSets in the crews that they belong to now.

    How many pods they were told to have may be another number, and nothing is known of that any more
    where they are gone.
    """
    pods = world.pods
    touched: set[Crew] = set()
    for replicaset in replicasets:
        for subject in sorted(pods.behind.get(replicaset, _NONE)):
            fact = world.objects.fact("pod", subject)
            if not isinstance(fact, PodObserved):
                continue
            old, new = crew_of(before.objects, fact), crew_of(world.objects, fact)
            if old != new:
                move = _moved if subject in pods.given_up else _exchanged
                pods = move(pods, subject, old, new)
                touched |= {crew for crew in (old, new) if crew is not None}
    world = recounted(replace(world, pods=pods), touched)
    for replicaset in replicasets:
        touched.update(_of_replicaset(world, replicaset))
    return may_be_short(world, touched)


def _of_replicaset(world: World, replicaset: Subject) -> list[Crew]:
    """The crews that its pods are in; in order."""
    found = {
        _counted(world.objects, world.pods, pod, world.objects.fact("pod", pod))
        for pod in world.pods.behind.get(replicaset, _NONE)
    }
    return sorted(crew for crew in found if crew is not None)


def _listed(
    pods: Pods, subject: Subject, was: objects.Upsert | None, is_: objects.Upsert | None
) -> Pods:
    """With a pod among those that name the ReplicaSet that it names now, and no other."""
    old = behind(was) if isinstance(was, PodObserved) else None
    new = behind(is_) if isinstance(is_, PodObserved) else None
    if old == new:
        return pods
    pods = pods if old is None else listed_behind(pods, old, subject, is_=False)
    return pods if new is None else listed_behind(pods, new, subject, is_=True)


def _exchanged(pods: Pods, subject: Subject, old: Crew | None, new: Crew | None) -> Pods:
    if old == new:
        return pods
    name = subject.rpartition("/")[2]
    pods = pods if old is None else left(pods, old, name)
    return pods if new is None else joined(pods, new, name)


def _counted(
    kept: Objects, pods: Pods, subject: Subject, fact: objects.Upsert | None
) -> Crew | None:
    if fact is None or subject in pods.given_up:
        return None
    assert isinstance(fact, PodObserved), f"{subject} is no pod"
    return crew_of(kept, fact)


def _judged_by_another(world: World, crew: Crew) -> bool:
    """Whether the pods of this owner are others, of the kind that the workload is of."""
    workload = world.workload(crew.owner)
    if workload is None or workload.kind == crew.kind:
        return False
    return crew._replace(kind=workload.kind) in world.pods.crews


def _placed(world: World, crew: Crew) -> int:
    """How many instances of a crew's workload are in force on its node."""
    instances = world.deployments.on.get(crew.node, _NO_INSTANCES).get(crew.subject, 0)
    return instances + world.jobs.on.get(crew.node, _NO_INSTANCES).get(crew.owner, 0)


def _crews(world: World, node: Subject, owner: Subject) -> list[Crew]:
    """The pods on a node that are, or were, of a workload; in order."""
    workload = world.workload(owner)
    return sorted(
        crew
        for crew in world.pods.on.get(node, _NOWHERE)
        if crew.owner == owner and crew.kind and (workload is None or workload.kind == crew.kind)
    )


def _crews_in(world: World, cluster: ClusterName, owner: Subject) -> dict[Subject, list[Crew]]:
    """The same for all nodes of a cluster at once, by node."""
    workload = world.workload(owner)
    found: dict[Subject, list[Crew]] = {}
    for crew in sorted(world.pods.of.get(owner, _NOWHERE)):
        if (
            crew.kind
            and crew.cluster == cluster
            and (workload is None or workload.kind == crew.kind)
        ):
            found.setdefault(crew.node, []).append(crew)
    return found


def _foreign(world: World, crew: Crew, names: Collection[str]) -> Holding:
    """What pods hold of which the ledger knows nothing else; a sum, in no order."""
    cpu = memory = storage = 0
    for name in names:
        fact = world.objects.fact("pod", crew.pod(name))
        if not isinstance(fact, PodObserved):
            # Where several go at once, each leaves its crew in its turn.
            continue
        cpu += fact.request.cpu
        memory += fact.request.memory
        storage += fact.request.storage
    return NO_HOLDING._replace(cpu=cpu, memory=memory, storage=storage, pods=len(names))


def _times(workload: WorkloadUpserted, count: int) -> Holding:
    """What so many pods hold; a task takes its cpu, an instance only where it is bound to cores."""
    request = workload.request
    takes_cpu = request.cpu_bind or workload.deploy is None
    return NO_HOLDING._replace(
        cpu=count * request.cpu if takes_cpu else 0,
        memory=count * request.memory,
        storage=count * request.storage,
        pods=count,
    )
