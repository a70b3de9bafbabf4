"""The CloudEvents 1.0 envelope: who says what about which object, and in which fleet.

``read`` takes an event in structured form apart; ``mode`` and ``attributes`` tell how a Kafka
message carries one. The data is not looked at here, only that it is an object.

Kafka header values are UTF-8 text and nothing more: percent-encoding belongs to CloudEvents over
HTTP, so a percent sign in a header is a percent sign.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, Never

from pydantic_core import core_schema

from ledger.errors import InvalidEvent
from ledger.events import moments
from ledger.units import LEDGER_FLEET, EventType, FleetName, Microseconds, Subject

LONGEST_ATTRIBUTE: Final = 1024
"""Bytes of one attribute in UTF-8: they are columns and parts of index keys."""
_SPECVERSION: Final = "1.0"
_OPTIONAL_TEXTS: Final = ("datacontenttype", "dataschema")
_MARKS: Final = ("specversion", "id", "source", "type")
"""An object without any of these never meant to be a CloudEvent."""
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_STRUCTURED: Final = "application/cloudevents"
_HEADER_PREFIX: Final = "ce_"

Headers = Sequence[tuple[str, bytes | None]]
Mode = Literal["structured", "binary"]


class Envelope(NamedTuple):
    """An event's attributes as the log keeps them, and its data as it came."""

    # A tuple and not a dataclass: a frozen dataclass takes four times as long to make, and one of
    # these is made for every message.
    fleet: FleetName
    source: str
    id: str
    type: EventType
    subject: Subject
    time: Microseconds | None
    data: dict[str, Any]


def read(event: Mapping[str, Any], told: FleetName | None, *, own: bool = False) -> Envelope:
    """The envelope of ``event``; ``told`` is the fleet that its surroundings name, if they do."""
    if event.get("specversion") != _SPECVERSION:
        _refuse_specversion(event)
    id_ = _text(event, "id")
    source = _text(event, "source")
    type_ = _text(event, "type")
    subject = _text(event, "subject")
    time = None if event.get("time") is None else _moment(_text(event, "time"))
    fleet = _fleet(event, told, own=own)
    if "datacontenttype" in event or "dataschema" in event:
        _refuse_other_than_texts(event)
    if event.get("data_base64") is not None:
        raise InvalidEvent("invalid_attribute", "data_base64: data is a JSON object here")
    data = event.get("data")
    if data is None:
        raise InvalidEvent("no_data", "data: it is required")
    if not isinstance(data, dict):
        raise InvalidEvent("wrong_field", "data: an object belongs here")
    return Envelope(fleet, source, id_, EventType(type_), Subject(subject), time, data)


def plain_event(type_: EventType, data: core_schema.CoreSchema) -> core_schema.CoreSchema:
    """What ``read`` checks, as a compiled schema: of an event whose texts are plain.

    Extension attributes are refused here: ``read`` has to look at such an event.
    """
    text = core_schema.str_schema(strict=True, min_length=1, max_length=LONGEST_ATTRIBUTE)
    moment = core_schema.str_schema(strict=True, pattern=f"^{moments.USUAL}$")
    required = {"id": text, "source": text, "subject": text, "data": data} | {
        "specversion": core_schema.literal_schema([_SPECVERSION]),
        "type": core_schema.literal_schema([type_]),
    }
    optional = {"fleet": text, "time": moment} | dict.fromkeys(_OPTIONAL_TEXTS, text)
    return core_schema.typed_dict_schema(
        {
            **{name: core_schema.typed_dict_field(one) for name, one in required.items()},
            **{
                name: core_schema.typed_dict_field(one, required=False)
                for name, one in optional.items()
            },
        },
        extra_behavior="forbid",
    )


def settled_fleet(named: str | None, told: FleetName | None, *, own: bool = False) -> FleetName:
    """The fleet that the event names, or else its surroundings: they may not disagree."""
    if named is None and told is None:
        raise InvalidEvent("missing_attribute", "fleet: it is required")
    if named is not None and told is not None and named != told:
        raise InvalidEvent("wrong_fleet", f"fleet: {named[:63]}, but it came as {told[:63]}")
    fleet = FleetName(named or told or "")
    if fleet == LEDGER_FLEET:
        if own:
            return fleet
        raise InvalidEvent("wrong_fleet", f"fleet: {LEDGER_FLEET} is the ledger's own")
    if not is_fleet_name(fleet):
        raise InvalidEvent("invalid_attribute", f"fleet: {fleet[:63]!a} is no DNS label")
    return fleet


