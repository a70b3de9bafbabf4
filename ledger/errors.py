"""Every deliberate error, sorted by whose fault it is.

What cannot be served is no error but a recorded ``Refusal``. Whoever catches one of these knows what to do:

``InvalidEvent``      the producer sent nonsense: quarantine it, go on
``LogUnavailable``    the surroundings failed: nothing was written, try again
``WrongPosition``     somebody else was faster: read again, decide again
``LedgerStopped``     going on would lose or fork history: a person has to look
``UnusableSnapshot``  a cache that does not fit the log: do without it
``DamagedArchive``    a file is not what was written: fetch another copy of it

A broken promise of our own is an ``assert``: always loud, and where a fleet is decided it stops that fleet alone.
"""

from typing import Literal

InvalidReason = Literal[
    "not_json",
    "not_utf8",
    "duplicate_key",
    "not_a_number",
    "too_deep",
    "too_large",
    "not_a_cloudevent",
    "unsupported_mode",
    "missing_attribute",
    "invalid_attribute",
    "unknown_type",
    "unknown_version",
    "no_data",
    "missing_field",
    "wrong_field",
    "negative_quantity",
    "not_whole",
    "out_of_range",
    "subject_mismatch",
    "wrong_fleet",
    "unknown_fleet",
    "reserved_type",
    "wrong_topic",
    "source_not_bound",
    "salt_not_first",
    "unknown_algorithm",
    "unknown_setting",
    "time_required",
    "time_too_far_ahead",
    "identity_conflict",
]
"""Why a message went to quarantine. The names are public: people alert on them (docs/errors.md)."""


class LedgerError(Exception):
    """The root: anything the ledger raises on purpose."""


class InvalidEvent(LedgerError):
    """A message that no version of the contract accepts."""

    def __init__(self, reason: InvalidReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: InvalidReason = reason
        self.detail = detail


class InvalidRequest(LedgerError):
    """A question put to the core that has no answer because it is malformed; ``code`` is public."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class LogUnavailable(LedgerError):
    """Postgres could not be reached or gave up; nothing was written."""


class KafkaUnavailable(LedgerError):
    """Kafka could not be reached, or its client gave up; what was taken so far is in the log."""


class NotWitnessed(LedgerError):
    """A witness has not vouched for what was signed; it is asked again in the next round."""


class WrongPosition(LedgerError):
    """Another writer moved the log, a cursor or a lease since it was read."""


class StaleEpoch(WrongPosition):
    """A partition or a lease has a newer owner; this one must let go of it."""


class LedgerStopped(LedgerError):
    """Going on would lose or fork history; the message says what a person has to decide."""


class FleetStopped(LedgerStopped):
    """Somebody remembers more of a fleet's log than is there: `ledger recover` begins its next life."""


class AlgorithmMissing(LedgerStopped):
    """A policy names a version that this program does not have; another release may."""

    def __init__(self, system: str, version: int) -> None:
        super().__init__(f"{system}: version {version} is not in this program")


class UndecidedEvent(LedgerStopped):
    """This program fails at an event: deciding goes on when another release can take it."""


class UnusableSnapshot(LedgerError):
    """A snapshot that is damaged, of another layout, or not of this log; what it saves is only time."""


ArchiveReason = Literal["manifest_damaged", "file_missing", "file_damaged"]
"""What is wrong with an archive. The names are public (docs/errors.md)."""


class DamagedArchive(LedgerError):
    """A file of an archive is not what was written; ``reason`` is public, and ``file`` its name."""

    def __init__(self, reason: ArchiveReason, file: str, detail: str) -> None:
        super().__init__(f"{file}: {reason}: {detail}")
        self.reason: ArchiveReason = reason
        self.file = file
        self.detail = detail


class SetupProblem(LedgerError):
    """The surroundings are not as the ledger needs them; the message says what to do about it."""


class DatabaseMissing(SetupProblem):
    """No database has this name. Where one had, somebody may be putting it back."""
