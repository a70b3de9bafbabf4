"""Jobs as processes: however one ends it is said so, nothing runs on, and little is kept of it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ledger.api.jobs import Command, Job, Jobs, Kept
from tests.feeding import until

KEPT = Kept(jobs=3, result=100_000, results=150_000)


@asynccontextmanager
async def jobs(program: str) -> AsyncIterator[Jobs]:
    """Whose command is a program of Python."""
    made = Jobs(Command([sys.executable, "-c", program], os.environ), KEPT)
    try:
        yield made
    finally:
        await made.close()


async def ended(made: Jobs, named: str, *arguments: str) -> Job:
    """A job that was run to its end."""
    job = Job(
        id=named, kind="replay", fleet="f", by="me", asked={}, arguments=arguments, settings=None
    )
    made.start(job)
    assert job.task is not None
    async with asyncio.timeout(60):
        await asyncio.wait({job.task})
    return job


def result(job: Job) -> object:
    return json.loads(job.spelled(whole=True))["result"]


async def test_a_line_of_any_length_is_read_and_its_beginning_kept() -> None:
    program = (
        "import sys; print('x' * 300_000 + 'y', file=sys.stderr);"
        ' print(\'{"phase": "fold", "done": 1, "of": 2}\', file=sys.stderr);'
        " print('the end', file=sys.stderr, end=''); sys.exit(9)"
    )
    async with jobs(program) as made:
        job = await ended(made, "a")

    assert (job.state, job.exit_code, job.progress) == ("failed", 9, {"fold": (1, 2)})
    assert job.problem is not None
    first, last = job.problem.splitlines()
    assert (set(first), last) == ({"x"}, "the end")
    assert len(first) < 10_000


@pytest.mark.parametrize("printed", ["nonsense", '{"diverged": {"slice": "absent"}}', "[1]", "7"])
async def test_what_cannot_be_read_is_a_job_that_failed_and_the_next_one_runs(printed: str) -> None:
    async with jobs("import sys; print(sys.argv[1])") as made:
        failed = await ended(made, "a", printed)
        done = await ended(made, "b", '{"same": true}')

    assert (failed.state, result(failed)) == ("failed", None)
    assert failed.problem
    assert failed.ended_at is not None
    assert (done.state, result(done)) == ("done", {"same": True})


async def test_who_prints_without_end_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = (
        "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid()))\n"
        "while True: print('[' * 1000)"
    )
    async with jobs(program) as made:
        job = await ended(made, "a", str(pid))

    assert (job.state, job.problem) == ("failed", f"it printed more than {KEPT.result} bytes")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_a_job_that_is_ended_leaves_no_process(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = (
        "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    )
    async with jobs(program) as made:
        job = Job("a", "replay", "f", "me", {}, [str(pid)], None)
        made.start(job)

        async def begun() -> bool:
            return pid.exists() and bool(pid.read_text())

        await until(begun)
        await made.cancel(job)

    assert job.state == "cancelled"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_the_oldest_are_forgotten_by_number_and_by_size() -> None:
    async with jobs("import sys; print('{\"x\": \"' + 'x' * int(sys.argv[1]) + '\"}')") as made:
        for named in "abcd":
            await ended(made, named, "1")
        few = [one.id for one in made.every()]
        await ended(made, "e", "80000")
        await ended(made, "f", "80000")
        light = [one.id for one in made.every()]

    assert few == ["b", "c", "d"]
    assert light == ["f"]
