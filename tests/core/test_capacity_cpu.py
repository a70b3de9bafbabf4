"""Bound cores: refusals, edges, and what nobody expects of a division."""

from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest

from ledger.core.capacity.amounts import INFINITE, Core, NumaGroup
from ledger.core.capacity.cpu import CpuNode, CpuPlan, CpuRequest, cpu_capacity, cpu_plans
from ledger.core.capacity.memory import memory_capacity, storage_capacity
from ledger.core.capacity.merge import BOUND_CPU_WEIGHT, Load, load, mean_load, merge
from ledger.core.capacity.reallocation import Change, Holding, NoRoom, Reallocated, reallocate
from ledger.core.capacity.remap import remap
from ledger.core.capacity.request import InstanceRequest
from ledger.core.capacity.runs import Run, first, unrolled
from ledger.errors import InvalidRequest
from ledger.units import Bytes, NodeName


def node(memory: int = 0, **pieces: int) -> CpuNode:
    """A node with cores c0, c1 and so on."""
    return CpuNode({Core(core): free for core, free in pieces.items()}, memory)


def request(cpu: str, **rest: Any) -> CpuRequest:
    return CpuRequest(Fraction(cpu), **rest)


def bindings(plans: tuple[CpuPlan, ...]) -> list[dict[Core, int]]:
    return [dict(plan.cores) for plan in plans]


def test_a_request_is_counted_in_exact_pieces() -> None:
    plans = cpu_plans(node(c0=100), request("0.29"), wanted=9)

    assert bindings(plans) == [{"c0": 29}] * 3


REFUSED = [
    (request("0"), "invalid_cpu"),
    (request("-1"), "invalid_cpu"),
    (request("0.005"), "invalid_cpu"),
    (request("1.005"), "invalid_cpu"),
    (request("1", memory=-1), "invalid_memory"),
    (request("0", memory=-1), "invalid_cpu"),
    (request("1", share_base=0), "invalid_request"),
    (request("1", share_base=-100), "invalid_request"),
    (request("1", max_share=-2), "invalid_request"),
]


@pytest.mark.parametrize(("asked", "code"), REFUSED)
def test_a_request_that_means_nothing_is_refused(asked: CpuRequest, code: str) -> None:
    with pytest.raises(InvalidRequest) as counting:
        cpu_capacity(node(c0=100), asked)
    with pytest.raises(InvalidRequest) as planning:
        cpu_plans(node(c0=100), asked, wanted=1)

    assert counting.value.code == planning.value.code == code


MALFORMED: list[Callable[[], object]] = [
    lambda: cpu_capacity(node(c0=True), request("1")),
    lambda: cpu_capacity(node(c0=100), request("1"), origin={Core("c0"): -1}),
    lambda: cpu_plans(node(c0=100), request("1"), wanted=-1),
    lambda: memory_capacity(cores=-1, cpu=Fraction(0), free=Bytes(1), request=Bytes(1)),
    lambda: storage_capacity(free=Bytes(1), request=Bytes(1), volumes=Bytes(-1)),
    lambda: load(used=-1, capacity=1, request=1),
    lambda: remap({Core("c0"): 100}, {}, share_base=-1),
]


