"""Whatever the OpenAPI document allows, and some of what it does not, is answered as it says."""

import asyncio
import sys
from pathlib import Path

from ledger.cli import http_service
from tests.api.serving import serving

EXAMPLES = 15
"""Of each kind for each operation; the seed is fixed, so that a run can be repeated."""


async def test_no_request_ends_in_a_server_error_or_breaks_the_document(
    database_url: str, tmp_path: Path
) -> None:
    document = tmp_path / "openapi.json"
    document.write_text(http_service.document())
    async with serving(database_url, tmp_path) as service:
        asking = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", "run", str(document)),
            *("--url", f"http://{service.host}:{service.port}"),
            *("--header", "Authorization: Bearer operate-token"),
            *("--max-examples", str(EXAMPLES), "--seed", "1", "--generation-database", "none"),
            *("--exclude-path-regex", "decisions-stream"),  # it does not end
            *("--phases", "examples,coverage,fuzzing", "--no-color"),
            *("--checks", "not_a_server_error,status_code_conformance,content_type_conformance"),
            *("--checks", "response_headers_conformance,response_schema_conformance"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asking.communicate()

    assert asking.returncode == 0, said.decode()
