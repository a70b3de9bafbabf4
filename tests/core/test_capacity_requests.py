"""What is asked for: how volumes are read, and what counts of amounts that contradict each other."""

from dataclasses import replace
from fractions import Fraction

import pytest

from ledger.core.capacity.request import InstanceRequest, Volumes, normalized
from ledger.core.capacity.volume_requests import NO_QUOTA, VolumeKind, volume_requests
from ledger.errors import InvalidRequest

KINDS: list[tuple[str, VolumeKind]] = [
    ("/data:/data", "mount"),
    ("/data:/data:rwm:5", "mount"),
    ("/AUTO/data:/data", "mount"),
    ("AUTO:/data", "unlimited"),
    (":/data", "unlimited"),
    ("/fast/AUTO:/data:ro:0", "unlimited"),
    ("AUTO:/data:rw:1", "normal"),
    ("AUTO:/data:rw:0:0:0:0:1", "normal"),
    ("AUTO:/data:m:1", "monopoly"),
    ("auto:/data:rw:1", "mount"),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_the_source_and_the_flags_say_who_chooses_the_device(text: str, kind: VolumeKind) -> None:
    (request,) = volume_requests([text])

    assert request.kind == kind
    assert request.text == text


SIZES = [
    ("0", 0),
    ("17", 17),
    ("1k", 2**10),
    ("1K", 2**10),
    ("2M", 2 * 2**20),
    ("2mb", 2 * 2**20),
    ("3G", 3 * 2**30),
    ("3Gi", 3 * 2**30),
    ("3GiB", 3 * 2**30),
    ("3gIb", 3 * 2**30),
    ("4T", 4 * 2**40),
    ("5P", 5 * 2**50),
    ("6B", 6),
    ("0007", 7),
]


@pytest.mark.parametrize(("written", "size"), SIZES)
def test_sizes_are_binary(written: str, size: int) -> None:
    (request,) = volume_requests([f"AUTO:/data:rw:{written}"])

    assert request.size == size


def test_quotas_are_read_like_sizes() -> None:
    (with_quotas,) = volume_requests(["AUTO:/data:rw:1G:100:2k:3M:0"])
    (without,) = volume_requests(["AUTO:/data:rw:1G"])

    quota = with_quotas.quota
    assert (quota.read_iops, quota.write_iops) == (100, 2048)
    assert (quota.read_bps, quota.write_bps) == (3 * 2**20, 0)
    assert without.quota == NO_QUOTA


NO_VOLUMES = [
    "AUTO",
    "",
    "AUTO:",
    "AUTO::rw:5",
    "AUTO:/data:rw:1:2",
    "AUTO:/data:rw:1:2:3:4",
    "AUTO:/data:rw:1:2:3:4:5:6",
    "AUTO:/data:rw:",
    "AUTO:/data:rw:-1",
    "AUTO:/data:rw:1.5G",
    "AUTO:/data:rw:1E",
    "AUTO:/data:rw:G",
    "AUTO:/data:rw: 1",
    "AUTO:/data:rw:1 G",
    "AUTO:/data:rw:1iK",
    "AUTO:/data:rw:\u0661",
    "AUTO:/data:rw:1\u212a",
    "AUTO:/data:rw:" + "9" * 5000,
    "AUTO:/data:rwm:0",
    "AUTO:/data:m",
    "AUTO:/data:rwm:0:1:1:1:1",
]


@pytest.mark.parametrize("text", NO_VOLUMES)
def test_what_is_no_volume_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        volume_requests([text])

    assert refused.value.code == "invalid_volume"


def test_the_same_text_twice_is_refused_but_not_the_same_path() -> None:
    with pytest.raises(InvalidRequest) as refused:
        volume_requests(["AUTO:/data", "AUTO:/data"])

    assert refused.value.code == "invalid_volume"
    assert len(volume_requests(["AUTO:/data", "AUTO:/data:rw:5"])) == 2


NOTHING = InstanceRequest()
ONE = Fraction(1)
TWO = Fraction(2)

SETTLED = [
    (NOTHING, NOTHING),
    (
        replace(NOTHING, cpu_limit=TWO, memory_limit=5, storage_limit=6),
        InstanceRequest(TWO, TWO, False, 5, 5, 6, 6),
    ),
    (replace(NOTHING, cpu_request=ONE, cpu_limit=TWO),) * 2,
    (
        replace(NOTHING, cpu_request=ONE, cpu_limit=TWO, cpu_bind=True),
        replace(NOTHING, cpu_request=TWO, cpu_limit=TWO, cpu_bind=True),
    ),
    (replace(NOTHING, cpu_request=ONE, cpu_bind=True),) * 2,
    (
        replace(NOTHING, cpu_limit=TWO, cpu_bind=True),
        replace(NOTHING, cpu_request=TWO, cpu_limit=TWO, cpu_bind=True),
    ),
    (
        replace(NOTHING, memory_request=9, memory_limit=4, storage_request=3, storage_limit=2),
        replace(NOTHING, memory_request=9, memory_limit=9, storage_request=3, storage_limit=3),
    ),
]


@pytest.mark.parametrize(("asked", "counts"), SETTLED)
def test_what_was_left_unsaid_is_filled_in(asked: InstanceRequest, counts: InstanceRequest) -> None:
    assert normalized(asked) == counts


BELOW_ZERO = InstanceRequest(
    -ONE, memory_request=-1, storage_request=-1, storage_limit=-1, cpu_bind=True
)

IN_ORDER = [
    (BELOW_ZERO, "invalid_cpu"),
    (replace(BELOW_ZERO, cpu_request=ONE, cpu_limit=-ONE), "invalid_cpu"),
    (replace(BELOW_ZERO, cpu_request=Fraction(0)), "invalid_memory"),
    (replace(BELOW_ZERO, cpu_request=Fraction(0), memory_request=0), "invalid_cpu"),
    (replace(BELOW_ZERO, cpu_request=ONE, memory_request=0), "invalid_storage"),
    (
        replace(BELOW_ZERO, cpu_request=ONE, memory_request=0, storage_request=0),
        "invalid_storage",
    ),
    (replace(NOTHING, cpu_request=ONE, memory_limit=-1), "invalid_memory"),
    (NOTHING, "invalid_volume"),
]


@pytest.mark.parametrize(("asked", "code"), IN_ORDER)
def test_refusals_come_in_order(asked: InstanceRequest, code: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        normalized(asked, Volumes(["no volume"]))

    assert refused.value.code == code


def test_storage_is_raised_by_the_sizes_of_the_volumes() -> None:
    asked = replace(NOTHING, storage_request=1, storage_limit=2)
    texts = ["AUTO:/data:rw:10", "/var/log:/log:ro:20", "AUTO:/m:m:40"]

    by_request = normalized(asked, Volumes(texts))
    by_limit = normalized(asked, Volumes(limit=texts))
    by_total = normalized(asked, Volumes(total=70))
    by_both = normalized(asked, Volumes(texts, [f"{text}0" for text in texts]))

    assert by_request == by_limit == by_total == by_both
    assert (by_request.storage_request, by_request.storage_limit) == (71, 2)


UNLIKE = [
    (["AUTO:/a", "AUTO:/b"], ["AUTO:/b", "AUTO:/a"]),
    (["AUTO:/a"], []),
    (["AUTO:/a"], ["AUTO:/a", "AUTO:/b"]),
    (["AUTO:/a"], [":/a"]),
    (["AUTO:/a:rw"], ["AUTO:/a:ro"]),
]


@pytest.mark.parametrize(("request_list", "limit_list"), UNLIKE)
def test_lists_of_different_volumes_are_refused(
    request_list: list[str], limit_list: list[str]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        normalized(NOTHING, Volumes(request_list, limit_list))

    assert refused.value.code == "invalid_volume"


def test_flags_are_letters_in_any_order() -> None:
    counts = normalized(
        NOTHING, Volumes(["AUTO:/a:wr:3", "AUTO:/b"], ["AUTO:/a::1", "AUTO:/b:rw:9"])
    )

    assert counts.storage_request == 3
