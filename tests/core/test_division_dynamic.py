"""Dynamic, aggregated and duplicated division at their borders."""

from typing import Any

import pytest

from ledger.core.division.duplicated import duplicate
from ledger.core.division.dynamic import Division, Request, divide
from ledger.core.division.shortage import Shortage
from ledger.errors import InvalidRequest
from ledger.units import ClusterName, Replicas


def replicas(**named: int) -> dict[ClusterName, Replicas]:
    return {ClusterName(name): Replicas(count) for name, count in named.items()}


def divided(request: Request) -> Division:
    division = divide(request)
    assert isinstance(division, Division)
    return division


def test_a_shortage_says_what_was_to_be_placed_and_what_there_is() -> None:
    request = Request(Replicas(24), replicas(a=1, b=2), last=replicas(a=4, gone=9))

    assert divide(request) == Shortage(wanted=Replicas(20), room=Replicas(3))


def test_without_candidates_there_is_room_for_nothing_only() -> None:
    assert divide(Request(Replicas(1), {})) == Shortage(Replicas(1), Replicas(0))
    assert divided(Request(Replicas(0), {})).allocation == {}


def test_what_left_with_its_cluster_is_missing_though_the_sum_matched() -> None:
    request = Request(Replicas(6), replicas(a=9), last=replicas(a=2, gone=4))

    division = divided(request)

    assert division.course == "scale_up"
    assert division.target == 4
    assert division.allocation == replicas(a=6)


def test_who_took_no_part_has_no_weight() -> None:
    request = Request(Replicas(5), replicas(a=2, b=5, c=0), strategy="aggregated")

    division = divided(request)

    assert division.row == ("b", "a", "c")
    assert [share.weight for share in division.shares] == [None, 5, None]
    assert division.allocation == replicas(a=0, b=5, c=0)


def test_who_is_listed_with_nothing_does_not_hold() -> None:
    request = Request(
        Replicas(4), replicas(a=4, b=5), last=replicas(a=0, b=0), strategy="aggregated"
    )

    assert divided(request).row == ("b", "a")


def test_fresh_forgets_who_held() -> None:
    request = Request(
        Replicas(4), replicas(a=3, b=9), last=replicas(a=4), strategy="aggregated", fresh=True
    )

    assert divided(request).row == ("b", "a")
    assert divided(request).allocation == replicas(a=0, b=4)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"replicas": -1}, "invalid_request"),
        ({"available": {"a": True}}, "invalid_request"),
        ({"last": {"a": -1}}, "invalid_request"),
        ({"strategy": "static"}, "invalid_strategy"),
    ],
)
def test_a_malformed_question_is_refused(change: dict[str, Any], code: str) -> None:
    question: dict[str, Any] = {"replicas": 1, "available": {"a": 1}, **change}

    with pytest.raises(InvalidRequest) as refused:
        divide(Request(**question))

    assert refused.value.code == code


def test_duplicated_gives_everybody_everything() -> None:
    names = [ClusterName("b"), ClusterName("a")]

    assert duplicate(Replicas(3), names) == replicas(a=3, b=3)
    assert list(duplicate(Replicas(0), names)) == ["a", "b"]
    assert duplicate(Replicas(3), []) == {}
    with pytest.raises(InvalidRequest, match="'b' is named twice"):
        duplicate(Replicas(3), [*names, ClusterName("b")])
    with pytest.raises(InvalidRequest, match="replicas"):
        duplicate(Replicas(-1), names)
