"""What holds of every division by what is available."""

from dataclasses import replace
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from ledger.core.division.dynamic import Division, Request, Strategy, divide
from ledger.core.division.shortage import Shortage
from ledger.units import ClusterName, Replicas
from tests.laws import division_model
from tests.laws.strategies import clusters, words

amounts = st.integers(0, 15).map(Replicas)
strategies: st.SearchStrategy[Strategy] = st.sampled_from(["dynamic", "aggregated"])
requests = st.builds(
    Request,
    replicas=st.integers(0, 40).map(Replicas),
    available=st.dictionaries(clusters, amounts, max_size=6),
    last=st.one_of(st.none(), st.dictionaries(clusters, amounts, max_size=6)),
    strategy=strategies,
    fresh=st.sampled_from([False, False, True]),
    workload=words,
)


def answer(request: Request) -> Division:
    division = divide(request)
    assume(isinstance(division, Division))
    assert isinstance(division, Division)
    return division


def held(request: Request) -> dict[ClusterName, int]:
    return {cluster: (request.last or {}).get(cluster, 0) for cluster in request.available}


@given(requests)
def test_the_answer_is_that_of_the_literal_model(request: Request) -> None:
    division = divide(request)

    literal = division_model.dynamic(
        request.replicas,
        request.available,
        request.last or {},
        request.workload,
        aggregated=request.strategy == "aggregated",
        fresh=request.fresh,
    )
    if isinstance(division, Shortage):
        assert literal is None
        assert division.room < division.wanted
    else:
        assert division.allocation == literal


@given(requests)
def test_every_candidate_is_listed_and_no_replica_is_lost(request: Request) -> None:
    division = answer(request)

    assert sum(division.allocation.values()) == request.replicas
    assert list(division.allocation) == sorted(request.available)


@given(requests)
def test_nobody_gets_more_new_replicas_than_it_has_room_for(request: Request) -> None:
    division = answer(request)
    before = held(request)

    for share in division.shares:
        new = share.replicas - before[share.cluster]
        assert new <= share.available or division.course in {"keep", "scale_down"}


@given(requests)
def test_growing_takes_nothing_away_and_shrinking_gives_nothing(request: Request) -> None:
    division = answer(request)
    moves = [division.allocation[cluster] - count for cluster, count in held(request).items()]

    match division.course:
        case "keep":
            assert not any(moves)
        case "scale_up":
            assert all(move >= 0 for move in moves)
        case "scale_down":
            assert all(move <= 0 for move in moves)
        case "fresh":
            assert request.fresh


@given(requests)
def test_asking_again_moves_nothing(request: Request) -> None:
    division = answer(request)

    again = answer(replace(request, last=division.allocation, fresh=False))

    assert again.course == "keep"
    assert again.allocation == division.allocation


@given(requests)
def test_aggregated_takes_as_few_of_the_row_as_have_the_room(request: Request) -> None:
    request = replace(request, strategy="aggregated")
    division = answer(request)
    assume(division.target)

    weights = {share.cluster: share.weight for share in division.shares if share.weight is not None}
    part = division.row[: len(weights)]
    assert set(part) == set(weights)
    assert sum(weights.values()) >= division.target
    assert sum(weights[cluster] for cluster in part[:-1]) < division.target
    if division.course == "scale_up":
        holders = [held(request)[cluster] > 0 for cluster in division.row]
        assert holders == sorted(holders, reverse=True)


@given(requests, st.randoms(use_true_random=False))
def test_the_same_inputs_in_any_order_give_the_same_answer(
    request: Request, shuffler: Random
) -> None:
    names = list(request.available)
    shuffler.shuffle(names)

    again = divide(replace(request, available={name: request.available[name] for name in names}))

    assert repr(again) == repr(divide(request))
