"""Of all ends that were signed few are kept, and always one not far below wherever a log is restored to."""

import json
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import SetupProblem
from ledger.log.ladder import thinned
from ledger.log.signed import Signed, memory, recalled

ORIGIN = "ledger.example/shop/1/events"

GAPS = st.one_of(st.integers(1, 5), st.integers(1, 10**4))
SIZES = st.lists(GAPS, min_size=1, max_size=200).map(lambda gaps: [*accumulate(gaps)])


def climbed(sizes: list[int]) -> list[int]:
    """What is left where each size came after the others, as a signer meets them."""
    kept: list[int] = []
    for size in sizes:
        kept = thinned([*kept, size])
    return kept


@given(SIZES)
def test_between_two_that_are_kept_lies_no_more_than_behind_them_unless_nothing_was_signed_there(
    sizes: list[int],
) -> None:
    for kept in (thinned(sizes), climbed(sizes)):
        assert (kept[0], kept[-1]) == (sizes[0], sizes[-1])
        assert set(kept) <= set(sizes)
        for below, above in pairwise(kept):
            between = [size for size in sizes if below < size < above]
            assert not between or above - below <= sizes[-1] - above


@given(SIZES)
def test_few_are_kept(sizes: list[int]) -> None:
    for kept in (thinned(sizes), climbed(sizes)):
        assert len(kept) <= 2 * sizes[-1].bit_length() + 2


def test_a_log_that_was_signed_at_every_size_keeps_a_handful() -> None:
    assert climbed([*range(1, 4001)])[-6:] == [3988, 3994, 3997, 3998, 3999, 4000]
    assert len(climbed([*range(1, 4001)])) == 17, "as docs/proofs.md says"


def test_a_memory_keeps_some_of_the_ends_that_were_signed_before(tmp_path: Path) -> None:
    path = tmp_path / "signed.json"
    ends = [Signed(size, bytes([size]) * 32) for size in range(40)]
    with memory(path) as kept:
        for end in ends:
            kept.remember({ORIGIN: end, "another": end}, with_before=[ORIGIN])
            kept.remember({ORIGIN: end}, with_before=[ORIGIN])
        assert kept.last(ORIGIN) == ends[-1]
        assert [end.size for end in kept.ends(ORIGIN)] == climbed([*range(1, 40)])
        assert kept.ends("another") == (ends[-1],)

    with memory(path) as again:
        assert again.ends(ORIGIN) == kept.ends(ORIGIN)
    assert all(end == ends[end.size] for end in again.ends(ORIGIN))
    assert recalled(path).before == {ORIGIN: again.ends(ORIGIN)[:-1]}


def test_a_memory_of_before_is_read_and_goes_on_with_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "signed.json"
    signed = {ORIGIN: {"size": 3, "root": bytes(32).hex()}}
    path.write_text(json.dumps({"layout": 1, "signed": signed}))

    with memory(path) as kept:
        assert kept.ends(ORIGIN) == (Signed(3, bytes(32)),)
        kept.remember({ORIGIN: Signed(5, bytes(32))}, with_before=[ORIGIN])
        assert [end.size for end in kept.ends(ORIGIN)] == [3, 5]
    assert json.loads(path.read_text())["layout"] == 2


@pytest.mark.parametrize("ends", ["", "3", "3 00", "x 00", "3 0g", f"{'3 ' + '0' * 64},", 3, ["3"]])
def test_a_memory_that_nobody_wrote_is_none(tmp_path: Path, ends: object) -> None:
    path = tmp_path / "signed.json"
    signed = {ORIGIN: {"size": 3, "root": bytes(32).hex()}}
    path.write_text(json.dumps({"layout": 2, "signed": signed, "before": {ORIGIN: ends}}))

    with pytest.raises(SetupProblem, match="not what a signer wrote"):
        recalled(path)