@pytest.mark.parametrize("ask", MALFORMED)
def test_what_is_no_count_is_refused(ask: Callable[[], object]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ask()

    assert refused.value.code == "invalid_request"


def test_cores_and_memory_below_nothing_hold_nothing() -> None:
    assert cpu_capacity(node(c0=-100, c1=-1), request("1")).capacity == 0
    assert cpu_capacity(node(-5, c0=100), request("1", memory=1)).capacity == 0
    assert cpu_capacity(CpuNode({}, 0), request("0.5")).capacity == 0


def test_fragment_cores_are_used_also_where_there_are_more_than_may_be_divided() -> None:
    capacity = cpu_capacity(node(c0=50, c1=50, c2=100), request("0.5", max_share=1))

    assert capacity.capacity == 2
    assert capacity.passes[0].divided == 0


def test_pieces_beyond_any_machine_word_are_no_more_work() -> None:
    huge = node(c0=2**64 * 100, c1=2**66 * 100, c2=2**65 * 100, c3=37)

    for cpu in ("1", "2", "3", "0.01", "1.37", "2.5"):
        capacity = cpu_capacity(huge, request(cpu))
        assert capacity.capacity > 2**57
        assert len(cpu_plans(huge, request(cpu), wanted=5)) == 5


def test_a_group_without_memory_serves_nobody_and_its_cores_come_last() -> None:
    grouped = CpuNode(
        {Core("0"): 100, Core("1"): 100, Core("2"): 100},
        300,
        {Core("0"): NumaGroup("a"), Core("1"): NumaGroup("b"), Core("gone"): NumaGroup("b")},
        {NumaGroup("b"): 250},
    )

    plans = cpu_plans(grouped, request("1", memory=100), wanted=9)

    assert [(plan.group, *plan.cores) for plan in plans] == [("b", "1"), ("", "0"), ("", "2")]


def test_a_group_has_no_more_memory_than_its_node() -> None:
    grouped = CpuNode(
        {Core("0"): 300},
        200,
        {Core("0"): NumaGroup("a")},
        {NumaGroup("a"): 1000},
    )

    assert cpu_capacity(grouped, request("1", memory=100)).capacity == 2


def test_a_core_that_is_held_stays_in_use_while_it_lasts() -> None:
    plans = cpu_plans(
        node(c0=300, c1=100, c2=100), request("2"), wanted=9, origin={Core("c0"): 100}
    )

    assert bindings(plans) == [{"c0": 100, "c1": 100}, {"c0": 100, "c2": 100}]


def test_leftovers_go_back_to_the_front_at_once() -> None:
    plans = cpu_plans(node(c0=200, c1=100), request("1"), wanted=9, origin={Core("c0"): 200})

    assert [list(plan.cores) for plan in plans] == [["c0"], ["c0"], ["c1"]]


HELD = Holding(
    InstanceRequest(
        cpu_request=Fraction(1), cpu_limit=Fraction(1), memory_request=10, memory_limit=10
    ),
    {Core("c1"): 100},
)


def test_a_change_that_changes_nothing_keeps_the_binding() -> None:
    given = reallocate(node(c0=100, c1=0), HELD, Change(keep_cpu_bind=True))

    assert isinstance(given, Reallocated)
    assert given.kept
    assert given.holding.cores == {"c1": 100}


def test_a_binding_on_a_core_that_is_gone_is_not_kept() -> None:
    given = reallocate(node(c0=100), HELD, Change(keep_cpu_bind=True))

    assert isinstance(given, Reallocated)
    assert not given.kept
    assert given.holding.cores == {"c0": 100}


def test_a_binding_on_a_node_without_its_memory_is_not_kept() -> None:
    given = reallocate(node(-1, c1=0), HELD, Change(keep_cpu_bind=True))

    assert isinstance(given, NoRoom)
    assert given.code == "insufficient_resource"
    assert (given.memory, given.request.memory_request) == (9, 10)


def test_an_instance_without_memory_keeps_its_binding_on_a_node_without_any() -> None:
    held = Holding(InstanceRequest(cpu_request=Fraction(1)), {Core("c1"): 100})

    given = reallocate(node(-1, c0=100, c1=0), held, Change(keep_cpu_bind=True))

    assert isinstance(given, Reallocated)
    assert given.kept


def test_a_group_gets_back_what_was_held_in_it() -> None:
    grouped = CpuNode(
        {Core("c0"): 100, Core("c1"): 0},
        0,
        {Core("c0"): NumaGroup("a"), Core("c1"): NumaGroup("b")},
        {NumaGroup("a"): 5, NumaGroup("b"): 0},
    )
    held = Holding(HELD.request, HELD.cores, NumaGroup("b"))

    given = reallocate(grouped, held, Change(memory_request=-1, keep_cpu_bind=True))

    assert isinstance(given, Reallocated)
    assert (given.holding.group, given.holding.cores) == ("b", {"c1": 100})


def test_an_instance_is_bound_as_the_change_says() -> None:
    unbound = reallocate(node(c0=100, c1=0), HELD, Change())
    still_unbound = reallocate(
        node(10, c0=100), Holding(HELD.request, {}), Change(keep_cpu_bind=True)
    )
    bound = reallocate(node(10, c0=100), Holding(HELD.request, {}), Change(cpu_bind=True))

    assert isinstance(unbound, Reallocated)
    assert isinstance(still_unbound, Reallocated)
    assert isinstance(bound, Reallocated)
    assert not unbound.kept
    assert still_unbound.kept
    assert unbound.holding.cores == still_unbound.holding.cores == {}
    assert bound.holding.cores == {"c0": 100}


def test_an_unbound_instance_needs_memory_and_enough_cores() -> None:
    no_memory = reallocate(node(0, c1=0), HELD, Change(memory_request=1))
    no_cores = reallocate(node(0, c1=0), HELD, Change(cpu_request=Fraction(1, 2)))

    assert isinstance(no_memory, NoRoom)
    assert isinstance(no_cores, NoRoom)
    assert no_memory.code == no_cores.code == "insufficient_capacity"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (Change(cpu_request=Fraction(-2)), "invalid_cpu"),
        (Change(memory_request=-11), "invalid_memory"),
        (
            Change(cpu_request=Fraction(-1), cpu_limit=Fraction(-1), keep_cpu_bind=True),
            "invalid_cpu",
        ),
        (Change(cpu_request=Fraction(1, 1000), cpu_bind=True), "invalid_cpu"),
    ],
)
def test_a_change_to_what_cannot_be_asked_for_is_refused(change: Change, code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        reallocate(node(c1=0), HELD, change)

    assert refused.value.code == code


def test_where_no_core_is_whole_all_are_shared() -> None:
    shared = remap({Core("10"): 99, Core("2"): -5}, {"w2": {}, "w10": {}, "bound": {Core("2"): 5}})

    assert shared.share_cores == ("10", "2")
    assert shared.remapped == ("w10", "w2")


def test_an_unlimited_resource_leaves_the_choice_to_the_others() -> None:
    n1, n2 = NodeName("n1"), NodeName("n2")

    merged = merge([{n1: INFINITE + 5, n2: INFINITE}, {n1: 4, n2: INFINITE}])

    assert merged.capacity == {n1: 4, n2: INFINITE}
    assert merged.total == INFINITE
    assert merge([]).capacity == {}


def test_bound_cores_count_a_hundred_times_in_a_mean() -> None:
    cpu = load(used=50, capacity=100, request=10, weight=BOUND_CPU_WEIGHT)
    memory = load(used=10, capacity=10, request=1)

    mean = mean_load([cpu, memory])

    assert mean.usage == Fraction(51, 101)
    assert mean.rate == (Fraction(10, 100) * 100 + Fraction(1, 10)) * Fraction(1, 101)
    assert load(used=3, capacity=0, request=1) == Load(Fraction(0), Fraction(0), 1)
    assert mean_load([]) == Load(Fraction(0), Fraction(0), 0)


def test_a_run_is_unrolled_only_as_far_as_it_is_read() -> None:
    endless = [Run(("a", "b"), 2**70), Run(("c",), 1)]

    assert list(islice(unrolled(endless), 3)) == ["a", "b", "a"]
    assert list(first(endless, 2**71 + 1)) == [("a", 2**70), ("b", 2**70), ("c", 1)]
    assert list(first(endless, 3)) == [("a", 2), ("b", 1)]
