"""Which proposals are open, which of them is approved, and what each would move.

About a matter - a kind and a subject - one proposal is open at most. So that an event costs what it
touches, open proposals are listed by what they depend on: whose things they move, and where to.

What happens to them is told in ``ledger.reducers.proposals``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from immutables import Map

from ledger.facts.proposal import Proposed, What
from ledger.reducers.replacing import replace
from ledger.units import Bytes, ClusterName, DecisionNumber, Subject, Uid


class Matter(NamedTuple):
    """What a proposal is about."""

    what: What
    subject: Subject
    """As it was asked for; the fleet's name is everything."""


class Most(NamedTuple):
    """How much somebody wants to be moved at most."""

    moves: int | None
    size: Bytes | None


class OpenProposal(NamedTuple):
    """A proposal that may be approved."""

    number: DecisionNumber
    moves: tuple[Proposed, ...]
    most: int
    """So many moves it could have had."""


class Ground(NamedTuple):
    """Something that a proposal depends on; in the order of the names."""

    noun: str
    """``owner`` of what is moved, or ``target``."""
    name: str


@dataclass(frozen=True)
class Proposals:
    """All that is open, and what was asked for and not answered yet."""

    open: Map[Matter, OpenProposal]
    matters: Map[DecisionNumber, Matter]
    """What each open one is about."""
    on: Map[Ground, Map[DecisionNumber, None]]
    """Those that depend on something."""
    approved: Map[DecisionNumber, None]
    """Open ones that are to be carried out."""
    requested: Map[Matter, Most]
    looked_at: Map[Subject, None]
    """Workloads in clusters that may have become short of on-demand places."""
    lacking: Map[ClusterName, Map[Subject, None]]
    """Those that are short of more than a proposal would mend, as far as it is known."""
    grown: Map[Subject, None]
    """Those of them for which there may be more room."""
    evicted: Map[Subject, Uid]
    """Pods that were told to go by an approved repair and are still there, each with its life."""


NO_PROPOSALS: Final = Proposals(Map(), Map(), Map(), Map(), Map(), Map(), Map(), Map(), Map())

_NONE: Final[Map[DecisionNumber, None]] = Map()


def owner(subject: Subject) -> Ground:
    """A volume, or a workload in a cluster, whose things would be moved."""
    return Ground("owner", subject)


def target(name: str) -> Ground:
    """A disk or node that something would be moved to, with its cluster."""
    return Ground("target", name)


def grounds(proposal: OpenProposal) -> Iterator[Ground]:
    """What a proposal depends on, each once and in order."""
    found = {owner(move.subject) for move in proposal.moves}
    found |= {target(move.into) for move in proposal.moves if move.into}
    yield from sorted(found)


def with_open(proposals: Proposals, matter: Matter, proposal: OpenProposal) -> Proposals:
    """With one more open proposal; none about the same is open."""
    assert matter not in proposals.open, f"two proposals about {matter}"
    on = proposals.on
    for ground in grounds(proposal):
        on = on.set(ground, on.get(ground, _NONE).set(proposal.number, None))
    return replace(
        proposals,
        open=proposals.open.set(matter, proposal),
        matters=proposals.matters.set(proposal.number, matter),
        on=on,
    )


def without(proposals: Proposals, number: DecisionNumber) -> Proposals:
    """Without a proposal that is open no more, whatever became of it."""
    matter = proposals.matters[number]
    on = proposals.on
    for ground in grounds(proposals.open[matter]):
        left = on[ground].delete(number)
        on = on.set(ground, left) if left else on.delete(ground)
    approved = proposals.approved
    return replace(
        proposals,
        open=proposals.open.delete(matter),
        matters=proposals.matters.delete(number),
        on=on,
        approved=approved.delete(number) if number in approved else approved,
    )