def mode(headers: Headers) -> Mode:
    """How a Kafka message with these headers carries its event."""
    content_type = _content_type(headers)
    if content_type.startswith(_STRUCTURED):
        media_type = content_type.partition(";")[0].strip()
        if media_type == f"{_STRUCTURED}+json":
            return "structured"
        raise InvalidEvent("unsupported_mode", f"content-type {media_type[:60]!a} is not read")
    if any(name.lower().startswith(_HEADER_PREFIX) for name, _ in headers):
        return "binary"
    raise InvalidEvent("not_a_cloudevent", "neither its content-type nor its headers say so")


def attributes(headers: Headers) -> dict[str, str]:
    """The attributes that the headers of a message in binary mode carry."""
    found: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if not lower.startswith(_HEADER_PREFIX):
            continue
        attribute = lower.removeprefix(_HEADER_PREFIX)
        if attribute in found:
            raise InvalidEvent("invalid_attribute", f"{lower[:60]}: the header is there twice")
        if attribute in {"data", "data_base64"}:
            raise InvalidEvent("invalid_attribute", f"{lower}: data is the message's value")
        try:
            found[attribute] = (value or b"").decode()
        except UnicodeDecodeError:
            raise InvalidEvent("not_utf8", f"{lower[:60]}: the header is not UTF-8") from None
    if content_type := _content_type(headers):
        found.setdefault("datacontenttype", content_type)
    return found


def refuse_other_content(headers: Headers) -> None:
    """In binary mode the content-type is the data's own; only JSON is read."""
    media_type = _content_type(headers).partition(";")[0].strip()
    if media_type and media_type != "application/json" and not media_type.endswith("+json"):
        raise InvalidEvent("unsupported_mode", f"content-type {media_type[:60]!a} is not read")


def presentable(text: object) -> str | None:
    """``text`` as it may stand in a report, if it is one and nothing in it could do harm there."""
    if not isinstance(text, str) or len(text) > LONGEST_ATTRIBUTE or _CONTROL.search(text):
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text


@lru_cache(maxsize=4096)
def is_fleet_name(text: str) -> bool:
    """Whether a fleet may be called that: a DNS label."""
    return _DNS_LABEL.fullmatch(text) is not None


def _refuse_specversion(event: Mapping[str, Any]) -> Never:
    if not any(mark in event for mark in _MARKS):
        raise InvalidEvent("not_a_cloudevent", "it has none of specversion, id, source and type")
    _text(event, "specversion")
    raise InvalidEvent("invalid_attribute", f"specversion: only {_SPECVERSION} is read")


def _refuse_other_than_texts(event: Mapping[str, Any]) -> None:
    for name in _OPTIONAL_TEXTS:
        if event.get(name) is not None and type(event[name]) is not str:
            raise InvalidEvent("invalid_attribute", f"{name}: a text belongs here")


def _text(event: Mapping[str, Any], name: str) -> str:
    text = event.get(name)
    if text is None:
        raise InvalidEvent("missing_attribute", f"{name}: it is required")
    if type(text) is not str:
        raise InvalidEvent("invalid_attribute", f"{name}: a text belongs here")
    if not text:
        raise InvalidEvent("invalid_attribute", f"{name}: it is empty")
    if not text.isascii() or not text.isprintable():
        if _CONTROL.search(text):
            raise InvalidEvent("invalid_attribute", f"{name}: it holds a control character")
        size = len(text.encode())
    else:
        size = len(text)
    if size > LONGEST_ATTRIBUTE:
        raise InvalidEvent("invalid_attribute", f"{name}: longer than {LONGEST_ATTRIBUTE} bytes")
    return text


def _moment(text: str) -> Microseconds:
    try:
        return moments.microseconds(text)
    except InvalidEvent as refused:
        raise InvalidEvent(refused.reason, f"time: {refused.detail}") from None


def _fleet(event: Mapping[str, Any], told: FleetName | None, *, own: bool) -> FleetName:
    named = None if event.get("fleet") is None else _text(event, "fleet")
    return settled_fleet(named, told, own=own)


def _content_type(headers: Headers) -> str:
    for name, value in headers:
        if name.lower() == "content-type":
            return (value or b"").decode("latin-1").strip().lower()
    return ""
