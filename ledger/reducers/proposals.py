"""What happens to proposals: asked for, open, approved, and over.

A proposal is withdrawn by the event or decision that releases a thing it moves, decides its owner
again, or takes a target away, and with the life of the workload whose pods would be evicted; that is
told in ``World.ended``. A node whose instances are lost is gone as a target, whether it was removed or
was not ready for too long. A proposal is replaced by a decision about the same matter, and it is over
when it is carried out or cannot be.

An approval counts while the proposal is open and was not approved before; any other has no effect.
A workload in a cluster may become short of on-demand places when a deployment or its target is decided
for it, when its share or what says how many belong there is other, when what was proposed is over, and when
a node that it has instances on gets other labels. Whoever stays short is looked at again when there is more
room (``ledger.reducers.deficits``). Where the ledger does not decide its nodes, it may become short when it is
divided or edited, when a pod of it, its ReplicaSet or its node is told of, and when a reservation of its pods
becomes another one.

Under ``hold`` requests and approvals wait: of two requests about the same matter the later counts. An
approved proposal may still be withdrawn before it is carried out.

What is proposed, and whether it can still be carried out, is told in ``ledger.decisions``.
"""

from collections.abc import Collection, Iterable

from immutables import Map

from ledger.facts.control import ProposalApproved, ProposalRequested
from ledger.facts.decision import Decision
from ledger.facts.proposal import Proposal
from ledger.facts.repair import Repair
from ledger.facts.workload import PodObserved
from ledger.reducers import deficits
from ledger.reducers.open_proposals import (
    Ground,
    Matter,
    Most,
    OpenProposal,
    Proposals,
    owner,
    target,
    with_open,
    without,
)
from ledger.reducers.replacing import replace
from ledger.reducers.world import Ended, World
from ledger.units import Bytes, DecisionNumber, Subject


def begun(world: World) -> World:
    """The World at the beginning of an event or deadline: what was asked for has been answered."""
    proposals = world.proposals
    if world.policy.hold or not (proposals.requested or proposals.looked_at or proposals.grown):
        return world
    world = deficits.seen(world, sorted({*proposals.looked_at, *proposals.grown}))
    return _with(world, replace(world.proposals, requested=Map(), looked_at=Map(), grown=Map()))


def requested(world: World, fact: ProposalRequested) -> World:
    """Somebody wants to see what could be moved."""
    subject = Subject(world.fleet if fact.subject is None else fact.subject)
    size = None if fact.max_bytes is None else Bytes(fact.max_bytes)
    asked = world.proposals.requested.set(Matter(fact.kind, subject), Most(fact.max_moves, size))
    return _with(world, replace(world.proposals, requested=asked))


def approved(world: World, fact: ProposalApproved) -> World:
    """Somebody wants a proposal to be carried out."""
    proposals = world.proposals
    number = fact.proposal
    if number not in proposals.matters or number in proposals.approved:
        return replace(world, last_effect="no_effect")
    return _with(world, replace(proposals, approved=proposals.approved.set(number, None)))


def proposed(world: World, decision: Decision, proposal: Proposal) -> World:
    """A proposal takes the place of the one about the same, if there is one."""
    matter = Matter(proposal.what, decision.subject)
    before = world.proposals.open.get(matter)
    proposals = world.proposals if before is None else without(world.proposals, before.number)
    if proposal.moves:
        proposals = with_open(
            proposals, matter, OpenProposal(decision.number, proposal.moves, proposal.max_moves)
        )
    return _with(world, proposals)


def closed(world: World, number: DecisionNumber | None) -> World:
    """A proposal is carried out, or cannot be; None, or one that is closed already, changes nothing."""
    if number is None or number not in world.proposals.matters:
        return world
    matter = world.proposals.matters[number]
    return _as_short_as_before(_with(world, without(world.proposals, number)), matter)


def repaired(world: World, repair: Repair) -> World:
    """Pods are told to go: until they are gone they are as good as gone."""
    world = closed(world, repair.proposal)
    evicted = world.proposals.evicted
    for one in repair.evict:
        pod = Subject(f"{repair.cluster}/{one.namespace}/{one.pod}")
        fact = world.objects.fact("pod", pod)
        assert isinstance(fact, PodObserved), f"{pod} is told to go and not there"
        evicted = evicted.set(pod, fact.uid)
    return _with(world, replace(world.proposals, evicted=evicted))


def pod_gone(world: World, pod: Subject) -> World:
    """The life of a pod is over that may have been told to go."""
    evicted = world.proposals.evicted
    if pod not in evicted:
        return world
    return _with(world, replace(world.proposals, evicted=evicted.delete(pod)))


def decided(world: World, subject: Subject, *, carried_out: DecisionNumber | None) -> World:
    """An owner of things was decided again, or because a proposal is carried out."""
    return _withdrawn(closed(world, carried_out), owner(subject))


def deployed(world: World, subject: Subject, *, carried_out: DecisionNumber | None) -> World:
    """The same of a workload in a cluster: the lowest numbers may be elsewhere now."""
    return may_be_short(decided(world, subject, carried_out=carried_out), [subject])


def may_be_short(world: World, subjects: Iterable[Subject]) -> World:
    """Something of workloads in clusters changed that may leave too few on on-demand nodes."""
    looked_at = world.proposals.looked_at
    for subject in subjects:
        looked_at = looked_at.set(subject, None)
    return _with(world, replace(world.proposals, looked_at=looked_at))


def names_pods(world: World, subject: Subject) -> bool:
    """Whether it is proposed to evict pods of a workload in a cluster, or to lower some."""
    open_ = world.proposals.open
    repair = open_.get(Matter("repair", subject))
    return Matter("surplus", subject) in open_ or (repair is not None and not repair.moves[0].into)


def released(world: World, subject: Subject, things: Collection[str]) -> World:
    """Some of what a volume or a workload in a cluster had is released."""
    proposals = world.proposals
    for number in sorted(proposals.on.get(owner(subject), ())):
        moves = proposals.open[proposals.matters[number]].moves
        if any(move.subject == subject and move.thing in things for move in moves):
            world = _withdraw(world, number)
    return world


def all_released(world: World, subject: Subject) -> World:
    """All of what a volume or a workload in a cluster had is to be released."""
    return _withdrawn(world, owner(subject))


def targets_gone(world: World, names: Iterable[str]) -> World:
    """Disks or nodes are gone, or as good as."""
    for name in names:
        world = _withdrawn(world, target(name))
    return world


def _withdrawn(world: World, ground: Ground) -> World:
    for number in sorted(world.proposals.on.get(ground, ())):
        world = _withdraw(world, number)
    return world


def _withdraw(world: World, number: DecisionNumber) -> World:
    matter = world.proposals.matters[number]
    ended = Ended("proposal", matter.subject, number)
    world = replace(world, proposals=without(world.proposals, number), ended=(*world.ended, ended))
    return _as_short_as_before(world, matter)


def _as_short_as_before(world: World, matter: Matter) -> World:
    """Nothing is proposed any more for whoever was short: something else may be."""
    return may_be_short(world, [matter.subject]) if matter.what == "repair" else world


def _with(world: World, proposals: Proposals) -> World:
    return replace(world, proposals=proposals)
