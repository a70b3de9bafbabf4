"""What libraries say stands in the log as one of our lines, and never beside it."""

import json
import subprocess
import sys

import pytest

AS_A_COMMAND = "from ledger.cli import logs\nlogs.configure()\n"
AS_A_CONSUMER = "from consumers.__main__ import _log_as_json\n_log_as_json()\n"
SAYING = """
import logging
logging.getLogger("aiokafka.conn").info("Connecting")
logging.getLogger("aiokafka.conn").error("Unable connect to %s", "node 1")
logging.getLogger("odd").log(35, "between two levels")
try:
    1 // 0
except ZeroDivisionError:
    logging.getLogger("asyncio").exception("Task exception was never retrieved")
"""


@pytest.mark.parametrize("configured", [AS_A_COMMAND, AS_A_CONSUMER])
def test_libraries_speak_in_lines_of_ours(configured: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", configured + SAYING], capture_output=True, check=True, text=True
    )

    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(one["event"], one["level"], one["why"]) for one in lines] == [
        ("aiokafka", "error", "Unable connect to node 1"),
        ("odd", "warning", "between two levels"),
        ("asyncio", "error", "Task exception was never retrieved"),
    ]
    assert [one.get("logger") for one in lines] == ["aiokafka.conn", None, None]
    assert lines[2]["exception"].endswith("ZeroDivisionError: integer division or modulo by zero")
