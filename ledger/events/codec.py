"""Bytes to events that may enter the log, and stored bytes to facts.

``accept`` judges a Kafka message, ``accept_line`` a line of a file or the body of a request,
``own_event`` writes what the ledger itself has to say, ``decode`` reads any of them back for
folding. A verdict is a value: whatever the bytes, nothing is raised.

Judging has a quick path and a careful one. The quick path only ever accepts, and only documents of
which two readers cannot think differently: no escapes, no field its contract does not know, hence
no float, and as long as its own compact spelling, hence no key twice (writing a parsed document
without floats never lengthens it, and dropping a repeated key shortens it). Everything else is
decided by the careful path, which reads strictly and names what is wrong. Both end in ``_judged``,
so they cannot disagree about anything but the reading itself.

The log keeps what was received, byte for byte; an event in binary mode is kept in structured form,
spelled canonically.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

import orjson
from pydantic import ValidationError

from ledger.errors import InvalidEvent, InvalidReason, LedgerStopped
from ledger.events import envelope, moments, strict_json
from ledger.events.contract import Family, without_nulls
from ledger.events.contracts.control import AlgorithmsSection, PolicyChanged
from ledger.events.contracts.own import MessageReleased
from ledger.events.registry import REGISTRY, Told, refuse_misfit, refuse_unknown
from ledger.events.strict_json import canonical
from ledger.facts import algorithms
from ledger.facts.event import Fact
from ledger.units import EventType, FleetName, Microseconds, Subject

CONTRACT_REVISION: Final = 1
"""Which state of the contracts accepts events now; the log keeps it with each event."""

_IDENTITY_BYTES: Final = 16
_POLICY: Final = PolicyChanged.event_type


class Accepted(NamedTuple):
    """An event that may enter the log of its fleet."""

    # A tuple and not a dataclass: a frozen dataclass takes four times as long to make, and one of
    # these is made for every message.
    fleet: FleetName
    source: str
    id: str
    type: EventType
    subject: Subject
    time: Microseconds | None
    stored: bytes
    """What the log keeps."""
    identity: bytes
    """Of (source, id): 16 bytes. The fleet is not in it."""
    digest: bytes
    """Of (type, subject, data): what the same identity must say again to be a duplicate."""
    salt: str | None
    """The salt a policy sets, which counts only in a fleet's first event."""


class Rejected(NamedTuple):
    """A message that goes to quarantine, with as much of its sender as could be made out."""

    reason: InvalidReason
    detail: str
    fleet: FleetName | None
    """None where no fleet can be blamed: the message is the reserved fleet's then."""
    source: str | None
    id: str | None
    type: str | None
    subject: str | None


def accept(
    value: bytes | None,
    *,
    headers: envelope.Headers = (),
    families: frozenset[Family],
    fleet: FleetName | None = None,
) -> Accepted | Rejected:
    """Judge a Kafka message; ``fleet`` is its key, ``families`` what its topic may carry."""
    sender: dict[str, str] = {}
    try:
        if envelope.mode(headers) == "structured":
            return accept_line(_present(value), families=families, fleet=fleet)
        sender = envelope.attributes(headers)
        envelope.refuse_other_content(headers)
        data = _present(value)
        return _accept_binary_quickly(sender, data, families, fleet) or _accept_binary_carefully(
            sender, data, families, fleet
        )
    except InvalidEvent as refused:
        return _rejected(refused, sender, fleet)


def accept_line(
    value: bytes, *, families: frozenset[Family], fleet: FleetName | None = None
) -> Accepted | Rejected:
    """Judge an event in structured form; ``fleet`` is the one its surroundings name."""
    return _accept_quickly(value, families, fleet) or _accept_carefully(value, families, fleet)


