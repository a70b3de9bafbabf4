"""What a decision leaves in the World: the last result of its subject, or an open refusal.

Deciding and reading history do the same here, so that a World folded from recorded decisions is
the World that made them.
"""

from collections import Counter

from ledger.facts.admission import Admission
from ledger.facts.allocation import Allocation
from ledger.facts.capacity_class import CapacityClass
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.facts.incident import Incident
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.reducers import (
    admissions,
    deployments,
    incidents,
    jobs,
    pods,
    proposals,
    retries,
    rounds,
    volumes,
)
from ledger.reducers.candidates import wish
from ledger.reducers.instances import Deployed, LastTarget, node_of
from ledger.reducers.replacing import replace
from ledger.reducers.retries import WAITS_FOR_NODES, WAITS_FOR_NOTHING
from ledger.reducers.rooms import claims_replaced
from ledger.reducers.world import LastDivision, OpenRefusal, Question, World
from ledger.units import DecisionNumber, Position, Subject

PlacedOrRefused = (
    Division | CapacityClass | Deployment | Allocation | Eviction | DiskPlacement | Refusal
)


def decided(world: World, decision: Decision) -> World:
    """The World in which a decision is in force."""
    # Before its event is folded the World stands at the event's position, afterwards behind it.
    position = world.position if decision.deadline else Position(world.position - 1)
    assert decision.position == position, f"{decision.position} is not what is being decided"
    assert decision.number == world.decisions, f"{decision.number} is not the next decision"

    world = replace(world, decisions=DecisionNumber(decision.number + 1))
    outcome = decision.outcome
    if isinstance(outcome, Incident):
        told = incidents.recorded(world.incidents, decision.subject, outcome)
        return replace(world, incidents=told)
    if isinstance(outcome, Proposal):
        return proposals.proposed(world, decision, outcome)
    if isinstance(outcome, Repair):
        return admissions.lowered(proposals.repaired(world, outcome), outcome)
    if isinstance(outcome, Admission):
        return admissions.answered(world, decision, outcome)
    if isinstance(outcome, Refusal) and outcome.wanted == "proposal":
        return proposals.closed(world, decision.previous)
    world = replace(world, latest=world.latest.set(decision.subject, decision.number))
    world = retries.counted(world, decision)
    return rounds.settled(_outcome(world, decision, outcome))


def _outcome(world: World, decision: Decision, outcome: PlacedOrRefused) -> World:
    match outcome:
        case Division() as division:
            return _divided(world, decision, division)
        case CapacityClass() as target:
            return _classed(world, decision.subject, target)
        case Deployment() as deployment:
            return _deployed(world, decision, deployment)
        case DiskPlacement() as placement:
            world = proposals.decided(world, decision.subject, carried_out=placement.proposal)
            return volumes.decided(world, decision.subject, placement)
        case Allocation() as allocation:
            nodes = Counter(node_of(one.cluster, one.node) for one in allocation.tasks)
            world = jobs.allocated(world, decision, allocation)
            return pods.tasks_placed(world, decision.subject, nodes)
        case Eviction() as eviction:
            nodes = Counter(node_of(one.cluster, one.node) for one in eviction.tasks)
            world = jobs.evicted(world, decision, eviction)
            return pods.tasks_given_up(world, decision.subject, nodes)
        case Refusal(wanted="allocation") as refusal:
            return jobs.refused(world, decision, refusal)
        case Refusal() as refusal:
            return _refused(world, decision, refusal)


def _divided(world: World, decision: Decision, division: Division) -> World:
    subject = decision.subject
    epochs = world.divisions.epochs
    if decision.lot is not None:
        epochs = epochs.set(subject, decision.lot.epoch + 1)
    workload = world.workload(subject)
    assert workload is not None, f"{subject} is divided and not there"
    last = LastDivision(decision.number, decision.position, division, in_force=True)
    before = world
    world = replace(
        world,
        divisions=replace(
            world.divisions, last=world.divisions.last.set(subject, last), epochs=epochs
        ),
    )
    world = retries.closed(world, Question("division", subject), wish(workload))
    world = pods.may_be_short(world, world.pods.of.get(subject, ()))
    return claims_replaced(before, deployments.shared(world, subject), subject)


def _classed(world: World, subject: Subject, decided: CapacityClass) -> World:
    last = LastTarget(decided.target, decided.flags)
    world = proposals.may_be_short(world, [subject])
    kept = replace(world.deployments, targets=world.deployments.targets.set(subject, last))
    return deployments.targeted(replace(world, deployments=kept), subject, decided.target)


def _deployed(world: World, decision: Decision, decided: Deployment) -> World:
    world = proposals.deployed(world, decision.subject, carried_out=decided.proposal)
    before = world.deployments.of[decision.subject]
    after = Deployed(
        workload=before.workload,
        cluster=before.cluster,
        uid=decided.uid,
        share=before.share,
        instances=decided.instances,
        waiting=decided.waiting,
        awaited=tuple(one.node for one in decided.waiting),
        ordered=decided.ordered,
        number=decision.number,
        target=decided.target,
    )
    return deployments.decided(
        world,
        decision.subject,
        after,
        complete=decided.complete,
        counted=lambda placed: pods.placed_anew(placed, before.cluster, before, after),
    )


def _refused(world: World, decision: Decision, refusal: Refusal) -> World:
    question = Question(refusal.wanted, decision.subject)
    refused = OpenRefusal(decision.number, refusal)
    match refusal.wanted:
        case "deployment":
            if refusal.waits_for == WAITS_FOR_NOTHING:
                return world
            hook = deployments.hook(decision.subject)
            world = retries.end_refusal(world, question, hook)
            if refusal.waits_for != WAITS_FOR_NODES:
                return replace(world, refusals=world.refusals.set(question, refused))
            return retries.list_refusal(world, question, refused, hook)
        case "disk_placement":
            return volumes.refused(world, question, refused)
        case _:
            spec = wish(world.workload(decision.subject))
            return retries.opened(world, question, refused, spec)
