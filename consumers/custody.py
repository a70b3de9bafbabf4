"""A partition in our custody: where reading it begins, and what shows that it is still the same.

The log knows what was taken from a partition, and Kafka knows what is in it. Where the two fit,
reading goes on; where they do not, events were lost or the topic is another one, and the partition
stops until a person has looked. Offsets alone would not tell: a topic that was deleted and filled
again has the same ones. So the last record that was taken is read once more and must be what the
receipt remembers.

Nothing here asks anybody anything; the loop in ``consumers.feed`` does.
"""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from aiokafka import TopicPartition

from consumers.topic import Topic
from ledger.log.messages import Claim, Headers, digest_of
from ledger.log.receipts import HaltReason, Receipt
from ledger.units import FleetName, Offset

State = Literal["proving", "reading", "halted"]


class Record(Protocol):
    """What aiokafka hands over, as far as it is used here."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class Proof:
    """A record that was taken, and must still be where it was."""

    offset: Offset
    timestamp: int | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class GoOn:
    """Read from here; ``incident`` is what a person should know all the same, as kind and detail."""

    offset: Offset
    incident: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Prove:
    """Read this record first: it must be the last one that was taken."""

    proof: Proof


@dataclass(frozen=True, slots=True)
class Refuse:
    """The partition may not go on by itself."""

    reason: HaltReason
    detail: str


Beginning = GoOn | Prove | Refuse


@dataclass(slots=True, eq=False)
class Custody:
    """A partition that is ours, as far as we know; the database knows better."""

    at: TopicPartition
    topic: Topic
    claim: Claim
    taken_to: Offset | None
    """Where the newest receipt ends; None where there is none."""
    proof: Proof | None
    """The last record that was taken; None where nothing can be proven."""
    wanted: Offset
    """What is read next."""
    state: State
    gulp: int
    """How many records are asked for at once; few, while one of them cannot be read."""
    heard: float
    """When it last gave a record, on the loop's clock."""
    look_again: float = 0
    """When to ask whether a person has resumed it."""
    held: bool = False
    """Waiting until the fleets it feeds are decided further."""
    seeks: int = 0
    """Which telling where to read was its last; what was asked for before that is void."""
    failures: int = 0
    """How often its next record could not be read."""
    fleets: set[FleetName] = field(default_factory=set)
    """The fleets whose events have come by it."""


def beginning(receipt: Receipt | None, *, first: Offset, end: Offset) -> Beginning:
    """Where a partition goes on that begins at ``first`` and ends before ``end``."""
    if receipt is None:
        return GoOn(first, ("partition_adopted", f"nothing was taken yet; reading from {first}"))
    if end < receipt.next:
        return Refuse(
            "offset_regression",
            f"taken up to {receipt.next}, but the partition ends at {end}: records are gone",
        )
    if first > receipt.next:
        return Refuse(
            "retention_overrun",
            f"taken up to {receipt.next}, but the partition begins at {first}:"
            f" {first - receipt.next} offsets are gone that were never taken",
        )
    if receipt.last_digest is None:
        return GoOn(receipt.next)
    if first == receipt.next:
        return GoOn(
            receipt.next,
            ("proof_expired", f"nothing is left before {first}; what follows was not taken yet"),
        )
    last = Offset(receipt.next - 1)
    return Prove(Proof(last, receipt.last_timestamp, receipt.last_digest))


def proof_of(record: Record) -> Proof:
    """What to remember of a record that was taken."""
    digest = digest_of(record.key, record.value, record.headers)
    return Proof(Offset(record.offset), record.timestamp, digest)


def disproved(proof: Proof, record: Record) -> str | None:
    """Why ``record`` is not the one that was taken; None where it is."""
    if record.offset != proof.offset:
        return f"the record at {proof.offset} is gone, and so is the proof that nothing else is"
    found = proof_of(record)
    if found.timestamp != proof.timestamp:
        return (
            f"the record at {proof.offset} is of {found.timestamp} ms,"
            f" the one that was taken of {proof.timestamp} ms"
        )
    if found.digest != proof.digest:
        return (
            f"the record at {proof.offset} has digest {found.digest.hex()},"
            f" the one that was taken {proof.digest.hex()}"
        )
    return None
