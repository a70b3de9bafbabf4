"""Choosing a disk: what the sources print, ties, both profiles, and what has no answer."""

from fractions import Fraction

import pytest

from ledger.core.disk.balance import absolute_score, balance_score, ratio_score
from ledger.core.disk.choice import Choice, NoDisk, Scope, choose, require_addresses
from ledger.core.disk.sequence import Succession, place_in_sequence
from ledger.core.disk.space import Disk
from ledger.core.disk.weighing import weigh
from ledger.errors import InvalidRequest
from ledger.units import NodeName

ONE, HALF, NONE = Fraction(1), Fraction(1, 2), Fraction(0)


def disk(address: str, usable: int, total: int | None = None) -> Disk:
    node, name = address.split("/")
    whole = abs(usable) if total is None else total
    return Disk(
        node=NodeName(node), name=name, maximum=whole, available=whole, scheduled=whole - usable
    )


SCENARIO = [
    disk("A/A1", 900, 1000),
    disk("A/A2", 100, 200),
    disk("B/B1", 600, 800),
    disk("B/B2", 700, 1000),
]


def test_scores_at_the_edges() -> None:
    assert balance_score({}, {}, ONE) is None
    assert balance_score({"a": 7}, {}, ONE) == 0
    assert balance_score({"a": 0, "b": 0}, {"a": 4, "b": 4}, ONE) is None
    assert balance_score({"a": 0, "b": 1}, {}, ONE) == 2
    assert balance_score({"x": 3 * 10**12 + 1, "y": 3 * 10**12}, {}, ONE) == Fraction(
        2, 6 * 10**12 + 1
    )


def test_alpha_beyond_the_ends_is_the_end() -> None:
    usable, totals = {"a": 6, "b": 2}, {"a": 12, "b": 8}

    assert balance_score(usable, totals, Fraction(-1, 2)) == ratio_score(usable, totals)
    assert balance_score(usable, totals, Fraction(3, 2)) == absolute_score(usable)


def test_a_hybrid_without_one_half_is_undefined() -> None:
    assert balance_score({"a": 5, "b": 1}, {"a": 0, "b": 0}, HALF) is None
    assert balance_score({"a": 0, "b": 0}, {"a": 1, "b": 1}, HALF) is None


def test_a_score_of_more_promised_than_there_is_is_undefined() -> None:
    assert balance_score({"a": -5, "b": 1}, {}, ONE) is None


def test_a_total_is_never_negative() -> None:
    with pytest.raises(InvalidRequest):
        balance_score({"a": 1}, {"a": -1}, ONE)


@pytest.mark.parametrize(
    ("alpha", "scope", "pick", "disk_scores"),
    [
        (ONE, "node", "B2", {"B1": Fraction(1, 3), "B2": 0}),
        (ONE, "candidates", "B2", {"B1": Fraction(16, 11), "B2": Fraction(16, 11)}),
        (NONE, "node", "A1", None),
        (HALF, "candidates", "A1", None),
    ],
)
def test_the_documented_cluster(
    alpha: Fraction, scope: Scope, pick: str, disk_scores: dict[str, Fraction] | None
) -> None:
    choice = choose(SCENARIO, size=100, alpha=alpha, scope=scope)

    assert isinstance(choice, Choice)
    assert choice.disk.name == pick
    assert disk_scores is None or choice.disk_scores == disk_scores


def test_a_tie_goes_to_more_room_and_then_to_the_first_name() -> None:
    tied = [disk("A/a", 1000), disk("B/b", 1000), disk("C/c", 500), disk("D/d", 400)]

    choice = choose(tied, size=100)

    assert isinstance(choice, Choice)
    assert choice.node_scores == {
        "A": Fraction(6, 7),
        "B": Fraction(6, 7),
        "C": Fraction(6, 7),
        "D": 1,
    }
    assert choice.disk.node == "A"
    assert choice.node_stage is not None
    assert choice.node_stage.decided_by() == "name"


def test_the_roomiest_of_a_tie_across_nodes_wins() -> None:
    stage = weigh({"a": 500, "b": 1000, "c": 1000, "d": 400}, {}, size=100, alpha=ONE)

    assert stage.scores()["a"] == stage.scores()["b"]
    assert [stage.names[place] for place in stage.ranking()] == ["b", "c", "a", "d"]


