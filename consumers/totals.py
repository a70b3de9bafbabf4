"""What a consumer or a publisher has done since it started, as plain numbers."""

from dataclasses import asdict, dataclass

from ledger.log.intake import Taken


@dataclass(slots=True)
class Totals:
    """Counts that only grow."""

    records: int = 0
    """Kafka records that are in the log's hands: appended, counted as duplicates, or quarantined."""
    batches: int = 0
    appended: int = 0
    duplicates: int = 0
    conflicts: int = 0
    """Same identity, other content; they are in ``quarantined`` too."""
    quarantined: int = 0
    redelivered: int = 0
    """Read again although the log had them; nothing happened."""
    adopted: int = 0
    """Partitions taken over, each time anew."""
    proven: int = 0
    """Last records read again and found to be the same."""
    halted: int = 0
    """Partitions stopped until a person has looked."""
    held: int = 0
    """Times a partition had to wait because a fleet's decider was behind."""
    fenced: int = 0
    """Batches refused because somebody newer owns the partition."""
    log_lost: int = 0
    """Times Postgres could not be reached or gave up."""
    kafka_lost: int = 0
    """Times Kafka could not be reached, or its client gave up."""
    stalled: int = 0
    """Times a client was replaced because it made no progress although there was something to read."""
    unreadable: int = 0
    """Times the client could not make a record out of what Kafka gave it."""
    broker_commits: int = 0
    """Offsets told to Kafka, for those who watch the lag there."""

    def count(self, taken: Taken, records: int) -> None:
        """Add what became of a batch of so many records."""
        self.records += records - taken.redelivered
        self.batches += 1
        self.appended += taken.appended
        self.duplicates += taken.duplicates
        self.conflicts += taken.conflicts
        self.quarantined += taken.quarantined
        self.redelivered += taken.redelivered

    def numbers(self) -> dict[str, int]:
        """By name."""
        return asdict(self)


@dataclass(slots=True)
class Sent:
    """What a publisher handed on. Counts that only grow, but for the leases it holds."""

    decisions: int = 0
    letters: int = 0
    """Quarantined messages. What is handed on again after a crash counts again, as do decisions."""
    batches: int = 0
    postponed: int = 0
    """Times a fleet had to rest because what comes next could not be handed on."""
    interrupted: int = 0
    """Times Kafka or Postgres could not be reached at all."""
    leases_held: int = 0
    leases_lost: int = 0
    """Somebody else publishes for a fleet now."""
