"""Volumes: quotas of disks, changes in place, and the edges of both."""

import pytest

from ledger.core.capacity.amounts import INFINITE, Device
from ledger.core.capacity.disks import Disk, Quotas
from ledger.core.capacity.volume_reallocation import NoDevice, reallocate_volumes
from ledger.core.capacity.volume_requests import Quota, VolumeRequest, volume_requests
from ledger.core.capacity.volumes import (
    Placed,
    VolumeCapacity,
    VolumeNode,
    VolumePlan,
    volume_capacity,
)
from ledger.errors import InvalidRequest

MANY = 1000
PLENTY = Quota(10_000, 10_000, 10_000, 10_000)


def node(*disks: Disk, **sizes: int | tuple[int, int]) -> VolumeNode:
    """Devices /a, /b and so on, each with its size or with (size, used)."""
    pairs = {
        Device(f"/{name}"): size if isinstance(size, tuple) else (size, 0)
        for name, size in sizes.items()
    }
    return VolumeNode(
        {device: size for device, (size, _) in pairs.items()},
        {device: used for device, (_, used) in pairs.items() if used},
        disks,
    )


def counted(on: VolumeNode, *texts: str, most: int = MANY) -> VolumeCapacity:
    return volume_capacity(on, volume_requests(texts), max_deploy=most)


def told(plan: VolumePlan) -> dict[str, tuple[str, int]]:
    return {one.request.text: (one.device, one.size) for one in plan}


@pytest.mark.parametrize("texts", [(), ("/data:/data:rw:5",), ("/a:/a", "/b:/b:rwm")])
def test_without_a_volume_to_place_any_number_fits(texts: tuple[str, ...]) -> None:
    capacity = counted(node(), *texts)

    assert capacity.capacity == INFINITE
    assert list(capacity.plans(3)) == []


def test_what_was_overcommitted_holds_nothing_but_what_is_unlimited() -> None:
    full = node(a=(10, 20))

    assert counted(full, "AUTO:/data:rw:1").capacity == 0
    assert counted(full, "AUTO:/data", most=3).capacity == 3
    assert counted(node(), "AUTO:/data").capacity == 0


def test_an_instance_takes_nothing_where_one_of_its_volumes_finds_no_place() -> None:
    capacity = counted(node(a=(10, 1)), "AUTO:/s:rw:2", "AUTO:/l:rw:8", "AUTO:/u")

    assert capacity.capacity == 0
    assert capacity.normal_runs == ()


def test_devices_are_put_to_use_until_the_kinds_balance() -> None:
    capacity = counted(node(a=10, b=20, c=30, d=40), "AUTO:/n:rw:15", "AUTO:/m:rwm:5")

    assert capacity.put_to_use == ("/b", "/c")
    assert capacity.capacity == 2
    assert [told(plan)["AUTO:/m:rwm:5"] for plan in capacity.plans(9)] == [("/a", 10), ("/d", 40)]


def test_what_is_used_up_has_no_more_room_than_what_is_overcommitted() -> None:
    assert counted(node(a=(9, 9), b=10), "AUTO:/m:rwm:5", "AUTO:/u").unlimited_on == "/a"
    assert counted(node(a=10, b=(9, 12)), "AUTO:/m:rwm:5", "AUTO:/u").unlimited_on == "/a"
    assert counted(node(a=10, b=(9, 8)), "AUTO:/m:rwm:5", "AUTO:/u").unlimited_on == "/b"


def test_no_more_is_counted_than_may_be_deployed() -> None:
    assert counted(node(a=2**70), "AUTO:/n:rw:1", most=7).capacity == 7
    assert counted(node(a=2**70), "AUTO:/n:rw:1", "AUTO:/u", most=7).capacity == 7
    assert counted(node(a=5, b=5), "AUTO:/m:rwm:1", most=1).capacity == 1
    assert counted(node(a=5), "AUTO:/u", most=0).capacity == 0


