"""The worked examples in docs/core/capacity.md are true: each is read, asked, and compared.

The first word of an example says what is asked, and everything that it says comes out as written: a
word that is not known here fails.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import islice
from typing import Any

import pytest

from ledger.core.capacity.amounts import INFINITE, Core, Device, NumaGroup
from ledger.core.capacity.cpu import CpuNode, CpuPlan, CpuRequest, cpu_capacity, cpu_plans
from ledger.core.capacity.memory import memory_capacity
from ledger.core.capacity.merge import merge
from ledger.core.capacity.reallocation import Change, Holding, Reallocated, reallocate
from ledger.core.capacity.remap import remap
from ledger.core.capacity.request import InstanceRequest, Volumes, normalized
from ledger.core.capacity.volume_requests import volume_requests
from ledger.core.capacity.volumes import VolumeNode, volume_capacity
from ledger.units import Bytes, NodeName
from tests.core.worked import Lines, counts, examples, listed, pairs

Said = dict[str, str]


@pytest.mark.parametrize(("asked", "answered"), examples("capacity.md"))
def test_an_example_of_capacity_comes_out_as_written(asked: Lines, answered: Lines) -> None:
    subject = next(iter(asked))
    unread = dict(asked)

    said = ANSWERS[subject](Reading(unread), answered)

    assert not unread, "words that nobody read"
    assert answered, "an example says what comes out"
    assert {word: said.get(word) for word in answered} == answered


class Reading:
    """The words of an example, each of which is to be read once."""

    def __init__(self, unread: Lines) -> None:
        self._unread = unread

    def text(self, word: str, otherwise: str = "") -> str:
        return self._unread.pop(word, otherwise)

    def numbers(self, word: str) -> list[Any]:
        """All numbers of a line, in their order."""
        found = re.findall(r"-?[0-9]+(?:\.[0-9]+)?", self.text(word))
        return [Fraction(one) if "." in one else int(one) for one in found]

    def amounts(self, word: str) -> dict[Any, int]:
        return counts(self.text(word))


def by_name(amounts: Mapping[Any, object]) -> str:
    return listed(dict(sorted(amounts.items())))


def bindings(plans: tuple[CpuPlan, ...]) -> str:
    return " | ".join(
        f"{plan.group}: {by_name(plan.cores)}" if plan.group else by_name(plan.cores)
        for plan in plans
    )


def of_memory(reading: Reading, _: Lines) -> Said:
    free, each, cpu, cores = reading.numbers("memory")
    capacity = memory_capacity(
        cores=cores, cpu=Fraction(cpu), free=Bytes(free), request=Bytes(each)
    )
    return {"capacity": str(capacity)}


def of_cpu(reading: Reading, answered: Lines) -> Said:
    cpu, base = reading.numbers("cpu")
    memory, each = reading.numbers("memory") or (0, 0)
    (max_share,) = reading.numbers("max_share") or (-1,)
    node = CpuNode(
        cores=reading.amounts("cores"),
        memory=memory,
        numa={Core(core): NumaGroup(group) for core, group in pairs(reading.text("numa"))},
        numa_memory=reading.amounts("groups"),
    )
    request = CpuRequest(Fraction(cpu), each, base, max_share)
    origin = reading.amounts("origin")
    counted = cpu_capacity(node, request, origin=origin)
    shown = answered.get("bindings", "").count("|") + 1
    last = counted.passes[-1]
    return {
        "full": str(last.full),
        "fragments": str(last.fragments),
        "divisible": str(last.divisible),
        "divided": str(last.divided),
        "whole": str(last.by_whole),
        "fragment": str(last.by_fragment),
        "passes": " ".join(f"{one.group or 'across'}={one.capacity}" for one in counted.passes),
        "capacity": str(counted.capacity),
        "bindings": bindings(cpu_plans(node, request, wanted=shown, origin=origin)),
    }


def of_change(reading: Reading, _: Lines) -> Said:
    keep = reading.text("change")
    cpu, memory = (Fraction(part.split()[0]) for part in keep.split(", ")[:2])
    held, on = reading.text("held").split(" on ")
    old_cpu, old_memory = (Fraction(part.split()[0]) for part in held.split(", "))
    (free,) = reading.numbers("memory")
    given = reallocate(
        CpuNode(reading.amounts("cores"), free),
        Holding(
            InstanceRequest(cpu_request=old_cpu, memory_request=int(old_memory)),
            {Core(core): int(pieces) for core, pieces in pairs(on)},
        ),
        Change(cpu_request=cpu, memory_request=int(memory), keep_cpu_bind="keep" in keep),
    )
    assert isinstance(given, Reallocated)
    request = given.holding.request
    tenths, rest = divmod(request.cpu_request * 10, 1)
    assert rest == 0
    return {
        "request": f"{tenths // 10}.{tenths % 10} cpu, {request.memory_request} memory",
        "binding": by_name(given.holding.cores),
        "kept": "yes" if given.kept else "no",
    }


def of_share(reading: Reading, _: Lines) -> Said:
    held: dict[str, dict[Core, int]] = {
        name: {Core(core): 1 for core in cores.split(",") if core}
        for name, cores in pairs(reading.text("bindings"))
    }
    shared = remap(reading.amounts("share"), held)
    return {"cores": " ".join(shared.share_cores), "moved": " ".join(shared.remapped)}


def of_volumes(reading: Reading, answered: Lines) -> Said:
    requests = volume_requests(reading.text("volumes").split())
    node = VolumeNode({Device(name): size for name, size in reading.amounts("devices").items()})
    (most,) = reading.numbers("most")
    counted = volume_capacity(node, requests, max_deploy=most)
    shown = answered.get("first", "").count("|") + 1
    return {
        "put": " ".join(counted.put_to_use),
        "normal": str(counted.by_normal),
        "monopoly": str(counted.by_monopoly),
        "runs": " | ".join(
            f"{run.times}: {' '.join(devices)}"
            for run in counted.normal_runs
            for devices in run.plans
        ),
        "unlimited": str(counted.unlimited_on),
        "capacity": str(counted.capacity),
        "first": " | ".join(
            " ".join(f"{one.device}={one.size}" for one in plan)
            for plan in islice(counted.plans(shown), shown)
        ),
    }


def of_request(reading: Reading, _: Lines) -> Said:
    cpu, cpu_limit, memory, memory_limit, storage, storage_limit = reading.numbers("request")
    counts = normalized(
        InstanceRequest(
            cpu_request=Fraction(cpu),
            cpu_limit=Fraction(cpu_limit),
            cpu_bind=reading.text("bind") == "yes",
            memory_request=memory,
            memory_limit=memory_limit,
            storage_request=storage,
            storage_limit=storage_limit,
        ),
        Volumes(reading.text("volumes").split()),
    )
    return {
        "request": f"cpu {counts.cpu_request} of {counts.cpu_limit}, "
        f"memory {counts.memory_request} of {counts.memory_limit}, "
        f"storage {counts.storage_request} of {counts.storage_limit}"
    }


def of_merge(reading: Reading, _: Lines) -> Said:
    resources = [
        {
            NodeName(name): INFINITE if amount == "infinite" else int(amount)
            for name, amount in pairs(resource)
        }
        for resource in reading.text("merge").split("|")
    ]
    merged = merge(resources)
    return {
        "capacity": by_name(merged.capacity),
        "total": str(merged.total),
        "lacking": by_name({name: place + 1 for name, place in merged.lacking.items()}),
    }


ANSWERS: Mapping[str, Callable[[Reading, Lines], Said]] = {
    "memory": of_memory,
    "cpu": of_cpu,
    "change": of_change,
    "share": of_share,
    "volumes": of_volumes,
    "request": of_request,
    "merge": of_merge,
}
