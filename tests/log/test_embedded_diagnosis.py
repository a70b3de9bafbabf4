"""What PostgreSQL writes when it cannot start, and what we make of it."""

import pytest

from ledger.log.embedded.diagnosis import Cause, diagnose, latest

AT = "2026-03-01 10:11:12.345 UTC [42] "


@pytest.mark.parametrize(
    ("cause", "written"),
    [
        (
            "disk_full",
            'FATAL:  could not create lock file "postmaster.pid": No space left on device',
        ),
        (
            "disk_full",
            'PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device',
        ),
        ("disk_full", 'initdb: error: could not write file "x": Disk quota exceeded'),
        (
            "shared_memory_limit",
            (
                "FATAL:  could not create shared memory segment: No space left on device\n"
                "DETAIL:  Failed system call was shmget(key=1, size=56, 03600)."
            ),
        ),
        (
            "shared_memory_full",
            (
                'ERROR:  could not resize shared memory segment "/PostgreSQL.7" to 8 bytes:'
                " No space left on device"
            ),
        ),
        (
            "out_of_memory",
            "FATAL:  could not map anonymous shared memory: Cannot allocate memory",
        ),
        (
            "port_taken",
            (
                'LOG:  could not bind IPv4 address "127.0.0.1": Address already in use\n'
                "HINT:  Is another postmaster already running on port 5432?\n"
                "FATAL:  could not create any TCP/IP sockets"
            ),
        ),
        (
            "orphans",
            (
                "FATAL:  pre-existing shared memory block (key 79891, ID 29900) is still in use\n"
                'HINT:  Terminate any old server processes associated with data directory "/d".'
            ),
        ),
        (
            "directory_in_use",
            (
                'FATAL:  lock file "postmaster.pid" already exists\n'
                'HINT:  Is another postmaster (PID 7) running in data directory "/d"?'
            ),
        ),
        (
            "wrong_version",
            (
                "FATAL:  database files are incompatible with server\n"
                "DETAIL:  The data directory was initialized by PostgreSQL version 16, which is not"
                " compatible with this version 18.4."
            ),
        ),
        ("closed_directory", 'FATAL:  data directory "/d/postgres" has wrong ownership'),
        ("closed_directory", "FATAL:  could not open directory: Permission denied"),
        ("bad_setting", 'FATAL:  unrecognized configuration parameter "shared_bufers"'),
        ("bad_setting", 'FATAL:  invalid value for parameter "shared_buffers": "much"'),
        ("damaged", "PANIC:  could not locate a valid checkpoint record at 0/1000028"),
        ("unknown", "FATAL:  something new"),
        ("unknown", ""),
    ],
)
def test_the_cause_is_read_from_what_was_written(cause: Cause, written: str) -> None:
    log = "".join(f"{AT}{line}\n" for line in written.splitlines())

    diagnosis = diagnose(log)

    assert diagnosis.cause == cause
    assert diagnosis.advice


def test_the_line_that_gave_it_away_is_shown_without_what_stands_before_it() -> None:
    log = (
        f"{AT}LOG:  starting PostgreSQL 18.4\n"
        f"{AT}postgres@ledger ERROR:  could not extend file: No space left on device\n"
        f"{AT}LOG:  database system is shut down\n"
    )

    assert diagnose(log).line == "ERROR:  could not extend file: No space left on device"


def test_of_an_unknown_failure_the_last_severe_line_is_shown() -> None:
    log = f"{AT}FATAL:  first\n{AT}FATAL:  second\n{AT}LOG:  database system is shut down\n"

    assert diagnose(log).line == "FATAL:  second"


def test_the_latest_line_is_shown_without_what_stands_before_it() -> None:
    log = (
        f"{AT}FATAL:  a client came too early\n{AT}LOG:  redo in progress, elapsed time: 4.0 s\n\n"
    )

    assert latest(log) == "LOG:  redo in progress, elapsed time: 4.0 s"
    assert latest("\n") == ""