@pytest.mark.parametrize(
    ("usable", "totals", "size", "alpha", "pick"),
    [
        # 111/187 against 19/32, which the first comparison cannot tell apart.
        ({"d0": 10, "d1": 11, "d2": 10}, {"d0": 14, "d1": 16, "d2": 16}, 5, NONE, "d0"),
        ({"d0": 10, "d1": 11, "d2": 10}, {"d0": 16, "d1": 16, "d2": 14}, 5, NONE, "d2"),
        # Equal scores of unequal totals, which it would decide for the larger total.
        ({"d0": 2, "d1": 2}, {"d0": 5, "d1": 6}, 2, Fraction(1, 3), "d0"),
    ],
)
def test_scores_next_to_each_other_are_told_apart_exactly(
    usable: dict[str, int], totals: dict[str, int], size: int, alpha: Fraction, pick: str
) -> None:
    stage = weigh(usable, totals, size=size, alpha=alpha)

    place = stage.best(undefined_wins=True)

    assert place is not None
    assert stage.names[place] == pick


def test_a_member_without_a_total_takes_part_in_bytes_alone() -> None:
    stage = weigh({"a": 8, "b": 4, "c": 6}, {"a": 8, "b": 8}, size=2, alpha=NONE)

    scores = stage.scores()

    assert scores["c"] == Fraction(2, 3)
    assert scores["a"] == Fraction(2, 5)


def test_infeasible_members_stay_in_the_set() -> None:
    stage = weigh({"d1": 20, "d2": 5}, {}, size=10, alpha=ONE)

    assert stage.scores() == {"d1": Fraction(2, 3), "d2": "infeasible"}


def test_a_restriction_leaves_the_set_whole() -> None:
    usable = {"A1": 900, "A2": 100, "B1": 600, "B2": 700}

    stage = weigh(usable, {}, size=100, alpha=ONE, restrict_to=["B1", "B2"])

    assert stage.scores() == {"B1": Fraction(16, 11), "B2": Fraction(16, 11)}


def test_nothing_to_pick_from() -> None:
    stage = weigh({"a": 1}, {}, size=2, alpha=HALF)

    assert stage.best(undefined_wins=True) is None
    assert choose([], size=1) == NoDisk(1, "none")


def test_a_single_candidate_is_taken_as_it_is() -> None:
    roomy, tight = choose([disk("A/a", 5)], size=5), choose([disk("A/a", 4, 9)], size=5)

    assert isinstance(roomy, Choice)
    assert isinstance(tight, Choice)
    assert (roomy.rule, roomy.overcommitted, roomy.node_scores) == ("single", False, {})
    assert (tight.rule, tight.overcommitted, tight.disk_scores) == ("single", True, {})


def test_one_node_with_several_disks_still_has_to_have_room() -> None:
    disks = [disk("A/a1", 4, 9), disk("A/a2", 3, 9)]

    ours, shipped = choose(disks, size=5), choose(disks, size=8, scope="candidates")

    assert isinstance(ours, Choice)
    assert (ours.disk.name, ours.rule, ours.overcommitted) == ("a1", "most_usable", True)
    assert isinstance(shipped, NoDisk)
    assert shipped.stage == "node"


def test_a_node_whose_disks_have_room_only_together() -> None:
    fragmented = [disk("A/a1", 60), disk("A/a2", 60), disk("B/b1", 100)]

    ours = choose(fragmented, size=80)
    shipped = choose(fragmented, size=80, scope="candidates")

    assert isinstance(ours, Choice)
    assert ours.disk.name == "b1"
    assert isinstance(shipped, NoDisk)
    assert shipped.stage == "disk"


def test_the_last_room_is_given_away_by_us_alone() -> None:
    last = [disk("A/a", 8), disk("B/b", 0)]

    ours, shipped = choose(last, size=8), choose(last, size=8, scope="candidates")

    assert isinstance(ours, Choice)
    assert ours.disk.name == "a"
    assert ours.node_scores == {"A": "undefined", "B": "infeasible"}
    assert isinstance(shipped, NoDisk)


