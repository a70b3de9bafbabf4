"""One good event of every type, and ways to change it."""

import copy
import json
from pathlib import Path
from typing import Any, Final

from ledger.events.codec import Accepted, Rejected, accept_line, own_event
from ledger.events.contract import Family
from ledger.events.registry import REGISTRY
from ledger.units import EventType

ANYTHING: Final[frozenset[Family]] = frozenset(
    {"cluster", "workload", "quota", "disk", "control", "own"}
)
"""Every family there is: what is refused here is refused for another reason."""

FOLDER: Final = Path(__file__).with_name("examples")
EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    path.name.removesuffix(".json"): json.loads(path.read_bytes())
    for path in sorted(FOLDER.glob("*.json"))
}
FROM_OUTSIDE: Final = sorted(
    type_ for type_, contract in REGISTRY.contracts.items() if contract.family != "own"
)
OWN: Final = sorted(REGISTRY.contracts.keys() - set(FROM_OUTSIDE))

WORKLOAD: Final = "ledger.workload.workload.upserted.v1"
CLUSTER: Final = "ledger.cluster.cluster.upserted.v1"
NODE: Final = "ledger.cluster.node.upserted.v1"
QUEUE: Final = "ledger.quota.queue.upserted.v1"
QUOTA: Final = "ledger.quota.quota.upserted.v1"
DISK: Final = "ledger.disk.disk.upserted.v1"
VOLUME: Final = "ledger.disk.volume.upserted.v1"
POLICY: Final = "ledger.policy.policy.changed.v1"


def example(type_: str, **attributes: Any) -> dict[str, Any]:
    """A good event; ``attributes`` replace those of the envelope, None takes one away."""
    event = copy.deepcopy(EXAMPLES[type_]) | attributes
    return {name: value for name, value in event.items() if value is not None}


def with_data(type_: str, data: dict[str, Any], **attributes: Any) -> dict[str, Any]:
    """A good event with other data."""
    return example(type_, data=data, **attributes)


def changed(type_: str, /, **fields: Any) -> dict[str, Any]:
    """A good event with some fields of its data replaced; ``...`` takes one away."""
    event = example(type_)
    data = event["data"] | fields
    event["data"] = {name: value for name, value in data.items() if value is not ...}
    return event


def compact(event: object) -> bytes:
    """As few bytes as JSON needs: what the quick path reads."""
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()


def judge(event: object) -> Accepted | Rejected:
    """The verdict on an event in structured form."""
    return accept_line(compact(event), families=ANYTHING)


def accepted(event: object) -> Accepted:
    """The verdict, which has to be good."""
    verdict = judge(event)
    assert isinstance(verdict, Accepted), verdict
    return verdict


def refused(event: object) -> tuple[str, str]:
    """Reason and detail of the verdict, which has to be bad."""
    verdict = judge(event)
    assert isinstance(verdict, Rejected), verdict
    return verdict.reason, verdict.detail


def said(type_: str) -> Accepted:
    """The example of any type as the log would get it."""
    event = EXAMPLES[type_]
    if REGISTRY.contracts[EventType(type_)].family != "own":
        return accepted(event)
    return own_event(
        **{name: event[name] for name in ("type", "source", "id", "subject", "fleet", "data")}
    )
