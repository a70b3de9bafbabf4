"""What happens to instances: whose share changed, what was lost, and who is to be asked therefore.

The share of a workload on a cluster is what its division in force gives it there, or all replicas
on the cluster that it names instead of a division. Only workloads that say how they are deployed
have one; jobs with a queue never do. A share that changed asks for a deployment, and so does an edit
of what an instance takes or of how it is deployed, a lost instance, and a node that is about to be
taken away. A workload that says how many of its instances belong on on-demand nodes is asked for
that first.

An instance is lost with its node: when that is removed, when another life takes its name, or when
it has been not ready for the policy's ``grace.node_ms``. The event or deadline that loses it
releases its room at once, also under ``hold``; its number waits for another place and does not come
back with the node. Cordoning a node alone loses nothing.

An order for so many instances on each node (EACH) is open from the moment at which the share rises
above nothing, or the order is edited, until it is served; a share of nothing forgets it.

When the life of a workload is over, what it holds stays until a decision gives it up; until then it is
remembered what was decided about it, even if the workload is forgotten before. The life after it holds
nothing of that: without a share it is asked nothing, whatever happens to it. What was lost and is not
wanted any more is given up by a decision too, so that decisions alone tell what is where. A refusal ends by
the event itself where a decision would be about nothing.
"""

from collections.abc import Callable, Sequence
from typing import Final

from immutables import Map

from ledger.facts.deployment import Waiting
from ledger.facts.reason import Deadline
from ledger.facts.workload import WorkloadUpserted
from ledger.reducers import deadlines, deficits, instances, jobs, proposals, retries
from ledger.reducers.annotations import readable
from ledger.reducers.book import Change
from ledger.reducers.candidates import wish
from ledger.reducers.instances import (
    Deployed,
    Deployments,
    exchanged,
    node_of,
    subject_of,
    there,
    with_deployed,
)
from ledger.reducers.objects import Key
from ledger.reducers.replacing import replace
from ledger.reducers.rooms import claims_replaced, with_holdings
from ledger.reducers.world import Causes, Ended, Question, Released, World
from ledger.units import ClusterName, Replicas, Subject

Counted = Callable[[World], tuple[World, list[Change]]]
"""The World in which it is known what others hold beside instances, and what changes with that."""

_NOWHERE: Final[Map[ClusterName, None]] = Map()
_NO_CAUSE: Final[Causes] = frozenset()
_EDITED: Final[Causes] = frozenset({"edited"})
_SHARE: Final[Causes] = frozenset({"share"})
_TARGET: Final[Causes] = frozenset({"target"})


def _uncounted(world: World) -> tuple[World, list[Change]]:
    return world, []


def hook(subject: Subject) -> retries.Hook:
    """What a refused subject waits for, as it is listed."""
    return "nodes", subject.rpartition("@")[2]


def shares(world: World, workload: Subject) -> dict[ClusterName, Replicas]:
    """How many instances a workload is to have on the nodes of each cluster; none is not listed."""
    fact = world.workload(workload)
    if fact is None or fact.deploy is None or (fact.kind == "Job" and fact.queue is not None):
        return {}
    if wish(fact) is not None:
        last = world.divisions.last.get(workload)
        if last is None or not last.in_force:
            return {}
        return {share.cluster: share.replicas for share in last.division.shares if share.replicas}
    if fact.cluster is None or not fact.replicas:
        return {}
    return {fact.cluster: fact.replicas}


def upserted(world: World, workload: Subject, before: WorkloadUpserted | None) -> World:
    """A workload is there, or was edited; ``before`` is what the same life said."""
    fact = world.workload(workload)
    assert fact is not None, f"{workload} is not there"
    if readable(fact.min_available) and fact.min_available is not None:
        annotations = world.deployments.annotations
        if annotations.get(workload) != fact.min_available:
            annotations = annotations.set(workload, fact.min_available)
            world = _with(world, replace(world.deployments, annotations=annotations))
    causes: Causes = _NO_CAUSE
    if before is not None and (before.request, before.deploy) != (fact.request, fact.deploy):
        causes = _EDITED
    return shared(
        world,
        workload,
        causes,
        reordered=before is not None and _order(before) != _order(fact),
        retargeted=before is not None
        and (before.min_available, before.kind) != (fact.min_available, fact.kind),
    )


