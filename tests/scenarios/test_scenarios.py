"""Each page of this folder still ends as it is written.

``LEDGER_REWRITE=1 python -m pytest tests/scenarios`` writes what follows today into the pages; the
difference is then read like any other change.
"""

import os
from pathlib import Path

import pytest

from tests.scenarios.page import played, scenes

PAGES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_page_is_still_true(path: Path) -> None:
    page = path.read_text("utf-8")

    today = played(page)

    if os.environ.get("LEDGER_REWRITE") == "1":
        path.write_text(today, "utf-8")
    else:
        assert today == page


def test_there_are_pages_and_each_shows_something() -> None:
    assert len(PAGES) >= 70
    for path in PAGES:
        assert scenes(path.read_text("utf-8"))