@pytest.mark.parametrize(
    ("on", "most"),
    [
        (VolumeNode({Device("/a"): -1}), 1),
        (VolumeNode({Device("/a"): 1}, {Device("/a"): -1}), 1),
        (VolumeNode({}), -1),
    ],
)
def test_what_is_no_count_is_refused(on: VolumeNode, most: int) -> None:
    with pytest.raises(InvalidRequest) as refused:
        volume_capacity(on, volume_requests(["AUTO:/data"]), max_deploy=most)

    assert refused.value.code == "invalid_request"


def test_a_path_lies_on_the_disk_with_the_longest_mount() -> None:
    quotas = Quotas(
        (Disk("root", ("/",), PLENTY), Disk("one", ("/data", "/var/lib/"), PLENTY)),
    )

    assert quotas.disk_of("/data") == quotas.disk_of("/data/x") == "one"
    assert quotas.disk_of("/var/lib/docker") == "one"
    assert quotas.disk_of("/data1") == quotas.disk_of("/var") == quotas.disk_of("/") == "root"
    assert Quotas((Disk("one", ("/data",), PLENTY),)).disk_of("/") is None


def test_a_mount_named_twice_is_that_of_the_first_disk_by_name() -> None:
    twice = (Disk("z", ("/a",), Quota(1)), Disk("b", ("/a",), PLENTY))

    assert Quotas(twice).disk_of("/a") == "b"


def test_a_quota_has_to_be_free_in_every_part() -> None:
    disk = Disk("disk", ("/a", "/b"), Quota(10, 100, 100, 100))
    on = node(disk, a=(100, 1), b=(100, 1))

    assert counted(on, "AUTO:/n:rw:1:3:0:0:0").capacity == 3
    assert counted(on, "AUTO:/n:rw:1:3:50:0:0").capacity == 2
    assert counted(on, "AUTO:/n:rw:0:0:0:0:101").capacity == 0
    assert counted(on, "AUTO:/n:rw:40:1:0:0:0").capacity == 4


def test_a_device_without_a_disk_promises_nothing() -> None:
    assert counted(node(a=(100, 1)), "AUTO:/n:rw:1:1:0:0:0").capacity == 0
    assert counted(node(a=100), "AUTO:/m:rwm:1:1:0:0:0").capacity == 0


def test_normal_volumes_take_their_quotas_before_monopolies_and_leave_them_theirs() -> None:
    disk = Disk("disk", ("/",), Quota(read_iops=70))

    capacity = counted(
        node(disk, a=(100, 1), b=10, c=10, d=10),
        "AUTO:/n:rw:1:10:0:0:0",
        "AUTO:/m:rwm:1:15:0:0:0",
        "AUTO:/m2:rwm:1:5:0:0:0",
    )

    assert (capacity.by_normal, capacity.by_monopoly) == (3, 2)
    assert capacity.capacity == 2


def test_the_quota_of_a_mount_counts_on_a_disk_that_is_known() -> None:
    on = node(Disk("disk", ("/data",), Quota(read_iops=10)), a=(100, 1))

    assert counted(on, "/data/x:/x:rw:0:4:0:0:0", "AUTO:/n:rw:1").capacity == 2
    assert counted(on, "/data/x:/x:rw:0:4:0:0:0").capacity == 2
    assert counted(on, "/data/x:/x:rw").capacity == INFINITE
    assert counted(on, "/else:/x:rw:0:4:0:0:0").capacity == INFINITE


def changed(
    on: VolumeNode, held: dict[str, tuple[str, int]], *texts: str
) -> dict[str, tuple[str, int]] | NoDevice:
    asked = volume_requests(list(held))
    plan = tuple(
        Placed(request, Device(device), size)
        for request, (device, size) in zip(asked, held.values(), strict=True)
    )
    given = reallocate_volumes(on, asked=asked, held=plan, requests=volume_requests(texts))
    return given if isinstance(given, NoDevice) else told(given)


