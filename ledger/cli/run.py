"""Run a coroutine as a command: signals end it, errors become one line and an exit code.

A command that only asks is cancelled by the first SIGINT or SIGTERM. One that has something to
finish is asked by the first and cancelled by the second. A service that was asked has done what it is for; one
that was to come to an end of its own and did not is interrupted, whatever it has done by then.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

import typer

from ledger.cli.commands import MISUSED
from ledger.cli.database import complain
from ledger.cli.main import INTERRUPTED
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

REFUSED: Final = 65
FAILED: Final = 70
UNAVAILABLE: Final = 75
NEEDS_A_PERSON: Final = 76
MISCONFIGURED: Final = 78
"""Exit codes beyond those of the audits, numbered as sysexits.h does."""

Answer = TypeVar("Answer")


def run(main: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
    """Run ``main``; the first signal cancels it."""
    return _run(lambda _: main(), at_once=True)


def run_until_asked(main: Callable[[asyncio.Event], Coroutine[Any, Any, Answer]]) -> Answer:
    """Run ``main``; the first signal sets the event it gets, the second cancels it."""
    return _run(main, at_once=False)


def _run(main: Callable[[asyncio.Event], Coroutine[Any, Any, Answer]], *, at_once: bool) -> Answer:
    try:
        return asyncio.run(_with_signals(main, at_once=at_once))
    except LedgerError as error:
        complain(error)
        raise typer.Exit(exit_code(error)) from error
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


async def _with_signals(
    main: Callable[[asyncio.Event], Coroutine[Any, Any, Answer]], *, at_once: bool
) -> Answer:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    me = asyncio.current_task()
    assert me is not None

    def asked_to_stop() -> None:
        if at_once or stop.is_set():
            me.cancel()  # Asked twice: somebody does not want to wait for the end of a batch.
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked_to_stop)
    try:
        return await main(stop)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def interrupted(rest: str) -> typer.Exit:
    """How a command ends that was asked to before it came to its end; ``rest`` is what becomes of the rest."""
    complain(f"interrupted: {rest}")
    return typer.Exit(INTERRUPTED)


def exit_code(error: LedgerError) -> int:
    """What a command ends with that could not go on because of this."""
    match error:
        case InvalidEvent():
            return REFUSED
        case LogUnavailable() | KafkaUnavailable() | NotWitnessed():
            return UNAVAILABLE
        case LedgerStopped() | DamagedArchive():
            return NEEDS_A_PERSON
        # A fleet that is not there is one fault, whether a command looks for it or a question finds none;
        # and so are a role and a grant, which only an operator names.
        case SetupProblem() | InvalidRequest(code="unknown_fleet" | "unknown_role" | "not_granted"):
            return MISCONFIGURED
        # Whoever asks wrongly has typed it wrongly, whether that shows in the words alone or only in the log.
        case InvalidRequest():
            return MISUSED
        case _:
            return FAILED
