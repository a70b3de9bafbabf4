"""The commands of docs/proofs.md do what it says of them, one after the other."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from ledger.log import lines
from ledger.log.database import connect
from ledger.log.notes import parse_key
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "proofs.md").read_text()


def commands() -> list[list[str]]:
    """What the page types, without its comments."""
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    return [shlex.split(line, comments=True) for line in block.splitlines()]


async def test_from_a_log_to_a_proof(database_url: str, tmp_path: Path) -> None:
    connection = await connect(database_url, None)
    history = [cluster_line(1, fleet="shop")]
    history += [
        workload_line(number, replicas=number, weights={"c1": 1}, fleet="shop")
        for number in range(2, 11)
    ]
    await lines.ingest(connection, history)
    await connection.close()
    await decide_all(database_url)

    def ledger(words: list[str], code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ledger.cli.main", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=tmp_path,
            env=os.environ | {"LEDGER_DATABASE_URL": database_url, "PYTHONPATH": str(REPOSITORY)},
        )
        assert done.returncode == code, (words, done.stderr)
        return done.stdout

    told: dict[str, str] = {}
    keys: list[str] = []
    for program, *words in commands():
        assert program == "ledger"
        # Keys are abbreviated on the page: they are as many as there are secrets.
        spelled = [
            next((key for key in keys if key.startswith(word.removesuffix("..."))), word)
            if word.endswith("...")
            else word
            for word in words
        ]
        answer = ledger(spelled)
        told[" ".join(words[:2])] = answer
        if words[:2] == ["key", "show"]:
            keys = answer.split()

    origins = [f"ledger.example/shop/1/{tree}" for tree in ("events", "decisions", "both")]
    assert [parse_key(key).name for key in keys] == origins
    for origin in origins:
        (folder,) = [
            path.parent
            for path in (tmp_path / "notes").rglob("checkpoint")
            if path.read_text().startswith(f"{origin}\n")
        ]
        assert len(list(folder.iterdir())) == 2, "under its size, and the newest"
    assert "entry 3 of ledger.example/shop/1/events" in told["verify-proof event-3.tlog-proof"]
    shown = ledger(["verify-proof", "decision-7.tlog-proof", "--key", keys[1]])
    assert "entry 7 of ledger.example/shop/1/decisions" in shown
    ledger(["verify-proof", "event-3.tlog-proof", "--key", keys[1]], code=2)
    assert "10 entries of ledger.example/shop/1/events, 10 of them new" in told["tiles shop"]
    assert (tmp_path / "tiles" / origins[0] / "tile/entries/000.p/10").exists()
