"""What is proposed: from what somebody asked for to moves, and never further.

A request is answered by one proposal, by the rules of the kind that it is about
(``ledger.decisions.proposed_disks``, ``proposed_instances``). If the same moves about the same are
open already, nothing is recorded; if they are others, the new proposal takes the place of the open
one. A proposal without moves says that there is nothing to be moved, and what was open is over with
it. A subject that nobody knows of is refused; that waits for nothing, for whoever asked can ask
again.

Whoever is short of on-demand places gets a proposal of kind ``repair`` without asking
(``ledger.decisions.proposed_repairs``, ``proposed_evictions``), a larger one when there is more room, whoever has too many one of kind
``surplus``, and one without moves where an open one has become needless.

So that one event never makes much due, a request that does not say how many moves it wants gets no
more than ``MOVES``, and whoever wants more than ``MOST_MOVES`` gets those.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.decisions import (
    proposed_disks,
    proposed_evictions,
    proposed_instances,
    proposed_repairs,
)
from ledger.decisions.answer import REFUSED, Answered
from ledger.decisions.planned import Limits, Planned, system
from ledger.facts.canonical import digest
from ledger.facts.proposal import Proposal, Proposed, What
from ledger.facts.reason import Cause
from ledger.facts.refusal import Refusal
from ledger.reducers.open_proposals import Matter
from ledger.reducers.retries import WAITS_FOR_NOTHING
from ledger.reducers.world import World
from ledger.units import DecisionNumber, Subject

MOVES: Final = 100
"""The most moves of a proposal where the request names no number."""

MOST_MOVES: Final = 1_000
"""The most moves of any proposal: each is looked for among all that could be moved, and once they are
approved all are carried out in one event. Who wants more asks again."""

PROPOSED: Final = "proposed"
NOTHING_TO_MOVE: Final = "nothing_to_move"
"""The branches."""

UNKNOWN_SUBJECT: Final = "unknown_subject"


def is_due(world: World) -> bool:
    """Whether somebody is to be answered, or may be short of something."""
    proposals = world.proposals
    return bool(proposals.requested or proposals.looked_at or proposals.grown)


def answer(world: World) -> Sequence[Answered]:
    """Answer everybody who asked, and look at everybody who may be short."""
    return [*_answers(world), *_repairs(world)]


def replaced(world: World, subject: Subject, what: What) -> DecisionNumber | None:
    """Whose place a proposal takes, if one about the same is open."""
    open_ = world.proposals.open.get(Matter(what, subject))
    return None if open_ is None else open_.number


def _answers(world: World) -> Iterator[Answered]:
    requested = world.proposals.requested
    for matter in sorted(requested):
        most = requested[matter]
        limits = Limits(MOVES if most.moves is None else min(most.moves, MOST_MOVES), most.size)
        found = _planned(world, matter, limits)
        if found is None:
            yield _unknown(world, matter)
            continue
        if _is_news(world, matter, found):
            yield _told(world, matter, found, limits, because=("requested",))


def _repairs(world: World) -> Iterator[Answered]:
    """What nobody has to ask for; nothing is said of what cannot be mended, or is whole again unasked."""
    limits = Limits(MOVES, None)
    looked_at, grown = world.proposals.looked_at, world.proposals.grown
    for subject in sorted({*looked_at, *grown}):
        if subject in looked_at:
            yield from _standing(world, subject, limits)
        else:
            yield from _mended_further(world, subject, limits)


def _standing(world: World, subject: Subject, limits: Limits) -> Iterator[Answered]:
    """What is to be proposed of somebody, as things are."""
    stands = proposed_evictions.standing(world, subject)
    short: Planned | None
    many: Planned | None = None
    if stands is None:
        short = proposed_repairs.plan(world, subject, limits)
    else:
        short = proposed_evictions.evictions(world, subject, stands, limits)
        many = proposed_evictions.lowerings(world, subject, stands, limits)
    found: tuple[tuple[What, Cause, Planned], ...] = (
        ("repair", "deficit", short or proposed_repairs.NOTHING_SHORT),
        ("surplus", "surplus", many or proposed_evictions.NOTHING_MORE),
    )
    for what, why, planned in found:
        matter = Matter(what, subject)
        wanted = planned.moves or matter in world.proposals.open
        if wanted and _is_news(world, matter, planned):
            yield _told(world, matter, planned, limits, because=(why,))


def _mended_further(world: World, subject: Subject, limits: Limits) -> Iterator[Answered]:
    """More room came: nothing is said where that mends no more than is proposed."""
    short = proposed_repairs.plan(world, subject, limits)
    matter = Matter("repair", subject)
    open_ = world.proposals.open.get(matter)
    if short is not None and len(short.moves) > (0 if open_ is None else len(open_.moves)):
        yield _told(world, matter, short, limits, because=("deficit", "room"))


def _is_news(world: World, matter: Matter, found: Planned) -> bool:
    """Whether other moves, or none, are to be proposed than are."""
    open_ = world.proposals.open.get(matter)
    return open_ is None or _what_moves(open_.moves) != _what_moves(found.moves)


def _planned(world: World, matter: Matter, limits: Limits) -> Planned | None:
    match matter.what:
        case "disks":
            return proposed_disks.plan(world, matter.subject, limits)
        case "deployments":
            return proposed_instances.plan(world, matter.subject, limits)
        case "repair" | "surplus":
            raise AssertionError("nobody can ask for a repair")


def _told(
    world: World, matter: Matter, found: Planned, limits: Limits, because: tuple[Cause, ...]
) -> Answered:
    by = system(world, matter.what)
    return Answered(
        subject=matter.subject,
        algorithm=by.name,
        version=by.version,
        inputs=digest(found.inputs()).hex(),
        branch=PROPOSED if found.moves else NOTHING_TO_MOVE,
        outcome=Proposal(
            what=matter.what,
            measure=found.measure,
            before=found.before,
            after=found.after,
            moves=found.moves,
            max_moves=limits.moves,
            max_bytes=limits.size,
            ended=found.ended,
            because=because,
        ),
        moved=0,
    )


def _unknown(world: World, matter: Matter) -> Answered:
    by = system(world, matter.what)
    return Answered(
        subject=matter.subject,
        algorithm=by.name,
        version=by.version,
        inputs=digest({"what": matter.what, "subject": matter.subject}).hex(),
        branch=REFUSED,
        outcome=Refusal(
            wanted="proposal",
            reason=UNKNOWN_SUBJECT,
            waits_for=WAITS_FOR_NOTHING,
            because=("requested",),
        ),
        moved=0,
    )


def _what_moves(moves: Sequence[Proposed]) -> list[tuple[str, ...]]:
    """What makes moves the same: not what they are good for."""
    return [(move.subject, move.thing, move.out, move.into) for move in moves]