def own_event(
    *,
    type: EventType,  # noqa: A002 - the attribute's name
    source: str,
    id: str,  # noqa: A002 - the attribute's name
    subject: Subject,
    fleet: FleetName,
    data: dict[str, Any],
    time: Microseconds | None = None,
) -> Accepted:
    """An event of the ledger's own; ``InvalidEvent`` where the data does not fit its contract."""
    event: dict[str, Any] = {
        "specversion": "1.0",
        "type": type,
        "source": source,
        "id": id,
        "subject": subject,
        "fleet": fleet,
        "data": data,
    }
    if time is not None:
        event["time"] = moments.spelled(time)
    contract = REGISTRY.contracts[type]
    assert contract.family == "own", f"{type} is for producers to say"
    parts = envelope.read(event, None, own=True)
    refuse_misfit(contract, parts.data)
    return _judged(parts, REGISTRY.keys[type](data), canonical(event))


def decode(stored: bytes, *, revision: int) -> Fact:
    """What a stored event says; ``revision`` is the contract revision that accepted it."""
    if revision > CONTRACT_REVISION:
        raise LedgerStopped(
            f"contract revision {revision}: this program knows {CONTRACT_REVISION} and is too old"
        )
    return _fact(orjson.loads(stored), revision, has_nulls=b"null" in stored)


def _fact(event: dict[str, Any], revision: int, *, has_nulls: bool) -> Fact:
    contract, data = REGISTRY.lifted(event["type"], event["data"], revision=revision)
    if has_nulls and not contract.null_resets:
        data = without_nulls(data)
    told: Told = contract.__pydantic_validator__.validate_python(data, extra="ignore")
    if isinstance(told, MessageReleased):
        held = cast(dict[str, Any], event["data"]["event"])
        return told.holding(_fact(held, revision, has_nulls=has_nulls))
    return told.fact()


def _accept_quickly(
    raw: bytes, families: frozenset[Family], fleet: FleetName | None
) -> Accepted | None:
    """The verdict on a document beyond doubt; None for every other."""
    if len(raw) > strict_json.LARGEST_DOCUMENT or not strict_json.is_plain_text(raw):
        return None
    try:
        event = orjson.loads(raw)
        REGISTRY.plain_events.validate_python(event)
        if len(orjson.dumps(event)) != len(raw):
            return None
        return _accept_plain(event, raw, families, fleet)
    except (orjson.JSONDecodeError, InvalidEvent, ValidationError):
        return None


def _accept_binary_quickly(
    attributes: dict[str, str], value: bytes, families: frozenset[Family], fleet: FleetName | None
) -> Accepted | None:
    """The same for a message in binary mode."""
    if len(value) > strict_json.LARGEST_DOCUMENT or not strict_json.is_plain_text(value):
        return None
    if not all(text.isascii() and text.isprintable() for text in attributes.values()):
        return None
    try:
        data = orjson.loads(value)
        event = {**attributes, "data": data}
        REGISTRY.plain_events.validate_python(event)
        if len(orjson.dumps(data)) != len(value):
            return None
        return _accept_plain(event, _stored(event), families, fleet)
    except (orjson.JSONDecodeError, InvalidEvent, ValidationError):
        return None


def _accept_plain(
    event: dict[str, Any], stored: bytes, families: frozenset[Family], told: FleetName | None
) -> Accepted | None:
    """The verdict on an event that ``plain_events`` found nothing wrong with."""
    type_ = event["type"]
    if REGISTRY.contracts[type_].family not in families:
        return None
    data = event["data"]
    time = event.get("time")
    parts = envelope.Envelope(
        envelope.settled_fleet(event.get("fleet"), told),
        event["source"],
        event["id"],
        type_,
        event["subject"],
        None if time is None else moments.usual(time),
        data,
    )
    return _judged(parts, REGISTRY.keys[type_](data), stored)


