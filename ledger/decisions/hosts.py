"""Hosts as the core weighs them: built when a host changes, and not again for every question.

A fleet has thousands of disks and a question looks at all of them; between two questions few have
changed. What is kept here is kept by the value of a host, so it says nothing that the host does not.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from ledger.core.disk.eligibility import Demands, Traits, eligible
from ledger.core.disk.scheduling import Drive, Node, Rules, switched_off
from ledger.core.disk.space import Disk, fits
from ledger.facts.canonical import digest
from ledger.reducers.replicas import Host

_KEPT: Final = 1 << 14
"""Hosts: more than the largest fleet is meant to have."""


@lru_cache(maxsize=_KEPT)
def node(host: Host) -> Node:
    """A host with its disks; none of them knows of any volume's replicas by name."""
    service = host.service
    return Node(
        name=host.name,
        zone=host.zone,
        region=host.region,
        tags=host.tags,
        allow=host.allow,
        ready=host.reported_ready and service.ready,
        schedulable=service.schedulable,
        drives=tuple(
            Drive(
                disk=Disk(
                    node=host.name,
                    name=disk.name,
                    maximum=disk.maximum,
                    available=disk.available,
                    reserved=disk.reserved,
                    scheduled=disk.scheduled,
                ),
                traits=Traits(
                    type=disk.type,
                    tags=disk.tags,
                    allow=disk.allow,
                    evicting=disk.evicting or service.reclaiming,
                ),
                schedulable=disk.schedulable,
            )
            for disk in host.disks
        ),
    )


def with_own(
    there: Node, names: Mapping[str, frozenset[str]], scheduled: Mapping[str, int]
) -> Node:
    """A node as a volume finds it: by disk, its own replicas there, and how much more is scheduled."""
    return replace(
        there,
        drives=tuple(
            replace(
                drive,
                disk=replace(
                    drive.disk, scheduled=drive.disk.scheduled + scheduled.get(drive.disk.name, 0)
                ),
                scheduled_replicas=names.get(drive.disk.name, frozenset()),
            )
            for drive in there.drives
        ),
    )


def may_take(host: Host, demands: Demands, rules: Rules, *, size: int) -> bool:
    """Whether a disk of a host may take a replica, as far as no other replica has a say in it."""
    there = node(host)
    return there.takes_replicas and any(
        switched_off(drive) is None
        and eligible(
            drive.traits,
            demands,
            allow_empty_disk_selector=rules.allow_empty_disk_selector,
        )
        is None
        and fits(drive.disk, rules.limits, size=size, actual=0) is None
        for drive in there.drives
    )


@lru_cache(maxsize=_KEPT)
def fingerprint(host: Host) -> str:
    """Digest of all that a question reads of a host, in hex."""
    service = host.service
    return digest(
        [
            [host.name, host.zone, host.region, host.tags],
            [host.reported_ready, host.allow, service.ready, service.schedulable],
            service.reclaiming,
            [list(disk) for disk in host.disks],
        ]
    ).hex()
