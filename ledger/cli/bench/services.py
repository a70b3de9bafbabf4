"""The ledger's own processes, beside a benchmark that asks them what anybody could."""

import asyncio
import json
import os
import re
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, Final

from ledger.errors import SetupProblem

START_SECONDS: Final = 60.0

TOKEN: Final = secrets.token_hex(16)
"""Of the service that lives for a measurement."""


@asynccontextmanager
async def serving(
    url: str, *options: str, kubernetes: dict[str, object] | None = None, **caller: Any
) -> AsyncIterator[int]:
    """A service of this database on a port of its own, for one caller of these roles.

    ``kubernetes`` are the API servers that it may read, by cluster.
    """
    with TemporaryDirectory(prefix="ledger-bench-") as directory:
        access = _access(Path(directory, "access.json"), caller)
        if kubernetes is not None:
            file = _written(Path(directory, "kubernetes.json"), kubernetes)
            options = (*options, "--kubernetes", str(file))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ledger.cli.main", "serve", "--port", "0"),
            *("--access", str(access), "--create-fleets", "auto", "--drain-seconds", "0"),
            *options,
            env=os.environ | {"LEDGER_DATABASE_URL": url},
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield await _port(process)
        finally:
            process.terminate()
            await process.communicate()


@asynccontextmanager
async def deciding(url: str) -> AsyncIterator[None]:
    """A decider in a process of its own."""
    with TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ledger.cli.main", "decide", "--quiet"),
            env=os.environ | {"LEDGER_DATABASE_URL": url},
            stdout=log,
            stderr=log,
        )
        try:
            yield
        except (SetupProblem, TimeoutError) as problem:
            log.seek(0)
            words = log.read().decode(errors="replace").splitlines()[-20:]
            raise SetupProblem("\n".join([str(problem) or "no decider began", *words])) from problem
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


def _access(path: Path, caller: dict[str, Any]) -> Path:
    digest = sha256(TOKEN.encode()).hexdigest()
    return _written(path, [{"name": "bench", "sha256": digest, **caller}])


def _written(path: Path, said: object) -> Path:
    path.write_text(json.dumps(said))
    return path


async def _port(process: asyncio.subprocess.Process) -> int:
    assert process.stderr is not None, "it was asked for"
    said = b""
    async with asyncio.timeout(START_SECONDS):
        while line := await process.stderr.readline():
            said += line
            if found := re.match(rb"listening: http://.*:(\d+)$", line.strip()):
                return int(found[1])
    raise AssertionError(said.decode())
