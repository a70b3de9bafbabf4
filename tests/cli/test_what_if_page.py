"""docs/what-if.md is true: its examples come out as written, over the history that it tells."""

import json
import re
from pathlib import Path

import pytest

from ledger.cli.what_if.telling import IGNORED
from tests.cli.told_page import SLOWEST, examples, lived, run, told

PATH = Path(__file__).parents[2] / "docs" / "what-if.md"


@pytest.mark.timeout(SLOWEST)
async def test_the_page_is_true_from_its_first_command_to_its_last(
    database_url: str, tmp_path: Path
) -> None:
    await lived(PATH, database_url)

    told(PATH, database_url, tmp_path)

    page = PATH.read_text(encoding="utf-8")
    png, svg = tmp_path / "review.png", tmp_path / "review.svg"
    assert png.read_bytes().startswith(b"\x89PNG\r\n")
    assert "what if disk.alpha = 1/2" in svg.read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (`.*?) \|", page.split("## For machines")[1].split("\n## ")[0], re.MULTILINE
    )
    documented = [word for row in rows for word in re.findall(r"`(\w+)`", row)]
    answered = json.loads(run("ledger what-if --set hold=false --json", database_url, tmp_path))
    assert sorted(documented) == sorted([*answered, *answered["was"]])


def test_every_report_that_may_say_nothing_is_named_on_the_page() -> None:
    page = PATH.read_text(encoding="utf-8")

    assert all(f"`{name}`" in page for name in IGNORED)


def test_no_line_for_people_is_wider_than_a_terminal() -> None:
    page = PATH.read_text(encoding="utf-8")

    shown = [line for _, printed in examples(page) for line in printed.splitlines()]

    assert shown
    assert all(len(line) <= 100 for line in shown)
