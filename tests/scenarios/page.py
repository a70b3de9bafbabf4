"""How a scenario page is read, played and written.

A page tells one story in the words of an operator. What happens stands above a line of dashes,
one event a line, and what the ledger made of it below, up to an empty line; then the story goes
on, with the same fleet. Lines that begin with ``#`` are for the reader.

    cluster m1 ready=no tier=gold          a cluster is there; what is not known is a label
    node m1/n1 cpu=4 memory=8              a node; memory and everything but cpu in whole numbers
    node m1/n2 cores=0:100,1:50 storage=9 schedulable=no
                                           what each core has; devices are disks=/a:10,/b:5
    gone node m1/n1                        it is gone
    pod m1/shop/web-1 node=n1 of=StatefulSet:web @cpu=1
                                           a pod is seen there; hash=, class=spot, phase=, terminating=yes,
                                           carries=shop/1/0
    admit m1/shop u1 of=ReplicaSet:web-7 hash=7
                                           a pod is about to be created; dry_run=yes, carries=, pin=spot,
                                           name=, index=, start=, can_list=yes, and as it was
                                           read for it wanted=3 of the workload and above=2 of
                                           its ReplicaSet
    listed u1 7 shop/1/0 shop/1/2          these are all of the template's pods that carry a reservation
    bypassed u1                            it was created without our answer
    inventory m1 pods shop/web-1           these are all pods of the cluster; replicasets
    gone pod m1/shop/web-1                 it is gone
    replicaset m1/shop/web-7 of=Deployment:web
                                           whose it is; replicas=3, how many pods it is to have
    reclaim m1/n1                          it is about to be taken away
    workload shop/web 6 m1=2 m2=1          six replicas by these weights; none: all alike
    workload shop/api 6 strategy=dynamic @memory=2 over=1..3 regions=2..
                                           by room; what each takes; over how many clusters, regions
    workload shop/db 5 strategy=none cluster=m1 deploy=AUTO available=2
                                           not divided, all on m1; placed on its nodes by AUTO; how
                                           many on demand. count=, limit=, global=, on=tier:gold say
                                           more of how it is deployed
    queue gold weight=2 guarantee=cpu:4    a queue; capability=cpu:8, open=no, reclaimable=no, priority=1
    quota ml/big weight=3                  a quota that says what its namespace weighs
    job ml/train 4 queue=gold @cpu=2 gang=2 priority=1 clusters=m1 on=tier:gold preemptable=no
                                           a job of four tasks, each of 2 cores (1 unless it says so)
    finished ml/train 0                    a task is done; all of them
    gone queue gold                        a queue, or a quota, is gone
    gone shop/web                          a workload, or a cluster, is gone
    reschedule shop/web fresh              decide again, from nothing
    policy hold=true grace.cluster_ms=50   other settings; fairshare.history=on, or a field of it
    disk m1/n1/d1 100 left=80 zone=a tags=ssd,hdd
                                           a disk of 100 bytes, 80 of them available; kept=, evicting=yes,
                                           allow=no, schedulable=no, node_tags=, node_ready=no,
                                           node_allow=no. Without a cluster: disk n1/d1. kept=policy
                                           is a default disk of which nothing is said
    volume pv 3x10 node_soft=yes alpha=1/2 three replicas of ten bytes; zone_soft=, disk_soft=, disks=tag,
                                           nodes=tag
    gone disk m1/n1/d1, gone volume pv     one is gone
    failed pv-r1 reusable                  a replica broke, and may come back
    recovered pv-r1                        and did; uid=, here and above, which volume of that name, or
                                           which node where one is reclaimed
    propose disks pv moves=2 bytes=20      what would make them more even? without a subject: of all
    approve 3                              what decision 3 proposed is to be done
    wait 5s                                nothing happens for a while

An event that did nothing says why; a decision says its number, what was decided about whom by
which rule, how many replicas moved and what made it due, then one line for each cluster; of a deployment,
each node with its instances, what they are bound to, who moved and who was given up; of a disk
placement each replica in force, how the disks of new ones were found, and what was released; of a round, each task
with its place and the share by which it was its turn, and how namespaces stand in their queues, and what
counted as used before. Tasks
that an event itself ended are said to be released.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, cast, get_args

from ledger.decisions.step import Step
from ledger.facts.admission import Admission
from ledger.facts.allocation import Allocation
from ledger.facts.capacity_class import CapacityClass
from ledger.facts.control import ProposalKind
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk import DiskType
from ledger.facts.disk_placement import DiskPlacement, InForce, Weighed
from ledger.facts.disk_placement import Step as Placing
from ledger.facts.division import ClusterShare, Division, Selection
from ledger.facts.event import Fact
from ledger.facts.eviction import Eviction
from ledger.facts.fair_share import RoundTold
from ledger.facts.incident import Incident
from ledger.facts.own import UserPin
from ledger.facts.policy import PolicyValue
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.facts.workload import (
    DeploySpec,
    DeployStrategy,
    DivisionStrategy,
    GlobalPolicy,
    PodPhase,
    WorkloadKind,
)
from ledger.units import NodeName
from tests.histories import (
    SECOND,
    History,
    admitted,
    approved,
    bypassed,
    cluster_gone,
    cluster_up,
    deployed,
    disk_gone,
    disk_up,
    divided,
    each_takes,
    finished,
    job_up,
    listed,
    node_gone,
    node_reclaimed,
    node_up,
    pod_gone,
    pod_seen,
    pods_listed,
    policy,
    queue_gone,
    queue_up,
    quota_gone,
    quota_up,
    replica_failed,
    replica_recovered,
    replicaset_up,
    requested,
    reschedule,
    volume_gone,
    volume_up,
    workload_gone,
    workload_up,
)

DASHES: Final = "----"

_UNITS: Final = {"ms": SECOND // 1000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND}


@dataclass(frozen=True, slots=True)
class Scene:
    """Some lines of a page that belong together."""

    told: tuple[str, ...]
    """What happens, and what is said about it, as written."""


def scenes(page: str) -> list[Scene]:
    """What happens in a page, without what followed from it."""
    found: list[Scene] = []
    told: list[str] = []
    answering = False
    for line in page.splitlines():
        if line == DASHES:
            answering = True
            found.append(Scene(tuple(told)))
            told = []
        elif answering:
            answering = line != ""
        else:
            told.append(line)
    assert not any(told), f"nothing is asked of the end of the page: {told}"
    return found


def played(page: str) -> str:
    """The page with what follows today."""
    history = History()
    lines: list[str] = []
    for scene in scenes(page):
        lines += [*scene.told, DASHES]
        for line in scene.told:
            if line and not line.startswith("#"):
                lines += _happened(history, line)
        lines.append("")
    return "\n".join(lines)


def lived(page: str) -> History:
    """What happens in a page, and what follows, for those who look at something else than it says."""
    history = History()
    for scene in scenes(page):
        for line in scene.told:
            if line and not line.startswith("#"):
                list(_happened(history, line))
    return history


def _happened(history: History, line: str) -> Iterator[str]:
    verb, *words = line.split()
    step = history.wait(_span(words[0])) if verb == "wait" else history.add(_fact(verb, words))
    if step.effect != "applied":
        yield f"{step.effect}: {line}"
    yield from _told(step)


def _told(step: Step) -> Iterator[str]:
    before = [made for made in step.decisions if made.deadline is not None]
    for made in before:
        yield from _decision(made)
    for kind, subject, number in step.ended:
        yield f"#{number} {kind} of {subject} ended"
    for one in step.released:
        if one.kind == "allocation":
            yield f"{one.subject} released {one.places} on {one.cluster}/{one.node}"
    for made in step.decisions[len(before) :]:
        yield from _decision(made)


def _decision(made: Decision) -> Iterator[str]:
    due = ", ".join(made.outcome.because)
    if made.deadline is not None:
        due += f" ({made.deadline.kind} of {made.deadline.subject} over)"
    after = "" if made.previous is None else f" after #{made.previous}"
    match made.outcome:
        case Division() as division:
            yield (
                f"#{made.number} {made.subject} {division.replicas} by {made.branch},"
                f" moved {made.moved}: {due}{after}"
            )
            if division.selection is not None:
                yield from _selection(division.selection)
            for share in division.shares:
                yield f"  {share.cluster} {share.previous} -> {share.replicas}{_why(division, share)}"
            for cluster, held in division.left:
                yield f"  {cluster} {held} -> left"
            if made.lot is not None and division.fairness is not None:
                lot, drawn = made.lot, " ".join(made.lot.draws)
                yield f"  lot {lot.workload}/{lot.epoch}: {division.fairness.drawn} {drawn}"
            yield from _losers(division)
        case CapacityClass() as target:
            flags = "".join(f", {flag}" for flag in target.flags)
            yield (
                f"#{made.number} {made.subject} on demand: {_or_none(target.previous)} ->"
                f" {_or_none(target.target)} of {target.share} by {made.branch}{flags}: {due}{after}"
            )
        case Admission() as admission:
            yield from _admission(made, admission, after)
        case Deployment() as deployment:
            yield (
                f"#{made.number} {made.subject} {len(deployment.instances)} of {deployment.share}"
                f" by {made.branch}, moved {made.moved}: {due}{after}"
            )
            yield from _deployment(deployment)
        case Incident() as incident:
            numbers = ", ".join(f"{name} {amount}" for name, amount in incident.numbers)
            yield (
                f"#{made.number} {made.subject} contradicts the book on {incident.node}:"
                f" {incident.what}, {numbers}{after}"
            )
        case DiskPlacement() as placement:
            yield (
                f"#{made.number} {made.subject} {len(placement.replicas)} of {placement.wanted}"
                f" by {made.branch}, moved {made.moved}: {due}{after}"
            )
            yield from _disk_placement(placement)
        case Repair() as repair:
            pods = repair.evict + repair.lower
            yield f"#{made.number} {made.subject} {len(pods)} to be {made.branch}: {due}{after}"
            for pod in pods:
                yield f"  {pod.namespace}/{pod.pod} on {pod.node}"
        case Proposal() as proposal:
            yield (
                f"#{made.number} {made.subject} could move {len(proposal.moves)} of {proposal.what},"
                f" {proposal.size} bytes, {proposal.measure} {_score(proposal.before)} ->"
                f" {_score(proposal.after)}, then {proposal.ended}: {due}{after}"
            )
            away = "lowered" if proposal.what == "surplus" else "evicted"
            for move in proposal.moves:
                yield (
                    f"  {move.thing} of {move.subject} {move.out} -> {move.into or away},"
                    f" {move.size} bytes: {move.score}"
                )
        case Allocation() as allocation:
            waiting = f", {allocation.waiting} wait" if allocation.waiting else ""
            full = ", the round is full" if allocation.full else ""
            yield (
                f"#{made.number} {made.subject} {len(allocation.tasks)} placed in"
                f" {allocation.queue} by {made.branch}, moved {made.moved}{waiting}{full}:"
                f" {due} {allocation.round.number}{after}"
            )
            for placed in allocation.tasks:
                turn = "" if placed.share is None else f" at {placed.share}"
                yield f"  {placed.task} on {placed.cluster}/{placed.node} by {placed.way}{turn}"
            yield from _shares(allocation.round)
        case Eviction() as eviction:
            yield (
                f"#{made.number} {made.subject} {len(eviction.tasks)} evicted in"
                f" {eviction.queue} by {made.branch}: {due} {eviction.round.number}{after}"
            )
            for evicted in eviction.tasks:
                yield (
                    f"  {evicted.task} from {evicted.cluster}/{evicted.node} by {evicted.way}"
                    f" for {evicted.taker} {evicted.taker_task}"
                )
                for ballot in evicted.ballots:
                    before = "" if ballot.before is None else f", before {ballot.before}"
                    yield f"    {ballot.voter} {ballot.rule}: {ballot.left}, {ballot.right}{before}"
            yield from _shares(eviction.round)
        case Refusal() as refusal:
            detail = "".join(f", {name} {amount}" for name, amount in refusal.detail)
            yield (
                f"#{made.number} {made.subject} refused: {refusal.reason}{detail},"
                f" waits for {refusal.waits_for}: {due}{after}"
            )
            yield from _losers(refusal)


def _admission(made: Decision, admission: Admission, after: str) -> Iterator[str]:
    flags = "".join(f", {flag}" for flag in admission.flags)
    carries = "" if admission.reservation is None else f" as {admission.reservation}"
    if admission.index is not None:
        why = f"ordinal {admission.index} of {_or_none(admission.target)}"
    else:
        why = f"{admission.on_demand} of {_or_none(admission.target)} on demand, {admission.live} live"
    yield (
        f"#{made.number} {made.subject} admits {admission.admission_uid} to"
        f" {admission.capacity_class or 'anything'}{carries} by {made.branch}: {why}{flags}{after}"
    )
    for name in admission.retired:
        yield f"  {name} given up"
    for name in admission.assumed_lost:
        yield f"  {name} taken for lost"


def _deployment(deployment: Deployment) -> Iterator[str]:
    there: dict[str, list[int]] = {}
    for instance in deployment.instances:
        there.setdefault(instance.node, []).append(instance.number)
    changes = {change.node: change for change in deployment.changes}
    for node in sorted(there.keys() | changes.keys()):
        numbers = " ".join(str(number) for number in there.get(node, []))
        change = changes.get(NodeName(node))
        told = "" if change is None else _signed(change.added, change.removed)
        yield f"  {node}:{' ' if numbers else ''}{numbers}{told}"
    for instance in deployment.instances:
        if instance.cores:
            cores = " ".join(f"{core}:{pieces}" for core, pieces in instance.cores)
            near = f" in {instance.group}" if instance.group else ""
            yield f"  {instance.number} on cores {cores}{near}"
        for volume in instance.volumes:
            yield f"  {instance.number} with {volume.text} on {volume.device} {volume.size}"
    for move in deployment.moves:
        yield f"  {move.number} {move.out} -> {move.into}: {move.why}"
    if deployment.given_up:
        told = " ".join(f"{number}@{node}" for number, node in deployment.given_up)
        yield f"  given up: {told}"
    if deployment.waiting:
        yield f"  waiting: {' '.join(f'{number}@{node}' for number, node in deployment.waiting)}"
    if deployment.ordered:
        yield "  the order is open"
    for node, why in deployment.losers.named:
        yield f"  {node} {why}"


def _shares(told: RoundTold) -> Iterator[str]:
    if told.total is not None:
        amounts = told.total._asdict().items()
        yield "  of " + " ".join(f"{resource} {amount}" for resource, amount in amounts if amount)
    for namespace, weight in told.weights:
        yield f"  {namespace} by {weight}"
    for share in told.shares:
        yield (
            f"  {share.queue}/{share.namespace} {share.resource}: {share.allocated} of"
            f" {share.requested}, deserves {share.deserved}"
        )
    for one in told.past:
        yield f"  {one.queue}/{one.namespace} {one.resource}: {one.charged} for past use"


def _signed(added: int, removed: int) -> str:
    return (f" +{added}" if added else "") + (f" -{removed}" if removed else "")


def _score(score: Fraction | None) -> str:
    return "undefined" if score is None else str(score)


def _or_none(target: int | None) -> str:
    return "none" if target is None else str(target)


def _disk_placement(placement: DiskPlacement) -> Iterator[str]:
    if placement.size != placement.previous_size:
        yield f"  size {placement.previous_size} -> {placement.size}"
    found = {step.replica: step for step in placement.steps}
    for one in placement.replicas:
        there = f"  {one.replica} {_address(one)}"
        yield there if one.replica not in found else f"{there}{_step(found.pop(one.replica))}"
    for gone in placement.released:
        yield f"  released {gone.replica} {gone.node}/{gone.disk}: {gone.why}"
    for step in placement.steps:
        for why in step.losers.named:
            yield f"  {step.replica} not on {why[0]}: {why[1]}"


def _address(one: InForce) -> str:
    return "/".join(filter(None, (one.cluster, one.node, one.disk)))


def _step(step: Placing) -> str:
    why = step.why if step.instead is None else f"{step.why} {step.instead}"
    line = f" ({why}) {step.rung}, {step.rule} of {step.candidates}"
    if step.overcommitted:
        line += ", overcommitted"
    if step.disks:
        line += f": nodes {_weighed(step.nodes)}, disks {_weighed(step.disks)}"
    return line


def _weighed(stage: tuple[Weighed, ...]) -> str:
    return " ".join(f"{one.name}={one.score}" for one in stage)


def _why(division: Division, share: ClusterShare) -> str:
    if division.fairness is not None:
        line = f" of {share.floor}"
        if share.remainder:
            line += f" {Fraction(share.remainder, division.fairness.open_weight)}"
        line += "+" if share.residual else ""
    else:
        line = "" if share.weight is None else f" by {share.weight}"
    if share.available is not None:
        line += f", room for {share.available}"
        line += "" if share.odds is None else f", drawn by {share.odds}"
    return line


def _selection(selection: Selection) -> Iterator[str]:
    for region in selection.regions:
        yield f"  region {region.region} {region.score}: {region.why}"
    for swap in selection.swaps:
        yield f"  {swap.out} gives its place to {swap.into}: room for {swap.room}"
    for one in selection.chosen:
        yield f"  chosen {one.cluster} {one.score}/{one.room}: {one.why}"


def _losers(outcome: Division | Refusal) -> Iterator[str]:
    for cluster, why in outcome.losers.named:
        yield f"  {cluster} {why}"


def _fact(verb: str, words: list[str]) -> Fact:
    match verb, words:
        case "cluster", [name, *more]:
            told = _settings(more)
            return cluster_up(
                name,
                ready=told.pop("ready", "yes") == "yes",
                region=told.pop("region", ""),
                uid=told.pop("uid", None),
                revision=_whole(told.pop("revision", None)),
                labels=told,
            )
        case "node", [key, *more]:
            told = _settings(more)
            return node_up(
                *key.split("/"),
                ready=told.pop("ready", "yes") == "yes",
                schedulable=told.pop("schedulable", "yes") == "yes",
                cores={core: int(pieces) for core, pieces in _pairs(told.pop("cores", "")).items()},
                cpu=1000 * int(told.pop("cpu", "4")),
                memory=int(told.pop("memory", "0")),
                numa=_pairs(told.pop("numa", "")),
                numa_memory={
                    group: int(size) for group, size in _pairs(told.pop("near", "")).items()
                },
                storage=int(told.pop("storage", "0")),
                uid=told.pop("uid", None),
                pods=_whole(told.pop("pods", None)),
                volumes={name: int(size) for name, size in _pairs(told.pop("disks", "")).items()},
                labels=told,
            )
        case "queue", [name, *more]:
            told = _settings(more)
            return queue_up(
                name,
                weight=int(told.pop("weight", "1")),
                capability=_amounts(told.pop("capability", "")),
                guarantee=_amounts(told.pop("guarantee", "")),
                is_open=told.pop("open", "yes") == "yes",
                reclaimable=told.pop("reclaimable", "yes") == "yes",
                priority=int(told.pop("priority", "0")),
                uid=told.pop("uid", None),
            )
        case "quota", [key, *more]:
            weight = _settings(more).pop("weight", None)
            is_one = weight is None or weight.isdecimal()
            return quota_up(key, weight=_whole(weight) if is_one else weight)
        case "job", [key, tasks, *more]:
            told = _settings(more)
            clusters = _names(told.pop("clusters", ""))
            return job_up(
                key,
                int(tasks),
                told.pop("queue", None),
                cpu=int(1000 * Fraction(told.pop("@cpu", "1"))),
                memory=int(told.pop("@memory", "0")),
                gang=int(told.pop("gang", "1")),
                priority=int(told.pop("priority", "0")),
                preemptable=told.pop("preemptable", "yes") == "yes",
                uid=told.pop("uid", None),
                division=divided(clusters=clusters) if clusters else None,
                selector=_pairs(told.pop("on", "")),
            )
        case "finished", [key, *more]:
            return finished(key, int(more[0]) if more else None)
        case "gone", ["queue", name]:
            return queue_gone(name)
        case "gone", ["quota", key]:
            return quota_gone(key)
        case "reclaim", [key, *more]:
            return node_reclaimed(*key.split("/"), uid=_settings(more).pop("uid", None))
        case "workload", [key, replicas, *more]:
            told = _settings(more)
            request = each_takes(
                cpu=int(1000 * Fraction(told.pop("@cpu", "0"))),
                bind=told.pop("@bind", "no") == "yes",
                memory=int(told.pop("@memory", "0")),
                storage=int(told.pop("@storage", "0")),
                volumes=_names(told.pop("@volumes", "")),
            )
            uid, revision = told.pop("uid", None), _whole(told.pop("revision", None))
            kind = told.pop("kind", "Deployment")
            assert kind in get_args(WorkloadKind)
            strategy = told.pop("strategy", "static")
            assert strategy in get_args(DivisionStrategy) or strategy == "none"
            queue = told.pop("queue", None)
            cluster, available = told.pop("cluster", None), told.pop("available", None)
            deploy = _deploy(told)
            wish = None
            if strategy != "none":
                wish = divided(
                    strategy=cast("DivisionStrategy", strategy),
                    clusters=_names(told.pop("clusters", "")),
                    selector=_pairs(told.pop("selector", "")),
                    over_clusters=_bounds(told.pop("over", None)),
                    over_regions=_bounds(told.pop("regions", None)),
                    caps={name: int(cap) for name, cap in _pairs(told.pop("caps", "")).items()},
                    weights={name: int(weight) for name, weight in told.items()},
                )
            return workload_up(
                key,
                int(replicas),
                wish,
                uid=uid,
                revision=revision,
                kind=cast("WorkloadKind", kind),
                queue=queue,
                request=request,
                cluster=cluster,
                deploy=deploy,
                min_available=available,
            )
        case "pod", [key, *more]:
            told = _settings(more)
            phase = told.pop("phase", "Running")
            assert phase in get_args(PodPhase)
            return pod_seen(
                *key.split("/"),
                uid=told.pop("uid", None),
                owner=_owner(told.pop("of", None)),
                template_hash=told.pop("hash", ""),
                capacity_class=told.pop("class", ""),
                reservation=told.pop("carries", None),
                node=told.pop("node", None),
                phase=cast("PodPhase", phase),
                terminating=told.pop("terminating", "no") == "yes",
                request=each_takes(
                    cpu=1000 * int(told.pop("@cpu", "0")), memory=int(told.pop("@memory", "0"))
                ),
            )
        case "admit", [key, uid, *more]:
            told = _settings(more)
            owner, pin = _owner(told.pop("of")), told.pop("pin", None)
            assert owner is not None
            assert pin is None or pin in get_args(UserPin)
            name, namespace = key.split("/")
            return admitted(
                uid,
                name,
                namespace,
                owner,
                told.pop("hash", ""),
                dry_run=told.pop("dry_run", "no") == "yes",
                carried=told.pop("carries", None),
                user_pin=cast("UserPin | None", pin),
                name=told.pop("name", None),
                pod_index=told.pop("index", None),
                ordinals_start=_whole(told.pop("start", None)),
                can_list=told.pop("can_list", "no") == "yes",
                replicas=_whole(told.pop("wanted", None)),
                replicaset_replicas=_whole(told.pop("above", None)),
            )
        case "listed", [uid, template, *names]:
            return pods_listed(uid, template, names)
        case "bypassed", [uid]:
            return bypassed(uid)
        case "inventory", [name, "pods", *keys]:
            return listed(name, "pod", keys)
        case "inventory", [name, "replicasets", *keys]:
            return listed(name, "replicaset", keys)
        case "gone", ["pod", key]:
            return pod_gone(*key.split("/"))
        case "replicaset", [key, *more]:
            cluster, namespace, name = key.split("/")
            told = _settings(more)
            count = int(told.pop("replicas", "1"))
            return replicaset_up(cluster, namespace, name, _owner(told.get("of")), replicas=count)
        case "disk", [key, maximum, *more]:
            told = _settings(more)
            disk_type = told.pop("type", "filesystem")
            assert disk_type in get_args(DiskType)
            return disk_up(
                *_three(key),
                maximum=int(maximum),
                available=_whole(told.pop("left", None)),
                reserved=_whole(None if (kept := told.pop("kept", "0")) == "policy" else kept),
                zone=told.pop("zone", ""),
                uid=told.pop("uid", None),
                revision=_whole(told.pop("revision", None)),
                type_=cast("DiskType", disk_type),
                tags=_names(told.pop("tags", "")),
                node_tags=_names(told.pop("node_tags", "")),
                allow=told.pop("allow", "yes") == "yes",
                schedulable=told.pop("schedulable", "yes") == "yes",
                evicting=told.pop("evicting", "no") == "yes",
                node_ready=told.pop("node_ready", "yes") == "yes",
                node_allow=told.pop("node_allow", "yes") == "yes",
            )
        case "volume", [name, wanted, *more]:
            told = _settings(more)
            replicas, size = wanted.split("x")
            alpha = told.pop("alpha", None)
            return volume_up(
                name,
                int(replicas),
                size=int(size),
                uid=told.pop("uid", None),
                alpha=None if alpha is None else Fraction(alpha),
                disk_selector=_names(told.pop("disks", "")),
                node_selector=_names(told.pop("nodes", "")),
                node_soft=_yes_or_no(told.pop("node_soft", None)),
                zone_soft=_yes_or_no(told.pop("zone_soft", None)),
                disk_soft=_yes_or_no(told.pop("disk_soft", None)),
            )
        case "failed", [name, *more]:
            told = _settings(word for word in more if word != "reusable")
            return replica_failed(name, reusable="reusable" in more, uid=told.pop("uid", None))
        case "recovered", [name, *more]:
            return replica_recovered(name, uid=_settings(more).pop("uid", None))
        case "gone", ["disk", key]:
            return disk_gone(*_three(key))
        case "gone", ["volume", name, *more]:
            return volume_gone(name, uid=_settings(more).pop("uid", None))
        case "gone", ["node", key]:
            return node_gone(*key.split("/"))
        case "gone", [key, *more]:
            told = _settings(more)
            uid, revision = told.pop("uid", None), _whole(told.pop("revision", None))
            gone = workload_gone if "/" in key else cluster_gone
            return gone(key, uid=uid, revision=revision)
        case "reschedule", [key, *more]:
            return reschedule(key, fresh=more == ["fresh"])
        case "propose", [kind, *more]:
            assert kind in get_args(ProposalKind)
            told = _settings(word for word in more if "=" in word)
            return requested(
                cast("ProposalKind", kind),
                next((word for word in more if "=" not in word), None),
                max_moves=_whole(told.pop("moves", None)),
                max_bytes=_whole(told.pop("bytes", None)),
            )
        case "approve", [number]:
            return approved(int(number))
        case "policy", more:
            return policy({path: _setting(path, text) for path, text in _settings(more).items()})
        case _:
            raise AssertionError(f"nobody knows how to {verb} {words}")


def _amounts(text: str) -> dict[str, int]:
    """Cpu in cores, everything else as it is."""
    return {
        name: int(amount) * (1000 if name == "cpu" else 1) for name, amount in _pairs(text).items()
    }


def _deploy(told: dict[str, str]) -> DeploySpec | None:
    strategy = told.pop("deploy", None)
    if strategy is None:
        return None
    assert strategy in get_args(DeployStrategy)
    policy = told.pop("global", None)
    assert policy is None or policy in get_args(GlobalPolicy)
    return deployed(
        cast("DeployStrategy", strategy),
        count=int(told.pop("count", "1")),
        nodes_limit=int(told.pop("limit", "0")),
        policy=cast("GlobalPolicy | None", policy),
        max_share=int(told.pop("max_share", "-1")),
        selector=_pairs(told.pop("on", "")),
    )


def _three(key: str) -> tuple[str, str, str]:
    """Cluster, node and disk; a fleet that does not name its cluster leaves it out."""
    *cluster, node, disk = key.split("/")
    return "".join(cluster), node, disk


def _settings(words: Iterable[str]) -> dict[str, str]:
    return dict(_pair(word, "=") for word in words)


def _owner(text: str | None) -> tuple[str, str] | None:
    return None if text is None else _pair(text, ":")


def _pairs(text: str) -> dict[str, str]:
    return dict(_pair(word, ":") for word in _names(text))


def _names(text: str) -> list[str]:
    return text.split(",") if text else []


def _pair(word: str, mark: str) -> tuple[str, str]:
    name, found, value = word.partition(mark)
    assert found, f"{word} says nothing of the form name{mark}value"
    return name, value


def _bounds(text: str | None) -> tuple[int, int | None] | None:
    if text is None:
        return None
    least, _, most = text.partition("..")
    return int(least), int(most) if most else None


def _yes_or_no(text: str | None) -> bool | None:
    return None if text is None else text == "yes"


def _whole(text: str | None) -> int | None:
    return None if text is None else int(text)


def _setting(path: str, text: str) -> PolicyValue:
    if path in {"fairshare.job_order", "fairshare.voters.preempt", "fairshare.voters.reclaim"}:
        return None if text == "null" else tuple(_names(text))
    if path == "fairshare.history" and text == "on":
        return True
    return _value(text)


def _value(text: str) -> PolicyValue:
    words: dict[str, PolicyValue] = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    if "/" in text:
        return Fraction(text)
    return int(text) if text.isdecimal() else text


def _span(text: str) -> int:
    digits = text.rstrip("smh")
    return int(digits) * _UNITS[text.removeprefix(digits)]
