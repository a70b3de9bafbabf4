"""What stands at the door of the log: one message, where it came from, and what the contract says of it."""

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from ledger.events.codec import Accepted, Rejected
from ledger.facts.canonical import canonical

Channel = Literal["kafka", "file", "http", "ledger"]

Headers = tuple[tuple[str, bytes | None], ...]
"""Kafka headers; a header may have no value at all, which is not an empty one."""


class Coordinates(NamedTuple):
    """Where a message came from: a Kafka offset, a line of a file, an item of a request."""

    channel: Channel
    topic: str | None
    """Of Kafka. Of what was set aside also what the file or whoever asked is called."""
    partition: int | None
    coordinate: int | None


class Message(NamedTuple):
    """A message as received, beside the verdict of the contract."""

    at: Coordinates
    verdict: Accepted | Rejected
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    named: str | None = None
    """What the file or whoever asked is called: for people who look for what was set aside. An event is the same by
    whatever name it came, so this is no part of it."""

    @property
    def place(self) -> Coordinates:
        """Where to look for it."""
        return self.at if self.named is None else self.at._replace(topic=plain_name(self.named))


LONGEST_NAME: Final = 255
"""What file systems allow a file."""


def plain_name(name: str) -> str:
    """A name as it can stand in an address: others wrote it, and it may hold anything."""
    return "".join(one if one.isprintable() else "?" for one in name)[:LONGEST_NAME]


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write the next receipt of a partition, as long as its epoch is the newest."""

    topic: str
    partition: int
    epoch: int


def address(at: Coordinates) -> str:
    """The one spelling of where a message came from, for people and for quarantine."""
    place = at.channel if at.topic is None else at.topic
    # A caller is no file of that name. Whoever comes by Kafka is told from both by a partition.
    if at.channel == "http" and at.topic is not None:
        place = f"http/{at.topic}"
    partition = "" if at.partition is None else f"/{at.partition}"
    coordinate = "" if at.coordinate is None else f"@{at.coordinate}"
    return f"{place}{partition}{coordinate}"


def spelled_headers(headers: Headers) -> bytes:
    """Headers as canonical bytes: names in order, values in base64 or null."""
    return canonical(
        [
            [name, None if value is None else base64.b64encode(value).decode()]
            for name, value in headers
        ]
    )


def read_headers(spelled: bytes) -> Headers:
    """What ``spelled_headers`` wrote."""
    return tuple(
        (name, None if value is None else base64.b64decode(value))
        for name, value in json.loads(spelled)
    )


def record_digest(message: Message) -> bytes:
    """SHA-256 over a whole Kafka record: what a receipt remembers of its last one."""
    return digest_of(message.key, message.value, message.headers)


def digest_of(key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
    """``record_digest`` of a record that nobody has judged.

    Each part goes in with its length before it (or -1 where there is none), so that no two
    records that differ share their bytes.
    """
    state = hashlib.sha256()
    parts: list[bytes | None] = [key, value]
    for name, content in headers:
        parts += [name.encode(), content]
    for part in parts:
        state.update((-1 if part is None else len(part)).to_bytes(8, "big", signed=True))
        state.update(part or b"")
    return state.digest()
