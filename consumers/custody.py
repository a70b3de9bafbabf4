"""A partition in our custody: where reading it begins, and what shows that it is still the same.

The log knows what was taken from a partition, and Kafka knows what is in it. Where the two fit,
reading goes on; where they do not, events were lost or the topic is another one, and the partition
stops until a person has looked. Offsets alone would not tell: a topic that was deleted and filled
again has the same ones. So the last record that was taken is read once more and must be what the
receipt remembers; while we read on, the last one that was read must be what we remember.

Nothing here asks anybody anything; the loop in ``consumers.feed`` does.
"""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from aiokafka import TopicPartition

from consumers.topic import Topic
from ledger.log.messages import Claim, Headers, digest_of
from ledger.log.receipts import HaltReason, Receipt
from ledger.units import FleetName, Offset

State = Literal["doubted", "proving", "reading", "halted"]
"""Doubted: what Kafka has does not fit what was taken, and Kafka is asked once more."""

REMEMBERED_SECONDS: Final = 600.0
"""A fleet whose events have not come by a partition for so long is no reason to let it wait."""


class Record(Protocol):
    """What aiokafka hands over, as far as it is used here."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@dataclass(frozen=True, slots=True)
class Proof:
    """A record that was read, and must still be where it was."""

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
    receipt: Receipt | None
    """The newest one when it came into our custody; None where nothing was ever taken."""
    taken_to: Offset | None
    """Where the batch that was read last ends; None where nothing was ever taken."""
    recovered: bool
    """Whether Kafka may have been told of more than the receipts say."""
    proof: Proof | None
    """The last record that was read; None where nothing can be proven."""
    wanted: Offset
    """What is read next."""
    state: State
    gulp: int
    """How many records are asked for at once; few, while one of them cannot be read."""
    heard: float
    """When it last gave a record, on the loop's clock."""
    look_again: float = 0
    """When to ask whether a person has resumed it, or Kafka once more where it is doubted."""
    held: bool = False
    """Waiting until the fleets it feeds are decided further."""
    seeks: int = 0
    """Which telling where to read was its last; what was asked for before that is void."""
    failures: int = 0
    """How often its next record could not be read."""
    fleets: OrderedDict[FleetName, float] = field(default_factory=OrderedDict)
    """The fleets whose events have come by it since it last went on, and when they last did; in the
    order of that, so that those of long ago are found in front and forgotten."""

    @property
    def stands(self) -> bool:
        """Whether nothing is read of it until somebody has looked."""
        return self.state in ("doubted", "halted")

    @property
    def able(self) -> bool:
        """Whether records of it are asked for."""
        return not self.stands and not self.held

    def must_show(self, oldest: float) -> bool:
        """Whether it has given nothing since ``oldest``, and can show its last record again."""
        return self.state == "reading" and self.proof is not None and self.heard < oldest

    def saw(self, fleets: Collection[FleetName], *, now: float) -> None:
        """Note whose events have come by, and forget those that have not for long."""
        for fleet in fleets:
            self.fleets[fleet] = now
            self.fleets.move_to_end(fleet)
        self._forget(now)

    def feeds(self, *, now: float) -> Collection[FleetName]:
        """The fleets that it may have to wait for; while it waits, all that it had to wait for."""
        self._forget(now)
        return self.fleets.keys()

    def _forget(self, now: float) -> None:
        oldest = now - REMEMBERED_SECONDS
        while not self.held and self.fleets and next(iter(self.fleets.values())) < oldest:
            self.fleets.popitem(last=False)


def beginning(
    receipt: Receipt | None, *, first: Offset, end: Offset, told: Offset | None = None
) -> Beginning:
    """Where a partition goes on that begins at ``first`` and ends before ``end``.

    ``told`` is how far Kafka was told that it was taken, which it never is before the log has it. A log
    that has nothing of the partition reads all of it, whatever Kafka was told of an earlier one.
    """
    if receipt is None:
        return GoOn(first, ("partition_adopted", f"nothing was taken yet; reading from {first}"))
    if told is not None and receipt.next < told <= end:
        return Refuse(
            "log_rewound",
            f"Kafka was told that it was taken up to {told}, but the log has it up to {receipt.next}:"
            " the database was restored to an earlier point",
        )
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
    """What to remember of a record that was read."""
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
