"""An approved proposal is carried out, or refused because it cannot be any more.

The moves are looked at in their order, each in the World that those before it leave behind; whether
they still lower the score is not asked again. If all of them can be made, each owner of something
that is moved gets one ordinary decision of its kind, which names the proposal. If one cannot, none is
made: the refusal names the first that stands in the way, closes the proposal and waits for nothing.

Whoever is to be decided anyway in the same event is not moved before: its proposal is refused too.
Several are approved at once only where a ``hold`` is over: they are carried out in the order of their
numbers, each in the World that those before it leave behind, unless that withdrew it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ledger.decisions import evicted_pods, moved_instances, moved_replicas
from ledger.decisions.answer import REFUSED, Answered
from ledger.decisions.planned import Hindered, system
from ledger.facts.canonical import digest
from ledger.facts.proposal import Proposed, What
from ledger.facts.reason import Kind, losers
from ledger.facts.refusal import Refusal
from ledger.reducers.open_proposals import Matter, OpenProposal
from ledger.reducers.retries import WAITS_FOR_NOTHING
from ledger.reducers.world import Question, World
from ledger.units import DecisionNumber

BEING_DECIDED: Final = "being_decided"


@dataclass(frozen=True, slots=True)
class Carrier:
    """How proposals of a kind are carried out."""

    owner: Kind
    """Which kind of decision is made of whoever owns what is moved."""
    hindered: Callable[[World, Sequence[Proposed]], Hindered | None]
    carried_out: Callable[[World, OpenProposal], Sequence[Answered]]


def is_due(world: World) -> bool:
    """Whether a proposal was approved and is open."""
    return bool(world.proposals.approved)


def answer(world: World) -> Sequence[Answered]:
    """Carry out the first approved proposal."""
    number = min(world.proposals.approved)
    matter = world.proposals.matters[number]
    proposal = world.proposals.open[matter]
    evicts = matter.what == "repair" and not proposal.moves[0].into
    carrier = _EVICTIONS if evicts else _KINDS[matter.what]
    hindered = _in_decision(world, carrier.owner, proposal.moves)
    if hindered is None:
        hindered = carrier.hindered(world, proposal.moves)
    if hindered is not None:
        return [_refused(world, matter, proposal, hindered)]
    return carrier.carried_out(world, proposal)


def closes(refusal: Refusal) -> DecisionNumber | None:
    """Which proposal a refused approval closes; None where a request was refused."""
    number = dict(refusal.detail).get("proposal")
    return None if number is None else DecisionNumber(number)


def _in_decision(world: World, kind: Kind, moves: Sequence[Proposed]) -> Hindered | None:
    """The first move of something about whose owner a question is due."""
    for place, move in enumerate(moves):
        if Question(kind, move.subject) in world.due:
            return Hindered(place, BEING_DECIDED)
    return None


def _refused(world: World, matter: Matter, proposal: OpenProposal, hindered: Hindered) -> Answered:
    move = proposal.moves[hindered.place]
    told = f"{move.thing} {move.out} -> {move.into}"
    by = system(world, matter.what)
    return Answered(
        subject=matter.subject,
        algorithm=by.name,
        version=by.version,
        inputs=digest({"proposal": proposal.number, "move": hindered}).hex(),
        branch=REFUSED,
        outcome=Refusal(
            wanted="proposal",
            reason=hindered.why,
            waits_for=WAITS_FOR_NOTHING,
            detail=(
                ("move", hindered.place + 1),
                ("moves", len(proposal.moves)),
                ("proposal", proposal.number),
            ),
            losers=losers([(told, hindered.why)]),
            because=("approved",),
        ),
        moved=0,
    )


_INSTANCES: Final = Carrier("deployment", moved_instances.hindered, moved_instances.carried_out)

_EVICTIONS: Final = Carrier("repair", evicted_pods.hindered, evicted_pods.carried_out)
"""Repairs of workloads whose nodes the ledger does not decide."""

_KINDS: Final[dict[What, Carrier]] = {
    "deployments": _INSTANCES,
    "disks": Carrier("disk_placement", moved_replicas.hindered, moved_replicas.carried_out),
    "repair": _INSTANCES,
    "surplus": Carrier("repair", evicted_pods.lowering_hindered, evicted_pods.lowered),
}
