"""How the agents of an invented fleet spell what they saw: CloudEvents, one compact line each.

Everything here is what a producer would send (docs/events.md says what it may), and nothing here
knows what the ledger makes of it. Lines are ASCII and compact, as real agents write them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple

import orjson

from ledger.units import Microseconds

Value = str | int | bool | None | Mapping[str, "Value"] | list["Value"]
Data = dict[str, Value]

_SECOND: Final = 1_000_000
_MINUTE: Final = 60 * _SECOND


class Happening(NamedTuple):
    """Something that somebody in the fleet reports."""

    type: str
    source: str
    subject: str
    data: Data


class Sent(NamedTuple):
    """An event as it is sent: the line, and where it would go in Kafka."""

    topic: str
    key: bytes
    value: bytes


def sent(happening: Happening, *, fleet: str, id_: str, at: Microseconds) -> Sent:
    """The event that reports ``happening``."""
    value = orjson.dumps(
        {
            "specversion": "1.0",
            "id": id_,
            "source": happening.source,
            "type": happening.type,
            "subject": happening.subject,
            "time": moment(at),
            "fleet": fleet,
            "data": happening.data,
        }
    )
    return Sent(topic(happening.type), fleet.encode(), value)


@lru_cache(maxsize=64)
def topic(type_: str) -> str:
    """The Kafka topic that carries events of this type."""
    family = type_.split(".")[1]
    return "ledger.control" if family in {"policy", "proposal"} else f"ledger.{family}"


def moment(at: Microseconds) -> str:
    """A moment as RFC 3339 spells it."""
    minute, rest = divmod(at, _MINUTE)
    second, fraction = divmod(rest, _SECOND)
    return f"{_to_the_minute(minute)}:{second:02d}.{fraction:06d}Z"


# Hundreds of events share a minute.
@lru_cache(maxsize=16)
def _to_the_minute(minute: int) -> str:
    return datetime.fromtimestamp(60 * minute, UTC).isoformat()[:16]
