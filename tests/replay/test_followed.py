"""What an audit gathers on the way through decided history is what deciding it came to."""

from pathlib import Path

import pytest

from ledger.replay.followed import Followed
from tests.histories import History
from tests.scenarios.page import lived

PAGES = sorted((Path(__file__).parents[1] / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_following_gathers_what_deciding_came_to(path: Path) -> None:
    history = lived(path.read_text("utf-8"))

    followed = Followed(History().world)
    for event, step in zip(history.events, history.steps, strict=True):
        followed.take(event, step.decisions)

        assert followed.world == step.world
        assert followed.decisions == list(step.decisions)
        assert followed.ended == [(*one, event.position) for one in step.ended]
        assert [one[:-1] for one in followed.released] == [tuple(one) for one in step.released]
        assert followed.effects.get(event.position, "applied") == step.effect
        followed.forget()
