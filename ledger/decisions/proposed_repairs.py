"""Which instances belong on on-demand nodes and are on spot nodes, and where they would go.

A raised target moves nothing by itself, nor does a share that shrinks to one instance, or a node whose
label becomes another: whoever is short then gets a proposal without asking. The lowest numbers, as many
as the target says, belong on on-demand nodes; those of them that are on spot nodes would go to on-demand
nodes with room, the lowest first, each by the strategy of its workload. Where there is no room for one
there is none for the next; as soon as there is more room, a proposal that mends more takes the place of
the open one. Of a node whose label says nothing, nothing is known: what is there is not
short.

The score, ``deficit``, is how many are short.
"""

from fractions import Fraction
from typing import Final

from ledger.decisions.capacity_class import target_of
from ledger.decisions.planned import Limits, Planned
from ledger.decisions.seats import Floor
from ledger.facts.proposal import Proposed, WhyNoMore
from ledger.reducers import deficits
from ledger.reducers.instances import node_of
from ledger.reducers.world import World
from ledger.units import Subject

MEASURE: Final = "deficit"

NOTHING_SHORT: Final = Planned(
    MEASURE, Fraction(0), Fraction(0), (), "no_better_move", lambda: "nothing_short"
)


def plan(world: World, subject: Subject, limits: Limits) -> Planned | None:
    """The moves that would mend what is short; None where nothing is."""
    short = _short(world, subject)
    if not short:
        return None
    floor = Floor(world)
    seats = floor.of(subject)
    if seats is None:
        return None
    moves: list[Proposed] = []
    ended: WhyNoMore = "no_better_move"
    for number in short:
        if not seats.movable(number):
            continue
        into = seats.place_for_one(world, "od")
        if into is None:
            break
        if len(moves) == limits.moves:
            ended = "max_moves"
            break
        one = seats.instances[number]
        floor.move(seats, number, into)
        moves.append(
            Proposed(
                subject=subject,
                thing=str(number),
                out=node_of(seats.held.cluster, one.node),
                into=node_of(seats.held.cluster, into),
                size=one.terms.storage,
                score=Fraction(len(short) - len(moves) - 1),
            )
        )
    return Planned(
        measure=MEASURE,
        before=Fraction(len(short)),
        after=Fraction(len(short) - len(moves)),
        moves=tuple(moves),
        ended=ended,
        inputs=lambda: {
            "subject": subject,
            "target": seats.target,
            "short": short,
            "strategy": seats.deploy.strategy,
            "instances": [[one.number, one.node] for one in seats.held.instances],
            "nodes": [
                [name, seats.nodes.class_of(name), seats.nodes.capacity(name)]
                for name in sorted(seats.nodes.schedulable)
            ],
        },
    )


def _short(world: World, subject: Subject) -> list[int]:
    """The numbers that belong on on-demand nodes and are on spot nodes."""
    found = deficits.seated(world, subject)
    if found is None:
        return []
    target = target_of(world, found.workload, found.held.share).pods
    return deficits.misplaced(world, found.held, target or 0)
