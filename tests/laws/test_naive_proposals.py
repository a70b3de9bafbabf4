"""The engine proposes and carries out moves of replicas as the naive model does.

Histories are those of volumes, in which somebody asks and approves in between; without ``hold``, under
which an approval waits for what else is due then (``tests/scenarios/proposals-under-hold.txt``).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ledger.facts.control import PolicyChanged
from ledger.facts.decision import Decision
from ledger.facts.event import Fact
from ledger.facts.proposal import Proposal
from ledger.reducers.conservation import differences
from tests.histories import (
    approved,
    disk_up,
    policy,
    requested,
    volume_up,
)
from tests.laws import disk_histories
from tests.laws.job_histories import Happening, long_histories
from tests.laws.two_stores import Stores


def at_once(drawn: Sequence[Any]) -> list[Happening]:
    return [Happening(fact, "east", 0) for fact in drawn]


def in_a_row(*facts: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Happening]]:
    return st.tuples(*facts).map(at_once)


def failed_one(volume: str, number: int) -> Fact:
    return disk_histories.failed(volume, number, reusable=True)


SUBJECTS = [None, None, None, "v", "w", "x", "c1", "c2", "c1/n1", "n1", "nobody"]

requests = st.builds(
    requested,
    st.just("disks"),
    st.sampled_from(SUBJECTS),
    max_moves=st.sampled_from([None, None, None, 0, 1, 2]),
    max_bytes=st.sampled_from([None, None, None, 25, 40]),
)
approvals = st.builds(approved, st.integers(0, 9))
"""Which of those that are open; a nine means itself."""

few_replicas = st.builds(
    volume_up,
    disk_histories.volumes,
    st.integers(1, 2),
    size=st.sampled_from([10, 20, 30]),
    disk_selector=disk_histories.tags,
)
moods = st.builds(
    disk_histories.disk_at,
    disk_histories.places,
    disk_histories.disks,
    maximum=st.sampled_from([100, 100, 200]),
    available=st.sampled_from([100, 100, 30]),
    zone=st.sampled_from(["", "", "", "a"]),
    schedulable=disk_histories.mostly,
)
"""Of disks that mostly have room, so that there is something to be moved, and then it is in the way."""

moody = st.one_of(moods, st.builds(failed_one, disk_histories.volumes, st.integers(1, 3)))
turns: st.SearchStrategy[list[Happening]] = st.one_of(
    disk_histories.happenings.map(lambda one: [one]),
    in_a_row(requests),
    in_a_row(approvals),
    in_a_row(few_replicas),
    in_a_row(moods),
    in_a_row(requests, approvals),
    in_a_row(moods, requests, moody, moody, approvals),
)
"""What comes between a request and an approval is often in the way of what was proposed."""

BEGINNING: list[Fact] = [
    policy({"disk.replenish_wait": 2000}),
    disk_up("c1", "n1", "d1", maximum=200, available=200),
    *(volume_up(name, 1, size=size) for name, size in (("v", 20), ("w", 30), ("x", 10))),
    disk_up("c1", "n2", "d1"),
    disk_up("c1", "n3", "d1"),
]
"""Everything lies on one disk, and two others are empty."""


def without_hold(fact: Fact) -> Fact:
    if not isinstance(fact, PolicyChanged):
        return fact
    return replace(fact, change=tuple(one for one in fact.change if one[0] != "hold"))


def histories(least: int, most: int) -> Any:
    drawn = st.lists(turns, min_size=least, max_size=most)
    return drawn.map(
        lambda more: [
            *at_once(BEGINNING),
            *(one._replace(fact=without_hold(one.fact)) for turn in more for one in turn),
        ]
    )


def agrees(history: list[Happening]) -> list[Decision]:
    """Event by event: what two stores tell, and that everything adds up."""
    both = Stores.begin()
    for fact, source, after in history:
        assert both.live(fact, after, source) is None
        assert differences(both.log.world) == ()
    return [made for step in both.log.steps for made in step.decisions]


@long_histories
@given(histories(20, 50))
def test_the_engine_proposes_as_somebody_who_tries_every_move(history: list[Happening]) -> None:
    agrees(history)


@pytest.mark.long
@settings(long_histories, max_examples=500, phases=[Phase.generate])
@given(histories(80, 120))
def test_the_engine_proposes_so_over_long_histories(history: list[Happening]) -> None:
    agrees(history)


def test_the_histories_reach_what_the_model_speaks_of() -> None:
    seen: set[str] = set()

    @settings(long_histories, max_examples=200)
    @given(histories(20, 50))
    def look(history: list[Happening]) -> None:
        for made in agrees(history):
            seen.add(made.branch if isinstance(made.outcome, Proposal) else made.outcome.kind)
            seen.add(getattr(made.outcome, "reason", ""))
            seen.update(made.outcome.because)

    look()

    assert seen >= {"proposed", "nothing_to_move", "approved", "unknown_subject"}
    assert seen & {"not_movable", "target_unavailable", "unsuitable", "no_room"}
