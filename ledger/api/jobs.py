"""Replays and what-ifs: long questions, asked now and answered later.

Each is the command itself, as a process of its own at a lower priority: the service goes on
answering beside it, and what a job takes of memory is given back with its end. One runs at a time. Jobs are
kept in memory, and end with the service: whoever asked asks again, for nothing was written.
"""

import asyncio
import json
import os
import secrets
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path as File
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import structlog
from fastapi import APIRouter, Path, Request, Response

from ledger.api import documents
from ledger.api.asked import (
    FleetPath,
    body_as,
    body_of,
    caller_of,
    problems,
    reader_of,
    unknown_fleet,
)
from ledger.api.connections import Connections
from ledger.api.problems import Problem, again_after
from ledger.api.readers import Reader
from ledger.views import pages

MOST_WAITING: Final = 8
"""Jobs that wait for the one that runs; whoever comes beyond that is asked to come again."""

MIB: Final = 1024 * 1024

NICE: Final = 10

ANSWERED: Final = frozenset({0, 1, 2, 3})
"""The exit codes of the audits: an answer was printed."""

LINES_KEPT: Final = 20
"""Of what a process said before it failed."""

LONGEST_LINE: Final = 4096
"""What is kept of one of them."""

CHUNK: Final = 64 * 1024

Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="As it was told.")]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Command:
    """How a job is started, and which database it asks."""

    program: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of jobs that have ended; the oldest are forgotten first."""

    jobs: int = 50
    result: int = 32 * MIB
    """Bytes of one; whoever has a larger answer asks the command itself."""
    results: int = 128 * MIB
    """Bytes of all of them together."""


@dataclass(slots=True)
class Job:
    """One of them."""

    id: str
    kind: str
    fleet: str
    by: str
    asked: dict[str, Any]
    arguments: Sequence[str]
    settings: bytes | None
    state: documents.JobState = "waiting"
    queued_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_at: datetime | None = None
    ended_at: datetime | None = None
    progress: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    exit_code: int | None = None
    result: bytes | None = None
    """As JSON."""
    problem: str | None = None
    task: "asyncio.Task[None] | None" = None

    def spelled(self, *, whole: bool) -> bytes:
        """As it is told, in JSON; the result only where the job itself is asked for."""
        told = json.dumps(self._plain()).encode()
        if not whole:
            return told
        return b'%b, "result": %b}' % (told.removesuffix(b"}"), self.result or b"null")

    def _plain(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "fleet": self.fleet,
            "by": self.by,
            "asked": self.asked,
            "state": self.state,
            "queued_at": _spelled(self.queued_at),
            "started_at": _spelled(self.started_at),
            "ended_at": _spelled(self.ended_at),
            "progress": [
                {"phase": phase, "done": done, "of": of}
                for phase, (done, of) in self.progress.items()
            ],
            "exit_code": self.exit_code,
            "problem": self.problem,
        }


class Jobs:
    """All there are."""

    def __init__(self, command: Command, kept: Kept | None = None) -> None:
        self._command = command
        self._kept = kept or Kept()
        self._turn = asyncio.Semaphore(1)
        self._all: dict[str, Job] = {}

    def every(self) -> list[Job]:
        """In the order in which they were asked for."""
        return list(self._all.values())

    def find(self, named: str) -> Job | None:
        """The one of this id, unless it is forgotten."""
        return self._all.get(named)

    def start(self, job: Job) -> None:
        """Have it run when its turn comes."""
        if sum(one.state == "waiting" for one in self._all.values()) >= MOST_WAITING:
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                "busy",
                f"{MOST_WAITING} jobs wait already",
                again_after(30),
            )
        self._all[job.id] = job
        job.task = asyncio.create_task(self._run(job))

    async def cancel(self, job: Job) -> None:
        """End it; one that has ended stays as it is."""
        if job.task is not None:
            job.task.cancel()
            with suppress(asyncio.CancelledError):
                await job.task

    async def close(self) -> None:
        """End all of them."""
        for job in self.every():
            await self.cancel(job)

    async def _run(self, job: Job) -> None:
        try:
            async with self._turn:
                job.state, job.started_at = "running", datetime.now(UTC)
                with TemporaryDirectory(prefix="ledger-job-") as directory:
                    await self._answered(job, File(directory))
        except asyncio.CancelledError:
            job.state = "cancelled"
            raise
        except Exception as error:
            # Whatever happened, a job ends and says how; what nobody foresaw is to be looked into.
            log.exception("job_failed", job=job.id, kind=job.kind, fleet=job.fleet)
            job.state, job.problem = "failed", f"{type(error).__name__}: {error}"
        finally:
            job.ended_at = datetime.now(UTC)
            self._forget()
            log.info("job_ended", job=job.id, kind=job.kind, fleet=job.fleet, state=job.state)

    def _forget(self) -> None:
        """The oldest of those that have ended, as far as they are too many or too large."""
        ended = [one for one in self._all.values() if one.ended_at is not None]
        count = size = 0
        for one in reversed(ended):
            count, size = count + 1, size + len(one.result or b"")
            if count > self._kept.jobs or (count > 1 and size > self._kept.results):
                del self._all[one.id]

    async def _answered(self, job: Job, directory: File) -> None:
        arguments = [*job.arguments]
        if job.settings is not None:
            policy = directory / "settings.json"
            await asyncio.to_thread(policy.write_bytes, job.settings)
            arguments.append(f"--policy={policy}")
        process = await asyncio.create_subprocess_exec(
            *self._command.program,
            *arguments,
            cwd=directory,
            env={**self._command.environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            with suppress(ProcessLookupError):  # It may have ended already.
                os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
            assert process.stdout is not None
            assert process.stderr is not None
            printed, said = await asyncio.gather(
                _printed(process, process.stdout, self._kept.result),
                _followed(process.stderr, job),
            )
            job.exit_code = await process.wait()
        finally:
            await _ended(process)
        if printed is None:
            job.state = "failed"
            job.problem = f"it printed more than {self._kept.result} bytes"
        elif job.exit_code in ANSWERED and printed:
            result = await asyncio.to_thread(_read, printed, directory)
            job.state, job.result = "done", result
        else:
            job.state, job.problem = "failed", "\n".join(said) or f"exit code {job.exit_code}"


def routes(readers: Connections[Reader], jobs: Jobs) -> APIRouter:
    """Whatever can be done with jobs."""
    router = APIRouter()

    def mine(request: Request, named: str) -> Job:
        caller = reader_of(request)
        job = jobs.find(named)
        if job is None or not caller.may_see(job.fleet):
            raise Problem(HTTPStatus.NOT_FOUND, "unknown_job", f"there is no job {named}")
        return job

    @router.post(
        "/v1/fleets/{fleet}/jobs",
        status_code=HTTPStatus.ACCEPTED,
        response_model=documents.JobDocument,
        responses=problems(HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS),
        openapi_extra=body_of(documents.JobRequest),
        tags=["operate"],
    )
    async def start(request: Request, fleet: FleetPath) -> Response:
        """Have a fleet replayed, or folded again with something otherwise."""
        caller = caller_of(request, "operate")
        reader_of(request, fleet)
        asked = (await body_as(request, documents.JobRequest)).root
        async with readers.one() as reader, reader.snapshot():
            if await pages.mark(reader.connection, fleet) is None:
                raise unknown_fleet(fleet)
        job = Job(
            id=secrets.token_hex(8),
            kind=asked.kind,
            fleet=fleet,
            by=caller.name,
            asked=asked.model_dump(by_alias=True, exclude_unset=True),
            arguments=_arguments(fleet, asked),
            settings=_settings(asked),
        )
        jobs.start(job)
        return _json(
            job.spelled(whole=True), HTTPStatus.ACCEPTED, {"Location": f"/v1/jobs/{job.id}"}
        )

    @router.get(
        "/v1/jobs", response_model=documents.JobsDocument, responses=problems(), tags=["read"]
    )
    async def every(request: Request) -> Response:
        """The jobs of fleets that the caller may see, without their results."""
        caller = reader_of(request)
        told = [job.spelled(whole=False) for job in jobs.every() if caller.may_see(job.fleet)]
        return _json(b'{"jobs": [%b]}' % b", ".join(told), HTTPStatus.OK)

    @router.get(
        "/v1/jobs/{job}",
        response_model=documents.JobDocument,
        responses=problems(HTTPStatus.NOT_FOUND),
        tags=["read"],
    )
    async def one(request: Request, job: Id) -> Response:
        """How far a job is, and what came out of it."""
        return _json(mine(request, job).spelled(whole=True), HTTPStatus.OK)

    @router.delete(
        "/v1/jobs/{job}",
        status_code=HTTPStatus.NO_CONTENT,
        response_class=Response,
        responses=problems(HTTPStatus.NOT_FOUND),
        tags=["operate"],
    )
    async def cancel(request: Request, job: Id) -> Response:
        """End a job; one that has ended already stays as it is."""
        caller_of(request, "operate")
        await jobs.cancel(mine(request, job))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    return router


def _arguments(fleet: str, asked: documents.ReplayRequest | documents.WhatIfRequest) -> list[str]:
    """The command that answers. A value stands behind its name, so that none is taken for an option."""
    told = [asked.kind, f"--fleet={fleet}", "--json", "--progress"]
    if asked.last is not None:
        told.append(f"--to={asked.last}")
    if isinstance(asked, documents.ReplayRequest):
        if asked.first is not None:
            told.append(f"--from={asked.first}")
        if asked.subject is not None:
            told.append(f"--subject={asked.subject}")
        return [*told, "--workers=1"]
    told += [f"--weights={one}" for one in asked.weights]
    told += [f"--without={one}" for one in asked.without]
    if asked.ask_again:
        told.append("--ask-again")
    return [*told, f"--from={asked.first}"]


def _settings(asked: documents.ReplayRequest | documents.WhatIfRequest) -> bytes | None:
    if isinstance(asked, documents.ReplayRequest) or asked.settings is None:
        return None
    return json.dumps(asked.settings).encode()


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Have a process ended, if it runs."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _printed(
    process: asyncio.subprocess.Process, stream: asyncio.StreamReader, most: int
) -> bytes | None:
    """All that a process prints; None, and its end, where that is too much."""
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(CHUNK):
        size += len(part)
        if size > most:
            await _ended(process)
            return None
        parts.append(part)
    return b"".join(parts)


async def _followed(stream: asyncio.StreamReader, job: Job) -> list[str]:
    """The last lines that a process said beside how far it is."""
    said: deque[str] = deque(maxlen=LINES_KEPT)
    async for line in _lines(stream):
        text = line.decode(errors="replace").rstrip()
        try:
            told = json.loads(text)
            job.progress[told["phase"]] = (told["done"], told["of"])
        except (ValueError, TypeError, KeyError):
            said.append(text)
    return [*said]


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The beginning of each, however long it is."""
    rest = b""
    while part := await stream.read(CHUNK):
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line[:LONGEST_LINE]
        rest = rest[:LONGEST_LINE]
    if rest:
        yield rest


def _read(printed: bytes, directory: File) -> bytes:
    """What was printed; of a divergence, the slice itself and not the name of its file."""
    result = json.loads(printed)
    if not isinstance(result, dict):
        raise TypeError("it printed no object")
    diverged = result.get("diverged")
    if isinstance(diverged, dict) and diverged.get("slice"):
        diverged["slice"] = json.loads((directory / diverged["slice"]).read_bytes())
    # Not as Python has it in memory, where it takes several times as much; every number stays exact.
    return json.dumps(result).encode()


def _spelled(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _json(spelled: bytes, status: HTTPStatus, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        spelled,
        status_code=status,
        media_type="application/json",
        headers=dict(headers or {}),
    )
