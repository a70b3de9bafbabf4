"""RFC 3339 to microseconds and back."""

import pytest

from ledger.events.moments import microseconds, spelled
from ledger.units import Microseconds


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01T00:00:00.0000019Z", 1),
        ("1970-01-01T00:00:00.1Z", 100_000),
        ("1970-01-01T05:45:00+05:45", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
        ("2016-12-31T23:59:60.5Z", 1_483_228_800_000_000),
        ("2024-02-29T12:00:00Z", 1_709_208_000_000_000),
        ("9999-12-31T23:59:59-23:59", 253_402_387_139_000_000),
        ("0001-01-01T00:00:00+23:59", -62_135_683_140_000_000),
    ],
)
def test_a_moment_is_read_to_the_microsecond(text: str, moment: int) -> None:
    assert microseconds(text) == moment


@pytest.mark.parametrize("moment", [0, 1, -1, 1_767_600_000_123_456, 253_402_300_799_999_999])
def test_a_moment_that_is_spelled_is_read_back(moment: int) -> None:
    text = spelled(Microseconds(moment))

    assert text.endswith("Z")
    assert microseconds(text) == moment