def test_a_volume_grows_where_it_lies() -> None:
    given = changed(node(a=(100, 90), b=(100, 10)), {"AUTO:/n:rw:20": ("/a", 20)}, "AUTO:/n:rw:30")

    assert given == {"AUTO:/n:rw:30": ("/a", 30)}


def test_a_volume_does_not_move_to_where_there_is_room() -> None:
    given = changed(node(a=(100, 90), b=(100, 10)), {"AUTO:/n:rw:20": ("/a", 20)}, "AUTO:/n:rw:31")

    assert given == NoDevice(volume_requests(["AUTO:/n:rw:31"]), Device("/a"))
    assert isinstance(given, NoDevice)
    assert given.code == "insufficient_resource"


def test_what_is_new_is_placed_beside_what_stays() -> None:
    given = changed(
        node(a=(100, 90), b=52),
        {"AUTO:/n:rw:20": ("/a", 20)},
        "AUTO:/n:rw:30",
        "AUTO:/new:rw:5",
        "AUTO:/logs",
    )

    assert given == {
        "AUTO:/n:rw:30": ("/a", 30),
        "AUTO:/new:rw:5": ("/b", 5),
        "AUTO:/logs": ("/b", 0),
    }


def test_what_is_new_needs_a_place_too() -> None:
    given = changed(
        node(a=(100, 90)), {"AUTO:/n:rw:20": ("/a", 20)}, "AUTO:/n:rw:20", "AUTO:/x:rw:11"
    )

    assert given == NoDevice(volume_requests(["AUTO:/x:rw:11"]), None)


def test_monopolies_stay_together_and_share_their_device_anew() -> None:
    held = {"AUTO:/a:rwm:10": ("/a", 40), "AUTO:/b:rwm:15": ("/a", 60)}

    given = changed(node(a=(100, 100), b=200), held, "AUTO:/a:rwm:10", "AUTO:/c:rwm:30")
    too_large = changed(node(a=(100, 100), b=200), held, "AUTO:/a:rwm:10", "AUTO:/c:rwm:91")

    assert given == {"AUTO:/a:rwm:10": ("/a", 25), "AUTO:/c:rwm:30": ("/a", 75)}
    assert isinstance(too_large, NoDevice)
    assert too_large.device == "/a"


def test_a_device_that_was_given_back_whole_is_unused_again() -> None:
    given = changed(node(a=(100, 20)), {"AUTO:/n:rw:20": ("/a", 20)}, "AUTO:/m:rwm:5")

    assert given == {"AUTO:/m:rwm:5": ("/a", 100)}


def test_quotas_are_given_back_before_new_ones_are_taken() -> None:
    disk = Disk("disk", ("/",), Quota(read_iops=1))
    held = {"AUTO:/n:rw:20:9:0:0:0": ("/a", 20)}

    more = changed(node(disk, a=(100, 90)), held, "AUTO:/n:rw:20:10:0:0:0")
    too_many = changed(node(disk, a=(100, 90)), held, "AUTO:/n:rw:20:11:0:0:0")

    assert more == {"AUTO:/n:rw:20:10:0:0:0": ("/a", 20)}
    assert isinstance(too_many, NoDevice)


def test_a_mount_gives_its_quota_back_too() -> None:
    on = node(Disk("disk", ("/data",), Quota(read_iops=1)), a=100)
    old = volume_requests(["/data:/x:rw:0:9:0:0:0"])

    def to(quota: int) -> tuple[VolumeRequest, ...]:
        return volume_requests([f"/data:/x:rw:0:{quota}:0:0:0"])

    assert reallocate_volumes(on, asked=old, held=(), requests=to(10)) == ()
    assert reallocate_volumes(on, asked=old, held=(), requests=to(11)) == NoDevice(to(11), None)


def test_a_volume_on_a_device_that_is_gone_has_no_place() -> None:
    given = changed(node(b=100), {"AUTO:/n:rw:20": ("/a", 20)}, "AUTO:/n:rw:20")

    assert given == NoDevice(volume_requests(["AUTO:/n:rw:20"]), Device("/a"))