def _accept_carefully(
    raw: bytes, families: frozenset[Family], fleet: FleetName | None
) -> Accepted | Rejected:
    """The verdict on any document."""
    try:
        event = strict_json.parse(raw)
    except InvalidEvent as refused:
        return _rejected(refused, strict_json.glimpse(raw), fleet)
    if not isinstance(event, dict):
        no_object = InvalidEvent("not_a_cloudevent", "an event is a JSON object")
        return _rejected(no_object, {}, fleet)
    try:
        return _accept_parsed(event, raw, families, fleet)
    except InvalidEvent as refused:
        return _rejected(refused, event, fleet)


def _accept_binary_carefully(
    attributes: dict[str, str], value: bytes, families: frozenset[Family], fleet: FleetName | None
) -> Accepted:
    deepest = strict_json.DEEPEST_NESTING - 1
    event = {**attributes, "data": strict_json.parse(value, deepest=deepest)}
    return _accept_parsed(event, _stored(event), families, fleet)


def _accept_parsed(
    event: dict[str, Any], stored: bytes, families: frozenset[Family], fleet: FleetName | None
) -> Accepted:
    parts = envelope.read(event, fleet)
    refuse_misfit(REGISTRY.admit(parts.type, families), parts.data)
    return _judged(parts, REGISTRY.keys[parts.type](parts.data), stored)


def _judged(parts: envelope.Envelope, key: str | None, stored: bytes) -> Accepted:
    """What all paths end in: the subject is the data's key, then the digests are taken.

    What a policy must not name is looked for here, and not by its contract: what stands in a log
    already is read for ever.
    """
    fleet, source, id_, type_, subject, time, data = parts
    if key is None:
        key = fleet
    if subject != key:
        raise InvalidEvent(
            "subject_mismatch", f"subject: {subject[:120]!a}, but the data is of {key[:120]!a}"
        )
    if type_ == _POLICY:
        _refuse_unknown_algorithms(data)
    contract = REGISTRY.contracts[type_]
    if contract.only_known:
        refuse_unknown(contract, data)
    return Accepted(
        fleet,
        source,
        id_,
        type_,
        subject,
        time,
        stored,
        sha256(canonical([source, id_])).digest()[:_IDENTITY_BYTES],
        sha256(canonical([type_, subject, data])).digest(),
        data.get("salt") if type_ == _POLICY else None,
    )


def _refuse_unknown_algorithms(policy: dict[str, Any]) -> None:
    told = policy.get("algorithms") or {}
    for system in AlgorithmsSection.model_fields:
        version = told.get(system)
        if version is not None and not algorithms.means_something(system, version):
            known = ", ".join(map(str, algorithms.numbers(system)))
            raise InvalidEvent(
                "unknown_algorithm", f"data.algorithms.{system}: {version}, but there is {known}"
            )


def _stored(event: dict[str, Any]) -> bytes:
    """An event in binary mode as the log keeps it."""
    stored = canonical(event)
    if len(stored) > strict_json.LARGEST_DOCUMENT:
        raise InvalidEvent("too_large", f"{len(stored)} bytes with its headers")
    return stored


def _present(value: bytes | None) -> bytes:
    if value is None:
        raise InvalidEvent("no_data", "the message has no value")
    return value


def _rejected(
    refused: InvalidEvent, sender: Mapping[str, object], told: FleetName | None
) -> Rejected:
    """A refusal with what its sender said of itself, as far as that can be believed."""
    fleet = None
    if refused.reason != "wrong_fleet":
        named = envelope.presentable(sender.get("fleet")) or told
        fleet = FleetName(named) if named is not None and envelope.is_fleet_name(named) else None
    detail = refused.detail
    return Rejected(
        reason=refused.reason,
        detail=detail if detail.isascii() and detail.isprintable() else ascii(detail)[1:-1],
        fleet=fleet,
        source=envelope.presentable(sender.get("source")),
        id=envelope.presentable(sender.get("id")),
        type=envelope.presentable(sender.get("type")),
        subject=envelope.presentable(sender.get("subject")),
    )
