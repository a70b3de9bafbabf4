"""A step on a ground is the step on all nodes, whichever of them are the volume's own."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ledger.core.disk.ground import Footing, Ground, Step, place_on
from ledger.core.disk.scheduling import Kept, Node, PassedOver, Placed, Rung, Situation, place
from ledger.core.disk.space import Disk
from ledger.core.disk.weighing import Weighing
from ledger.units import NodeName
from tests.laws.test_disk import Placement, placements

NEW = "new"
EVERYBODY = 99
Why = tuple[object, ...]


def ground_of(situation: Situation, nodes: Sequence[Node]) -> Ground:
    volume, rules = situation.volume, situation.rules
    return Ground([Footing.of(node, volume, rules).at(volume.size) for node in nodes])


def kept_up(situation: Situation, before: Sequence[Node]) -> Ground:
    """The ground of a situation, by changes to what was there before."""
    ground = ground_of(situation, before)
    for node in before:
        if node.name not in {one.name for one in situation.nodes}:
            ground.drop(node.name)
    for node in situation.nodes:
        footing = Footing.of(node, situation.volume, situation.rules)
        ground.put(footing.at(situation.volume.size))
    return ground


def off(situation: Situation) -> dict[str, Why]:
    """The nodes that take no replicas."""
    nodes = situation.nodes
    return {node.name: (node.out_of_service, None, None) for node in nodes if node.out_of_service}


def too_small(rungs: Sequence[Rung], size: int, chosen: Disk | None) -> dict[str, Why]:
    """The candidates that have too little room, but for the one that was taken all the same."""
    return {
        f"{disk.node}/{disk.name}": ("infeasible", disk.usable, size)
        for disk in (rungs[-1].candidates if rungs else ())
        if max(0, disk.usable) < size and disk != chosen
    }


def losers(rungs: Sequence[Rung], step: Step | None = None) -> dict[str, Why]:
    """Who lost by address, each with what the last rung says of it."""
    found: dict[str, Why] = {}
    for rung in rungs:
        for kept in rung.kept:
            found[address(kept)] = ("kept", rung.name, kept.by)
        for one in rung.passed_over:
            if one.disk:
                found.pop(one.node, None)
            found[address(one)] = (one.code, one.value, one.bound)
    for disk in rungs[-1].candidates if rungs else ():
        found.pop(f"{disk.node}/{disk.name}", None)
        found.pop(disk.node, None)
    for one in step.infeasible if step is not None else ():
        assert address(one) not in found
        found[address(one)] = (one.code, one.value, one.bound)
    for loser in step.losers.first if step is not None else ():
        why = loser.why
        assert loser.address not in found
        found[loser.address] = (
            ("kept", loser.rung, why.by)
            if isinstance(why, Kept)
            else (why.code, why.value, why.bound)
        )
    return found


def address(one: Kept | PassedOver) -> str:
    return f"{one.node}/{one.disk}" if one.disk else one.node


def ranking(stage: Weighing | None, first: int) -> list[tuple[str, object]]:
    if stage is None:
        return []
    return [(stage.names[place], score) for place, score in stage.ranking(first).items()]


def own_nodes(placement: Placement, more: Sequence[str]) -> list[Node]:
    """The nodes that replicas are on, and some others."""
    names = {replica.node for replica in placement.replicas} | set(more)
    return [node for node in placement.situation.nodes if node.name in names]


some_nodes = st.sets(st.sampled_from(["n1", "n2", "n3", "n4"])).map(sorted)


@given(placements(), some_nodes, placements(), st.integers(1, 3))
def test_a_step_on_a_ground_is_the_step_on_all_nodes(
    placement: Placement, more: list[str], earlier: Placement, first: int
) -> None:
    situation = placement.situation
    own = replace(situation, nodes=own_nodes(placement, more))
    whole = place(situation, placement.replicas, NEW)
    before = [node for node in earlier.situation.nodes if node.name != "n1"]

    for ground in (ground_of(situation, situation.nodes), kept_up(situation, before)):
        step = place_on(ground, own, placement.replicas, NEW, first=EVERYBODY)
        few = place_on(ground, own, placement.replicas, NEW, first=first)

        found = step.found
        assert type(found) is type(whole)
        assert [rung.name for rung in found.rungs] == [rung.name for rung in whole.rungs]
        if whole.rungs:
            assert step.candidates == len(whole.rungs[-1].candidates)
        if isinstance(whole, Placed):
            assert isinstance(found, Placed)
            assert isinstance(few.found, Placed)
            assert found.choice.disk == few.found.choice.disk == whole.choice.disk
            assert (found.choice.rule, found.choice.overcommitted) == (
                whole.choice.rule,
                whole.choice.overcommitted,
            )
            for name in ("node_stage", "disk_stage"):
                expected = ranking(getattr(whole.choice, name), EVERYBODY)
                assert ranking(getattr(found.choice, name), EVERYBODY) == expected
                assert ranking(getattr(few.found.choice, name), first) == expected[:first]
        else:
            assert not isinstance(found, Placed)
            assert (found.code, found.reasons) == (whole.code, whole.reasons)

        chosen = whole.choice.disk if isinstance(whole, Placed) else None
        small = too_small(whole.rungs, situation.volume.size, chosen)
        assert off(own) | losers(found.rungs, step) == off(situation) | losers(whole.rungs) | small
        assert step.losers.counts.total() == len(step.losers.first)
        assert few.losers.counts == step.losers.counts
        assert few.losers.first == step.losers.first[:first]


@given(placements())
def test_a_footing_offers_at_each_size_what_a_node_has(placement: Placement) -> None:
    situation = placement.situation
    for node in situation.nodes:
        footing = Footing.of(node, situation.volume, situation.rules)
        for size in (0, 1, 5, 20, 40, 90, 200):
            volume = replace(situation.volume, size=size)
            alone = Situation(volume=volume, nodes=[node], rules=situation.rules)
            step = place(alone, [], NEW)
            expected = step.rungs[0].candidates if step.rungs else ()
            assert footing.at(size).disks == expected


def test_the_ground_of_a_fleet_without_nodes_has_nothing() -> None:
    ground = Ground([])
    ground.drop(NodeName("n1"))

    assert not ground.offers
    assert ground.all.taking == 0