def shared(
    world: World,
    workload: Subject,
    causes: Causes = _NO_CAUSE,
    *,
    reordered: bool = False,
    retargeted: bool = False,
) -> World:
    """The World with the shares of a workload as they are to be now; who is touched is due."""
    wanted = shares(world, workload)
    known = world.deployments.clusters.get(workload, _NOWHERE)
    fact = world.workload(workload)
    for cluster in sorted(known.keys() | wanted.keys()):
        subject = subject_of(workload, cluster)
        before = world.deployments.of.get(subject)
        share = wanted.get(cluster, Replicas(0))
        if before is None:
            if not share:
                continue
            assert fact is not None
            before = Deployed(workload, cluster, fact.uid, 0)
        because = causes if share == before.share else causes | _SHARE
        ordered = False
        if share and fact is not None and fact.deploy is not None:
            each = fact.deploy.strategy == "EACH"
            ordered = each and (before.ordered or reordered or not before.share)
        otherwise = retargeted or share != before.share
        after = before._replace(
            share=share,
            ordered=ordered,
            waiting=before.waiting if share else (),
            target=None if otherwise else before.target,
        )
        if after != before:
            world = _put(world, subject, after)
        if otherwise and before.instances:
            world = proposals.may_be_short(world, [subject])
        if because and (share or ((after.instances or after.lost) and not after.over)):
            world = _ask(world, Question("deployment", subject), because)
        if share and fact is not None and fact.min_available is not None:
            touched = because | _EDITED if retargeted else because
            if touched:
                world = _ask(world, Question("capacity_class", subject), touched)
        if retargeted and Question("deployment", subject) in world.refusals:
            world = retries.mark(world, Question("deployment", subject), _TARGET)
    return world


def other_targets(world: World) -> World:
    """How many belong on on-demand nodes depends on something else now: it is not known of anybody."""
    of = world.deployments.of.mutate()
    for subject, before in world.deployments.of.items():
        # In no order, into a map that has none.
        if before.target is not None:
            of[subject] = before._replace(target=None)
    return _with(world, replace(world.deployments, of=of.finish()))


def targeted(world: World, subject: Subject, target: int | None) -> World:
    """A decision says how many instances of a workload in a cluster belong on on-demand nodes."""
    before = world.deployments.of[subject]
    return _with_deployed(world, subject, before._replace(target=target))


def life_over(world: World, workload: Subject) -> World:
    """A workload is gone, or another takes its name: what it holds is to be given up.

    What it was to be asked once ``hold`` is lifted, the other one is not.
    """
    deployments = world.deployments
    known = deployments.clusters.get(workload)
    if workload in deployments.annotations:
        world = _with(
            world,
            replace(deployments, annotations=deployments.annotations.delete(workload)),
        )
    if known is None:
        return world
    for cluster in sorted(known):
        subject = subject_of(workload, cluster)
        for question in (Question("deployment", subject), Question("capacity_class", subject)):
            if question in world.waiting:
                world = replace(world, waiting=world.waiting.delete(question))
        targets = world.deployments.targets
        if subject in targets:
            world = _with(world, replace(world.deployments, targets=targets.delete(subject)))
        before = world.deployments.of.get(subject)
        if before is None:
            continue
        world = proposals.all_released(world, subject)
        world = _put(world, subject, before._replace(share=0, waiting=(), ordered=False, over=True))
        if before.instances or before.lost:
            world = _ask(world, Question("deployment", subject), frozenset({"gone"}))
    return world


def forgotten(world: World, workload: Subject) -> World:
    """Without what was decided about a workload of which nothing is known, where it holds nothing."""
    known = Key("workload", workload) in world.objects.known
    if known or workload not in world.deployments.clusters:
        return world
    left, gone = instances.forgotten(world.deployments, workload)
    latest = world.latest
    for subject in gone:
        latest = latest.delete(subject) if subject in latest else latest
    return replace(world, deployments=left, latest=latest)


def nodes_lost(world: World, nodes: Sequence[Subject]) -> World:
    """Whatever is on these nodes is lost."""
    world = proposals.targets_gone(jobs.nodes_lost(world, nodes), nodes)
    for node in nodes:
        seated = world.deployments.on.get(node)
        for subject in sorted(seated or ()):
            gone = there(world.deployments, subject, node)
            world = _lost(world, subject, {one.number for one in gone})
    return world


def node_ready(world: World, node: Subject, *, was: bool, is_: bool) -> World:
    """A node is ready or not: what is on it is lost once it has been not ready for too long."""
    grace = world.rooms.graces.get(node)
    if is_ or not was:
        return node_settled(world, node) if is_ and grace is not None else world
    milliseconds = world.policy.grace.node_ms
    if milliseconds == 0:
        return nodes_lost(world, [node])
    deadline = Deadline(deadlines.after(world.now, milliseconds), "node_grace", node)
    rooms = replace(world.rooms, graces=world.rooms.graces.set(node, deadline))
    return replace(world, rooms=rooms, deadlines=deadlines.put(world.deadlines, deadline))


