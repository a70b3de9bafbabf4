"""A row that held is kept at a place in its span where each position of the span looks for it."""

from ledger.views.past import fork


def looked_at(position: int) -> set[int]:
    """The places that ``ledger.forks_before`` and ``ledger.forks_behind`` tell, for small positions."""
    place = position + 1
    return {place >> bit << bit for bit in range(10) if place >> bit & 1} | {
        (place >> bit | 1) << bit for bit in range(10) if not place >> bit & 1
    }


def test_each_position_of_a_span_looks_at_its_fork() -> None:
    for begin in range(70):
        for end in range(begin + 1, 140):
            place = fork(begin, end)

            assert begin < place <= end
            assert all(place in looked_at(position) for position in range(begin, end))
