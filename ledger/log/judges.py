"""Judge messages beside the process that appends them, so that one log can use two processors.

What the contract says of a message takes longer than anything else on its way in, and depends on
nothing but the message. So whoever takes in many lets a second process judge the next batch while
this one appends the last. A few lines are not worth a process: the second one is started when
there has been enough to do, and until it is ready this one goes on alone.

A verdict is the same wherever it was reached. If the second process cannot be started, or dies,
its work is done here again, more slowly from then on.

Both are the same program, so they speak ``marshal``, which is fast and good for nothing that
lasts. The second process ends when its input does, however this one ended.
"""

import asyncio
import gc
import marshal
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from struct import Struct
from typing import Any, Final, Self

import structlog

from ledger.events.codec import Accepted, Rejected, accept, accept_line
from ledger.events.contract import Family
from ledger.events.envelope import Headers
from ledger.units import FleetName

log = structlog.get_logger()

Verdict = Accepted | Rejected
Case = tuple[bytes | None, Headers | None, FleetName | None]
"""What there is to judge: a value, the headers of its Kafka record (a line has none at all), and
the fleet that its surroundings name."""

ALONE: Final = 20_000
"""Messages judged here before a second process is started: half a second's work, and starting one
takes as long."""

SLICE: Final = 50
"""Messages judged here between two turns of the event loop: a millisecond, so that neither the
batch that is being written nor a heartbeat waits for long."""

_PATIENCE: Final = 5.0
"""Seconds the second process has to end, once it is told that there is nothing left to do."""

_BUFFER: Final = 1024 * 1024
"""Bytes of answers that may wait to be heard: those to a batch of middling size."""

_LENGTH: Final = Struct(">I")
_STORED: Final = Accepted._fields.index("stored")


class Judges:
    """Judges messages, here or in a process of its own."""

    def __init__(self, families: frozenset[Family], *, alone: int = ALONE) -> None:
        """``families`` are those that may speak; ``alone``, how many are judged here first."""
        self._families = families
        self._alone = alone
        self._judged = 0
        self._beside: _Beside | None = None
        self._starting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._starting is not None:
            await self._starting
        if self._beside is not None:
            await self._beside.end()

    @property
    def has_company(self) -> bool:
        """Whether a second process judges: then it pays to ask for the next batch early."""
        return self._beside is not None

    async def verdicts(self, cases: Sequence[Case]) -> list[Verdict]:
        """What the contract says of each, in their order."""
        self._judged += len(cases)
        if self._beside is not None:
            try:
                return await self._beside.verdicts(self._families, cases)
            except ConnectionError:
                await self._lose(self._beside)
        elif self._starting is None and self._judged > self._alone and _has_processors():
            self._starting = asyncio.create_task(self._start())
        verdicts: list[Verdict] = []
        for start in range(0, len(cases), SLICE):
            verdicts += [_judged(case, self._families) for case in cases[start : start + SLICE]]
            await asyncio.sleep(0)
        return verdicts

    async def _start(self) -> None:
        try:
            beside = await _Beside.start()
        except OSError as error:
            log.warning("judge not started", error=str(error))
            return
        try:
            # It answers once it has loaded the contracts, and would be in the way until then.
            await beside.verdicts(self._families, [])
        except ConnectionError:
            await self._lose(beside)
        else:
            self._beside = beside

    async def _lose(self, beside: "_Beside") -> None:
        """Go on without it."""
        self._beside = None
        await beside.end()
        log.warning("judge lost", judged=self._judged)


class _Beside:
    """The second process: answers what it is asked, one after the other."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._questions = process.stdin
        self._answers = process.stdout
        self._waiting: deque[asyncio.Future[bytes | None]] = deque()
        self._hearing = asyncio.create_task(self._hear())

    @classmethod
    async def start(cls) -> Self:
        """Start one; it is ready when it answers."""
        process = await asyncio.create_subprocess_exec(
            # -P: a directory that happens to be called ledger is not what is meant.
            *(sys.executable, "-P", "-m", "ledger.log.judges"),
            stdin=PIPE,
            stdout=PIPE,
            limit=_BUFFER,
            # Ctrl-C at a terminal is for us, who may still have batches in work.
            start_new_session=True,
        )
        return cls(process)

    async def verdicts(self, families: frozenset[Family], cases: Sequence[Case]) -> list[Verdict]:
        """Ask; raises ConnectionError where no answer can be expected any more."""
        if self._hearing.done():
            raise ConnectionResetError
        asked: tuple[Any, ...] = (tuple(families), tuple(cases))
        question = marshal.dumps(asked)
        # Whoever gives up waiting leaves his place in the queue: answers have no other address.
        heard: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(heard)
        self._questions.write(_LENGTH.pack(len(question)) + question)
        answer = await heard
        if answer is None:
            raise ConnectionResetError
        told = marshal.loads(answer)  # noqa: S302 - said by this very program
        return [_heard(one, case) for one, case in zip(told, cases, strict=True)]

    async def end(self) -> None:
        """Let it go."""
        self._questions.close()
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await self._hearing

    async def _hear(self) -> None:
        answer: bytes | None = b""
        while answer is not None:
            try:
                (length,) = _LENGTH.unpack(await self._answers.readexactly(_LENGTH.size))
                answer = await self._answers.readexactly(length)
            except asyncio.IncompleteReadError:
                answer = None
            answered = [self._waiting.popleft()] if answer is not None else list(self._waiting)
            for heard in answered:
                if not heard.done():
                    heard.set_result(answer)


def _judged(case: Case, families: frozenset[Family]) -> Verdict:
    value, headers, fleet = case
    if headers is None:
        assert value is not None, "a line is never without a value"
        return accept_line(value, families=families, fleet=fleet)
    return accept(value, headers=headers, families=families, fleet=fleet)


def _spoken(verdict: Verdict, case: Case) -> tuple[object, ...]:
    """A verdict as it goes back: without the bytes that whoever asked has himself."""
    if isinstance(verdict, Rejected) or verdict.stored is not case[0]:
        return tuple(verdict)
    return (*verdict[:_STORED], None, *verdict[_STORED + 1 :])


def _heard(spoken: tuple[Any, ...], case: Case) -> Verdict:
    """What ``_spoken`` said."""
    if len(spoken) == len(Rejected._fields):
        return Rejected._make(spoken)
    fleet, source, id_, type_, subject, time, stored, identity, digest, salt = spoken
    if stored is None:
        stored = case[0]
    return Accepted(fleet, source, id_, type_, subject, time, stored, identity, digest, salt)


def _has_processors() -> bool:
    return len(os.sched_getaffinity(0)) > 1


def main() -> None:
    """The second process: judge what comes in until nothing more does."""
    # The contracts stay to the end; nothing is gained by walking past them again and again.
    gc.collect()
    gc.freeze()
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    with suppress(BrokenPipeError):
        while len(head := questions.read(_LENGTH.size)) == _LENGTH.size:
            (length,) = _LENGTH.unpack(head)
            families, cases = marshal.loads(questions.read(length))  # noqa: S302 - as above
            admitted: frozenset[Family] = frozenset(families)
            answer = marshal.dumps([_spoken(_judged(case, admitted), case) for case in cases])
            answers.write(_LENGTH.pack(len(answer)) + answer)
            answers.flush()


if __name__ == "__main__":
    main()