def pods_lost(
    world: World, subject: Subject, node: Subject, count: int, *, alive: frozenset[int]
) -> World:
    """Pods went and will not come back there: as many instances go with them.

    First those that are not known to be ``alive``, and of these the last numbers.
    """
    numbers = [one.number for one in there(world.deployments, subject, node)]
    last = sorted(numbers, key=lambda number: (number in alive, -number))
    return _lost(world, subject, {*last[:count]})


def node_settled(world: World, node: Subject) -> World:
    """A node is ready again, or gone: nothing runs out for it any more."""
    grace = world.rooms.graces.get(node)
    if grace is None:
        return world
    rooms = replace(world.rooms, graces=world.rooms.graces.delete(node))
    return replace(world, rooms=rooms, deadlines=deadlines.take_back(world.deadlines, grace))


def node_grace_over(world: World, deadline: Deadline) -> World:
    """A node has been not ready for too long."""
    assert world.rooms.graces[deadline.subject] == deadline, f"{deadline} fired and was not set"
    return nodes_lost(node_settled(world, deadline.subject), [deadline.subject])


def node_reclaiming(world: World, node: Subject) -> World:
    """A node is about to be taken away: who sits there is asked for other places."""
    for subject in sorted(world.deployments.on.get(node) or ()):
        world = _ask(world, Question("deployment", subject), frozenset({"reclaiming"}))
    return world


def decided(
    world: World,
    subject: Subject,
    after: Deployed,
    *,
    complete: bool,
    counted: Counted = _uncounted,
) -> World:
    """A decision says what a subject has now, in the place of all that it had.

    What else holds something of these nodes is ``counted`` anew with it, so that nothing seems to
    grow that is only held by somebody else now.
    """
    before = world.deployments.of.get(subject)
    held = () if before is None else before.instances
    moved, more = counted(_with_deployed(world, subject, after))
    moved = with_holdings(moved, [*exchanged(after.cluster, held, after.instances), *more])
    if complete or subject not in moved.deployments.of:
        moved = retries.end_refusal(moved, Question("deployment", subject), hook(subject))
    return claims_replaced(world, moved, after.workload, only=after.cluster)


def _lost(world: World, subject: Subject, numbers: set[int]) -> World:
    """Instances are lost: their room is free, and their numbers wait."""
    before = world.deployments.of[subject]
    gone = [one for one in before.instances if one.number in numbers]
    world = proposals.released(world, subject, [str(one.number) for one in gone])
    waiting = before.waiting
    if before.share and not before.over:
        more = [Waiting(one.number, one.node) for one in gone]
        waiting = tuple(sorted((*waiting, *more)))
    kept = tuple(one for one in before.instances if one.number not in numbers)
    after = before._replace(
        instances=kept, waiting=waiting, lost=(*before.lost, *(one.node for one in gone))
    )
    here = world
    world = with_holdings(_put(world, subject, after), exchanged(before.cluster, gone, ()))
    world = claims_replaced(here, world, before.workload, only=before.cluster)
    if before.number is not None:
        counts: dict[Subject, Released] = {}
        for one in gone:
            node = node_of(before.cluster, one.node)
            count = counts[node].places if node in counts else 0
            counts[node] = Released(
                "deployment", subject, before.number, before.cluster, one.node, count + 1
            )
        world = replace(
            world, released=(*world.released, *(counts[node] for node in sorted(counts)))
        )
    if waiting:
        world = _ask(world, Question("deployment", subject), frozenset({"lost"}))
    return world


def _put(world: World, subject: Subject, after: Deployed) -> World:
    """The World with what a subject has by now; who is to have nothing any more waits for nothing."""
    world = _with_deployed(world, subject, after)
    return world if subject in world.deployments.of else _unrefused(world, subject)


def _unrefused(world: World, subject: Subject) -> World:
    """The World without the refusal of a subject, which ends by itself."""
    question = Question("deployment", subject)
    if question not in world.refusals:
        return world
    number = world.refusals[question].number
    world = retries.end_refusal(world, question, hook(subject))
    return replace(world, ended=(*world.ended, Ended("refusal", subject, number)))


def _with_deployed(world: World, subject: Subject, after: Deployed) -> World:
    world = _with(world, with_deployed(world.deployments, subject, after))
    if not (after.share or after.instances):
        world = deficits.forgotten(world, subject)
    return world if subject in world.deployments.of else forgotten(world, after.workload)


def _with(world: World, deployments: Deployments) -> World:
    return replace(world, deployments=deployments)


def _ask(world: World, question: Question, causes: Causes) -> World:
    due = world.due.set(question, world.due.get(question, _NO_CAUSE) | causes)
    return replace(world, due=due)


def _order(fact: WorkloadUpserted) -> tuple[object, ...] | None:
    """What an order for so many on each node says."""
    deploy = fact.deploy
    return None if deploy is None else (deploy.strategy, deploy.count, deploy.nodes_limit)
