"""Kubernetes quantities, exactly."""

import pytest

from ledger.errors import InvalidEvent
from ledger.events.quantities import amount, base_units, cpu_milli
from ledger.units import LARGEST_WHOLE_NUMBER


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("+5", 5),
        ("1.0", 1),
        ("5.", 5),
        (".5k", 500),
        ("1000m", 1),
        ("1e3", 1_000),
        ("1E3", 1_000),
        ("2000e-3", 2),
        ("2e+2", 200),
        ("1k", 1_000),
        ("3M", 3_000_000),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 1_024),
        ("1.5Gi", 1_610_612_736),
        ("1Mi", 2**20),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("7Ei", 7 * 2**60),
        ("0.5Ki", 512),
        ("1000000000n", 1),
        ("2000000u", 2),
        ("9223372036854775807", LARGEST_WHOLE_NUMBER),
        ("0e999999999", 0),
    ],
)
def test_text_is_read_exactly(text: str, units: int) -> None:
    assert base_units(text) == units


@pytest.mark.parametrize(
    ("value", "milli"), [("500m", 500), ("2", 2_000), ("0.1", 100), (250, 250), ("1k", 1_000_000)]
)
def test_cpu_is_counted_in_milli_cores(value: object, milli: int) -> None:
    assert cpu_milli(value) == milli


@pytest.mark.parametrize(
    ("resource", "expected"),
    [("cpu", 1_000), ("requests.cpu", 1_000), ("limits.cpu", 1_000), ("memory", 1), ("pods", 1)],
)
def test_the_unit_follows_the_resource(resource: str, expected: int) -> None:
    assert amount(resource, "1") == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "wrong_field"),
        (".", "wrong_field"),
        ("m", "wrong_field"),
        ("1 Gi", "wrong_field"),
        (" 1", "wrong_field"),
        ("1\n", "wrong_field"),
        ("1KI", "wrong_field"),
        ("1ki", "wrong_field"),
        ("1GB", "wrong_field"),
        ("1e", "wrong_field"),
        ("1e3k", "wrong_field"),
        ("١", "wrong_field"),
        ("0x10", "wrong_field"),
        ("1_000", "wrong_field"),
        ("NaN", "wrong_field"),
        ("1" * 65, "wrong_field"),
        (None, "wrong_field"),
        (True, "wrong_field"),
        ([], "wrong_field"),
        ({}, "wrong_field"),
        (1.0, "not_whole"),
        (0.5, "not_whole"),
        ("0.5", "not_whole"),
        ("1m", "not_whole"),
        ("1.5e-1", "not_whole"),
        ("1e-999999999", "not_whole"),
        (".1Ki", "not_whole"),
        (-1, "negative_quantity"),
        ("-1", "negative_quantity"),
        ("-1m", "negative_quantity"),
        (2**63, "out_of_range"),
        ("9223372036854775808", "out_of_range"),
        ("8Ei", "out_of_range"),
        ("1e19", "out_of_range"),
        ("1e999999999", "out_of_range"),
    ],
)
def test_what_is_no_whole_quantity_is_refused_by_name(value: object, reason: str) -> None:
    with pytest.raises(InvalidEvent) as refused:
        base_units(value)

    assert refused.value.reason == reason
