"""What the events of an archive say of the clock that its manifest names."""

from typing import Any

from ledger.log.archive.manifest import NOTHING_SIGNED, Ends, Manifest
from ledger.log.fleets import Clock
from ledger.log.merkle import Frontier
from ledger.replay.leaves import COLUMNS, Row
from ledger.replay.manifest_claims import Claims
from ledger.replay.report import Divergence
from ledger.units import FleetName

EMPTY = Frontier(0, ())


def rows(*times: tuple[int | None, int], first: int = 0) -> list[Row]:
    """Events that were told at a time and recorded at another."""
    told: list[dict[str, Any]] = [
        {
            "position": place,
            "event_time": time,
            "recorded_at": recorded,
            "type": "any",
            "subject": "s",
        }
        for place, (time, recorded) in enumerate(times, first)
    ]
    return [tuple(one.get(name) for name in COLUMNS) for one in told]


def claims(clock: Clock, *, first: int = 0) -> Claims:
    begins = Ends(Frontier(first, (b"",) * first.bit_count()), EMPTY)
    return Claims(Manifest(FleetName("shop"), clock, b"", ((1, 0),), begins, NOTHING_SIGNED))


def said(found: Divergence | None) -> tuple[str, int | None] | None:
    return None if found is None else (found.trouble, found.position)


def test_on_the_event_clock_each_event_is_recorded_at_the_latest_time_told() -> None:
    assert said(claims("event").take(rows((5, 5), (3, 5), (None, 5), (9, 9)))) is None
    assert said(claims("event").take(rows((5, 5), (3, 6)))) == ("clock_mismatch", 1)
    assert said(claims("event").take(rows((5, 4)))) == ("clock_mismatch", 0)


def test_pages_are_one_history() -> None:
    found = claims("event")

    assert said(found.take(rows((5, 5)))) is None
    assert said(found.take(rows((3, 5), (6, 5), first=1))) == ("clock_mismatch", 2)


def test_an_archive_that_begins_late_is_believed_how_late_it_was_before() -> None:
    assert said(claims("event", first=7).take(rows((5, 8), (9, 9), first=7))) is None
    assert said(claims("event", first=7).take(rows((5, 4), first=7))) == ("clock_mismatch", 7)


def test_on_the_other_clock_events_are_recorded_when_they_came() -> None:
    found = claims("wall")

    assert said(found.take(rows((5, 7), (9, 9), (None, 12)))) is None
    assert not found.by_event
