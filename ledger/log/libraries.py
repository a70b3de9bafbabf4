"""What libraries say by Python's own logging, told as a line of ours: under the library's name, and with its reason.

Where nobody takes their words Python prints them as they are, between lines of JSON that programs read. They
are taken from warnings on: what a library does when all is well is its own business.
"""

import logging
from typing import Final

import structlog

log = structlog.get_logger()


class Told(logging.Handler):
    """Tells a record as a line like every other."""

    def emit(self, record: logging.LogRecord) -> None:  # type: ignore[explicit-override]  # Python 3.11 has no such decorator
        """Under the name of the library; ``logger`` is the part of it that speaks."""
        library, _, part = record.name.partition(".")
        log.log(
            # Our lines know only the usual levels.
            min(record.levelno // 10 * 10, logging.CRITICAL),
            library,
            **({"logger": record.name} if part else {}),
            why=record.getMessage(),
            exc_info=record.exc_info,
        )


TOLD: Final = Told(logging.WARNING)


def tell(logger: str | None = None) -> None:
    """Take what a library says by this logger; without one, what all of them say."""
    theirs = logging.getLogger(logger)
    theirs.propagate = False
    if TOLD not in theirs.handlers:
        theirs.addHandler(TOLD)