@pytest.mark.parametrize("alpha", [NONE, HALF, ONE])
def test_between_undefined_scores_room_decides(alpha: Fraction) -> None:
    stage = weigh({"a": 2, "b": 2}, {"a": 0, "b": 0}, size=2, alpha=alpha)
    nothing = weigh({"a": 0, "b": 0}, {"a": 1, "b": 1}, size=0, alpha=alpha)

    assert nothing.best(undefined_wins=True) == 0
    assert nothing.best(undefined_wins=False) is None
    assert stage.best(undefined_wins=True) == 0


def test_overcommitted_disks_go_by_signed_bytes_then_node_then_name() -> None:
    over = [disk("B/x", -5, 9), disk("A/z", -5, 9), disk("A/y", -5, 9), disk("A/a", -6, 9)]

    choice = choose(over, size=1)

    assert isinstance(choice, Choice)
    assert (choice.disk.node, choice.disk.name) == ("A", "y")
    assert choice.overcommitted


def test_many_small_disks_beat_the_largest_one() -> None:
    disks = [disk("A/a1", 50), disk("A/a2", 50), disk("A/a3", 50), disk("B/b1", 120)]

    choice = choose(disks, size=10)

    assert isinstance(choice, Choice)
    assert choice.disk.name == "a1"
    assert choice.node_scores == {"A": Fraction(2, 13), "B": Fraction(4, 13)}


def test_the_same_address_twice_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        require_addresses([disk("A/a", 1), disk("A/a", 2)])
    require_addresses([disk("A/a", 1), disk("B/a", 2)])
    with pytest.raises(InvalidRequest):
        choose([], size=-1)


PLAN = {"D40": 40, "D25": 25}


@pytest.mark.parametrize(
    ("policy", "alpha", "written", "picks", "left"),
    [
        ("old_most_available", 1, 0, "D40 D40 D40 D40", {"D40": 8, "D25": 25}),
        ("old_most_available", 1, 1, "D40 D40 D25 D40", {"D40": -8, "D25": 9}),
        ("balance", 1, 0, "D40 D40 D25 D40", {"D40": 16, "D25": 17}),
        ("balance", 1, 1, "D40 D25 D40 D25", {"D40": 8, "D25": -7}),
        ("balance", 0, 0, "D40 D25 D40 D25", {"D40": 24, "D25": 9}),
        ("balance", HALF, 0, "D40 D40 D25 D40", {"D40": 16, "D25": 17}),
    ],
)
def test_the_documented_test_plan(
    policy: str, alpha: Fraction, written: int, picks: str, left: dict[str, int]
) -> None:
    placed = place_in_sequence(
        PLAN,
        size=8,
        volumes=4,
        written=Fraction(written),
        policy="balance" if policy == "balance" else "old_most_available",
        alpha=Fraction(alpha),
    )

    assert isinstance(placed, Succession)
    assert list(placed.picks) == picks.split()
    assert placed.usable_after == left


def test_a_part_of_a_byte_is_kept_exactly() -> None:
    placed = place_in_sequence({"d": 10, "e": 10}, size=5, volumes=3, written=Fraction(1, 3))

    assert isinstance(placed, Succession)
    assert placed.picks == ("d", "e", "d")
    assert placed.usable_after == {"d": Fraction(-10, 3), "e": Fraction(10, 3)}
    assert placed.overcommitted == (False, False, True)


def test_a_sequence_without_disks_or_scores_ends_without_one() -> None:
    for policy in ("balance", "old_most_available"):
        placed = place_in_sequence(
            {},
            size=1,
            volumes=1,
            policy="balance" if policy == "balance" else "old_most_available",
        )
        assert isinstance(placed, NoDisk)
    shipped = place_in_sequence({"a": 1, "b": 1}, size=2, volumes=1, scope="candidates")
    assert isinstance(shipped, NoDisk)


def test_a_sequence_refuses_what_means_nothing() -> None:
    for wrong in (Fraction(-1, 2), Fraction(3, 2)):
        with pytest.raises(InvalidRequest):
            place_in_sequence(PLAN, size=1, volumes=1, written=wrong)
    with pytest.raises(InvalidRequest):
        place_in_sequence({"d": -1}, size=1, volumes=1)
    with pytest.raises(InvalidRequest):
        place_in_sequence(PLAN, size=1, volumes=-1)
