"""Every example of docs/http.md is sent to a running service, in order, and answered as it says."""

import asyncio
import json
import re
from pathlib import Path

from ledger.api import access
from ledger.api.guard import BODY_SECONDS, EVENTS, LARGEST_HEAD, MIB, REVIEWS, STREAMS_AT_ONCE
from ledger.api.intake import LONGEST_BATCH
from ledger.api.jobs import Kept
from ledger.api.server import HEADER_SECONDS
from tests.api.serving import serving

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")

EXAMPLE = re.compile(r"```http\n(.*?)```\n\n```json (\d+)\n(.*?)```", re.DOTALL)


def test_the_page_names_the_limits_there_are() -> None:
    assert f"A service has {STREAMS_AT_ONCE} streams open" in PAGE
    kept = Kept()
    assert f"newest {kept.jobs} that have ended" in PAGE
    assert f"results have {kept.results // MIB} MiB together" in PAGE
    assert f"more than {kept.result // MIB} MiB fails" in PAGE
    assert f"a list of up to {LONGEST_BATCH:,}" in PAGE
    assert f"at most {EVENTS.largest // MIB} MiB and {BODY_SECONDS:g} seconds" in PAGE
    assert f"a review {REVIEWS.largest // MIB} MiB" in PAGE
    assert f"{REVIEWS.total // MIB} MiB of reviews" in PAGE
    assert f"{LARGEST_HEAD // 1024} KiB and {HEADER_SECONDS:g} seconds" in PAGE


def test_the_access_file_of_the_page_can_be_read(tmp_path: Path) -> None:
    found = re.search(r"```json access\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    path = tmp_path / "access.json"
    path.write_text(found[1])

    assert len(access.read(path).tokens) == 2


async def test_each_example_is_answered_as_the_page_says(database_url: str, tmp_path: Path) -> None:
    examples = EXAMPLE.findall(PAGE)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == PAGE.count("```http")

    async with serving(database_url, tmp_path) as service:
        for request, status, wanted in examples:
            head, _, body = request.partition("\n\n")
            first, *lines = head.strip().splitlines()
            method, path = first.split()
            headers = dict(line.split(": ", 1) for line in lines)

            answer = await service.ask(method, path, body.strip().encode() or None, headers=headers)

            assert (answer.status, answer.json) == (int(status), json.loads(wanted)), first
        names = {"URL": f"http://{service.host}:{service.port}", "TOKEN": "operate-token"}
        await asyncio.to_thread(exec, compile(program, "docs/http.md", "exec"), names)
