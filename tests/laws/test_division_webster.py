"""What holds of every division by Webster's method, and that it is the one that goes seat by seat."""

from fractions import Fraction
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ledger.core.division.webster import Apportionment, apportion, names_descend
from ledger.core.shares import in_order_of_ratio, ratio_keys
from ledger.units import ClusterName, Replicas, Weight
from tests.laws import division_model
from tests.laws.strategies import CLUSTERS, clusters, words

small = st.integers(0, 9)
weights_of_clusters = st.dictionaries(
    clusters, st.one_of(small, small, st.integers(0, 2**40)).map(Weight), max_size=7
)
holdings = st.dictionaries(clusters, st.one_of(small, st.integers(0, 40)).map(Replicas), max_size=5)
few = st.integers(0, 60).map(Replicas)
uids = st.one_of(st.just(""), st.sampled_from(["web-7", "web-8"]), words)

Weights = dict[ClusterName, Weight]
Holdings = dict[ClusterName, Replicas]


@given(few, weights_of_clusters, holdings, uids)
def test_the_fast_form_is_the_one_that_goes_seat_by_seat(
    replicas: Replicas, weights: Weights, initial: Holdings, uid: str
) -> None:
    result = apportion(replicas, weights, initial=initial, workload=uid)

    assert result.allocation == division_model.webster(replicas, weights, initial, uid)


@given(few, weights_of_clusters, holdings, uids)
def test_one_replica_more_goes_to_who_is_next_in_line(
    replicas: Replicas, weights: Weights, initial: Holdings, uid: str
) -> None:
    before = apportion(replicas, weights, initial=initial, workload=uid)

    after = apportion(Replicas(replicas + 1), weights, initial=initial, workload=uid)

    grown = [name for name, n in after.allocation.items() if n != before.allocation[name]]
    following = before.next_in_line
    assert grown == ([] if following is None else [following.cluster])
    last = after.last_served
    assert (last is None) == (following is None)
    assert last is None or [last.cluster] == grown


@given(st.integers(0, 10**30).map(Replicas), weights_of_clusters, holdings, uids)
def test_no_claim_that_was_not_met_is_higher_than_one_that_was(
    replicas: Replicas, weights: Weights, initial: Holdings, uid: str
) -> None:
    result = apportion(replicas, weights, initial=initial, workload=uid)

    met = [party.last_claim for party in result.parties if party.last_claim is not None]
    assert max((party.next_claim for party in result.parties), default=0) <= min(met, default=9**99)
    assert all(party.got >= 0 for party in result.parties)
    given_out = sum(party.got for party in result.parties)
    assert given_out == (replicas if {*weights, *initial} else 0)


@given(few, weights_of_clusters, holdings, uids, st.randoms(use_true_random=False))
def test_the_order_in_which_clusters_are_given_changes_nothing(
    replicas: Replicas, weights: Weights, initial: Holdings, uid: str, shuffler: Random
) -> None:
    names = list(weights)
    shuffler.shuffle(names)

    again = apportion(replicas, {n: weights[n] for n in names}, initial=initial, workload=uid)

    assert repr(again) == repr(apportion(replicas, weights, initial=initial, workload=uid))


@given(few, weights_of_clusters, holdings, uids, st.integers(2, 10**12))
def test_scaling_every_weight_changes_nothing(
    replicas: Replicas, weights: Weights, initial: Holdings, uid: str, factor: int
) -> None:
    scaled = {name: Weight(factor * weight) for name, weight in weights.items()}

    assert allocated(replicas, scaled, initial, uid) == allocated(replicas, weights, initial, uid)


@given(weights_of_clusters, st.data(), uids)
def test_nobody_gets_more_than_its_weight_while_the_weights_suffice(
    weights: Weights, data: st.DataObject, uid: str
) -> None:
    replicas = Replicas(data.draw(st.integers(0, sum(weights.values()))))

    result = apportion(replicas, weights, workload=uid)

    assert all(party.replicas <= party.weight for party in result.parties)


@given(few, st.integers(0, 5).map(Weight), uids)
def test_equals_differ_by_one_at_most_and_in_the_order_of_the_names(
    replicas: Replicas, weight: Weight, uid: str
) -> None:
    result = apportion(replicas, dict.fromkeys(CLUSTERS, weight), workload=uid)

    counts = [party.replicas for party in result.parties]
    assert max(counts) - min(counts) <= 1
    assert counts == sorted(counts, reverse=not result.names_descend)


@given(uids)
def test_the_digest_of_the_uid_is_the_published_one(uid: str) -> None:
    assert names_descend(uid) == division_model.descends(uid)


@given(st.lists(st.tuples(st.integers(0, 2**70), st.integers(1, 2**70)), max_size=6))
def test_ratios_are_compared_exactly(ratios: list[tuple[int, int]]) -> None:
    exact = [Fraction(*ratio) for ratio in ratios]

    keys = ratio_keys(ratios)

    for one, other, key, other_key in zip(exact, exact[::-1], keys, keys[::-1], strict=True):
        assert (one < other) == (key < other_key)
        assert (one == other) == (key == other_key)
    assert in_order_of_ratio(ratios) == sorted(range(len(exact)), key=exact.__getitem__)


@given(st.integers(1, 2**40), st.integers(1, 2**40))
def test_neighbouring_ratios_are_told_apart(count: int, divisor: int) -> None:
    ratios = [
        (count, divisor),
        (count + 1, divisor),
        (count, divisor + 1),
        (2 * count, 2 * divisor),
    ]

    keys = ratio_keys(ratios)

    assert keys[2] < keys[0] == keys[3] < keys[1]


def allocated(replicas: Replicas, weights: Weights, initial: Holdings, uid: str) -> Holdings:
    result: Apportionment = apportion(replicas, weights, initial=initial, workload=uid)
    return result.allocation
