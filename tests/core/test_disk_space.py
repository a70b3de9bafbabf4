"""Room on a disk: each limit on both sides of equality, and what net accounting changes."""

from dataclasses import replace

import pytest

from ledger.core.disk.space import (
    Limits,
    Shortfall,
    Space,
    advertised,
    expansion,
    fits,
    fits_under_pressure,
    percent_of,
    under_pressure,
    unused_pct,
)
from ledger.errors import InvalidRequest

DISK = Space(maximum=1000, available=600, reserved=100, scheduled=200)
LIMITS = Limits()


def test_usable_is_signed_and_room_is_not() -> None:
    full = Space(maximum=100, available=50, scheduled=150)

    assert (full.usable, full.room, full.total) == (-100, 0, 100)
    assert Space(maximum=5, available=5, reserved=9).total == 0


@pytest.mark.parametrize(
    ("space", "size", "actual", "short"),
    [
        (DISK, 700, 0, None),
        (DISK, 701, 0, Shortfall("scheduling_space", 901, 900)),
        (DISK, 0, 349, None),
        (DISK, 0, 350, Shortfall("actual_space", 250, 250)),
        (replace(DISK, maximum=0), 0, 0, Shortfall("maximum_not_positive", 0, 0)),
        (replace(DISK, available=0), 0, 0, Shortfall("available_not_positive", 0, 0)),
        # 25 % of 1003 is 250 and three quarters.
        (replace(DISK, maximum=1003, available=251), 1, 0, None),
        # More reserved than there is: 100 % of -500 leaves no room for nothing.
        (replace(DISK, reserved=1500), 0, 0, Shortfall("scheduling_space", 200, -500)),
    ],
)
def test_each_limit_on_both_sides_of_equality(
    space: Space, size: int, actual: int, short: Shortfall | None
) -> None:
    assert fits(space, LIMITS, size=size, actual=actual) == short


def test_percentages_are_cut_off_towards_zero_from_either_side() -> None:
    assert percent_of(150, 1) == 1
    assert percent_of(-150, 1) == -1
    overdrawn = Space(maximum=100, available=100, reserved=250)
    assert fits(overdrawn, Limits(over_provisioning_pct=1), size=0, actual=0) == Shortfall(
        "scheduling_space", 0, -1
    )


def test_pressure_is_judged_after_the_fit() -> None:
    limits = Limits(disk_pressure_pct=80)
    roomy = replace(DISK, available=900)

    assert fits_under_pressure(roomy, limits, size=100, actual=499) is None
    assert fits_under_pressure(roomy, limits, size=100, actual=500) == Shortfall(
        "disk_pressure", 80, 80
    )
    empty = replace(roomy, maximum=0)
    assert fits_under_pressure(empty, limits, size=1, actual=1) == Shortfall(
        "maximum_not_positive", 0, 0
    )


@pytest.mark.parametrize(
    ("available", "reserved", "maximum", "threshold", "unused", "under"),
    [
        (200, 0, 1000, 80, 20, False),
        (199, 0, 1000, 80, 19, True),
        (300, 250, 1000, 90, 5, True),
        (100, 250, 1000, 90, 0, True),
        (100, 0, 0, 90, 0, True),
        (0, 0, 1000, 100, 0, False),
    ],
)
def test_pressure_counts_whole_percents(
    *, available: int, reserved: int, maximum: int, threshold: int, unused: int, under: bool
) -> None:
    space = Space(maximum=maximum, available=available, reserved=reserved)

    assert unused_pct(space) == unused
    assert under_pressure(space, Limits(disk_pressure_pct=threshold)) == under


@pytest.mark.parametrize(
    ("space", "required", "short"),
    [
        (DISK, 450, None),
        (DISK, 451, Shortfall("physical_minimum", 249, 250)),
        (replace(DISK, available=700, reserved=0), 700, Shortfall("physical_minimum", 0, 250)),
        (
            replace(DISK, available=600, reserved=300, scheduled=0),
            601,
            Shortfall("physical_limit", 701, 700),
        ),
        (replace(DISK, scheduled=700), 201, Shortfall("scheduling_space", 901, 900)),
    ],
)
def test_growing_may_use_the_minimum_up(
    space: Space, required: int, short: Shortfall | None
) -> None:
    assert expansion(space, LIMITS, required=required) == short


def test_written_bytes_count_once_in_net_accounting() -> None:
    # Two replicas of 8, both written: they are missing from available and promised besides.
    plain = Space(maximum=40, available=24, scheduled=16)
    net = replace(plain, written=16)

    assert plain.usable == 8
    assert (net.usable, net.plainly_usable) == (24, 8)
    # What somebody else has written lowers what is available, and bounds it.
    assert replace(net, available=10).usable == 10
    assert replace(net, written=30).usable == 10


def test_a_driver_reports_the_largest_promise_and_the_sum() -> None:
    spaces = [DISK, Space(maximum=100, available=1, scheduled=30), replace(DISK, scheduled=9000)]

    promise = advertised(spaces, LIMITS)

    assert (promise.largest, promise.available) == (700, 770)
    assert advertised([], LIMITS).largest == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"maximum": -1},
        {"maximum": True},
        {"reserved": -1},
        {"scheduled": -1},
        {"written": -1},
        {"available": True},
    ],
)
def test_amounts_that_are_no_amounts_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        replace(DISK, **wrong)

    assert refused.value.code == "invalid_request"


def test_sizes_and_percentages_are_counts() -> None:
    with pytest.raises(InvalidRequest):
        fits(DISK, LIMITS, size=-1, actual=0)
    with pytest.raises(InvalidRequest):
        fits(DISK, LIMITS, size=0, actual=-1)
    with pytest.raises(InvalidRequest):
        expansion(DISK, LIMITS, required=-1)
    with pytest.raises(InvalidRequest):
        Limits(over_provisioning_pct=-1)


def test_what_is_short_is_just_enough_to_keep_the_limit() -> None:
    tight = Space(maximum=100, available=20, scheduled=90)
    over = fits(Space(maximum=100, available=100, scheduled=90), Limits(), size=15, actual=0)
    written = fits(tight, Limits(), size=1, actual=0)
    grown = expansion(tight, Limits(), required=10)
    pressed = fits_under_pressure(
        Space(maximum=100, available=100, scheduled=95), Limits(), size=1, actual=0
    )

    assert over is not None
    assert written is not None
    assert grown is not None
    assert pressed is not None
    assert (over.code, over.bytes_short) == ("scheduling_space", 5)
    assert (written.code, written.bytes_short) == ("actual_space", 6)
    assert (grown.code, grown.bytes_short) == ("physical_minimum", 15)
    assert (pressed.code, pressed.bytes_short) == ("disk_pressure", None)
