"""Where a cluster's share of a workload goes: from the World to the core's questions, and back.

What a subject does not want any more is given up before anybody is asked (``give_up``,
``ledger.decisions.scale_down``). It does not wait for what the same division gives to another
cluster: that is another subject, and if it is refused there the room here is free all the same.
For what it lacks it takes a turn (``ledger.decisions.deployment_turn``), unless what it waits for is
plainly not to be had. What is recorded of that is said in ``ledger.decisions.deployment_record``.
"""

from collections import Counter
from itertools import repeat

from ledger.decisions.answer import Answered, GivenUp
from ledger.decisions.capacity_class import target_of
from ledger.decisions.columns import columns
from ledger.decisions.deployment_record import answers
from ledger.decisions.deployment_turn import Turn, split
from ledger.decisions.nodes import nodes_of
from ledger.decisions.refused_edits import more_move_than_fit, within_limit
from ledger.decisions.room import Wanted, counted, wanted
from ledger.decisions.scale_down import numbered_below, reduced
from ledger.errors import InvalidRequest
from ledger.facts.deployment import Instance, Terms, Waiting
from ledger.facts.reason import RETRIED
from ledger.facts.workload import DeploySpec, WorkloadUpserted
from ledger.reducers import deployments, pods
from ledger.reducers.instances import Deployed, node_of, workload_of
from ledger.reducers.world import Causes, Question, World
from ledger.units import Bytes


def give_up(world: World, question: Question, causes: Causes) -> GivenUp | None:
    """What the subject does not want any more is free at once; None if it wants all it has."""
    subject = question.subject
    held = world.deployments.of.get(subject)
    if held is None or not (held.instances or held.waiting or held.lost):
        return None
    workload = world.workload(workload_of(subject))
    unwanted = held.over or not held.share
    left = ((), ()) if unwanted else _within_share(world, held, workload)
    if left == (held.instances, held.waiting) and not (unwanted and held.lost):
        return None
    uid = workload.uid if workload is not None and held.over else held.uid
    after = held._replace(instances=left[0], waiting=left[1], lost=(), uid=uid, over=False)
    without = deployments.decided(world, subject, after, complete=False)
    if after.share and _wants_more(world, after, workload, causes):
        return GivenUp(without)
    return GivenUp(without, answer(world, without, question, causes))


def answer(before: World, world: World, question: Question, causes: Causes) -> tuple[Answered, ...]:
    """Take the subject's turn; nothing where there is nothing to record."""
    subject = question.subject
    was = before.deployments.of.get(subject)
    if was is None:
        return ()
    here = world.deployments.of.get(subject)
    if here is None:
        here = was._replace(share=0, instances=(), waiting=(), lost=(), ordered=False)
    if RETRIED.issuperset(causes) and _in_vain(world, here):
        return ()
    turn = Turn(before, world, subject, causes, was, here)
    turn.take()
    return answers(turn)


def _in_vain(world: World, here: Deployed) -> bool:
    """Whether nothing of what a subject waits for can be served: known without taking its turn.

    Only what is plain is looked at. Whoever tops up its nodes, or has pods of its own that hold room, takes
    its turn; so does whoever is to be changed, unless too many would have to move.
    """
    workload = world.workload(here.workload)
    deploy = None if workload is None else workload.deploy
    if workload is None or deploy is None or not here.share or deploy.strategy == "FILL":
        return False
    try:
        one = wanted(world, workload)
    except InvalidRequest:
        return False
    terms = Terms(workload.request, Bytes(one.storage), deploy.node_selector)
    if any(crew.cluster == here.cluster for crew, _ in pods.beyond(world, here.workload)):
        return False
    edited = any(instance.terms != terms for instance in here.instances)
    # With classes each takes its own part.
    split = target_of(world, workload, here.share).pods is not None
    if edited and (
        split or not more_move_than_fit(world, here, workload, deploy, one, terms=terms)
    ):
        return False
    room = _room(world, here, deploy, one)
    reclaiming = world.rooms.reclaiming
    growth = (
        0 if deploy.strategy == "EACH" else here.share - len(here.instances) - len(here.waiting)
    )
    if (
        here.waiting
        or here.ordered
        or any(node_of(here.cluster, held.node) in reclaiming for held in here.instances)
    ):
        return room == 0
    if growth > 0:
        return room == 0 or (room < growth and not split)
    return edited


def _room(world: World, here: Deployed, deploy: DeploySpec, one: Wanted) -> int:
    """For how many more of a subject there is room in its cluster."""
    cluster = world.clusters.get(here.cluster)
    if cluster is None or not cluster.ready:
        return 0
    nodes = columns(world, here.cluster, deploy.node_selector)
    found = counted(nodes, one)
    if deploy.strategy != "AUTO" or not deploy.nodes_limit:
        return found.together
    limit = deploy.nodes_limit
    within = sum(map(min, found.each, repeat(limit)))
    for name, count in Counter(held.node for held in here.instances).items():
        if name in nodes.places:
            room = found.each[nodes.places[name]]
            within += within_limit(room, count, limit) - min(room, limit)
    return within


def _within_share(
    world: World, held: Deployed, workload: WorkloadUpserted | None
) -> tuple[tuple[Instance, ...], tuple[Waiting, ...]]:
    assert workload is not None, "nobody has a share of what is not there"
    assert workload.deploy is not None, "nobody has a share of what is not deployed"
    deploy = workload.deploy
    if deploy.strategy in {"FILL", "EACH"}:
        return held.instances, held.waiting
    if workload.kind == "StatefulSet":
        return numbered_below(held)
    if len(held.instances) + len(held.waiting) <= held.share:
        return held.instances, held.waiting
    nodes = nodes_of(world, held.cluster, workload, deploy)
    return reduced(held, nodes, deploy.strategy, split(world, workload, deploy, held.share, nodes))


def _wants_more(
    world: World, held: Deployed, workload: WorkloadUpserted | None, causes: Causes
) -> bool:
    """Whether anything is left for the turn of a subject that gave something up."""
    assert workload is not None, "nobody has a share of what is not there"
    assert workload.deploy is not None, "nobody has a share of what is not deployed"
    wish = (workload.request, workload.deploy.node_selector)
    reclaiming = world.rooms.reclaiming
    return (
        "fresh" in causes
        or bool(held.waiting)
        or len(held.instances) != held.share
        or any(
            (one.terms.request, one.terms.selector) != wish
            or node_of(held.cluster, one.node) in reclaiming
            for one in held.instances
        )
    )
