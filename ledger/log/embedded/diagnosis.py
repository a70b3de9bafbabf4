"""Why PostgreSQL did not start, told from what it wrote.

PostgreSQL says what is wrong in one line among many, and sometimes in words that mislead: "No space
left on device" may speak of a disk, of /dev/shm or of a kernel limit. This module finds the line,
names the cause and says what to do about it. It reads nothing itself and knows no address: which
directory it was about, and how full that is, the caller adds.

The server is started with English messages (``LC_ALL=C``), so these are the words it uses; a line
that none of them match is handed on as it is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Cause = Literal[
    "shared_memory_limit",
    "shared_memory_full",
    "disk_full",
    "out_of_memory",
    "port_taken",
    "orphans",
    "directory_in_use",
    "wrong_version",
    "closed_directory",
    "bad_setting",
    "damaged",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What went wrong: the cause, and the line that gave it away ("" when nothing was written)."""

    cause: Cause
    line: str

    @property
    def advice(self) -> str:
        """What to do about it, as a sentence."""
        return _ADVICE[self.cause]


# The order matters: the first cause whose words are found is the answer. The two kinds of shared
# memory come before the disk, because the kernel reports all three as a device without space.
_SIGNS: Final[tuple[tuple[Cause, tuple[str, ...]], ...]] = (
    ("orphans", ("pre-existing shared memory block",)),
    ("shared_memory_limit", ("could not create shared memory segment",)),
    ("shared_memory_full", ("could not resize shared memory segment",)),
    ("disk_full", ("No space left on device", "Disk quota exceeded")),
    ("out_of_memory", ("Cannot allocate memory", "out of memory")),
    ("directory_in_use", ('lock file "postmaster.pid" already exists',)),
    ("port_taken", ("Address already in use",)),
    (
        "wrong_version",
        ("are incompatible with server", "initialized by PostgreSQL version", "CATALOG_VERSION_NO"),
    ),
    ("closed_directory", ("Permission denied", "wrong ownership", "has invalid permissions")),
    (
        "bad_setting",
        (
            "unrecognized configuration parameter",
            "invalid value for parameter",
            "is outside the valid range for parameter",
            "requires a numeric value",
            "requires a Boolean value",
            "requires an integer value",
        ),
    ),
    (
        "damaged",
        (
            "could not locate a valid checkpoint record",
            "could not locate required checkpoint record",
            "invalid checkpoint record",
            "incorrect checksum in control file",
            "calculated CRC checksum does not match",
        ),
    ),
)

_ADVICE: Final[Mapping[Cause, str]] = {
    "shared_memory_limit": (
        "This is a limit of the kernel, not a full disk: raise kernel.shmmni, or remove what is "
        "left over (ipcs -m)"
    ),
    "shared_memory_full": (
        "This is /dev/shm, not the disk: give it more room (in a container: --shm-size)"
    ),
    "disk_full": "Free some space there, or use a directory on another filesystem (LEDGER_DATA)",
    "out_of_memory": "Free some memory, or lower shared_buffers",
    "port_taken": "Choose another port, or none to have a free one found",
    "orphans": "Processes of an earlier server are still at work; wait for them or end them",
    "directory_in_use": "Stop the other server first",
    "wrong_version": "Use the PostgreSQL that made it, or dump it there and restore it here",
    "closed_directory": "Give the directory back to the user whose server it is",
    "bad_setting": "Correct the setting",
    "damaged": "Do not delete anything: restore a backup into another directory",
    "unknown": "The log of the server says more",
}

# "2026-01-31 10:11:12.345 UTC [42] " and what our own log_line_prefix adds to it.
_PREFIX = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\] (\S*@\S* )?")
_SEVERE = re.compile(r"\b(PANIC|FATAL|ERROR): |\berror: ")


def diagnose(written: str) -> Diagnosis:
    """Find the cause of a failed start in what the server or initdb wrote meanwhile."""
    lines = [_PREFIX.sub("", line).strip() for line in written.splitlines()]
    for cause, words in _SIGNS:
        for line in lines:
            if any(word in line for word in words):
                return Diagnosis(cause, line)
    severe = [line for line in lines if _SEVERE.search(line)]
    return Diagnosis("unknown", severe[-1] if severe else latest(written))


def latest(written: str) -> str:
    """The last thing that was said, without the time and number in front of it."""
    spoken = [_PREFIX.sub("", line).strip() for line in written.splitlines() if line.strip()]
    return spoken[-1] if spoken else ""
