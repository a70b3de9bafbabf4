"""Run one consumer or one publisher as a process of its own: ``python -m consumers [publish]``.

``ledger consume`` and ``ledger publish`` do the same with more to say; this is what a container or
a test starts when it wants nothing else. The database is LEDGER_DATABASE_URL, the rest
``consumers.settings``. The first SIGTERM or SIGINT asks it to finish what it is doing and leave;
the second ends it at once. It exits with 0 when asked to, and with the codes of docs/errors.md, as
``ledger`` does, where it could not go on; with 1 after a mistake of ours.
"""

import asyncio
import logging
import os
import secrets
import signal
import socket
import sys

import structlog

from consumers import feed, publisher
from consumers.settings import Settings
from consumers.totals import Totals
from ledger.errors import (
    DamagedArchive,
    InvalidEvent,
    InvalidRequest,
    KafkaUnavailable,
    LedgerError,
    LedgerStopped,
    LogUnavailable,
    NotWitnessed,
    SetupProblem,
)
from ledger.log import libraries

log = structlog.get_logger()


def main(arguments: list[str]) -> int:
    """Run until asked to stop."""
    _log_as_json()
    try:
        asyncio.run(_run(arguments))
    except LedgerError as error:
        return _stopped(error)
    except Exception:
        log.exception("failed")
        return 1
    return 0


def _stopped(error: LedgerError) -> int:
    """Say by which name it ended; where the program stood is of no use to whoever reads that."""
    log.error("stopped", why=str(error), kind=type(error).__name__)
    return exit_code(error)


def exit_code(error: LedgerError) -> int:
    """What the process that it ends says to its supervisor; the numbers are those of sysexits.h."""
    match error:
        case InvalidRequest():
            return 64
        case InvalidEvent():
            return 65
        case LogUnavailable() | KafkaUnavailable() | NotWitnessed():
            return 75
        case LedgerStopped() | DamagedArchive():
            return 76
        case SetupProblem():
            return 78
        case _:
            return 70


async def _run(arguments: list[str]) -> None:
    settings = Settings()
    try:
        database_url = os.environ["LEDGER_DATABASE_URL"]
    except KeyError as error:
        raise SetupProblem("LEDGER_DATABASE_URL: it is not set") from error
    stop = asyncio.Event()
    _stop_on_signals(stop)
    if arguments == ["publish"]:
        await publisher.run(settings, database_url, holder=holder(), stop=stop)
        return
    if arguments not in ([], ["consume"]):
        raise SetupProblem(f"{' '.join(arguments)}: say consume or publish")
    totals = Totals()
    try:
        await feed.run(settings, database_url, stop=stop, totals=totals)
    finally:
        log.info("totals", **totals.numbers())


def holder() -> str:
    """A name for leases that no other process has, whatever hosts and processes are numbered."""
    return f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def ask(number: signal.Signals) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask, number)


def _log_as_json() -> None:
    libraries.tell()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
