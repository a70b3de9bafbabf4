"""Each page of this folder still ends as it is written.

``LEDGER_REWRITE=1 python -m pytest tests/scenarios`` writes what follows today into the pages; the
difference is then read like any other change.
"""

import os
from pathlib import Path

import pytest

from ledger.reducers.evolve import follow
from tests.histories import History
from tests.scenarios.page import lived, played, scenes

PAGES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_page_is_still_true(path: Path) -> None:
    page = path.read_text("utf-8")

    today = played(page)

    if os.environ.get("LEDGER_REWRITE") == "1":
        path.write_text(today, "utf-8")
    else:
        assert today == page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_was_decided_folds_again_to_the_same_world(path: Path) -> None:
    history = lived(path.read_text("utf-8"))

    world = History().world
    for event, step in zip(history.events, history.steps, strict=True):
        world = follow(world, event, step.decisions)

        assert world == step.world


def test_there_are_pages_and_each_shows_something() -> None:
    assert len(PAGES) >= 70
    for path in PAGES:
        assert scenes(path.read_text("utf-8"))
