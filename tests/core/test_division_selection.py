"""Selection at its borders."""

from typing import Any

import pytest

from ledger.core.division.regions import Bounds, Region, TooFew, choose_regions
from ledger.core.division.selection import (
    Candidate,
    Selection,
    select,
    select_by_region,
    select_everybody,
)
from ledger.core.division.shortage import Shortage
from ledger.errors import InvalidRequest
from ledger.units import ClusterName, Replicas

ANY = Bounds()


def candidate(name: str, score: int = 0, available: int = 0, tier: int = 0) -> Candidate:
    return Candidate(ClusterName(name), score, Replicas(available), tier)


def region(name: str, score: int, *clusters: str) -> Region[Candidate]:
    return Region(name, score, [candidate(cluster) for cluster in clusters])


def chosen(outcome: Selection | TooFew | Shortage) -> Selection:
    assert isinstance(outcome, Selection)
    return outcome


def test_candidates_stand_by_tier_score_room_and_name() -> None:
    row = [
        candidate("a", score=9, tier=1),
        candidate("c", score=5, available=1),
        candidate("b", score=5, available=1),
        candidate("z", score=5, available=2),
        candidate("y", score=6),
    ]

    assert select_everybody(row).selected == ("y", "z", "b", "c", "a")


def test_a_bound_of_nothing_is_taken_at_its_word() -> None:
    row = [candidate("a", available=5)]

    assert chosen(select(row, clusters=Bounds(0, 0), need=None)).selected == ()
    assert chosen(select(row, clusters=Bounds(0, 0), need=Replicas(0))).selected == ()
    assert select(row, clusters=Bounds(0, 0), need=Replicas(1)) == Shortage(
        Replicas(1), Replicas(0)
    )
    assert choose_regions([region("R", 1, "a")], spread=Bounds(0, 0), clusters=0) == TooFew(
        "too_few_clusters", wanted=1, found=0
    )


def test_too_few_say_how_many_there_are() -> None:
    one = region("R1", 1, "a", "b")
    empty = region("R2", 9)

    assert select([candidate("a")], clusters=Bounds(2), need=None) == TooFew(
        "too_few_clusters", wanted=2, found=1
    )
    assert select_by_region([one, empty], spread=Bounds(2), clusters=ANY) == TooFew(
        "too_few_regions", wanted=2, found=1
    )
    assert select_by_region([one, empty], spread=ANY, clusters=Bounds(3)) == TooFew(
        "too_few_clusters", wanted=3, found=2
    )
    assert select_by_region([], spread=ANY, clusters=ANY) == TooFew(
        "too_few_clusters", wanted=1, found=0
    )


def test_who_lost_a_place_may_come_back_for_a_better_one() -> None:
    # d replaces c; then c has most room of those who wait, and replaces a, not b.
    row = [
        candidate("a", score=9, available=1),
        candidate("b", score=8, available=7),
        candidate("c", score=7, available=5),
        candidate("d", score=1, available=6),
    ]

    outcome = chosen(select(row, clusters=Bounds(3, 3), need=Replicas(18)))

    assert outcome.selected == ("c", "b", "d")
    reasons = {one.candidate.cluster: one.reason for one in outcome.standings}
    assert reasons == {"a": "swapped_out", "b": "ranked", "c": "swapped_in", "d": "swapped_in"}


def test_equal_room_is_no_reason_to_swap_and_the_better_ordered_goes_first() -> None:
    row = [
        candidate("a", score=9, available=2),
        candidate("b", score=3, available=4),
        candidate("c", score=4, available=4),
    ]

    assert chosen(select(row, clusters=Bounds(1, 1), need=Replicas(3))).selected == ("c",)
    assert select(row[1:], clusters=Bounds(1, 1), need=Replicas(5)) == Shortage(
        Replicas(5), Replicas(4)
    )


def test_every_region_is_represented_even_above_the_most() -> None:
    regions = [region("R1", 3, "a", "b"), region("R2", 2, "c"), region("R3", 1, "d")]

    outcome = chosen(select_by_region(regions, spread=Bounds(3, 3), clusters=Bounds(1, 2)))

    assert outcome.selected == ("a", "c", "d")
    assert [one.reason for one in outcome.standings] == [
        *("best_of_region", "not_needed", "best_of_region", "best_of_region")
    ]


def test_many_regions_are_not_tried_set_by_set() -> None:
    # Sixty regions have more sets than could ever be tried. The best thirty by score have one
    # cluster each; forty clusters need ten of the worse ones, which have two.
    good = [region(f"good{place:02}", 100 - place, f"g{place}") for place in range(30)]
    large = [
        region(f"large{place:02}", 30 - place, f"x{place}", f"y{place}") for place in range(30)
    ]

    outcome = choose_regions([*large, *good], spread=Bounds(1, 30), clusters=40)

    assert not isinstance(outcome, TooFew)
    used = [one.region.name for one in outcome if one.used]
    assert used == [one.name for one in (*good[:20], *large[:10])]


@pytest.mark.parametrize(
    "change",
    [
        {"least": 3, "most": 2},
        {"least": -1},
        {"most": -1},
        {"score": -1},
        {"available": True},
        {"tier": 0.5},
        {"need": -1},
        {"name": "b"},
    ],
)
def test_a_malformed_question_is_refused(change: dict[str, Any]) -> None:
    asked: dict[str, Any] = {
        "name": "a",
        "score": 1,
        "available": 1,
        "tier": 0,
        "least": 0,
        "most": None,
        "need": 1,
        **change,
    }
    row = [
        Candidate(asked["name"], asked["score"], asked["available"], asked["tier"]),
        candidate("b"),
    ]

    with pytest.raises(InvalidRequest) as refused:
        select(row, clusters=Bounds(asked["least"], asked["most"]), need=asked["need"])

    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize(
    "regions",
    [
        pytest.param([region("R1", 1, "a"), region("R2", 1, "a")], id="a cluster in two regions"),
        pytest.param([region("R1", 1, "a"), region("R1", 1, "b")], id="a region twice"),
        pytest.param([region("R1", -1, "a")], id="a negative score"),
    ],
)
def test_malformed_regions_are_refused(regions: list[Region[Candidate]]) -> None:
    with pytest.raises(InvalidRequest):
        select_by_region(regions, spread=ANY, clusters=ANY)
