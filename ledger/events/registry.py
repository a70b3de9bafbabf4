"""Which event types there are: the contract of each, and how old versions are read as new ones.

A type's last part is its version. An old version keeps its own contract, so that what a producer
may send does not change under it; to be folded, its data is first lifted by upcasters, pure
functions from one version's data to the next one's, so that a fact knows the newest form only.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from ledger.errors import InvalidEvent, LedgerStopped
from ledger.events.checks import KeyReader, key_reader, plain_events
from ledger.events.contract import EventData, Family, without_nulls
from ledger.events.contracts import cluster, control, disk, own, quota, workload
from ledger.events.refusals import refusal, unknown
from ledger.units import EventType

Upcast = Callable[[dict[str, Any]], dict[str, Any]]
"""The data of version n as version n + 1 spells it; the argument stays as it is."""

Told = EventData | own.MessageReleased
"""An event's data as its contract read it. A released message holds an event of its own, so it
takes two readings to say what it means."""
ContractType = type[EventData] | type[own.MessageReleased]


class Lift(NamedTuple):
    """An upcaster, and the type its result has."""

    to: EventType
    upcast: Upcast


class Registry:
    """The contracts by type, and the lifts between their versions."""

    def __init__(self, contracts: Iterable[ContractType], lifts: Mapping[EventType, Lift]) -> None:
        self.contracts: Final[Mapping[EventType, ContractType]] = {
            contract.event_type: contract for contract in contracts
        }
        self.plain_events: Final = plain_events(
            contract for contract in self.contracts.values() if contract.family != "own"
        )
        """What the quick path asks; ``admit`` and ``refuse_misfit`` answer everybody else."""
        self.keys: Final[Mapping[EventType, KeyReader]] = {
            type_: key_reader(contract) for type_, contract in self.contracts.items()
        }
        self._lifts: Final = dict(lifts)
        self._unversioned: Final = {_without_version(name) for name in self.contracts}
        assert self._lifts.keys() <= self.contracts.keys(), "only what is accepted can be lifted"
        assert all(lift.to in self.contracts for lift in self._lifts.values())

    def admit(self, type_: EventType, families: frozenset[Family]) -> ContractType:
        """The contract of a type that may come from where only ``families`` may come from."""
        contract = self.contracts.get(type_)
        if contract is None:
            if _without_version(type_) in self._unversioned:
                raise InvalidEvent("unknown_version", f"type: {type_[:120]!a}")
            raise InvalidEvent("unknown_type", f"type: {type_[:120]!a}")
        if contract.family == "own":
            raise InvalidEvent("reserved_type", f"type: {type_} is the ledger's own to say")
        if contract.family not in families:
            raise InvalidEvent("wrong_topic", f"type: {type_} does not belong here")
        return contract

    def lifted(
        self, type_: EventType, data: dict[str, Any], *, revision: int
    ) -> tuple[ContractType, dict[str, Any]]:
        """The newest form of data that was accepted under a contract revision."""
        try:
            contract = self.contracts[type_]
        except KeyError:
            raise LedgerStopped(
                f"type {type_}: this program is older than the log and does not know it"
            ) from None
        for path, since in contract.newer_fields.items():
            if since > revision:
                data = _without(data, path.split("."))
        while (lift := self._lifts.get(contract.event_type)) is not None:
            data = lift.upcast(data)
            contract = self.contracts[lift.to]
        return contract, data


def refuse_misfit(contract: ContractType, data: dict[str, Any]) -> None:
    """``InvalidEvent`` with the first thing that is wrong, where ``data`` does not fit."""
    told = data if contract.null_resets else without_nulls(data)
    try:
        contract.__pydantic_validator__.validate_python(told, extra="ignore")
    except ValidationError as error:
        raise refusal(error) from None


def refuse_unknown(contract: ContractType, data: dict[str, Any]) -> None:
    """``InvalidEvent`` with the first field that nobody knows, in data that fits otherwise."""
    try:
        contract.__pydantic_validator__.validate_python(data)
    except ValidationError as error:
        raise unknown(error) from None


def _without_version(type_: str) -> str:
    name, _, version = type_.rpartition(".")
    return name if version[:1] == "v" and version[1:].isdecimal() else ""


def _without(data: dict[str, Any], path: list[str]) -> dict[str, Any]:
    """A copy of ``data`` without the field at ``path``, if it is there."""
    name, *rest = path
    if name not in data:
        return data
    if not rest:
        return {key: entry for key, entry in data.items() if key != name}
    inner = data[name]
    return data | {name: _without(inner, rest)} if isinstance(inner, dict) else data


REGISTRY: Final = Registry(
    contracts=(
        cluster.ClusterUpserted,
        cluster.ClusterRemoved,
        cluster.NodeUpserted,
        cluster.NodeRemoved,
        cluster.NodeReclaiming,
        cluster.InventoryListed,
        workload.WorkloadUpserted,
        workload.WorkloadRemoved,
        workload.WorkloadReschedule,
        workload.JobFinished,
        workload.PodObserved,
        workload.PodDeleted,
        workload.ReplicaSetUpserted,
        quota.QueueUpserted,
        quota.QueueRemoved,
        quota.QuotaUpserted,
        quota.QuotaRemoved,
        disk.DiskUpserted,
        disk.DiskRemoved,
        disk.VolumeUpserted,
        disk.VolumeRemoved,
        disk.ReplicaFailed,
        disk.ReplicaRecovered,
        control.PolicyChanged,
        control.ProposalRequested,
        control.ProposalApproved,
        own.TimePassed,
        own.AdmissionRequested,
        own.AdmissionBypassed,
        own.PodsListed,
        own.MessageReleased,
        own.MessageQuarantined,
        own.IncidentRecorded,
        own.LogRecovered,
    ),
    lifts={},
)
