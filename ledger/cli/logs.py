"""How the services write their logs: JSON lines, or readable ones where a person watches.

What libraries say is among them (``ledger.log.libraries``).
"""

import logging
import sys
from typing import Annotated, Literal

import structlog
import typer

from ledger.log import libraries

LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    typer.Option(
        "--log-level",
        envvar="LEDGER_LOG_LEVEL",
        help="How much goes to the log on standard error: debug tells every batch, info every change"
        " of state.",
        rich_help_panel="Monitoring",
    ),
]


def configure(*, level: int = logging.INFO) -> None:
    """Send structured logs to standard error."""
    watched = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.dev.ConsoleRenderer() if watched else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        # Asked for at each line, so that whoever redirects standard error redirects these too.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
    libraries.tell()


def configure_as_asked(level: LogLevel) -> None:
    """Send structured logs to standard error, from this level on."""
    configure(level=logging.getLevelNamesMapping()[level.upper()])
