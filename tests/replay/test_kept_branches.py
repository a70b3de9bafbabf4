"""A file in which a branch was kept is read only where it is one."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from ledger.errors import InvalidRequest
from ledger.replay.what_if.branch import Place
from ledger.replay.what_if.kept import Heading, KeptBranch, keeping
from ledger.replay.what_if.measures import Kept, Measures, measured
from ledger.units import Subject
from tests.histories import History

HEADING = Heading("test", 1, 4, "00", {"settings": {}})
STOOD = measured(History().world)
KEPT = Kept("division", Subject("shop/cart"))

FIRST = json.dumps({"branch": 1, **HEADING._asdict()})
LAST = '{"end": []}'


def stood(position: str) -> str:
    """A line that says how it stood there."""
    return f'{{"at": [{position}, 0], "measures": {json.dumps(asdict(STOOD))}}}'


def read(path: Path) -> Measures | None:
    """All of it, in its order."""
    kept = KeptBranch(path)
    for _ in kept.between(Place(5)):
        pass
    kept.places()
    return kept.measures(STOOD)


def test_what_was_kept_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with keeping(path, HEADING) as branch:
        branch.stood(Place(0), STOOD)
        branch.end({KEPT: {"eu": 2}})

    kept = KeptBranch(path)

    assert kept.heading == HEADING
    assert kept.taken(Place(4)) == []
    assert kept.measures(STOOD) == STOOD
    assert kept.places() == {KEPT: {"eu": 2}}


def test_a_branch_that_is_not_finished_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("kept before")

    with pytest.raises(KeyboardInterrupt), keeping(path, HEADING):
        raise KeyboardInterrupt

    assert path.read_text() == "kept before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["5"],
        ["[1]"],
        ["null"],
        ['{"branch": 1}'],
        ['{"branch": 2}'],
        [FIRST.replace('"00"', "0"), LAST],
        [FIRST],
        [FIRST, "5"],
        [FIRST, "[1]", LAST],
        [FIRST, "{}", LAST],
        [FIRST, '{"at": 1, "record": {}}', LAST],
        [FIRST, '{"at": [1, 0], "record": {}}', LAST],
        [FIRST, '{"at": [1, 0], "record": 5}', LAST],
        [FIRST, '{"at": [1, 0], "measures": {}}', LAST],
        [FIRST, stood('"1"'), LAST],
        [FIRST, stood("5"), LAST],
        [FIRST, stood("2"), stood("1"), LAST],
        [FIRST, stood("1").replace('"open_refusals": 0', '"open_refusals": "0"'), LAST],
        [FIRST, '{"end": 5}'],
        [FIRST, '{"end": [["division", "shop/cart", {"eu": "2"}]]}'],
        [FIRST, LAST, LAST],
        ["[" * 100_000],
    ],
)
def test_what_is_no_branch_is_refused_by_name(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("".join(f"{line}\n" for line in lines))

    with pytest.raises(InvalidRequest, match=r"^not_a_branch: ") as refused:
        read(path)

    assert str(path) in refused.value.message
