"""What one instance asks for, once what was left unsaid is filled in.

A request is what scheduling counts with, a limit what the instance may use at run time. People give
one or the other, or two that contradict each other:

- a request of 0 under a limit becomes the limit; a limit below the request becomes the request;
- bound cores are taken whole, so with ``cpu_bind`` the request is raised to the limit;
- a limit of 0 is none, and a request of 0 consumes nothing; to bind no cpu at all is refused.

Storage comes last: volumes lie on it, so the request is raised by their sizes, those of hard mounts
included. That happens once, and the limit is left alone.

Rule and worked examples: docs/core/capacity.md
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ledger.core.capacity.amounts import require_not_negative
from ledger.core.capacity.volume_requests import VolumeRequest, volume_requests
from ledger.core.shares import require_count
from ledger.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class InstanceRequest:
    """The amounts that one instance asks for; what is not said is 0."""

    cpu_request: Fraction = Fraction(0)
    cpu_limit: Fraction = Fraction(0)
    cpu_bind: bool = False
    memory_request: int = 0
    memory_limit: int = 0
    storage_request: int = 0
    storage_limit: int = 0


@dataclass(frozen=True, slots=True)
class Volumes:
    """The volumes that come with an instance: by their texts, or only the sum of their sizes.

    A list of limits stands in for a list of requests that is not given.
    """

    request: Sequence[str] | None = None
    limit: Sequence[str] | None = None
    total: int = 0


def normalized(asked: InstanceRequest, volumes: Volumes | None = None) -> InstanceRequest:
    """The amounts that count, the sizes of the volumes included in the storage request."""
    cpu_request, cpu_limit, bind = asked.cpu_request, asked.cpu_limit, asked.cpu_bind
    require_not_negative("invalid_cpu", "cpu request", cpu_request)
    require_not_negative("invalid_cpu", "cpu limit", cpu_limit)
    require_not_negative("invalid_memory", "memory request", asked.memory_request)
    require_not_negative("invalid_memory", "memory limit", asked.memory_limit)

    if cpu_request == 0:
        cpu_request = cpu_limit
    if bind and cpu_request == 0:
        raise InvalidRequest("invalid_cpu", "cpu: there is nothing to bind")
    if 0 < cpu_limit < cpu_request:
        cpu_limit = cpu_request
    if bind and cpu_limit > cpu_request:
        cpu_request = cpu_limit
    memory_request, memory_limit = _settled(asked.memory_request, asked.memory_limit)

    require_not_negative("invalid_storage", "storage request", asked.storage_request)
    require_not_negative("invalid_storage", "storage limit", asked.storage_limit)
    storage_request, storage_limit = _settled(asked.storage_request, asked.storage_limit)
    return replace(
        asked,
        cpu_request=cpu_request,
        cpu_limit=cpu_limit,
        memory_request=memory_request,
        memory_limit=memory_limit,
        storage_request=storage_request + (_size(volumes) if volumes else 0),
        storage_limit=storage_limit,
    )


def _settled(request: int, limit: int) -> tuple[int, int]:
    if request == 0:
        request = limit
    if 0 < limit < request:
        limit = request
    return request, limit


def _size(volumes: Volumes) -> int:
    require_count("volumes", volumes.total)
    asked = None if volumes.request is None else volume_requests(volumes.request)
    limits = None if volumes.limit is None else volume_requests(volumes.limit)
    if asked is not None and limits is not None:
        _require_alike(asked, limits)
    given = limits if asked is None else asked
    return volumes.total if given is None else sum(one.size for one in given)


def _require_alike(asked: Sequence[VolumeRequest], limits: Sequence[VolumeRequest]) -> None:
    """Refuse lists that do not speak of the same volumes in the same order."""
    if len(asked) != len(limits):
        raise InvalidRequest(
            "invalid_volume", f"volumes: {len(asked)} requests and {len(limits)} limits"
        )
    for place, (one, other) in enumerate(zip(asked, limits, strict=True)):
        if one.binding != other.binding:
            raise InvalidRequest(
                "invalid_volume",
                f"volume {place}: the request {one.text!r} and the limit {other.text!r} are not of "
                "the same volume",
            )
