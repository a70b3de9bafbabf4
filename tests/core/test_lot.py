"""Lots at their borders."""

from typing import Any

import pytest

from ledger.core.lot import Lot
from ledger.errors import InvalidRequest

LOT = Lot("salt", "workload", 0)


@pytest.mark.parametrize(
    ("odds", "step"),
    [
        pytest.param({"a": 1, "b": 2}, 2, id="the step does not divide the sum"),
        pytest.param({"a": 3, "b": 1}, 2, id="odds beyond the step"),
        pytest.param({"a": 1}, 0, id="no step"),
        pytest.param({}, -1, id="a step backwards"),
        pytest.param({"a": -1, "b": 1}, 1, id="negative odds"),
        pytest.param({"a": True}, 1, id="true is no number"),
    ],
)
def test_a_sample_needs_a_step_that_suits_the_odds(odds: dict[str, Any], step: int) -> None:
    with pytest.raises(InvalidRequest) as refused:
        LOT.sample(odds, step=step)

    assert refused.value.code == "invalid_request"


def test_who_is_as_wide_as_the_step_is_always_in_the_sample() -> None:
    for epoch in range(50):
        taken = Lot("salt", "workload", epoch).sample({"a": 3, "b": 1, "c": 2}, step=3)

        assert "a" in taken.order
        assert len(taken.order) == 2


def test_nobody_is_drawn_from_nothing() -> None:
    assert LOT.draw({}, 0).order == ()
    assert LOT.sample({}, step=1).order == ()
    with pytest.raises(InvalidRequest):
        LOT.draw({}, 1)


def test_a_draw_tells_the_points_at_which_the_names_were_found() -> None:
    draw = LOT.draw({"a": 5, "b": 0, "c": 2}, 3)

    widths = {"a": 5, "b": 0, "c": 2}
    for name, point in zip(draw.order, draw.points, strict=True):
        assert 0 <= point < (sum(widths.values()) or len(widths))
        del widths[name]
