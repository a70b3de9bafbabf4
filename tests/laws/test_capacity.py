"""What holds of every capacity and every binding, whoever asks for it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import TypeVar

from hypothesis import assume, example, given
from hypothesis import strategies as st

from ledger.core.capacity.amounts import INFINITE, Core, Device, NumaGroup
from ledger.core.capacity.cpu import (
    CpuCapacity,
    CpuNode,
    CpuPlan,
    CpuRequest,
    cpu_capacities,
    cpu_capacity,
    cpu_plans,
)
from ledger.core.capacity.disks import Disk
from ledger.core.capacity.memory import memory_capacity, storage_capacity
from ledger.core.capacity.merge import Load, mean_load, merge
from ledger.core.capacity.reallocation import Change, Holding, NoRoom, reallocate
from ledger.core.capacity.remap import remap
from ledger.core.capacity.request import InstanceRequest, normalized
from ledger.core.capacity.runs import count, first, unrolled
from ledger.core.capacity.volume_reallocation import NoDevice, reallocate_volumes
from ledger.core.capacity.volume_requests import Quota, VolumeRequest, volume_requests
from ledger.core.capacity.volumes import VolumeNode, VolumePlan, volume_capacity
from ledger.core.capacity.whole_cores import WholeCores
from ledger.units import Bytes, NodeName
from tests.laws import capacity_model as model

BASE = 10

Key = TypeVar("Key")
Amount = TypeVar("Amount")

cores = st.sampled_from([Core(name) for name in ("0", "1", "2", "10", "11", "é", "z")])
groups = st.sampled_from([NumaGroup(name) for name in ("0", "1", "10")])
devices = st.sampled_from([Device(name) for name in ("/d0", "/d1", "/d2", "/d10", "/é")])
nodes = st.sampled_from([NodeName(name) for name in ("n1", "n2", "n10", "\uffff", "\U00010000")])
pieces = st.one_of(st.sampled_from([BASE, BASE, 2 * BASE, 3 * BASE, 0]), st.integers(-3, 4 * BASE))
piece_maps = st.dictionaries(cores, pieces, max_size=7)
amounts = st.integers(0, 12)
capacities = st.one_of(st.integers(-2, 20), st.integers(INFINITE - 1, INFINITE + 1))


@dataclass(frozen=True, slots=True)
class Case:
    node: CpuNode
    request: CpuRequest
    origin: dict[Core, int]


def requests_of(
    wanted: st.SearchStrategy[int], max_share: st.SearchStrategy[int]
) -> st.SearchStrategy[CpuRequest]:
    """Requests of so many pieces."""
    return st.builds(
        CpuRequest,
        cpu=wanted.map(lambda pieces: Fraction(pieces, BASE)),
        memory=st.integers(0, 3),
        share_base=st.just(BASE),
        max_share=max_share,
    )


any_pieces = st.one_of(st.integers(1, 4 * BASE), st.sampled_from([10, 20, 13, 5, 17]))
requests = requests_of(any_pieces, st.sampled_from([-1, -1, -1, 0, 1, 2, 5]))
flat_nodes = st.builds(CpuNode, cores=piece_maps, memory=st.integers(-1, 30))
numa_nodes = st.builds(
    CpuNode,
    cores=piece_maps,
    memory=st.integers(-1, 30),
    numa=st.dictionaries(cores, groups, max_size=7),
    numa_memory=st.dictionaries(groups, st.integers(-1, 15)),
)
origins = st.dictionaries(cores, st.sampled_from([BASE, BASE, 3, 5, 2 * BASE, 0]), max_size=4)
cases = st.builds(
    Case,
    node=st.one_of(flat_nodes, numa_nodes),
    request=requests,
    origin=st.one_of(st.just({}), st.just({}), origins),
)


def all_plans(case: Case, *, wanted: int = 1000) -> tuple[CpuPlan, ...]:
    return cpu_plans(case.node, case.request, wanted=wanted, origin=case.origin)


def counted(case: Case) -> CpuCapacity:
    return cpu_capacity(case.node, case.request, origin=case.origin)


def taken(plans: tuple[CpuPlan, ...]) -> Counter[Core]:
    together: Counter[Core] = Counter()
    for plan in plans:
        together.update(plan.cores)
    return together


@given(cases)
def test_bindings_are_those_that_are_found_one_by_one(case: Case) -> None:
    expected = model.cpu_plans(
        case.node.cores,
        case.node.memory,
        (case.node.numa, case.node.numa_memory),
        cpu=case.request.cpu,
        memory_each=case.request.memory,
        base=BASE,
        max_share=case.request.max_share,
        origin=case.origin,
    )

    assert [(plan.group, plan.cores) for plan in all_plans(case)] == expected


@given(cases)
def test_counting_makes_no_plan_and_comes_to_as_many(case: Case) -> None:
    capacity = counted(case)

    plans = all_plans(case)

    assert capacity.capacity == len(plans)
    by_group = Counter(plan.group for plan in plans)
    assert {one.group: one.capacity for one in capacity.passes if one.capacity} == by_group


@given(cases)
def test_a_binding_is_exactly_what_was_asked_for(case: Case) -> None:
    whole, fragment = divmod(int(case.request.cpu * BASE), BASE)

    for plan in all_plans(case):
        parts = sorted(plan.cores.values(), reverse=True)
        assert parts == [BASE] * whole + [fragment] * (fragment > 0)


@given(cases)
def test_no_core_and_no_memory_is_given_out_twice(case: Case) -> None:
    plans = all_plans(case)

    free = case.node.cores
    assert all(pieces <= max(0, free[core]) for core, pieces in taken(plans).items())
    assert len(plans) * case.request.memory <= max(0, case.node.memory)
    for group, memory in case.node.numa_memory.items():
        near = [plan for plan in plans if plan.group == group]
        assert len(near) * case.request.memory <= max(0, memory)
        assert all(case.node.numa[core] == group for plan in near for core in plan.cores)


@given(flat_nodes, requests_of(any_pieces, st.integers(0, 6)))
def test_no_more_cores_are_divided_than_max_share_allows(
    node: CpuNode, request: CpuRequest
) -> None:
    plans = cpu_plans(node, request, wanted=1000)

    divided = {core for plan in plans for core, pieces in plan.cores.items() if pieces < BASE}
    fragments = {core for core, free in node.cores.items() if free > 0 and free % BASE}
    assert len(divided | fragments) <= max(request.max_share, len(fragments))


@given(cases, st.integers(0, 12))
def test_asking_for_fewer_bindings_gives_the_first_ones(case: Case, wanted: int) -> None:
    assert all_plans(case, wanted=wanted) == all_plans(case)[:wanted]


whole_or_fragment = st.one_of(st.integers(1, BASE), st.sampled_from([BASE, 2 * BASE, 3 * BASE]))
not_oversold = st.builds(
    CpuNode,
    cores=st.dictionaries(cores, st.integers(0, BASE), max_size=7),
    memory=st.integers(-1, 30),
)


@given(
    st.one_of(
        st.tuples(flat_nodes, requests_of(whole_or_fragment, st.just(-1))),
        st.tuples(not_oversold, requests_of(any_pieces, st.just(-1))),
    ),
    st.integers(0, 12),
)
def test_what_was_placed_is_what_no_longer_fits(asked: tuple[CpuNode, CpuRequest], k: int) -> None:
    node, request = asked
    before = cpu_capacity(node, request)
    plans = cpu_plans(node, request, wanted=k)
    held = taken(plans)

    left = replace(
        node,
        cores={core: free - held[core] for core, free in node.cores.items()},
        memory=node.memory - len(plans) * request.memory,
    )

    assert cpu_capacity(left, request).capacity == before.capacity - len(plans)


@given(cases, st.randoms(use_true_random=False))
def test_the_order_of_the_question_does_not_matter(case: Case, shuffler: Random) -> None:
    asked = replace(case, origin=dict(case.origin))
    shuffled = Case(
        replace(
            case.node,
            cores=in_any_order(case.node.cores, shuffler),
            numa=in_any_order(case.node.numa, shuffler),
        ),
        case.request,
        in_any_order(case.origin, shuffler),
    )

    assert counted(shuffled) == counted(case)
    assert all_plans(shuffled) == all_plans(case)
    assert asked == case, "the question is left as it was"


def in_any_order(given: Mapping[Key, Amount], shuffler: Random) -> dict[Key, Amount]:
    names = list(given)
    shuffler.shuffle(names)
    return {name: given[name] for name in names}


@given(st.dictionaries(nodes, st.one_of(flat_nodes, numa_nodes)), requests)
def test_counting_many_nodes_is_counting_each(
    asked: dict[NodeName, CpuNode], request: CpuRequest
) -> None:
    answer = cpu_capacities(asked, request)

    assert list(answer) == sorted(asked)
    assert answer == {name: cpu_capacity(node, request) for name, node in asked.items()}


shares = st.one_of(st.integers(1, 4), st.integers(1, 40))
share_lists = st.dictionaries(cores, shares, min_size=1, max_size=7).map(
    lambda given: sorted((amount * BASE, core) for core, amount in given.items())
)


@given(share_lists, st.integers(1, 5), st.integers(0, 2))
def test_whole_cores_come_in_the_order_in_which_they_are_served_one_by_one(
    listed: list[tuple[int, Core]], each: int, skipped: int
) -> None:
    expected = model.whole_plans(listed[skipped:], each, BASE)
    whole_cores = WholeCores.of(listed, BASE, in_turn=False)

    runs = list(whole_cores.plans(each, skipped=min(skipped, len(listed))))

    served = [dict.fromkeys(names, BASE) for names in unrolled(runs)]
    assert served == expected
    assert whole_cores.count(each, skipped=min(skipped, len(listed))) == len(expected)


@given(share_lists, st.integers(1, 5), st.randoms(use_true_random=False))
def test_a_core_fewer_at_the_front_serves_no_more(
    listed: list[tuple[int, Core]], each: int, shuffler: Random
) -> None:
    shuffler.shuffle(listed)
    in_turn = WholeCores.of(listed, BASE, in_turn=True)

    counts = [in_turn.count(each, skipped=skipped) for skipped in range(len(listed) + 1)]

    assert counts == sorted(counts, reverse=True)


@given(
    st.lists(st.one_of(st.integers(1, 9), st.integers(10**19, 10**20)), min_size=1, max_size=7),
    st.integers(1, 5),
)
@example([2**63, 2**63 + 1, 2**64 + 5, 3], 2)
def test_the_work_does_not_grow_with_the_pieces(amounts: list[int], each: int) -> None:
    listed = [(amount * BASE, Core(str(core))) for core, amount in enumerate(sorted(amounts))]
    whole_cores = WholeCores.of(listed, BASE, in_turn=False)

    runs = list(whole_cores.plans(each))

    total = count(runs)
    assert total == whole_cores.count(each)
    assert len(runs) <= 20 * len(listed) ** 2
    served: Counter[Core] = Counter()
    for names, times in first(runs, total):
        assert len(set(names)) == each
        served.update(dict.fromkeys(names, times))
    assert all(served[core] * BASE <= free for free, core in listed)
    left = sum(free > served[core] * BASE for free, core in listed)
    assert left < each, "another instance would have found its cores"


@dataclass(frozen=True, slots=True)
class VolumeCase:
    node: VolumeNode
    requests: tuple[VolumeRequest, ...]
    max_deploy: int


sizes = st.integers(1, 20)
volume_nodes = st.builds(
    VolumeNode,
    capacity=st.dictionaries(devices, st.integers(0, 60), max_size=5),
    used=st.dictionaries(devices, st.sampled_from([0, 0, 1, 5, 20, 70]), max_size=5),
)
volume_texts = st.lists(
    st.one_of(
        st.builds("AUTO:/n{}:rw:{}".format, st.integers(0, 3), sizes),
        st.builds("AUTO:/n{}:rw:{}".format, st.integers(0, 3), sizes),
        st.builds("AUTO:/m{}:rwm:{}".format, st.integers(0, 3), sizes),
        st.builds(":/u{}".format, st.integers(0, 3)),
        st.builds("/data{0}:/h{0}:rw:5".format, st.integers(0, 3)),
    ),
    max_size=5,
    unique=True,
)
volume_cases = st.builds(
    VolumeCase,
    node=volume_nodes,
    requests=volume_texts.map(volume_requests),
    max_deploy=st.one_of(st.integers(0, 8), st.just(50)),
)


def placed(plan: VolumePlan) -> dict[str, tuple[str, int]]:
    return {one.request.text: (one.device, one.size) for one in plan}


def of_kind(case: VolumeCase, kind: str) -> dict[str, int]:
    return {one.text: one.size for one in case.requests if one.kind == kind}


@given(volume_cases)
def test_volumes_lie_where_they_are_put_one_by_one(case: VolumeCase) -> None:
    assume(any(one.kind != "mount" for one in case.requests))
    expected = model.volume_plans(
        case.node.capacity,
        case.node.used,
        of_kind(case, "normal"),
        of_kind(case, "monopoly"),
        list(of_kind(case, "unlimited")),
        case.max_deploy,
    )

    capacity = volume_capacity(case.node, case.requests, max_deploy=case.max_deploy)

    assert capacity.capacity == len(expected)
    assert [placed(plan) for plan in capacity.plans(1000)] == expected


quotas = st.builds(
    Quota,
    read_iops=st.sampled_from([0, 0, 1, 3]),
    write_iops=st.sampled_from([0, 0, 2]),
    read_bps=st.sampled_from([0, 0, 0, 5]),
    write_bps=st.just(0),
)
free_quotas = st.builds(Quota, *(st.integers(-1, 20) for _ in Quota._fields))


@given(
    st.dictionaries(devices, st.integers(1, 60), max_size=5),
    st.lists(st.tuples(st.sampled_from(["/", "/d0", "/d1", "/d10"]), free_quotas), max_size=3),
    st.lists(st.tuples(st.integers(0, 8), quotas), min_size=1, max_size=3),
    st.lists(quotas, max_size=2),
)
def test_volumes_with_quotas_lie_where_they_are_put_one_by_one(
    capacity: dict[Device, int],
    mounted: list[tuple[str, Quota]],
    wanted: list[tuple[int, Quota]],
    wanted_by_mounts: list[Quota],
) -> None:
    disks = tuple(
        Disk(f"disk{place}", (mount,), free) for place, (mount, free) in enumerate(mounted)
    )
    lies_on = {path: disks_at(disks, path) for path in ("/", *capacity)}
    requests = [
        VolumeRequest(f"AUTO:/n{place}", "AUTO", f"/n{place}", "rw", size, quota)
        for place, (size, quota) in enumerate(wanted)
        if size or any(quota)
    ]
    mounts = [
        VolumeRequest(f"/:/h{place}", "/", f"/h{place}", "rw", 0, quota)
        for place, quota in enumerate(wanted_by_mounts)
    ]
    assume(requests)
    expected = model.normal_plans_with_quotas(
        {device: size - 1 for device, size in capacity.items()},
        {device: disk for device, disk in lies_on.items() if disk is not None},
        {disk.name: list(disk.free) for disk in disks},
        sorted(((one.size, one.text, one.quota) for one in requests), key=lambda one: one[0]),
        [(lies_on["/"] or "", one.quota) for one in mounts if lies_on["/"]],
    )

    counted = volume_capacity(
        VolumeNode(capacity, dict.fromkeys(capacity, 1), disks),
        (*requests, *mounts),
        max_deploy=10_000,
    )

    assert [placed(plan) for plan in counted.plans(10_000)] == expected
    assert counted.capacity == len(expected)


def disks_at(disks: tuple[Disk, ...], path: str) -> str | None:
    """The disk that is mounted there, else the one mounted at the root."""
    for mount in (path, "/"):
        for disk in disks:
            if mount in disk.mounts:
                return disk.name
    return None


@given(
    st.lists(st.integers(10**3, 10**16), min_size=1, max_size=6),
    st.lists(st.integers(10**3, 10**12), min_size=1, max_size=4, unique=True),
)
def test_the_work_does_not_grow_with_the_bytes(disk_sizes: list[int], wanted: list[int]) -> None:
    node = VolumeNode({Device(f"/d{place}"): size for place, size in enumerate(disk_sizes)})
    requests = volume_requests([f"AUTO:/n{size}:rw:{size}" for size in wanted] + ["AUTO:/logs"])

    counted = volume_capacity(node, requests, max_deploy=10**16)

    assert len(counted.normal_runs) <= 10 * len(disk_sizes) * len(wanted)
    room: Counter[str] = Counter(node.capacity)
    for devices_of_one, times in first(counted.normal_runs, counted.capacity):
        for device, size in zip(devices_of_one, sorted(wanted), strict=True):
            room[device] -= times * size
    assert counted.capacity == count(counted.normal_runs)
    assert min(room.values()) >= 0
    assert not model.normal_plans(dict(room), [(size, str(size)) for size in sorted(wanted)])


@given(volume_cases)
def test_no_device_is_given_out_twice(case: VolumeCase) -> None:
    capacity = volume_capacity(case.node, case.requests, max_deploy=case.max_deploy)

    lies_on: Counter[Device] = Counter()
    whole: set[Device] = set()
    for plan in capacity.plans(1000):
        alone = {one.device for one in plan if one.request.kind == "monopoly"}
        assert len(alone) <= 1
        assert not alone & whole, "a device is monopolized once"
        whole |= alone
        for one in plan:
            assert one.size >= one.request.size
            lies_on[one.device] += one.size
    for device, size in lies_on.items():
        assert size <= max(0, case.node.capacity[device] - case.node.used.get(device, 0))
        assert device not in whole or size == case.node.capacity[device]


@given(
    volume_nodes,
    st.lists(sizes, min_size=1, max_size=4, unique=True),
    st.integers(0, 1),
    st.integers(0, 10),
)
def test_without_monopolies_what_was_placed_no_longer_fits(
    node: VolumeNode, of_sizes: list[int], logs: int, k: int
) -> None:
    many = 10_000
    requests = volume_requests([f"AUTO:/n:rw:{size}" for size in of_sizes] + ["AUTO:/logs"] * logs)
    before = volume_capacity(node, requests, max_deploy=many)
    plans = list(before.plans(k))

    used = Counter(node.used)
    for plan in plans:
        for one in plan:
            used[one.device] += one.size
    after = volume_capacity(replace(node, used=used), requests, max_deploy=many)

    assert after.capacity == before.capacity - len(plans)


@given(volume_nodes, sizes, st.integers(0, 40))
def test_a_single_volume_is_a_sum_over_the_devices(
    node: VolumeNode, size: int, max_deploy: int
) -> None:
    capacity = volume_capacity(
        node, volume_requests([f"AUTO:/data:rw:{size}"]), max_deploy=max_deploy
    )

    held = sum(
        max(0, total - node.used.get(device, 0)) // size for device, total in node.capacity.items()
    )
    assert capacity.capacity == min(held, max_deploy)


@given(volume_cases, st.randoms(use_true_random=False))
def test_the_order_of_devices_does_not_matter(case: VolumeCase, shuffler: Random) -> None:
    shuffled = VolumeNode(
        in_any_order(case.node.capacity, shuffler), in_any_order(case.node.used, shuffler)
    )

    one = volume_capacity(case.node, case.requests, max_deploy=case.max_deploy)
    other = volume_capacity(shuffled, case.requests, max_deploy=case.max_deploy)

    assert one == other
    assert list(one.plans(100)) == list(other.plans(100))


@given(volume_cases)
def test_an_instance_that_asks_for_the_same_volumes_again_keeps_their_places(
    case: VolumeCase,
) -> None:
    capacity = volume_capacity(case.node, case.requests, max_deploy=case.max_deploy)
    plan = next(capacity.plans(1), None)
    assume(plan is not None)
    assert plan is not None
    used = Counter(case.node.used)
    for one in plan:
        used[one.device] += one.size

    again = reallocate_volumes(
        replace(case.node, used=used), asked=case.requests, held=plan, requests=case.requests
    )

    assert not isinstance(again, NoDevice)
    assert placed(again) == placed(plan)


@given(st.lists(st.dictionaries(nodes, capacities), max_size=3))
def test_the_scarcest_resource_decides(resources: list[dict[NodeName, int]]) -> None:
    merged = merge(resources)

    for name in {name for resource in resources for name in resource}:
        least = min(resource.get(name, 0) for resource in resources)
        if least > 0:
            assert merged.capacity[name] == min(least, INFINITE)
            assert name not in merged.lacking
        else:
            assert name not in merged.capacity
            assert resources[merged.lacking[name]].get(name, 0) <= 0
    assert merged.total == min(INFINITE, sum(merged.capacity.values()))
    assert merge(resources[::-1]).capacity == merged.capacity


@given(st.integers(0, 8), st.fractions(0, 9), st.integers(-20, 100), amounts)
def test_memory_and_storage_hold_what_fits_beside_each_other(
    of_cores: int, cpu: Fraction, free: int, each: int
) -> None:
    by_memory = memory_capacity(cores=of_cores, cpu=cpu, free=Bytes(free), request=Bytes(each))
    by_storage = storage_capacity(free=Bytes(free), request=Bytes(each), volumes=Bytes(0))

    one_by_one = INFINITE if each == 0 else len(range(each, free + 1, each))
    assert by_storage == one_by_one
    assert by_memory == (0 if cpu > of_cores else one_by_one)


@given(
    st.lists(
        st.builds(Load, usage=st.fractions(0, 2), rate=st.fractions(0, 1), weight=st.just(1)),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 100),
)
def test_a_mean_lies_between_and_a_heavier_resource_counts_more(
    loads: list[Load], weight: int
) -> None:
    mean = mean_load(loads)
    heavier = mean_load([replace(loads[0], weight=weight), *loads[1:]])

    assert min(one.usage for one in loads) <= mean.usage <= max(one.usage for one in loads)
    assert abs(heavier.usage - loads[0].usage) <= abs(mean.usage - loads[0].usage)
    assert heavier.weight == weight + len(loads) - 1


instance_requests = st.builds(
    InstanceRequest,
    cpu_request=st.integers(0, 40).map(lambda wanted: Fraction(wanted, BASE)),
    cpu_limit=st.integers(0, 40).map(lambda wanted: Fraction(wanted, BASE)),
    cpu_bind=st.booleans(),
    memory_request=amounts,
    memory_limit=amounts,
    storage_request=amounts,
    storage_limit=amounts,
)


@given(instance_requests)
def test_what_is_normal_stays_as_it_is(asked: InstanceRequest) -> None:
    assume(not asked.cpu_bind or asked.cpu_request or asked.cpu_limit)

    once = normalized(asked)

    assert normalized(once) == once
    for request, limit in (
        (once.cpu_request, once.cpu_limit),
        (once.memory_request, once.memory_limit),
        (once.storage_request, once.storage_limit),
    ):
        assert limit == 0 or 0 < request <= limit
    if once.cpu_bind and once.cpu_limit:
        assert once.cpu_request == once.cpu_limit
    assert once.cpu_request >= asked.cpu_request
    assert once.memory_request >= asked.memory_request


@given(cases)
def test_an_instance_that_asks_for_no_change_keeps_its_binding(case: Case) -> None:
    plan = next(iter(all_plans(case, wanted=1)), None)
    assume(plan is not None)
    assert plan is not None
    held = Holding(
        normalized(
            InstanceRequest(
                cpu_request=case.request.cpu, cpu_bind=True, memory_request=case.request.memory
            )
        ),
        plan.cores,
        plan.group,
    )

    again = reallocate(
        beside(case.node, plan, case.request.memory),
        held,
        Change(keep_cpu_bind=True),
        share_base=BASE,
        max_share=case.request.max_share,
    )

    assert not isinstance(again, NoRoom)
    assert again.kept
    assert again.holding == held


@given(case=cases, cpu=st.integers(-20, 20), memory=st.integers(-3, 3), bind=st.booleans())
def test_a_changed_instance_takes_no_more_than_there_is(
    case: Case, cpu: int, memory: int, *, bind: bool
) -> None:
    plan = next(iter(all_plans(case, wanted=1)), None)
    assume(plan is not None)
    assert plan is not None
    held = Holding(
        InstanceRequest(cpu_request=case.request.cpu, memory_request=case.request.memory),
        plan.cores,
        plan.group,
    )
    change = Change(cpu_request=Fraction(cpu, BASE), memory_request=memory, cpu_bind=bind)
    node = beside(case.node, plan, case.request.memory)

    total = case.request.cpu + Fraction(cpu, BASE)
    assume(total >= 0 and case.request.memory + memory >= 0 and (total or not bind))
    given = reallocate(node, held, change, share_base=BASE)

    if isinstance(given, NoRoom):
        assert given.code == ("insufficient_resource" if bind else "insufficient_capacity")
        return
    new = given.holding
    assert new.request.cpu_request == total
    assert new.request.memory_request <= max(0, case.node.memory)
    assert sum(new.cores.values()) == (new.request.cpu_request * BASE if bind else 0)
    assert all(pieces <= case.node.cores[core] for core, pieces in new.cores.items())


def beside(node: CpuNode, plan: CpuPlan, memory: int) -> CpuNode:
    """What the node has free while an instance with this binding runs."""
    numa_memory = dict(node.numa_memory)
    if plan.group:
        numa_memory[plan.group] = numa_memory.get(plan.group, 0) - memory
    return replace(
        node,
        cores={core: free - plan.cores.get(core, 0) for core, free in node.cores.items()},
        memory=node.memory - memory,
        numa_memory=numa_memory,
    )


@given(piece_maps, st.dictionaries(st.sampled_from("abc"), origins))
def test_those_without_a_binding_share_cores_that_are_whole(
    free: dict[Core, int], workloads: dict[str, dict[Core, int]]
) -> None:
    shared = remap(free, workloads, share_base=BASE)

    whole = {core for core in free if free[core] >= BASE}
    assert list(shared.share_cores) == sorted(whole or free)
    assert [name for name in sorted(workloads) if not workloads[name]] == list(shared.remapped)
