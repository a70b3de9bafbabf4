"""What holds of every choice of a disk, every placement, and every plan of moves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from ledger.core.disk.affinity import Replica
from ledger.core.disk.auto_balance import Add, Spread, next_step, surplus
from ledger.core.disk.balance import balance_score
from ledger.core.disk.choice import Choice, NoDisk, Scope, choose
from ledger.core.disk.rebalance import Measure, Stock, Stored, plan
from ledger.core.disk.scheduling import (
    AutoBalance,
    Drive,
    Node,
    Placed,
    Rules,
    Situation,
    Unplaced,
    Volume,
    place,
    schedule,
)
from ledger.core.disk.sequence import Succession, place_in_sequence
from ledger.core.disk.space import (
    Disk,
    Limits,
    Space,
    expansion,
    fits,
    fits_under_pressure,
    under_pressure,
)
from ledger.core.disk.weighing import Weighing, weigh
from ledger.units import NodeName
from tests.laws import disk_model

Standing = tuple[tuple[int, Fraction], int, str]
"""The score, first the defined ones; the usable bytes, first the most; the name."""

NAMES = ("d1", "d2", "d10", "D1", "é", "\uffff", "\U00010000")
"""Few names, and such that sort differently by other rules."""

small = st.integers(0, 12)
large = st.integers(0, 2**63 - 1)
amounts = st.one_of(small, small, large)
alphas = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 2)]),
    st.fractions(Fraction(-1), Fraction(2), max_denominator=9),
)
scopes: st.SearchStrategy[Scope] = st.sampled_from(["node", "candidates"])
measures: st.SearchStrategy[Measure] = st.sampled_from(["balance", "spread"])


@st.composite
def disks(draw: st.DrawFn, amount: st.SearchStrategy[int] = amounts) -> list[Disk]:
    """A few disks on fewer nodes, some of them promised beyond what they have."""
    several = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
    totals = draw(st.lists(amount, min_size=1, max_size=3))
    return [
        Disk(
            node=NodeName(draw(st.sampled_from("ABC"))),
            name=name,
            maximum=draw(st.sampled_from(totals)),
            available=draw(amount),
            reserved=draw(st.sampled_from([0, 0, 1])),
            scheduled=draw(st.sampled_from([0, 0, 3])),
        )
        for name in several
    ]


@dataclass(frozen=True, slots=True)
class Case:
    """A choice to be made."""

    disks: list[Disk]
    size: int
    alpha: Fraction
    scope: Scope

    def choose(self) -> Choice | NoDisk:
        return choose(self.disks, size=self.size, alpha=self.alpha, scope=self.scope)


cases = st.builds(Case, disks=disks(), size=amounts, alpha=alphas, scope=scopes)


def picked(choice: Choice | NoDisk) -> Disk | None:
    return choice.disk if isinstance(choice, Choice) else None


@given(cases)
def test_a_choice_is_what_computing_every_score_comes_to(case: Case) -> None:
    plain = [(disk.node, disk.name, disk.usable, disk.total) for disk in case.disks]

    found = picked(case.choose())

    expected = disk_model.choose(plain, case.size, case.alpha, case.scope)
    assert (found and (found.node, found.name)) == (expected and expected[:2])


@given(
    st.dictionaries(st.sampled_from(NAMES), st.tuples(amounts, amounts), min_size=1),
    amounts,
    alphas,
    st.data(),
)
def test_a_score_from_one_pass_is_the_score_from_scratch(
    members: dict[str, tuple[int, int]], size: int, alpha: Fraction, data: st.DataObject
) -> None:
    usable = {name: amount for name, (amount, _) in members.items()}
    totals = {name: total for name, (_, total) in members.items()}
    listed = data.draw(st.sets(st.sampled_from(sorted(members))))

    stage = weigh(usable, totals, size=size, alpha=alpha, restrict_to=listed)

    assert stage.scores().keys() == listed
    for name, scored in stage.scores().items():
        if usable[name] < size:
            assert scored == "infeasible"
        else:
            left = disk_model.score(disk_model.after(members, name, size), alpha)
            assert scored == ("undefined" if left is None else left)
            direct = {**usable, name: usable[name] - size}
            assert left == balance_score(direct, totals, alpha)
    for undefined_wins in (True, False):
        place_of_best = stage.best(undefined_wins=undefined_wins)
        feasible = [name for name in listed if usable[name] >= size]
        expected = disk_model.best(members, feasible, size, alpha, undefined_wins=undefined_wins)
        assert (None if place_of_best is None else stage.names[place_of_best]) == expected
    ranking = stage.ranking()
    assert ranking == {place: stage.scores()[stage.names[place]] for place in stage.feasible}
    for count in range(len(ranking) + 2):
        assert list(stage.ranking(count).items()) == list(ranking.items())[:count]
    standings = [standing(stage, place) for place in ranking]
    assert standings == sorted(standings)
    assert list(ranking)[:1] == [
        one for one in [stage.best(undefined_wins=True)] if one is not None
    ]


def standing(stage: Weighing, place: int) -> Standing:
    score = stage.scores()[stage.names[place]]
    defined = (0, score) if isinstance(score, Fraction) else (1, Fraction(0))
    return defined, -stage.usable[place], stage.names[place]


close_stages = st.builds(
    weigh,
    st.dictionaries(st.sampled_from(NAMES), small, min_size=2),
    st.dictionaries(st.sampled_from(NAMES), st.integers(1, 4), min_size=4),
    size=st.integers(0, 3),
    alpha=st.fractions(Fraction(0), Fraction(1), max_denominator=4),
)
"""Of few small numbers: equal scores of members with different totals are common here."""


@given(close_stages)
def test_close_and_equal_scores_of_different_totals_are_told_apart_exactly(stage: Weighing) -> None:
    found = stage.best(undefined_wins=True)

    bytes_of = zip(stage.usable, stage.totals, strict=True)
    members = dict(zip(stage.names, bytes_of, strict=True))
    feasible = [stage.names[place] for place in stage.feasible]
    expected = disk_model.best(members, feasible, stage.size, stage.alpha, undefined_wins=True)
    assert (None if found is None else stage.names[found]) == expected


@given(close_stages)
def test_what_decides_is_the_first_difference_of_the_two_best(stage: Weighing) -> None:
    assume(stage.feasible)

    decided_by = stage.decided_by()

    first, *others = sorted(standing(stage, place) for place in stage.feasible)
    if not others:
        assert decided_by == "only"
    else:
        each = zip(("score", "usable", "name"), first, others[0], strict=True)
        assert decided_by == next(what for what, mine, theirs in each if mine != theirs)


@given(
    st.dictionaries(st.sampled_from(NAMES), amounts),
    st.dictionaries(st.sampled_from(NAMES), amounts),
    alphas,
)
def test_a_score_lies_between_0_and_the_number_of_members(
    usable: dict[str, int], totals: dict[str, int], alpha: Fraction
) -> None:
    scored = balance_score(usable, totals, alpha)

    members = {name: (amount, totals.get(name, 0)) for name, amount in usable.items()}
    assert scored == disk_model.score(members, alpha)
    assert scored is None or 0 <= scored <= len(usable)


@given(cases)
def test_at_alpha_1_the_most_usable_bytes_win_in_both_stages_and_scopes(case: Case) -> None:
    case = replace(case, alpha=Fraction(1))
    choices = [replace(case, scope=scope).choose() for scope in ("node", "candidates")]

    for choice in choices:
        if isinstance(choice, Choice) and choice.rule == "balance":
            room = [disk.room for disk in case.disks if disk.node == choice.disk.node]
            assert choice.disk.room == max(room)
    named = [one.disk for one in choices if isinstance(one, Choice)]
    ours = choices[0]
    fragmented = (
        isinstance(ours, Choice)
        and len(case.disks) > 1
        and any(
            sum(disk.room for disk in case.disks if disk.node == node)
            >= case.size
            > max(disk.room for disk in case.disks if disk.node == node)
            for node in {disk.node for disk in case.disks}
        )
    )
    assert len(named) == 1 or named[0] == named[1] or fragmented


@given(cases, st.randoms(use_true_random=False))
def test_the_order_of_the_disks_does_not_matter(case: Case, shuffler: Random) -> None:
    choice = case.choose()

    shuffler.shuffle(case.disks)
    again = case.choose()

    assert picked(again) == picked(choice)
    if isinstance(choice, Choice) and isinstance(again, Choice):
        assert again.node_scores == choice.node_scores
        assert again.disk_scores == choice.disk_scores
        assert list(again.node_scores) == list(choice.node_scores)


@given(cases, st.integers(1, 2**40))
def test_counting_in_another_unit_changes_nothing(case: Case, unit: int) -> None:
    scaled = [
        replace(
            disk,
            maximum=disk.maximum * unit,
            available=disk.available * unit,
            reserved=disk.reserved * unit,
            scheduled=disk.scheduled * unit,
        )
        for disk in case.disks
    ]

    first = case.choose()
    second = replace(case, disks=scaled, size=case.size * unit).choose()

    names = [found and found.name for found in (picked(first), picked(second))]
    assert names[0] == names[1]
    if isinstance(first, Choice) and isinstance(second, Choice):
        assert first.node_scores == second.node_scores
        assert first.overcommitted == second.overcommitted


@given(cases)
def test_renaming_in_the_same_order_renames_the_answer(case: Case) -> None:
    renamed = [
        replace(disk, node=NodeName(f"n-{disk.node}"), name=f"x{disk.name}") for disk in case.disks
    ]

    first, second = picked(case.choose()), picked(replace(case, disks=renamed).choose())

    assert (first and f"x{first.name}") == (second and second.name)


@given(cases)
def test_a_disk_is_overcommitted_only_where_none_has_room(case: Case) -> None:
    choice = case.choose()

    if isinstance(choice, NoDisk):
        assert case.scope == "candidates"
        return
    assert choice.overcommitted == (choice.disk.usable < case.size and case.size > 0) or (
        choice.rule == "single"
    )
    if choice.overcommitted:
        assert choice.rule in ("single", "most_usable")
        assert choice.disk.usable == max(disk.usable for disk in case.disks)
        assert all(disk.usable < case.size for disk in case.disks)
    else:
        assert choice.disk.usable >= case.size or (choice.disk.room == case.size == 0)


spaces = st.builds(Space, maximum=amounts, available=amounts, reserved=small, scheduled=small)
limits = st.builds(Limits, st.integers(0, 200), st.integers(0, 120), st.integers(0, 100))


@given(spaces, limits, amounts, amounts, amounts)
def test_what_fits_fits_also_when_it_is_smaller(
    space: Space, limit: Limits, size: int, actual: int, less: int
) -> None:
    smaller = max(0, size - less), max(0, actual - less)

    if fits(space, limit, size=size, actual=actual) is None:
        assert fits(space, limit, size=smaller[0], actual=smaller[1]) is None
    if fits_under_pressure(space, limit, size=size, actual=actual) is None:
        assert fits(space, limit, size=size, actual=actual) is None
        assert fits_under_pressure(space, limit, size=smaller[0], actual=smaller[1]) is None
    if expansion(space, limit, required=size) is None:
        assert fits(space, limit, size=size, actual=0) is None


@given(spaces, limits, st.integers(0, 100))
def test_a_lower_threshold_puts_more_disks_under_pressure(
    space: Space, limit: Limits, threshold: int
) -> None:
    lower = replace(limit, disk_pressure_pct=min(threshold, limit.disk_pressure_pct))

    assert under_pressure(space, lower) or not under_pressure(space, limit)


@given(spaces, small)
def test_counting_written_bytes_once_never_promises_more_than_is_available(
    space: Space, written: int
) -> None:
    net = replace(space, written=written)

    assert net.usable <= space.available
    assert net.usable <= space.maximum - space.reserved - space.scheduled
    assert net.plainly_usable == space.usable


@given(
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, 50), min_size=1),
    st.integers(0, 9),
    st.integers(0, 8),
    st.fractions(Fraction(0), Fraction(1), max_denominator=5),
    st.sampled_from(["balance", "old_most_available"]),
    alphas,
)
def test_a_sequence_takes_what_it_places(
    sizes: dict[str, int],
    size: int,
    volumes: int,
    written: Fraction,
    policy: str,
    alpha: Fraction,
) -> None:
    placed = place_in_sequence(
        sizes,
        size=size,
        volumes=volumes,
        written=written,
        policy="balance" if policy == "balance" else "old_most_available",
        alpha=alpha,
    )

    assert isinstance(placed, Succession)
    assert len(placed.picks) == volumes
    for name, before in sizes.items():
        taken = placed.picks.count(name) * size * (1 + written)
        assert placed.usable_after[name] == before - taken


MODES: tuple[AutoBalance, ...] = ("disabled", "least-effort", "best-effort")


@dataclass(frozen=True, slots=True)
class Placement:
    """Replicas to be placed beside others."""

    situation: Situation
    replicas: list[Replica]

    def steps(self) -> tuple[Placed | Unplaced, ...]:
        return schedule(self.situation, self.replicas, ["new1", "new2", "new3"])


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    nodes = []
    for name in draw(st.lists(st.sampled_from(["n1", "n2", "n3", "n4"]), min_size=1, unique=True)):
        drives = [
            Drive(
                disk=Disk(
                    node=NodeName(name),
                    name=f"{name}{disk}",
                    maximum=100,
                    available=draw(st.integers(20, 100)),
                    scheduled=draw(st.sampled_from([0, 10, 60])),
                ),
                schedulable=draw(st.sampled_from([True, True, True, False])),
            )
            for disk in range(draw(st.integers(0, 2)))
        ]
        nodes.append(
            Node(
                name=NodeName(name),
                zone=draw(st.sampled_from(["", "z1", "z2"])),
                tags=draw(st.sampled_from([(), ("ssd",)])),
                allow=draw(st.sampled_from([True, True, True, False])),
                drives=drives,
            )
        )
    replicas = []
    for number in range(draw(st.integers(0, 3))):
        node = draw(st.sampled_from(nodes))
        replicas.append(
            Replica(
                name=f"old{number}",
                node=node.name,
                disk=draw(st.sampled_from([drive.disk.name for drive in node.drives] or [""])),
                failed=draw(st.sampled_from([False, False, True])),
                evicting=draw(st.sampled_from([False, False, True])),
                rebuild_retries=draw(st.sampled_from([0, 5])),
            )
        )
    situation = Situation(
        volume=Volume(
            size=draw(st.sampled_from([0, 5, 20])),
            node_selector=draw(st.sampled_from([(), (), ("ssd",)])),
        ),
        nodes=nodes,
        rules=Rules(
            node_soft=draw(st.booleans()),
            zone_soft=draw(st.booleans()),
            disk_soft=draw(st.booleans()),
            auto_balance=draw(st.sampled_from(MODES)),
            alpha=draw(alphas),
            scope=draw(scopes),
        ),
        replenishing=draw(st.booleans()),
    )
    return Placement(situation, replicas)


@given(placements())
def test_hard_rules_keep_replicas_apart(placement: Placement) -> None:
    situation, rules = placement.situation, placement.situation.rules
    zone_of = {node.name: node.zone for node in situation.nodes}
    open_nodes = {node.name for node in situation.nodes if node.takes_replicas}

    replicas = placement.replicas
    for step in placement.steps():
        if isinstance(step, Unplaced):
            continue
        disk = step.choice.disk
        steady = [
            one
            for one in replicas
            if one.occupies(replenishing=situation.replenishing) and not one.evicting
        ]
        opened = step.rungs[-1].name in ("evict_only_node", "evict_only_zone")
        if rules.auto_balance != "best-effort" or not opened:
            if not rules.node_soft:
                assert disk.node not in {one.node for one in steady}
            if not rules.zone_soft:
                zones = {zone_of[one.node] for one in steady if one.node in open_nodes}
                assert zone_of[disk.node] not in zones
        if not rules.disk_soft:
            counted = [one for one in replicas if one.occupies(replenishing=situation.replenishing)]
            assert not any(one.is_on(disk.node, disk.name) for one in counted)
        replicas = [*replicas, Replica(name=step.replica, node=disk.node, disk=disk.name)]


@given(placements())
def test_balance_never_outweighs_spreading(placement: Placement) -> None:
    for step in placement.steps():
        if not step.rungs:
            continue
        *tried, last = step.rungs
        assert not any(rung.candidates for rung in tried)
        if isinstance(step, Placed):
            addresses = [(disk.node, disk.name) for disk in last.candidates]
            assert (step.choice.disk.node, step.choice.disk.name) in addresses
        elif step.code != "no_disk":
            assert not last.candidates


@given(placements())
def test_a_refusal_says_what_was_in_the_way(placement: Placement) -> None:
    for step in placement.steps():
        if isinstance(step, Placed):
            continue
        assert step.reasons or step.code == "anti_affinity"
        assert list(step.reasons) == sorted(set(step.reasons))
        if step.code == "anti_affinity":
            assert any(kept.by for rung in step.rungs for kept in rung.kept)
        if step.code == "no_fitting_disk":
            assert any(rung.passed_over for rung in step.rungs)


@given(placements())
def test_what_was_placed_counts_in_the_next_step(placement: Placement) -> None:
    size = placement.situation.volume.size
    before = {
        (drive.disk.node, drive.disk.name): drive.disk.scheduled
        + size * sum(one.is_on(drive.disk.node, drive.disk.name) for one in placement.replicas)
        for node in placement.situation.nodes
        for drive in node.drives
    }

    for step in placement.steps():
        if isinstance(step, Placed):
            address = step.choice.disk.node, step.choice.disk.name
            assert step.choice.disk.scheduled == before[address]
            before[address] += size


@given(placements(), st.randoms(use_true_random=False))
def test_placements_do_not_depend_on_the_order_of_what_is_given(
    placement: Placement, shuffler: Random
) -> None:
    situation = placement.situation
    nodes = [
        replace(node, drives=shuffler.sample(node.drives, len(node.drives)))
        for node in situation.nodes
    ]
    shuffler.shuffle(nodes)
    others = shuffler.sample(placement.replicas, len(placement.replicas))

    again = Placement(replace(situation, nodes=nodes), others)

    assert told(again.steps()) == told(placement.steps())


def told(steps: Sequence[Placed | Unplaced]) -> list[object]:
    """All that a step says, without the columns of its stages, which follow the input."""
    return [
        (step.choice.disk, step.choice.node_scores, step.choice.disk_scores, step.rungs)
        if isinstance(step, Placed)
        else step
        for step in steps
    ]


@given(placements())
def test_a_step_does_not_know_of_the_steps_after_it(placement: Placement) -> None:
    first = placement.steps()[0]

    assert told([place(placement.situation, placement.replicas, "new1")]) == told([first])


@given(placements(), st.integers(1, 4))
def test_a_copy_that_is_taken_away_is_not_wanted_again(placement: Placement, wanted: int) -> None:
    spread = Spread(wanted=wanted, healthy=True, engine_node=NodeName("n1"))

    spare = surplus(placement.situation, placement.replicas, spread)

    if spare.replica is not None:
        rest = [one for one in placement.replicas if one.name != spare.replica]
        assert len(rest) == len(placement.replicas) - 1
        assert not isinstance(next_step(placement.situation, rest, spread), Add)
        assert spare.considered[-1].replica == spare.replica
    assert all(one.wanted_again for one in spare.considered if one.replica != spare.replica)


@given(placements(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_auto_balance_does_not_depend_on_any_order(
    placement: Placement, wanted: int, shuffler: Random
) -> None:
    spread = Spread(wanted=wanted, healthy=True, engine_node=NodeName("n1"))
    situation = placement.situation

    first = next_step(situation, placement.replicas, spread)
    nodes = shuffler.sample(situation.nodes, len(situation.nodes))
    others = shuffler.sample(placement.replicas, len(placement.replicas))

    assert next_step(replace(situation, nodes=nodes), others, spread) == first


@st.composite
def stocks(draw: st.DrawFn) -> Stock:
    written = st.integers(0, 30) if draw(st.booleans()) else st.none()
    nodes = [
        Node(
            name=NodeName(f"n{number}"),
            zone=draw(st.sampled_from(["", "z1"])),
            drives=[
                Drive(
                    disk=Disk(
                        node=NodeName(f"n{number}"),
                        name=f"d{disk}",
                        maximum=(total := draw(st.sampled_from([0, 40, 60]))),
                        available=draw(st.integers(total // 2, total)),
                        scheduled=draw(st.integers(0, 30)),
                        written=draw(written),
                    ),
                    scheduled_replicas=frozenset({"r0", "r1", "r2"}),
                )
                for disk in range(draw(st.integers(1, 2)))
            ],
        )
        for number in range(draw(st.integers(1, 3)))
    ]
    volumes = {
        name: Volume(size=draw(st.integers(0, 12)), actual_size=draw(st.sampled_from([0, 3])))
        for name in ("v", "w")
    }
    stored = []
    for volume in volumes:
        for number in range(draw(st.integers(0, 3))):
            node = draw(st.sampled_from(nodes))
            disk = draw(st.sampled_from(node.drives)).disk
            stored.append(
                Stored(volume, Replica(name=f"r{number}", node=node.name, disk=disk.name))
            )
    return Stock(
        nodes=nodes,
        volumes=volumes,
        stored=stored,
        rules=Rules(alpha=draw(alphas), limits=Limits(min_available_pct=10)),
    )


@given(stocks(), measures, st.integers(0, 4), st.one_of(st.none(), st.integers(0, 20)))
def test_every_move_lowers_the_score_within_the_bounds(
    stock: Stock, measure: Measure, max_moves: int, max_bytes: int | None
) -> None:
    found = plan(stock, max_moves=max_moves, max_bytes=max_bytes, measure=measure)

    assert len(found.moves) <= max_moves
    assert max_bytes is None or found.size <= max_bytes
    assert len({(move.volume, move.replica) for move in found.moves}) == len(found.moves)
    if found.before is None:
        assert found.ended == "undefined"
        return
    scores = [found.before, *(move.score for move in found.moves)]
    assert all(later < earlier for earlier, later in pairwise(scores))
    assert found.after == scores[-1]


@given(stocks(), measures)
def test_the_first_move_is_the_best_of_all_moves(stock: Stock, measure: Measure) -> None:
    found = plan(stock, max_moves=1, measure=measure)

    assume(found.before is not None)
    best = min(every_move(stock, measure), default=None)
    if best is None or found.before is None or best[0] >= found.before:
        assert found.moves == ()
        assert found.ended == "no_better_move"
    else:
        [move] = found.moves
        assert best[:4] == (move.score, move.size, move.volume, move.replica)
        assert best[5] == move.target


def every_move(
    stock: Stock, measure: Measure
) -> list[tuple[Fraction, int, str, str, int, tuple[str, str]]]:
    """Every allowed move with the score it leaves, tried one by one."""
    disks = {
        (drive.disk.node, drive.disk.name): drive.disk
        for node in stock.nodes
        for drive in node.drives
    }
    zones = {node.name: node.zone for node in stock.nodes}
    moves: list[tuple[Fraction, int, str, str, int, tuple[str, str]]] = []
    for one in stock.stored:
        source, volume = (one.replica.node, one.replica.disk), stock.volumes[one.volume]
        others = [
            other.replica
            for other in stock.stored
            if other.volume == one.volume and other.replica.name != one.replica.name
        ]
        for target, disk in disks.items():
            closer = (
                any(other.is_on(*target) for other in others)
                or (target[0] != source[0] and any(other.node == target[0] for other in others))
                or (
                    zones[target[0]] != zones[source[0]]
                    and any(zones[other.node] == zones[target[0]] for other in others)
                )
            )
            full = fits(disk, stock.rules.limits, size=volume.size, actual=volume.actual_size)
            taken = usable_with(disk, volume.size, volume.actual_size)
            if target == source or closer or full or taken < 0:
                continue
            usable = {address: held.usable for address, held in disks.items()}
            usable[source] = usable_with(disks[source], -volume.size, -volume.actual_size)
            usable[target] = taken
            left = disk_model.score(
                {
                    "/".join(address): (max(0, amount), disks[address].total)
                    for address, amount in usable.items()
                },
                stock.rules.alpha,
                spread=measure == "spread",
            )
            if left is not None:
                moves.append((left, volume.size, one.volume, one.replica.name, -disk.room, target))
    return moves


def usable_with(disk: Disk, size: int, actual: int) -> int:
    """The usable bytes once a replica has come, or, with amounts below zero, has gone."""
    available, scheduled = disk.available - actual, max(0, disk.scheduled + size)
    if disk.written is None:
        return available - disk.reserved - scheduled
    written = max(0, disk.written + actual)
    return min(available, disk.maximum - disk.reserved - max(scheduled, written))
