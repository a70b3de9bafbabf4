"""What holds of every selection of clusters, and that no set of regions was overlooked."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ledger.core.division.regions import Bounds, Region, TooFew, choose_regions
from ledger.core.division.selection import (
    Candidate,
    Selection,
    select,
    select_by_region,
    select_everybody,
)
from ledger.core.division.shortage import Shortage
from ledger.units import ClusterName, Replicas
from tests.laws import division_model

NAMES = [ClusterName(name) for name in ("m1", "m2", "m10", "M1", "é", "\uffff", "\U00010000", "")]

scores = st.one_of(st.integers(0, 3), st.integers(0, 100))
rooms = st.integers(0, 12).map(Replicas)
tiers = st.sampled_from([0, 0, 0, 1])


def candidates_named(names: list[ClusterName]) -> st.SearchStrategy[list[Candidate]]:
    one_each = [st.builds(Candidate, st.just(name), scores, rooms, tiers) for name in names]
    return st.tuples(*one_each).map(list)


candidates = st.lists(st.sampled_from(NAMES), max_size=8, unique=True).flatmap(candidates_named)


@st.composite
def bounds(draw: st.DrawFn, most: int) -> Bounds:
    least = draw(st.integers(0, most))
    return Bounds(least, draw(st.one_of(st.none(), st.integers(least, most + 2))))


@st.composite
def regions(draw: st.DrawFn) -> list[Region[Candidate]]:
    count = draw(st.integers(0, 6))
    found = []
    for place in range(count):
        size = draw(st.integers(0, 4))
        names = [ClusterName(f"c{place}-{number}") for number in range(size)]
        found.append(Region(f"R{place}", draw(scores), draw(candidates_named(names))))
    return found


def literal(candidate: Candidate) -> division_model.Cluster:
    return (candidate.tier, candidate.score, candidate.available, candidate.cluster)


def outcome(chosen: Selection | TooFew | Shortage) -> list[ClusterName] | str:
    return list(chosen.selected) if isinstance(chosen, Selection) else chosen.code


@given(candidates, bounds(4), st.one_of(st.none(), st.integers(0, 40).map(Replicas)))
def test_by_cluster_the_answer_is_that_of_the_literal_model(
    given_ones: list[Candidate], bound: Bounds, need: Replicas | None
) -> None:
    chosen = select(given_ones, clusters=bound, need=need)

    expected = division_model.by_cluster(
        [literal(one) for one in given_ones], bound.least, bound.most, need
    )
    assert outcome(chosen) == expected


@given(regions(), bounds(5), bounds(9))
def test_by_region_the_answer_is_that_of_trying_every_set(
    given_ones: list[Region[Candidate]], spread: Bounds, bound: Bounds
) -> None:
    chosen = select_by_region(given_ones, spread=spread, clusters=bound)

    expected = division_model.by_region(
        {one.name: (one.score, [literal(c) for c in one.clusters]) for one in given_ones},
        (spread.least, spread.most),
        (bound.least, bound.most),
    )
    assert outcome(chosen) == expected


@given(candidates, bounds(4), st.one_of(st.none(), st.integers(0, 40).map(Replicas)))
def test_a_selection_keeps_its_bounds_and_has_the_room(
    given_ones: list[Candidate], bound: Bounds, need: Replicas | None
) -> None:
    chosen = select(given_ones, clusters=bound, need=need)

    if isinstance(chosen, Selection):
        count = len(chosen.selected)
        assert bound.least <= count
        assert bound.most is None or count <= bound.most
        room = sum(one.candidate.available for one in chosen.standings if one.selected)
        assert need is None or room >= need
        assert {one.candidate.cluster for one in chosen.standings if one.selected} == {
            *chosen.selected
        }
        rooms_after = [swap.room for swap in chosen.swaps]
        assert rooms_after == sorted(set(rooms_after)), "each swap makes room"
        assert not rooms_after or rooms_after[-1] == room


@given(regions(), bounds(5), bounds(9))
def test_every_region_used_is_represented_and_the_bounds_are_kept(
    given_ones: list[Region[Candidate]], spread: Bounds, bound: Bounds
) -> None:
    chosen = select_by_region(given_ones, spread=spread, clusters=bound)

    if isinstance(chosen, Selection):
        used = [one.region for one in chosen.regions if one.used]
        assert spread.least <= len(used)
        assert spread.most is None or len(used) <= spread.most
        assert sum(len(region.clusters) for region in used) >= bound.least
        for region in used:
            assert {one.cluster for one in region.clusters} & {*chosen.selected}
        for one in chosen.standings:
            of_used = any(one.candidate in region.clusters for region in used)
            assert of_used == (one.reason != "region_not_chosen")
            assert one.selected == (one.reason in {"best_of_region", "ranked"})


@given(candidates, st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_are_given_changes_nothing(
    given_ones: list[Candidate], shuffler: Random
) -> None:
    shuffled = list(given_ones)
    shuffler.shuffle(shuffled)

    for need in (None, Replicas(20)):
        first = select(given_ones, clusters=Bounds(0, 3), need=need)
        assert select(shuffled, clusters=Bounds(0, 3), need=need) == first
    assert select_everybody(shuffled) == select_everybody(given_ones)
    assert len(select_everybody(given_ones).selected) == len(given_ones)


@given(regions(), bounds(5), st.integers(0, 9), st.randoms(use_true_random=False))
def test_the_order_in_which_regions_are_given_changes_nothing(
    given_ones: list[Region[Candidate]], spread: Bounds, clusters: int, shuffler: Random
) -> None:
    shuffled = list(given_ones)
    shuffler.shuffle(shuffled)

    first = choose_regions(given_ones, spread=spread, clusters=clusters)

    assert choose_regions(shuffled, spread=spread, clusters=clusters) == first
